"""The log is read strictly, and one that contradicts itself is refused, with the line's number and what to do."""

import json

import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.judge_reliability.observations import read
from eval_pipeline.studies.judge_reliability.words import Grounding, Label, Truth, Vote
from tests.studies.judge_reliability.made_up import judgment

PLAIN = judgment("c1", "PASS", "HOLDS")
LABELLED = judgment("c2", "FAIL", "FAILS", grounding=Grounding.ANNOTATORS, labels=(Label.FAILS, Label.FAILS))
SILENT = judgment("c3", None, "HOLDS")


def written(tmp_path, *rows):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fields(row=PLAIN, **changes):
    return json.loads(row.model_dump_json()) | changes


def refusal(path):
    with pytest.raises(MalformedObservations) as caught:
        read(path)
    return str(caught.value)


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes([PLAIN, LABELLED, SILENT]))
    log = read(path)
    assert log.rows == (PLAIN, LABELLED, SILENT)
    assert not log.simulated
    assert log.rows[0].judge == "chat/one"
    assert log.rows[1].labels == (Label.FAILS, Label.FAILS)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"verdict": "MAYBE"}, "line 1, field 'verdict': found \"MAYBE\", expected 'PASS', 'SPEC-COMPLETE'"),
        ({"truth": "FAIL"}, "line 1, field 'truth': found \"FAIL\", expected 'HOLDS' or 'FAILS'"),
        ({"truth": True}, "line 1, field 'truth': found true, expected 'HOLDS' or 'FAILS'"),
        ({"confidence": 1.2}, "line 1, field 'confidence': found 1.2, expected less than or equal to 1"),
        ({"confidence": "0.9"}, "line 1, field 'confidence': found \"0.9\", expected a valid number"),
        ({"claim_id": ""}, "line 1, field 'claim_id'"),
        ({"is_fail": True}, "line 1, field 'is_fail': found a field that no rule reads; remove it"),
        ({"verdict": None}, "expected a verdict and its confidence, or why there is none"),
        ({"confidence": None}, "expected a verdict and its confidence, or why there is none"),
        ({"caveat": "parse_error"}, "expected verdict and confidence to be null"),
        ({"labels": ["HOLDS", "HOLDS"]}, "expected the labels of annotators, and of no other grounding"),
        ({"grounding": "annotators"}, "expected the labels of annotators, and of no other grounding"),
        ({"grounding": "annotators", "labels": ["FAILS", "FAILS"]}, "the truth that the labels come to, FAILS"),
        ({"grounding": "annotators", "labels": ["HOLDS", "FAILS"]}, "the truth that the labels come to, null"),
        ({"grounding": "annotators", "labels": ["HOLDS"]}, "labels: found HOLDS; expected two"),
    ],
)
def test_a_line_that_breaks_the_format_is_refused(tmp_path, changes, sentence):
    assert sentence in refusal(written(tmp_path, fields(**changes)))


@pytest.mark.parametrize(
    ("field", "value"),
    [("run_id", "r2"), ("claim_type", "units"), ("grounding", "schema"), ("truth", "FAILS"), ("truth", None)],
)
def test_a_claim_has_one_run_one_type_and_one_truth(tmp_path, field, value):
    said = refusal(written(tmp_path, fields(), fields(judge_name="two", **{field: value})))
    assert f"observation 2, field {field!r}: found {'null' if value is None else repr(value)}, expected" in said
    assert "as in observation 1 of claim 'c1'; give each claim one run, type and truth" in said


def test_a_judgment_that_was_repeated_is_refused(tmp_path):
    said = refusal(written(tmp_path, fields(), fields(verdict="FAIL")))
    assert "found claim 'c1' judged by 'chat/one' again, expected it once, as in observation 1; keep the first" in said


def test_a_missing_field_and_an_empty_file_are_refused(tmp_path):
    without = fields()
    del without["truth"]
    assert "line 1, field 'truth': found nothing, expected a value; add it" in refusal(written(tmp_path, without))
    assert "found nothing in it" in refusal(written(tmp_path))


def test_votes_say_what_they_say():
    assert [vote.says for vote in Vote] == [Truth.HOLDS, Truth.HOLDS, None, None, Truth.FAILS]
    assert sorted(Vote, key=lambda vote: vote.severity)[-1] is Vote.FAIL
