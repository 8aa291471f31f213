"""The plan of a calibration: the rates that a judge must keep below, and what an answer without a label is worth."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.plan import Count, CountFromZero, Level, Plan, Section, Share

CONTRACT_FALSE_NEGATIVES, CONTRACT_FALSE_POSITIVES = Fraction(15, 100), Fraction(1, 10)


class Gate(Section):
    """The bars; a rate that equals its bar has not kept below it.

    `not_shown` says what a rate is worth that lies below its bar by too little to be shown to. A bar above the
    contract's, .15 and .10, needs a `justification`: what of this judge makes up for it.
    """

    false_negatives_below: Share
    false_positives_below: Share
    partial_misses: Literal["fail", "report"]
    level: Level
    not_shown: Literal["warn", "pass"]
    justification: str

    @model_validator(mode="after")
    def _loosened_with_reason(self) -> Self:
        loosened = (
            self.false_negatives_below > CONTRACT_FALSE_NEGATIVES
            or self.false_positives_below > CONTRACT_FALSE_POSITIVES
        )
        if loosened and not self.justification.strip():
            raise ValueError("a written justification, since a bar is above .15 or .10")
        return self


class Asking(Section):
    """How the judge is asked: how often a request may be sent, and how often each question is put."""

    attempts: Annotated[int, Field(ge=1, le=100)]
    repeats: CountFromZero
    invalid_at_most: Share


class Intake(Section):
    """When a gold set counts as clustered: one value of a field of its metadata has this share of it or more."""

    fields: tuple[str, ...]
    largest_share_below: Share


class Intervals(Section):
    """The coverage of the two-sided intervals."""

    level: Level


class CalibrationPlan(Plan):
    """The whole plan."""

    study: Literal["judge-calibration"]
    minimum_tuples: Count
    gate: Gate
    asking: Asking
    intake: Intake
    intervals: Intervals
