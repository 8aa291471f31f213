"""A log is one row a run, whole and in order, or it is refused with every fault."""

import json

import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.studies.fire_rate.observations import CONTEXTS, read
from tests.studies.fire_rate.made_up import event, run, written


def faults_of(path):
    with pytest.raises(MalformedObservations) as refusal:
        read(path)
    assert "\n" not in str(refusal.value)
    return refusal.value.faults


def line(**fields):
    return json.dumps({"run_id": "run-1", "sequence": 1, "context": "poc", "errors": []} | fields)


def test_a_log_is_read_as_it_was_written(tmp_path):
    rows = [run(2, event("content_mutation"), "prüfung — 日本"), run(1)]
    log = read(written(tmp_path / "log.jsonl", *rows))
    assert log.rows == tuple(rows)
    assert not log.simulated
    assert log.rows[0].kinds == {"content_mutation"}


def test_the_contexts_are_the_eight_of_the_specification():
    assert CONTEXTS == ("proposal", "feature", "bug", "incident", "poc", "mvp", "release", "cicd")


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"errors": ["fine", event("teleport")]}, "line 1, field 'errors.1': found "),
        ({"errors": [event("teleport")]}, "after 'mismatch_kind:', not \"teleport\"; mend what wrote it"),
        ({"errors": ["plan mismatch"]}, 'found "plan mismatch", expected \'[self_check] plan mismatch detected'),
        ({"context": "epic"}, "line 1, field 'context': found \"epic\", expected 'proposal', 'feature'"),
        ({"sequence": 0}, "line 1, field 'sequence': found 0, expected greater than or equal to 1"),
        ({"run_id": ""}, "line 1, field 'run_id': found \"\""),
        ({"look": 1}, "line 1, field 'look': found a field that no rule reads; remove it"),
    ],
)
def test_a_line_that_breaks_the_schema_is_refused(tmp_path, fields, fault):
    path = tmp_path / "log.jsonl"
    path.write_text(line(**fields) + "\n")
    (found,) = faults_of(path)
    assert fault in found


def test_a_run_that_stands_twice_is_refused(tmp_path):
    rows = [run(1), run(2).model_copy(update={"run_id": "run-1"})]
    (fault,) = faults_of(written(tmp_path / "log.jsonl", *rows))
    assert fault == "run 'run-1', field 'run_id': found it on 2 rows, expected one row a run; leave out the others"


def test_a_run_that_is_left_out_is_missed(tmp_path):
    (fault,) = faults_of(written(tmp_path / "log.jsonl", run(1), run(3), run(4)))
    assert fault.startswith("run number 2, field 'sequence': found no such run, expected every number from 1 to 3; add")


def test_a_number_that_stands_twice_is_refused(tmp_path):
    rows = [run(1), run(2), run(2).model_copy(update={"run_id": "other"})]
    faults = faults_of(written(tmp_path / "log.jsonl", *rows))
    assert faults[0] == "run number 2, field 'sequence': found it on 2 rows, expected it on one; number the runs anew"
    assert faults[1].startswith("run number 3, field 'sequence': found no such run")
