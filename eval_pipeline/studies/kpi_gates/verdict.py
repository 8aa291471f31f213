"""The verdicts on calibrated gates, and the decision that they come to."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from eval_pipeline.records import Interval, Number, Outcome, Reason, Verdict
from eval_pipeline.stats.binomial import upper_bound
from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.kpi_gates.calibration import Gate
from eval_pipeline.studies.kpi_gates.findings import Alarms, KpiGatesFindings
from eval_pipeline.studies.kpi_gates.held_out import HeldOutFindings
from eval_pipeline.studies.kpi_gates.kpis import gate_name
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan

BASELINE, INFORMATIVE, FALSE_ALARMS = "baseline_frozen", "gates_informative", "family_false_alarms"
NOT_WORSE, PERTURBATIONS = "not_worse_than_provisional", "perturbations"
CLAIMS = {
    BASELINE: "All runs were measured by the code that the plan froze.",
    INFORMATIVE: "The runs of the baseline vary in every KPI that is calibrated.",
    FALSE_ALARMS: "All gates together stop no more good runs than the plan allows, on held-out runs.",
    NOT_WORSE: "Calibrated gates do no worse than the provisional ones on held-out runs.",
    PERTURBATIONS: "Each calibrated gate stops a run that was shifted, and none that was moved by noise.",
}

Word = Literal["promote", "hold", "revert", "pending", "stopped", "baseline_changed"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the calibrated gates, and why."""

    word: Word
    reason: str


def gates_after(found: KpiGatesFindings, compared: HeldOutFindings | None) -> tuple[Gate, ...]:
    """The gates as they stand once held-out data were seen: what does worse there, or was not tried, is not promoted.

    Args:
        found: what was calibrated.
        compared: None where nothing was held out yet.

    """
    if compared is None:
        return tuple(gate.held("not_tried") for gate in found.gates)
    rejected = {one.gate for one in compared.gates if one.rejected or compared.rejected}
    worse = (gate.held("worse_on_held_out") if gate_name(gate.kpi) in rejected else gate for gate in found.gates)
    return tuple(worse) if compared.enough else tuple(gate.held("not_tried") for gate in worse)


def decided(found: KpiGatesFindings, compared: HeldOutFindings | None) -> Decision:
    """What becomes of the calibrated gates; the first that applies, in the order of the sentences."""
    calibrated = [gate for gate in found.gates if gate.standing.promoted]
    kept = [gate for gate in gates_after(found, compared) if gate.standing.promoted]
    if any(gate.standing.why == "baseline_changed" for gate in found.gates):
        return Decision("baseline_changed", f"{found.foreign} runs were measured by other code than the frozen one")
    if found.stopped:
        return Decision("stopped", f"{found.stopped.gate} was violated too often, up to run {found.stopped.place + 1}")
    if not calibrated:
        return Decision("hold", "no calibrated threshold is to replace a provisional one")
    if compared is None:
        return Decision("pending", f"{len(calibrated)} thresholds wait for held-out runs to be compared on")
    if _rejects(compared) and not kept:
        return Decision("revert", f"on held-out runs {_worse(compared)}; the provisional gates stand")
    if not compared.enough:
        return Decision(
            "hold", f"the held-out arms are worth {float(compared.worth):.0f} runs each, too few to compare"
        )
    rest = len(calibrated) - len(kept)
    rejected = f", and {rest} are reverted" if rest else ""
    return Decision("promote", f"{len(kept)} thresholds replace provisional ones{rejected}")


def verdicts(found: KpiGatesFindings, compared: HeldOutFindings | None, plan: KpiGatesPlan) -> tuple[Verdict, ...]:
    """The verdicts on each claim, in the order of `CLAIMS`."""
    return (
        _baseline(found, plan),
        _informative(found.gates),
        _false_alarms(compared, plan),
        _not_worse(found, compared, plan),
        _perturbations(found),
    )


def _rejects(compared: HeldOutFindings | None) -> bool:
    return compared is not None and (compared.rejected or any(one.rejected for one in compared.gates))


def _worse(compared: HeldOutFindings) -> str:
    if compared.rejected:
        share = compared.family.calibrated.share or 0.0
        return (
            f"calibrated gates stop {share:.1%} of good runs, more than the provisional ones and than the plan allows"
        )
    return f"{', '.join(one.gate for one in compared.gates if one.rejected)} do worse than provisional"


def _baseline(found: KpiGatesFindings, plan: KpiGatesPlan) -> Verdict:
    n = found.baseline + found.watched
    if not found.foreign:
        detail = f"all {n} runs were measured by the code that the plan froze, {plan.frozen.kpi_source[:12]}"
        return _said(BASELINE, Outcome.PASS, None, detail, numerator=n, denominator=n)
    detail = f"{found.foreign} of {n} runs were measured by other code than {plan.frozen.kpi_source[:12]}"
    if plan.frozen.check == "skipped":
        detail = f"{detail}, which the plan does not check"
        return _said(BASELINE, Outcome.WARN, Reason.BASELINE_CHANGED, detail, n - found.foreign, n)
    return _said(BASELINE, Outcome.FAIL, Reason.BASELINE_CHANGED, f"{detail}; freeze one, and run it again", None, n)


def _informative(gates: Sequence[Gate]) -> Verdict:
    tried = [gate for gate in gates if gate.bound is not None]
    alike = [gate.name for gate in tried if gate.no_variation]
    numerator, denominator = len(tried) - len(alike), len(tried)
    if not tried:
        return Verdict.withheld(INFORMATIVE, Reason.NOT_MEASURED, "no run says anything of a gate; add runs")
    if alike:
        detail = f"all runs have one value of {', '.join(alike)}; such a baseline promotes nothing"
        return _said(INFORMATIVE, Outcome.WARN, Reason.NO_VARIATION, detail, numerator, denominator)
    detail = f"the runs of each of the {denominator} gates vary"
    return _said(INFORMATIVE, Outcome.PASS, None, detail, numerator, denominator)


def _false_alarms(compared: HeldOutFindings | None, plan: KpiGatesPlan) -> Verdict:
    if compared is None:
        return Verdict.withheld(FALSE_ALARMS, Reason.NOT_MEASURED, "nothing was held out to measure it on")
    alarms, bar, level = compared.family.calibrated, plan.family.alarms_at_most, plan.estimate.level
    if not alarms.n:
        return Verdict.withheld(FALSE_ALARMS, Reason.UNDERPOWERED, "no held-out run is treated; add runs")
    shown = reaches(-float(upper_bound(alarms.stopped, alarms.n, level=level).high or 0), -bar)
    outcome, reason = (Outcome.PASS, None) if shown else (Outcome.WARN, Reason.NOT_SHOWN)
    if Fraction(alarms.stopped, alarms.n) > bar:
        outcome, reason = Outcome.FAIL, Reason.THRESHOLD_MISSED
    detail = (
        f"the gates as calibrated stop {alarms.stopped} of {alarms.n} held-out runs; at most {float(bar):.0%} may be,"
        f" which is {'shown' if shown else 'not shown'} at {float(level):.0%} confidence"
    )
    return _of_alarms(FALSE_ALARMS, outcome, reason, detail, alarms, bar)


def _not_worse(found: KpiGatesFindings, compared: HeldOutFindings | None, plan: KpiGatesPlan) -> Verdict:
    if not any(gate.standing.promoted for gate in found.gates):
        return Verdict.withheld(
            NOT_WORSE, Reason.NOT_MEASURED, "no threshold was calibrated that differs from a provisional one"
        )
    if compared is None:
        return Verdict.withheld(NOT_WORSE, Reason.NOT_MEASURED, "nothing was held out to compare on")
    family = compared.family
    difference = (family.calibrated.share or 0.0) - (family.provisional.share or 0.0)
    if _rejects(compared):
        return _said(
            NOT_WORSE,
            Outcome.FAIL,
            Reason.THRESHOLD_MISSED,
            _worse(compared),
            None,
            None,
            difference,
            family.difference,
        )
    if not compared.enough:
        detail = (
            f"{compared.control} control and {compared.treated} treated runs are worth {float(compared.worth):.0f} in"
            f" each of two equal arms, and the plan asks for {plan.power.n}; hold out more"
        )
        return Verdict.withheld(NOT_WORSE, Reason.UNDERPOWERED, detail)
    detail = (
        f"calibrated gates stop {family.calibrated.stopped} of {family.calibrated.n} treated runs, provisional ones"
        f" {family.provisional.stopped} of {family.provisional.n} control runs"
    )
    return _said(NOT_WORSE, Outcome.PASS, None, detail, None, None, difference, family.difference)


def _perturbations(found: KpiGatesFindings) -> Verdict:
    tried = [one for one in found.perturbations if one.promoted]
    if not tried:
        return Verdict.withheld(
            PERTURBATIONS, Reason.NOT_MEASURED, "no gate was calibrated to be tried on synthetic runs"
        )
    wrong = [one.gate for one in tried if not one.holds]
    if wrong:
        detail = f"{', '.join(wrong)} let the shift pass or stop the noise"
        return _said(PERTURBATIONS, Outcome.FAIL, Reason.THRESHOLD_MISSED, detail, len(tried) - len(wrong), len(tried))
    detail = f"each of {len(tried)} calibrated gates stops the shift and lets the noise pass"
    return _said(PERTURBATIONS, Outcome.PASS, None, detail, len(tried), len(tried))


def _of_alarms(
    claim: str, outcome: Outcome, reason: Reason | None, detail: str, alarms: Alarms, bar: Fraction
) -> Verdict:
    share = Fraction(alarms.stopped, alarms.n)
    return Verdict(
        claim, outcome, reason, detail, share, alarms.stopped, alarms.n, alarms.interval, bar, advisory=False
    )


def _said(
    claim: str,
    outcome: Outcome,
    reason: Reason | None,
    detail: str,
    numerator: int | None = None,
    denominator: int | None = None,
    estimate: Number | None = None,
    interval: Interval | None = None,
) -> Verdict:
    if estimate is None and numerator is not None and denominator:
        estimate = Fraction(numerator, denominator)
    return Verdict(claim, outcome, reason, detail, estimate, numerator, denominator, interval, None, advisory=False)
