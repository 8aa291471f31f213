"""What every closed loop promises before its data, and what it leaves behind: plans, constants and charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from eval_pipeline.arms import Assignment
from eval_pipeline.plan import Count, Level, Plan, Section, Share
from eval_pipeline.stats.control_charts import XmrLimits, special_causes

GENERATION = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"  # a name, and part of a file's

_Text = Annotated[str, Field(min_length=1)]


class Arms(Section):
    """How runs are assigned; without a salt by the rule of the first version, under which loops share controls."""

    salt: str
    control_share: Share

    @property
    def rule(self) -> Assignment:
        """The rule as `arm_of` takes it."""
        return Assignment(self.salt or None, self.control_share)


class Holding(Section):
    """What part of the data is held out, and the seed by which it is drawn; a share of 0 holds nothing out."""

    share: Share
    seed: Annotated[int, Field(ge=0, lt=2**32)]


class Power(Section):
    """What the planned number of subjects shows: the smallest effect that matters, found this often by this test."""

    test: _Text
    effect: _Text
    alpha: Level
    power: Level
    n: Count

    @model_validator(mode="after")
    def _more_than_chance(self) -> Self:
        if self.power <= self.alpha:
            raise ValueError("a power above alpha")
        return self


class Settled(Section):
    """A contradiction of the first version: what it said, what this plan says, and why."""

    said: _Text
    chosen: _Text
    reason: _Text


class LoopPlan(Plan):
    """What the plan of a closed loop holds beside every plan's question, hypotheses, estimand, estimator and rules.

    `generation` names the calibration: its held-out data are used once, and a new one draws anew.
    """

    generation: Annotated[str, Field(pattern=f"^{GENERATION}$")]
    sufficient_statistic: _Text
    power: Power
    arms: Arms
    held_out: Holding
    settled: tuple[Settled, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that a loop uses, and where it comes from.

    `script` computed it, on `computed_on`, from `n` observations whose content has the hash `data`. One that lacks any
    of them was not calibrated, whatever it is called: it is a heuristic.
    """

    name: str
    value: float
    script: str | None = None
    computed_on: date | None = None
    n: int | None = None
    data: str | None = None

    @property
    def heuristic(self) -> bool:
        """Whether something of its origin is missing."""
        return None in (self.script, self.computed_on, self.n, self.data)


def dated(constants: Sequence[Mapping[str, Any]], on: date) -> list[dict[str, Any]]:
    """Constants of a document with the day on which they were computed, where all else of their origin is there.

    Whoever runs a study knows the day, and the study does not; a constant without script, N or data stays a heuristic.
    """
    return [
        dict(one) | {"computed_on": on.isoformat(), "heuristic": False}
        if one["computed_on"] is None and None not in (one["script"], one["n"], one["data"])
        else dict(one)
        for one in constants
    ]


@dataclass(frozen=True, slots=True)
class Signal:
    """A point of a chart that calls for a cause, and the rule that says so: its place from 0 on."""

    place: int
    rule: Literal["beyond_limits", "run_of_eight"]


@dataclass(frozen=True, slots=True)
class Chart:
    """A control chart: points in their order, the centre, each point's limits, and what calls for a cause.

    `baseline` of the points made the limits. Without enough points there are no limits, and `why` says so.
    """

    name: str
    kind: Literal["xmr", "p"]
    points: tuple[float, ...]
    centre: float | None
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    signals: tuple[Signal, ...]
    baseline: int
    why: str | None = None

    @property
    def stable(self) -> bool | None:
        """Whether nothing calls for a cause; None where there are no limits."""
        return None if self.centre is None else not self.signals


def xmr_chart(name: str, points: Sequence[float], *, limits: XmrLimits, baseline: int) -> Chart:
    """The individuals chart of points between limits, with every point that calls for a cause.

    Args:
        name: of the chart.
        points: in the order of time.
        limits: that the baseline makes, about whatever centre.
        baseline: how many of the first points made them.

    """
    return Chart(
        name=name,
        kind="xmr",
        points=tuple(points),
        centre=limits.centre,
        lower=(limits.lower,) * len(points),
        upper=(limits.upper,) * len(points),
        signals=tuple(
            Signal(cause.index, "run_of_eight" if cause.rule == "run_of_8" else "beyond_limits")
            for cause in special_causes(np.asarray(points), limits=limits)
        ),
        baseline=baseline,
    )


def without_limits(name: str, kind: Literal["xmr", "p"], points: Sequence[float], *, baseline: int, why: str) -> Chart:
    """A chart whose points make no limits, so that nothing in it can call for a cause."""
    return Chart(name, kind, tuple(points), None, (), (), (), baseline, why)
