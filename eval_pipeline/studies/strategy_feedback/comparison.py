"""Pass rates with the loop on against off: over all executions, which decides, and strategy by strategy."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.stats import mannwhitneyu

from eval_pipeline.errors import NoVariation
from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.mean_difference import clustered_difference, effective_size, welch_difference
from eval_pipeline.stats.multiplicity import holm
from eval_pipeline.studies.strategy_feedback.cells import rate_moments
from eval_pipeline.studies.strategy_feedback.executions import Executions
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan


@dataclass(frozen=True, slots=True)
class Side:
    """An arm: recorded executions, the runs that they are of, and their mean pass rate."""

    executions: int
    runs: int
    pass_rate: Fraction | None


@dataclass(frozen=True, slots=True)
class Beside:
    """What is shown beside: Welch's interval, for which each execution stands alone; Mann and Whitney's p over runs."""

    welch: Interval | None
    welch_p_value: float | None
    mann_whitney_p_value: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Loop on less loop off, for a strategy or (None) for all; the interval goes by whole runs.

    `effective` executions in each of two equal arms are worth what there is, and `needed` are planned. `p_adjusted`
    allows for the other strategies. Where `why` says so there is no difference, or none that can be told from chance.
    """

    strategy: str | None
    on: Side
    off: Side
    effective: Fraction
    needed: int
    difference: float | None
    std_error: float | None
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None
    beside: Beside
    why: str | None

    @property
    def enough(self) -> bool:
        """Whether there is as much as was planned."""
        return self.effective >= self.needed


def compared(executions: Executions, plan: StrategyFeedbackPlan) -> Comparison:
    """All strategies together: what the loop does as a whole, by choosing among them and by what it makes of them.

    Args:
        executions: those that are recorded.
        plan: the level and the planned number.

    """
    level = plan.deciding.level
    return _compared(executions, None, needed=plan.needed_of_all, level=level)


def compared_by_strategy(executions: Executions, plan: StrategyFeedbackPlan) -> tuple[Comparison, ...]:
    """Each strategy for itself, with intervals that hold for all of them at once and p-values after Holm.

    Runs are assigned, and strategies are chosen: under the loop a strategy may get other inputs than without it. So
    these numbers describe where the change lies, and do not decide.

    Args: as in `compared`.
    """
    design = plan.design
    level = 1 - (1 - plan.deciding.level) / len(design.strategies)
    needed = plan.needed * len(design.contexts) * len(design.tiers)
    found = [
        _compared(executions.where(executions.strategy == number), strategy, needed=needed, level=level)
        for number, strategy in enumerate(design.strategies)
    ]
    tested = [one.p_value for one in found if one.p_value is not None]
    adjusted = iter(holm(tested, alpha=float(1 - plan.deciding.level)).p_values.tolist())
    return tuple(one if one.p_value is None else replace(one, p_adjusted=next(adjusted)) for one in found)


def run_means(rates: Reals, runs: np.ndarray) -> Reals:
    """The mean pass rate of each run."""
    run = np.unique(runs, return_inverse=True)[1]
    return np.asarray(np.bincount(run, weights=rates) / np.bincount(run))


def _compared(executions: Executions, strategy: str | None, *, needed: int, level: Fraction) -> Comparison:
    on, off = executions.where(executions.treated), executions.where(~executions.treated)
    of_on, of_off = rate_moments(on), rate_moments(off)
    sides = [Side(len(one.run), len(np.unique(one.run)), moments.mean) for one, moments in ((on, of_on), (off, of_off))]
    whole = Comparison(
        strategy=strategy,
        on=sides[0],
        off=sides[1],
        effective=effective_size(sides[0].executions, sides[1].executions),
        needed=needed,
        difference=None if of_on.mean is None or of_off.mean is None else float(of_on.mean - of_off.mean),
        std_error=None,
        interval=None,
        p_value=None,
        p_adjusted=None,
        beside=Beside(None, None, None),
        why=None,
    )
    for word, side in (("on", whole.on), ("off", whole.off)):
        if side.runs < 2:
            return replace(
                whole, why=f"with the loop {word}, runs with a claim: {side.runs}, and 2 are needed to compare"
            )
    try:
        found = clustered_difference(on.rates, on.run, off.rates, off.run, level=level)
        welch = welch_difference(of_on, of_off, level=level)
    except NoVariation as refusal:
        return replace(whole, why=str(refusal))
    ranks = mannwhitneyu(run_means(on.rates, on.run), run_means(off.rates, off.run), method="asymptotic")
    return replace(
        whole,
        std_error=found.std_error,
        interval=found.interval,
        p_value=found.p_value,
        beside=Beside(welch.interval, welch.p_value, float(ranks.pvalue)),
    )
