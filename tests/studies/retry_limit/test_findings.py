"""The findings of a log hold together, are those of its calibration part alone, and survive being written."""

from dataclasses import replace
from fractions import Fraction

import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.observations import Log
from eval_pipeline.studies.retry_limit.findings import Findings, delivery, findings
from eval_pipeline.studies.retry_limit.generator import generated_log
from eval_pipeline.studies.retry_limit.limit import Word
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, attempts, log_of, runs_in

SMALL = amended(SHIPPED, generated={"inputs": 40})


@pytest.fixture(scope="module")
def small() -> Findings:
    return findings(generated_log(SMALL), SMALL)


def test_counts_add_up(small):
    counted = small.counted
    assert counted.runs == 80
    assert counted.sections == 640 == counted.passed + counted.gave_up + counted.pending
    assert counted.attempts == sum(step.at_risk for arm in small.arms for step in arm.steps)
    assert counted.sections == sum(arm.sections for arm in small.arms)
    assert [arm.arm for arm in small.arms] == [WITHOUT, WITH]
    assert small.evidence.failures == tuple(arm.failed_first for arm in small.arms)


def test_the_evidence_is_that_of_the_parts(small):
    evidence = small.evidence
    assert evidence.required == small.preflight.required
    assert evidence.p_value == small.comparison.p_value == small.comparison.clustered.p_value
    faster = next(arm for arm in small.arms if arm.arm is small.comparison.faster)
    assert [rung.next_passes for rung in evidence.rungs] == [step.share for step in faster.steps[1:]]
    assert evidence.first_failing.denominator <= 200


def test_the_first_sections_are_those_of_the_log_s_order():
    """Ten runs of twenty sections: those of the first ten fail, the rest do not."""
    runs = runs_in(WITH, 20)
    rows = [
        row
        for place, run in enumerate(runs)
        for k in range(20)
        for row in attempts(run, f"s{k}", "t" if place < 2 else "p")
    ]
    found = findings(log_of(rows), amended(SMALL, stopping={"first_sections": 40}))
    assert found.evidence.first_failing == 1
    assert findings(log_of(rows), SMALL).evidence.first_failing == Fraction(40, 200)
    assert findings(log_of(rows[:20]), SMALL).evidence.first_failing is None


def test_few_sections_decide_nothing(small):
    assert small.decision.word is Word.UNDECIDED
    assert small.decision.attempts == 3


def test_findings_are_read_as_they_were_written(small):
    assert read_json(json_bytes(small, Findings), Findings) == small


def test_one_log_gives_one_finding(small):
    assert findings(generated_log(SMALL), SMALL) == small
    assert json_bytes(findings(generated_log(SMALL), SMALL), Findings) == json_bytes(small, Findings)


def test_the_order_of_lines_within_runs_changes_no_number(small):
    log = generated_log(SMALL)
    mixed = sorted(log.rows, key=lambda row: (row.run_id, row.section_type, -row.attempt))
    found = findings(Log(tuple(mixed), simulated=True), SMALL)
    for name in ("preflight", "arms", "comparison", "evidence", "decision", "delivery", "counted"):
        assert getattr(found, name) == getattr(small, name), name


def test_the_hash_is_that_of_the_observations(small):
    log = generated_log(SMALL)
    assert small.data == log.hash
    assert findings(replace(log, rows=log.rows[8:]), SMALL).data != log.hash


def test_what_was_told_against_the_arm_is_counted():
    told, untold = runs_in(WITH, 1)[0], runs_in(WITHOUT, 1)[0]
    rows = [*attempts(told, "s", "rrp"), *attempts(untold, "s", "rrp", WITHOUT)]
    assert (delivery(rows).retries, delivery(rows).astray) == (4, 0)
    rows[1] = rows[1].model_copy(update={"prior_violations_used": False})
    rows[5] = rows[5].model_copy(update={"prior_violations_used": True})
    assert (delivery(rows).retries, delivery(rows).astray) == (4, 2)
    nothing_left = rows[2].model_copy(update={"prior_violations_count": 0, "prior_violations_used": False})
    assert delivery([nothing_left]).retries == 0


def test_a_run_of_another_arm_is_refused():
    (run,) = runs_in(WITH, 1)
    with pytest.raises(MalformedObservations, match="by the hash of its id"):
        findings(log_of(attempts(run, "s", "p", WITHOUT)), SHIPPED)
