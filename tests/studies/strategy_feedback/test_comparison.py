"""The difference of the arms goes by whole runs, all strategies decide together, and each is shown allowing for all."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from eval_pipeline.arms import Arm
from eval_pipeline.stats.mean_difference import clustered_difference
from eval_pipeline.studies.strategy_feedback.comparison import compared, compared_by_strategy, run_means
from eval_pipeline.studies.strategy_feedback.executions import executions_of
from eval_pipeline.studies.strategy_feedback.findings import decision_of
from tests.studies.strategy_feedback.made_up import HELPFUL, log_of, made_up


@pytest.fixture(scope="module")
def executions(plan):
    rng = np.random.default_rng(2)
    return made_up(plan, HELPFUL, treated=rng.random(400) < 0.7, rng=rng).recorded


def test_a_difference_by_hand(plan):
    log = log_of(plan, {Arm.CONTROL: [(1, 2), (0, 4), (0, 0)], Arm.TREATMENT: [(1, 1), (1, 2), (3, 4)]})
    found = compared(executions_of(log, plan).recorded, plan)
    # On: (1 + 1/2 + 3/4) / 3 = 3/4; off: (1/2 + 0) / 2 = 1/4. Harmonic mean of 3 and 2: 12/5.
    assert (found.on.pass_rate, found.off.pass_rate, found.difference) == (Fraction(3, 4), Fraction(1, 4), 0.5)
    assert (found.on.executions, found.off.executions, found.off.runs) == (3, 2, 2)
    assert (found.effective, found.enough) == (Fraction(12, 5), False)
    # A run an execution: whole runs are executions, and Welch says the same.
    assert found.interval.low == pytest.approx(found.beside.welch.low)


def test_the_interval_goes_by_whole_runs(plan, executions):
    found = compared(executions, plan)
    on = executions.treated
    rates = executions.rates
    other = clustered_difference(rates[on], executions.run[on], rates[~on], executions.run[~on], level=0.95)
    assert (found.interval, found.p_value) == (other.interval, other.p_value)
    assert found.difference == pytest.approx(other.estimate, abs=1e-12)
    assert found.beside.welch.low != pytest.approx(found.interval.low, abs=1e-6)


def test_mann_and_whitney_compare_the_means_of_runs(plan, executions):
    """mannwhitneyu(..., method="asymptotic"), SciPy 1.15, of one mean a run."""
    means = {run: executions.rates[executions.run == run].mean() for run in set(executions.run.tolist())}
    on = [mean for run, mean in means.items() if executions.treated[executions.run == run][0]]
    off = [mean for run, mean in means.items() if not executions.treated[executions.run == run][0]]
    p = mannwhitneyu(on, off, method="asymptotic").pvalue
    assert compared(executions, plan).beside.mann_whitney_p_value == pytest.approx(p, rel=1e-9, abs=0)


def test_the_mean_of_each_run():
    assert run_means(np.array([1.0, 0.0, 0.5]), np.array([9, 4, 9])).tolist() == [0.0, 0.75]


def test_four_strategies_are_shown_together_at_the_level_of_one(plan, executions):
    found = compared_by_strategy(executions, plan)
    assert [one.strategy for one in found] == list(plan.design.strategies)
    assert {one.interval.level for one in found} == {0.9875}  # 1 - .05 / 4
    # Holm: the smallest p times four, then at least that and times three, and so on.
    ordered, floor = sorted(found, key=lambda one: one.p_value), 0.0
    for left, one in zip((4, 3, 2, 1), ordered, strict=True):
        floor = max(floor, min(1.0, left * one.p_value))
        assert one.p_adjusted == pytest.approx(floor, abs=0)
    assert compared(executions, plan).p_adjusted is None


def test_a_strategy_alone_has_a_wider_interval_than_it_would_have_alone(plan, executions):
    one = compared_by_strategy(executions, plan)[0]
    own = executions.where(executions.strategy == 0)
    alone = compared(own, plan)
    assert one.difference == alone.difference
    assert one.interval.low < alone.interval.low < alone.interval.high < one.interval.high


def test_what_the_loop_gains_by_choosing_counts_as_its_own(plan):
    """Strategies pass 1/4 or 3/4 in either arm; the loop only chooses the better more often."""
    rng = np.random.default_rng(4)
    executions = made_up(plan, HELPFUL, treated=np.arange(2000) % 2 == 1, rng=rng)
    better = np.where(executions.treated, rng.random(8000) < 0.9, rng.random(8000) < 0.5)
    claims = np.full(8000, 4)
    chosen = replace(
        executions, strategy=better.astype(int), claims=claims, passes=rng.binomial(4, np.where(better, 0.75, 0.25))
    )
    assert compared(chosen, plan).difference == pytest.approx(0.2, abs=0.03)
    for one in compared_by_strategy(chosen, plan)[:2]:
        assert one.interval.low <= 0 <= one.interval.high


def test_a_strategy_that_nobody_chose_is_told_and_tests_nothing(plan, executions):
    found = compared_by_strategy(executions.where(executions.strategy != 2), plan)
    assert (found[2].difference, found[2].interval, found[2].p_adjusted) == (None, None, None)
    assert found[2].why == "with the loop on, runs with a claim: 0, and 2 are needed to compare"
    assert all(one.p_adjusted is not None for number, one in enumerate(found) if number != 2)


@pytest.mark.parametrize(
    ("rates", "why"),
    [
        ({Arm.CONTROL: [(1, 1)] * 2, Arm.TREATMENT: []}, "with the loop on, runs with a claim: 0"),
        ({Arm.CONTROL: [(1, 1)], Arm.TREATMENT: [(1, 1), (0, 1)]}, "with the loop off, runs with a claim: 1"),
        ({Arm.CONTROL: [(1, 2)] * 3, Arm.TREATMENT: [(1, 1)] * 3}, "no value differs"),
    ],
)
def test_what_cannot_be_told_from_chance_is_none_with_its_reason(plan, rates, why):
    found = compared(executions_of(log_of(plan, rates), plan).recorded, plan)
    assert (found.interval, found.p_value, found.beside.welch) == (None, None, None)
    assert why in found.why


def test_before_the_planned_number_nothing_is_decided_however_clear(plan):
    log = log_of(plan, {Arm.CONTROL: [(0, 4), (1, 4)] * 10, Arm.TREATMENT: [(4, 4), (3, 4)] * 10})
    found = decision_of(compared(executions_of(log, plan).recorded, plan), plan)
    assert found.word == "more_data"
    assert "are worth 20 executions each, and 1808 are planned; an earlier look decides nothing" in found.reason


def test_at_the_planned_number_without_any_spread_nothing_is_decided(plan, executions):
    constant = replace(executions, passes=executions.claims)
    whole = replace(compared(constant, plan), needed=1)
    assert decision_of(whole, plan).word == "more_data"
    assert "no value differs from the mean of its sample" in decision_of(whole, plan).reason
