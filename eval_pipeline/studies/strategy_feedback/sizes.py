"""How many executions the plan takes, worked out again from what it promises."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt

from scipy.special import ndtr

from eval_pipeline.arms import Arm
from eval_pipeline.stats.power import mean_size
from eval_pipeline.stats.scalars import two_sided_z
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan


@dataclass(frozen=True, slots=True)
class Sizes:
    """What was planned, and what it is worth.

    `per_cell` is the number for a cell in each of two equal arms, `planned` what the plan says it is, `needed` the
    same once runs are allowed for. `control` and `treatment` of all cells are worth as much at the share of controls
    that the plan has. `power_to_ship` is the chance that a loop with `power_effect` ships at these numbers.
    """

    per_cell: int
    planned: int
    needed: int
    runs_of_equal_arms: int
    control: int
    treatment: int
    power_effect: Fraction
    power_to_ship: float


def size_for(effect: float, plan: StrategyFeedbackPlan) -> int:
    """Executions of a cell in each of two equal arms that tell a difference of pass rates from 0."""
    return mean_size(
        float(plan.design.sd),
        effect=effect,
        alpha=float(plan.power.alpha),
        power=float(plan.power.power),
        design="unpaired",
        distribution="normal",
    )


def runs_of(*, cells: int, arms: int, per_cell: int) -> int:
    """Executions in all, where each cell has the same number in every arm."""
    return cells * arms * per_cell


def split(equal: int, control_share: Fraction) -> dict[Arm, int]:
    """The fewest executions of unequal arms whose difference is as certain as that of two equal arms of this size.

    1/c + 1/t = 2/n with c = s N and t = (1 - s) N gives N = n / (2 s (1 - s)).
    """
    total = Fraction(equal) / (2 * control_share * (1 - control_share))
    return {Arm.CONTROL: ceil(total * control_share), Arm.TREATMENT: ceil(total * (1 - control_share))}


def power_to_ship(effect: Fraction, plan: StrategyFeedbackPlan) -> float:
    """The chance that a loop of this effect is estimated at the registered effect or more, and apart from 0.

    At the planned number the first asks for more than the second, or the second for more than the first: the larger
    distance counts. The standard deviation is the plan's, the largest that is allowed for.
    """
    error = float(plan.design.sd) * sqrt(2 / (plan.design.cells * plan.power.n))
    bar = max(float(plan.deciding.ship_at_least), two_sided_z(plan.deciding.level) * error)
    return float(ndtr((float(effect) - bar) / error))


def sizes(plan: StrategyFeedbackPlan) -> Sizes:
    """All of it, for the plan."""
    arms = split(plan.needed_of_all, plan.arms.control_share)
    return Sizes(
        per_cell=size_for(float(plan.deciding.ship_at_least), plan),
        planned=plan.power.n,
        needed=plan.needed,
        runs_of_equal_arms=runs_of(cells=plan.design.cells, arms=len(Arm), per_cell=plan.power.n),
        control=arms[Arm.CONTROL],
        treatment=arms[Arm.TREATMENT],
        power_effect=plan.deciding.powered_effect,
        power_to_ship=power_to_ship(plan.deciding.powered_effect, plan),
    )
