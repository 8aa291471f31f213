"""The first version's paired bootstrap: its draws to the last, its percentiles, and what it called p."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.prng import mulberry32
from eval_pipeline.stats.tail_shares import tail_share_bootstrap
from tests.stats.laws import LAW

GAINS = st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=30)


def by_loops(gains, *, resamples, seed):
    """The same in the order in which the first version drew: one number after another."""
    draw, size = mulberry32(seed), len(gains)
    means = np.array([sum(gains[int(draw() * size)] for _ in range(size)) / size for _ in range(resamples)])
    side = min((means <= 0).mean(), (means >= 0).mean())
    return np.quantile(means, [0.025, 0.975], method="linear"), min(1, 2 * side)


def test_two_pairs_that_gain_and_lose_worked_by_hand():
    """Of 2 draws the sum is -2, 0 or 2 with chances 1/4, 1/2, 1/4: 3/4 lie on either side of 0, and p is cut at 1."""
    found = tail_share_bootstrap([1, -1], level=0.95, resamples=1000, seed=42)
    assert found.estimate == 0
    assert (found.interval.low, found.interval.high) == (-1, 1)
    assert found.p_value == 1


def test_pairs_that_all_gain_leave_a_p_of_0():
    """No resample lies at 0 or below; that is why it is kept for the first version alone."""
    found = tail_share_bootstrap([1, 1, 1], level=0.95, resamples=1000, seed=0)
    assert (found.estimate, found.interval.low, found.interval.high, found.p_value) == (1, 1, 1, 0)


@pytest.mark.parametrize("seed", [0, 42, 2**32 - 1, 2**32 + 7])
def test_a_loop_over_mulberry32_gives_the_same_numbers(seed):
    gains = [1] * 9 + [0] * 7 + [-1] * 5
    found = tail_share_bootstrap(gains, level=0.95, resamples=1200, seed=seed)
    (low, high), p_value = by_loops(gains, resamples=1200, seed=seed)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-12)
    assert float(found.p_value) == pytest.approx(p_value, abs=1e-12)
    assert found.estimate == Fraction(4, 21)


def test_what_is_drawn_at_once_does_not_change_the_stream(monkeypatch):
    gains = [1, 0, 0, -1, 1, 1, 0]
    whole = tail_share_bootstrap(gains, level=0.9, resamples=1001, seed=5)
    monkeypatch.setattr("eval_pipeline.stats.tail_shares._AT_ONCE", 100)
    assert tail_share_bootstrap(gains, level=0.9, resamples=1001, seed=5) == whole


@LAW
@given(GAINS)
def test_the_second_system_gains_what_the_first_loses(gains):
    found = tail_share_bootstrap(gains, level=0.95, resamples=1000, seed=3)
    turned = tail_share_bootstrap([-gain for gain in gains], level=0.95, resamples=1000, seed=3)
    assert turned.estimate == -found.estimate
    assert turned.p_value == found.p_value
    assert (turned.interval.low, turned.interval.high) == pytest.approx((-found.interval.high, -found.interval.low))


def test_the_interval_holds_the_true_gain_about_as_often_as_it_says():
    """A percentile interval over 60 pairs: 400 studies tell 95 from 90 % at this size; some 94 % are to be expected."""
    rng = np.random.default_rng(11)
    hits = 0
    for study in range(400):
        gains = rng.choice([-1, 0, 1], size=60, p=[0.2, 0.5, 0.3])
        found = tail_share_bootstrap(gains, level=0.95, resamples=1000, seed=study)
        hits += found.interval.low <= 0.1 <= found.interval.high
    assert binomtest(hits, 400, 0.95).pvalue > 0.01


@pytest.mark.parametrize(
    ("gains", "change", "refusal", "message"),
    [
        ([], {}, TooFewObservations, "found no pair"),
        ([2], {}, InputRefused, "gains: found a gain beyond -1 to 1"),
        ([0.5], {}, InputRefused, "gains"),
        ([1, 0], {"resamples": 999}, InputRefused, "resamples: found 999"),
        ([1, 0], {"seed": -1}, InputRefused, "seed: found -1"),
        ([1, 0], {"level": 1.0}, InputRefused, "level: found 1.0"),
    ],
)
def test_what_it_cannot_take_is_refused(gains, change, refusal, message):
    with pytest.raises(refusal, match=message):
        tail_share_bootstrap(gains, **({"level": 0.95, "resamples": 1000, "seed": 42} | change))
