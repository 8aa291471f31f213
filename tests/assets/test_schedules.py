"""What runs by the calendar: nothing unless it was turned on, and then on the inputs that the environment names."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets import partitions, schedules, sensors
from assets.build import build_defs
from eval_pipeline.errors import InputRefused
from tests.small_corpus import write_small_corpus

AT = datetime(2026, 11, 30, 2, tzinfo=UTC)
NAMED = {"extraction_nightly": "CORPUS", "inputs_hourly": "CORPUS", "judge_calibration_weekly": "JUDGE"}
ON_STANDING_INPUTS = [schedule for schedule in schedules.all_schedules() if schedule.name in NAMED]


def tick(schedule: dg.ScheduleDefinition) -> Any:
    with dg.DagsterInstance.ephemeral() as instance:
        return schedule.evaluate_tick(dg.build_schedule_context(instance=instance, scheduled_execution_time=AT))


def test_everything_that_acts_by_itself_is_off_until_it_is_turned_on() -> None:
    every = [*schedules.all_schedules(), *sensors.SENSORS, *partitions.SENSORS]
    assert {one.default_status for one in every} == {
        dg.DefaultScheduleStatus.STOPPED,
        dg.DefaultSensorStatus.STOPPED,
    }
    definitions = build_defs()
    listed = {one.name for one in [*(definitions.schedules or ()), *(definitions.sensors or ())]}
    assert listed == {one.name for one in every}


@pytest.mark.parametrize("schedule", ON_STANDING_INPUTS, ids=lambda schedule: schedule.name)
def test_a_schedule_runs_on_what_the_environment_names_and_says_so_where_it_names_nothing(
    schedule: dg.ScheduleDefinition, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"EVAL_PIPELINE_{NAMED[schedule.name]}"
    monkeypatch.delenv(variable, raising=False)
    assert variable in str(tick(schedule).skip_message)
    value = "sample" if variable.endswith("CORPUS") else "lexical"
    monkeypatch.setenv(variable, value)
    (request,) = tick(schedule).run_requests or ()
    assert request.run_config["resources"]["inputs"]["config"] == {variable.rsplit("_", maxsplit=1)[-1].lower(): value}
    assert request.run_key == f"{schedule.name}-2026-11-30T02:00+00:00"


def test_a_schedule_may_be_given_other_times_and_its_generations_are_then_named_by_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_CRON_EXTRACTION_NIGHTLY", "30 4 * * *")
    monkeypatch.setenv("EVAL_PIPELINE_CRON_RETRY_LIMIT_RECALIBRATION", "0 5 * * *")
    found = {schedule.name: schedule for schedule in schedules.all_schedules()}
    assert found["extraction_nightly"].cron_schedule == "30 4 * * *"
    assert found["inputs_hourly"].cron_schedule == "0 * * * *"
    assert found["retry_limit_recalibration"].cron_schedule == "0 5 * * *"
    log = tmp_path / "runs.jsonl"
    log.write_text("{}\n")
    monkeypatch.setenv("EVAL_PIPELINE_OBSERVATIONS_RETRY_LIMIT", str(log))
    (request,) = tick(found["retry_limit_recalibration"]).run_requests or ()
    assert request.run_config["resources"]["inputs"]["config"]["generation"] == "2026-11-30"


def test_the_calendar_is_weekly_where_a_judge_is_asked_and_quarterly_for_the_window_of_kpis() -> None:
    found = {schedule.name: schedule.cron_schedule for schedule in schedules.all_schedules()}
    assert found["extraction_nightly"] == "0 2 * * *"
    assert found["judge_calibration_weekly"] == found["fire_rate_recalibration"] == "0 6 * * 1"
    assert found["kpi_gates_recalibration"] == "0 6 1 1,4,7,10 *"


@pytest.mark.parametrize("times", ["often", "0 25 * * *", "0 2 * *"])
def test_times_that_are_none_are_refused_in_a_sentence_that_names_the_variable(
    times: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_CRON_EXTRACTION_NIGHTLY", times)
    with pytest.raises(InputRefused, match=r"^EVAL_PIPELINE_CRON_EXTRACTION_NIGHTLY is '.*', expected the five fields"):
        build_defs()


def test_inputs_that_turn_back_to_what_they_were_are_run_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster starts no second run under a key that it has seen."""
    corpus = write_small_corpus(tmp_path)
    monkeypatch.setenv("EVAL_PIPELINE_CORPUS", str(corpus))
    propositions = corpus / "propositions.jsonl"
    first = propositions.read_text()
    keys, cursor = [], None
    with dg.DagsterInstance.ephemeral() as instance:
        for text in (first, first, first.replace("harbour", "garden"), first):
            propositions.write_text(text)
            said = sensors.changed_inputs.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor))
            cursor = said.cursor or cursor
            keys += [request.run_key for request in said.run_requests or ()]
    assert (len(keys), len(set(keys))) == (3, 3)
