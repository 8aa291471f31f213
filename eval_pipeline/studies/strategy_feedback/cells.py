"""What a cell of strategy, context, tier and arm comes to: counts, sums and sums of squares, which are kept exactly."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from eval_pipeline.arms import Arm
from eval_pipeline.stats.mean_difference import Moments
from eval_pipeline.studies.strategy_feedback.executions import Executions, gain_of
from eval_pipeline.studies.strategy_feedback.plan import Design

_NOTHING = Moments(0, Fraction(0), Fraction(0))


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


def pooled(cells: tuple[Cell, ...], arm: Arm, *, strategy: str | None) -> Moments:
    """The pass rates of all cells of an arm, or of those of a strategy in it."""
    own = (cell for cell in cells if cell.arm is arm and strategy in (None, cell.strategy))
    return sum((cell.pass_rate for cell in own), _NOTHING)


def moments(values: Iterator[tuple[Fraction, int]]) -> Moments:
    """The moments of values, each with how often it stands."""
    found = list(values)
    return Moments(
        sum(times for _, times in found),
        sum((value * times for value, times in found), Fraction(0)),
        sum((value**2 * times for value, times in found), Fraction(0)),
    )


def _cell(executions: Executions, names: tuple[str, str, str], numbers: tuple[int, int, int], arm: Arm) -> Cell:
    s, c, t = numbers
    placed = (executions.strategy == s) & (executions.context == c) & (executions.tier == t)
    own = executions.where(placed & (executions.treated == (arm is Arm.TREATMENT)))
    kept = own.recorded
    rates = _repeated(np.column_stack([kept.passes, kept.claims]))
    gains = _repeated(np.column_stack([kept.confidence, kept.reference]))
    return Cell(
        *names,
        arm,
        moments((Fraction(passes, claims), times) for (passes, claims), times in rates),
        moments((gain_of(confidence, reference), times) for (confidence, reference), times in gains),
        len(own.claims) - len(kept.claims),
    )


def _repeated(pairs: np.ndarray) -> Iterator[tuple[list[int] | list[float], int]]:
    distinct, times = np.unique(pairs, axis=0, return_counts=True)
    return zip(distinct.tolist(), times.tolist(), strict=True)
