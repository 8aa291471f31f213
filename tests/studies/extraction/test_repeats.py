"""Repeats: how often a judge turned its answers is counted as it was made up, and a pass that this could turn warns."""

from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import binomtest

from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Kind, NoLabel, Outcome, Reason
from eval_pipeline.studies.extraction.plan import Strategy

TURNED = {"SUPPORTED": "NOT_SUPPORTED", "NOT_SUPPORTED": "SUPPORTED"}


def is_screen(question):
    return isinstance(question.premise, tuple)


def high_end(turned, compared):
    """scipy 1.17.1, binomtest(...).proportion_ci(method="exact")."""
    return binomtest(turned, compared).proportion_ci(confidence_level=0.95, method="exact").high


@pytest.fixture(scope="session")
def repeated(lenient, amended):
    """The lenient plan with every judgment asked for once more, under which a judge that is no oracle can pass."""
    return amended(
        lenient,
        judging={"repeats": Fraction(1)},
        calibration={"uncalibrated_pass": "pass"},
        guard={"judged_at_least": 20},
    )


@pytest.fixture(scope="session")
def world(counted, spanned, world_of):
    """40 propositions, each with one signal that entails it, and 40 spans: 40 screens, 40 signals, 40 spans."""
    return world_of([*(counted(f"e{place}") for place in range(10)), spanned("s", spans=40, supported=40)])


@pytest.fixture
def fickle(scripted):
    """A judge that is no oracle and turns, on being asked again, its answers to these questions of a world."""

    def fickle(world, *, screens=(), signals=(), spans=(), unread=()):
        def says(question):
            said, text = world.says(question), question.hypothesis
            if not question.repeat:
                return said
            if text in unread:
                return NoLabel.TIMED_OUT
            turns = text in (screens if is_screen(question) else (*signals, *spans))
            return TURNED[said] if turns else said

        return scripted(says, standing=Standing.UNCALIBRATED)

    return fickle


def tells(count, *, quartile=1):
    return [f"e{entry} tells {quartile}.0" for entry in range(count)]


def spans(count):
    return [f"s signal {place:04d}" for place in range(count)]


def test_turned_answers_are_counted_by_what_they_decide(world, repeated, run_study, fickle):
    """3 screens and 2 signals of 80 on propositions, and 4 of 40 spans."""
    study = run_study(world, repeated, fickle(world, screens=tells(3), signals=tells(2, quartile=2), spans=spans(4)))
    flips, span_flips = study.evidence.judge.flips, study.evidence.judge.span_flips
    assert (flips.repeated, flips.compared, flips.turned) == (80, 80, 5)
    assert (span_flips.repeated, span_flips.compared, span_flips.turned) == (40, 40, 4)
    assert (study.recall.numerator, study.guard.numerator) == (40, 40)  # the first answers stand


def test_the_interval_of_the_flip_rate_is_that_of_scipy(world, repeated, run_study, fickle):
    study = run_study(world, repeated, fickle(world, screens=tells(3), spans=spans(4)))
    written = study.document["findings"]["judge"]["repeats"]
    for kind, turned, compared in (("propositions", 3, 80), ("spans", 4, 40)):
        theirs = binomtest(turned, compared).proportion_ci(confidence_level=0.95, method="exact")
        assert written[kind] == {
            "repeated": compared,
            "compared": compared,
            "turned": turned,
            "flip_rate": turned / compared,
            "interval": [pytest.approx(theirs.low, abs=1e-9), pytest.approx(theirs.high, abs=1e-9)],
        }


def test_an_unread_repeat_is_repeated_and_not_compared(world, repeated, run_study, fickle):
    study = run_study(world, repeated, fickle(world, screens=tells(3), unread=tells(1)))
    flips = study.evidence.judge.flips
    assert (flips.repeated, flips.compared, flips.turned) == (80, 78, 2)  # the screen and the signal of one proposition


def test_what_gave_no_label_is_not_asked_once_more(world, repeated, run_study, scripted):
    silent = set(tells(4))
    judge = scripted(
        lambda q: NoLabel.REFUSED if q.hypothesis in silent and not q.repeat else world.says(q),
        standing=Standing.UNCALIBRATED,
    )
    study = run_study(world, repeated, judge)
    assert not any(question.repeat and question.hypothesis in silent for question in judge.asked)
    assert study.evidence.judge.flips.repeated == 80 - 8


@pytest.mark.parametrize(
    ("share", "repeats"),
    [
        (Fraction(0), 0),
        (Fraction(1, 1000), 1),
        (Fraction(1, 20), 6),  # a twentieth of 120, exactly
        (Fraction(1, 19), 7),  # 120/19 = 6.3, rounded up
        (Fraction(1), 120),
    ],
)
def test_so_many_of_the_different_questions_are_repeated_as_the_plan_says(
    world, repeated, amended, run_study, fickle, share, repeats
):
    study = run_study(world, amended(repeated, judging={"repeats": share}), fickle(world))
    again = [question for question in study.judge.asked if question.repeat]
    assert len(again) == len(set(again)) == repeats
    assert len(study.judge.asked) == 120 + repeats == study.frame.calls_at_most
    asked_before = {(q.premise, q.hypothesis) for q in study.judge.asked if not q.repeat}
    assert {(q.premise, q.hypothesis) for q in again} <= asked_before


def test_a_question_that_settles_two_propositions_is_repeated_once(note, world_of, repeated, run_study, fickle):
    """The same words in two entries are one question to a judge that sees the words alone."""
    world = world_of([note("a", {"s": ["x"]}, [(1, "x"), (4, "y")]), note("b", {"s": ["x"]}, [(1, "x"), (4, "y")])])
    study = run_study(world, repeated, fickle(world, signals=["x"]))
    assert Counter(bool(question.repeat) for question in study.judge.asked) == {False: 3, True: 3}
    assert (study.evidence.judge.flips.compared, study.evidence.judge.flips.turned) == (3, 1)


def test_probe_canaries_and_audit_are_not_repeated(note, world_of, repeated, amended, run_study, scripted):
    world = world_of([note(f"e{n}", {"s": [], "t": []}, [(1, f"e{n} x"), (4, f"e{n} y")]) for n in range(5)])
    plan = amended(repeated, judging={"audited_negatives": Fraction(1), "canaries": Fraction(1)})
    judge = scripted(world.says, standing=Standing.UNCALIBRATED, probed="SUPPORTED")
    study = run_study(world, plan, judge)
    assert Counter(row["kind"] for row in study.judged.rows) == {
        "probe": 1,
        "canary": 10,
        "recall_screen": 10,
        "screen_audit": 20,
        "repeat": 10,
    }
    assert all(is_screen(question) for question in judge.asked if question.repeat)


def test_peoples_labels_are_not_asked_for_again(world, repeated, run_study):
    study = run_study(world, repeated)
    assert [question for question in study.judge.asked if question.repeat] == []
    written = study.document["findings"]["judge"]["repeats"]
    nothing = {"repeated": 0, "compared": 0, "turned": 0, "flip_rate": None, "interval": None}
    assert list(written.values()) == [nothing] * 4


def test_repeats_are_asked_last_and_stand_in_no_denominator(world, repeated, amended, run_study, fickle):
    study, without = (
        run_study(world, plan, fickle(world))
        for plan in (repeated, amended(repeated, judging={"repeats": Fraction(0)}))
    )
    kinds = [row["kind"] for row in study.judged.rows]
    assert kinds == [row["kind"] for row in without.judged.rows] + ["repeat"] * 120
    assert {row["unit"] for row in study.judged.rows if row["kind"] == "repeat"} == {None}
    assert (study.recall, study.uniformity, study.guard) == (without.recall, without.uniformity, without.guard)


def test_one_seed_repeats_the_same_and_another_seed_others(world, repeated, amended, run_study, fickle):
    def again(seed):
        plan = amended(repeated, seed=seed, judging={"repeats": Fraction(1, 4)})
        return {question for question in run_study(world, plan, fickle(world)).judge.asked if question.repeat}

    first, same, other = again(4242), again(4242), again(4243)
    assert first == same
    assert first != other


# Recall is 1 and the bar .80: as many of 40 supported signals as bring the upper end of their rate to .20 reach it.
REACHES = next(turned for turned in range(41) if high_end(turned, 40) >= 0.2)


@pytest.mark.parametrize(("turned", "outcome"), [(0, "pass"), (REACHES - 1, "pass"), (REACHES, "warn"), (20, "warn")])
def test_a_recall_that_turned_answers_could_put_below_the_bar_is_a_warning(
    world, repeated, run_study, fickle, turned, outcome
):
    texts = [text for quartile in (1, 2, 3) for text in tells(10, quartile=quartile)]
    recall = run_study(world, repeated, fickle(world, signals=texts[:turned])).recall
    assert recall.outcome == outcome
    assert recall.reason is (Reason.UNREPEATABLE if outcome == "warn" else None)
    assert (recall.estimate, recall.numerator) == (1, 40)
    assert ("asked once more the judge turned so many answers" in recall.detail) is (outcome == "warn")


@pytest.mark.parametrize(("turned", "outcome"), [(0, "pass"), (1, "warn")])
def test_uniformity_warns_where_one_quartile_alone_could_turn(world, repeated, run_study, fickle, turned, outcome):
    """One of 40 turned: recall keeps its distance of .20, and the bound of 0 is within .13 of the bar of .10."""
    assert 0.1 < high_end(1, 40) < 0.2
    study = run_study(world, repeated, fickle(world, signals=tells(turned)))
    assert (study.uniformity.outcome, study.recall.outcome) == (outcome, "pass")
    assert study.uniformity.reason is (Reason.UNREPEATABLE if outcome == "warn" else None)


def test_screens_and_negatives_that_turn_do_not_bear_on_a_pass(world, repeated, run_study, fickle):
    """A pass rests on what single signals support; that all of them together do decides nothing."""
    recall = run_study(world, repeated, fickle(world, screens=tells(10))).recall
    assert (recall.outcome, recall.reason) == ("pass", None)


@pytest.mark.parametrize(("turned", "outcome"), [(0, "pass"), (1, "warn")])
def test_the_guard_warns_for_turned_spans_and_for_no_others(world, repeated, run_study, fickle, turned, outcome):
    """Precision is 1, the bar .95, and one of 40 turned reaches .13."""
    assert high_end(1, 40) > 0.05
    study = run_study(world, repeated, fickle(world, spans=spans(turned)))
    assert (study.guard.outcome, study.recall.outcome) == (outcome, "pass")
    assert study.guard.reason is (Reason.UNREPEATABLE if outcome == "warn" else None)
    assert run_study(world, repeated, fickle(world, screens=tells(10))).guard.outcome is Outcome.PASS


def test_a_fail_stays_a_fail_however_many_answers_turn(counted, spanned, world_of, repeated, run_study, fickle):
    """Recall .75 and precision .925, both within reach of their bars."""
    notes = [counted(f"e{place}", (1, 1, 1, 0)) for place in range(10)]
    world = world_of([*notes, spanned("s", spans=40, supported=37)])
    study = run_study(world, repeated, fickle(world, signals=tells(10), spans=spans(10)))
    assert study.outcomes == ("fail", "fail", "fail")
    assert {verdict.reason for verdict in (study.recall, study.uniformity, study.guard)} == {Reason.THRESHOLD_MISSED}
    assert "could lie on either side of the bar" in study.recall.detail


def test_an_unmeasured_judge_that_turns_its_answers_is_told_so_before_that_it_is_unmeasured(
    world, repeated, amended, run_study, fickle
):
    plan = amended(repeated, calibration={"uncalibrated_pass": "warn"})
    texts = [text for quartile in (1, 2, 3) for text in tells(10, quartile=quartile)]
    turning, steady = (run_study(world, plan, fickle(world, signals=signals)).recall for signals in (texts, ()))
    assert (steady.outcome, steady.reason) == ("warn", Reason.UNCALIBRATED)
    assert (turning.outcome, turning.reason, turning.advisory) == ("warn", Reason.UNREPEATABLE, True)
    assert "the judge's own error rates were never measured" in turning.detail


@pytest.mark.parametrize("strategy", Strategy)
def test_repeats_are_of_the_judgments_that_decide_under_every_strategy(
    world, repeated, amended, run_study, fickle, strategy
):
    study = run_study(world, amended(repeated, judging={"strategy": strategy}), fickle(world, signals=tells(2)))
    deciding = {Kind.SCREEN, Kind.SIGNAL, Kind.SPAN}
    rows = [row for row in study.judged.rows if row["kind"] in deciding]
    assert sum(row["kind"] == "repeat" for row in study.judged.rows) == len(rows)
    assert study.evidence.judge.flips.turned == 2
