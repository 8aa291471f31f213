"""Runs by the calendar, each off until it is turned on: the nightly study, and recalibration.

Recalibration is weekly where a judge is asked or runs are many, and quarterly where people's labels are few or a window
of KPIs must fill. `EVAL_PIPELINE_CRON_` and the name of a schedule give it another time.
"""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import dagster as dg
from dagster._utils.schedules import is_valid_cron_schedule

from assets.jobs import group_of
from assets.standing import standing_inputs, variable_of
from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.loops import STUDIES

HOURLY, NIGHTLY, WEEKLY, QUARTERLY = "0 * * * *", "0 2 * * *", "0 6 * * 1", "0 6 1 1,4,7,10 *"


def week_of(now: datetime) -> str:
    """The name of a generation that lasts a week, such as 2026-W49."""
    year, week, _ = now.isocalendar()
    return f"{year}-W{week:02d}"


def quarter_of(now: datetime) -> str:
    """The name of a generation that lasts a quarter, such as 2026-Q4."""
    return f"{now.year}-Q{(now.month - 1) // 3 + 1}"


def day_of(now: datetime) -> str:
    """The name of a generation of a schedule that was given times of its own, such as 2026-11-30."""
    return now.date().isoformat()


def observations_variable(job: str) -> str:
    """The variable of the environment that names the log of a job."""
    return f"EVAL_PIPELINE_OBSERVATIONS_{job.upper()}"


def _own_cron(name: str) -> str | None:
    """The times that the environment gives a schedule.

    Raises: InputRefused: they are not written as cron writes them.
    """
    variable = f"EVAL_PIPELINE_CRON_{name.upper()}"
    own = os.environ.get(variable)
    if own and not is_valid_cron_schedule(own):
        raise InputRefused(f"{variable} is {own!r}, expected the five fields of cron, such as '30 4 * * *'; mend it")
    return own


def _on_standing_inputs(name: str, job: str, cron: str, fields: tuple[str, ...]) -> dg.ScheduleDefinition:
    """A schedule whose runs are given those inputs that the environment names, the first of which it must name."""

    @dg.schedule(job_name=job, cron_schedule=_own_cron(name) or cron, execution_timezone="UTC", name=name)
    def of_the_day(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        """Runs the job on the inputs that the environment names."""
        named = standing_inputs()
        inputs = {field: named[field] for field in fields if field in named}
        if fields[0] not in inputs:
            return dg.SkipReason(f"{variable_of(fields[0])} is not set; name the {fields[0]} there")
        key = f"{name}-{context.scheduled_execution_time.isoformat(timespec='minutes')}"
        return dg.RunRequest(run_key=key, run_config={"resources": {"inputs": {"config": inputs}}})

    return of_the_day


def _recalibration(job: str, cron: str, generation: Callable[[datetime], str]) -> dg.ScheduleDefinition:
    variable, name = observations_variable(job), f"{job}_recalibration"
    own = _own_cron(name)
    named = day_of if own else generation

    @dg.schedule(job_name=job, cron_schedule=own or cron, execution_timezone="UTC", name=name)
    def recalibration(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        """Calibrates anew on the log that the environment names, under a generation named by the date."""
        log = os.environ.get(variable)
        if not log or not Path(log).is_file():
            return dg.SkipReason(f"{variable} is {log!r}, expected the path of a log; set it")
        generation_name = named(context.scheduled_execution_time)
        inputs = {"observations": str(Path(log).resolve()), "generation": generation_name}
        return dg.RunRequest(
            run_key=f"{job}-{generation_name}", run_config={"resources": {"inputs": {"config": inputs}}}
        )

    return recalibration


_CALENDAR: dict[str, tuple[str, Callable[[datetime], str]]] = {
    "fire_rate": (WEEKLY, week_of),
    "kpi_gates": (QUARTERLY, quarter_of),
    "judge_reliability": (QUARTERLY, quarter_of),
    "retry_limit": (QUARTERLY, quarter_of),
    "strategy_feedback": (QUARTERLY, quarter_of),
}
_OF_EXTRACTION = ("corpus", "propositions", "judge", "gold", "human_check")


def all_schedules() -> list[dg.ScheduleDefinition]:
    """The schedules, at the times that the environment gives them, or else their own.

    Raises: InputRefused: the environment gives one of them no times.
    """
    return [
        _on_standing_inputs("extraction_nightly", "extraction", NIGHTLY, _OF_EXTRACTION),
        _on_standing_inputs("inputs_hourly", "look_at_inputs", HOURLY, _OF_EXTRACTION),
        _on_standing_inputs("judge_calibration_weekly", "judge_calibration", WEEKLY, ("judge", "gold")),
        *(_recalibration(group_of(study.name), *_CALENDAR[group_of(study.name)]) for study in STUDIES),
    ]
