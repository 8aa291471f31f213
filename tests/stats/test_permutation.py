"""Permutation tests: by hand, as Fisher and SciPy have them, by their laws, by simulation, and their refusals."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact, permutation_test

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.stats import permutation
from eval_pipeline.stats.permutation import paired_permutation, two_sample_permutation
from tests.stats.laws import LAW

TREATED = [94, 197, 16, 38, 99, 141, 23]
CONTROL = [52, 104, 146, 10, 51, 30, 40, 27, 46]
CROSSED = [23.5, 12, 21, 22, 19.125, 21.5, 22.125, 20.375, 18.25, 21.625, 23.25, 21, 22.125, 23, 12]
SELFED = [17.375, 20.375, 20, 20, 18.375, 18.625, 18.625, 15.25, 16.5, 18, 16.25, 18, 12.75, 15.5, 18]
ALTERNATIVES = ["greater", "less", "absolute", "doubled"]
WHOLE = st.integers(-4, 4)


def p_of(test, one, other, alternative, resamples=99, seed=1):
    return test(one, other, alternative=alternative, resamples=resamples, rng=np.random.default_rng(seed)).p_value


def enumerated(statistics, observed, alternative):
    """The p-value from a list of the statistic under each relabelling."""
    greater, less = (np.mean(tail) for tail in (statistics >= observed, statistics <= observed))
    return {
        "greater": greater,
        "less": less,
        "absolute": np.mean(np.abs(statistics) >= abs(observed)),
        "doubled": min(1, 2 * min(greater, less)),
    }[alternative]


@pytest.mark.parametrize(
    ("alternative", "p"), [("greater", 1 / 3), ("less", 1), ("absolute", 1 / 3), ("doubled", 2 / 3)]
)
def test_one_against_two_has_the_p_value_of_its_three_arrangements(alternative, p):
    """Of 0, 0, 3 one is x. It is the 3 in one case of three, where 3 - 0 = 3; else 0 - 1.5, which is nearer to 0."""
    result = two_sample_permutation([3], [0, 0], alternative=alternative, resamples=9, rng=np.random.default_rng(1))
    assert (result.p_value, result.difference) == (pytest.approx(p, abs=1e-15), 3.0)
    assert (result.alternative, result.method, result.resamples, result.seed) == (alternative, "exact", None, None)


@pytest.mark.parametrize(("alternative", "p"), [("greater", 2 / 8), ("less", 7 / 8), ("absolute", 4 / 8)])
def test_three_pairs_have_the_p_value_of_their_eight_signs(alternative, p):
    """Signs of 1, 2, 3 give the sums 6 4 2 0 0 -2 -4 -6; that of -1 + 2 + 3 is 4, with only 6 beyond."""
    assert p_of(paired_permutation, [0, 2, 3], [1, 0, 0], alternative) == pytest.approx(p, abs=1e-15)


def test_fishers_count_for_darwins_plants():
    """Fisher (1935), section 21: 863 of the 32768 sums are as large as that observed, 1726 either way."""
    assert p_of(paired_permutation, CROSSED, SELFED, "greater") == pytest.approx(863 / 32768, abs=1e-15)
    assert p_of(paired_permutation, CROSSED, SELFED, "absolute") == pytest.approx(1726 / 32768, abs=1e-15)


def test_the_two_sided_definitions_differ_for_the_mouse_data():
    """Efron & Tibshirani (1993), chapter 15: 7 and 9 survival times."""
    expected = {"greater": 0.1409965034965035, "absolute": 0.2783216783216783, "doubled": 0.281993006993007}
    found = {name: p_of(two_sample_permutation, TREATED, CONTROL, name) for name in expected}
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("alternative", "scipys"), [("greater", "greater"), ("less", "less"), ("doubled", "two-sided")]
)
@pytest.mark.parametrize(("test", "kind"), [(two_sample_permutation, "independent"), (paired_permutation, "samples")])
def test_scipy_enumerates_the_same(alternative, scipys, test, kind):
    """Real numbers without a common denominator; SciPy doubles the smaller tail."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(0.6, 1, 7), rng.normal(size=7)
    theirs = permutation_test(
        (x, y), lambda a, b: a.mean() - b.mean(), permutation_type=kind, alternative=scipys, n_resamples=np.inf
    )
    assert p_of(test, x, y, alternative) == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(("n", "m", "in_x", "in_y"), [(1000, 1000, 540, 500), (30, 5, 4, 3), (6, 700, 5, 200)])
def test_two_values_follow_fishers_exact_test(n, m, in_x, in_y):
    x, y = np.arange(n) < in_x, np.arange(m) < in_y
    theirs = fisher_exact([[in_x, n - in_x], [in_y, m - in_y]], alternative="greater").pvalue
    assert p_of(two_sample_permutation, x, y, "greater") == pytest.approx(theirs, rel=1e-10)
    total = in_x + in_y
    ways = sum(comb(total, k) * comb(n + m - total, n - k) for k in range(in_x, min(total, n) + 1))
    exact = Fraction(ways, comb(n + m, n))
    assert p_of(two_sample_permutation, x / 3, y / 3, "greater") == pytest.approx(float(exact), rel=1e-10)


@LAW
@given(st.lists(WHOLE, min_size=1, max_size=5), st.lists(WHOLE, min_size=1, max_size=6), st.sampled_from(ALTERNATIVES))
def test_the_law_of_two_samples_is_that_of_all_relabellings(x, y, alternative):
    pool, n = np.array(x + y), len(x)
    # The difference of means times n m, in whole numbers.
    statistics = np.array([len(pool) * sum(c) - n * pool.sum() for c in combinations(pool.tolist(), n)])
    expected = enumerated(statistics, len(pool) * sum(x) - n * pool.sum(), alternative)
    assert p_of(two_sample_permutation, x, y, alternative) == pytest.approx(expected, abs=1e-12)


@LAW
@given(st.lists(WHOLE, min_size=1, max_size=8), st.sampled_from(ALTERNATIVES))
def test_the_law_of_pairs_is_that_of_all_signs(differences, alternative):
    statistics = np.array(list(product([-1, 1], repeat=len(differences)))) @ differences
    expected = enumerated(statistics, sum(differences), alternative)
    zeros = [0] * len(differences)
    assert p_of(paired_permutation, differences, zeros, alternative) == pytest.approx(expected, abs=1e-12)


@LAW
@given(
    st.lists(st.tuples(WHOLE, WHOLE), min_size=2, max_size=9),
    st.sampled_from([0.1, 1 / 3, 2**0.5, 1e-7]),
    st.sampled_from(ALTERNATIVES),
    st.sampled_from([two_sample_permutation, paired_permutation]),
)
def test_the_unit_does_not_matter_though_floats_do_not_hold_it_exactly(pairs, unit, alternative, test):
    """Sums of tenths, thirds or roots tie as the whole numbers do."""
    one, other = np.array(pairs).T
    expected = p_of(test, one, other, alternative)
    assert p_of(test, one * unit, other * unit, alternative) == pytest.approx(expected, abs=1e-12)


@LAW
@given(st.lists(WHOLE, min_size=1, max_size=7), st.lists(WHOLE, min_size=1, max_size=7))
def test_the_other_side_sees_the_other_tail(x, y):
    for here, there in (("greater", "less"), ("absolute", "absolute"), ("doubled", "doubled")):
        there_p = p_of(two_sample_permutation, y, x, there)
        assert p_of(two_sample_permutation, x, y, here) == pytest.approx(there_p, abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("test", [two_sample_permutation, paired_permutation])
def test_where_all_is_tied_nothing_is_surprising(test, alternative):
    assert p_of(test, [1.1] * 4, [1.1] * 4, alternative) == 1


def test_decimals_that_differ_by_a_constant_differ_so_in_every_pair():
    """Ten differences of 0.4, which floats do not all hold alike: 2 of 1024 sums of signs are as far out."""
    b = np.array([0.4, 0.45, 0.5, 0.38, 0.42, 0.48, 0.51, 0.46, 0.44, 0.49])
    assert p_of(paired_permutation, np.round(b + 0.4, 2), b, "absolute") == pytest.approx(2 / 1024, abs=1e-15)


@pytest.mark.parametrize(("differences", "alternative"), [([1, 1, 1, -3, 7], "less"), ([-1, -1, -1, 3, 7], "greater")])
def test_sums_that_only_rounding_tells_apart_are_tied(differences, alternative):
    """1 + 1 + 1 and 3, in sevenths of 2^40 and rounded, are not the same."""
    expected = p_of(paired_permutation, differences, [0] * 5, alternative)
    assert p_of(paired_permutation, np.array(differences) * 2**0.5, [0] * 5, alternative) == pytest.approx(expected)


def test_many_decimals_and_means_of_three_are_tested_exactly():
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 31, 120)
    for unit in (10, 3):
        a, b = np.split(scores / unit, 2)
        result = paired_permutation(a, b, alternative="absolute", resamples=9, rng=rng)
        assert result.method == "exact"
        assert result.p_value == p_of(paired_permutation, scores[:60], scores[60:], "absolute")


def test_narrow_unsigned_integers_do_not_wrap_around():
    small, large = np.array([1, 2, 3], dtype=np.uint8), np.array([250, 251, 252], dtype=np.uint8)
    assert p_of(paired_permutation, small, large, "less") == pytest.approx(1 / 8, abs=1e-15)
    assert p_of(two_sample_permutation, small, large, "less") == pytest.approx(1 / 20, abs=1e-15)


def test_a_chance_too_small_for_a_float_is_not_called_0():
    assert 0 < p_of(two_sample_permutation, np.ones(1000), np.zeros(1000), "greater") < 1e-300


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("test", "levels"), [(two_sample_permutation, 3), (two_sample_permutation, 200), (paired_permutation, 5)]
)
def test_random_permutations_agree_with_the_exact_law(monkeypatch, test, levels, alternative):
    """Few levels and many are drawn by different methods."""
    rng = np.random.default_rng(8)
    x, y = rng.integers(0, levels, 9) + levels / 5, rng.integers(0, levels, 9) + 0.5
    exact = p_of(test, x, y, alternative)
    monkeypatch.setattr(permutation, "_PARTIAL_SUMS", 0)
    monkeypatch.setattr(permutation, "_DRAWN_AT_ONCE", 5000)
    result = test(x, y, alternative=alternative, resamples=4000, rng=np.random.default_rng(2))
    assert (result.method, result.resamples, result.seed) == ("monte-carlo", 4000, 2)
    # A doubled tail was counted once.
    halves = 2 if alternative == "doubled" else 1
    assert binomtest(round(result.p_value / halves * 4001) - 1, 4000, exact / halves).pvalue > 0.01


def test_a_p_of_random_permutations_counts_the_observed_one():
    """No permutation of 400 separated values comes near: (0 + 1) / (999 + 1)."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(9, 1, 200), rng.normal(0, 1, 200)
    assert p_of(two_sample_permutation, x, y, "greater", resamples=999) == 0.001
    assert p_of(paired_permutation, x, y, "absolute", resamples=999) == 0.001


def test_the_same_seed_gives_the_same_p():
    x, y = np.random.default_rng(1).normal(size=(2, 60))
    assert p_of(two_sample_permutation, x, y, "doubled") == p_of(two_sample_permutation, x, y, "doubled")
    assert len({p_of(two_sample_permutation, x, y, "doubled", seed=seed) for seed in range(5)}) > 1


@pytest.mark.parametrize("alternative", ["greater", "doubled"])
def test_an_exact_test_of_equal_samples_rejects_as_often_as_it_can(alternative):
    """Of 792 relabellings 39 are at most 5%; with both tails, 19 and 19."""
    rng = np.random.default_rng(5)
    hits = sum(
        p_of(two_sample_permutation, *np.split(rng.normal(size=12), [5]), alternative) <= 0.05 for _ in range(400)
    )
    share = 39 / 792 if alternative == "greater" else 38 / 792
    assert binomtest(hits, 400, share).pvalue > 0.01


@pytest.mark.parametrize(("n", "m"), [(25, 25), (8, 60)])
def test_a_test_by_random_permutations_rejects_equal_samples_at_its_level(n, m):
    rng = np.random.default_rng(6)
    hits = sum(
        two_sample_permutation(
            rng.normal(size=n), rng.normal(size=m), alternative="absolute", resamples=99, rng=rng
        ).p_value <= 0.05
        for _ in range(500)
    )  # fmt: skip
    assert binomtest(hits, 500, 0.05).pvalue > 0.01


def test_pairs_that_depend_on_each_other_are_tested_at_the_level():
    """The members of a pair share most of their variance; a test that broke the pairs would hardly ever reject."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(500):
        shared = 3 * rng.normal(size=40)
        a, b = shared + rng.normal(size=40), shared + rng.normal(size=40)
        hits += paired_permutation(a, b, alternative="absolute", resamples=99, rng=rng).p_value <= 0.05
    assert binomtest(hits, 500, 0.05).pvalue > 0.01


@pytest.mark.parametrize(("p_x", "n", "m"), [(0.5, 30, 50), (0.97, 40, 40), (0.02, 60, 20)])
def test_shares_near_0_and_1_are_rejected_no_more_often_than_the_level(p_x, n, m):
    rng = np.random.default_rng(9)
    hits = sum(
        p_of(two_sample_permutation, rng.random(n) < p_x, rng.random(m) < p_x, "doubled") <= 0.05 for _ in range(400)
    )
    assert binomtest(hits, 400, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize(
    ("test", "one", "other", "resamples", "refusal", "words"),
    [
        (paired_permutation, [1, 2], [1], 9, InputRefused, "2 a, 1 b"),
        (paired_permutation, [], [], 9, TooFewObservations, "a: found no value"),
        (paired_permutation, [1, None], [1, 2], 9, InputRefused, "missing"),
        (paired_permutation, [1], [2], 0, InputRefused, "resamples: found 0"),
        (paired_permutation, [1], [2], 9.5, InputRefused, "resamples: found 9.5"),
        (two_sample_permutation, [1], [2], 9.5, InputRefused, "resamples: found 9.5"),
        (two_sample_permutation, [], [1], 9, TooFewObservations, "x: found no value"),
        (two_sample_permutation, [1], [], 9, TooFewObservations, "y: found no value"),
        (two_sample_permutation, [[1]], [1], 9, InputRefused, "2 dimensions"),
        (two_sample_permutation, [1], [2], -1, InputRefused, "resamples: found -1"),
    ],
)
def test_what_cannot_be_tested_is_refused(test, one, other, resamples, refusal, words):
    with pytest.raises(refusal, match=words):
        test(one, other, alternative="greater", resamples=resamples, rng=np.random.default_rng(1))


def test_values_at_either_end_of_what_a_float_holds_have_the_p_value_of_their_order():
    x, y = [1, 2, 3], [5, 6, 7]
    for scale in (1e-300, 1e300):
        found = two_sample_permutation(
            [scale * value for value in x],
            [scale * value for value in y],
            alternative="absolute",
            resamples=99,
            rng=np.random.default_rng(1),
        )
        assert found.p_value == pytest.approx(0.1, abs=1e-12)
    with pytest.raises(InputRefused, match="difference of means: found"):
        two_sample_permutation([1e308] * 3, [-1e308] * 3, alternative="less", resamples=9, rng=np.random.default_rng(1))
