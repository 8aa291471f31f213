"""The log of stopped runs has one schema, and ends a calibration."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.studies.kpi_gates.blocked import Stopped, blocked_bytes, read_blocked, report_of, rows_of, stopped
from eval_pipeline.studies.kpi_gates.calibration import provisional_gates
from eval_pipeline.studies.kpi_gates.plan import Stop
from tests.stats.laws import LAW
from tests.studies.kpi_gates.made_up import SHIPPED, row

GATES = provisional_gates(SHIPPED)
FIVE = SHIPPED.stop


def blocked(**kpis):
    run = row("run-9", **kpis)
    return rows_of(run, report_of(run, GATES))


def test_a_run_has_a_row_for_each_gate_that_it_did_not_pass():
    rows = blocked(wall_time_ms=612.5, safety_cap_hit=True)
    assert [(one.gate_name, one.observed, one.threshold) for one in rows] == [
        ("wall_time_ms_max", 612.5, 500), ("safety_cap_hit_max", 1, 0)
    ]  # fmt: skip
    assert {(one.run_id, one.machine_class.value, one.schema_version) for one in rows} == {
        ("run-9", "m_series_high", 1)
    }
    assert rows[0].timestamp == row().started_at
    assert blocked() == ()


def test_the_reader_takes_what_the_writer_wrote_and_nothing_else(tmp_path):
    path = tmp_path / "blocked.jsonl"
    path.write_bytes(blocked_bytes(blocked(error_count=7)))
    assert read_blocked(path).rows == blocked(error_count=7)
    line = json.loads(path.read_text())
    assert set(line) == {"run_id", "gate_name", "observed", "threshold", "machine_class", "timestamp", "schema_version"}


@pytest.mark.parametrize("name", ["run_id", "gate_name", "observed", "threshold", "machine_class", "timestamp"])
def test_a_row_of_another_schema_is_an_error_and_never_no_row(tmp_path, name):
    path = tmp_path / "blocked.jsonl"
    line = json.loads(blocked_bytes(blocked(error_count=7)))
    path.write_text(json.dumps(line | {f"{name}_of_old": line.pop(name)}))
    with pytest.raises(MalformedObservations, match=f"line 1, field '{name}': found nothing, expected a value; add it"):
        read_blocked(path)


def test_a_log_without_a_row_is_of_no_stopped_run_and_one_that_is_not_there_is_an_error(tmp_path):
    path = tmp_path / "blocked.jsonl"
    with pytest.raises(MalformedObservations, match="cannot be read"):
        read_blocked(path)
    path.write_bytes(blocked_bytes(()))
    assert read_blocked(path).rows == ()


def test_five_violations_of_one_gate_end_the_calibration():
    runs = [("a",), (), ("a", "b"), ("b",), ("a",), ("a",), ("b",), ("a",), ("a",)]
    assert stopped(runs, FIVE) == Stopped("a", 7)
    assert stopped(runs[:7], FIVE) is None


def test_violations_count_within_so_many_runs():
    apart = [("a",) if number % 25 == 0 else () for number in range(300)]  # 0, 25, 50, 75, 100: 101 runs
    assert stopped(apart, FIVE) is None
    assert stopped(apart, Stop(violations=5, within_runs=101)) == Stopped("a", 100)


@LAW
@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5), st.integers(1, 20))
def test_a_calibration_ends_at_the_first_window_with_too_many(violated, most, within):
    found = stopped([("a",) if one else () for one in violated], Stop(violations=most, within_runs=within))
    expected = [
        end
        for end in range(len(violated))
        if violated[end] and sum(violated[max(0, end - within + 1) : end + 1]) >= most
    ]
    assert (found and found.place) == (expected[0] if expected else None)
