"""Canaries: a judge that does what a signal tells it is found out first; of any other judge no trace is left."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.source import pinned
from eval_pipeline.judge.lexical import entails, tokens
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import NoLabel, Reason
from eval_pipeline.studies.extraction.canaries import CLAIMS, INSTRUCTIONS
from eval_pipeline.studies.extraction.fixture import pinned_fixture
from eval_pipeline.studies.extraction.frame import frame_of

ALL = {"canaries": Fraction(1)}


def instructs(question):
    """Whether a premise holds an instruction."""
    premises = question.premise if isinstance(question.premise, tuple) else (question.premise,)
    return any(instruction in premise for premise in premises for instruction in INSTRUCTIONS)


def is_canary(question):
    return question.hypothesis in CLAIMS


@pytest.fixture(scope="session")
def watched(lenient, amended):
    """The lenient plan with a canary for each proposition, under which a judge that is no oracle can pass."""
    return amended(lenient, judging=ALL, calibration={"uncalibrated_pass": "pass"}, guard={"judged_at_least": 2})


@pytest.fixture(scope="session")
def world(counted, spanned, note, world_of):
    """Two notes of eight propositions in all, a note without signals, and spans."""
    silent = note("silent", {}, [(1, "nothing is told of this")])
    return world_of([counted("a"), counted("b"), silent, spanned("s", spans=3, supported=3)])


@pytest.fixture
def model(scripted):
    """A judge that is no oracle, and says this."""

    def model(says, **about):
        return scripted(says, standing=Standing.UNCALIBRATED, **about)

    return model


def test_a_judge_that_obeys_voids_all_three_claims_and_is_asked_nothing_but_canaries(world, watched, run_study, model):
    judge = model(lambda question: "SUPPORTED" if instructs(question) else world.says(question))
    study = run_study(world, watched, judge)
    assert study.outcomes == ("skip", "skip", "skip")
    for verdict in (study.recall, study.uniformity, study.guard):
        assert (verdict.reason, verdict.estimate, verdict.interval) == (Reason.UNTRUSTWORTHY, None, None)
        assert verdict.detail.startswith("the judge called 8 canaries supported, claims that nothing supports")
        assert all(f"canary-{number} (entry " in verdict.detail for number in range(1, 6))
        assert "canary-6" not in verdict.detail
    assert len(judge.asked) == 8
    assert all(is_canary(question) for question in judge.asked)


def test_a_judge_that_obeys_once_is_found_out_by_the_name_and_the_entry_of_that_canary(
    world, watched, run_study, model
):
    (third,) = (
        canary for canary in frame_of(world.snapshot, world.fixture, watched).canaries if canary.id == "canary-3"
    )
    judge = model(lambda question: "SUPPORTED" if question.premise == third.premise else world.says(question))
    study = run_study(world, watched, judge)
    assert study.outcomes == ("skip", "skip", "skip")
    assert "called 1 canaries supported" in study.recall.detail
    assert f": canary-3 (entry {third.entry_id});" in study.recall.detail
    assert all(is_canary(question) for question in judge.asked)


def test_an_honest_judge_leaves_the_canaries_in_no_number_of_the_verdict(world, watched, amended, run_study, model):
    with_canaries = run_study(world, watched, model(world.says)).document
    without = run_study(world, amended(watched, judging={"canaries": 0}), model(world.says)).document
    assert with_canaries["judgments"].pop("canary") == {"NOT_SUPPORTED": 8}
    assert with_canaries["findings"]["judge"].pop("canaries") == {"asked": 8, "unread": 0}
    assert without["findings"]["judge"].pop("canaries") == {"asked": 0, "unread": 0}
    counts = [
        (found["frame"].pop("canaries"), found["frame"].pop("calls_at_most")) for found in (with_canaries, without)
    ]
    assert counts[0] == (8, counts[1][1] + 8)
    assert with_canaries == without
    assert without["claims"][0]["denominator"] == 9


def test_canaries_are_asked_before_anything_else_and_stand_first_among_the_judgments(world, watched, run_study, model):
    study = run_study(world, watched, model(world.says, probed="SUPPORTED"))
    assert [is_canary(question) for question in study.judge.asked] == [True] * 8 + [False] * (
        len(study.judge.asked) - 8
    )
    kinds = [row["kind"] for row in study.judged.rows]
    assert kinds[:9] == ["probe"] + ["canary"] * 8
    assert "canary" not in kinds[9:]
    canaries = study.judged.rows[1:9]
    assert {(row["unit"], row["quartile"]) for row in canaries} == {(None, None)}
    assert [row["signal_id"] for row in canaries] == [f"canary-{number}" for number in range(1, 9)]


def unread_canaries(world, model, number):
    unread = iter([NoLabel.REFUSED, "I will not be told what to say", NoLabel.TIMED_OUT][:number])
    return model(lambda q: next(unread, "NOT_SUPPORTED") if is_canary(q) else world.says(q))


def test_more_canaries_without_a_label_than_the_plan_allows_void_the_run(world, watched, amended, run_study, model):
    calls = watched.errors.calls.model_copy(update={"canary": Fraction(2, 8)})
    study = run_study(world, amended(watched, errors={"calls": calls}), unread_canaries(world, model, 3))
    assert study.outcomes == ("skip", "skip", "skip")
    assert study.recall.reason is Reason.UNTRUSTWORTHY
    assert "3 of 8 canaries gave no label (1 refused, 1 timed_out, 1 unparsable)" in study.recall.detail
    assert not [question for question in study.judge.asked if not is_canary(question)]


def test_a_canary_without_a_label_is_counted_and_voids_nothing_within_the_budget(
    world, watched, amended, run_study, model
):
    calls = watched.errors.calls.model_copy(update={"canary": Fraction(3, 8)})
    study = run_study(world, amended(watched, errors={"calls": calls}), unread_canaries(world, model, 3))
    assert study.outcomes == ("pass", "pass", "pass")
    found = study.evidence.judge
    assert (found.canaries, found.canaries_unread) == (8, 3)
    assert study.document["findings"]["judge"]["canaries"] == {"asked": 8, "unread": 3}


def test_peoples_labels_are_not_led_astray(world, watched, run_study, scripted):
    study = run_study(world, watched, scripted(world.says, standing=Standing.ORACLE))
    assert len(study.frame.canaries) == 8
    assert [question for question in study.judge.asked if is_canary(question) or instructs(question)] == []
    assert study.evidence.judge.canaries == 0


@pytest.mark.parametrize(
    ("rate", "canaries"),
    [
        (Fraction(0), 0),
        (Fraction(1, 1000), 1),
        (Fraction(1, 50), 1),
        (Fraction(1, 10), 4),  # a tenth of 40, exactly
        (Fraction(1, 9), 5),  # 40/9 = 4.4, rounded up
        (Fraction(1), 40),
    ],
)
def test_so_many_canaries_are_salted_as_the_plan_says(counted, note, world_of, lenient, amended, rate, canaries):
    """For the propositions that will be judged and whose entry has a signal: 40 of these 48."""
    notes = [counted(f"e{place}") for place in range(10)]
    world = world_of([*notes, note("silent", {}, [(1, f"s{k}") for k in range(4)]), counted("gone", absent=True)])
    frame = frame_of(world.snapshot, world.fixture, amended(lenient, judging={"canaries": rate}))
    assert len(frame.canaries) == canaries
    assert len({canary.id for canary in frame.canaries}) == canaries
    assert {canary.entry_id for canary in frame.canaries} <= {note.entry.id for note in notes}
    whole = frame_of(world.snapshot, world.fixture, amended(lenient, judging={"canaries": 0}))
    assert frame.calls_at_most == whole.calls_at_most + canaries


@pytest.mark.parametrize(
    "budget", [{"entries": 3}, {"propositions_per_entry": 2}], ids=lambda budget: next(iter(budget))
)
def test_propositions_over_the_budget_have_no_canaries(counted, world_of, lenient, amended, budget):
    """One a proposition that is judged: 3 entries of 4, or 10 entries of 2."""
    world = world_of(counted(f"e{place}") for place in range(10))
    frame = frame_of(world.snapshot, world.fixture, amended(lenient, judging=ALL, budget=budget))
    in_entry = Counter(unit.entry_id for unit in frame.judged_units)
    assert Counter(canary.entry_id for canary in frame.canaries) == in_entry
    assert in_entry.total() in (12, 20)


def test_a_canary_is_a_signal_of_its_entry_with_an_instruction_and_a_claim_that_is_not_of_the_corpus(
    counted, world_of, lenient, amended
):
    world = world_of(counted(f"e{place:02d}") for place in range(20))
    canaries = frame_of(world.snapshot, world.fixture, amended(lenient, judging=ALL)).canaries
    for canary in canaries:
        carriers = [signal.content for signal in world.snapshot.signals_by_entry[canary.entry_id]]
        assert canary.premise in {f"{text} {instruction}" for text in carriers for instruction in INSTRUCTIONS}
        assert canary.hypothesis in CLAIMS
    pairs = [(next(i for i in INSTRUCTIONS if canary.premise.endswith(i)), canary.hypothesis) for canary in canaries]
    assert len(set(pairs[:64])) == 64  # every instruction with every claim, before a pair comes again
    assert Counter(map(pairs[:8].count, pairs[:8])) == {1: 8}


def test_one_seed_salts_the_same_and_another_seed_elsewhere(counted, world_of, lenient, amended):
    world = world_of(counted(f"e{place:02d}") for place in range(20))
    first, again, other = (
        frame_of(world.snapshot, world.fixture, amended(lenient, seed=seed, judging={"canaries": Fraction(1, 4)}))
        for seed in (4242, 4242, 4243)
    )
    assert first.canaries == again.canaries
    assert len(first.canaries) == len(other.canaries) == 20
    assert [canary.entry_id for canary in first.canaries] != [canary.entry_id for canary in other.canaries]


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_claim_is_supported_by_an_instruction_or_by_all_of_them_in_words_in_common(claim):
    assert not any(entails([instruction], claim) for instruction in INSTRUCTIONS)
    assert not entails(INSTRUCTIONS, claim)
    assert max(len(tokens(claim) & tokens(instruction)) for instruction in INSTRUCTIONS) < 2


def test_a_claim_is_told_apart_from_every_other_and_so_is_an_instruction():
    for texts in (CLAIMS, INSTRUCTIONS):
        assert len(set(texts)) == len(texts)
        assert not any(a in b for a, b in itertools.permutations(texts, 2))


@pytest.fixture(scope="module")
def sample():
    return pinned("sample"), pinned_fixture(bundled("sample") / "propositions.jsonl")


def test_the_lexical_judge_obeys_no_canary_of_the_bundled_sample(sample, shipped, amended):
    """One for each proposition, with every signal that may carry it: more than a thousand."""
    canaries = frame_of(*sample, amended(shipped, judging=ALL)).canaries
    assert len(canaries) > 1000
    assert [canary.id for canary in canaries if entails([canary.premise], canary.hypothesis)] == []


def test_no_claim_follows_from_a_signal_of_the_bundled_sample(sample):
    signals = [signal.content for signal in sample[0].signals]
    assert [(text, claim) for text in signals for claim in CLAIMS if entails([text], claim)] == []


def test_the_lexical_judge_keeps_its_numbers_under_canaries(world, watched, amended, run_study):
    with_canaries, without = (
        run_study(world, plan, LexicalJudge()) for plan in (watched, amended(watched, judging={"canaries": 0}))
    )
    assert with_canaries.outcomes == without.outcomes
    assert (with_canaries.recall, with_canaries.uniformity) == (without.recall, without.uniformity)
    assert (with_canaries.evidence.judge.canaries, without.evidence.judge.canaries) == (8, 0)
