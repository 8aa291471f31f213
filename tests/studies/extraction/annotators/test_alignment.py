"""Two annotators aligned: by identical texts first, then by a judge that is asked no more than the matching needs."""

import asyncio
from fractions import Fraction
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import NoLabel, Reason
from eval_pipeline.studies.extraction.annotators.alignment import (
    aligned_by_judge,
    aligned_by_text,
    questions_at_most,
    refusal_of_unread,
)
from eval_pipeline.studies.extraction.annotators.matching import Match, nearness
from eval_pipeline.studies.extraction.fixture import Fixture
from tests.stats.laws import LAW
from tests.studies.extraction.annotators.two_annotators import (
    align,
    desk_of,
    every_matching,
    in_silence,
    matched,
    same_claim,
    worth,
    wrote,
)


@pytest.fixture
def judge(scripted):
    """A judge that is no oracle, and says what is the same unless it is told to say something else."""

    def judge(says=same_claim, **about):
        return scripted(says, standing=Standing.UNCALIBRATED, **about)

    return judge


def test_the_same_in_other_words_is_matched_if_each_entails_the_other(judge):
    first = wrote(("e", 1, "pump: it failed"), ("e", 2, "valve: it leaked"), ("e", 3, "rain: it fell"))
    second = wrote(("e", 1, "pump: broke down"), ("e", 3, "rain: came down"), ("e", 4, "snow: came down"))
    (entry,) = align(first, second, judge())
    assert matched([entry]) == {("pump: it failed", "pump: broke down"), ("rain: it fell", "rain: came down")}
    assert entry.matches == (Match(0, 0), Match(2, 1))
    assert (entry.unmatched_first, entry.unmatched_second, entry.matches_at_most) == ([1], [2], 2)


@pytest.mark.parametrize("premise", ["the red pump failed", "a pump failed"])
def test_entailment_one_way_alone_is_no_match(judge, premise):
    """What says more entails what says less, and is not the same."""
    one_way = judge(lambda question: "SUPPORTED" if question.premise == premise else "NOT_SUPPORTED")
    first, second = wrote(("e", 1, "the red pump failed")), wrote(("e", 1, "a pump failed"))
    assert matched(align(first, second, one_way)) == set()


def test_the_direction_that_words_make_less_likely_is_asked_first_and_the_other_only_if_it_is_supported(judge):
    first, second = wrote(("e", 1, "the red pump failed")), wrote(("e", 1, "a pump failed"))
    # "a pump failed" holds 2 of the 3 stems of the other, which holds 2 of its 2.
    for says, asked in [("SUPPORTED", 2), ("NOT_SUPPORTED", 1), (NoLabel.REFUSED, 1)]:
        deaf = judge(lambda question, says=says: says)
        (entry,) = align(first, second, deaf)
        order = [("a pump failed", "the red pump failed"), ("the red pump failed", "a pump failed")]
        assert [(question.premise, question.hypothesis) for question in deaf.asked] == order[:asked]
        assert entry.questions == asked
        assert {question.entry_id for question in deaf.asked} == {"e"}


def test_identical_texts_are_matched_without_a_question_whatever_the_judge_says(judge):
    first = wrote(("e", 1, "The pump failed."), ("e", 2, "Rain fell."))
    second = wrote(("e", 4, " the  PUMP\u00a0failed. "), ("e", 2, "rain\u200b fell."))
    asked = judge(lambda question: "NOT_SUPPORTED", live=False)
    (entry,) = align(first, second, asked)
    assert entry.matches == (Match(0, 0), Match(1, 1))
    assert (asked.asked, asked.probes, questions_at_most(aligned_by_text(first, second))) == ([], 0, 0)


def test_the_same_letters_are_matched_before_those_in_another_case():
    first, second = wrote(("e", 1, "US policy")), wrote(("e", 1, "us policy"), ("e", 1, "US  policy"))
    (entry,) = aligned_by_text(first, second)
    assert entry.matches == (Match(0, 1),)
    first = wrote(("e", 1, "us policy"), ("e", 1, "US policy"), ("e", 1, "Us policy"))
    (entry,) = aligned_by_text(first, second)
    assert entry.matches == (Match(0, 0), Match(1, 1))


def test_only_propositions_of_one_entry_are_held_against_each_other(judge):
    first, second = wrote(("a", 1, "pump: failed")), wrote(("b", 1, "pump: failed"))
    asked = judge()
    entries = align(first, second, asked)
    assert [(entry.entry_id, entry.of_both, entry.matches) for entry in entries] == [("a", False, ()), ("b", False, ())]
    assert asked.asked == []


def test_entries_stand_in_the_order_of_their_ids_and_propositions_in_that_of_the_file(judge):
    first = wrote(("b", 4, "x: 1"), ("a", 1, "y: 1"), ("b", 1, "z: 1"))
    second = wrote(("c", 1, "y: 1"), ("b", 1, "z: 2"))
    entries = align(first, second, judge())
    assert [entry.entry_id for entry in entries] == ["a", "b", "c"]
    assert [proposition.text for proposition in entries[1].first] == ["x: 1", "z: 1"]


def test_so_many_questions_are_announced_as_are_asked_at_the_worst(judge):
    """Two left on one side and three on the other in one entry, one and one in the other: 2 (2 3 + 1 1)."""
    first = wrote(("a", 1, "u: 1"), ("a", 1, "v: 1"), ("a", 1, "same"), ("b", 1, "x: 1"))
    second = wrote(("a", 1, "p: 1"), ("a", 1, "q: 1"), ("a", 1, "r: 1"), ("a", 2, "SAME"), ("b", 1, "x: 2"))
    assert questions_at_most(aligned_by_text(first, second)) == 14
    for says in ("SUPPORTED", "NOT_SUPPORTED", NoLabel.FAILED, same_claim):
        asked = judge(says if callable(says) else lambda question, says=says: says)
        entries = align(first, second, asked)
        assert len(asked.asked) == sum(entry.questions for entry in entries) <= 14


def test_the_worst_is_a_judge_that_says_yes_one_way_and_no_the_other_of_every_pair(judge):
    answers = cycle(["SUPPORTED", "NOT_SUPPORTED"])
    asked = judge(lambda question: next(answers))
    first = wrote(*(("e", 1, f"a{k} word more words") for k in range(4)))
    second = wrote(*(("e", 1, f"b{k} word") for k in range(3)))
    assert matched(align(first, second, asked)) == set()
    assert len(asked.asked) == len(set(asked.asked)) == questions_at_most(aligned_by_text(first, second)) == 24


def test_annotators_that_say_the_same_are_aligned_in_two_questions_a_proposition(judge):
    """20 propositions a side, 400 pairs; the nearest in words is the right one each time."""
    first = wrote(*(("e", 1, f"claim{k}: told by one") for k in range(20)))
    second = wrote(*(("e", 1, f"claim{k}: as the other tells") for k in reversed(range(20))))
    asked = judge()
    entries = align(first, second, asked)
    assert len(matched(entries)) == 20
    assert len(asked.asked) == 40


def test_an_answer_without_a_label_leaves_the_pair_unmatched_and_is_counted(judge):
    def says(question):
        return NoLabel.REFUSED if "pump" in question.hypothesis else same_claim(question)

    first = wrote(("e", 1, "pump: it failed"), ("e", 2, "rain: it fell"), ("e", 2, "rain: once more"))
    second = wrote(("e", 1, "pump: broke down"), ("e", 2, "rain: came down"))
    (entry,) = align(first, second, judge(says))
    assert matched([entry]) == {("rain: it fell", "rain: came down")}
    assert set(entry.unread) == {NoLabel.REFUSED}
    assert entry.matches_at_most == 2


def test_what_gave_no_label_could_be_no_more_than_a_matching(judge):
    """Of three against one, whatever the judge left open, one can be matched."""
    first = wrote(*(("e", 1, f"x{k}") for k in range(3)))
    (entry,) = align(first, wrote(("e", 1, "y")), judge(lambda question: "no idea"))
    assert (entry.matches, entry.matches_at_most) == ((), 1)
    assert entry.unread == (NoLabel.UNPARSABLE,) * 3


def test_more_without_a_label_than_the_plan_allows_of_single_questions_is_not_trusted(judge, lenient, amended):
    first = wrote(*((f"e{k}", 1, f"x{k}: one") for k in range(5)))
    second = wrote(*((f"e{k}", 1, f"x{k}: other") for k in range(5)))
    entries = align(first, second, judge(lambda q: NoLabel.REFUSED if "x3" in q.premise else same_claim(q)))
    assert sum(entry.questions for entry in entries) == 9
    for allowed, trusted in [(Fraction(1, 9), True), (Fraction(1, 10), False)]:
        calls = lenient.errors.calls.model_copy(update={"signal": allowed})
        refusal = refusal_of_unread(entries, amended(lenient, errors={"calls": calls}))
        assert (refusal is None) is trusted
    assert refusal.reason is Reason.UNTRUSTWORTHY
    assert "1 of 9 questions" in refusal.detail
    assert "(1 refused), and the plan allows 1/10" in refusal.detail


@pytest.mark.parametrize("down_after", [0, 1, 5])
def test_a_judge_that_goes_down_aligns_nothing(judge, down_after):
    first = wrote(*((f"e{k}", 1, f"x{k}: one") for k in range(5)))
    second = wrote(*((f"e{k}", 1, f"x{k}: other") for k in range(5)))
    with pytest.raises(JudgeDown):
        align(first, second, judge(down_after=down_after))


def test_the_progress_counts_the_entries_that_are_done(judge):
    told = []
    first = wrote(("a", 1, "same"), ("b", 1, "x: 1"), ("c", 1, "p: 1"), ("c", 1, "q: 1"))
    second = wrote(("a", 1, "same"), ("b", 1, "x: 2"), ("c", 1, "q: 2"), ("c", 1, "r: 2"))
    asking = aligned_by_judge(
        aligned_by_text(first, second), desk_of(judge()), workers=1, progress=lambda *of: told.append(of)
    )
    asyncio.run(asking)
    assert told[-1] == (3, 3)
    assert told == sorted(told)


@pytest.mark.parametrize("in_flight", [1, 7])
def test_how_many_questions_are_in_flight_changes_nothing(judge, in_flight):
    first = wrote(*((f"e{k % 3}", 1, f"c{k}: told by one") for k in range(12)))
    second = wrote(*((f"e{k % 3}", 1, f"c{k}: so says the other") for k in range(4, 15)))
    alone, together = (align(first, second, judge(in_flight=number)) for number in (1, in_flight))
    assert alone == together
    assert len(matched(alone)) == 8


RELATIONS = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        st.just(shape),
        st.lists(st.sampled_from(["both", "one", "none"]), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]),
    )
)


def texts_of(side, number):
    """Texts with some words in common across the sides, so that nearness has something to go by."""
    words = ["pump", "valve", "leak", "shaft", "rain"]
    return [f"{side}{k} {words[k]} {words[(k + len(side)) % 5]}" for k in range(number)]


def says_of(relation, first, second):
    """The answers of a judge that may contradict itself as it likes: the relation need not be transitive."""
    (_, columns), cells = relation

    def says(question):
        forward = question.premise in first
        a, b = (question.premise, question.hypothesis) if forward else (question.hypothesis, question.premise)
        cell = cells[first.index(a) * columns + second.index(b)]
        return "SUPPORTED" if cell == "both" or (cell == "one" and forward) else "NOT_SUPPORTED"

    return says


@LAW
@given(RELATIONS)
def test_asking_only_what_matters_finds_what_asking_everything_finds(scripted, relation):
    """Brute force over all matchings of the pairs that the judge would call the same, if it were asked about each."""
    (rows, columns), cells = relation
    first, second = texts_of("a", rows), texts_of("bb", columns)
    judge = scripted(says_of(relation, first, second), standing=Standing.UNCALIBRATED)
    (entry,) = align(wrote(*(("e", 1, t) for t in first)), wrote(*(("e", 1, t) for t in second)), judge)
    near = nearness(first, second)
    same = np.array([cell == "both" for cell in cells]).reshape(rows, columns)
    found = [(match.first, match.second) for match in entry.matches]
    assert worth(found, near) == max(worth(pairs, near) for pairs in every_matching(same))
    assert all(same[pair] for pair in found)
    assert entry.matches_at_most == len(found)
    assert len(judge.asked) <= 2 * rows * columns


@LAW
@given(RELATIONS)
def test_who_is_the_first_does_not_change_how_many_are_the_same(scripted, relation):
    (rows, columns), _ = relation
    first, second = texts_of("a", rows), texts_of("bb", columns)
    one, other = (wrote(*(("e", 1, t) for t in texts)) for texts in (first, second))
    says = says_of(relation, first, second)
    there, back = (
        align(*pair, scripted(says, standing=Standing.UNCALIBRATED)) for pair in ((one, other), (other, one))
    )
    assert len(there[0].matches) == len(back[0].matches)


def test_nothing_is_aligned_with_nothing(judge):
    empty = Fixture((), refusal=None)
    assert align(empty, empty, judge()) == ()
    asyncio.run(aligned_by_judge((), desk_of(judge()), workers=1, progress=in_silence))
