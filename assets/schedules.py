"""Recalibration by the calendar: weekly where runs are many, quarterly where people's labels are few."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import dagster as dg

from assets.jobs import group_of
from eval_pipeline.studies.loops import STUDIES

WEEKLY, QUARTERLY = "0 6 * * 1", "0 6 1 1,4,7,10 *"


def week_of(now: datetime) -> str:
    """The name of a generation that lasts a week, such as 2026-W49."""
    year, week, _ = now.isocalendar()
    return f"{year}-W{week:02d}"


def quarter_of(now: datetime) -> str:
    """The name of a generation that lasts a quarter, such as 2026-Q4."""
    return f"{now.year}-Q{(now.month - 1) // 3 + 1}"


def observations_variable(job: str) -> str:
    """The variable of the environment that names the log of a job."""
    return f"EVAL_PIPELINE_OBSERVATIONS_{job.upper()}"


def _recalibration(job: str, cron: str, generation: Callable[[datetime], str]) -> dg.ScheduleDefinition:
    variable = observations_variable(job)

    @dg.schedule(job_name=job, cron_schedule=cron, execution_timezone="UTC", name=f"{job}_recalibration")
    def recalibration(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        """Calibrates anew on the log that the environment names, under a generation named by the date."""
        log = os.environ.get(variable)
        if not log or not Path(log).is_file():
            return dg.SkipReason(f"{variable} is {log!r}, expected the path of a log; set it")
        name = generation(context.scheduled_execution_time)
        inputs = {"observations": str(Path(log).resolve()), "generation": name}
        return dg.RunRequest(run_key=f"{job}-{name}", run_config={"resources": {"inputs": {"config": inputs}}})

    return recalibration


_CALENDAR: dict[str, tuple[str, Callable[[datetime], str]]] = {
    "fire_rate": (WEEKLY, week_of),
    "kpi_gates": (WEEKLY, week_of),
    "judge_reliability": (QUARTERLY, quarter_of),
    "retry_limit": (QUARTERLY, quarter_of),
    "strategy_feedback": (QUARTERLY, quarter_of),
}
SCHEDULES = [_recalibration(group_of(study.name), *_CALENDAR[group_of(study.name)]) for study in STUDIES]
