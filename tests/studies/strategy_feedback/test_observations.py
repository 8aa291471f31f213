"""A log is read strictly: what is no execution is refused by line and field, and nothing of the file is used."""

import json

import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.strategy_feedback.observations import read
from tests.studies.strategy_feedback.made_up import execution


@pytest.fixture
def written(tmp_path):
    def write(*rows):
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def test_what_was_written_is_read_again(plan, tmp_path):
    rows = [execution(plan, "r1", 1), execution(plan, "r2", 2, passes=0, claims=0, confidence=1)]
    (tmp_path / "log.jsonl").write_bytes(log_bytes(rows))
    log = read(tmp_path / "log.jsonl")
    assert (log.rows, log.simulated) == (tuple(rows), False)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"passes": 5}, "line 2, .*at most as many passes as the 4 claims, found 5"),
        ({"claims": -1}, "line 2, field 'claims': found -1"),
        ({"passes": True}, "line 2, field 'passes': found true"),
        ({"confidence": 1.01}, "line 2, field 'confidence': found 1.01"),
        ({"reference_confidence": None}, "line 2, field 'reference_confidence': found null"),
        ({"arm": "off"}, "line 2, field 'arm': found \"off\", expected 'control' or 'treatment'"),
        ({"sequence": 1.5}, "line 2, field 'sequence': found 1.5"),
        ({"run_id": ""}, "line 2, field 'run_id'"),
        ({"expected_improvement": 0.1}, "line 2, field 'expected_improvement': found a field that no rule reads"),
    ],
)
def test_a_line_that_is_no_execution_is_refused_with_its_sentence(plan, written, fields, sentence):
    good = execution(plan, "r1", 1).model_dump(mode="json")
    with pytest.raises(MalformedObservations, match=sentence):
        read(written(good, good | {"sequence": 2} | fields))


def test_a_missing_field_is_refused(plan, written):
    row = execution(plan, "r1", 1).model_dump(mode="json")
    row.pop("reference_confidence")
    with pytest.raises(MalformedObservations, match=r"line 1, field 'reference_confidence': found nothing.*; add it"):
        read(written(row))


def test_an_empty_file_is_refused(written):
    with pytest.raises(MalformedObservations, match="found nothing in it"):
        read(written())
