"""What is written down of an execution: a strategy on an input, and the reference on the same."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from eval_pipeline.arms import Arm
from eval_pipeline.observations import Log, Observation, read_log

_Name = Annotated[str, Field(min_length=1)]
_Confidence = Annotated[float, Field(ge=0, le=1)]


class Execution(Observation):
    """A strategy that a run chose for an input, and what came of it.

    `passes` of `claims` held on the first attempt. `confidence` is the strategy's and `reference_confidence` that of
    the reference strategy on the same input; neither knows of the outcome. `sequence` orders all executions of a log
    in time.
    """

    run_id: _Name
    context: _Name
    tier: _Name
    strategy: _Name
    arm: Annotated[Arm, Field(strict=False)]
    passes: Annotated[int, Field(ge=0)]
    claims: Annotated[int, Field(ge=0)]
    confidence: _Confidence
    reference_confidence: _Confidence
    sequence: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _no_more_passes_than_claims(self) -> Self:
        if self.passes > self.claims:
            raise ValueError(f"at most as many passes as the {self.claims} claims, found {self.passes}")
        return self


def read(path: Path) -> Log[Execution]:
    """The log of a file.

    Raises: MalformedObservations: as in `read_log`.
    """
    return read_log(path, Execution)
