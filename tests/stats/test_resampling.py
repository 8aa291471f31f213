"""Rows are drawn as the raw stream of a seed says, and each way to draw them follows the same law in bounded memory."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2, chisquare, multinomial, norm

from eval_pipeline.errors import InputRefused, TooFewClusters
from eval_pipeline.stats import resampling
from eval_pipeline.stats.resampling import drawn_rows, resampled_sums, resampled_weights, seed_of
from tests.stats.dealt import Dealt, halves_of
from tests.stats.laws import LAW
from tests.stats.memory import added_megabytes

PATHS = ("drawn", "grouped", "blocked")


def take_path(monkeypatch: pytest.MonkeyPatch, path: str, *, block: int = 8) -> None:
    """Sends even a table of two rows down one of the three paths."""
    monkeypatch.setattr(resampling, "_GROUPED_FROM", 1 if path == "grouped" else 10**9)
    monkeypatch.setattr(resampling, "_ROWS_OF_A_TYPE", 0)
    monkeypatch.setattr(resampling, "_BLOCKED_FROM", 1 if path == "blocked" else 10**9)
    monkeypatch.setattr(resampling, "_BLOCK", block)


def all_rows(clusters: int, *, resamples: int, seed: int) -> npt.NDArray[np.int64]:
    return np.concatenate(list(drawn_rows(clusters, resamples=resamples, rng=np.random.default_rng(seed))))


def test_the_raw_words_of_the_seed_are_those_that_numpy_guarantees():
    words = np.random.default_rng(4242).bit_generator.random_raw(3)
    assert [int(word) for word in words] == [0xC841A1F7798208A6, 0xABE68D91DB194302, 0x3CC4FEB11A717BFF]


def test_four_rows_of_a_seed_by_hand():
    # Lower half first: 0x7982.., 0xC841.., 0xDB19.., 0xABE6.. over 2^32 are .475, .782, .856, .671;
    # times 4: 1.90, 3.13, 3.42, 2.69.
    assert all_rows(4, resamples=1, seed=4242).tolist() == [[1, 3, 3, 2]]


@pytest.mark.parametrize(("clusters", "resamples"), [(2, 1), (3, 3), (7, 9), (90, 11), (4099, 3)])
def test_rows_are_those_of_a_plain_loop_over_the_halves_of_the_words(clusters, resamples):
    found = all_rows(clusters, resamples=resamples, seed=11)
    expected = [half * clusters // 2**32 for half in halves_of(11, clusters * resamples)]
    assert found.shape == (resamples, clusters)
    assert found.ravel().tolist() == expected


@pytest.mark.parametrize("at_once", [1, 7, 15, 22, 29, 1000])
def test_rows_do_not_depend_on_how_many_are_held_at_a_time(monkeypatch, at_once):
    expected = all_rows(7, resamples=9, seed=5)
    monkeypatch.setattr(resampling, "_AT_ONCE", at_once)
    lots = list(drawn_rows(7, resamples=9, rng=np.random.default_rng(5)))
    assert np.array_equal(np.concatenate(lots), expected)
    assert max(len(lot) for lot in lots) == min(9, max(2, at_once // 7 // 2 * 2))


class Constant:
    """A generator all of whose words are one."""

    def __init__(self, word: int) -> None:
        self.word, self.bit_generator = word, self

    def random_raw(self, size: int) -> npt.NDArray[np.uint64]:
        return np.full(size, self.word, dtype=np.uint64)


@pytest.mark.parametrize("rows", [2, 3, 4099, 2**20])
def test_the_smallest_number_draws_the_first_row_and_the_largest_the_last(rows):
    assert np.unique(next(drawn_rows(rows, resamples=1, rng=Constant(0)))).tolist() == [0]
    assert np.unique(next(drawn_rows(rows, resamples=1, rng=Constant(2**64 - 1)))).tolist() == [rows - 1]


def one_column_each(rows: int) -> list[npt.NDArray[np.int64]]:
    """A column for each row, 1 there and 0 elsewhere: its sum is how often the row was drawn."""
    return list(np.eye(rows, dtype=np.int64))


@pytest.mark.parametrize("path", PATHS)
def test_every_resample_is_as_likely_as_every_other(monkeypatch, path):
    take_path(monkeypatch, path, block=2)
    sums = resampled_sums(one_column_each(3), resamples=27_000, rng=np.random.default_rng(8))
    orders = [tuple(draw.count(row) for row in range(3)) for draw in product(range(3), repeat=3)]
    kinds = sorted(set(orders))
    drawn = [(sums == kind).all(axis=1).sum() for kind in kinds]
    assert chisquare(drawn, [1000 * orders.count(kind) for kind in kinds]).pvalue > 0.01


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("rows", [2, 7, 8, 9, 15, 16, 17])
def test_each_row_is_drawn_by_the_binomial_law_wherever_a_block_ends(monkeypatch, path, rows):
    take_path(monkeypatch, path)
    resamples = 3001
    sums = resampled_sums(one_column_each(rows), resamples=resamples, rng=np.random.default_rng(rows))
    assert sums.shape == (resamples, rows)
    assert (sums.sum(axis=1) == rows).all()
    assert chisquare(sums.sum(axis=0)).pvalue > 0.001
    law = np.append(binom.pmf(range(3), rows, 1 / rows), binom.sf(2, rows, 1 / rows))
    law = law[law > 0]
    for row in (0, rows // 2, rows - 1):
        often = np.bincount(sums[:, row].clip(max=len(law) - 1), minlength=len(law))
        assert chisquare(often, resamples * law).pvalue > 0.001


@pytest.mark.parametrize("path", PATHS)
def test_rows_of_different_blocks_are_drawn_by_the_trinomial_law(monkeypatch, path):
    """Of 11 rows in blocks of 4, 4 and 3: some in the first two, some in the last two, the rest."""
    take_path(monkeypatch, path, block=4)
    place = np.array([0, 1, 2, 0, 1, 1, 2, 2, 1, 0, 2])
    columns = [(place == kind).astype(np.int64) for kind in range(3)]
    sums = resampled_sums(columns, resamples=20_000, rng=np.random.default_rng(12))
    kinds = [(a, b, 11 - a - b) for a in range(12) for b in range(12 - a)]
    chances = 20_000 * multinomial.pmf(kinds, 11, [3 / 11, 4 / 11, 4 / 11])
    table = np.zeros((12, 12), dtype=np.int64)
    np.add.at(table, (sums[:, 0], sums[:, 1]), 1)
    drawn = np.array([table[a, b] for a, b, _ in kinds])
    often = chances >= 5
    pooled = [np.append(each[often], each[~often].sum()) for each in (drawn, chances)]
    assert chisquare(*pooled).pvalue > 0.01


@pytest.mark.parametrize(
    ("rows", "largest"),
    [
        pytest.param(9_999, 9, id="each-row"),
        pytest.param(10_001, 4, id="types"),
        pytest.param(10_001, 9999, id="each-row-where-few-repeat"),
        pytest.param(100_001, 2**20, id="blocks-and-a-part-of-one"),
        pytest.param(13 * 8192, 2**20, id="whole-blocks"),
        pytest.param(13 * 8192 + 1, 2**20, id="whole-blocks-and-a-row"),
    ],
)
def test_sums_have_the_exact_mean_variance_and_covariance_at_every_size(rows, largest):
    """The sum of k draws has the mean of the total, and k times the covariance of the rows."""
    rng = np.random.default_rng(rows)
    first = rng.integers(0, largest, rows)
    columns = [first, first // 2 + rng.integers(0, largest, rows)]
    resamples = 160
    sums = resampled_sums(columns, resamples=resamples, rng=rng)
    exact = rows * np.cov(columns, ddof=0)
    z = (sums.mean(axis=0) - [column.sum() for column in columns]) / np.sqrt(np.diag(exact) / resamples)
    assert norm.sf(abs(z)).min() > 0.002
    # Whitened sums are uncorrelated with variance 1: (B - 1) times a sample variance is chi-square.
    white = np.linalg.solve(np.linalg.cholesky(exact), (sums - sums.mean(axis=0)).T)
    low, high = chi2.ppf([0.001, 0.999], resamples - 1)
    assert low < (white[0] ** 2).sum() < high
    assert low < (white[1] ** 2).sum() < high
    assert abs(np.corrcoef(white)[0, 1]) < 3.3 / np.sqrt(resamples)


def test_rows_at_the_start_and_the_end_of_100001_are_drawn_like_the_others():
    marked = [np.zeros(100_001, dtype=np.int64) for _ in range(3)]
    for column, part in zip(marked, (slice(0, 500), slice(8000, 8400), slice(-1697, None)), strict=True):
        column[part] = 1
    # A column of distinct numbers keeps the rows from being grouped.
    sums = resampled_sums([*marked, np.arange(100_001)], resamples=200, rng=np.random.default_rng(6))[:, :3]
    expected = 200 * np.array([500, 400, 1697])
    z = (sums.sum(axis=0) - expected) / np.sqrt(expected)
    assert norm.sf(abs(z)).min() > 0.001
    scatter = ((sums - [500, 400, 1697]) ** 2 / np.array([500, 400, 1697])).sum(axis=0)
    assert chi2.ppf(0.001, 200) < scatter.min() <= scatter.max() < chi2.ppf(0.999, 200)


@pytest.mark.parametrize(("rows", "largest"), [(10_000, 3), (10_001, 10**6), (100_000, 10**6)])
def test_sums_are_those_of_the_rows_drawn_up_to_10000_rows_and_up_to_100000_that_do_not_repeat(rows, largest):
    table = np.random.default_rng(2).integers(0, largest, (rows, 2))
    found = resampled_sums(list(table.T), resamples=12, rng=np.random.default_rng(6))
    expected = [table[drawn].sum(axis=0).tolist() for drawn in all_rows(rows, resamples=12, seed=6)]
    assert found.tolist() == expected


def test_beyond_10000_rows_that_repeat_their_order_does_not_matter():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 4, (10_001, 2))
    found = [
        resampled_sums(list(rows.T), resamples=20, rng=np.random.default_rng(9))
        for rows in (table, table[::-1], rng.permutation(table))
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert len(np.unique(found[0], axis=0)) > 15


@LAW
@given(st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 3)), min_size=1, max_size=5), st.integers(26, 40))
def test_the_types_are_the_distinct_rows_with_how_often_each_stands(distinct, times):
    """Of keys that a table counts, and of longer ones that are sorted."""
    rows = np.array(distinct * times)
    repeats, columns = resampling._types(list(rows.T))
    expected = {row: times * distinct.count(row) for row in distinct}
    assert dict(zip(zip(*(c.tolist() for c in columns), strict=True), repeats.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param([np.arange(1000)], id="few-repeat"),
        pytest.param([np.full(1000, 2**40)] * 2, id="keys-beyond-63-bits"),
    ],
)
def test_rows_that_do_not_repeat_or_do_not_fit_a_key_have_no_types(columns):
    assert resampling._types(columns) is None


def test_rows_have_types_where_each_repeats_25_times_and_none_where_it_does_not():
    assert resampling._types([np.repeat(np.arange(40), 25)])[0].tolist() == [25] * 40
    assert resampling._types([np.repeat(np.arange(40), 25)[1:]]) is None


@pytest.mark.parametrize("columns", [1, 2, 3, 8])
@pytest.mark.parametrize(
    "largest",
    [
        pytest.param(0, id="nothing"),
        pytest.param(1, id="one"),
        pytest.param((2**31 - 1) // 90, id="sums-just-within-31-bits"),
        pytest.param(2**31 // 90 + 1, id="sums-just-beyond-31-bits"),
        pytest.param((2**63 - 1) // 90, id="sums-of-63-bits"),
    ],
)
def test_sums_are_exact_however_large_the_counts_and_however_many_the_columns(columns, largest):
    table = np.random.default_rng(columns).integers(0, largest, (90, columns), endpoint=True)
    table[:45] = largest
    found = resampled_sums(list(table.T), resamples=20, rng=np.random.default_rng(6))
    rows = table.tolist()
    drawn = [rows[half * 90 // 2**32] for half in halves_of(6, 20 * 90)]
    for place, sums in enumerate(found.tolist()):
        assert sums == [sum(column) for column in zip(*drawn[90 * place : 90 * place + 90], strict=True)]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("largest", [1, 6, 2**20 - 1, 2**29, (2**63 - 1) // 37])
def test_columns_that_add_up_have_sums_that_add_up_on_every_path(monkeypatch, path, largest):
    """Even where every row drawn is the largest: nothing runs over from one column of a word into the next."""
    take_path(monkeypatch, path)
    part = np.random.default_rng(4).integers(0, largest, 37, endpoint=True)
    part[:20] = largest
    columns = [part, largest - part, np.full(37, largest), part, np.zeros(37, dtype=np.int64)]
    sums = resampled_sums(columns, resamples=40, rng=np.random.default_rng(5)).tolist()
    for first, second, both, again, nothing in sums:
        assert first + second == both == 37 * largest
        assert (again, nothing) == (first, 0)
    assert len({row[0] for row in sums}) > 5


@pytest.mark.parametrize("path", PATHS)
def test_sums_that_could_leave_63_bits_are_refused_on_every_path(monkeypatch, path):
    take_path(monkeypatch, path)
    columns = [np.ones(37, dtype=np.int64), np.full(37, (2**63 - 1) // 37 + 1)]
    with pytest.raises(InputRefused, match=r"sum of up to 9\.22337e\+18, expected less than 2\^63"):
        resampled_sums(columns, resamples=3, rng=np.random.default_rng(1))


def test_sums_do_not_depend_on_how_many_rows_are_held_at_a_time(monkeypatch):
    columns = list(np.random.default_rng(2).integers(0, 9, (2, 31)))
    expected = resampled_sums(columns, resamples=15, rng=np.random.default_rng(5))
    monkeypatch.setattr(resampling, "_AT_ONCE", 70)
    assert np.array_equal(resampled_sums(columns, resamples=15, rng=np.random.default_rng(5)), expected)


@LAW
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6).filter(lambda repeats: sum(repeats) > 1), st.integers(0, 99))
def test_weights_count_the_types_of_the_rows_drawn(repeats, seed):
    clusters = sum(repeats)
    lots = resampled_weights(np.array(repeats), resamples=5, rng=np.random.default_rng(seed))
    type_of = [kind for kind, times in enumerate(repeats) for _ in range(times)]
    drawn = [[type_of[row] for row in rows] for rows in all_rows(clusters, resamples=5, seed=seed).tolist()]
    expected = [[rows.count(kind) for kind in range(len(repeats))] for rows in drawn]
    assert np.concatenate(list(lots)).tolist() == expected


@pytest.mark.parametrize("grouped_from", [0, 10**9])
def test_weights_follow_the_multinomial_law_and_do_not_depend_on_the_lots(monkeypatch, grouped_from):
    monkeypatch.setattr(resampling, "_GROUPED_FROM", grouped_from)
    monkeypatch.setattr(resampling, "_ROWS_OF_A_TYPE", 1)
    repeats = np.array([1, 2, 3])

    def weights() -> npt.NDArray[np.int64]:
        return np.concatenate(list(resampled_weights(repeats, resamples=20_001, rng=np.random.default_rng(3))))

    found = weights()
    kinds = np.array([(a, b, 6 - a - b) for a in range(7) for b in range(7 - a)])
    chances = 20_001 * multinomial.pmf(kinds, 6, repeats / 6)
    drawn = np.array([(found == kind).all(axis=1).sum() for kind in kinds])
    often = chances >= 5
    pooled = [np.append(each[often], each[~often].sum()) for each in (drawn, chances)]
    assert chisquare(*pooled).pvalue > 0.01
    monkeypatch.setattr(resampling, "_AT_ONCE", 7_000)
    assert np.array_equal(weights(), found)


def test_weights_of_many_clusters_are_drawn_as_their_sums_are():
    repeats = np.array([9_000, 900, 101])
    worth = np.repeat([5, 7, 0], repeats)
    weights = np.concatenate(list(resampled_weights(repeats[[2, 0, 1]], resamples=9, rng=np.random.default_rng(3))))
    sums = resampled_sums([worth], resamples=9, rng=np.random.default_rng(3))
    assert (weights @ [0, 5, 7]).tolist() == sums[:, 0].tolist()


@pytest.mark.parametrize(
    ("rows", "largest", "resamples"),
    [
        pytest.param(10**6, 6, 200, id="a-million-of-few-types"),
        pytest.param(10**6, 2**30, 16, id="a-million-that-do-not-repeat"),
        pytest.param(10**6, 2**43, 4, id="a-million-too-long-for-a-key"),
        pytest.param(10**5, 2**30, 60, id="the-most-of-which-each-row-is-drawn"),
    ],
)
def test_a_resampling_of_a_million_rows_adds_less_than_50_megabytes(rows, largest, resamples):
    columns = list(np.random.default_rng(1).integers(0, largest, (2, rows)))
    rng = np.random.default_rng(2)
    assert added_megabytes(lambda: resampled_sums(columns, resamples=resamples, rng=rng)) < 50


def test_drawn_rows_and_weights_of_many_resamples_add_less_than_50_megabytes():
    rng, repeats = np.random.default_rng(2), np.full(4_000, 2)
    assert added_megabytes(lambda: [len(lot) for lot in drawn_rows(8_000, resamples=600, rng=rng)]) < 50
    assert added_megabytes(lambda: [len(lot) for lot in resampled_weights(repeats, resamples=600, rng=rng)]) < 50
    many = np.full(4_000, 25)
    assert added_megabytes(lambda: [len(lot) for lot in resampled_weights(many, resamples=1_500, rng=rng)]) < 50


@pytest.mark.parametrize("seed", [0, 4242, 2**100, np.int64(7)])
def test_the_seed_of_a_generator_is_told_and_makes_it_again(seed):
    found = seed_of(np.random.default_rng(seed))
    assert found == seed
    assert np.random.default_rng(found).random() == np.random.default_rng(seed).random()


@pytest.mark.parametrize(
    "rng",
    [
        pytest.param(np.random.default_rng([1, 2]), id="of-several-numbers"),
        pytest.param(np.random.default_rng(np.random.SeedSequence(5).spawn(2)[1]), id="of-a-spawned-sequence"),
        pytest.param(np.random.default_rng(5).spawn(1)[0], id="spawned"),
        pytest.param(Dealt([0, 1], 2), id="of-no-sequence"),
    ],
)
def test_a_generator_that_one_number_does_not_make_again_has_no_seed(rng):
    assert seed_of(rng) is None


ESTIMATORS = {
    "rows": lambda clusters, **changed: list(drawn_rows(clusters, **changed)),
    "sums": lambda clusters, **changed: resampled_sums([np.ones(clusters, dtype=np.int64)], **changed),
    "weights": lambda clusters, **changed: list(resampled_weights(np.ones(clusters, dtype=np.int64), **changed)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("clusters", [0, 1])
def test_fewer_than_two_clusters_are_refused(name, clusters):
    with pytest.raises(TooFewClusters, match=f"at least 2 clusters and was given {clusters}"):
        ESTIMATORS[name](clusters, resamples=5, rng=np.random.default_rng(1))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("resamples", [0, -1])
def test_no_resamples_are_refused(name, resamples):
    with pytest.raises(InputRefused, match=f"resamples: found {resamples}, expected 1 or more"):
        ESTIMATORS[name](5, resamples=resamples, rng=np.random.default_rng(1))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_generator_of_32_bit_words_is_refused(name):
    """The upper halves of its words are all 0, so that every other row would be the first."""
    with pytest.raises(InputRefused, match="32-bit words, expected one of 64 bits"):
        ESTIMATORS[name](5, resamples=5, rng=np.random.Generator(np.random.MT19937(1)))
