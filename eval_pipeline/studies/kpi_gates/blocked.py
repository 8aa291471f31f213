"""The log of runs that a gate stopped: one schema to write it and to read it, and when it ends a calibration."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from eval_pipeline.observations import Log, Observation, log_bytes, read_log
from eval_pipeline.studies.kpi_gates.evaluation import GateSet, Report, evaluated
from eval_pipeline.studies.kpi_gates.kpis import MachineClass
from eval_pipeline.studies.kpi_gates.observations import Instant, KpiRun, Name
from eval_pipeline.studies.kpi_gates.plan import Stop


class BlockedRun(Observation):
    """A gate that a run did not pass; a run that two gates stop has two rows."""

    schema_version: Literal[1]
    run_id: Name
    gate_name: Name
    observed: Annotated[float, Field(allow_inf_nan=False)]
    threshold: Annotated[float, Field(allow_inf_nan=False)]
    machine_class: Annotated[MachineClass, Field(strict=False)]
    timestamp: Instant


@dataclass(frozen=True, slots=True)
class Stopped:
    """Where a calibration ended: the gate, and the place from 0 on of the run that was one violation too many."""

    gate: str
    place: int


def report_of(row: KpiRun, gates: GateSet) -> Report:
    """What the gates say of a run of a log."""
    return evaluated(row.kpis.values, canned=row.data == "canned", machine=row.machine.of_class, gates=gates)


def rows_of(row: KpiRun, report: Report) -> tuple[BlockedRun, ...]:
    """The rows of a run for the log, one for each gate that it did not pass."""
    return tuple(
        BlockedRun(
            schema_version=1,
            run_id=row.run_id,
            gate_name=violation.metric,
            observed=float(violation.actual),
            threshold=float(violation.threshold),
            machine_class=row.machine.of_class,
            timestamp=row.started_at,
        )
        for violation in report.violations
    )


def blocked_bytes(rows: Sequence[BlockedRun]) -> bytes:
    """The log as it is written."""
    return log_bytes(rows)


def read_blocked(path: Path) -> Log[BlockedRun]:
    """The log as it was written; a file without a row is one of no blocked run.

    Raises: MalformedObservations: the file is not there, or a row is not of the schema; it is never read as no row.
    """
    if path.is_file() and not path.read_bytes():
        return Log((), simulated=False)
    return read_log(path, BlockedRun)


def stopped(runs: Iterable[Sequence[str]], rule: Stop) -> Stopped | None:
    """Where one gate was violated too often; None if none was.

    Args:
        runs: of each run in the order of time, the gates that it did not pass.
        rule: how many violations of one gate end the calibration, within how many runs one after another.

    """
    recent: dict[str, deque[int]] = defaultdict(deque)
    for place, gates in enumerate(runs):
        for gate in gates:
            places = recent[gate]
            places.append(place)
            while places[0] <= place - rule.within_runs:
                places.popleft()
            if len(places) >= rule.violations:
                return Stopped(gate, place)
    return None
