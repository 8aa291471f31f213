"""Logs of what runs did, read strictly: each line an observation of one schema, or the file is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import MalformedObservations
from eval_pipeline.jsonl import read_lines
from eval_pipeline.plan import faults_of


class Observation(BaseModel):
    """A line of a log; its fields are all there, and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


O = TypeVar("O", bound=Observation)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Log(Generic[O]):
    """The observations of a file in its order; `simulated` ones were made by a generator and say nothing of any run."""

    rows: tuple[O, ...]
    simulated: bool

    @property
    def hash(self) -> str:
        """The hash of all observations in their order."""
        return content_hash([row.model_dump(mode="json") for row in self.rows])


def read_log(path: Path, model: type[O]) -> Log[O]:
    """The log of a file in JSON Lines.

    Raises: MalformedObservations: every fault of the file, by line and field; none of it is used then.
    """
    what = f"observations {str(path)!r}"
    read = read_lines(path, MalformedObservations, what)
    rows: list[O] = []
    faults = list(read.faults)
    for line in read.lines:
        try:
            rows.append(model.model_validate(_tuples(line.fields)))
        except ValidationError as error:
            faults += [f"line {line.number}, {fault}" for fault in faults_of(error, missing="add it")]
    if not rows and not faults:
        faults.append("found nothing in it, expected an observation a line")
    if faults:
        raise MalformedObservations(what, faults)
    return Log(tuple(rows), simulated=False)


def log_bytes(rows: Sequence[Observation]) -> bytes:
    """Observations as JSON Lines."""
    return "".join(f"{row.model_dump_json()}\n" for row in rows).encode("utf-8")


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
