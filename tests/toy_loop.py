"""A closed loop so small that a test runs it whole: the mean of what runs report, and whether held-out runs agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from eval_pipeline.document import plain_claim, plain_value
from eval_pipeline.loop import Arms, Constant, Holding, LoopPlan, Power
from eval_pipeline.observations import Log, Observation, log_bytes, read_log
from eval_pipeline.plan import Protocol
from eval_pipeline.records import Outcome, Verdict
from eval_pipeline.studies.loop_study import LoopStudy

PLAN = LoopPlan(
    name="toy",
    version=1,
    study="toy",
    seed=1,
    protocol=Protocol(
        question="q",
        hypotheses=("h",),
        estimand="e",
        estimator="e",
        sample_size="s",
        decision_rule="d",
        stopping_rule="s",
    ),
    generation="g1",
    sufficient_statistic="sums",
    power=Power(test="t", effect="one", alpha=Fraction(1, 20), power=Fraction(4, 5), n=10),
    arms=Arms(salt="toy", control_share=Fraction(1, 5)),
    held_out=Holding(share=Fraction(1, 5), seed=7),
    settled=(),
)


class Run(Observation):
    """What a run reports."""

    run_id: str
    value: float


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over so many runs."""

    runs: int
    mean: float


def log_of(values: Mapping[str, float], *, simulated: bool = False) -> Log[Run]:
    return Log(tuple(Run(run_id=name, value=value) for name, value in values.items()), simulated)


def write_log(path: Path, values: Mapping[str, float]) -> Path:
    path.write_bytes(log_bytes(log_of(values).rows))
    return path


def write_plan(path: Path, **changes: Any) -> Path:
    """The plan as a TOML file, with some fields changed."""
    plan = PLAN.model_copy(update=changes).model_dump(mode="json")
    lines = [f"{name} = {_toml(value)}" for name, value in plan.items() if not isinstance(value, dict)]
    for name, section in plan.items():
        if isinstance(section, dict):
            lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in section.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def mean_of(log: Log[Run]) -> Mean:
    return Mean(len(log.rows), sum(row.value for row in log.rows) / len(log.rows))


def document(found: Mean, held: Mean | None, plan: LoopPlan) -> dict[str, Any]:
    agrees = held is None or abs(held.mean - found.mean) < 1
    claim = Verdict(
        "agrees",
        Outcome.PASS if agrees else Outcome.FAIL,
        None,
        "they agree",
        found.mean,
        None,
        None,
        None,
        None,
        False,
    )
    return {
        "study": plan.study,
        "claims": [plain_claim(claim)],
        "decision": {"word": "keep" if agrees else "revert", "reason": "it is a toy"},
        "findings": plain_value(found),
        "held_out": plain_value(held) if held else None,
        "constants": [plain_value(Constant("mean", found.mean)) | {"heuristic": True}],
        "charts": [],
        "settled": [],
    }


STUDY: LoopStudy[LoopPlan, Run, Mean, Mean] = LoopStudy(
    name="toy",
    plan=LoopPlan,
    row=Run,
    claims={"agrees": "Held-out runs agree."},
    read=lambda path: read_log(path, Run),
    generate=lambda plan: log_of({f"run-{number}": float(number) for number in range(20)}, simulated=True),
    unit=lambda row: row.run_id,
    stratum=None,
    findings=lambda log, plan: mean_of(log),
    findings_type=Mean,
    held_out=lambda found, log, plan: mean_of(log),
    held_out_type=Mean,
    document=document,
)
