"""What a cell of strategy, context, tier and arm comes to: counts, sums and sums of squares, which are kept exactly."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm

from eval_pipeline.arms import Arm
from eval_pipeline.stats.mean_difference import Moments
from eval_pipeline.studies.strategy_feedback.executions import Executions, gain_of
from eval_pipeline.studies.strategy_feedback.plan import Design


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell; `without_claims` executions are in neither of its moments."""

    strategy: str
    context: str
    tier: str
    arm: Arm
    pass_rate: Moments
    gain: Moments
    without_claims: int


@dataclass(frozen=True, slots=True)
class Guarded:
    """Of all executions of an arm, those about which nothing is recorded, as none of their claims was ever put."""

    arm: Arm
    executions: int
    without_claims: int

    @property
    def share(self) -> Fraction | None:
        """None where the arm has no execution."""
        return Fraction(self.without_claims, self.executions) if self.executions else None


def cells_of(executions: Executions, design: Design) -> tuple[Cell, ...]:
    """Every registered cell in either arm, in the order of the plan; one without an execution has n = 0."""
    names = product(enumerate(design.strategies), enumerate(design.contexts), enumerate(design.tiers), Arm)
    return tuple(
        _cell(executions, (strategy, context, tier), (s, c, t), arm)
        for (s, strategy), (c, context), (t, tier), arm in names
    )


def guarded(executions: Executions) -> tuple[Guarded, ...]:
    """For each arm, how many executions the guard has left out."""
    none = executions.claims == 0
    of_arm = {Arm.CONTROL: ~executions.treated, Arm.TREATMENT: executions.treated}
    return tuple(Guarded(arm, int(own.sum()), int((own & none).sum())) for arm, own in of_arm.items())


def rate_moments(recorded: Executions) -> Moments:
    """The pass rates of executions that all have claims."""
    pairs = Counter(zip(recorded.passes.tolist(), recorded.claims.tolist(), strict=True))
    return _moments([(Fraction(passes, claims), times) for (passes, claims), times in pairs.items()])


def gain_moments(recorded: Executions) -> Moments:
    """The gains over the reference on the same input."""
    pairs = Counter(zip(recorded.confidence.tolist(), recorded.reference.tolist(), strict=True))
    return _moments([(gain_of(confidence, reference), times) for (confidence, reference), times in pairs.items()])


def _moments(values: list[tuple[Fraction, int]]) -> Moments:
    """Of values, each with how often it stands, over one denominator, which is ten times as fast as one by one."""
    unit = lcm(*(value.denominator for value, _ in values))
    whole = [(value.numerator * (unit // value.denominator), times) for value, times in values]
    return Moments(
        sum(times for _, times in whole),
        Fraction(sum(value * times for value, times in whole), unit),
        Fraction(sum(value**2 * times for value, times in whole), unit**2),
    )


def _cell(executions: Executions, names: tuple[str, str, str], numbers: tuple[int, int, int], arm: Arm) -> Cell:
    s, c, t = numbers
    placed = (executions.strategy == s) & (executions.context == c) & (executions.tier == t)
    own = executions.where(placed & (executions.treated == (arm is Arm.TREATMENT)))
    kept = own.recorded
    return Cell(*names, arm, rate_moments(kept), gain_moments(kept), len(own.claims) - len(kept.claims))
