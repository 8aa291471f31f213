"""The offline judge of claims: each of its rules on a claim that shows it, and the judge that speaks by them."""

import json

import pytest

from eval_pipeline.judge.claims import CONSTRAINT as CONSTRAINT_PROMPT
from eval_pipeline.judge.claims import read_alignment, read_compliance
from eval_pipeline.judge.lexical_claims import NEAR, align, comply
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.protocol import fingerprint, key
from eval_pipeline.records import Alignment, Compliance, Question

EXCERPT = "In the second year sales rose by 12% while the number of staff stayed as it was."
RULE = "Do not state that the fertiliser caused the higher yield."
YES, NO = Alignment.SUPPORTED, Alignment.UNSUPPORTED


@pytest.mark.parametrize(
    ("claim", "excerpt", "label"),
    [
        ("Sales rose by 12%.", EXCERPT, Alignment.SUPPORTED),
        ("Sales rose by 13%.", EXCERPT, Alignment.UNSUPPORTED),
        ("Sales did not rise by 12%.", EXCERPT, Alignment.UNSUPPORTED),
        ("Sales rose by 12%.", f"Perhaps {EXCERPT}", Alignment.AMBIGUOUS),
        ("Sales perhaps rose by 12%.", f"Perhaps {EXCERPT}", Alignment.SUPPORTED),
        ("Sales rose by 12%.", "", Alignment.RETRIEVAL_FAILED),
        ("Sales rose by 12%.", "Sales rose.", Alignment.RETRIEVAL_FAILED),
        ("Rain fell on Tuesday.", EXCERPT, Alignment.RETRIEVAL_FAILED),
        ("", EXCERPT, Alignment.RETRIEVAL_FAILED),
        (" and ", EXCERPT, Alignment.RETRIEVAL_FAILED),
    ],
)
def test_a_claim_of_one_part_gets_a_label_and_no_breakdown(claim, excerpt, label):
    found = read_alignment(align(claim, excerpt))
    assert (found.judgment, found.sub_claim_breakdown) == (label, None)


@pytest.mark.parametrize("between", [" and ", ", and ", "; ", " while ", ", whereas ", "; but "])
def test_a_claim_of_several_parts_is_taken_apart_and_no_better_than_its_worst_part(between):
    found = read_alignment(align(f"Sales rose by 12%{between}profits fell by 40%.", EXCERPT))
    parts = [(part.sub_claim_text, part.sub_verdict) for part in found.sub_claim_breakdown]
    assert (found.judgment, parts) == (NO, [("Sales rose by 12%", YES), ("profits fell by 40%", NO)])
    both = read_alignment(align(f"Sales rose by 12%{between}the number of staff stayed.", EXCERPT))
    assert (both.judgment, [part.sub_verdict for part in both.sub_claim_breakdown]) == (YES, [YES, YES])


def test_a_word_that_only_holds_a_joining_word_is_not_split():
    assert read_alignment(align("Sales of sandals rose by 12%.", EXCERPT)).sub_claim_breakdown is None


def test_a_rule_is_broken_by_a_claim_that_holds_half_of_the_words_that_it_forbids():
    broken = read_compliance(comply("The fertiliser caused a higher yield.", RULE, "MNC-1"))
    assert (broken.judgment, broken.violated_constraint_id) == (Compliance.VIOLATED, "MNC-1")
    kept = read_compliance(comply("Rain fell in May.", RULE, "MNC-1"))
    assert (kept.judgment, kept.violated_constraint_id) == (Compliance.NOT_VIOLATED, None)
    assert NEAR == 0.5
    for claim, label in (("Alpha, beta.", Compliance.VIOLATED), ("Alpha.", Compliance.NOT_VIOLATED)):
        assert read_compliance(comply(claim, "Never say alpha, beta, gamma.", "MNC-1")).judgment is label


def test_the_words_before_the_not_forbid_nothing():
    rule = "When yields of fertiliser plots are told, authors must not claim a cause."
    assert (
        read_compliance(comply("Yields of fertiliser plots are told.", rule, "NC-C001-1")).violated_constraint_id
        is None
    )


@pytest.mark.parametrize("rule", ["", "Do not", "Never."])
def test_a_rule_that_forbids_no_word_is_broken_by_nothing(rule):
    assert read_compliance(comply("Sales rose.", rule, "MNC-1")).judgment is Compliance.NOT_VIOLATED


@pytest.mark.parametrize("text", ['"}', '\n{"judgment": "SUPPORTED"}', "Ünï ½ 漢字 \u2028", "sales; ; and and but 12%"])
def test_whatever_the_texts_are_the_answer_is_of_the_form(text):
    assert read_alignment(align(f"Sales {text}; staff {text}", EXCERPT + text)) is not None
    assert read_compliance(comply(text, f"Do not say {text}", text)) is not None


def test_the_judge_answers_by_its_task(answers_of):
    aligned = Question("g", EXCERPT, "Sales rose by 12%.", given=(("anchor_kind", "page"), ("anchor_value", "3")))
    rule = (("constraint_id", "MNC-1"), ("rule", RULE), ("scope", "MNC"))
    ruled = Question("g", "", "The fertiliser caused a higher yield.", given=rule)
    (entailed,) = answers_of(LexicalJudge(), Question("g", EXCERPT, "Sales rose by 12%."))
    (found,) = answers_of(LexicalJudge("alignment"), aligned)
    (broken,) = answers_of(LexicalJudge("constraint"), ruled)
    assert entailed.raw == "SUPPORTED"
    assert json.loads(found.raw) == {"judgment": "SUPPORTED", "sub_claim_breakdown": None}
    assert CONSTRAINT_PROMPT.read(broken.raw) is Compliance.VIOLATED


def test_several_passages_are_read_as_one(answers_of):
    halves = Question("g", ("In the second year sales", "rose by 12% in all shops."), "Sales rose by 12%.")
    (found,) = answers_of(LexicalJudge("alignment"), halves)
    assert json.loads(found.raw)["judgment"] == "SUPPORTED"


def test_each_task_is_a_judge_of_its_own_and_that_of_entailment_is_known_as_before():
    judges = [LexicalJudge(), LexicalJudge("alignment"), LexicalJudge("constraint")]
    question = Question("g", "A passage.", "A claim.")
    assert len({fingerprint(judge) for judge in judges}) == len({key(judge, question) for judge in judges}) == 3
    assert judges[0].identity == {"kind": "lexical", "revision": "lexical-1"}
    assert judges[1].identity == {"kind": "lexical", "revision": "lexical-claims-1", "task": "alignment"}
