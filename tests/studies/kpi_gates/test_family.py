"""What all gates together may stop is shared out so that they do not stop more."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.percentile import percentile
from eval_pipeline.studies.kpi_gates.family import family_wise, fewest_runs, share_of_each
from eval_pipeline.studies.kpi_gates.promotion import threshold_of
from tests.stats.laws import LAW
from tests.studies.kpi_gates.made_up import SHIPPED


def test_two_gates_at_a_half_stop_three_of_four():
    assert family_wise(Fraction(1, 2), 2) == Fraction(3, 4)


def test_sidak_gives_each_gate_what_makes_up_the_whole():
    # 1 - .95^(1/9) = .0056830, so that each gate stands at P99.43; by Bonferroni at P99.44.
    assert share_of_each(0.05, 9, method="sidak") == pytest.approx(0.0056830, abs=1e-7)
    assert share_of_each(0.05, 9, method="bonferroni") == pytest.approx(0.05 / 9)


@LAW
@given(st.floats(0.001, 0.9), st.integers(1, 50))
def test_shares_by_sidak_make_up_the_whole_and_those_by_bonferroni_less(whole, gates):
    assert float(family_wise(share_of_each(whole, gates, method="sidak"), gates)) == pytest.approx(whole)
    assert float(family_wise(share_of_each(whole, gates, method="bonferroni"), gates)) <= whole + 1e-12


@pytest.mark.parametrize(
    ("share", "level", "expected"), [(0.95, 0.95, 72), (1 - 0.05 / 9, 0.95, 663), (0.5, 0.95, 6), (0.5, 31 / 32, 6)]
)
def test_the_fewest_runs_are_the_first_that_bound_the_percentile(share, level, expected):
    # .95^72 = .0249 and .95^71 = .0262, at a tail of .025; .5^6 is 1/64, the tail of 31/32.
    assert fewest_runs(share, level=level) == expected
    assert percentile(range(expected), share=share, level=level).interval.high is not None
    assert percentile(range(expected - 1), share=share, level=level).interval.high is None


@pytest.mark.parametrize("together", [0.0, 0.9])
def test_nine_gates_stop_good_runs_as_rarely_as_the_plan_says(together):
    """Gates at the upper ends of their intervals, of 200 generations of as few runs as they need, tried on new ones.

    Each such end lies below its percentile in 2.5 % of generations at most. All nine together stop more than the plan
    allows only where several do, which is rarer still if they are independent, and as rare if they fire together.
    """
    rng, alarms = np.random.default_rng(3), []
    share = share_of_each(0.05, 9, method="bonferroni")
    for _ in range(200):
        hard = rng.standard_normal((663, 1))
        runs = 10 + np.sqrt(together) * hard + np.sqrt(1 - together) * rng.standard_normal((663, 9))
        thresholds = [_without_headroom(column, 1 - share) for column in runs.T]
        new = (
            10
            + np.sqrt(together) * rng.standard_normal((2000, 1))
            + np.sqrt(1 - together) * rng.standard_normal((2000, 9))
        )
        alarms.append((new > np.array(thresholds)).any(axis=1).mean())
    assert np.mean(alarms) < 0.05
    # As many as chance gives in 200 with a rate of 2.5 % pass: a one-sided test at 1 %.
    over = int((np.array(alarms) > 0.05).sum())
    assert binomtest(over, 200, 0.025, alternative="greater").pvalue > 0.01


def test_nine_gates_at_the_95th_percentile_stop_a_third_of_good_runs_in_simulation():
    rng, alarms = np.random.default_rng(4), []
    for _ in range(200):
        thresholds = np.quantile(rng.standard_normal((663, 9)), 0.95, axis=0)
        alarms.append(1 - np.prod(norm.cdf(thresholds)))
    assert np.mean(alarms) == pytest.approx(0.3698, abs=0.01)


def _without_headroom(column: np.ndarray, share: float) -> float:
    high = percentile(column, share=share, level=0.95).interval.high
    assert high is not None
    return float(high)


def test_a_gate_stands_no_lower_than_the_upper_end_of_its_interval():
    column = np.random.default_rng(5).lognormal(3, 0.5, 663)
    found = percentile(column, share=1 - 0.05 / 9, level=0.95)
    assert threshold_of(found.estimate, found.interval, SHIPPED.promotion) >= found.interval.high
    assert binom.cdf(662, 663, 1 - 0.05 / 9) >= 0.975


@pytest.mark.parametrize(("rate", "gates"), [(1.5, 9), (-0.1, 9), (0.05, 0)])
def test_what_is_no_rate_of_gates_is_refused(rate, gates):
    with pytest.raises(InputRefused):
        family_wise(rate, gates)


def test_what_is_no_share_is_refused():
    with pytest.raises(InputRefused, match="alarms_at_most"):
        share_of_each(0, 9, method="sidak")
    with pytest.raises(InputRefused, match="method"):
        share_of_each(0.05, 9, method="none")
    with pytest.raises(InputRefused, match="fewer than 10"):
        fewest_runs(1 - 1e-12, level=0.95)
