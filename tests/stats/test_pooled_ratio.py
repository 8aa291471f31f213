"""Pooled ratios are drawn entry by entry, their numbers are exact, and their intervals cover what they promise."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, bootstrap, chisquare

from eval_pipeline.errors import InputRefused, NoVariation, RatioUndefined, ThinResamples, TooFewClusters
from eval_pipeline.records import Interval
from eval_pipeline.stats.bootstrap import Bootstrap, percentile_rank
from eval_pipeline.stats.pooled_ratio import ratio_contrast, ratio_range
from tests.stats.dealt import Dealt, every_resample, halves_of
from tests.stats.laws import LAW
from tests.stats.memory import added_megabytes
from tests.stats.peers import scipy_bootstrap
from tests.stats.simulate import holds

HALF, NINE_TENTHS, LEVEL = Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)
FIRST_LESS_LAST = (1, -1)
SLOPE = (Fraction(-3, 10), Fraction(-1, 10), Fraction(1, 10), Fraction(3, 10))


def contrast(rows, weights=FIRST_LESS_LAST, **changed) -> Bootstrap:
    """The bootstrap of rows (hits, trials, hits, trials, ...)."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 2 * len(weights))
    promised = {
        "level": LEVEL,
        "tails": "two",
        "method": "percentile",
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
    """AA, AB and BB are drawn with chances 1/4, 1/2, 1/4: the extreme 5 % are one value."""
    rows = [(2, 5, 4, 5), (3, 5, 3, 5)]
    found = contrast(rows, (-1, 1), tails="lower")
    assert found.estimate == Fraction(1, 5)
    assert found.interval == Interval(Fraction(0), None, 0.95)
    assert contrast(rows, (1, -1), tails="upper").interval == Interval(None, Fraction(0), 0.95)


def test_a_resample_with_an_empty_denominator_is_left_out_and_counted():
    """Of AA, AB, BA, BB the first has no trials in the second column."""
    rows = [(2, 5, 0, 0), (3, 5, 4, 5)]
    found = contrast(rows, (-1, 1), resamples=4, valid_at_least=3, rng=every_resample(2))
    assert (found.estimate, found.valid, found.resamples) == (Fraction(3, 10), 3, 4)
    drawn = contrast(rows, (-1, 1))
    assert binomtest(drawn.valid, 1000, 0.75).pvalue > 0.01
    assert len(drawn.draws) == drawn.valid


@pytest.mark.parametrize("ranks", ["symmetric", "floor"])
def test_constant_rows_have_a_bound_equal_to_the_difference_and_are_called_degenerate(ranks):
    found = contrast([(2, 2, 1, 2)] * 90, tails="upper", ranks=ranks)
    assert found.interval.high == found.estimate == HALF
    assert found.valid == 1000
    assert found.degenerate


def test_identical_clusters_have_an_interval_without_width():
    found = contrast([(3, 5, 4, 5)] * 6, (-1, 1))
    assert found.interval == Interval(Fraction(1, 5), Fraction(1, 5), 0.95)
    assert found.degenerate


def test_clusters_that_differ_are_not_degenerate():
    assert not contrast([(1, 1, 1, 1)] * 89 + [(1, 1, 0, 1)]).degenerate


def test_resamples_of_two_values_a_ten_billionth_apart_are_not_degenerate():
    assert not contrast([(10**10, 2 * 10**10), (10**10 + 1, 2 * 10**10)], [1]).degenerate


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
    """By the binomial law, 18 of 90 drawn again: quantile .95 is 24/90."""
    rows = [(1, 1, 1, 1)] * 72 + [(1, 1, 0, 1)] * 18
    pooled = [(h1 + h4, t1 + t4) for h1, t1, h4, t4 in rows]
    assert contrast(pooled, [1]).estimate == NINE_TENTHS
    for ranks in ("symmetric", "floor"):
        assert contrast(rows, tails="upper", ranks=ranks).interval.high == pytest.approx(0.2667, abs=0.02)


def test_an_empty_row_makes_some_resamples_invalid():
    """All four draws take the empty row with a chance of 1/256."""
    rows = [(0, 0, 0, 0)] + [(1, 1, 1, 1)] * 3
    assert contrast(rows).valid == pytest.approx(996.09375, abs=6)
    exact = contrast(rows, resamples=256, valid_at_least=1, rng=every_resample(4))
    assert exact.valid == 255


def test_without_the_empty_row_every_resample_is_valid():
    assert contrast([(1, 1, 1, 1)] * 3).valid == 1000


def half_valid(valid: int) -> Bootstrap:
    """1000 resamples of two clusters, `valid` of which have trials in both columns."""
    dealt = Dealt([1, 1] * valid + [0, 0] * (1000 - valid), 2)
    return contrast([(1, 1, 0, 0), (1, 1, 1, 1)], rng=dealt)


def test_500_valid_resamples_of_1000_give_a_bound():
    assert half_valid(500).valid == 500


def test_499_valid_resamples_of_1000_give_none():
    with pytest.raises(ThinResamples, match=r"only 499 of 1000 resamples .* at least 500") as refusal:
        half_valid(499)
    assert refusal.value.valid == 499


def plain_loop(rows, weights, *, resamples: int, seed: int) -> list[Fraction]:
    """Every draw, sorted, from the raw halves of words on, in plain integers and fractions."""
    clusters, width = len(rows), 2 * len(weights)
    halves = iter(halves_of(seed, resamples * clusters))
    values = []
    for _ in range(resamples):
        drawn = [rows[next(halves) * clusters >> 32] for _ in range(clusters)]
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
    theirs = scipy_bootstrap(columns, difference)
    ours = contrast(np.column_stack(columns), resamples=20_000)
    # A quantile at .025 of 20,000 normal draws has a Monte Carlo error of .019 s.e., the difference of two .027 s.e.
    tolerance = 4 * 0.027 * theirs.standard_error
    assert float(ours.interval.low) == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert float(ours.interval.high) == pytest.approx(theirs.confidence_interval.high, abs=tolerance)
    assert ours.draws.std(ddof=1) == pytest.approx(theirs.standard_error, rel=0.03)


def test_the_city_data_have_the_published_bootstrap_quantiles():
    """Davison & Hinkley (1997), R boot::city, as the reciprocal, whose ratios do not exceed 1."""
    larger = [143, 104, 69, 260, 75, 63, 50, 48, 111, 50]
    smaller = [138, 93, 61, 179, 48, 37, 29, 23, 30, 2]
    found = contrast(list(zip(smaller, larger, strict=True)), [1], level=NINE_TENTHS, resamples=20_000)
    assert float(1 / found.estimate) == pytest.approx(1.5203125, abs=1e-9)
    assert float(1 / found.interval.high) == pytest.approx(1.285925925925926, abs=0.032)
    assert float(1 / found.interval.low) == pytest.approx(1.9680511182108626, abs=0.105)
    assert (1 / found.draws).std() == pytest.approx(0.22141740242280758, abs=0.037)


def test_ninety_clusters_agree_with_the_delta_method():
    rows = [(h, 5, min(5, h + (3 * i % 4 == 0)), 5) for i in range(90) for h in [7 * i % 5]]
    found = contrast(rows, (1, -1), tails="upper", resamples=5_000)
    assert float(-found.estimate) == pytest.approx(0.05111111111111111, abs=1e-12)
    assert float(-found.interval.high) == pytest.approx(0.035986131407453326, abs=0.002758600468210262)
    assert found.draws.std() == pytest.approx(0.009195334894034207, rel=0.05)


def test_a_loss_in_4_of_200_entries_follows_the_exact_binomial_law():
    """The resampled loss is Binomial(200, 4/200) / 200, whose quantile .95 is 7/200 = .035."""
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


@pytest.mark.parametrize(
    ("tails", "ranks", "low", "high"),
    [
        pytest.param("two", "symmetric", Fraction(-13, 84), Fraction(19, 36), id="two-sided"),
        pytest.param("upper", "symmetric", None, Fraction(26, 57), id="upper"),
        pytest.param("upper", "floor", None, Fraction(5, 11), id="upper-at-the-floor"),
    ],
)
def test_a_table_and_a_seed_have_one_interval(tails, ranks, low, high):
    found = contrast(UNEVEN, tails=tails, ranks=ranks)
    assert found.estimate == Fraction(43, 234)
    assert found.interval == Interval(low, high, 0.95)


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
    plain, other = (contrast(order, resamples=20, valid_at_least=1) for order in (rows, permuted))
    assert other.estimate == plain.estimate


@LAW
@given(tables(), st.fractions(Fraction(1, 9), 9, max_denominator=9))
def test_scaling_the_weights_scales_the_interval(rows, factor):
    plain = contrast(rows, resamples=60, valid_at_least=1)
    scaled = contrast(rows, [factor, -factor], resamples=60, valid_at_least=1)
    assert scaled.estimate == factor * plain.estimate
    assert scaled.interval == Interval(factor * plain.interval.low, factor * plain.interval.high, 0.95)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_weights_of_the_smallest_scale_only_as_the_interval_does(method):
    rng = np.random.default_rng(12)
    trials = rng.integers(1, 9, (15, 2))
    rows = np.stack([rng.binomial(trials, [0.6, 0.4]), trials], axis=2).reshape(15, 4)
    factor = Fraction(1, 10**10)
    plain = contrast(rows, method=method)
    scaled = contrast(rows, [factor, -factor], method=method)
    assert scaled.interval == Interval(factor * plain.interval.low, factor * plain.interval.high, 0.95)
    assert (scaled.degenerate, plain.degenerate) == (False, False)


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


def simulated_study(rng: np.random.Generator, *, share: float, kept: float = 1.0):
    """80 entries of some 5 propositions in each of two quartiles; an entry's own recall varies around `share` with an
    intra-entry correlation of .25, and `kept` of it is left in the last quartile."""
    own = rng.beta(3 * share, 3 * (1 - share), 80)
    totals = rng.integers(3, 8, (80, 2))
    return rng.binomial(totals, np.column_stack([own, own * kept])), totals


def bootstrapped(hits, totals, weights, tails, rng, method="percentile") -> Interval:
    return ratio_contrast(
        hits,
        totals,
        weights,
        level=LEVEL,
        tails=tails,
        method=method,
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
        held += holds(bootstrapped(hits.sum(1)[:, None], totals.sum(1)[:, None], [1], "two", rng), 0.8)
    assert binomtest(held, 400, 0.95).pvalue > 0.01


def test_drawing_propositions_in_place_of_entries_would_not_hold_it():
    """The same studies, each proposition taken for a cluster of its own: the interval is too narrow, and it shows."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(150):
        hits, totals = (table.sum() for table in simulated_study(rng, share=0.8))
        propositions = np.repeat([1, 0], [hits, totals - hits])[:, None]
        held += holds(bootstrapped(propositions, np.ones_like(propositions), [1], "two", rng), 0.8)
    assert held / 150 < 0.85
    assert binomtest(held, 150, 0.95, alternative="less").pvalue < 1e-6


def test_a_95_percent_bound_is_above_the_true_loss_in_95_percent_of_studies():
    rng = np.random.default_rng(9)
    held = sum(
        holds(bootstrapped(*simulated_study(rng, share=0.8, kept=0.85), FIRST_LESS_LAST, "upper", rng), 0.8 * 0.15)
        for _ in range(400)
    )
    assert binomtest(held, 400, 0.95).pvalue > 0.01


def skewed_study(rng: np.random.Generator, *, share: float, clusters: int):
    """Entries of 1 to 8 propositions whose own share varies with an intra-entry correlation of .25."""
    own, totals = rng.beta(3 * share, 3 * (1 - share), clusters), rng.integers(1, 9, (clusters, 1))
    return rng.binomial(totals, own[:, None]), totals


def missed(share: float, clusters: int, method: str, *, studies: int = 400) -> tuple[int, int, int]:
    """How many two-sided 95 % intervals lie above the true share, how many below it, and how many were refused."""
    rng = np.random.default_rng(7)
    above = below = refused = 0
    for _ in range(studies):
        hits, totals = skewed_study(rng, share=share, clusters=clusters)
        try:
            found = bootstrapped(hits, totals, [1], "two", rng, method)
        except NoVariation:
            refused += 1
            continue
        above, below = above + (found.low > share), below + (found.high < share)
    return above, below, refused


def test_the_bca_interval_holds_a_share_near_1_in_95_percent_of_studies_where_the_percentile_interval_does_not():
    """90 entries of unequal size; the percentile interval errs above, where the estimates bunch."""
    above, below, refused = missed(0.97, 90, "percentile")
    assert refused == 0
    assert above > 10 * below
    assert binomtest(400 - above - below, 400, 0.95, alternative="less").pvalue < 1e-4
    above, below, refused = missed(0.97, 90, "bca")
    assert refused == 0
    assert binomtest(400 - above - below, 400, 0.95).pvalue > 0.01


def test_with_80_entries_of_unequal_size_both_intervals_hold_the_true_share():
    for method in ("percentile", "bca"):
        above, below, refused = missed(0.8, 80, method)
        assert refused == 0
        assert binomtest(400 - above - below, 400, 0.95).pvalue > 0.01


def test_20_entries_are_too_few_for_either_interval_and_bca_errs_less():
    """What they hold of 95 %: percentile 88 %, BCa 92 %."""
    held = [400 - sum(missed(0.8, 20, method)) for method in ("percentile", "bca")]
    assert [binomtest(n, 400, 0.95, alternative="less").pvalue < 0.01 for n in held] == [True, True]
    assert 0.85 * 400 < held[0] < held[1]


def test_with_20_entries_and_a_share_near_1_the_percentile_interval_fails_and_bca_often_refuses():
    above, below, refused = missed(0.97, 20, "percentile", studies=200)
    assert (refused, above + below > 30) == (0, True)
    assert missed(0.97, 20, "bca", studies=200)[2] > 20


@pytest.mark.parametrize(("clusters", "columns", "weights"), [(40, 1, (1,)), (90, 2, FIRST_LESS_LAST), (60, 4, SLOPE)])
def test_the_bca_interval_is_that_of_scipy(clusters, columns, weights):
    """scipy.stats.bootstrap 1.17.1, columns of clusters as paired data, method="BCa", with draws of its own."""
    rng = np.random.default_rng(3)
    totals = rng.integers(1, 6, (clusters, columns))
    hits = rng.binomial(totals, rng.beta(8, 0.4, clusters)[:, None])

    def statistic(*table, axis):
        sums = np.stack([column.sum(axis=axis) for column in table])
        return sum(float(w) * sums[j] / sums[columns + j] for j, w in enumerate(weights))

    theirs = scipy_bootstrap((*hits.T, *totals.T), statistic, method="bca")
    rows = np.stack([hits, totals], axis=2).reshape(clusters, 2 * columns)
    ours = contrast(rows, weights, method="bca", resamples=20_000)
    # As for the percentiles above, and z0 has an error of 1.25 / sqrt(20,000) = .009 in either, which counts twice.
    tolerance = 4 * (0.027 + 2 * 0.009 * 2**0.5) * theirs.standard_error
    assert float(ours.interval.low) == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert float(ours.interval.high) == pytest.approx(theirs.confidence_interval.high, abs=tolerance)
    plain = contrast(rows, weights, resamples=20_000)
    if columns == 1:
        assert float(plain.interval.low - ours.interval.low) > 2 * tolerance
    assert (ours.method, plain.method) == ("bca", "percentile")
    assert np.array_equal(ours.draws, plain.draws)


def test_bca_reads_every_resample_of_three_clusters_by_hand():
    # A = 0 of 1, B = 1 of 1, C = 2 of 3, as above: of 27 draws 10 lie below 3/5 and 6 at it: (10 + 3) / 27 = .4815, and
    # z0 = -.0464. Without A 3/4, without B 2/4, without C 1/2: mean 7/12, influences -1/6, 1/12, 1/12: squares 1/24,
    # cubes -1/216 + 2/1728 = -1/288: a = -(1/288) / (6 * .008505) = -.06804.
    # For .1: -1.2816 - .0464 = -1.3279, over 1 - .0904 is -1.4598, less .0464 is -1.5062: Phi is .0660, and of 28 ranks
    # floor(1.85) = 1: the lowest, 0, where the percentile has floor(2.8) = 2, 1/3.
    found = contrast(
        [(0, 1), (1, 1), (2, 3)],
        [1],
        method="bca",
        tails="lower",
        level=NINE_TENTHS,
        resamples=27,
        valid_at_least=27,
        rng=every_resample(3),
    )
    assert found.interval == Interval(Fraction(0), None, 0.9)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_a_bootstrap_of_20000_clusters_adds_less_than_50_megabytes(columns):
    totals = np.random.default_rng(2).integers(1, 6, (20_000, columns))
    assert (
        added_megabytes(
            lambda: ratio_contrast(
                totals // 2,
                totals,
                SLOPE[:columns],
                level=LEVEL,
                tails="two",
                method="bca",
                resamples=120,
                valid_at_least=60,
                ranks="symmetric",
                rng=np.random.default_rng(1),
            )
        )
        < 50
    )


@pytest.mark.parametrize("clusters", [0, 1])
def test_fewer_than_two_clusters_are_refused(clusters):
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


def test_a_range_counts_every_column_and_a_contrast_only_those_that_it_weighs():
    """Shares 1, 1/2 and 1 of four equal clusters: the range is a half, first less last is nothing."""
    rows = [(2, 2, 1, 2, 2, 2)] * 4
    assert spread(rows).interval == Interval(None, HALF, 0.95)
    assert contrast(rows, (1, 0, -1)).interval == Interval(Fraction(0), Fraction(0), 0.95)


def test_a_result_tells_its_method_ranks_and_seed():
    found = contrast(UNEVEN, method="bca", ranks="floor", rng=np.random.default_rng(99))
    assert (found.method, found.ranks, found.seed, found.resamples) == ("bca", "floor", 99, 1000)
    found = spread(UNEVEN)
    assert (found.method, found.ranks, found.seed, found.interval.low) == ("percentile", "symmetric", 4242, None)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("tails", ["lower", "upper"])
def test_a_one_sided_bound_is_an_end_of_the_interval_with_twice_the_tail(method, tails):
    bound = contrast(UNEVEN, method=method, tails=tails).interval
    both = contrast(UNEVEN, method=method, level=NINE_TENTHS).interval
    assert bound == (Interval(both.low, None, 0.95) if tails == "lower" else Interval(None, both.high, 0.95))


def test_bca_is_refused_where_all_draws_lie_on_one_side_or_no_cluster_differs():
    with pytest.raises(NoVariation, match="ask for the percentile interval"):
        contrast([(3, 5, 4, 5)] * 6, method="bca")
    # Dealt only the second of two clusters, every draw lies above the estimate.
    with pytest.raises(NoVariation):
        contrast([(0, 1), (1, 1)], [1], method="bca", resamples=4, valid_at_least=1, rng=Dealt([1] * 8, 2))


def test_bca_is_refused_where_one_cluster_has_all_trials_of_a_ratio():
    rows = [(1, 2, 0, 0), (1, 2, 0, 0), (0, 2, 3, 4)]
    with pytest.raises(RatioUndefined, match=r"without one of the clusters .* ask for the percentile interval"):
        contrast(rows, method="bca")
    assert contrast(rows).valid < 1000


@pytest.mark.parametrize("weights", [(1,), (1, -1, 0), (1, -1, 1)])
def test_weights_of_another_number_than_the_columns_are_refused(weights):
    table = np.array([(1, 1), (0, 2)])
    with pytest.raises(InputRefused, match=f"weights: found {len(weights)}, expected one for each of 2 columns"):
        weighed(table, table, weights)


@pytest.mark.parametrize("weights", [(0, 0), (Fraction(0), 0)])
def test_weights_that_are_all_0_are_refused(weights):
    table = np.array([(1, 1), (0, 2)])
    with pytest.raises(InputRefused, match="weights: found none that is not 0"):
        weighed(table, table, weights)


def weighed(hits, totals, weights=FIRST_LESS_LAST) -> Bootstrap:
    return ratio_contrast(
        hits,
        totals,
        weights,
        level=LEVEL,
        tails="two",
        method="percentile",
        resamples=50,
        valid_at_least=1,
        ranks="symmetric",
        rng=np.random.default_rng(1),
    )


def ranged(hits, totals) -> Bootstrap:
    rng = np.random.default_rng(1)
    return ratio_range(hits, totals, level=LEVEL, resamples=50, valid_at_least=1, ranks="symmetric", rng=rng)


@pytest.mark.parametrize("estimator", [weighed, ranged])
@pytest.mark.parametrize(
    ("hits", "totals", "found"),
    [
        ([1, 2], [2, 2], r"found shapes \(2,\) and \(2,\), expected one shape \(clusters, columns\)"),
        ([[1, 2], [1, 1]], [[2, 2]], r"found shapes \(2, 2\) and \(1, 2\)"),
        ([[1, 2], [1]], [[2, 2], [2, 2]], "successes: found rows of unequal lengths"),
        ([[1, -2], [1, 1]], [[2, 2], [2, 2]], "successes: found -2, expected 0 or more"),
        ([[1, 2], [1, 1]], [[2, 2.5], [2, 2]], "trials: found 2.5, expected whole numbers"),
        ([[1, 2], [1, 1]], [[2, np.nan], [2, 2]], "trials: found nan, expected finite numbers"),
        ([[1, 2], [1, 1]], [[2**62, 2], [2, 2]], r"sum of up to 9\.22337e\+18, expected less than 2\^63"),
    ],
)
def test_tables_that_are_no_counts_or_do_not_match_are_refused(estimator, hits, totals, found):
    with pytest.raises(InputRefused, match=found):
        estimator(hits, totals)


def test_lists_and_floats_without_fractions_are_the_counts_that_they_hold():
    table = [[1, 2], [3, 4], [2, 2]]
    plain = weighed(np.array(table), np.full((3, 2), 4))
    assert weighed(table, [[4.0, 4.0]] * 3).interval == plain.interval
    assert ranged(table, [[4, 4]] * 3).estimate == abs(plain.estimate)


def test_bca_at_a_level_next_to_1_takes_the_outermost_draws():
    rows = np.random.default_rng(4).integers(1, 9, (12, 2))
    found = ratio_contrast(
        rows[:, :1],
        rows.sum(axis=1, keepdims=True),
        (1,),
        level=1 - 1e-15,
        tails="two",
        method="bca",
        resamples=200,
        valid_at_least=1,
        ranks="symmetric",
        rng=np.random.default_rng(5),
    )
    assert [float(found.interval.low), float(found.interval.high)] == pytest.approx([found.draws[0], found.draws[-1]])


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), None])
def test_a_weight_that_is_no_number_is_refused(weight):
    with pytest.raises(InputRefused, match="weights: found"):
        ratio_contrast(
            [[1], [2]],
            [[2], [3]],
            (weight,) if weight is not None else ("1",),
            level=0.9,
            tails="two",
            method="percentile",
            resamples=9,
            valid_at_least=1,
            ranks="floor",
            rng=np.random.default_rng(5),
        )
