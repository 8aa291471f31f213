"""Simulated generations with a known rate: how often a fallback is declared unreached, and how often it should be."""

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.studies.fire_rate.findings import findings
from eval_pipeline.studies.fire_rate.generator import log_of, steady
from eval_pipeline.studies.fire_rate.looks import Decision, course_of
from eval_pipeline.studies.fire_rate.verdict import BELOW, verdicts

GENERATIONS = 200
DECLARED = (Decision.UNREACHED, Decision.RARE)


def courses(rates, test, *, generations=GENERATIONS, seed):
    """The decisions on round robins of 3000 runs whose rates are given, one for each context."""
    rng, contexts = np.random.default_rng(seed), np.arange(3000) % 8
    chances = np.asarray(rates)[contexts]
    return [course_of(rng.random(3000) < chances, contexts, test).decision for _ in range(generations)]


def declared(decisions):
    return sum(one in DECLARED for one in decisions)


def test_a_rate_of_1_percent_is_declared_below_it_in_at_most_5_percent(shipped):
    """Exactly it is .0269 over both looks; at .05, 200 generations exceed 19 with a chance of less than .01."""
    exact = shipped.test.chances(0.01).declared_at_all
    assert exact == pytest.approx(0.0269, abs=5e-5)
    assert exact <= 0.05
    found = courses([0.01] * 8, shipped.test, seed=4301)
    assert binomtest(declared(found), GENERATIONS, exact).pvalue > 0.01
    assert declared(found) <= 0.05 * GENERATIONS


def test_two_looks_err_more_often_than_either_bound_states(shipped):
    """.0269 is more than the .025 of one look, as the first version stated it, and within the .05 of both."""
    exact = shipped.test.chances(0.01).declared_at_all
    assert all(look.alpha < exact < shipped.test.alpha for look in shipped.test.looks)


def test_a_rate_of_half_the_margin_is_shown_with_the_planned_power(shipped):
    exact = shipped.test.chances(0.005).declared_at_all
    found = courses([0.005] * 8, shipped.test, seed=4302)
    assert exact >= shipped.power.power
    assert binomtest(declared(found), GENERATIONS, exact).pvalue > 0.01


@pytest.mark.parametrize("rates", [[0.08] + [0] * 7, [0.04, 0.04] + [0] * 6])
def test_contexts_with_rates_of_their_own_are_declared_in_no_more(shipped, rates):
    """The mean rate is 1 % in all; .05 of 200 with room for chance is 19."""
    assert declared(courses(rates, shipped.test, seed=4303)) <= 19


def test_a_fallback_that_nothing_reaches_is_always_declared_unreached(shipped):
    assert set(courses([0.0] * 8, shipped.test, generations=5, seed=4304)) == {Decision.UNREACHED}


def test_a_rate_of_5_percent_is_always_investigated(shipped):
    assert set(courses([0.05] * 8, shipped.test, seed=4305)) == {Decision.INVESTIGATE}


def test_whole_logs_give_what_their_flags_give(shipped):
    """From the error texts to the verdict: of logs of 464 runs at .5 % a share of .098 holds no fire."""
    rng = np.random.default_rng(4306)
    per_kind = dict.fromkeys(shipped.simulation.rates, 0.0025)
    passed = 0
    for _ in range(60):
        log = log_of(steady(per_kind, 464), shipped.contexts, shipped.simulation, rng=rng)
        below = next(one for one in verdicts(findings(log, shipped), shipped) if one.claim == BELOW)
        assert (below.outcome == "pass") == (not any(row.kinds for row in log.rows))
        passed += below.outcome == "pass"
    assert binomtest(passed, 60, (1 - 0.0025) ** (2 * 464)).pvalue > 0.01
