"""The verdict on each gate of the plan, for each system of a log."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from eval_pipeline.gates import at_least, at_most
from eval_pipeline.records import Number, Outcome, Reason, Verdict
from eval_pipeline.studies.imported.estimates import Estimate, Findings
from eval_pipeline.studies.imported.plan import Gate, ImportedPlan

_FROM_BEST = (Outcome.PASS, Outcome.WARN, Outcome.SKIP, Outcome.FAIL)


def verdicts(found: Findings, plan: ImportedPlan) -> tuple[Verdict, ...]:
    """The verdicts on the gates of the plan, one for each system that has the metric; without a gate, on nothing."""
    if not plan.gates:
        return tuple(_without_bar(one, found) for one in found.estimates)
    return tuple(verdict for gate in plan.gates for verdict in _on_gate(gate, found, plan))


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome that decides where all must pass: a fail before a skip, a skip before a warning."""
    return max(outcomes, key=_FROM_BEST.index)


def _on_gate(gate: Gate, found: Findings, plan: ImportedPlan) -> Iterator[Verdict]:
    held = [one for one in found.estimates if one.metric == gate.metric]
    if not held:
        known = ", ".join(sorted({one.metric for one in found.estimates}))
        yield Verdict.withheld(
            gate.metric, Reason.NOT_MEASURED, f"the log has no metric {gate.metric!r}, but {known}; name one of these"
        )
    for one in held:
        yield _obstacle(one, found, plan) or _decided(one, gate, found)


def claim_of(one: Estimate, found: Findings) -> str:
    """The metric; where there are several systems, with the system."""
    return one.metric if len({other.system for other in found.estimates}) == 1 else f"{one.metric} of {one.system}"


def _obstacle(one: Estimate, found: Findings, plan: ImportedPlan) -> Verdict | None:
    """Why nothing can be said of a metric, if nothing can."""
    claim, intake = claim_of(one, found), plan.intake
    if one.share_undecided > intake.undecided_at_most:
        counted = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in one.undecided.items())
        return Verdict.withheld(
            claim,
            Reason.UNTRUSTWORTHY,
            f"{sum(one.undecided.values())} of {one.scores + sum(one.undecided.values())} scores are undecided"
            f" ({counted}), and at most {float(intake.undecided_at_most):.1%} may be; the mean lies between"
            f" {float(one.worst_low):.4f} and {float(one.worst_high):.4f}; ask these again",
        )
    if one.scored_items < intake.smallest_items:
        return Verdict.withheld(
            claim,
            Reason.UNDERPOWERED,
            f"{one.scored_items} items have a score and the plan asks for {intake.smallest_items}; ask more items",
        )
    return None


def _decided(one: Estimate, gate: Gate, found: Findings) -> Verdict:
    bar = gate.at_most if gate.at_least is None else gate.at_least
    assert bar is not None
    assert one.mean is not None
    assert one.interval is not None
    least = gate.at_least is not None
    near, worst = (one.interval.low, one.worst_low) if least else (one.interval.high, one.worst_high)
    assert near is not None
    outcome, reason, addition = Outcome.PASS, None, "and the interval shows it"
    if not _keeps(one.mean, bar, least=least):
        outcome, reason, addition = Outcome.FAIL, Reason.THRESHOLD_MISSED, "which it misses"
    elif not _keeps(near, bar, least=least):
        outcome, reason, addition = Outcome.WARN, Reason.NOT_SHOWN, "which it keeps, and the interval does not show it"
    elif not _keeps(worst, bar, least=least):
        outcome, reason = Outcome.WARN, Reason.UNDECIDED
        addition = f"which what is undecided could turn: the mean may be {float(worst):.4f}"
    detail = f"{_mean_of(one)}; the bar is {'at least' if least else 'at most'} {float(bar):.4f}, {addition}"
    return _said(one, found, outcome, reason, detail, bar)


def _keeps(value: Number, bar: Fraction, *, least: bool) -> bool:
    compare = at_least if least else at_most
    return compare(value, bar, "exact") is Outcome.PASS


def _without_bar(one: Estimate, found: Findings) -> Verdict:
    if one.mean is None:
        return Verdict.withheld(claim_of(one, found), Reason.NOT_MEASURED, "no item has a score; ask them again")
    detail = f"{_mean_of(one)}; the plan holds no bar for it: give one in [[gates]], before the next log is seen"
    return _said(one, found, Outcome.SKIP, Reason.NO_BAR, detail, None)


def _mean_of(one: Estimate) -> str:
    assert one.mean is not None
    return f"mean {float(one.mean):.4f} over {one.scored_items} items with {one.scores} scores"


def _said(
    one: Estimate, found: Findings, outcome: Outcome, reason: Reason | None, detail: str, bar: Fraction | None
) -> Verdict:
    return Verdict(
        claim_of(one, found),
        outcome,
        reason,
        detail,
        one.mean,
        None,
        one.scored_items,
        one.interval,
        bar,
        advisory=False,
    )
