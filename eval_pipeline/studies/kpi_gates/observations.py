"""What is written down of a run: its KPIs, the machine, what it ran on, when, and which code measured it."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, Field

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import Log, Observation, read_log
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass, machine_class

Name = Annotated[str, Field(min_length=1)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")]
_Count = Annotated[int, Field(ge=0)]
_Real = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _instant(value: Any) -> Any:
    """A time as text, as JSON holds it."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("a time such as 2026-11-30T12:00:00Z") from None
    return value


Instant = Annotated[AwareDatetime, BeforeValidator(_instant)]


class Kpis(Observation):
    """The KPI vector of a run; None where a run has no such number, as a rate over nothing."""

    iteration_count: _Count
    wall_time_ms: _Real
    section_fail_count: _Count
    distribution_pass_rate: Annotated[float, Field(ge=0, le=1)] | None
    error_count: _Count
    safety_cap_hit: bool
    mean_section_attempts: _Real | None
    structural_error_count: _Count
    cortex_recall_empty_count: _Count

    @property
    def values(self) -> dict[Kpi, float | None]:
        """The vector as numbers, a cap that was hit as 1."""
        found: dict[Kpi, float | None] = {}
        for kpi in Kpi:
            value = getattr(self, kpi.value)
            found[kpi] = None if value is None else float(value)
        return found


class Machine(Observation):
    """Where a run ran, in the words of its operating system."""

    cpu_model: str
    memory_gb: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    @property
    def of_class(self) -> MachineClass:
        """The machines that it may be compared with."""
        return machine_class(self.cpu_model, self.memory_gb)


class KpiRun(Observation):
    """A run; `kpi_source` is the sha256 of the code that measured its KPIs, and `commit` where that stands."""

    schema_version: Literal[1]
    run_id: Name
    started_at: Instant
    machine: Machine
    data: Literal["canned", "real"]
    kpi_source: Hash
    commit: Commit
    kpis: Kpis


def read(path: Path) -> Log[KpiRun]:
    """The log of a file.

    Raises: MalformedObservations: as in `read_log`, or a run stands in it twice.
    """
    log = read_log(path, KpiRun)
    twice = [run_id for run_id, times in Counter(row.run_id for row in log.rows).items() if times > 1]
    if twice:
        faults = [f"field 'run_id': found {run_id!r} twice, expected a run a line; remove one" for run_id in twice]
        raise MalformedObservations(f"observations {str(path)!r}", faults)
    return log
