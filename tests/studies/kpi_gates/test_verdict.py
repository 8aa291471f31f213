"""Claims and decisions, each with the sentence that says why."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from eval_pipeline.records import Outcome, Reason
from eval_pipeline.studies.kpi_gates.blocked import Stopped
from eval_pipeline.studies.kpi_gates.findings import Alarms, alarms_of
from eval_pipeline.studies.kpi_gates.held_out import unpaired
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.verdict import (
    BASELINE,
    CLAIMS,
    FALSE_ALARMS,
    INFORMATIVE,
    NOT_WORSE,
    PERTURBATIONS,
    decided,
    gates_after,
    verdicts,
)
from tests.studies.kpi_gates.made_up import SHIPPED, default_comparison, default_findings, gate_of, planned


def claim(name, found=None, compared="default", plan=SHIPPED):
    held = default_comparison() if compared == "default" else compared
    (verdict,) = [one for one in verdicts(found or default_findings(), held, plan) if one.claim == name]
    return verdict.outcome, verdict.reason, verdict.detail


def alarms(stopped, n):
    return alarms_of(np.arange(n) < stopped, level=0.95)


def family(control, treated):
    (a, n), (b, m) = control, treated
    return unpaired(np.arange(n) < a, np.arange(m) < b, level=0.95)


def compared(**changes):
    return replace(default_comparison(), **changes)


def worse_gate(name, why="misses"):
    return tuple(replace(gate, rejected=why) if gate.gate == name else gate for gate in default_comparison().gates)


def test_the_default_log_passes_each_claim_and_its_gates_are_promoted():
    found = verdicts(default_findings(), default_comparison(), SHIPPED)
    assert [one.claim for one in found] == list(CLAIMS)
    assert {one.outcome for one in found} == {Outcome.PASS}
    decision = decided(default_findings(), default_comparison())
    promoted = sum(gate.standing.promoted for gate in default_findings().gates)
    assert (decision.word, decision.reason) == ("promote", f"{promoted} thresholds replace provisional ones")


def test_runs_of_other_code_fail_the_claim_or_are_a_warning_where_they_are_not_checked():
    found = replace(
        default_findings(), foreign=3, gates=tuple(one.held("baseline_changed") for one in default_findings().gates)
    )
    outcome, reason, detail = claim(BASELINE, found)
    assert (outcome, reason) == (Outcome.FAIL, Reason.BASELINE_CHANGED)
    assert "3 of 3200 runs were measured by other code" in detail
    assert decided(found, default_comparison()).word == "baseline_changed"
    skipped = planned(frozen={"check": "skipped"})
    assert claim(BASELINE, found, plan=skipped)[:2] == (Outcome.WARN, Reason.BASELINE_CHANGED)


def test_a_kpi_without_variation_is_named():
    gates = tuple(replace(one, no_variation=one.kpi is Kpi.ERROR_COUNT) for one in default_findings().gates)
    outcome, reason, detail = claim(INFORMATIVE, replace(default_findings(), gates=gates))
    assert (outcome, reason) == (Outcome.WARN, Reason.NO_VARIATION)
    assert "one value of error_count_max; such a baseline promotes nothing" in detail
    none = tuple(replace(one, bound=None) for one in gates)
    assert claim(INFORMATIVE, replace(default_findings(), gates=none))[:2] == (Outcome.SKIP, Reason.NOT_MEASURED)


@pytest.mark.parametrize(
    ("stopped", "n", "expected"),
    [
        (0, 476, (Outcome.PASS, None)),
        (15, 476, (Outcome.PASS, None)),  # one-sided upper bound .0479
        (16, 476, (Outcome.WARN, Reason.NOT_SHOWN)),  # .0502
        (5, 100, (Outcome.WARN, Reason.NOT_SHOWN)),  # the bar itself is not exceeded
        (6, 100, (Outcome.FAIL, Reason.THRESHOLD_MISSED)),
    ],
)
def test_false_alarms_are_shown_to_keep_to_what_the_plan_allows_or_not(stopped, n, expected):
    found = replace(family((0, 109), (1, 2)), calibrated=alarms(stopped, n))
    outcome, reason, detail = claim(FALSE_ALARMS, compared=compared(family=found))
    assert (outcome, reason) == expected
    assert f"stop {stopped} of {n} held-out runs; at most 5% may be" in detail


def test_false_alarms_without_held_out_runs_are_not_measured():
    assert claim(FALSE_ALARMS, compared=None)[:2] == (Outcome.SKIP, Reason.NOT_MEASURED)
    empty = replace(family((0, 109), (1, 2)), calibrated=Alarms(0, 0, None))
    assert claim(FALSE_ALARMS, compared=compared(family=empty))[:2] == (Outcome.SKIP, Reason.UNDERPOWERED)


def test_a_calibration_that_stops_too_many_good_runs_is_reverted_whole():
    held = compared(rejected=True, family=family((1, 109), (120, 476)))
    outcome, reason, detail = claim(NOT_WORSE, compared=held)
    assert (outcome, reason) == (Outcome.FAIL, Reason.THRESHOLD_MISSED)
    assert "calibrated gates stop 25.2% of good runs" in detail
    assert decided(default_findings(), held).word == "revert"
    after = gates_after(default_findings(), held)
    assert not [gate for gate in after if gate.standing.promoted]
    assert gate_of(after, Kpi.ITERATION_COUNT).standing.why == "worse_on_held_out"
    assert gate_of(after, Kpi.ITERATION_COUNT).in_force == Fraction(100)


def test_a_single_gate_that_does_worse_is_reverted_alone():
    held = compared(gates=worse_gate("iteration_count_max"))
    after = gates_after(default_findings(), held)
    assert gate_of(after, Kpi.ITERATION_COUNT).standing.why == "worse_on_held_out"
    before = sum(gate.standing.promoted for gate in default_findings().gates)
    assert sum(gate.standing.promoted for gate in after) == before - 1
    decision = decided(default_findings(), held)
    assert (decision.word, "and 1 are reverted" in decision.reason) == ("promote", True)
    assert claim(NOT_WORSE, compared=held)[2] == "iteration_count_max do worse than provisional"


def test_too_few_held_out_runs_promote_nothing():
    held = compared(enough=False, worth=Fraction(40))
    outcome, reason, detail = claim(NOT_WORSE, compared=held)
    assert (outcome, reason) == (Outcome.SKIP, Reason.UNDERPOWERED)
    assert f"the plan asks for {SHIPPED.power.n}; hold out more" in detail
    decision = decided(default_findings(), held)
    assert (decision.word, decision.reason) == ("hold", "the held-out arms are worth 40 runs each, too few to compare")
    assert {gate.standing.why for gate in gates_after(default_findings(), held)} >= {"not_tried"}
    assert not [gate for gate in gates_after(default_findings(), held) if gate.standing.promoted]


def test_a_gate_that_does_worse_on_few_runs_is_reverted_and_the_others_wait():
    held = compared(enough=False, gates=worse_gate("iteration_count_max"))
    after = gates_after(default_findings(), held)
    assert gate_of(after, Kpi.ITERATION_COUNT).standing.why == "worse_on_held_out"
    assert gate_of(after, Kpi.MEAN_SECTION_ATTEMPTS).standing.why == "not_tried"


def test_nothing_is_promoted_before_held_out_runs_are_seen():
    assert decided(default_findings(), None).word == "pending"
    assert not [gate for gate in gates_after(default_findings(), None) if gate.standing.promoted]
    assert claim(NOT_WORSE, compared=None)[:2] == (Outcome.SKIP, Reason.NOT_MEASURED)


def test_without_a_calibrated_threshold_there_is_nothing_to_compare():
    gates = tuple(gate.held("small_change") for gate in default_findings().gates)
    found = replace(default_findings(), gates=gates, perturbations=())
    assert decided(found, default_comparison()).word == "hold"
    assert claim(NOT_WORSE, found)[:2] == (Outcome.SKIP, Reason.NOT_MEASURED)
    assert claim(PERTURBATIONS, found)[:2] == (Outcome.SKIP, Reason.NOT_MEASURED)


def test_a_calibration_that_was_stopped_says_by_which_gate_and_where():
    gates = tuple(gate.held("stopped") for gate in default_findings().gates)
    found = replace(default_findings(), gates=gates, stopped=Stopped("error_count_max", 41))
    decision = decided(found, default_comparison())
    assert (decision.word, decision.reason) == ("stopped", "error_count_max was violated too often, up to run 42")


def test_a_gate_that_lets_the_shift_pass_fails_the_claim():
    tried = default_findings().perturbations
    wrong = tuple(replace(one, fires_on_shift=False) if one.gate == "iteration_count_max" else one for one in tried)
    outcome, reason, detail = claim(PERTURBATIONS, replace(default_findings(), perturbations=wrong))
    assert (outcome, reason) == (Outcome.FAIL, Reason.THRESHOLD_MISSED)
    assert detail == "iteration_count_max let the shift pass or stop the noise"
