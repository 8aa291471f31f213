"""The plan of an import: the bars of the metrics, and how much must be known for them to be held to anything."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.plan import Level, Plan, Section, Share


class Gate(Section):
    """The bar of one metric, by the name that the log gives it: the least, or the most, that its mean may be."""

    metric: Annotated[str, Field(min_length=1)]
    at_least: Share | None = None
    at_most: Share | None = None

    @model_validator(mode="after")
    def _one_bar(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("one bar: at_least or at_most")
        return self


class Intervals(Section):
    """The coverage of the two-sided intervals, and the resamples of a paired test."""

    level: Level
    resamples: Annotated[int, Field(ge=100)]


class Intake(Section):
    """The share of scores that may be undecided, and the smallest number of items that says anything."""

    undecided_at_most: Share
    smallest_items: Annotated[int, Field(ge=2)]


class ImportedPlan(Plan):
    """The whole plan; without a gate nothing is decided, and every claim is a skip."""

    study: Literal["imported"]
    gates: tuple[Gate, ...]
    intervals: Intervals
    intake: Intake

    @model_validator(mode="after")
    def _a_gate_a_metric(self) -> Self:
        metrics = [gate.metric for gate in self.gates]
        if len(set(metrics)) < len(metrics):
            raise ValueError("one gate for each metric")
        return self
