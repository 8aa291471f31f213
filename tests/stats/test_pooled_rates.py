"""Rates of groups that lean on each other: as another integral has them, and as often held as they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.special import betaln
from scipy.stats import beta, binomtest

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.stats.beta_binomial import Beta
from eval_pipeline.stats.pooled_rates import pooled_rates
from tests.stats.laws import LAW

PRIOR = Beta(7, 3)
GROUPS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=3)
FEW = settings(LAW, max_examples=15)
RATS = """
    0/20 0/20 0/20 0/20 0/20 0/20 0/20 0/19 0/19 0/19 0/19 0/18 0/18 0/17 1/20 1/20 1/20 1/20 1/19 1/19 1/18 1/18 2/25
    2/24 2/23 2/20 2/20 2/20 2/20 2/20 2/20 1/10 5/49 2/19 5/46 3/27 2/17 7/49 7/47 3/20 3/20 2/13 9/48 10/50 4/20 4/20
    4/20 4/20 4/20 4/20 4/20 10/48 4/19 4/19 4/19 5/22 11/46 12/49 5/20 5/20 6/23 5/19 6/22 6/20 6/20 6/20 16/52 15/47
    15/46 9/24 4/14
"""


def pooled(groups, *, centre=PRIOR, nodes=16, level=0.95):
    return pooled_rates([x for x, _ in groups], [x + y for x, y in groups], centre=centre, nodes=nodes, level=level)


def test_without_a_trial_a_group_is_believed_to_be_as_the_prior_has_it():
    """The mean of Beta(m s, (1 - m) s) is m whatever s is, and that of m is 7 / 10."""
    found = pooled([(0, 0)])
    assert found.centre == pytest.approx(0.7, abs=1e-6)
    assert found.rates[0].mean == pytest.approx(0.7, abs=1e-6)


def test_one_trial_moves_the_common_mean_as_it_moves_a_beta_belief():
    """One success has the likelihood m, whatever s is: the mean of m is that of Beta(8, 3), 8 / 11."""
    assert pooled([(1, 0)]).centre == pytest.approx(8 / 11, abs=1e-5)
    assert pooled([(1, 0), (0, 0)]).centre == pytest.approx(8 / 11, abs=1e-5)


@pytest.mark.parametrize(
    ("groups", "centre"),
    [([(3, 7), (9, 1)], (7, 3)), ([(20, 0), (5, 15), (0, 0)], (1, 1)), ([(8, 0), (8, 0)], (7, 3))],
)
def test_it_is_the_integral_that_scipy_takes_without_a_change_of_scale(groups, centre):
    """scipy 1.17.1, dblquad over m and u = 1 / sqrt(s)."""
    largest = sum(betaln(x + 1, y + 1) for x, y in groups)

    def density(u, m):
        a, b = m / u**2, (1 - m) / u**2
        return beta.pdf(m, *centre) * np.exp(sum(betaln(a + x, b + y) - betaln(a, b) for x, y in groups) - largest)

    def mean(of):
        return dblquad(lambda u, m: of(u, m) * density(u, m), 0, 1, 1e-4, 1, epsabs=1e-7)[0]

    whole = mean(lambda u, m: 1.0)
    found = pooled(groups, centre=Beta(*centre), nodes=32)
    assert found.centre == pytest.approx(mean(lambda u, m: m) / whole, abs=5e-5)
    for rate, (x, y) in zip(found.rates, groups, strict=True):
        theirs = mean(lambda u, m, x=x, y=y: (m / u**2 + x) / (1 / u**2 + x + y)) / whole
        assert rate.mean == pytest.approx(theirs, abs=5e-5)


def test_the_tumours_of_71_groups_of_rats():
    """Gelman et al. (2013), section 5.3: means 2.4 and 14.3 of alpha and beta, a common rate of .144."""
    counted = [tuple(map(int, one.split("/"))) for one in RATS.split()]
    found = pooled([(x, n - x) for x, n in counted], centre=Beta(1, 1), nodes=20)
    assert len(found.rates) == 71
    assert found.centre == pytest.approx(2.4 / (2.4 + 14.3), abs=2e-3)
    assert found.rates[0].mean > 0  # of 0 in 20
    assert 0.144 < found.rates[-1].mean < 4 / 14


@FEW
@given(GROUPS, st.randoms(use_true_random=False))
def test_the_order_of_groups_plays_no_part_and_an_empty_one_teaches_nothing(groups, random):
    found = pooled(groups)
    order = list(range(len(groups)))
    random.shuffle(order)
    mixed = pooled([groups[place] for place in order])
    assert mixed.centre == pytest.approx(found.centre, abs=1e-9)
    assert [one.mean for one in mixed.rates] == pytest.approx([found.rates[place].mean for place in order], abs=1e-9)
    assert pooled([*groups, (0, 0)]).centre == pytest.approx(found.centre, abs=1e-9)


@FEW
@given(GROUPS)
def test_failures_mirror_successes(groups):
    found = pooled(groups)
    mirrored = pooled([(y, x) for x, y in groups], centre=Beta(3, 7))
    for one, other in zip(found.rates, mirrored.rates, strict=True):
        assert one.mean == pytest.approx(1 - other.mean, abs=1e-4)
        assert one.interval.low == pytest.approx(1 - other.interval.high, abs=1e-3)


def test_a_group_leans_the_more_on_the_others_the_more_alike_these_are():
    alike = pooled([(2, 8), *[(80, 20)] * 6]).rates[0].mean
    unlike = pooled([(2, 8), *[(30, 70), (99, 1), (60, 40)] * 2]).rates[0].mean
    assert 0.2 < unlike < alike < 0.8


def test_of_rates_drawn_from_the_hierarchy_the_interval_holds_as_many_as_it_says():
    """40 studies of 5 groups; the groups of one study share its mean, so that 1 % is asked of the test and no more."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(40):
        m, s = rng.beta(7, 3), rng.random() ** -2
        rates = rng.beta(m * s, (1 - m) * s, 5).clip(1e-9, 1 - 1e-9)
        hit = rng.binomial(20, rates)
        found = pooled_rates(hit, [20] * 5, centre=PRIOR, nodes=12, level=0.9).rates
        held += sum(one.interval.low <= rate <= one.interval.high for one, rate in zip(found, rates, strict=True))
    assert binomtest(held, 200, 0.9).pvalue > 0.01


@pytest.mark.parametrize(
    ("successes", "trials", "nodes", "refusal", "sentence"),
    [
        ([], [], 32, TooFewObservations, "there is no group"),
        ([3], [2], 32, InputRefused, "group 0: found 3 successes in 2 trials"),
        ([1, 2], [2], 32, InputRefused, "found 2 successes, 1 trials"),
        ([-1], [2], 32, InputRefused, "successes: found -1, expected 0 or more"),
        ([1], [2], 7, InputRefused, "nodes: found 7, expected 8 or more"),
    ],
)
def test_what_it_cannot_take_is_refused(successes, trials, nodes, refusal, sentence):
    with pytest.raises(refusal, match=sentence):
        pooled_rates(successes, trials, centre=PRIOR, nodes=nodes, level=0.95)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(InputRefused, match="level"):
        pooled_rates([1], [2], centre=PRIOR, nodes=32, level=level)


@pytest.mark.parametrize("groups", [1, 8, 30])
@pytest.mark.parametrize("n", [10, 300, 5000, 10**7])
def test_groups_that_never_fail_are_the_mirror_image_of_groups_that_never_succeed(n, groups):
    with np.errstate(all="raise", under="ignore"):
        always = pooled([(n, 0)] * groups, centre=Beta(5, 5), nodes=32)
        never = pooled([(0, n)] * groups, centre=Beta(5, 5), nodes=32)
    assert always.rates[0].mean == pytest.approx(1 - never.rates[0].mean, abs=1e-9)
    assert always.rates[0].interval.low == pytest.approx(1 - never.rates[0].interval.high, abs=1e-7)
    assert always.rates[0].interval.high == pytest.approx(1 - never.rates[0].interval.low, abs=1e-7)
    assert 0 < never.rates[0].mean < 10 / n
