"""Beliefs about a rate add counts, and say of the rate what the Beta distribution says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betainc, betaincc, betaln, comb, expit, log_expit
from scipy.stats import beta, binomtest, norm

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.beta_binomial import Beta, data_dominate, probability_greater
from tests.stats.laws import LAW

WEIGHTS = st.floats(0.1, 500)
BELIEFS = st.builds(Beta, WEIGHTS, WEIGHTS)
PRIOR = Beta(7, 3)


@pytest.mark.parametrize(
    ("successes", "trials", "posterior", "mean", "mode", "low", "high"),
    [
        (0, 0, (7, 3), 0.7, 6 / 8, 0.399906, 0.925145),
        (7, 10, (14, 6), 0.7, 13 / 18, 0.487971, 0.874239),
        (10, 10, (17, 3), 0.85, 16 / 18, 0.668623, 0.966174),
        (0, 1, (7, 4), 7 / 11, 6 / 9, 0.347547, 0.878448),
        (29, 30, (36, 4), 0.9, 35 / 38, 0.791298, 0.971340),
        (24, 30, (31, 9), 0.775, 30 / 38, 0.635356, 0.888663),
    ],
)
def test_posteriors_of_the_prior_worth_ten_trials(successes, trials, posterior, mean, mode, low, high):
    """Intervals by quadrature of the density and bisection."""
    found = PRIOR.updated(successes, trials)
    assert found == Beta(*posterior)
    assert found.mean == pytest.approx(mean, abs=1e-12)
    assert found.mode == pytest.approx(mode, abs=1e-12)
    interval = found.interval(level=0.95)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=2e-6), pytest.approx(high, abs=2e-6))
    assert interval.level == 0.95


def test_girls_among_births_with_placenta_previa():
    """Gelman et al. (2013), Bayesian Data Analysis, section 2.4: 437 of 980, mean .446, 95% interval [.415, .477]."""
    found = Beta(1, 1).updated(437, 980)
    interval = found.interval(level=0.95)
    assert (found.a, found.b) == (438, 544)
    assert [found.mean, interval.low, interval.high] == pytest.approx([0.446, 0.415, 0.477], abs=5e-4)


@pytest.mark.parametrize(
    ("a", "b", "mode"),
    [(2, 2, 0.5), (3, 2, 2 / 3), (1, 3, 0.0), (0.5, 3, 0.0), (0.5, 1, 0.0), (3, 1, 1.0), (3, 0.5, 1.0), (1, 0.5, 1.0)],
)
def test_the_mode_is_where_the_density_is_highest(a, b, mode):
    assert Beta(a, b).mode == pytest.approx(mode, abs=1e-12)
    grid = np.linspace(1e-9, 1 - 1e-9, 3001)
    assert grid[beta.pdf(grid, a, b).argmax()] == pytest.approx(mode, abs=1e-3)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.5, 0.5), (0.2, 0.9), (0.9, 0.2)])
def test_a_density_that_is_flat_or_rises_to_both_ends_has_no_mode(a, b):
    assert Beta(a, b).mode is None


@LAW
@given(BELIEFS, st.floats(0.05, 0.999))
def test_the_interval_leaves_the_same_probability_on_either_side(belief, level):
    interval = belief.interval(level=level)
    tails = (
        beta.cdf(interval.low, float(belief.a), float(belief.b)),
        beta.sf(interval.high, float(belief.a), float(belief.b)),
    )
    assert tails[0] == pytest.approx((1 - level) / 2, rel=1e-6)
    # Below b = 1 the last float before 1 may leave more.
    assert tails[1] == pytest.approx((1 - level) / 2, rel=1e-6) or belief.b < 1


@LAW
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6), st.sampled_from([1 / 3, 0.1, 0.5, 7]))
def test_trials_seen_one_by_one_or_together_leave_one_belief(results, weight):
    prior = Beta(weight, weight)
    one_by_one = prior
    for successes, failures in results:
        one_by_one = one_by_one.updated(successes, successes + failures)
    successes, trials = sum(s for s, _ in results), sum(s + f for s, f in results)
    assert one_by_one == prior.updated(successes, trials)
    assert one_by_one.evidence_beyond(prior) == trials


@pytest.mark.parametrize("weight", [7, 0.1, 1 / 3, Fraction(1, 3), 0.7])
def test_data_dominate_from_the_thirtieth_trial_on_whatever_the_prior(weight):
    """In floats .1 + 30 - .1 is less than 30."""
    prior = Beta(weight, weight)
    assert data_dominate(prior.updated(24, 30), prior=prior, at_least=30)
    assert not data_dominate(prior.updated(24, 29), prior=prior, at_least=30)
    assert not data_dominate(prior, prior=prior, at_least=30)
    assert prior.updated(24, 30).evidence_beyond(prior) == 30


def beta_function(a, b):
    """(a - 1)! (b - 1)! / (a + b - 1)! as a fraction."""
    return Fraction(1, int(comb(a + b - 2, a - 1, exact=True)) * (a + b - 1))


@pytest.mark.parametrize(
    ("rate", "other", "probability"),
    [
        (Beta(1, 1), Beta(1, 1), 1 / 2),
        # The mean of P(Y <= x) = x over Beta(2, 1), and over Beta(7, 3).
        (Beta(2, 1), Beta(1, 1), 2 / 3),
        (Beta(7, 3), Beta(1, 1), 0.7),
        # The mean of x^2 over Beta(1, 2): a (a + 1) / ((a + b) (a + b + 1)) = 2 / 12.
        (Beta(1, 2), Beta(2, 1), 1 / 6),
        # P(U^(1/3) > V^(1/5)) of powers of uniforms: a / (a + c) = 3 / 8.
        (Beta(3, 1), Beta(5, 1), 3 / 8),
        (Beta(0.3, 1), Beta(0.2, 1), 0.6),
    ],
)
def test_the_probability_that_a_rate_is_greater_by_hand(rate, other, probability):
    assert probability_greater(rate, other) == pytest.approx(probability, abs=1e-8)


@LAW
@given(*[st.integers(1, 40)] * 4)
def test_for_whole_weights_it_is_the_finite_sum(a, b, c, d):
    """Y ~ Beta(c, d) is below x as often as c + d - 1 trials at the rate x have c successes or more."""
    total = c + d - 1
    exact = sum(
        Fraction(int(comb(total, j, exact=True))) * beta_function(a + j, b + total - j) / beta_function(a, b)
        for j in range(c, total + 1)
    )
    assert probability_greater(Beta(a, b), Beta(c, d)) == pytest.approx(float(exact), abs=1e-8)


@LAW
@given(BELIEFS, BELIEFS)
def test_it_is_the_integral_over_either_belief_and_failures_mirror_successes(rate, other):
    """Also where the first is the wider of the two, over which the estimate does not integrate."""
    found = probability_greater(rate, other)
    a, b, c, d = (float(weight) for weight in (rate.a, rate.b, other.a, other.b))
    # By trapezia over the log odds, where the density is smooth and falls off exponentially.
    odds = np.linspace(-300, 300, 15_001)
    density = np.exp(a * log_expit(odds) + b * log_expit(-odds) - betaln(a, b))
    below = np.where(odds < 0, betainc(c, d, expit(odds)), betaincc(d, c, expit(-odds)))
    theirs = 0.04 * density @ below
    assert found == pytest.approx(theirs, abs=1e-7)
    assert probability_greater(Beta(other.b, other.a), Beta(rate.b, rate.a)) == pytest.approx(found, abs=1e-7)
    assert -1e-8 <= found <= 1 + 1e-8


@LAW
@given(st.integers(1, 200), st.integers(1, 200), st.data())
def test_of_two_beliefs_of_one_weight_one_rate_is_greater_or_the_other(a, b, data):
    c = data.draw(st.integers(1, a + b - 1))
    rate, other = Beta(a, b), Beta(c, a + b - c)
    assert probability_greater(rate, other) + probability_greater(other, rate) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(
    ("rate", "other"), [((2.5, 4.5), (3.5, 4.25)), ((30.5, 9), (7, 3)), ((1e5, 1e5), (1e5, 100500))]
)
def test_it_is_scipys_integral_of_density_times_distribution(rate, other):
    """scipy 1.17.1, quad of beta.pdf * beta.cdf over the range that holds the density."""
    low, high = beta.ppf([1e-14, 1 - 1e-14], *rate)
    theirs = quad(lambda x: beta.pdf(x, *rate) * beta.cdf(x, *other), low, high, epsabs=1e-11)[0]
    assert probability_greater(Beta(*rate), Beta(*other)) == pytest.approx(theirs, abs=1e-8)


def test_of_large_beliefs_it_is_the_normal_probability():
    rate, other = Beta(60_000, 40_000), Beta(1_210_000, 790_000)
    z = (rate.mean - other.mean) / (0.24 / 1e5 + 0.605 * 0.395 / 2e6) ** 0.5
    assert probability_greater(rate, other) == pytest.approx(norm.cdf(z), abs=1e-3)
    assert probability_greater(Beta(5e5, 100), Beta(100, 5e5)) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("prior", [Beta(7, 3), Beta(0.5, 0.5), Beta(2, 30)])
def test_of_rates_drawn_from_the_prior_the_interval_holds_as_many_as_it_says(prior):
    rng = np.random.default_rng(3)
    rates = rng.beta(float(prior.a), float(prior.b), 600)
    seen = rng.binomial(25, rates)
    intervals = {int(x): prior.updated(int(x), 25).interval(level=0.9) for x in np.unique(seen)}
    held = sum(intervals[int(x)].low <= rate <= intervals[int(x)].high for x, rate in zip(seen, rates, strict=True))
    assert binomtest(held, 600, 0.9).pvalue > 0.01


def test_of_two_rates_drawn_from_their_beliefs_one_is_greater_as_often_as_it_says():
    rng = np.random.default_rng(4)
    rate, other = Beta(8, 4.5), Beta(20, 18)
    greater = rng.beta(8, 4.5, 4000) > rng.beta(20, 18, 4000)
    assert binomtest(int(greater.sum()), 4000, probability_greater(rate, other)).pvalue > 0.01


def test_narrow_integers_do_not_wrap_around():
    assert Beta(np.uint8(250), np.uint8(3)).updated(np.uint8(100), np.uint8(200)) == Beta(350, 103)


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), None, "7", [7, 8], Fraction(0)])
def test_a_weight_that_is_not_above_0_is_refused_by_name(weight):
    with pytest.raises(InputRefused, match="a: found"):
        Beta(weight, 3)
    with pytest.raises(InputRefused, match="b: found"):
        Beta(7, weight)


@pytest.mark.parametrize(("successes", "trials"), [(5, 4), (-1, 4), (1, 0)])
def test_successes_outside_the_trials_are_refused(successes, trials):
    with pytest.raises(InputRefused, match=rf"successes: found {successes}, expected 0..{trials}"):
        PRIOR.updated(successes, trials)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(InputRefused, match="level"):
        PRIOR.interval(level=level)
