"""Two systems on the same items: the interval of their difference, and p-values that impose the null and hold their
size."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare, multinomial

from eval_pipeline.errors import InputRefused, NoVariation, TooFewClusters, TooFewObservations
from eval_pipeline.records import Interval
from eval_pipeline.stats.paired_bootstrap import PairedDifference, ShiftTest, paired_difference, shift_test
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from tests.stats.dealt import Dealt, every_resample
from tests.stats.laws import LAW
from tests.stats.memory import added_megabytes
from tests.stats.peers import scipy_bootstrap
from tests.stats.simulate import holds

ALTERNATIVES = ("two-sided", "greater", "less")
LEVEL = Fraction(19, 20)
MICE = (94, 197, 16, 38, 99, 141, 23)


def pairs(n: int, first_alone: int, second_alone: int):
    """n items, of which each system alone gets so many right, and both half of the others."""
    both = np.arange(n - first_alone - second_alone) % 2
    first = np.concatenate([np.ones(first_alone), np.zeros(second_alone), both])
    return first, np.concatenate([np.zeros(first_alone), np.ones(second_alone), both])


def compared(first, second, clusters=None, **changed) -> PairedDifference:
    names = np.arange(len(first)) if clusters is None else clusters
    promised = {"level": LEVEL, "alternative": "two-sided", "method": "percentile", "ranks": "symmetric"}
    rng = np.random.default_rng(3)
    return paired_difference(first, second, names, **(promised | {"resamples": 1000, "rng": rng} | changed))


@pytest.mark.parametrize(
    ("alternative", "beyond"),
    [
        # Differences 1, 1, -1: D = 1/3, and D* is -1 in 1 of 27 draws, -1/3 in 6, 1/3 in 12, 1 in 8.
        ("greater", 8),  # D* - 1/3 >= 1/3
        ("less", 19),  # D* - 1/3 <= 1/3: all but the 8
        ("two-sided", 15),  # |D* - 1/3| >= 1/3: the 8, the 6, the 1
    ],
)
def test_three_items_have_the_p_value_that_their_27_resamples_have_by_hand(alternative, beyond):
    found = compared([1, 1, 0], [0, 0, 1], alternative=alternative, resamples=27, rng=every_resample(3))
    assert found.bootstrap.estimate == Fraction(1, 3)
    assert found.p_value == (beyond + 1) / 28
    assert found.alternative == alternative
    # Of 28 ranks floor(.7) = 0 is none: the lowest and the highest.
    assert found.bootstrap.interval == Interval(Fraction(-1), Fraction(1), 0.95)
    assert found.bootstrap.draws == pytest.approx([-1] + [-1 / 3] * 6 + [1 / 3] * 12 + [1] * 8)


@pytest.mark.parametrize(
    ("alternative", "beyond"),
    [
        # Cluster a has differences 1, 0, 0, cluster b 1: D = 2/4, and D* is aa 1/3, ab and ba 1/2, bb 1.
        ("greater", 1),  # bb alone is 1/2 above 1/2
        ("less", 4),
        ("two-sided", 1),
    ],
)
def test_two_clusters_of_unequal_size_have_the_p_value_of_their_4_resamples(alternative, beyond):
    first, second = [1, 1, 0, 1], [0, 1, 0, 0]
    found = compared(first, second, ["a", "a", "a", "b"], alternative=alternative, resamples=4, rng=every_resample(2))
    assert found.bootstrap.estimate == Fraction(1, 2)
    assert found.bootstrap.draws == pytest.approx([1 / 3, 1 / 2, 1 / 2, 1])
    assert found.p_value == (beyond + 1) / 5


@pytest.mark.parametrize(
    ("n", "first_alone", "second_alone", "se", "two_sided", "one_sided", "ends"),
    [
        (10, 5, 1, 0.20976176963403032, 0.0910299425, 0.0388671875, (0, Fraction(4, 5))),
        (20, 3, 3, 0.1224744871391589, 1.0, 0.5816487166033909, (Fraction(-1, 4), Fraction(1, 4))),
    ],
)
def test_p_values_and_draws_follow_the_exact_trinomial_law(
    n, first_alone, second_alone, se, two_sided, one_sided, ends
):
    """The law of the difference of two counts of Multinomial(n; a/n, b/n, rest), made with scipy 1.17.1 here, and by
    another program before: the numbers that stand above."""
    first, second = pairs(n, first_alone, second_alone)
    observed, resamples = first_alone - second_alone, 20_000
    chances = np.zeros(2 * n + 1)
    for a in range(n + 1):
        for b in range(n + 1 - a):
            share = [first_alone / n, second_alone / n, 1 - (first_alone + second_alone) / n]
            chances[a - b + n] += multinomial.pmf([a, b, n - a - b], n, share)
    gains = np.arange(-n, n + 1)
    assert chances[np.abs(gains - observed) >= abs(observed)].sum() == pytest.approx(two_sided, abs=1e-9)
    assert chances[gains - observed >= observed].sum() == pytest.approx(one_sided, abs=1e-9)

    found = {
        alternative: compared(first, second, alternative=alternative, resamples=resamples)
        for alternative in ("two-sided", "greater")
    }
    for alternative, exact in (("two-sided", two_sided), ("greater", one_sided)):
        beyond = round(found[alternative].p_value * (resamples + 1)) - 1
        assert beyond == resamples if exact == 1 else binomtest(beyond, resamples, exact).pvalue > 0.01
    whole = found["greater"].bootstrap
    drawn = np.bincount(np.rint(whole.draws * n).astype(int) + n, minlength=2 * n + 1)
    often = resamples * chances >= 5
    pooled = [np.append(x[often], x[~often].sum()) for x in (drawn, resamples * chances)]
    assert chisquare(*pooled).pvalue > 0.01
    assert whole.draws.std() == pytest.approx(se, rel=0.03)
    assert whole.interval == Interval(*ends, 0.95)
    assert whole.estimate == Fraction(observed, n)


def test_the_p_value_is_not_the_share_of_resamples_beyond_0():
    """Of 5 gains and 1 loss among 10 the former is .0389 by the exact law above, the latter .0522."""
    first, second = pairs(10, 5, 1)
    found = compared(first, second, alternative="greater", resamples=20_000)
    beyond_0 = int((found.bootstrap.draws <= 0).sum())
    assert binomtest(beyond_0, 20_000, 0.0388671875).pvalue < 1e-6
    assert abs(found.p_value - beyond_0 / 20_000) > 0.008


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_identical_systems_have_a_p_value_of_1_and_an_interval_without_width(alternative):
    found = compared([1, 0, 1, 1], [1, 0, 1, 1], alternative=alternative)
    assert found.p_value == 1
    assert found.bootstrap.interval == Interval(Fraction(0), Fraction(0), 0.95)
    assert found.bootstrap.degenerate


def test_a_p_value_is_never_0():
    """100 of 100 items: no shifted resample is as far, and the observed one counts."""
    found = compared(np.ones(100), np.zeros(100), resamples=99)
    assert found.p_value == 1 / 100
    shifted = shift_test(np.arange(50) + 1000.0, 0, alternative="greater", resamples=99, rng=np.random.default_rng(1))
    assert shifted.p_value == 1 / 100


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_interval_is_that_of_scipy_on_clusters(method):
    """scipy.stats.bootstrap 1.17.1 on the gains and sizes of the clusters as paired data, with draws of its own."""
    rng = np.random.default_rng(8)
    first, second, cluster = study(rng, 40, better=0.15)
    gains, sizes = np.bincount(cluster, weights=first - second), np.bincount(cluster)
    theirs = scipy_bootstrap(
        (gains, sizes),
        lambda gained, size, axis: gained.sum(axis) / size.sum(axis),
        method=method,
    )
    ours = compared(first, second, cluster, method=method, resamples=20_000).bootstrap
    tolerance = 4 * 2**0.5 * (0.019 + 0.018 * (method == "bca")) * theirs.standard_error
    assert float(ours.interval.low) == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert float(ours.interval.high) == pytest.approx(theirs.confidence_interval.high, abs=tolerance)
    assert ours.method == method


def study(rng: np.random.Generator, clusters: int, *, better: float = 0.0, lean: float = 0.35):
    """Items in clusters of 1 to 8; whole clusters lean to one system or the other, and the first is `better`."""
    cluster = np.repeat(np.arange(clusters), rng.integers(1, 9, clusters))
    leaning = (rng.choice([-lean, lean], size=clusters)[cluster] + better) / 2
    first, second = (rng.random(len(cluster)) < 0.6 + sign * leaning for sign in (1, -1))
    return first.astype(int), second.astype(int), cluster


CASES = st.lists(st.tuples(*[st.integers(0, 1)] * 2, st.integers(0, 4)), min_size=2, max_size=20).filter(
    lambda rows: len({row[2] for row in rows}) > 1
)


@LAW
@given(CASES, st.sampled_from(["percentile", "bca"]))
def test_swapping_the_systems_turns_the_difference_and_the_alternative(rows, method):
    first, second, cluster = zip(*rows, strict=True)
    turned = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
    for alternative in ALTERNATIVES:
        try:
            found = compared(first, second, cluster, alternative=alternative, method=method, resamples=99)
        except NoVariation:
            return
        other = compared(second, first, cluster, alternative=turned[alternative], method=method, resamples=99)
        low, high = found.bootstrap.interval.low, found.bootstrap.interval.high
        assert other.bootstrap.interval == Interval(-high, -low, 0.95)
        assert other.p_value == found.p_value


@LAW
@given(CASES)
def test_p_values_are_those_of_the_draws_in_fractions(rows):
    first, second, cluster = (np.array(column) for column in zip(*rows, strict=True))
    observed = Fraction(int(first.sum() - second.sum()), len(first))
    found = {a: compared(first, second, cluster, alternative=a, resamples=60) for a in ALTERNATIVES}
    draws = [Fraction(x).limit_denominator(5 * 20) for x in found["less"].bootstrap.draws]
    beyond = {
        "greater": sum(draw - observed >= observed for draw in draws),
        "less": sum(draw - observed <= observed for draw in draws),
        "two-sided": sum(abs(draw - observed) >= abs(observed) for draw in draws),
    }
    assert {a: result.p_value for a, result in found.items()} == {a: (n + 1) / 61 for a, n in beyond.items()}


@LAW
@given(CASES)
def test_the_difference_is_that_of_two_pooled_ratios_of_the_same_seed(rows):
    first, second, cluster = (np.array(column) for column in zip(*rows, strict=True))
    names = np.unique(cluster, return_inverse=True)[1]
    table = np.column_stack([np.bincount(names, weights=x) for x in (first, second)])
    ratio = ratio_contrast(
        table,
        np.column_stack([np.bincount(names)] * 2),
        (1, -1),
        level=LEVEL,
        tails="two",
        method="percentile",
        resamples=99,
        valid_at_least=99,
        ranks="floor",
        rng=np.random.default_rng(3),
    )
    found = compared(first, second, cluster, resamples=99, ranks="floor").bootstrap
    assert (found.estimate, found.interval, found.degenerate) == (ratio.estimate, ratio.interval, ratio.degenerate)
    assert (found.ranks, found.seed, found.resamples, found.valid) == ("floor", 3, 99, 99)


def test_the_bca_interval_of_very_unequal_clusters_is_that_of_two_pooled_ratios():
    """Without the largest cluster a third of the items is left, which the jackknife must know."""
    sizes = np.array([40, 9, 5, 4, 2, 1])
    right = np.column_stack([[30, 2, 3, 1, 1, 1], [10, 5, 1, 2, 0, 1]])
    cluster = np.repeat(np.arange(6), sizes)
    place = np.concatenate([np.arange(size) for size in sizes])
    first, second = (place < right[cluster, j] for j in range(2))
    ratio = ratio_contrast(
        right,
        np.column_stack([sizes] * 2),
        (1, -1),
        level=LEVEL,
        tails="two",
        method="bca",
        resamples=2_000,
        valid_at_least=1,
        ranks="symmetric",
        rng=np.random.default_rng(3),
    )
    assert compared(first, second, cluster, method="bca", resamples=2_000).bootstrap.interval == ratio.interval


def rejected_and_held(clusters: int, *, by_cluster: bool = True, **chances) -> tuple[int, int]:
    """Of 400 studies without a difference: how often p <= .05, and how often the 95 % interval holds 0."""
    rng = np.random.default_rng(5)
    rejected = held = 0
    for _ in range(400):
        first, second, cluster = study(rng, clusters, **chances)
        found = compared(first, second, cluster if by_cluster else None, resamples=399, rng=rng)
        rejected += found.p_value <= 0.05
        held += holds(found.bootstrap.interval, 0)
    return rejected, held


def test_without_a_difference_5_percent_of_clustered_studies_find_one_and_95_percent_of_intervals_hold_0():
    rejected, held = rejected_and_held(60)
    assert binomtest(rejected, 400, 0.05).pvalue > 0.01
    assert binomtest(held, 400, 0.95).pvalue > 0.01


def test_items_in_place_of_clusters_would_find_a_difference_that_is_not_there_in_15_percent():
    rejected, held = rejected_and_held(60, by_cluster=False)
    assert binomtest(rejected, 400, 0.05, alternative="greater").pvalue < 1e-6
    assert binomtest(held, 400, 0.95, alternative="less").pvalue < 1e-6


def test_with_20_clusters_the_test_finds_a_difference_that_is_not_there_somewhat_too_often():
    rejected, held = rejected_and_held(20)
    assert binomtest(rejected, 400, 0.05, alternative="greater").pvalue < 0.01
    assert rejected < 0.12 * 400
    assert held > 0.9 * 400


def test_items_that_are_independent_have_the_size_that_was_asked_for():
    """100 items, each its own cluster."""
    rng, rejected = np.random.default_rng(6), 0
    for _ in range(400):
        first, second = rng.random((2, 100)) < 0.7
        rejected += compared(first, second, resamples=399, rng=rng).p_value <= 0.05
    assert binomtest(rejected, 400, 0.05).pvalue > 0.01


def test_a_difference_that_is_there_is_found_and_held():
    rng = np.random.default_rng(9)
    found = [compared(*study(rng, 60, better=0.2), alternative="greater", resamples=399, rng=rng) for _ in range(400)]
    assert binomtest(sum(holds(each.bootstrap.interval, 0.2) for each in found), 400, 0.95).pvalue > 0.01
    assert np.mean([each.p_value <= 0.05 for each in found]) > 0.9


def shift_of(values, null=0.0, **changed) -> ShiftTest:
    promised = {"alternative": "two-sided", "resamples": 999, "rng": np.random.default_rng(3)}
    return shift_test(values, null, **(promised | changed))


@pytest.mark.parametrize(
    ("alternative", "beyond"),
    [
        # Values 0, 1, 5 against 0: mean 2, s = sqrt(7), t = 1.309. Moved to -2, -1, 3, of 27 resamples t* is
        # -2 -2 -1: -5 (3); -2 -1 -1: -4 (3); -2 -1 3: 0 (6); -2 -2 3: -1/5 (3); -1 -1 3: 1/4 (3); -2 3 3: 4/5 (3);
        # -1 3 3: 5/4 (3); and those of one value -inf (2) and inf (1).
        ("greater", 1),
        ("less", 26),
        ("two-sided", 9),
    ],
)
def test_three_values_have_the_p_value_that_their_27_resamples_have_by_hand(alternative, beyond):
    found = shift_of([0, 1, 5], alternative=alternative, resamples=27, rng=every_resample(3))
    assert found.statistic == pytest.approx(2 * (3 / 7) ** 0.5)
    assert found.p_value == (beyond + 1) / 28
    assert (found.resamples, found.valid, found.alternative) == (27, 24, alternative)


def test_the_mice_have_the_p_value_of_all_their_823543_resamples():
    """Efron & Tibshirani (1993), section 16.4, publish .10 of 1000 draws; of all 7^7 it is .0985."""
    found = shift_of(MICE, 129, alternative="less", resamples=7**7, rng=every_resample(7))
    assert found.p_value == pytest.approx(0.09849151774710004, abs=1e-5)
    assert found.valid == 7**7 - 7
    drawn = shift_of(MICE, 129, alternative="less", resamples=20_000)
    assert binomtest(round(drawn.p_value * 20_001) - 1, 20_000, 0.0984915).pvalue > 0.01
    assert drawn.seed == 3


@LAW
@given(
    st.lists(st.integers(-9, 9), min_size=3, max_size=9).filter(lambda values: len(set(values)) > 1),
    st.sampled_from([-0.37, 1.61]),
)
def test_turning_or_moving_or_scaling_the_values_and_the_null_changes_no_p_value(values, null):
    sample = np.array(values, dtype=float)
    found = {a: shift_of(sample, null, alternative=a, resamples=99) for a in ALTERNATIVES}
    for alternative, turned in (("two-sided", "two-sided"), ("greater", "less"), ("less", "greater")):
        for scale, shift in ((1, 0.25), (1e-9, 0), (64, -3)):
            moved = shift_of(scale * (sample + shift), scale * (null + shift), alternative=alternative, resamples=99)
            assert moved.p_value == found[alternative].p_value
            assert moved.statistic == pytest.approx(found[alternative].statistic)
        other = shift_of(-sample, -null, alternative=turned, resamples=99)
        assert other.p_value == found[alternative].p_value
    assert found["two-sided"].valid == found["less"].valid <= 99


def sizes(values_of, null: float, alternative: str, *, studies: int = 400) -> int:
    rng = np.random.default_rng(17)
    return sum(
        shift_of(values_of(rng), null, alternative=alternative, resamples=399, rng=rng).p_value <= 0.05
        for _ in range(studies)
    )


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_of_25_normal_values_5_percent_find_a_shift_that_is_not_there(alternative):
    assert binomtest(sizes(lambda rng: rng.normal(7, 3, 25), 7, alternative), 400, 0.05).pvalue > 0.01


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_few_values_find_a_shift_that_is_not_there_in_no_more_than_5_percent(n):
    """Resamples of one value alone count as infinitely far: without them two values would find a shift always."""
    found = sizes(lambda rng: rng.normal(size=n), 0, "two-sided")
    assert binomtest(found, 400, 0.05, alternative="greater").pvalue > 0.01


def test_few_pairs_that_differ_find_no_shift_too_often():
    """20 paired differences, of which 1 to 5 are not 0."""
    found = sizes(
        lambda rng: np.append(rng.choice([-1, 0, 1], p=[0.1, 0.8, 0.1], size=19), [1, -1][rng.integers(2)]),
        0,
        "two-sided",
    )
    assert binomtest(found, 400, 0.05, alternative="greater").pvalue > 0.01


def test_many_values_and_resamples_add_less_than_50_megabytes():
    values = np.random.default_rng(1).normal(size=50_000)
    assert added_megabytes(lambda: shift_of(values, 0, resamples=200)) < 50


@pytest.mark.parametrize(("first", "second"), [([], []), (np.array([]), np.array([]))])
def test_no_items_are_refused(first, second):
    with pytest.raises(TooFewObservations, match="no items to compare"):
        compared(first, second)


def test_items_of_one_cluster_are_refused():
    with pytest.raises(TooFewClusters, match="at least 2 clusters and was given 1"):
        compared([1, 0, 1], [0, 0, 1], ["a"] * 3)


@pytest.mark.parametrize(
    ("first", "second", "clusters", "found"),
    [
        ([1, 0, 1], [1, 0], [1, 2, 3], "found 3 first, 2 second, 3 clusters"),
        ([1, 0, 1], [1, 0, 1], [1, 2], "found 3 first, 3 second, 2 clusters"),
        ([1, 2, 1], [1, 0, 1], [1, 2, 3], "first: found 2, expected 0 or 1"),
        ([1, 0, 1], [1, 0.5, 1], [1, 2, 3], "second: found 0.5, expected whole numbers"),
        ([1, 0, 1], [1, np.nan, 1], [1, 2, 3], "second: found nan"),
        ([1, 0, 1], [1, 0, 1], [1, None, 3], "clusters: found a missing value"),
    ],
)
def test_items_that_do_not_pair_off_or_are_neither_right_nor_wrong_are_refused(first, second, clusters, found):
    with pytest.raises(InputRefused, match=found):
        compared(first, second, clusters)


def test_bca_is_refused_where_the_systems_never_differ():
    with pytest.raises(NoVariation, match="ask for the percentile interval"):
        compared([1, 0, 1, 1], [1, 0, 1, 1], method="bca")


@pytest.mark.parametrize("values", [[], [3.5]])
def test_a_shift_of_fewer_than_two_values_is_refused(values):
    with pytest.raises(TooFewObservations, match=f"at least 2 values and was given {len(values)}"):
        shift_of(values)


def test_a_shift_of_equal_values_is_refused():
    with pytest.raises(NoVariation, match=r"^all values are the same, so that the mean"):
        shift_of([0.1] * 7)


def test_a_shift_is_refused_if_no_resample_varies():
    with pytest.raises(NoVariation, match="in each resample all values are the same"):
        shift_of([1, 2], resamples=3, rng=Dealt([0, 0, 1, 1, 0, 0], 2))
    assert shift_of([1, 2], resamples=3, rng=Dealt([0, 0, 0, 1, 0, 0], 2)).valid == 1


@pytest.mark.parametrize("null", [np.nan, np.inf, -np.inf])
def test_a_null_that_is_no_number_is_refused_and_not_found_surprising(null):
    with pytest.raises(InputRefused, match=f"null: found {null}, expected finite numbers"):
        shift_of([1, 2, 4], null)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1, np.nan, 2], "values: found nan"),
        ([1, None, 2], "values: found a missing value"),
        ([[1, 2], [3, 4]], "values: found 2 dimensions, expected 1"),
        (["1", "2"], "values: found"),
    ],
)
def test_values_that_are_no_numbers_or_in_a_table_are_refused(values, found):
    with pytest.raises(InputRefused, match=found):
        shift_of(values)


@pytest.mark.parametrize("resamples", [0, 9.5, float("nan")])
def test_a_number_of_resamples_that_cannot_be_is_refused(resamples):
    with pytest.raises(InputRefused, match=f"resamples: found {resamples}"):
        shift_of([1, 2, 4], resamples=resamples)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    ("values", "null"), [([1, 2, 3], 0.1), ([3, 0, 0], 1), ([-1, 0, 1], 0), ([0, 1, 1, 4], 1.5), ([2, 2, 7, 9], 5)]
)
def test_the_unit_of_the_values_changes_no_p_value(values, null, alternative):
    """What is left of sums that cancel must not decide: a tenth, and units at either end of what a float holds."""

    def p_value(scale: float) -> float:
        scaled = [value * scale for value in values]
        return shift_test(
            scaled, null * scale, alternative=alternative, resamples=999, rng=np.random.default_rng(1)
        ).p_value

    assert {p_value(scale) for scale in (0.1, 1e-200, 3.0, 1e200)} == {p_value(1.0)}


def test_a_mean_that_is_the_null_surprises_no_one():
    found = shift_test([-1, 0, 1], 0, alternative="two-sided", resamples=999, rng=np.random.default_rng(1))
    assert (found.statistic, found.p_value) == (0, 1)
