"""Logs of runs: each line an observation of one schema, or the file is refused by line and field."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import log_bytes, read_log
from tests.toy_loop import Run, log_of


def test_a_log_that_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    log = log_of({"a": 1.0, "b": 2.5})
    path.write_bytes(log_bytes(log.rows))
    assert read_log(path, Run) == log
    assert read_log(path, Run).hash == log.hash


@given(st.lists(st.tuples(st.text(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
def test_the_hash_knows_every_value_and_the_order(rows: list[tuple[str, float]]) -> None:
    log = log_of(dict(rows))
    more = log_of(dict(rows) | {"one more": 0.0})
    assert log.hash == log_of(dict(rows)).hash != more.hash


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "found nothing in it, expected an observation a line"),
        ('{"run_id": "a"}\n', "line 1, field 'value': found nothing, expected a value; add it"),
        ('{"run_id": "a", "value": "1"}\n', "line 1, field 'value': found \"1\""),
        ('{"run_id": "a", "value": 1, "x": 2}\n', "line 1, field 'x': found a field that no rule reads; remove it"),
        ('{"run_id": "a", "value": 1}\nnot JSON\n', "line 2, column 1: found invalid JSON"),
        ('{"run_id": "a", "value": NaN}\n', "line 1, field 'value': found NaN"),
        ('{"run_id": 3, "value": 1}\n', "line 1, field 'run_id': found 3"),
    ],
)
def test_a_file_that_breaks_the_schema_is_refused_whole(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(text)
    with pytest.raises(MalformedObservations) as refusal:
        read_log(path, Run)
    assert sentence in str(refusal.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedObservations, match="cannot be read"):
        read_log(tmp_path / "none.jsonl", Run)
