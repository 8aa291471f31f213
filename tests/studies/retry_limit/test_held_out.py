"""Held-out runs are tried again under both limits, and a limit that loses is taken back."""

from dataclasses import replace
from fractions import Fraction

import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.studies.retry_limit.findings import findings
from eval_pipeline.studies.retry_limit.generator import generated_log
from eval_pipeline.studies.retry_limit.held_out import HeldOutFindings, after, held_out, replayed
from eval_pipeline.studies.retry_limit.limit import Decision, Word
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, attempts, log_of, runs_in, section

RUNS = runs_in(WITH, 12)
CONTROLS = runs_in(WITH, 3, treated=False)
LITTLE = amended(SHIPPED, replay={"resamples": 1000})
CALIBRATED = Decision(Word.CALIBRATED, 2, WITH, "a limit was found")


def of_runs(paths, runs=RUNS):
    """Every run with the same sections."""
    return [section(run, f"s{k}", path) for run in runs for k, path in enumerate(paths)]


def test_what_lies_beyond_a_limit_is_not_tried():
    """Of ten sections 6 pass at once, one at 2, one at 3, one at 5, and one gives up at 3."""
    found = replayed(of_runs(["p"] * 6 + ["rp", "rrp", "rrrrp", "rrt"]), 2, LITTLE)
    assert (found.limit, found.default, found.runs, found.sections, found.undecided) == (2, 3, 12, 120, 0)
    assert (found.passed, found.passed_by_default) == (84, 96)
    assert found.difference == Fraction(-1, 10)
    assert (found.attempts, found.attempts_by_default) == (12 * (6 + 2 * 4), 12 * (6 + 2 + 3 * 3))
    # All runs lose the same share, so that every resample does.
    assert (found.interval.low, found.interval.high) == (Fraction(-1, 10), Fraction(-1, 10))
    assert found.worse is True


def test_the_loss_that_is_tolerated_is_no_loss():
    """One section in 50 is lost: 2 %, and exactly 2 % may be."""
    sections = of_runs(["p"] * 49 + ["rrp"])
    assert replayed(sections, 2, LITTLE).difference == -LITTLE.replay.tolerated_loss == Fraction(-1, 50)
    assert replayed(sections, 2, LITTLE).worse is False
    assert replayed(sections, 2, amended(LITTLE, replay={"tolerated_loss": "0.0199"})).worse is True


def test_a_loss_within_the_interval_is_none():
    """Two runs of 12 lose all sections that pass late: one resample in eight draws neither of them."""
    sections = of_runs(["p"] * 9, RUNS[:10]) + of_runs(["rrp"] * 9, RUNS[10:])
    found = replayed(sections, 2, LITTLE)
    assert found.difference == Fraction(-2, 12)
    assert found.interval.high == 0
    assert found.worse is False


def test_the_interval_draws_runs_and_not_sections():
    """As many sections are lost in each of ten runs as in one run of ten; only the first is sure."""
    spread = replayed(of_runs(["p"] * 9 + ["rrp"], RUNS[:10]), 2, LITTLE)
    lumped = replayed(of_runs(["p"] * 10, RUNS[:9]) + of_runs(["rrp"] * 10, RUNS[9:10]), 2, LITTLE)
    assert spread.difference == lumped.difference == Fraction(-1, 10)
    assert (spread.worse, lumped.worse) == (True, False)


def test_the_default_against_itself_loses_nothing():
    found = replayed(of_runs(["rp", "rrp", "rrt"]), 3, LITTLE)
    assert (found.difference, found.worse) == (0, False)


def test_a_longer_limit_is_tried_in_runs_that_were_allowed_it():
    """Control runs stop at 3; with those of their sections that passed early alone, they would be all for the limit."""
    sections = of_runs(["p", "rrrp"]) + of_runs(["p", "rrt"], CONTROLS)
    longer = replayed(sections, 4, LITTLE)
    assert (longer.runs, longer.difference, longer.worse) == (12, Fraction(1, 2), False)
    assert replayed(sections, 2, LITTLE).runs == 15


def test_a_section_that_the_log_breaks_off_is_left_out():
    found = replayed(of_runs(["p", "rr"]), 2, LITTLE)
    assert (found.sections, found.undecided) == (12, 12)


def test_nothing_held_out_says_nothing():
    found = replayed([], 2, LITTLE)
    assert (found.difference, found.interval, found.worse) == (None, None, None)
    assert found.why == "there are no items to compare the two systems on"
    one_run = replayed(of_runs(["p"], RUNS[:1]), 2, LITTLE)
    assert one_run.worse is None
    assert "at least 2 clusters" in one_run.why


def test_a_limit_that_loses_is_taken_back():
    replay = replayed(of_runs(["p"] * 9 + ["rrp"]), 2, LITTLE)
    found = after(CALIBRATED, replay, LITTLE)
    assert (found.word, found.attempts, found.kept) == (Word.REVERTED, 3, WITH)
    assert found.reason == (
        "in held-out runs 2 attempts lose 10.0% of sections against 3, at least 10.0%, and 2% may be lost; the limit"
        " stays at 3"
    )


def test_a_limit_of_which_nobody_can_say_is_not_kept():
    found = after(CALIBRATED, replayed([], 2, LITTLE), LITTLE)
    assert (found.word, found.attempts) == (Word.UNDECIDED, 3)
    assert "held-out runs cannot say whether 2 attempts are worse than 3" in found.reason


@pytest.mark.parametrize("word", [word for word in Word if word is not Word.CALIBRATED])
def test_only_a_calibrated_limit_can_be_taken_back(word):
    """Trying once until a mechanism was looked into is not done for what it gains, and loses much."""
    decision = Decision(word, 1, None, "for a reason")
    assert after(decision, replayed(of_runs(["rp"]), 1, LITTLE), LITTLE) == decision


def test_a_limit_that_loses_nothing_stands():
    assert after(CALIBRATED, replayed(of_runs(["p", "rp", "rrt"]), 2, LITTLE), LITTLE) == CALIBRATED


def test_only_runs_of_the_arm_that_is_kept_are_tried_again():
    plan = amended(LITTLE, generated={"inputs": 40})
    log = generated_log(plan)
    found = replace(findings(log, plan), decision=CALIBRATED)
    told = held_out(found, log, plan)
    assert told.replay.runs == len({row.run_id for row in log.rows if row.arm is WITH})
    both = held_out(replace(found, decision=replace(CALIBRATED, kept=None)), log, plan)
    assert both.replay.runs == 80
    assert told.data == log.hash
    assert read_json(json_bytes(told, HeldOutFindings), HeldOutFindings) == told
    assert held_out(found, log, plan) == told


def test_a_held_out_run_of_another_arm_is_refused():
    plan = amended(LITTLE, generated={"inputs": 40})
    found = findings(generated_log(plan), plan)
    with pytest.raises(MalformedObservations, match="by the hash of its id"):
        held_out(found, log_of(attempts(RUNS[0], "s", "p", WITHOUT)), plan)
