"""The study as it is run: all runs are counted, and nothing is held out."""

import pytest

from eval_pipeline.errors import InputRefused
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.studies.fire_rate.study import STUDY
from eval_pipeline.studies.fire_rate.verdict import CLAIMS
from tests.studies.fire_rate.made_up import event, log_where, run, written


def test_a_file_goes_from_its_rows_to_its_document(shipped, tmp_path):
    log = STUDY.read(written(tmp_path / "log.jsonl", *log_where(464).rows))
    found = STUDY.findings(log, shipped)
    kept = read_json(json_bytes(found, STUDY.findings_type), STUDY.findings_type)
    assert STUDY.document(kept, None, shipped)["decision"]["word"] == "fallback_unreached_delete_candidate"


def test_the_study_is_what_its_plan_says(shipped):
    assert STUDY.name == shipped.study == shipped.name
    assert set(STUDY.claims) == set(CLAIMS)
    assert STUDY.unit(run(3, event("content_mutation"))) == "run-3"
    assert STUDY.stratum is None
    assert shipped.held_out.share == 0


def test_held_out_runs_are_refused(shipped):
    log = log_where(8)
    with pytest.raises(InputRefused, match="held out: found 8 runs for plan 'fire-rate', which counts all 8; expected"):
        STUDY.held_out(STUDY.findings(log, shipped), log, shipped)
