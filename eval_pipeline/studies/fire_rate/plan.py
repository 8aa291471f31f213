"""The plan of a fire rate: the rate to stay below, when it is looked at, and how much chance each look may spend."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.loop import LoopPlan
from eval_pipeline.plan import Count, CountFromZero, Level, Section, Share
from eval_pipeline.stats.binomial_looks import CountLook, LookChances, look_chances
from eval_pipeline.stats.gold_size import errors_allowed
from eval_pipeline.studies.fire_rate.contexts import runs_for
from eval_pipeline.studies.fire_rate.events import KINDS, MismatchKind
from eval_pipeline.studies.fire_rate.observations import CONTEXTS, Context


class Look(Section):
    """When the runs are looked at: after so many, once every context has its floor of them.

    The rate is shown to lie below the margin by the exact one-sided test at `alpha`. As soon as there are `stop_at`
    fires, be it before the look, nothing more is run.
    """

    runs: Count
    alpha: Level
    floor: Count
    stop_at: Count


class NonInferiority(Section):
    """The test of non-inferiority: that the true rate reaches the margin is rejected at `alpha`, over all looks.

    Where the true rate is `planned_rate`, the looks must show it with the power of the plan.
    """

    margin: Level
    alpha: Level
    planned_rate: Level
    looks: Annotated[tuple[Look, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _spent(self) -> Self:
        if sum(look.alpha for look in self.looks) > self.alpha:
            raise ValueError(f"alphas of the looks that together spend no more than {float(self.alpha):g}")
        if any(later.runs <= earlier.runs for earlier, later in pairwise(self.looks)):
            raise ValueError("looks in their order, each after more runs than the one before")
        if any(later.stop_at <= earlier.stop_at for earlier, later in pairwise(self.looks)):
            raise ValueError("looks that each stop at more fires than the one before")
        for look in self.looks:
            allowed = self.allowed(look, look.runs)
            if allowed is None:
                raise ValueError(f"more runs than {look.runs}, after which not even 0 fires show anything")
            if look.stop_at <= allowed:
                raise ValueError(f"a stop_at above {allowed}, with which {look.runs} runs still show it")
        if self.planned_rate >= self.margin:
            raise ValueError("a planned_rate below the margin; no other can be shown")
        return self

    def allowed(self, look: Look, runs: int) -> int | None:
        """The most fires with which a look after so many runs shows the rate below the margin; None if not even 0."""
        return errors_allowed(runs, bound=self.margin, level=1 - look.alpha)

    def chances(self, rate: float) -> LookChances:
        """How likely each look is to be needed, and to show a true rate to lie below the margin."""
        looks = [CountLook(look.runs, self.allowed(look, look.runs), look.stop_at) for look in self.looks]
        return look_chances(looks, rate=rate)


class Preflight(Section):
    """Of each kind of mismatch the text that the pipeline writes, which is injected before anything is read."""

    injected: dict[MismatchKind, str]

    @model_validator(mode="after")
    def _of_each_kind(self) -> Self:
        if set(self.injected) != set(KINDS):
            raise ValueError(f"a text for each of {', '.join(KINDS)}")
        return self


class Intervals(Section):
    """The coverage of the two-sided intervals of rates, and of the one that holds at every look at once."""

    level: Level


class Batches(Section):
    """The control chart: a point is the share of runs that fired in a batch, and the first batches make the limits."""

    runs: Count
    baseline: Annotated[int, Field(ge=2)]


class FirstVersion(Section):
    """The decision table of the first version, which stands beside this plan's and decides nothing."""

    runs: Count
    margin: Level
    level: Level
    fallback_up_to: CountFromZero


class Simulation(Section):
    """The truth of a generated log: how often a run reports each kind, and what else stands in its error texts."""

    runs: Count
    rates: dict[MismatchKind, Share]
    reported_twice: Share
    other_errors: Share

    @model_validator(mode="after")
    def _of_each_kind(self) -> Self:
        if set(self.rates) != set(KINDS):
            raise ValueError(f"a rate for each of {', '.join(KINDS)}")
        return self


class FireRatePlan(LoopPlan):
    """The whole plan. `deletion_needs` is what must be there before a fallback is deleted, whatever the rate."""

    study: Literal["fire-rate"]
    contexts: tuple[Context, ...]
    deletion_needs: tuple[Annotated[str, Field(min_length=1)], ...]
    test: NonInferiority
    preflight: Preflight
    intervals: Intervals
    batches: Batches
    first_version: FirstVersion
    simulation: Simulation

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if sorted(self.contexts) != sorted(CONTEXTS):
            raise ValueError(f"each of the contexts {', '.join(CONTEXTS)} once")
        if fault := _floor_fault(self.test.looks, self.contexts):
            raise ValueError(fault)
        if (self.power.alpha, self.power.n) != (self.test.alpha, self.test.looks[-1].runs):
            raise ValueError("a power with the alpha of the test, and for as many runs as the last look has")
        power = self.test.chances(float(self.test.planned_rate)).declared_at_all
        if power < self.power.power:
            raise ValueError(
                f"looks that show a rate of {float(self.test.planned_rate):g} with power {float(self.power.power):g},"
                f" and these have {power:.3f}"
            )
        if self.held_out.share or self.arms.control_share:
            raise ValueError("a held-out share and a control share of 0; nothing is tuned, so all runs are counted")
        return self


def _floor_fault(looks: Sequence[Look], contexts: Sequence[Context]) -> str | None:
    """What is expected of a look that no round robin reaches with its floors met."""
    for look in looks:
        if (needed := runs_for(look.floor, contexts)) > look.runs:
            return (
                f"looks that a round robin over {len(contexts)} contexts meets, and a floor of {look.floor} takes"
                f" {needed} runs, not {look.runs}"
            )
    return None
