"""Cells keep counts, sums and sums of squares exactly; what had no claim is in none of them, and is counted."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from eval_pipeline.arms import Arm
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.observations import Log
from eval_pipeline.stats.mean_difference import Moments, welch_difference
from eval_pipeline.studies.strategy_feedback.cells import Cell, cells_of, guarded, rate_moments
from eval_pipeline.studies.strategy_feedback.executions import executions_of
from tests.stats.laws import LAW
from tests.studies.strategy_feedback.made_up import changed, execution, log_of, runs_in

OUTCOMES = st.lists(
    st.integers(0, 5).flatmap(lambda claims: st.tuples(st.integers(0, claims), st.just(claims))), max_size=12
)


def cells(log, plan):
    return {(cell.strategy, cell.arm): cell for cell in cells_of(executions_of(log, plan), plan.design)}


def test_a_cell_by_hand(plan):
    log = log_of(plan, {Arm.CONTROL: [(1, 2), (1, 3), (0, 0), (3, 3)], Arm.TREATMENT: []})
    cell = cells(log, plan)["tree_of_thoughts", Arm.CONTROL]
    # 1/2 + 1/3 + 1 = 11/6; 1/4 + 1/9 + 1 = 49/36; gains of .7 - .6 each.
    assert cell.pass_rate == Moments(3, Fraction(11, 6), Fraction(49, 36))
    assert cell.gain == Moments(3, Fraction(3, 10), Fraction(3, 100))
    assert cell.without_claims == 1


def test_an_execution_without_a_claim_is_no_zero(plan):
    with_it = log_of(plan, {Arm.CONTROL: [(1, 2), (0, 0)], Arm.TREATMENT: []})
    without = Log(with_it.rows[:1], simulated=False)
    here, there = (cells(log, plan)["tree_of_thoughts", Arm.CONTROL] for log in (with_it, without))
    assert (here.pass_rate, here.gain) == (there.pass_rate, there.gain)
    assert here.pass_rate.mean == Fraction(1, 2)


def test_the_guard_is_counted_by_arm(plan):
    log = log_of(plan, {Arm.CONTROL: [(0, 0)] * 2 + [(1, 1)], Arm.TREATMENT: [(0, 0), (1, 4)]})
    control, treatment = guarded(executions_of(log, plan))
    assert (control.arm, control.executions, control.without_claims, control.share) == (
        Arm.CONTROL, 3, 2, Fraction(2, 3),
    )  # fmt: skip
    assert (treatment.without_claims, treatment.share) == (1, Fraction(1, 2))
    only = log_of(plan, {Arm.CONTROL: [(0, 0)], Arm.TREATMENT: []})
    assert guarded(executions_of(only, plan))[1].share is None


def test_every_registered_cell_is_there_in_both_arms(plan):
    wide = changed(plan, design={"contexts": ["feature", "bug"], "tiers": ["standard", "deep"]})
    run_id = runs_in(wide, Arm.TREATMENT, 1)[0]
    found = cells_of(
        executions_of(Log((execution(wide, run_id, 1, context="bug", tier="deep"),), False), wide), wide.design
    )
    assert len(found) == len({(c.strategy, c.context, c.tier, c.arm) for c in found}) == 4 * 2 * 2 * 2
    (only,) = [cell for cell in found if cell.pass_rate.n]
    assert (only.context, only.tier, only.arm) == ("bug", "deep", Arm.TREATMENT)
    assert {cell.pass_rate.mean for cell in found if cell is not only} == {None}


@LAW
@given(OUTCOMES, OUTCOMES)
def test_cells_add_up_to_the_arm_and_lose_nothing(plan, control, treatment):
    log = log_of(plan, {Arm.CONTROL: control, Arm.TREATMENT: treatment})
    executions = executions_of(log, plan)
    found = cells_of(executions, plan.design)
    assert sum(cell.pass_rate.n + cell.without_claims for cell in found) == len(log.rows)
    for arm, outcomes in ((Arm.CONTROL, control), (Arm.TREATMENT, treatment)):
        rates = [Fraction(passes, claims) for passes, claims in outcomes if claims]
        total = sum((cell.pass_rate for cell in found if cell.arm is arm), Moments(0, Fraction(0), Fraction(0)))
        assert total == Moments(len(rates), sum(rates, Fraction(0)), sum((r**2 for r in rates), Fraction(0)))


def test_statistics_survive_serialisation_to_the_last_digit(found):
    """Written and read again, the sums give Welch's interval of the raw executions."""
    again = read_json(json_bytes(found.cells, tuple[Cell, ...]), tuple[Cell, ...])
    assert again == found.cells
    nothing = Moments(0, Fraction(0), Fraction(0))
    on, off = (
        sum((cell.pass_rate for cell in again if cell.arm is arm), nothing) for arm in (Arm.TREATMENT, Arm.CONTROL)
    )
    assert welch_difference(on, off, level=Fraction(19, 20)).interval == found.whole.beside.welch


def test_the_sums_in_the_text_are_fractions(found):
    text = json.loads(json_bytes(found.cells[0], Cell))["pass_rate"]
    assert Fraction(text["total"]) == found.cells[0].pass_rate.total
    assert "/" in text["squares"]


def test_welch_from_the_cells_is_scipys_of_the_executions(parts, plan, found):
    """ttest_ind(..., equal_var=False), SciPy 1.15."""
    recorded = executions_of(parts[0], plan).recorded
    on, off = recorded.where(recorded.treated), recorded.where(~recorded.treated)
    ends = ttest_ind(on.rates, off.rates, equal_var=False).confidence_interval(0.95)
    welch = found.whole.beside.welch
    assert [welch.low, welch.high] == pytest.approx([ends.low, ends.high], abs=1e-12)
    assert rate_moments(on).n == found.whole.on.executions
