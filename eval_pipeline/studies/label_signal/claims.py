"""The sentences that a track would publish, each built from evidence and held against the checks of its kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval_pipeline.records import Interval
from eval_pipeline.studies.label_signal import gate
from eval_pipeline.studies.label_signal.agreement import Measure
from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.comparisons import Comparison, SystemScore
from eval_pipeline.studies.label_signal.gate import Check
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan, Policy
from eval_pipeline.studies.label_signal.words import CheckName, ClaimKind, Standing


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, what it rests on, and what every check says of it.

    `subject` is the dimension, the system, or "system - other". `estimate` and `interval` are kept where the claim is
    withheld too, for those who weigh the reasons; a report shows the reasons in their place.
    """

    kind: ClaimKind
    subject: str
    sentence: str
    estimate: float | None
    interval: Interval | None
    checks: tuple[Check, ...]
    standing: Standing

    @property
    def publishable(self) -> bool:
        """Whether no check blocks it."""
        return self.standing is not Standing.BLOCK

    @property
    def reasons(self) -> tuple[Check, ...]:
        """The checks that block it."""
        return tuple(check for check in self.checks if check.standing is Standing.BLOCK)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many claims there are of each standing; the rate of withheld ones to three decimals, None over none."""

    claims: int
    passed: int
    warned: int
    blocked: int

    @property
    def publishable(self) -> int:
        """Those that are not withheld."""
        return self.claims - self.blocked

    @property
    def block_rate(self) -> float | None:
        """The share of withheld claims."""
        return round(self.blocked / self.claims, 3) if self.claims else None


def tally(standings: Sequence[Standing]) -> Tally:
    """The count of each standing."""
    return Tally(
        len(standings),
        standings.count(Standing.PASS),
        standings.count(Standing.WARN),
        standings.count(Standing.BLOCK),
    )


def claims_of(grounds: Grounds, plan: LabelSignalPlan, policy: Policy) -> tuple[Claim, ...]:
    """A descriptive claim for each dimension, a measurement for each system, a ranking for each comparison.

    Args:
        grounds: what the ratings say.
        plan: which checks each kind requires.
        policy: their thresholds, those of the track's depth.

    """
    claims = [_described(key, measure, grounds, plan, policy) for key, measure in grounds.alphas.items()]
    claims += [_measured(score, grounds, plan, policy) for score in grounds.systems]
    claims += [_ranked(one, grounds, plan, policy) for one in grounds.comparisons]
    return tuple(claims)


def _described(key: str, alpha: Measure, grounds: Grounds, plan: LabelSignalPlan, policy: Policy) -> Claim:
    run = _common(grounds, "descriptive", plan, policy) | {
        "reliability": lambda: gate.reliability(f"dimension {key!r}", alpha.estimate, alpha.interval, policy)
    }
    shown = "undefined" if alpha.estimate is None else f"{alpha.estimate:.2f}"
    sentence = f"Raters agree on {key.replace('_', ' ')} with a Krippendorff's alpha of {shown}."
    return _claim("descriptive", key, sentence, alpha.estimate, alpha.interval, run, plan)


def _measured(score: SystemScore, grounds: Grounds, plan: LabelSignalPlan, policy: Policy) -> Claim:
    run = _common(grounds, "measurement", plan, policy) | {
        "precision": lambda: gate.precision(score.half_width, policy)
    }
    sentence = f"{score.system} scores {score.mean:.3f} of 1 on average over {score.items} items."
    return _claim("measurement", score.system, sentence, score.mean, score.interval, run, plan)


def _ranked(one: Comparison, grounds: Grounds, plan: LabelSignalPlan, policy: Policy) -> Claim:
    run = _common(grounds, "ranking", plan, policy) | {
        "effect_vs_mde": lambda: gate.effect_vs_mde(one.effect, one.mde, policy),
        "interval_excludes_zero": lambda: gate.interval_excludes_zero(one.interval),
        "multiplicity": lambda: gate.multiplicity(
            one.p_adjusted if plan.claims.multiplicity == "holm" else one.p_value, plan.scores.alpha
        ),
    }
    return _claim("ranking", f"{one.system} - {one.other}", _ranking(one, grounds), one.effect, one.interval, run, plan)


def _ranking(one: Comparison, grounds: Grounds) -> str:
    if one.effect is None:
        return f"{one.system} and {one.other} have no pair in common."
    unit = "items" if grounds.pair_by == "item" else "raters"
    if one.effect == 0:
        return f"{one.system} and {one.other} score the same on average over {one.pairs} {unit}."
    better = "better" if one.effect > 0 else "worse"
    levels = grounds.levels_of_composite
    of = "" if levels is None else f" ({abs(one.effect) * levels:.3f} levels)"
    return (
        f"{one.system} is {better} than {one.other} by {abs(one.effect):.4f} of the scale{of}, over {one.pairs} {unit}."
    )


_Runs = dict[CheckName, Callable[[], Check]]


def _common(grounds: Grounds, kind: ClaimKind, plan: LabelSignalPlan, policy: Policy) -> _Runs:
    """The checks whose evidence is the track's as a whole."""
    composite = grounds.composite.mean
    what, estimate, interval = "the mean composite", composite.estimate, composite.interval
    if plan.claims.reliability == "mean_alpha":
        what, estimate, interval = "the dimensions on average", grounds.alpha_mean, None
    covered, shifted = grounds.coverage, grounds.drift
    return {
        "depth_contract": lambda: gate.depth_contract(kind, grounds.depth, plan.depths),
        "reliability": lambda: gate.reliability(what, estimate, interval, policy),
        "coverage": lambda: gate.coverage(
            covered.marginal_gap if covered else None,
            covered.balance if covered else None,
            covered.absent if covered else (),
            policy,
        ),
        "replication": lambda: gate.replication(grounds.replication, policy),
        "annotator_pool": lambda: gate.annotator_pool(grounds.flagged, policy),
        "drift": lambda: gate.drift(
            None if shifted.p_value is None else shifted.detected, _drift_detail(grounds), policy
        ),
        "rubric_specification": lambda: gate.rubric_specification(grounds.triage.gap_rate, policy),
        "gold_calibration": lambda: gate.gold_calibration(grounds.gold_worst, policy),
    }


def _drift_detail(grounds: Grounds) -> str:
    found = grounds.drift
    if found.range is None or found.p_value is None:
        return found.why or "the ratings do not say when they were given"
    return f"the batches' means range over {found.range:.3f} of the scale, p = {found.p_value:.4f}"


def _claim(
    kind: ClaimKind,
    subject: str,
    sentence: str,
    estimate: float | None,
    interval: Interval | None,
    run: _Runs,
    plan: LabelSignalPlan,
) -> Claim:
    checks = tuple(run[name]() for name in plan.claims.checks[kind])
    return Claim(kind, subject, sentence, estimate, interval, checks, gate.standing_of(checks, plan.claims))
