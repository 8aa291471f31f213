"""The bootstrap draws whole clusters, its numbers are exact, and its intervals cover what they promise to cover."""

import tracemalloc
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, bootstrap, chisquare

from eval_pipeline.errors import RatioUndefined, Refused, ThinResamples, TooFewClusters
from eval_pipeline.records import Interval
from eval_pipeline.stats.bootstrap import Bootstrap, percentile_rank
from eval_pipeline.stats.pooled_ratio import ratio_contrast, ratio_range
from eval_pipeline.stats.resampling import resampled_sums

LAW = settings(deadline=None, derandomize=True, max_examples=60)
HALF, NINE_TENTHS, LEVEL = Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)
FIRST_LESS_LAST = (1, -1)
SLOPE = (Fraction(-3, 10), Fraction(-1, 10), Fraction(1, 10), Fraction(3, 10))


class Dealt:
    """A generator that deals the row numbers it was given, in their order."""

    def __init__(self, rows: Iterable[int], clusters: int) -> None:
        self.words = [-(-row * 2**32 // clusters) << 32 for row in rows]
        self.bit_generator = self

    def random_raw(self, size: int) -> np.ndarray:
        dealt, self.words = self.words[:size], self.words[size:]
        return np.array(dealt, dtype=np.uint64)


def every_resample(clusters: int) -> Dealt:
    """Deals each of the k^k ways to draw k clusters out of k, once."""
    return Dealt((row for draw in product(range(clusters), repeat=clusters) for row in draw), clusters)


def contrast(rows, weights=FIRST_LESS_LAST, **changed) -> Bootstrap:
    """The bootstrap of rows (hits, trials, hits, trials, ...)."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 2 * len(weights))
    promised = {
        "level": LEVEL,
        "tails": "two",
        "resamples": 1000,
        "valid_at_least": 500,
        "ranks": "symmetric",
        "rng": np.random.default_rng(4242),
    }
    return ratio_contrast(table[:, ::2], table[:, 1::2], weights, **(promised | changed))


@pytest.mark.parametrize(
    ("tails", "level", "ranks", "low", "high"),
    [
        # Ranks among 27: floor(28/4) = 7 and 28 - 7 = 21; floor(2.8) = 2 and 28 - 2 = 26.
        pytest.param("two", HALF, "symmetric", Fraction(2, 5), Fraction(5, 7), id="half-two-sided"),
        pytest.param("two", Fraction(4, 5), "symmetric", Fraction(1, 3), Fraction(4, 5), id="four-fifths-two-sided"),
        pytest.param("upper", NINE_TENTHS, "symmetric", None, Fraction(4, 5), id="nine-tenths-upper"),
        # floor(27/4) = 6 and floor(20.25) = 20; floor(24.3) = 24.
        pytest.param("two", HALF, "floor", Fraction(2, 5), Fraction(2, 3), id="half-two-sided-at-the-floor"),
        pytest.param("upper", NINE_TENTHS, "floor", None, Fraction(4, 5), id="nine-tenths-upper-at-the-floor"),
    ],
)
def test_three_clusters_have_the_interval_that_their_27_resamples_have_by_hand(tails, level, ranks, low, high):
    # A = 0 of 1, B = 1 of 1, C = 2 of 3. Pooled share, and in how many orders it is drawn, from low to high:
    # AAA 0 (1); AAB 1/3 (3); AAC 2/5 (3); ACC 4/7 (3); ABC 3/5 (6); ABB 2/3 (3), CCC 2/3 (1); BCC 5/7 (3); BBC 4/5 (3);
    # BBB 1 (1); so the last of each value stands at rank 1, 4, 7, 10, 16, 20, 23, 26, 27.
    found = contrast(
        [(0, 1), (1, 1), (2, 3)],
        [1],
        level=level,
        tails=tails,
        ranks=ranks,
        resamples=27,
        valid_at_least=27,
        rng=every_resample(3),
    )
    assert found.estimate == Fraction(3, 5)
    assert found.interval == Interval(low, high, float(level))
    assert found.draws == pytest.approx(
        [0] + [1 / 3] * 3 + [2 / 5] * 3 + [4 / 7] * 3 + [3 / 5] * 6 + [2 / 3] * 4 + [5 / 7] * 3 + [4 / 5] * 3 + [1]
    )


def test_two_clusters_are_bounded_by_the_worse_of_them():
    """cluster_bootstrap-02: AA, AB and BB are drawn with chances 1/4, 1/2, 1/4: the extreme 5 % are one value."""
    found = contrast([(2, 5, 4, 5), (3, 5, 3, 5)], (-1, 1))
    assert found.estimate == Fraction(1, 5)
    mirrored = contrast([(2, 5, 4, 5), (3, 5, 3, 5)], (1, -1), tails="upper")
    assert mirrored.interval == Interval(None, Fraction(0), 0.95)


def test_a_resample_with_an_empty_denominator_is_left_out_and_counted():
    """cluster_bootstrap-07: of AA, AB, BA, BB the first has no trials in the second column."""
    rows = [(2, 5, 0, 0), (3, 5, 4, 5)]
    found = contrast(rows, (-1, 1), resamples=4, valid_at_least=3, rng=every_resample(2))
    assert (found.estimate, found.valid, found.resamples) == (Fraction(3, 10), 3, 4)
    drawn = contrast(rows, (-1, 1))
    assert binomtest(drawn.valid, 1000, 0.75).pvalue > 0.01
    assert len(drawn.draws) == drawn.valid


@pytest.mark.parametrize("ranks", ["symmetric", "floor"])
def test_constant_rows_have_a_bound_equal_to_the_difference_and_are_called_degenerate(ranks):
    """cr20-037."""
    found = contrast([(2, 2, 1, 2)] * 90, tails="upper", ranks=ranks)
    assert found.interval.high == found.estimate == HALF
    assert found.valid == 1000
    assert found.degenerate


def test_identical_clusters_have_an_interval_without_width():
    """cluster_bootstrap-08."""
    found = contrast([(3, 5, 4, 5)] * 6, (-1, 1))
    assert found.interval == Interval(Fraction(1, 5), Fraction(1, 5), 0.95)
    assert found.degenerate


def test_clusters_that_differ_are_not_degenerate():
    assert not contrast([(1, 1, 1, 1)] * 89 + [(1, 1, 0, 1)]).degenerate


def test_resamples_of_one_exact_value_are_degenerate_though_their_floats_differ():
    """.8 - .7, .6 - .5 and .4 - .3 are three floats and one tenth."""
    found = contrast([(8, 10, 7, 10), (4, 10, 3, 10)])
    assert found.interval == Interval(Fraction(1, 10), Fraction(1, 10), 0.95)
    assert found.degenerate


def test_a_difference_of_a_tenth_is_a_tenth():
    """In floats .8 - .7 exceeds .1, and a bound of exactly .10 would fail its gate."""
    assert 0.8 - 0.7 > 0.1
    found = contrast([(8, 10, 7, 10)] * 5, tails="upper")
    assert found.estimate == found.interval.high == Fraction(1, 10)


def test_q4_lost_in_18_of_90_entries():
    """cr20-039; by the binomial law, 18 of 90 drawn again: quantile .95 is 24/90."""
    rows = [(1, 1, 1, 1)] * 72 + [(1, 1, 0, 1)] * 18
    pooled = [(h1 + h4, t1 + t4) for h1, t1, h4, t4 in rows]
    assert contrast(pooled, [1]).estimate == NINE_TENTHS
    for ranks in ("symmetric", "floor"):
        assert contrast(rows, tails="upper", ranks=ranks).interval.high == pytest.approx(0.2667, abs=0.02)


def test_an_empty_row_makes_some_resamples_invalid():
    """cr20-029: all four draws take the empty row with a chance of 1/256."""
    rows = [(0, 0, 0, 0)] + [(1, 1, 1, 1)] * 3
    assert contrast(rows).valid == pytest.approx(996.09375, abs=6)
    exact = contrast(rows, resamples=256, valid_at_least=1, rng=every_resample(4))
    assert exact.valid == 255


def test_without_the_empty_row_every_resample_is_valid():
    """cr20-030."""
    assert contrast([(1, 1, 1, 1)] * 3).valid == 1000


def half_valid(valid: int) -> Bootstrap:
    """1000 resamples of two clusters, `valid` of which have trials in both columns."""
    dealt = Dealt([1, 1] * valid + [0, 0] * (1000 - valid), 2)
    return contrast([(1, 1, 0, 0), (1, 1, 1, 1)], rng=dealt)


def test_500_valid_resamples_of_1000_give_a_bound():
    """cr20-036."""
    assert half_valid(500).valid == 500


def test_499_valid_resamples_of_1000_give_none():
    """cr20-036."""
    with pytest.raises(ThinResamples, match=r"only 499 of 1000 resamples .* at least 500") as refusal:
        half_valid(499)
    assert refusal.value.valid == 499


def plain_loop(rows, weights, *, resamples: int, seed: int) -> list[Fraction]:
    """Every draw, sorted, from NumPy's raw words on, in plain integers and fractions."""
    clusters, width = len(rows), 2 * len(weights)
    words = iter([int(word) for word in np.random.PCG64(seed).random_raw(resamples * clusters)])
    values = []
    for _ in range(resamples):
        drawn = [rows[(next(words) >> 32) * clusters >> 32] for _ in range(clusters)]
        sums = [sum(row[column] for row in drawn) for column in range(width)]
        if all(sums[1::2]):
            values.append(sum(w * Fraction(sums[2 * j], sums[2 * j + 1]) for j, w in enumerate(weights)))
    return sorted(values)


UNEVEN = [(2, 3, 1, 2), (1, 1, 0, 1), (3, 4, 2, 2), (0, 1, 1, 3), (2, 2, 1, 1), (4, 5, 0, 2), (1, 2, 2, 2)]


@pytest.mark.parametrize(
    ("rows", "weights"),
    [
        pytest.param(UNEVEN, FIRST_LESS_LAST, id="difference"),
        pytest.param([row[:2] for row in UNEVEN], (1,), id="pooled-ratio"),
        pytest.param([(1, 2, 3, 4, 0, 1, 2, 2), (0, 1, 2, 5, 1, 3, 1, 1), (4, 4, 1, 2, 2, 3, 0, 2)], SLOPE, id="slope"),
        pytest.param([(2, 5, 0, 0), (3, 5, 4, 5), (1, 1, 1, 2)], FIRST_LESS_LAST, id="some-invalid"),
    ],
)
def test_every_draw_is_that_of_a_plain_loop_in_fractions(rows, weights):
    expected = plain_loop(rows, weights, resamples=300, seed=11)
    found = contrast(rows, weights, resamples=300, valid_at_least=1, rng=np.random.default_rng(11))
    assert found.valid == len(expected)
    assert found.draws == pytest.approx([float(value) for value in expected], abs=1e-12)
    low = percentile_rank(len(expected), Fraction(1, 40), "symmetric")
    high = percentile_rank(len(expected), Fraction(39, 40), "symmetric")
    assert found.interval == Interval(expected[low - 1], expected[high - 1], 0.95)


def test_the_interval_is_that_of_scipy():
    """scipy.stats.bootstrap 1.17.1, columns of clusters as paired data, percentile method."""
    rng = np.random.default_rng(3)
    shares = rng.beta(4, 1, 90)
    totals = rng.integers(1, 6, (90, 2))
    hits = rng.binomial(totals, np.column_stack([shares, shares * 0.9]))

    def difference(h1, t1, h4, t4, axis):
        return h1.sum(axis) / t1.sum(axis) - h4.sum(axis) / t4.sum(axis)

    columns = (hits[:, 0], totals[:, 0], hits[:, 1], totals[:, 1])
    theirs = bootstrap(
        columns,
        difference,
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        batch=2_000,
        method="percentile",
        confidence_level=0.95,
        rng=np.random.default_rng(5),
    )
    ours = contrast(np.column_stack(columns), resamples=20_000)
    # A quantile at .025 of 20,000 normal draws has a Monte Carlo error of .019 s.e., the difference of two .027 s.e.
    tolerance = 4 * 0.027 * theirs.standard_error
    assert float(ours.interval.low) == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert float(ours.interval.high) == pytest.approx(theirs.confidence_interval.high, abs=tolerance)
    assert ours.draws.std(ddof=1) == pytest.approx(theirs.standard_error, rel=0.03)


def test_the_city_data_have_the_published_bootstrap_quantiles():
    """cluster_bootstrap-01 (Davison & Hinkley 1997, R boot::city), as the reciprocal, whose ratios do not exceed 1."""
    larger = [143, 104, 69, 260, 75, 63, 50, 48, 111, 50]
    smaller = [138, 93, 61, 179, 48, 37, 29, 23, 30, 2]
    found = contrast(list(zip(smaller, larger, strict=True)), [1], level=NINE_TENTHS, resamples=20_000)
    assert float(1 / found.estimate) == pytest.approx(1.5203125, abs=1e-9)
    assert float(1 / found.interval.high) == pytest.approx(1.285925925925926, abs=0.032)
    assert float(1 / found.interval.low) == pytest.approx(1.9680511182108626, abs=0.105)
    assert (1 / found.draws).std() == pytest.approx(0.22141740242280758, abs=0.037)


def test_ninety_clusters_agree_with_the_delta_method():
    """cluster_bootstrap-10."""
    rows = [(h, 5, min(5, h + (3 * i % 4 == 0)), 5) for i in range(90) for h in [7 * i % 5]]
    found = contrast(rows, (1, -1), tails="upper", resamples=5_000)
    assert float(-found.estimate) == pytest.approx(0.05111111111111111, abs=1e-12)
    assert float(-found.interval.high) == pytest.approx(0.035986131407453326, abs=0.002758600468210262)
    assert found.draws.std() == pytest.approx(0.009195334894034207, rel=0.05)


def test_a_loss_in_4_of_200_entries_follows_the_exact_binomial_law():
    """cr20-041: the resampled loss is Binomial(200, 4/200) / 200, whose quantile .95 is 7/200 = .035."""
    rows = [(1, 1, 1, 1)] * 196 + [(1, 1, 0, 1)] * 4
    assert binom.ppf(0.95, 200, 0.02) == 7
    found = contrast(rows, tails="upper")
    assert found.estimate == Fraction(1, 50)
    assert float(found.interval.high) == pytest.approx(0.035, abs=0.01)
    assert found.interval.high < Fraction(1, 10)

    many = contrast(rows, tails="upper", resamples=10_000)
    assert many.interval.high == Fraction(7, 200)
    lost = np.bincount(np.rint(many.draws * 200).astype(int).clip(max=9), minlength=10)
    chances = np.append(binom.pmf(range(9), 200, 0.02), binom.sf(8, 200, 0.02))
    assert chisquare(lost, 10_000 * chances).pvalue > 0.01


def test_every_resample_is_as_likely_as_every_other():
    counts = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    sums = resampled_sums(counts, resamples=27_000, rng=np.random.default_rng(8))
    drawn = Counter(map(tuple, sums.tolist()))
    expected = Counter(tuple(draw.count(row) for row in range(3)) for draw in product(range(3), repeat=3))
    assert drawn.keys() == expected.keys()
    assert chisquare([drawn[key] for key in expected], [1000 * n for n in expected.values()]).pvalue > 0.01


def test_the_raw_words_of_the_seed_are_those_that_numpy_guarantees():
    words = np.random.default_rng(4242).bit_generator.random_raw(3)
    assert [int(word) for word in words] == [0xC841A1F7798208A6, 0xABE68D91DB194302, 0x3CC4FEB11A717BFF]


@pytest.mark.parametrize(
    ("tails", "ranks", "low", "high"),
    [
        pytest.param("two", "symmetric", Fraction(-27, 187), Fraction(19, 36), id="two-sided"),
        pytest.param("upper", "symmetric", None, Fraction(101, 221), id="upper"),
        pytest.param("upper", "floor", None, Fraction(26, 57), id="upper-at-the-floor"),
    ],
)
def test_a_table_and_a_seed_have_one_interval(tails, ranks, low, high):
    found = contrast(UNEVEN, tails=tails, ranks=ranks)
    assert found.estimate == Fraction(43, 234)
    assert found.interval == Interval(low, high, 0.95)


def test_a_generator_of_32_bit_words_never_draws_the_first_cluster_alone():
    """Its upper 32 bits are all 0: refused, or drawn from rightly, and never an interval without width."""
    drawn = set()
    with suppress(Refused, ValueError, TypeError):
        drawn = set(contrast(UNEVEN, rng=np.random.Generator(np.random.MT19937(4242))).draws.tolist())
    assert not drawn or len(drawn) > 100


@st.composite
def tables(draw, columns: int = 2):
    """Rows of hits and trials, with trials in every row, so that no resample is invalid."""
    cell = st.integers(1, 6).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))
    row = st.tuples(*[cell] * columns).map(lambda cells: tuple(count for pair in cells for count in pair))
    return draw(st.lists(row, min_size=2, max_size=9))


def swapped(rows):
    """The rows with every hit a miss and every miss a hit."""
    pairs = [zip(row[::2], row[1::2], strict=True) for row in rows]
    return [tuple(count for hits, trials in row for count in (trials - hits, trials)) for row in pairs]


@LAW
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_clusters_does_not_change_the_estimate(rows, shuffler):
    permuted = shuffler.sample(rows, len(rows))
    assert (
        contrast(permuted, resamples=20, valid_at_least=1).estimate == contrast(rows, resamples=20).estimate
        if (False)
        else _estimate(permuted) == _estimate(rows)
    )


def _estimate(rows) -> Fraction:
    return contrast(rows, resamples=20, valid_at_least=1).estimate


@LAW
@given(tables(), st.fractions(Fraction(1, 9), 9, max_denominator=9))
def test_scaling_the_weights_scales_the_interval(rows, factor):
    plain = contrast(rows, resamples=60, valid_at_least=1)
    scaled = contrast(rows, [factor, -factor], resamples=60, valid_at_least=1)
    assert scaled.estimate == factor * plain.estimate
    assert scaled.interval == Interval(factor * plain.interval.low, factor * plain.interval.high, 0.95)


@LAW
@given(tables())
def test_swapping_hits_for_misses_mirrors_a_difference_at_zero(rows):
    plain = contrast(rows, resamples=60, valid_at_least=1)
    mirrored = contrast(swapped(rows), resamples=60, valid_at_least=1)
    assert mirrored.estimate == -plain.estimate
    assert mirrored.interval == Interval(-plain.interval.high, -plain.interval.low, 0.95)


@LAW
@given(tables(columns=1))
def test_swapping_hits_for_misses_mirrors_a_ratio_at_a_half(rows):
    plain = contrast(rows, [1], resamples=60, valid_at_least=1)
    mirrored = contrast(swapped(rows), [1], resamples=60, valid_at_least=1)
    assert mirrored.estimate == 1 - plain.estimate
    assert mirrored.interval == Interval(1 - plain.interval.high, 1 - plain.interval.low, 0.95)


@LAW
@given(tables())
def test_a_column_of_weight_zero_has_no_part_in_it(rows):
    wider = [(*row[:2], 0, 0, *row[2:]) for row in rows]
    plain, with_zero = (
        contrast(rows, resamples=40, valid_at_least=1),
        contrast(wider, [1, 0, -1], resamples=40, valid_at_least=1),
    )
    assert (with_zero.estimate, with_zero.interval, with_zero.valid) == (plain.estimate, plain.interval, plain.valid)


@LAW
@given(tables())
def test_an_upper_bound_is_the_upper_end_of_the_interval_with_twice_the_tail(rows):
    bound = contrast(rows, tails="upper", level=LEVEL, resamples=99, valid_at_least=1).interval
    both = contrast(rows, tails="two", level=NINE_TENTHS, resamples=99, valid_at_least=1).interval
    assert bound == Interval(None, both.high, 0.95)
    assert both.low <= both.high


@LAW
@given(tables())
def test_the_interval_is_of_draws_and_the_draws_are_sorted(rows):
    found = contrast(rows, resamples=40, valid_at_least=1)
    assert (np.diff(found.draws) >= 0).all()
    draws = [Fraction(value).limit_denominator(54 * 54) for value in found.draws]
    assert {found.interval.low, found.interval.high} <= set(draws)


def test_one_seed_gives_one_result_and_another_seed_another():
    same = [contrast(UNEVEN, rng=np.random.default_rng(seed)).draws.tobytes() for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


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
        # cr20-034
        ("floor", 1000, Fraction(19, 20), 950),
        ("floor", 999, Fraction(19, 20), 949),
        ("floor", 996, Fraction(19, 20), 946),
        ("floor", 500, Fraction(19, 20), 475),
        ("floor", 1, Fraction(19, 20), 1),
        ("floor", 1000, Fraction(1, 40), 25),
        ("floor", 10, Fraction(1, 40), 1),
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


def simulated_study(rng: np.random.Generator, *, share: float, kept: float = 1.0):
    """80 entries of some 5 propositions in each of two quartiles; an entry's own recall varies around `share` with an
    intra-entry correlation of .25, and `kept` of it is left in the last quartile."""
    own = rng.beta(3 * share, 3 * (1 - share), 80)
    totals = rng.integers(3, 8, (80, 2))
    return rng.binomial(totals, np.column_stack([own, own * kept])), totals


def covers(interval: Interval, truth: float) -> bool:
    return (interval.low is None or interval.low <= truth) and truth <= interval.high


def bootstrapped(hits, totals, weights, tails, rng) -> Interval:
    return ratio_contrast(
        hits,
        totals,
        weights,
        level=LEVEL,
        tails=tails,
        resamples=400,
        valid_at_least=200,
        ranks="symmetric",
        rng=rng,
    ).interval


def test_a_95_percent_interval_holds_the_true_recall_in_95_percent_of_studies():
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        hits, totals = simulated_study(rng, share=0.8)
        held += covers(bootstrapped(hits.sum(1)[:, None], totals.sum(1)[:, None], [1], "two", rng), 0.8)
    assert binomtest(held, 400, 0.95).pvalue > 0.01


def test_drawing_propositions_in_place_of_entries_would_not_hold_it():
    """The same studies, each proposition taken for a cluster of its own: the interval is too narrow, and it shows."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(150):
        hits, totals = (table.sum() for table in simulated_study(rng, share=0.8))
        propositions = np.repeat([1, 0], [hits, totals - hits])[:, None]
        held += covers(bootstrapped(propositions, np.ones_like(propositions), [1], "two", rng), 0.8)
    assert held / 150 < 0.85
    assert binomtest(held, 150, 0.95, alternative="less").pvalue < 1e-6


def test_a_95_percent_bound_is_above_the_true_loss_in_95_percent_of_studies():
    rng = np.random.default_rng(9)
    held = sum(
        covers(bootstrapped(*simulated_study(rng, share=0.8, kept=0.85), FIRST_LESS_LAST, "upper", rng), 0.8 * 0.15)
        for _ in range(400)
    )
    assert binomtest(held, 400, 0.95).pvalue > 0.01


def test_sums_made_in_blocks_are_those_made_at_once():
    """300,000 clusters fill a block with a few resamples, and the last block is not full."""
    counts = np.random.default_rng(2).integers(0, 9, (300_000, 2))
    found = resampled_sums(counts, resamples=10, rng=np.random.default_rng(6))
    words = np.random.default_rng(6).bit_generator.random_raw(10 * 300_000).reshape(10, 300_000)
    for place in range(10):
        rows = (words[place] >> np.uint64(32)) * np.uint64(300_000) >> np.uint64(32)
        assert found[place].tolist() == counts[rows.astype(int)].sum(axis=0).tolist()


@pytest.mark.parametrize("columns", [1, 2, 3, 8])
@pytest.mark.parametrize(
    "largest",
    [
        pytest.param(1, id="one"),
        pytest.param((2**31 - 1) // 90, id="sums-just-within-31-bits"),
        pytest.param(2**31 // 90 + 1, id="sums-just-beyond-31-bits"),
        pytest.param(2**50, id="sums-near-the-end-of-64-bits"),
    ],
)
def test_sums_are_exact_however_large_the_counts_and_however_many_the_columns(columns, largest):
    counts = np.random.default_rng(columns).integers(0, largest, (90, columns), endpoint=True)
    counts[:45] = largest
    found = resampled_sums(counts, resamples=20, rng=np.random.default_rng(6))
    words = iter([int(word) for word in np.random.PCG64(6).random_raw(20 * 90)])
    rows = counts.tolist()
    for sums in found.tolist():
        drawn = [rows[(next(words) >> 32) * 90 >> 32] for _ in range(90)]
        assert sums == [sum(column) for column in zip(*drawn, strict=True)]


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_a_bootstrap_of_20000_clusters_adds_less_than_50_megabytes(columns):
    totals = np.random.default_rng(2).integers(1, 6, (20_000, columns))
    tracemalloc.start()
    try:
        ratio_contrast(
            totals // 2,
            totals,
            SLOPE[:columns],
            level=LEVEL,
            tails="two",
            resamples=120,
            valid_at_least=60,
            ranks="symmetric",
            rng=np.random.default_rng(1),
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize("clusters", [0, 1])
def test_fewer_than_two_clusters_are_refused(clusters):
    """cluster_bootstrap-05 and -06."""
    with pytest.raises(TooFewClusters, match=f"at least 2 clusters and was given {clusters}"):
        contrast([(2, 5, 4, 5)] * clusters)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(1, 2, 0, 0)] * 3, id="last-column"),
        pytest.param([(0, 0, 1, 2)] * 3, id="first-column"),
        pytest.param([(0, 0, 0, 0)] * 3, id="both"),
    ],
)
def test_a_column_without_any_trials_is_refused(rows):
    with pytest.raises(RatioUndefined, match="no trials in any cluster"):
        contrast(rows)


def test_no_valid_resample_at_all_is_refused_even_if_none_is_asked_for():
    with pytest.raises(ThinResamples) as refusal:
        contrast([(1, 1, 0, 0), (1, 1, 1, 1)], resamples=3, valid_at_least=0, rng=Dealt([0] * 6, 2))
    assert refusal.value.valid == 0


def spread(rows, **changed) -> Bootstrap:
    """The range of the columns of rows (hits, trials, hits, trials, ...)."""
    table = np.array(rows, dtype=np.int64)
    promised = {"level": LEVEL, "resamples": 1000, "valid_at_least": 500, "ranks": "symmetric"}
    return ratio_range(table[:, ::2], table[:, 1::2], **(promised | {"rng": np.random.default_rng(4242)} | changed))


def test_the_range_of_two_clusters_by_hand():
    """Ratios 1, 1/2 and 0 in one cluster, 1, 1 and 1 in the other: ranges 1 and 0, and together 2/2, 3/4 and 1/2: 1/2.

    Of the 4 ways to draw two, sorted 0, 1/2, 1/2, 1, the bound at .75 is that of rank 5 - floor(5/4) = 4.
    """
    rows = [(1, 1, 1, 2, 0, 1), (1, 1, 2, 2, 1, 1)]
    found = spread(rows, level=Fraction(3, 4), resamples=4, valid_at_least=1, rng=every_resample(2))
    assert (found.estimate, found.interval) == (HALF, Interval(None, Fraction(1), 0.75))
    assert list(found.draws) == [0, 0.5, 0.5, 1]


def test_the_range_is_that_of_scipy():
    rng = np.random.default_rng(5)
    trials = rng.integers(1, 6, size=(80, 4))
    hits = rng.binomial(trials, (0.9, 0.7, 0.85, 0.8))

    def statistic(*columns, axis):
        sums = np.stack([column.sum(axis=axis) for column in columns])
        ratios = sums[:4] / sums[4:]
        return ratios.max(axis=0) - ratios.min(axis=0)

    peer = bootstrap(
        (*hits.T, *trials.T), statistic, paired=True, vectorized=True, n_resamples=20_000, batch=2000,
        confidence_level=0.9, method="percentile", rng=np.random.default_rng(1),
    )  # fmt: skip
    found = spread(np.stack([hits, trials], axis=2).reshape(80, 8), resamples=20_000)
    assert float(found.interval.high) == pytest.approx(peer.confidence_interval.high, abs=0.004)


@LAW
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=8), st.permutations([0, 1, 2]))
def test_the_range_does_not_depend_on_the_order_of_the_columns_and_bounds_each_difference(hits, order):
    rows = [[cell for column in row for cell in (column, 3)] for row in hits]
    moved = [[cell for column in order for cell in (row[column], 3)] for row in hits]
    found = spread(rows, resamples=200, valid_at_least=1)
    assert found.interval == spread(moved, resamples=200, valid_at_least=1).interval
    assert found.estimate >= abs(contrast([row[:4] for row in rows], resamples=200, valid_at_least=1).estimate)


def test_the_bound_of_the_range_is_above_the_true_range_in_95_percent_of_studies_and_more():
    """A range of estimates exceeds that of the truths, so the bound errs on the wide side; it must not on the other."""
    rng = np.random.default_rng(31)
    held = 0
    for _ in range(300):
        own = np.clip(rng.normal((0.9, 0.6, 0.85, 0.8), 0.05, size=(90, 4)), 0, 1)
        rows = np.stack([rng.binomial(3, own), np.full((90, 4), 3)], axis=2).reshape(90, 8)
        held += float(spread(rows, resamples=400, valid_at_least=1).interval.high) >= 0.3
    assert binomtest(held, 300, 0.95, alternative="less").pvalue > 0.01


def test_a_range_is_refused_where_a_contrast_of_all_columns_is():
    with pytest.raises(TooFewClusters):
        spread([(1, 1, 1, 1)])
    with pytest.raises(RatioUndefined):
        spread([(1, 1, 0, 0), (1, 1, 0, 0)])
    with pytest.raises(ThinResamples):
        spread([(1, 1, 0, 0), (0, 0, 1, 1)], valid_at_least=900)
