"""Promoted gates as a file, and its loader, which takes of it only what the plan would have promoted itself."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval_pipeline.canonical import content_hash
from eval_pipeline.plan import Exact, Level, faults_of
from eval_pipeline.records import Interval
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.kpi_gates.calibration import Gate, bounded_share, provisional_gates
from eval_pipeline.studies.kpi_gates.evaluation import GateSet
from eval_pipeline.studies.kpi_gates.family import fewest_runs
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass, gate_name
from eval_pipeline.studies.kpi_gates.observations import Commit, Hash, Instant, Name
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.promotion import WORDS, standing_of

_STANDS = "the provisional gates stand"


class _FromFile(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class GateRow(_FromFile):
    """A gate of the file, with all that its promotion rests on; `n` runs and an interval from order statistics."""

    kpi: Annotated[Kpi, Field(strict=False)]
    machine_class: Annotated[MachineClass, Field(strict=False)] | None
    status: Literal["promoted", "hold_provisional"]
    threshold: Exact
    estimate: float
    low: float | None
    high: float | None
    level: Level
    n: Annotated[int, Field(ge=1)]


class GateFile(_FromFile):
    """The file: under which plan it was made, from which log, by which code; `seal` is the hash of all the rest."""

    schema_version: Literal[1]
    study: Literal["kpi-gates"]
    generation: Name
    plan_seal: Hash
    observations: Hash
    simulated: bool
    kpi_source: Hash
    commit: Commit
    until: Instant
    gates: tuple[dict[str, Any], ...]
    seal: Hash


@dataclass(frozen=True, slots=True)
class Loaded:
    """The gates to be used, which of them are calibrated, and a sentence for all that was refused."""

    gates: GateSet
    promoted: tuple[str, ...]
    refused: tuple[str, ...]


def gate_file(
    gates: Sequence[Gate], plan: KpiGatesPlan, *, observations: str, simulated: bool, until: datetime
) -> dict[str, Any]:
    """The file as plain values, under its seal; gates without a calibrated threshold are not in it.

    Args:
        gates: as they stand once held-out data were seen.
        plan: under which they were made.
        observations: the hash of the log.
        simulated: whether a generator made that log.
        until: when the last of its runs started.

    """
    fields = {
        "schema_version": 1,
        "study": plan.study,
        "generation": plan.generation,
        "plan_seal": seal_of(plan),
        "observations": observations,
        "simulated": simulated,
        "kpi_source": plan.frozen.kpi_source,
        "commit": plan.frozen.commit,
        "until": until.isoformat(),
        "gates": [_row(gate, plan) for gate in gates if gate.standing.calibrated is not None],
    }
    return fields | {"seal": content_hash(fields)}


def load_gates(path: Path, plan: KpiGatesPlan) -> Loaded:
    """The provisional gates, overlaid with those of a file that hold; nothing of a file is used in silence.

    A file that is missing, cannot be read, was changed, or was made under another plan or by other code leaves the
    provisional gates as they are, and `refused` says why. So does each gate that the numbers beside it do not promote.
    """
    what = f"gates {str(path)!r}"
    try:
        fields = json.loads(path.read_bytes())
    except OSError as error:
        return _none(plan, f"{what} cannot be read ({error.strerror}); {_STANDS}")
    except ValueError as error:
        return _none(plan, f"{what} is no JSON ({error}); {_STANDS}")
    return gates_of(fields, plan, what)


def gates_of(fields: Any, plan: KpiGatesPlan, what: str) -> Loaded:
    """What `load_gates` gives for the values of a file."""
    try:
        file = GateFile.model_validate(_tuples(fields))
    except ValidationError as error:
        faults = "; ".join(faults_of(error, missing="make the file again"))
        return _none(plan, f"{what} is no file of gates: {faults}; {_STANDS}")
    found = content_hash({name: value for name, value in fields.items() if name != "seal"})
    expected = seal_of(plan)
    if found != file.seal:
        return _none(plan, f"{what} was sealed as {file.seal[:12]} and now hashes to {found[:12]}; {_STANDS}")
    if file.plan_seal != expected:
        return _none(plan, f"{what} was made under plan {file.plan_seal[:12]}, expected {expected[:12]}; {_STANDS}")
    if file.kpi_source != plan.frozen.kpi_source and plan.frozen.check == "required":
        frozen = plan.frozen.kpi_source[:12]
        return _none(plan, f"{what} was measured by code {file.kpi_source[:12]}, expected {frozen}; {_STANDS}")
    if file.simulated:
        return _none(plan, f"{what} was calibrated on generated runs, which bind nobody; {_STANDS}")
    return _overlaid(file.gates, plan, what)


def _overlaid(rows: Sequence[Mapping[str, Any]], plan: KpiGatesPlan, what: str) -> Loaded:
    before = provisional_gates(plan)
    thresholds, wall_time = dict(before.thresholds), dict(before.wall_time)
    promoted: list[str] = []
    refused: list[str] = []
    for number, fields in enumerate(rows, 1):
        try:
            row = GateRow.model_validate(fields)
        except ValidationError as error:
            refused.append(f"{what}, gate {number}: {'; '.join(faults_of(error, missing='make the file again'))}")
            continue
        if fault := _fault(row, plan):
            refused.append(f"{what}, gate {number} ({gate_name(row.kpi)}): {fault}; its provisional threshold stands")
            continue
        if row.machine_class:
            wall_time[row.machine_class] = row.threshold
        else:
            thresholds[row.kpi] = row.threshold
        promoted.append(gate_name(row.kpi) + (f"[{row.machine_class.value}]" if row.machine_class else ""))
    if not promoted and not refused:
        refused.append(f"{what} promotes no gate; {_STANDS}")
    return Loaded(GateSet(thresholds, wall_time), tuple(promoted), tuple(refused))


def _fault(row: GateRow, plan: KpiGatesPlan) -> str | None:
    """Why a gate of the file is not used; None if it is."""
    if row.status != "promoted":
        return "found it held, expected it promoted"
    if (row.kpi is Kpi.WALL_TIME_MS) != (row.machine_class is not None):
        return f"found machine class {row.machine_class}, expected one for the wall time and for no other KPI"
    if row.n < (needed := fewest_runs(bounded_share(plan), level=plan.estimate.level)):
        return f"found {row.n} runs, expected {needed} or more, which bound its percentile"
    if row.level != plan.estimate.level:
        return f"found an interval of level {float(row.level):g}, expected {float(plan.estimate.level):g}"
    if row.low is None or row.high is None or not row.low <= row.estimate <= row.high:
        return f"found the interval [{row.low}, {row.high}], expected one with both ends that holds {row.estimate:g}"
    interval = Interval(row.low, row.high, float(row.level))
    provisional = plan.thresholds[row.kpi]
    standing = standing_of(row.kpi, provisional, row.estimate, interval, plan.promotion, no_variation=False)
    if not standing.promoted:
        return f"found it promoted, and {WORDS[standing.why]}"
    if row.threshold != standing.calibrated:
        assert standing.calibrated is not None
        return f"found threshold {float(row.threshold):g}, expected {float(standing.calibrated):g} of these numbers"
    return None


def _row(gate: Gate, plan: KpiGatesPlan) -> dict[str, Any]:
    assert gate.bound is not None
    interval = gate.bound.interval
    return {
        "kpi": gate.kpi.value,
        "machine_class": gate.machine.value if gate.machine else None,
        "status": "promoted" if gate.standing.promoted else "hold_provisional",
        "threshold": str(gate.standing.calibrated),
        "estimate": gate.bound.estimate,
        "low": None if interval.low is None else float(interval.low),
        "high": None if interval.high is None else float(interval.high),
        "level": str(plan.estimate.level),
        "n": gate.n,
    }


def _none(plan: KpiGatesPlan, why: str) -> Loaded:
    return Loaded(provisional_gates(plan), (), (why,))


def _tuples(value: Any) -> Any:
    """The list of gates as a tuple; its rows stay as they are, to be read one by one."""
    if isinstance(value, dict) and isinstance(value.get("gates"), list):
        return value | {"gates": tuple(value["gates"])}
    return value
