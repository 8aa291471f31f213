"""Two labels settle a claim or a third does; what ends as INCONCLUSIVE is dropped, and too much of it is told."""

import json
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused, MalformedObservations
from eval_pipeline.studies.judge_reliability.annotation import Settled, label_report, settled
from eval_pipeline.studies.judge_reliability.queue import Pending, pending, read_labels, with_labels
from eval_pipeline.studies.judge_reliability.words import Grounding, Label, Truth
from tests.studies.judge_reliability.made_up import judgment, log_of

HOLDS, FAILS, OPEN = Label.HOLDS, Label.FAILS, Label.INCONCLUSIVE
TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    ("labels", "truth", "dropped", "resolved"),
    [
        ((HOLDS, HOLDS), Truth.HOLDS, False, False),
        ((FAILS, FAILS), Truth.FAILS, False, False),
        ((OPEN, OPEN), None, True, False),
        ((HOLDS, FAILS), None, False, False),
        ((HOLDS, FAILS, FAILS), Truth.FAILS, False, True),
        ((HOLDS, OPEN, HOLDS), Truth.HOLDS, False, True),
        ((HOLDS, FAILS, OPEN), None, True, False),
    ],
)
def test_what_labels_come_to(labels, truth, dropped, resolved):
    assert settled(labels) == Settled(truth, dropped, resolved)


@pytest.mark.parametrize("labels", [(), (HOLDS,), (HOLDS, HOLDS, HOLDS), (HOLDS, FAILS, HOLDS, HOLDS)])
def test_other_numbers_of_labels_are_refused(labels):
    with pytest.raises(InputRefused, match="expected two, and a third where these two differ"):
        settled(labels)


def test_a_report_by_hand():
    """Of five one is open: one of four was dropped."""
    labels = [(HOLDS, HOLDS), (HOLDS, FAILS, FAILS), (OPEN, OPEN), (FAILS, FAILS), (HOLDS, OPEN)]
    found = label_report(labels, drop_rate_at_most=TENTH)
    assert (found.claims, found.agreed, found.resolved, found.dropped, found.open) == (5, 2, 1, 1, 1)
    assert (found.drop_rate, found.review) == (Fraction(1, 4), True)
    assert label_report([], drop_rate_at_most=TENTH).drop_rate is None
    assert not label_report([], drop_rate_at_most=TENTH).review


@given(st.integers(0, 30), st.integers(1, 30))
@example(1, 9)
@example(2, 17)
def test_a_review_begins_above_a_tenth_and_not_at_it(dropped, kept):
    found = label_report([(OPEN, OPEN)] * dropped + [(HOLDS, HOLDS)] * kept, drop_rate_at_most=TENTH)
    assert found.review is (10 * dropped > dropped + kept)


def of_annotators(claim, truth, labels):
    return judgment(claim, "PASS", truth, grounding=Grounding.ANNOTATORS, labels=labels)


LOG = log_of(
    [
        judgment("known", "PASS", "HOLDS"),
        judgment("b", "PASS", None),
        judgment("b", "FAIL", None, judge_name="two"),
        of_annotators("a", None, (HOLDS, FAILS)),
        of_annotators("dropped", None, (OPEN, OPEN)),
    ]
)


def test_claims_without_a_truth_wait_and_nothing_of_the_judges_is_shown():
    assert pending(LOG) == (Pending(1, "a", "arithmetic"), Pending(1, "b", "arithmetic"))
    assert set(Pending.__dataclass_fields__) == {"schema_version", "claim_id", "claim_type"}


def test_labels_give_a_claim_its_truth_in_every_judgment_of_it():
    found = with_labels(LOG, {"b": (FAILS, FAILS), "a": (HOLDS, FAILS, HOLDS)})
    assert [row.truth for row in found.rows] == [Truth.HOLDS, Truth.FAILS, Truth.FAILS, Truth.HOLDS, None]
    assert found.rows[1].grounding is Grounding.ANNOTATORS
    assert pending(found) == ()


@pytest.mark.parametrize("claim", ["known", "dropped", "nobody's"])
def test_labels_of_a_claim_that_waits_for_none_are_refused(claim):
    with pytest.raises(InputRefused, match=f"found claim {claim!r}, which waits for none; leave it out"):
        with_labels(LOG, {claim: (HOLDS, HOLDS)})


def file_of(tmp_path, *lines):
    path = tmp_path / "labels.jsonl"
    names = ("annotator", "claim_id", "label", "rationale")
    path.write_text("".join(json.dumps(dict(zip(names, line, strict=True))) + "\n" for line in lines))
    return path


def test_a_file_of_labels_is_read_by_claim(tmp_path):
    path = file_of(
        tmp_path,
        ("ann", "a", "HOLDS", "computed it"),
        ("bea", "a", "FAILS", "rounds wrongly"),
        ("ann", "b", "FAILS", "not so"),
        ("cy", "a", "HOLDS", "the rounding is meant"),
        ("bea", "b", "FAILS", "not so"),
    )
    assert read_labels(path) == {"a": (HOLDS, FAILS, HOLDS), "b": (FAILS, FAILS)}


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([("ann", "a", "HOLDS", "x")] * 2, "claim 'a', field 'annotator': found 'ann' twice, expected another person"),
        ([("ann", "a", "HOLDS", "x")], "claim 'a', field 'label': found HOLDS; expected two"),
        ([("ann", "a", "TRUE", "x")], "line 1, field 'label': found \"TRUE\", expected 'HOLDS', 'FAILS'"),
        ([("ann", "a", "HOLDS", "")], "line 1, field 'rationale'"),
    ],
)
def test_a_file_that_breaks_the_procedure_is_refused(tmp_path, lines, sentence):
    with pytest.raises(MalformedObservations, match="labels") as caught:
        read_labels(file_of(tmp_path, *lines))
    assert sentence in str(caught.value)
