"""The verdicts of the study, one a claim, and the decision: whether the calibrated map persists."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from eval_pipeline.records import Outcome, Reason, Verdict
from eval_pipeline.studies.judge_reliability.abilities import Cell
from eval_pipeline.studies.judge_reliability.findings import Findings
from eval_pipeline.studies.judge_reliability.held_out import HeldOut
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan

TOLD_APART, NOT_HARMFUL, PARSE_FAILURES, LABELLING, INDEPENDENCE = (
    "judges_differ_from_the_prior",
    "calibration_does_not_harm",
    "parse_failures_are_stable",
    "labelling_is_settled",
    "judges_err_apart",
)
CLAIMS = {
    TOLD_APART: "At least one ability of one judge differs from the prior's.",
    NOT_HARMFUL: "On held-out claims the calibrated consensus is right no less often than that of the prior.",
    PARSE_FAILURES: "The share of answers without a vote is stable for each judge.",
    LABELLING: "Annotators settle the truth of their claims; few are dropped.",
    INDEPENDENCE: "No two judges err together more often than chance has it, as the consensus assumes.",
}

Word = Literal["persist", "revert", "keep_prior", "undecided"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the calibrated map, and why."""

    word: Word
    reason: str


def candidates(found: Findings) -> tuple[Cell, ...]:
    """The abilities that persist if held-out claims do not speak against it."""
    return tuple(cell for cell in found.abilities.cells if cell.posterior.candidate)


def decide(found: Findings, tested: HeldOut | None, plan: JudgeReliabilityPlan) -> Decision:
    """The three-part rule: claims enough, an interval that excludes the null, and no regress on held-out claims."""
    count, cells = len(candidates(found)), len(found.abilities.cells)
    if not count:
        return Decision("keep_prior", f"none of {cells} abilities differs from {_null(plan)} after claims enough")
    if tested is None:
        return Decision(
            "undecided", f"{count} of {cells} abilities would persist, and no held-out claims were replayed"
        )
    comparison = tested.comparison
    if comparison.interval is None:
        return Decision(
            "keep_prior",
            f"{comparison.prior_only.n} held-out claims cannot say whether {count} abilities that differ from"
            f" {_null(plan)} do harm; {plan.falsifier.claims_at_least} are needed",
        )
    if comparison.recommendation == "prior_helps":
        return Decision(
            "revert", f"with {count} calibrated abilities the consensus is right less often than with the prior"
        )
    return Decision(
        "persist",
        f"{count} of {cells} abilities differ from {_null(plan)}, and on held-out claims nothing regresses;"
        f" {comparison.flipped} of their {comparison.prior_only.n} verdicts are another for it",
    )


def verdicts(found: Findings, tested: HeldOut | None, plan: JudgeReliabilityPlan) -> tuple[Verdict, ...]:
    """The verdicts on each claim, in the order of `CLAIMS`."""
    return (
        _told_apart(found, plan),
        _not_harmful(tested, plan),
        _parse_failures(found),
        _labelling(found, plan),
        _independence(found),
    )


def _told_apart(found: Findings, plan: JudgeReliabilityPlan) -> Verdict:
    cells, count = found.abilities.cells, len(candidates(found))
    enough = [cell for cell in cells if cell.posterior.n >= plan.persistence.claims_at_least]
    if not enough:
        return Verdict.withheld(
            TOLD_APART,
            Reason.UNDERPOWERED,
            f"none of {len(cells)} abilities has the {plan.persistence.claims_at_least} claims that the plan asks for;"
            " judge more claims",
        )
    planned = sum(cell.posterior.n >= plan.power.n for cell in cells)
    detail = (
        f"{count} of {len(enough)} abilities with claims enough have an interval that excludes {_null(plan)};"
        f" {planned} of {len(cells)} have the {plan.power.n} claims that were planned"
    )
    share = Fraction(count, len(enough))
    return Verdict(
        TOLD_APART,
        Outcome.PASS if count else Outcome.WARN,
        None if count else Reason.NOT_SHOWN,
        detail,
        share,
        count,
        len(enough),
        None,
        None,
        advisory=False,
    )


def _not_harmful(tested: HeldOut | None, plan: JudgeReliabilityPlan) -> Verdict:
    if tested is None:
        return Verdict.withheld(NOT_HARMFUL, Reason.NOT_MEASURED, "no held-out claims were replayed")
    found = tested.comparison
    n = found.prior_only.n
    if found.interval is None or found.delta is None:
        return Verdict.withheld(
            NOT_HARMFUL,
            Reason.UNDERPOWERED,
            f"{n} held-out claims have a known truth, and {plan.falsifier.claims_at_least} are needed; add claims",
        )
    outcome, reason, said = {
        "calibration_helps": (Outcome.PASS, None, "and is right more often for being calibrated"),
        "prior_helps": (Outcome.FAIL, Reason.THRESHOLD_MISSED, "and is right less often; the prior is put back"),
        "inconclusive_underpowered": (Outcome.WARN, Reason.NOT_SHOWN, "which shows neither harm nor help"),
    }[found.recommendation]
    detail = (
        f"of {n} held-out claims the consensus has {found.calibrated.right} right with the calibrated map and"
        f" {found.prior_only.right} with the prior, {said}"
    )
    gain = found.calibrated.right - found.prior_only.right
    return Verdict(
        NOT_HARMFUL, outcome, reason, detail, found.delta, gain, n, found.interval, Fraction(0), advisory=False
    )


def _parse_failures(found: Findings) -> Verdict:
    charts, counts = found.charts, found.counts
    charted = [chart for chart in charts if chart.stable is not None]
    if not charted:
        why = charts[0].why if charts else "there are no judgments"
        return Verdict.withheld(
            PARSE_FAILURES, Reason.UNDERPOWERED, f"no judge has a chart with limits: {why}; judge more"
        )
    moved = [chart.name.removeprefix("parse failures of ") for chart in charted if not chart.stable]
    without = len(charts) - len(charted)
    detail = f"{counts.no_vote} of {counts.judgments} judgments gave no vote; " + (
        f"the chart of {_listed(moved)} calls for a cause" if moved else "no chart calls for a cause"
    )
    if without:
        detail += f", and {without} of {len(charts)} judges have too few judgments for limits"
    return Verdict(
        PARSE_FAILURES,
        Outcome.WARN if moved or without else Outcome.PASS,
        Reason.UNTRUSTWORTHY if moved else Reason.NOT_SHOWN if without else None,
        detail,
        Fraction(counts.no_vote, counts.judgments),
        counts.no_vote,
        counts.judgments,
        None,
        None,
        advisory=False,
    )


def _labelling(found: Findings, plan: JudgeReliabilityPlan) -> Verdict:
    labels = found.labels
    if labels.drop_rate is None:
        return Verdict.withheld(LABELLING, Reason.NOT_MEASURED, "no claim was labelled to the end by annotators")
    closed = labels.claims - labels.open
    detail = (
        f"{labels.dropped} of {closed} claims were dropped as INCONCLUSIVE, {labels.agreed} were agreed on and"
        f" {labels.resolved} settled by a third" + (f"; {labels.open} still wait for one" if labels.open else "")
    )
    return Verdict(
        LABELLING,
        Outcome.FAIL if labels.review else Outcome.PASS,
        Reason.RUBRIC_GAPS if labels.review else None,
        detail + ("; review the rubric" if labels.review else ""),
        labels.drop_rate,
        labels.dropped,
        closed,
        None,
        plan.labelling.drop_rate_at_most,
        advisory=False,
    )


def _independence(found: Findings) -> Verdict:
    pairs = found.pairs
    if not pairs:
        return Verdict.withheld(INDEPENDENCE, Reason.NOT_MEASURED, "no two judges voted on enough claims in common")
    together = [pair for pair in pairs if pair.together]
    detail = f"{len(together)} of {len(pairs)} pairs of judges err together more often than chance has it"
    if together:
        worst = max(together, key=lambda pair: pair.both_wrong - pair.expected)
        detail += (
            f", {worst.first} and {worst.second} on {worst.both_wrong} claims where {worst.expected:.1f} are expected;"
            " the consensus is surer than it may be"
        )
    return Verdict(
        INDEPENDENCE,
        Outcome.WARN if together else Outcome.PASS,
        Reason.DEPENDENT if together else None,
        detail,
        Fraction(len(together), len(pairs)),
        len(together),
        len(pairs),
        None,
        None,
        advisory=False,
    )


def _null(plan: JudgeReliabilityPlan) -> str:
    return f"{float(plan.persistence.null):.2f}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
