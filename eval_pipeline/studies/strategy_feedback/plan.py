"""The plan of a feedback loop: the cells that it is tried in, what it must gain, and when it may move a constant."""

from fractions import Fraction
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.loop import LoopPlan
from eval_pipeline.plan import Count, Exact, Level, Section, Share

_Name = Annotated[str, Field(min_length=1)]
_LARGEST_SD = Fraction(1, 2)  # of anything between 0 and 1


class Design(Section):
    """The cells, and how many executions each must have in either arm.

    `sd` of the pass rate of an execution is the largest that is allowed for, 1/2 being the largest there is. Runs have
    about `executions_per_run`, whose pass rates go together by no more than `intraclass`.
    """

    reference: _Name
    strategies: tuple[_Name, ...]
    contexts: tuple[_Name, ...]
    tiers: tuple[_Name, ...]
    sd: Annotated[Exact, Field(gt=0, le=_LARGEST_SD)]
    executions_per_run: Count
    intraclass: Share

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for names in (self.strategies, self.contexts, self.tiers):
            if not names or len(set(names)) < len(names):
                raise ValueError("strategies, contexts and tiers, at least one of each, none twice")
        if self.reference in self.strategies:
            raise ValueError("strategies without the reference, over which they gain")
        return self

    @property
    def cells(self) -> int:
        """How many there are, without the arms."""
        return len(self.strategies) * len(self.contexts) * len(self.tiers)

    def inflated(self, n: int) -> int:
        """How many executions are worth n independent ones."""
        return ceil(n * (1 + (self.executions_per_run - 1) * self.intraclass))


class Expected(Section):
    """By how much a strategy's confidence is expected to exceed the reference's, and the adjustment in force."""

    gain: Annotated[Exact, Field(gt=0, le=1)]
    adjustment: Exact


class Updates(Section):
    """When an adjustment may move, and how far: on a signal of its chart, within the clamp.

    A point of a chart is the mean gain of `batch` executions; the first `baseline_batches` of them make the limits.
    """

    clamp: Annotated[Exact, Field(gt=0, lt=1)]
    executions: Count
    batch: Count
    baseline_batches: Annotated[int, Field(ge=2)]


class Deciding(Section):
    """What the loop must gain in pass rate, at which coverage of the interval.

    `powered_effect` is the true gain at which the planned number is to give the loop a good chance to ship: with one of
    exactly `ship_at_least` every other estimate would fall short.
    """

    ship_at_least: Annotated[Exact, Field(gt=0, lt=1)]
    powered_effect: Annotated[Exact, Field(gt=0, lt=1)]
    level: Level

    @model_validator(mode="after")
    def _above_the_bar(self) -> Self:
        if self.powered_effect <= self.ship_at_least:
            raise ValueError("a powered effect above the one that ships")
        return self


class StrategyFeedbackPlan(LoopPlan):
    """The whole plan."""

    study: Literal["strategy-feedback"]
    design: Design
    expected: dict[_Name, Expected]
    updates: Updates
    deciding: Deciding

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if set(self.expected) != set(self.design.strategies):
            raise ValueError(f"an expected gain for each of {', '.join(self.design.strategies)}, and for no other")
        if any(abs(one.adjustment) > self.updates.clamp for one in self.expected.values()):
            raise ValueError(f"adjustments in force within the clamp of {float(self.updates.clamp):g}")
        if not 0 < self.arms.control_share < 1:
            raise ValueError("a control share that leaves runs in both arms")
        return self

    @property
    def needed(self) -> int:
        """Executions of a cell in each of two equal arms, runs allowed for."""
        return self.design.inflated(self.power.n)

    @property
    def needed_of_all(self) -> int:
        """Executions of all cells in each of two equal arms."""
        return self.design.cells * self.needed
