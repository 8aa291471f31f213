"""The log of a fire rate: one row a run, in the order in which they were started."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import Log, Observation, read_log
from eval_pipeline.plan import Count
from eval_pipeline.studies.fire_rate.events import MismatchKind, fault_of, kinds_in

Context = Literal["proposal", "feature", "bug", "incident", "poc", "mvp", "release", "cicd"]
CONTEXTS: tuple[Context, ...] = get_args(Context)


def _countable(text: str) -> str:
    if expected := fault_of(text):
        raise ValueError(expected)
    return text


class Run(Observation):
    """A run: its number in the order of starting, from 1 on, what it wrote for, and every error text that it left."""

    run_id: Annotated[str, Field(min_length=1)]
    sequence: Count
    context: Context
    errors: tuple[Annotated[str, AfterValidator(_countable)], ...]

    @property
    def kinds(self) -> frozenset[MismatchKind]:
        """The kinds of mismatch that it reports, each once."""
        return kinds_in(self.errors)


def read(path: Path) -> Log[Run]:
    """The log of a file.

    Raises: MalformedObservations: a line breaks the schema or holds an event that cannot be counted, a run stands
        twice, or the numbers of the runs leave one out: a run that is not told of may be one that fired.
    """
    log = read_log(path, Run)
    if faults := _faults(log):
        raise MalformedObservations(f"observations {str(path)!r}", faults)
    return log


def _faults(log: Log[Run]) -> list[str]:
    rows, numbers = Counter(row.run_id for row in log.rows), Counter(row.sequence for row in log.rows)
    faults = [
        f"run {name!r}, field 'run_id': found it on {count} rows, expected one row a run; leave out the others"
        for name, count in rows.items()
        if count > 1
    ]
    faults += [
        f"run number {number}, field 'sequence': found it on {count} rows, expected it on one; number the runs anew"
        for number, count in sorted(numbers.items())
        if count > 1
    ]
    missing = sorted(set(range(1, len(log.rows) + 1)) - set(numbers))
    if missing:
        faults.append(
            f"run number {missing[0]}, field 'sequence': found no such run, expected every number from 1 to"
            f" {len(log.rows)}; add the runs that are left out, or number them in the order of starting"
        )
    return faults
