"""A log of runs is read whole or not at all."""

import json
from datetime import UTC, datetime

import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.observations import KpiRun, read
from tests.studies.kpi_gates.made_up import fields, row


def test_what_is_written_is_read_again(tmp_path):
    rows = (row("a"), row("b", distribution_pass_rate=None, mean_section_attempts=None, safety_cap_hit=True))
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes(rows))
    log = read(path)
    assert (log.rows, log.simulated) == (rows, False)
    assert log.rows[0].started_at == datetime(2026, 10, 1, 12, tzinfo=UTC)


def test_a_cap_that_was_hit_counts_as_1_and_what_is_missing_is_no_number():
    values = row(safety_cap_hit=True, distribution_pass_rate=None).kpis.values
    assert values[Kpi.SAFETY_CAP_HIT] == 1
    assert values[Kpi.DISTRIBUTION_PASS_RATE] is None
    assert set(values) == set(Kpi)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"started_at": "yesterday"}, "field 'started_at': found \"yesterday\", expected a time such as"),
        ({"started_at": "2026-10-01T12:00:00"}, "field 'started_at'.*timezone"),
        ({"started_at": 1790000000}, "field 'started_at'"),
        ({"data": "fake"}, "field 'data': found \"fake\""),
        ({"kpi_source": "abc"}, "field 'kpi_source'"),
        ({"schema_version": 2}, "field 'schema_version'"),
        ({"note": ""}, "field 'note': found a field that no rule reads"),
    ],
)
def test_a_line_that_is_no_run_is_a_fault_with_its_field(tmp_path, change, fault):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(fields() | change))
    with pytest.raises(MalformedObservations, match=f"line 1, {fault}"):
        read(path)


@pytest.mark.parametrize(
    "kpis", [{"error_count": -1}, {"error_count": 1.5}, {"distribution_pass_rate": 1.1}, {"safety_cap_hit": 1}]
)
def test_a_kpi_that_cannot_be_is_a_fault(tmp_path, kpis):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(fields(**kpis)))
    (name,) = kpis
    with pytest.raises(MalformedObservations, match=f"line 1, field 'kpis.{name}': found"):
        read(path)


def test_a_kpi_that_is_not_there_is_a_fault(tmp_path):
    line = fields()
    del line["kpis"]["wall_time_ms"]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(line))
    with pytest.raises(
        MalformedObservations, match=r"field 'kpis\.wall_time_ms': found nothing, expected a value; add it"
    ):
        read(path)


def test_a_run_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes((row("a"), row("b"), row("a"))))
    with pytest.raises(MalformedObservations, match="found 'a' twice, expected a run a line"):
        read(path)


def test_a_run_is_the_same_from_json():
    assert KpiRun.model_validate_json(row().model_dump_json()) == row()
