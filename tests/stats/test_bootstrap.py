"""Ranks bound what they say, BCa moves them as its formula says, and a result tells what it rests on."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap

from eval_pipeline.errors import InputRefused, NoVariation
from eval_pipeline.records import Interval
from eval_pipeline.stats.bootstrap import Bootstrap, Statistic, bootstrap, of_floats, percentile_rank
from tests.stats.laws import LAW

HALF, NINE_TENTHS, LEVEL = Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)


@pytest.mark.parametrize(
    ("ranks", "valid", "share", "rank"),
    [
        # floor((v + 1)(1 - s)) from the top above a half, floor((v + 1) s) from the bottom below it.
        ("symmetric", 1000, Fraction(19, 20), 951),  # 1001 - floor(50.05)
        ("symmetric", 1000, Fraction(1, 20), 50),
        ("symmetric", 1000, Fraction(39, 40), 976),  # 1001 - floor(25.025)
        ("symmetric", 1000, Fraction(1, 40), 25),
        ("symmetric", 999, Fraction(39, 40), 975),  # 1000 - 25, the rule of Davison & Hinkley with R = 999
        ("symmetric", 999, Fraction(1, 40), 25),
        ("symmetric", 999, HALF, 500),
        ("symmetric", 19, Fraction(19, 20), 19),
        ("symmetric", 18, Fraction(19, 20), 18),  # 19 would be outside
        ("symmetric", 18, Fraction(1, 20), 1),  # 0 would be outside
        ("symmetric", 1, Fraction(39, 40), 1),
        ("symmetric", 1, Fraction(1, 40), 1),
        ("symmetric", 1000, Fraction(1), 1000),  # where BCa may read
        ("symmetric", 1000, Fraction(0), 1),
        ("floor", 1000, Fraction(19, 20), 950),
        ("floor", 999, Fraction(19, 20), 949),
        ("floor", 996, Fraction(19, 20), 946),
        ("floor", 500, Fraction(19, 20), 475),
        ("floor", 1, Fraction(19, 20), 1),
        ("floor", 1000, Fraction(1, 40), 25),
        ("floor", 10, Fraction(1, 40), 1),
        ("floor", 1000, Fraction(1), 1000),
        ("floor", 1000, Fraction(0), 1),
    ],
)
def test_the_rank_that_bounds_a_share(ranks, valid, share, rank):
    assert percentile_rank(valid, share, ranks) == rank


@LAW
@given(st.integers(1, 5000), st.fractions(Fraction(1, 999), Fraction(499, 999), max_denominator=999))
def test_the_symmetric_ranks_of_a_share_and_of_its_complement_leave_as_many_draws_outside(valid, share):
    low, high = percentile_rank(valid, share, "symmetric"), percentile_rank(valid, 1 - share, "symmetric")
    assert low + high == valid + 1
    assert 1 <= low <= high <= valid


@LAW
@given(st.sampled_from(["symmetric", "floor"]), st.integers(1, 5000), st.integers(1, 998))
def test_a_larger_share_never_has_a_lower_rank(ranks, valid, thousandths):
    lower, higher = (percentile_rank(valid, Fraction(n, 1000), ranks) for n in (thousandths, thousandths + 1))
    assert 1 <= lower <= higher <= valid


def statistic_of(draws, estimate, without_one=(1, 2, 3), **changed) -> Statistic[float]:
    values = np.array(draws, dtype=float)
    given_ = {"exactly": lambda number: float(values[number]), "constant": lambda: True}
    return Statistic(
        estimate=estimate,
        draws=values,
        without_one=lambda: np.array(without_one, dtype=float),
        **(given_ | changed),
    )


def found_of(statistic: Statistic, **changed) -> Bootstrap:
    promised = {"level": LEVEL, "tails": "two", "method": "percentile", "ranks": "symmetric"}
    return bootstrap(statistic, **(promised | {"resamples": 1000, "seed": 7} | changed))


THOUSAND = np.random.default_rng(1).permutation(np.arange(1, 1000))


@pytest.mark.parametrize(
    ("tails", "level", "ranks", "low", "high"),
    [
        # 999 draws of the values 1 to 999: each is its own rank.
        ("two", Fraction(9, 10), "symmetric", 50, 950),
        ("two", Fraction(19, 20), "symmetric", 25, 975),
        ("upper", Fraction(19, 20), "symmetric", None, 950),
        ("lower", Fraction(19, 20), "symmetric", 50, None),
        ("two", Fraction(9, 10), "floor", 49, 949),  # floor(49.95), floor(949.05)
        ("upper", Fraction(19, 20), "floor", None, 949),
        ("lower", Fraction(19, 20), "floor", 49, None),
        ("lower", 0.95, "symmetric", 50, None),  # a float stands for its decimal: 1000 / 20 is 50 and not 49
        ("upper", 0.9, "symmetric", None, 900),
    ],
)
def test_the_percentile_interval_of_999_draws_by_hand(tails, level, ranks, low, high):
    found = found_of(statistic_of(THOUSAND, 500), level=level, tails=tails, ranks=ranks)
    assert found.interval == Interval(low, high, float(level))
    assert found.draws.tolist() == list(range(1, 1000))


@pytest.mark.parametrize(
    ("tails", "ranks", "low", "high"),
    [
        # Below 841.5 lie 841 of 999: z0 = 1.0021. Left-one-out 1, 0, 0, 0: influence -3/4 and three times 1/4, squares
        # 3/4 in all, cubes -3/8: a = -3/8 / (6 * .6495) = -.09623. For .95: z0 + 1.6449 = 2.6469, over 1 + .2547 is
        # 2.1096, plus z0 is 3.1117, of which Phi is .99907: of 1000, .93 lie outside: 1000 - 0, and the last is 999.
        # For .05: z0 - 1.6449 = -.6428, over 1 - .06185 is -.6852, plus z0 is .3169, of which Phi is .62433: above a
        # half, so 1000 - floor(375.67) = 625, and at the floor floor(.62433 * 999) = floor(623.7).
        ("two", "symmetric", 625, 999),
        ("two", "floor", 623, 998),  # floor(.99907 * 999) = floor(998.07)
        ("lower", "symmetric", 625, None),
        ("upper", "floor", None, 998),
    ],
)
def test_the_bca_interval_of_999_draws_by_hand(tails, ranks, low, high):
    statistic = statistic_of(THOUSAND, 841.5, without_one=(1, 0, 0, 0))
    level = NINE_TENTHS if tails == "two" else LEVEL
    found = found_of(statistic, method="bca", tails=tails, level=level, ranks=ranks)
    assert found.interval == Interval(low, high, float(level))
    assert found.method == "bca"


def test_draws_that_equal_the_estimate_count_half_to_either_side():
    """Of 0 (498 times), 1 (3), 2 (498), half lie below 1 in that sense: z0 = 0, and the median stays where it is."""
    statistic = statistic_of([0] * 498 + [1] * 3 + [2] * 498, 1)
    assert found_of(statistic, method="bca", tails="lower", level=HALF).interval == Interval(1, None, 0.5)
    assert found_of(statistic, method="bca", tails="upper", level=HALF).interval == Interval(None, 1, 0.5)


def test_draws_above_and_below_by_rounding_alone_are_as_good_as_the_estimate():
    # 700 draws "below" by 1e-12 and 299 above: were they told apart, z0 would be .52; they are not, z0 = 0.
    sides = np.linspace(-1, 1, 298)
    close = np.concatenate([np.full(701, -1e-12), sides])
    flat = np.concatenate([np.zeros(701), sides])
    ours, exact = (found_of(statistic_of(draws, 0), method="bca", level=NINE_TENTHS) for draws in (close, flat))
    assert ours.interval.low == pytest.approx(exact.interval.low, abs=1e-11)
    assert ours.interval.high == pytest.approx(exact.interval.high, abs=1e-11)
    apart = found_of(statistic_of(close, 0, close=1e-13), method="bca", level=NINE_TENTHS)
    assert apart.interval.low > ours.interval.low + 0.1


@pytest.mark.parametrize("ranks", ["symmetric", "floor"])
@pytest.mark.parametrize("tails", ["two", "lower", "upper"])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(9, 11), Fraction(19, 21)])
def test_without_bias_or_skewness_bca_is_the_percentile_interval(ranks, tails, level):
    statistic = statistic_of(THOUSAND, 500, without_one=(1, 2, 3))
    plain, moved = (found_of(statistic, method=m, tails=tails, ranks=ranks, level=level) for m in ("percentile", "bca"))
    assert moved.interval == plain.interval


@pytest.mark.parametrize(("size", "seed"), [(12, 1), (25, 2), (60, 3)])
@pytest.mark.parametrize("sides", ["two-sided", "less", "greater"])
def test_bca_reads_the_same_draws_where_scipy_does(size, seed, sides):
    """scipy.stats.bootstrap 1.17.1, method="BCa", whose draws both read; its type-7 quantile lies within 2 of ours."""
    sample = np.random.default_rng(seed).exponential(size=size)
    theirs = scipy_bootstrap(
        (sample,),
        lambda values, axis: values.mean(axis=axis) ** 2,
        n_resamples=3999,
        method="BCa",
        alternative=sides,
        confidence_level=0.9,
        rng=np.random.default_rng(seed),
    )
    without_one = [np.delete(sample, i).mean() ** 2 for i in range(size)]
    statistic = statistic_of(theirs.bootstrap_distribution, sample.mean() ** 2, without_one)
    # scipy calls the interval with an upper end "less".
    tails = {"two-sided": "two", "less": "upper", "greater": "lower"}[sides]
    ours = found_of(statistic, method="bca", tails=tails, level=NINE_TENTHS)
    for own, peer in zip((ours.interval.low, ours.interval.high), theirs.confidence_interval, strict=True):
        if own is None:
            assert np.isinf(peer)
        else:
            assert abs(np.searchsorted(ours.draws, own) - np.searchsorted(ours.draws, peer)) <= 2


NUMBERS = st.lists(st.integers(-50, 50), min_size=2, max_size=40)


@LAW
@given(NUMBERS, st.lists(st.integers(-9, 9), min_size=2, max_size=8), st.sampled_from(["percentile", "bca"]))
def test_turning_the_sign_turns_the_interval(draws, without_one, method):
    statistic, turned = (statistic_of([s * x for x in draws], s * 0.5, [s * x for x in without_one]) for s in (1, -1))
    try:
        found = found_of(statistic, method=method)
    except NoVariation:
        with pytest.raises(NoVariation):
            found_of(turned, method=method)
        return
    assert found_of(turned, method=method).interval == Interval(-found.interval.high, -found.interval.low, 0.95)


@LAW
@given(NUMBERS, st.lists(st.integers(-9, 9), min_size=2, max_size=8), st.sampled_from([1e-8, 1e-3, 1e6]))
def test_bca_is_of_any_unit_if_it_is_told_how_close_its_draws_may_be(draws, without_one, unit):
    assume(min(draws) < 0 < max(draws) and len(set(without_one)) > 1)
    plain = found_of(statistic_of(draws, 0.5, without_one), method="bca")
    scaled = statistic_of([unit * x for x in draws], unit * 0.5, [unit * x for x in without_one], close=1e-9 * unit)
    found = found_of(scaled, method="bca")
    assert found.interval.low == pytest.approx(unit * plain.interval.low)
    assert found.interval.high == pytest.approx(unit * plain.interval.high)


@LAW
@given(st.lists(st.integers(0, 50), min_size=2, max_size=40), st.lists(st.integers(0, 9), min_size=2, max_size=8))
def test_a_higher_level_never_has_a_narrower_interval_and_its_ends_are_in_order(draws, without_one):
    centre = float(np.median(draws)) + 0.25
    assume(min(draws) < centre < max(draws) and len(set(without_one)) > 1)
    statistic = statistic_of(draws, centre, without_one)
    for method in ("percentile", "bca"):
        narrow, wide = (found_of(statistic, method=method, level=level).interval for level in (HALF, LEVEL))
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_an_end_is_the_exact_value_of_its_draw_and_not_its_float():
    """Draw 1 of three is the lowest: its number asks for its fraction."""
    exact = [Fraction(2, 3), Fraction(1, 10), Fraction(4, 5)]
    statistic = statistic_of([float(x) for x in exact], HALF, exactly=exact.__getitem__)
    assert found_of(statistic).interval == Interval(Fraction(1, 10), Fraction(4, 5), 0.95)
    assert isinstance(found_of(statistic).interval.low, Fraction)


def test_a_result_tells_what_it_rests_on():
    found = found_of(statistic_of([3, 1, 2], 2.5), ranks="floor", method="bca", resamples=17, seed=99)
    assert (found.estimate, found.resamples, found.valid, found.seed) == (2.5, 17, 3, 99)
    assert (found.ranks, found.method, found.interval.level) == ("floor", "bca", 0.95)


@pytest.mark.parametrize(
    ("draws", "constant", "close", "degenerate"),
    [
        pytest.param([0.3, 0.3, 0.3], True, 1e-9, True, id="one-value"),
        pytest.param([0.3, 0.1 + 0.2, 0.3], True, 1e-9, True, id="one-value-but-for-rounding"),
        pytest.param([0.3, 0.3 + 1e-10], False, 1e-9, False, id="two-fractions-that-near"),
        pytest.param([0.3, 0.4], True, 1e-9, False, id="two-values"),
        pytest.param([0.3, 0.3 + 1e-10], True, 1e-12, False, id="two-values-of-a-small-unit"),
        pytest.param([0.3], True, 0, True, id="one-draw"),
    ],
)
def test_draws_of_one_value_are_called_degenerate(draws, constant, close, degenerate):
    statistic = statistic_of(draws, 0.3, constant=lambda: constant, close=close)
    assert found_of(statistic).degenerate is degenerate


@pytest.mark.parametrize(
    ("draws", "without_one"),
    [
        pytest.param([1, 2, 3], (1, 2, 3), id="all-draws-above"),
        pytest.param([-1, -2, -3], (1, 2, 3), id="all-draws-below"),
        pytest.param([-1, 1, 2], (2, 2, 2), id="no-cluster-makes-a-difference"),
        pytest.param([-1, 1, 2], (2, 2 + 1e-10, 2), id="but-for-rounding"),
        pytest.param([0, 0, 0], (0, 0, 0), id="nothing-varies"),
    ],
)
def test_bca_without_variation_is_refused_and_the_percentile_interval_is_not(draws, without_one):
    statistic = statistic_of(draws, 0, without_one)
    with pytest.raises(NoVariation, match="ask for the percentile interval"):
        found_of(statistic, method="bca")
    assert found_of(statistic).interval == Interval(min(draws), max(draws), 0.95)


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, float("nan")])
def test_a_level_outside_0_and_1_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        found_of(statistic_of([1, 2, 3], 2), level=level)


def test_bca_without_a_jackknife_is_refused_and_the_percentile_interval_is_not():
    statistic = of_floats(0.5, np.linspace(0, 1, 99))
    how = {"level": 0.9, "tails": "two", "ranks": "symmetric", "resamples": 99, "seed": 1}
    assert bootstrap(statistic, method="percentile", **how).valid == 99
    with pytest.raises(NoVariation, match="no jackknife; ask for the percentile interval"):
        bootstrap(statistic, method="bca", **how)
