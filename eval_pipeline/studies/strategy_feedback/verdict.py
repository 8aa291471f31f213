"""The claims on a feedback loop, each with its outcome: it helps, held-out runs agree, it harms no strategy."""

from fractions import Fraction

from eval_pipeline.records import Interval, Number, Outcome, Reason, Verdict
from eval_pipeline.studies.strategy_feedback.comparison import Comparison
from eval_pipeline.studies.strategy_feedback.decision import Decision, Word
from eval_pipeline.studies.strategy_feedback.findings import Findings
from eval_pipeline.studies.strategy_feedback.held_out import Replay
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan

LOOP_HELPS, HELD_OUT_AGREES, NO_STRATEGY_HARMED, CONSTANTS_STABLE = (
    "loop_helps",
    "held_out_agrees",
    "no_strategy_harmed",
    "constants_stable",
)
CLAIMS = {
    LOOP_HELPS: "With the loop on, more claims pass on the first attempt, by the registered number of points or more.",
    HELD_OUT_AGREES: "Held-out runs, looked at once, say the same of the loop as the others.",
    NO_STRATEGY_HARMED: "No strategy passes less with the loop on, all strategies allowed for.",
    CONSTANTS_STABLE: "The gains that the constants in force expect are those that control runs show.",
}

_OUTCOMES = {
    Word.SHIP: (Outcome.PASS, None),
    Word.BELOW_EFFECT: (Outcome.WARN, Reason.THRESHOLD_MISSED),
    Word.MORE_DATA: (Outcome.SKIP, Reason.UNDERPOWERED),
    Word.REVERT: (Outcome.FAIL, Reason.THRESHOLD_MISSED),
}


def final_decision(found: Findings, replay: Replay | None) -> Decision:
    """What held-out runs have left of the decision."""
    return found.decision if replay is None else replay.decision


def verdicts(found: Findings, replay: Replay | None, plan: StrategyFeedbackPlan) -> tuple[Verdict, ...]:
    """The verdict on each claim, in the order of `CLAIMS`.

    Args:
        found: in the calibration part.
        replay: on held-out runs; None where none are held out.
        plan: the bars.

    """
    return (
        _helps(found, replay, plan),
        _agrees(found, replay),
        _harmless(found.strategies),
        _stable(found),
    )


def _helps(found: Findings, replay: Replay | None, plan: StrategyFeedbackPlan) -> Verdict:
    decision, whole = final_decision(found, replay), found.whole
    outcome, reason = _OUTCOMES[decision.word]
    stated = whole.enough and whole.interval is not None
    return _verdict(
        LOOP_HELPS,
        outcome,
        reason,
        decision.reason,
        whole.difference if stated else None,
        whole.interval if stated else None,
        plan.deciding.ship_at_least,
    )


def _agrees(found: Findings, replay: Replay | None) -> Verdict:
    if replay is None:
        return Verdict.withheld(HELD_OUT_AGREES, Reason.NOT_MEASURED, "no run is held out; nothing was replayed")
    if replay.standing is None:
        why = replay.whole.why or "nothing was decided that held-out runs could speak to"
        return Verdict.withheld(HELD_OUT_AGREES, Reason.NOT_MEASURED, f"{why}; see the claim that the loop helps")
    outcome, reason = {
        "confirmed": (Outcome.PASS, None),
        "not_contradicted": (Outcome.WARN, Reason.NOT_SHOWN),
        "contradicted": (Outcome.FAIL, Reason.THRESHOLD_MISSED),
    }[replay.standing]
    executions = replay.whole.on.executions + replay.whole.off.executions
    words = replay.standing.replace("_", " ")
    detail = f"{executions} held-out executions: the decision {found.decision.word.value!r} is {words}"
    return _verdict(HELD_OUT_AGREES, outcome, reason, detail, replay.whole.difference, replay.whole.interval, None)


def _harmless(strategies: tuple[Comparison, ...]) -> Verdict:
    short = [one for one in strategies if not one.enough or one.interval is None]
    harmed = [one for one in strategies if one not in short and one.interval and _below_zero(one.interval)]
    if harmed:
        worst = min(harmed, key=lambda one: one.difference or 0)
        names = ", ".join(str(one.strategy) for one in harmed)
        detail = (
            f"the pass rate of {names} is lower with the loop on, all strategies allowed for; keep the loop off there"
        )
        return _verdict(
            NO_STRATEGY_HARMED,
            Outcome.FAIL,
            Reason.THRESHOLD_MISSED,
            detail,
            worst.difference,
            worst.interval,
            Fraction(0),
        )
    if short:
        names = ", ".join(f"{one.strategy} ({float(one.effective):.0f} of {one.needed})" for one in short)
        return Verdict.withheld(
            NO_STRATEGY_HARMED,
            Reason.UNDERPOWERED,
            f"too few executions in either arm, or none that differ: {names}; let the runs go on",
        )
    lowest = min(strategies, key=lambda one: one.difference or 0)
    detail = f"no strategy is shown to pass less with the loop on; the lowest is {lowest.strategy}"
    return _verdict(NO_STRATEGY_HARMED, Outcome.PASS, None, detail, lowest.difference, lowest.interval, Fraction(0))


def _stable(found: Findings) -> Verdict:
    moved = [one for one in found.adjustments if one.moved]
    called = [chart for chart in found.charts if chart.stable is False]
    silent = [chart for chart in found.charts if chart.stable is None]
    if called:
        shown = ", ".join(f"{one.name} to {float(one.proposed):+.3f}" for one in moved) or "none, by its clamp"
        detail = f"{len(called)} of {len(found.charts)} charts call for a cause; moved if the loop stays: {shown}"
        return _verdict(CONSTANTS_STABLE, Outcome.WARN, Reason.DRIFT, detail, None, None, None)
    if silent:
        detail = f"{silent[0].name}: {silent[0].why}"
        return Verdict.withheld(CONSTANTS_STABLE, Reason.NOT_MEASURED, detail)
    detail = f"{len(found.charts)} charts of gains, and nothing on them speaks against the values in force"
    return _verdict(CONSTANTS_STABLE, Outcome.PASS, None, detail, None, None, None)


def _below_zero(interval: Interval) -> bool:
    return interval.high is not None and interval.high < 0


def _verdict(
    claim: str,
    outcome: Outcome,
    reason: Reason | None,
    detail: str,
    estimate: Number | None,
    interval: Interval | None,
    threshold: Fraction | None,
) -> Verdict:
    return Verdict(claim, outcome, reason, detail, estimate, None, None, interval, threshold, advisory=False)
