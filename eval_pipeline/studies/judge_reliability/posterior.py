"""What is believed of an ability of a judge, and whether that is enough to rely on."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from eval_pipeline.arms import Arm
from eval_pipeline.records import Interval
from eval_pipeline.stats.beta_binomial import Beta, data_dominate
from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.words import Source


@dataclass(frozen=True, slots=True)
class Posterior:
    """A belief Beta(a, b) after `right` of `n` claims, with its mode, its mean and its equal-tailed interval.

    `point` is the one of both that the plan names. `dominant` says that the claims outweigh the prior, `candidate` that
    they are enough and that the interval excludes the null: two of the three parts of the rule. The third, that the
    falsifier does not regress, is for held-out claims to say.
    """

    right: int
    n: int
    a: float
    b: float
    mode: float
    mean: float
    point: float
    interval: Interval
    dominant: bool
    candidate: bool


def posterior_of(right: int, n: int, plan: JudgeReliabilityPlan) -> Posterior:
    """The belief after so many right answers in so many claims.

    Raises: InputRefused: more right answers than claims, or fewer than none.
    """
    rule, prior = plan.persistence, plan.prior.belief
    belief = prior.updated(right, n)
    interval = belief.interval(level=rule.level)
    mode, mean = mode_or_mean(belief), belief.mean
    return Posterior(
        right=right,
        n=n,
        a=float(belief.a),
        b=float(belief.b),
        mode=mode,
        mean=mean,
        point=_point(belief, rule.point),
        interval=interval,
        dominant=data_dominate(belief, prior=prior, at_least=rule.dominant_at),
        candidate=n >= rule.claims_at_least and excludes(interval, rule.null),
    )


def prior_point(plan: JudgeReliabilityPlan) -> float:
    """The number that the prior stands for, by the same rule as a posterior's."""
    return _point(plan.prior.belief, plan.persistence.point)


def mode_or_mean(belief: Beta) -> float:
    """(a - 1) / (a + b - 2) where both are above 1, and the mean where the density has no peak between 0 and 1."""
    if belief.a > 1 and belief.b > 1 and belief.mode is not None:
        return belief.mode
    return belief.mean


def excludes(interval: Interval, value: Fraction) -> bool:
    """Whether a value lies outside an interval that is closed at both ends."""
    assert interval.low is not None
    assert interval.high is not None
    return not reaches(-interval.low, -value) or not reaches(interval.high, value)


def source_of(cell: Posterior | None, overall: Posterior | None, arm: Arm) -> Source:
    """Whose posterior is relied on: the cell's if it persists, else the judge's if claims dominate it, else the prior.

    Args:
        cell: of a judge, a claim type and an ability; None where it was never seen.
        overall: of the judge and the ability over all claim types; None where it was never seen.
        arm: of the run; in the control arm it is always the prior.

    """
    if arm is Arm.CONTROL:
        return Source.PRIOR
    if cell is not None and cell.candidate:
        return Source.CELL
    return Source.JUDGE_GLOBAL if overall is not None and overall.dominant else Source.PRIOR


def _point(belief: Beta, which: Literal["mode", "mean"]) -> float:
    return mode_or_mean(belief) if which == "mode" else belief.mean
