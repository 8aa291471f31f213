"""A generated log is one that the reader takes, has the truth that was planted, and is the same under one seed."""

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.arms import arm_of, attempt_limit, retry_arm_of
from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.retry_limit.findings import delivery
from eval_pipeline.studies.retry_limit.generator import courses, generated_log, passing
from eval_pipeline.studies.retry_limit.observations import Outcome, contradictions, read, require_assigned
from eval_pipeline.studies.retry_limit.sections import columns, sections_of
from tests.studies.retry_limit.conftest import SHIPPED, amended

SMALL = amended(SHIPPED, generated={"inputs": 40})


def test_a_generated_log_is_one_that_the_reader_takes(tmp_path):
    log = generated_log(SMALL)
    assert log.simulated
    assert contradictions(log.rows, range(len(log.rows))) == []
    require_assigned(log, SMALL)
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes(log.rows))
    assert read(path).rows == log.rows


def test_one_seed_gives_one_log():
    assert generated_log(SMALL) == generated_log(SMALL)
    assert generated_log(amended(SMALL, seed=1)).rows != generated_log(SMALL).rows


def test_the_rows_are_those_of_the_courses():
    """What is estimated from courses, without rows, is what would be from the log."""
    found, expected = columns(sections_of(generated_log(SMALL).rows)), courses(SMALL).columns
    for name in ("until", "passed", "arm", "run"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def test_each_input_is_run_as_often_as_planned_and_each_run_writes_each_kind():
    log = generated_log(SMALL)
    sections = sections_of(log.rows)
    kinds = [kind.name for kind in SMALL.generated.kinds]
    runs = {one.run: [s.kind for s in sections if s.run == one.run] for one in sections}
    assert len(runs) == 80
    assert all(written == kinds for written in runs.values())
    names = [one.name for one in sections]
    assert {names.count(name) for name in names} == {2}


def test_every_run_is_in_its_arm_and_keeps_to_its_limit():
    for one in sections_of(generated_log(SMALL).rows):
        assert one.arm is retry_arm_of(one.run, salt="retry-limit")
        limit = attempt_limit(arm_of(one.run, SMALL.arms.rule), SMALL.limit.cap)
        assert one.attempts <= limit
        if one.attempts == limit:
            assert one.ended is not Outcome.FAILED_PENDING_RETRY


def test_a_hazard_of_twice_the_size_leaves_the_square_of_those_who_do_not_pass():
    assert passing(np.array([0.3, 0.0, 1.0]), np.array(2.0)) == pytest.approx([1 - 0.7**2, 0, 1])


def test_the_planted_truth_is_in_the_log():
    """Without effects of runs and inputs every share is a binomial one, each tested at 1 in 1000."""
    under = amended(SHIPPED, generated={"run_spread": "0", "input_spread": "0", "terminal": "0", "cut_off": "0"})
    found = courses(under).columns
    fails = float(np.mean([float(kind.fails_first) for kind in under.generated.kinds]))
    assert binomtest(int(found.failed_first.sum()), len(found.until), fails).pvalue > 0.001
    for arm, hazard in ((0, 0.45), (1, 1 - 0.55**1.8)):
        came = (found.until >= 2) & (found.arm == arm)
        passed = came & (found.until == 2) & (found.passed == 1)
        assert binomtest(int(passed.sum()), int(came.sum()), hazard).pvalue > 0.001


def test_what_ends_early_and_what_strays_are_planted_too():
    under = amended(SHIPPED, generated={"terminal": "1/5", "cut_off": "1/10", "astray": "1/4", "inputs": 100})
    log = generated_log(under)
    sections = sections_of(log.rows)
    first = [one for one in sections if one.failed_first]
    gave_up = sum(one.attempts == 1 and one.ended is Outcome.FAILED_TERMINAL for one in first)
    cut_off = sum(one.attempts == 1 and one.ended is Outcome.FAILED_PENDING_RETRY for one in first)
    assert binomtest(gave_up, len(first), 0.2).pvalue > 0.001
    assert binomtest(cut_off, len(first) - gave_up, 0.1).pvalue > 0.001
    made = delivery(log.rows)
    assert binomtest(made.astray, made.retries, 0.25).pvalue > 0.001


def test_runs_of_a_spread_go_together():
    """The variance of first failures over runs is that of independent sections, or far above it."""

    def over_runs(spread: str) -> float:
        found = courses(amended(SHIPPED, generated={"run_spread": spread, "input_spread": "0"})).columns
        by_run = np.bincount(found.run, weights=found.failed_first)
        share = by_run.mean() / 8
        return float(by_run.var() / (8 * share * (1 - share)))

    assert over_runs("0") < 1.2
    assert over_runs("1") > 2
