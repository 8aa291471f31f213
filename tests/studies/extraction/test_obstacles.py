"""Each kind of call has its own budget of answers without a label: at the budget all is well, one more withholds."""

from fractions import Fraction

import pytest

from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import NoLabel, Reason
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.plan import Strategy

FIFTH = Fraction(1, 5)


def is_screen(question):
    return isinstance(question.premise, tuple)


@pytest.fixture
def budgets(lenient, amended):
    """The lenient plan with a fifth of one kind of call allowed to give no label, and all of every other kind."""

    def budgets(kind, share=FIFTH, **judging):
        calls = dict.fromkeys(("probe", "screen", "signal", "guard"), Fraction(1)) | {kind: share}
        errors = {"at_most": Fraction(1), "calls": lenient.errors.calls.model_copy(update=calls)}
        return amended(lenient, errors=errors, judging=judging, guard={"judged_at_least": 2})

    return budgets


@pytest.fixture(scope="session")
def world(note, spanned, world_of):
    """20 propositions in five notes, each entailed by both of its note's signals, and 20 spans."""
    notes = []
    for place in range(5):
        texts = [f"e{place} tells {quartile}" for quartile in (1, 2, 3, 4)]
        told = list(enumerate(texts, 1))
        notes.append(note(f"e{place}", {f"e{place} says": texts, f"e{place} says it again": texts}, told))
    return world_of([*notes, spanned("s", spans=20, supported=20)])


@pytest.fixture
def silent(scripted):
    """A judge that gives no label to the first so many questions of a kind, and knows the truth of all others."""

    def silent(world, count, of_kind, why=NoLabel.TIMED_OUT):
        left = iter(range(count))
        return scripted(lambda q: why if of_kind(q) and next(left, None) is not None else world.says(q))

    return silent


def first_signal(question):
    return question.premise in {f"e{place} says" for place in range(5)}


def span(question):
    return question.hypothesis.startswith("s signal")


@pytest.mark.parametrize("why", [NoLabel.TIMED_OUT, NoLabel.REFUSED, NoLabel.FAILED, NoLabel.CUT_OFF, "perhaps"])
@pytest.mark.parametrize(("unread", "outcomes"), [(4, ("pass", "pass", "pass")), (5, ("skip", "skip", "pass"))])
def test_a_fifth_of_20_screens_may_give_no_label_and_one_more_withholds_recall_and_uniformity(
    world, budgets, run_study, silent, unread, outcomes, why
):
    """Although every proposition is decided, by its signals."""
    study = run_study(world, budgets("screen"), silent(world, unread, is_screen, why))
    assert study.outcomes == outcomes
    assert study.evidence.recall.pooled.undecided == 0
    if outcomes[0] == "skip":
        for verdict in (study.recall, study.uniformity):
            assert (verdict.reason, verdict.estimate) == (Reason.UNTRUSTWORTHY, None)
        named = "unparsable" if why == "perhaps" else why.value
        assert f"5 of 20 screens gave no label (5 {named}), and the plan allows 1/5" in study.recall.detail


@pytest.mark.parametrize(("unread", "outcomes"), [(5, ("pass", "pass", "pass")), (6, ("skip", "skip", "pass"))])
def test_a_fifth_of_the_questions_about_single_signals_may_give_no_label(
    world, budgets, run_study, silent, unread, outcomes
):
    """20 propositions: of so many the first signal gives no label, and the second is asked and supports them.

    5 of 20 + 5 questions are a fifth exactly; 6 of 26 are more.
    """
    plan = budgets("signal", strategy=Strategy.NO_SCREEN, signal_order="key")
    study = run_study(world, plan, silent(world, unread, first_signal))
    assert study.outcomes == outcomes
    assert study.evidence.recall.pooled.hits == 20
    if outcomes[0] == "skip":
        assert study.recall.reason is Reason.UNTRUSTWORTHY
        assert "6 of 26 questions about single signals gave no label (6 timed_out)" in study.recall.detail


@pytest.mark.parametrize(("unread", "outcomes"), [(4, ("pass", "pass", "pass")), (5, ("pass", "pass", "skip"))])
def test_a_fifth_of_20_spans_may_give_no_label_and_one_more_withholds_precision_alone(
    world, budgets, run_study, silent, unread, outcomes
):
    study = run_study(world, budgets("guard"), silent(world, unread, span))
    # 4 undecided of 20 could turn the pass, which is why it is a warning where undecided ones are counted so.
    assert [outcome.replace("warn", "pass") for outcome in study.outcomes] == list(outcomes)
    if outcomes[2] == "skip":
        assert (study.guard.reason, study.guard.estimate) == (Reason.UNTRUSTWORTHY, None)
        assert "5 of 20 spans gave no label (5 timed_out), and the plan allows 1/5" in study.guard.detail


@pytest.mark.parametrize("kind", ["probe", "screen", "signal", "guard"])
def test_a_budget_is_of_its_own_kind_of_call_alone(world, budgets, run_study, scripted, kind):
    """With every other kind of call without a label, and this one whole, no claim is withheld for this kind."""
    kinds = {"screen": is_screen, "guard": span, "signal": lambda q: not is_screen(q) and not span(q)}
    others = [of_kind for name, of_kind in kinds.items() if name != kind]
    says = lambda q: NoLabel.TIMED_OUT if any(of_kind(q) for of_kind in others) else world.says(q)  # noqa: E731
    probed = "SUPPORTED" if kind == "probe" else "I am ready."
    study = run_study(world, budgets(kind, Fraction(0)), scripted(says, probed=probed))
    assert study.judged.refusal is None
    assert "and the plan allows 0" not in " ".join(v.detail for v in (study.recall, study.uniformity, study.guard))


@pytest.mark.parametrize("screens", [5, 20])
def test_screens_that_are_too_long_for_the_model_are_no_errors(world, budgets, run_study, silent, screens):
    plan = budgets("screen", Fraction(0))
    study = run_study(world, plan, silent(world, screens, is_screen, NoLabel.TOO_LONG))
    assert study.outcomes == ("pass", "pass", "pass")
    assert (study.recall.numerator, study.recall.denominator) == (20, 20)


def test_a_single_signal_that_is_too_long_is_an_error(world, budgets, run_study, silent):
    plan = budgets("signal", strategy=Strategy.NO_SCREEN, signal_order="key")
    study = run_study(world, plan, silent(world, 6, first_signal, NoLabel.TOO_LONG))
    assert (study.recall.outcome, study.recall.reason) == ("skip", Reason.UNTRUSTWORTHY)
    assert "(6 too_long)" in study.recall.detail


def test_audits_repeats_and_canaries_without_a_label_are_in_no_budget_of_the_deciding_calls(
    world, budgets, amended, run_study, scripted
):
    measured = {"audited_negatives": Fraction(1), "canaries": Fraction(1), "repeats": Fraction(1)}
    plan = amended(budgets("screen", Fraction(0), **measured), calibration={"uncalibrated_pass": "pass"})
    calls = plan.errors.calls.model_copy(
        update={"canary": Fraction(1)} | dict.fromkeys(("screen", "signal", "guard"), Fraction(0))
    )
    own = {canary.premise for canary in frame_of(world.snapshot, world.fixture, plan).canaries}
    judge = scripted(
        lambda q: NoLabel.TIMED_OUT if q.repeat or q.premise in own else world.says(q), standing=Standing.UNCALIBRATED
    )
    study = run_study(world, amended(plan, errors={"calls": calls}), judge)
    assert study.outcomes == ("pass", "pass", "pass")
    assert (study.evidence.judge.canaries_unread, study.evidence.judge.flips.compared) == (20, 0)


@pytest.mark.parametrize("said", ["I am ready.", "", NoLabel.CUT_OFF, NoLabel.REFUSED])
def test_a_probe_that_cannot_be_read_ends_the_run_before_it_costs_anything(world, lenient, run_study, scripted, said):
    judge = scripted(world.says, probed=said)
    study = run_study(world, lenient, judge)
    assert study.outcomes == ("skip", "skip", "skip")
    assert {verdict.reason for verdict in (study.recall, study.uniformity, study.guard)} == {Reason.UNTRUSTWORTHY}
    assert study.recall.detail.startswith("the judge's answer to the probe cannot be read (")
    assert (judge.asked, judge.closed) == ([], True)
    assert [row["kind"] for row in study.judged.rows] == ["probe"]


def test_what_the_judge_said_to_the_probe_stands_in_the_refusal(world, lenient, run_study, scripted):
    detail = run_study(world, lenient, scripted(world.says, probed="The user sends one")).recall.detail
    assert 'unparsable: found "The user sends one", expected one of the two words' in detail


@pytest.mark.parametrize("said", ["SUPPORTED", "not_supported."])
def test_a_probe_that_can_be_read_is_asked_once_and_decides_nothing(world, lenient, run_study, scripted, said):
    judge = scripted(world.says, probed=said)
    study = run_study(world, lenient, judge)
    assert [row["kind"] for row in study.judged.rows].count("probe") == judge.probes == 1
    assert study.recall == run_study(world, lenient).recall


def test_a_plan_may_go_on_after_a_probe_that_cannot_be_read(world, budgets, run_study, scripted):
    study = run_study(world, budgets("probe", Fraction(1)), scripted(world.says, probed="I am ready."))
    assert study.outcomes == ("pass", "pass", "pass")
    assert study.document["judgments"]["probe"] == {"unparsable": 1}


def test_a_budget_that_is_exceeded_is_said_before_what_the_design_lacks(world, budgets, amended, run_study, silent):
    plan = amended(budgets("screen"), design={"entries": 6})
    trusted, doubted = (run_study(world, plan, silent(world, unread, is_screen)) for unread in (4, 5))
    assert (trusted.recall.reason, trusted.recall.advisory) == (Reason.UNDERPOWERED, True)
    assert (doubted.recall.reason, doubted.recall.advisory) == (Reason.UNTRUSTWORTHY, False)


@pytest.fixture(scope="session")
def hundred(counted, world_of):
    """100 propositions in 25 notes, all recovered."""
    return world_of(counted(f"e{place:02d}") for place in range(25))


@pytest.mark.parametrize(("unread", "outcome"), [(10, "pass"), (11, "skip"), (12, "skip")])
def test_of_100_propositions_10_may_stay_undecided_under_a_budget_of_a_tenth(
    hundred, lenient, amended, run_study, scripted, unread, outcome
):
    silent = {proposition.text for proposition in hundred.fixture.propositions[:unread]}
    judge = scripted(lambda q: NoLabel.REFUSED if q.hypothesis in silent else hundred.says(q))
    errors = {
        "at_most": Fraction(1, 10),
        "calls": lenient.errors.calls.model_copy(update=dict.fromkeys(("screen", "signal"), 1)),
    }
    recall = run_study(hundred, amended(lenient, errors=errors), judge).recall
    assert recall.outcome == outcome
    if outcome == "skip":
        assert (recall.reason, recall.estimate, recall.interval) == (Reason.UNTRUSTWORTHY, None, None)
        low = 1 - unread / 100
        assert f"{unread} of 100 propositions gave no label" in recall.detail
        assert f"recall may lie anywhere from {low:.4f} to 1.0000" in recall.detail


@pytest.mark.parametrize("kind", ["screen", "signal"])
def test_whichever_budget_is_exceeded_the_range_that_recall_may_lie_in_is_said(
    hundred, lenient, amended, run_study, scripted, kind
):
    """12 of 100 screens, or of 100 questions about a signal, under a budget of a tenth: 88 recovered, 12 undecided."""
    silent = {proposition.text for proposition in hundred.fixture.propositions[:12]}
    of_kind = is_screen if kind == "screen" else lambda q: not is_screen(q)
    judge = scripted(lambda q: NoLabel.REFUSED if of_kind(q) and q.hypothesis in silent else hundred.says(q))
    calls = {"screen": Fraction(1), "signal": Fraction(1), kind: Fraction(1, 10)}
    errors = {"calls": lenient.errors.calls.model_copy(update=calls)}
    strategy = Strategy.SCREEN_FIRST if kind == "screen" else Strategy.NO_SCREEN
    plan = amended(lenient, errors=errors, judging={"unreadable_screen": "undecided", "strategy": strategy})
    recall = run_study(hundred, plan, judge).recall
    assert (recall.outcome, recall.reason) == ("skip", Reason.UNTRUSTWORTHY)
    assert "12 of 100" in recall.detail
    assert "recall may lie anywhere from 0.8800 to 1.0000" in recall.detail


def test_where_the_budget_of_spans_is_exceeded_the_range_that_precision_may_lie_in_is_said(
    world, budgets, run_study, silent
):
    """5 of 20 spans gave no label, and the other 15 support their signals."""
    detail = run_study(world, budgets("guard"), silent(world, 5, span)).guard.detail
    assert "5 of 20 spans" in detail
    assert "from 0.7500 to 1.0000" in detail
