"""The plan of a retry limit: when there are enough sections, what tells the arms apart, and when to stop trying."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.arms import CONTROL_ATTEMPTS
from eval_pipeline.loop import LoopPlan
from eval_pipeline.plan import Count, Exact, Level, Section, Share
from eval_pipeline.stats.survival import Transform

_Positive = Annotated[Exact, Field(gt=0)]
_Resamples = Annotated[int, Field(ge=1000)]


class Preflight(Section):
    """How often a first attempt fails, and how many sections are needed for that.

    The first `runs` of the log measure it. Where it lies within `tolerance` of `anchor`, that stands. The sections are
    those of Schoenfeld's formula for `hazard_ratio` (of passing at a retry, with against without what was wrong), of
    which `events_per_failure` of the first failures pass later, times `design_effect` for sections of one run that go
    together. `allocation` is the most uneven one that was planned for.
    """

    runs: Count
    anchor: Level
    tolerance: Share
    hazard_ratio: _Positive
    events_per_failure: Annotated[Exact, Field(gt=0, le=1)]
    design_effect: Annotated[Exact, Field(ge=1)]
    allocation: Level
    level: Level


class Stopping(Section):
    """When nothing is decided: too few first failures in an arm, or hardly any among the first sections."""

    failures_per_arm: Count
    first_sections: Count
    hold_below: Share


class Contrast(Section):
    """What the arms are compared on.

    `retried` compares sections from their second attempt on, as the arms do the same at the first; `all` is the first
    version's. `no_contrast` says what is said where nothing can be compared; the first version said p = 1.
    """

    sections: Literal["retried", "all"]
    variance: Literal["clustered", "plain"]
    no_contrast: Literal["withheld", "no_difference"]


class Curves(Section):
    """The intervals of the curves.

    The median's ends at the first event from which on all upper limits are below 1/2, and is open without one; or, as
    in the first version, at the last whose upper limit is not.
    """

    level: Level
    transform: Transform
    median_ends: Literal["first_below", "last_not_below"]


class Limit(Section):
    """When another attempt is wasted: it passes less often than `pass_below`, and its upper bound says so too.

    `default` is the limit that stands, `cap` the one under which runs that are treated explore.
    """

    default: Count
    cap: Count
    pass_below: Level
    level: Level

    @model_validator(mode="after")
    def _explores(self) -> Self:
        if self.default != CONTROL_ATTEMPTS:
            raise ValueError(f"a default of {CONTROL_ATTEMPTS}, by which control runs are limited")
        if self.cap <= self.default:
            raise ValueError("a cap above the default, or nobody sees whether a longer limit helps")
        return self


class Ablation(Section):
    """The comparison of the same sections in both arms.

    `shifted_null` imposes the null and counts the observed difference, so that p is never 0. `tail_shares` is the first
    version's, with its generator.
    """

    pairs_at_least: Count
    method: Literal["shifted_null", "tail_shares"]
    level: Level
    resamples: _Resamples


class Replay(Section):
    """The held-out comparison: the limit is taken back if it loses more than `tolerated_loss` beyond its interval."""

    tolerated_loss: Share
    level: Level
    resamples: _Resamples


class Delivery(Section):
    """How many retries may have been told what their arm does not tell, or not told what it does."""

    astray_at_most: Share


class Charting(Section):
    """The chart of first failures: runs that make a point, in the order of the log, and points that make the limits."""

    runs_per_point: Count
    baseline: Annotated[int, Field(ge=2)]


class Kind(Section):
    """A kind of section that is generated, and how often its first attempt fails."""

    name: Annotated[str, Field(min_length=1)]
    fails_first: Share


class Generated(Section):
    """The truth of a generated log.

    Each of `inputs` is run `runs_per_input` times, and each run writes one section of each of `kinds`. `retry_hazards`
    are the chances to pass at attempt 2, 3, ... up to the cap without being told; with it the hazard is `hazard_ratio`
    times that, on the scale of log(1 - chance). Runs and inputs are better or worse by normal effects on the log of
    that scale. An attempt that fails does so for good in `terminal`, and the log ends at it in `cut_off`; a retry is
    told against its arm in `astray`. An attempt that fails leaves one violation, and `violations` on average.
    """

    inputs: Count
    runs_per_input: Count
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1)]
    retry_hazards: tuple[Share, ...]
    hazard_ratio: Annotated[Exact, Field(ge=0)]
    run_spread: Annotated[Exact, Field(ge=0)]
    input_spread: Annotated[Exact, Field(ge=0)]
    terminal: Share
    cut_off: Share
    astray: Share
    violations: Count


class RetryLimitPlan(LoopPlan):
    """The whole plan."""

    study: Literal["retry-limit"]
    preflight: Preflight
    stopping: Stopping
    contrast: Contrast
    curves: Curves
    limit: Limit
    ablation: Ablation
    replay: Replay
    delivery: Delivery
    chart: Charting
    generated: Generated

    @model_validator(mode="after")
    def _hazards_to_the_cap(self) -> Self:
        if len(self.generated.retry_hazards) != self.limit.cap - 1:
            raise ValueError("a hazard in generated.retry_hazards for each attempt from 2 to limit.cap")
        return self
