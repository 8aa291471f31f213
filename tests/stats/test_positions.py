"""What raters differ in for good: its share of their disagreement, and whether chance makes so large a one."""

from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, f_oneway

from eval_pipeline.errors import InputRefused, NoVariation, TooFewClusters
from eval_pipeline.stats import positions
from eval_pipeline.stats.positions import Positions, lasting_positions
from tests.stats.laws import LAW

Table = npt.NDArray[np.float64]


def rows_of(table: Any) -> tuple[Table, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Scores, units and raters of a table of units by raters; NaN where a rater did not rate a unit."""
    scores = np.asarray(table, dtype=float)
    unit, rater = np.nonzero(~np.isnan(scores))
    return scores[unit, rater], unit, rater


def found_in(table: Any, *, resamples: int = 200, seed: int = 1) -> Positions:
    return lasting_positions(*rows_of(table), resamples=resamples, rng=np.random.default_rng(seed))


def offsets(table: Table) -> Table:
    """How far each score lies off the mean of its unit, where the unit has two scores or more."""
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    return np.asarray(table - np.nanmean(table, axis=1, keepdims=True))


def share_of(off: Table) -> float:
    """The definition, rater by rater."""
    columns = [column[~np.isnan(column)] for column in off.T]
    explained = sum(len(column) * column.mean() ** 2 for column in columns if len(column))
    return float(explained / np.nansum(off**2))


def all_exchanges(off: Table) -> Table:
    """The share after each of the ways in which the raters of each unit can trade their scores."""
    rated = [np.flatnonzero(~np.isnan(row)) for row in off]
    shares = []
    for orders in product(*(permutations(places) for places in rated)):
        traded = np.full(off.shape, np.nan)
        for unit, (places, order) in enumerate(zip(rated, orders, strict=True)):
            traded[unit, places] = off[unit, list(order)]
        shares.append(share_of(traded))
    return np.array(shares)


def incomplete(rng: np.random.Generator, units: int, raters: int) -> Table:
    """Units rated by two of the raters or more, on a scale that makes no ties."""
    table = rng.normal(size=(units, 1)) + rng.normal(size=(units, raters))
    for row in table:
        row[rng.permutation(raters)[: rng.integers(0, raters - 1)]] = np.nan
    return np.asarray(table)


def test_two_raters_of_whom_one_always_gives_more_explain_all_of_it() -> None:
    # Offsets -1 and 1 in both units: 2 * 1 + 2 * 1 of 4. Of the four ways to trade, two leave the signs alike (share 1)
    # and two do not (share 0).
    found = found_in([[0, 2], [1, 3]], resamples=4_000)
    assert found.share == 1.0
    assert found.by_chance == pytest.approx(0.5, abs=0.03)
    assert found.p_value == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("table", "share"),
    [
        # Offsets of the first -1, -1, 0: mean -2/3, and 2/3 of the second: 3 * 4/9 * 2 = 8/3 of 4.
        ([[0, 2], [1, 3], [2, 2]], 2 / 3),
        # Offsets a -1, 0; b 1, -1; c 1, 0: 2 * 1/4 + 0 + 2 * 1/4 = 1 of 4.
        ([[0, 2, None], [None, 1, 3], [1, None, 1]], 1 / 4),
        # One gives more once and less once: nothing lasts.
        ([[0, 2], [3, 1]], 0.0),
        # Offsets -2, 1, 1 and -1, 2, -1: means -1.5, 1.5, 0, so 2 * 2.25 * 2 = 9 of 12.
        ([[0, 3, 3], [0, 3, 0]], 3 / 4),
    ],
)
def test_the_share_by_hand(table: Any, share: float) -> None:
    assert found_in(np.array(table, dtype=float)).share == pytest.approx(share, abs=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_share_chance_and_p_value_are_those_of_all_exchanges(seed: int) -> None:
    """Every way to trade, up to 6^5, with units of two raters and of three, and the rows in no order."""
    table = incomplete(np.random.default_rng(seed), units=5, raters=3)
    table[0, 0] = np.nan
    every = all_exchanges(offsets(table))
    rng = np.random.default_rng(seed)
    mixed = rng.permutation(int((~np.isnan(table)).sum()))
    found = lasting_positions(*(column[mixed] for column in rows_of(table)), resamples=6_000, rng=rng)
    assert found.share == pytest.approx(share_of(offsets(table)), abs=1e-12)
    exact = (every >= found.share - 1e-9).mean()
    assert found.p_value == pytest.approx(exact, abs=4 * (0.25 / 6_000) ** 0.5)
    assert found.by_chance == pytest.approx(every.mean(), abs=4 * every.std() / 6_000**0.5)


@pytest.mark.parametrize("seed", range(3))
def test_the_share_by_chance_has_a_closed_form(seed: int) -> None:
    """Offsets that trade within units have mean 0 there, so that of a rater sums the units' variances over n_r."""
    off = offsets(incomplete(np.random.default_rng(seed), units=4, raters=3))
    variances = np.nanmean(off**2, axis=1)
    rated = ~np.isnan(off)
    sizes = rated.sum(axis=0)
    expected = sum(variances[rated[:, rater]].sum() / n for rater, n in enumerate(sizes) if n) / np.nansum(off**2)
    assert all_exchanges(off).mean() == pytest.approx(expected, abs=1e-12)


def test_of_raters_who_all_rate_all_chance_explains_one_part_in_as_many_as_there_are_units() -> None:
    table = np.random.default_rng(3).normal(size=(25, 4))
    assert found_in(table, resamples=4_000).by_chance == pytest.approx(1 / 25, abs=0.002)


@pytest.mark.parametrize("seed", range(5))
def test_the_share_is_that_of_a_one_way_analysis_of_variance_of_the_offsets(seed: int) -> None:
    """scipy.stats.f_oneway 1.17.1: F = share / (1 - share) * (n - k) / (k - 1)."""
    table = incomplete(np.random.default_rng(seed), units=30, raters=5)
    off = offsets(table)
    by_rater = [column[~np.isnan(column)] for column in off.T]
    f = f_oneway(*by_rater).statistic
    n, k = sum(map(len, by_rater)), len(by_rater)
    share = found_in(table).share
    assert f == pytest.approx(share / (1 - share) * (n - k) / (k - 1), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([-3.0, 0.01, 1.0, 250.0]))
@LAW
def test_neither_unit_nor_origin_nor_names_nor_units_that_one_rated_change_anything(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    table = incomplete(rng, units=12, raters=4)
    before = found_in(table, resamples=50)
    assert 0 <= before.share <= 1
    moved = scale * table + rng.normal(size=(12, 1)) * 10
    after = found_in(moved, resamples=50)
    assert after.share == pytest.approx(before.share, abs=1e-9)
    assert after.by_chance == pytest.approx(before.by_chance, abs=1e-9)
    assert after.p_value == before.p_value
    renamed = rng.permutation(4)
    assert found_in(table[:, renamed]).share == pytest.approx(before.share, abs=1e-12)
    scores, unit, rater = rows_of(table)
    order = rng.permutation(len(scores))
    names = np.array(["d", "a", "c", "b"])[rater]
    shuffled = lasting_positions(scores[order], unit[order], names[order], resamples=50, rng=np.random.default_rng(1))
    assert shuffled.share == pytest.approx(before.share, abs=1e-12)
    alone = np.full((6, 5), np.nan)
    alone[np.arange(6), rng.integers(5, size=6)] = rng.normal(size=6)
    widened = np.vstack([alone, np.column_stack([table, np.full(12, np.nan)])])
    assert found_in(widened, resamples=50) == before


def test_p_values_are_uniform_where_raters_err_alike() -> None:
    """500 studies of 12 units by 4 raters, some missing, each with 99 resamples: p <= .05 in 5 %, p <= .5 in half."""
    rng = np.random.default_rng(8)
    found = np.array([found_in(incomplete(rng, 12, 4), resamples=99, seed=seed).p_value for seed in range(500)])
    for level in (0.05, 0.25, 0.5, 0.9):
        assert binomtest(int((found <= level + 1e-9).sum()), 500, level).pvalue > 0.01


def test_on_a_scale_of_four_levels_the_test_errs_no_more_often_than_it_says() -> None:
    rng = np.random.default_rng(9)
    studies = [np.clip(np.round(1.5 + rng.normal(size=(20, 3))), 0, 3) for _ in range(300)]
    found = np.array([found_in(table, resamples=99, seed=seed).p_value for seed, table in enumerate(studies)])
    assert binomtest(int((found <= 0.05).sum()), 300, 0.05, alternative="greater").pvalue > 0.01


def test_positions_that_last_are_found() -> None:
    """Three raters who lie off by -.6, 0 and .6 of the standard deviation of a score, in 60 studies of 40 units."""
    rng = np.random.default_rng(10)
    tables = [rng.normal(size=(40, 1)) + rng.normal(size=(40, 3)) + [-0.6, 0, 0.6] for _ in range(60)]
    found = [found_in(table, resamples=199, seed=seed) for seed, table in enumerate(tables)]
    assert np.mean([one.p_value <= 0.05 for one in found]) > 0.95
    # Per unit: positions 2 * .36 = .72, noise 2, of which raters' means pick up one part in 40.
    assert np.mean([one.share for one in found]) == pytest.approx((0.72 + 2 / 40) / 2.72, abs=0.02)


def test_the_same_seed_gives_the_same_and_is_told() -> None:
    table = incomplete(np.random.default_rng(0), 10, 3)
    first, again, other = (found_in(table, resamples=30, seed=seed) for seed in (4, 4, 5))
    assert first == again
    assert first != other
    assert (first.seed, first.resamples, other.seed) == (4, 30, 5)


def test_a_share_that_no_permutation_reaches_counts_itself() -> None:
    """Two raters who differ alike in 40 units: of nine permutations none leaves all signs alike."""
    assert found_in([[unit, unit + 1] for unit in range(40)], resamples=9).p_value == 1 / 10
    assert found_in([[0, 1]], resamples=9).p_value == 1


def test_permutations_in_blocks_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).normal(size=(10, 3))
    at_once = found_in(table, resamples=25)
    monkeypatch.setattr(positions, "_ORDERS_AT_ONCE", 100)  # blocks of three, and one of one
    in_blocks = found_in(table, resamples=25)
    assert (in_blocks.p_value, in_blocks.resamples) == (at_once.p_value, 25)
    assert in_blocks.by_chance == pytest.approx(at_once.by_chance, abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 0.1, -3.0, 1e9 + 0.1])
def test_raters_who_agree_on_every_unit_are_refused(level: float) -> None:
    with pytest.raises(NoVariation, match="no two raters of a unit differ"):
        found_in([[level, level, level], [2.3, 2.3, 2.3], [7.7, np.nan, 7.7]])


@pytest.mark.parametrize(
    ("scores", "units", "raters"),
    [
        ([], [], []),
        ([1.0, 2.0, 3.0], [0, 1, 2], ["a", "b", "a"]),
        ([1.0, 2.0], [0, 0], ["a", "a"]),
        ([1.0, 2.0, 5.0], [0, 0, 1], ["a", "a", "b"]),
    ],
    ids=["nothing", "no unit twice", "one rater", "one rater where units are shared"],
)
def test_where_nobody_rates_what_another_rates_no_position_shows(scores: Any, units: Any, raters: Any) -> None:
    with pytest.raises(TooFewClusters, match="no unit was rated by two raters"):
        lasting_positions(scores, units, raters, resamples=9, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"scores": [1.0, np.nan, 2.0, 1.0]}, "scores: found"),
        ({"scores": [[1.0, 2.0], [2.0, 1.0]]}, "scores: found 2 dimensions, expected 1"),
        ({"scores": ["1", "2", "x", "3"]}, "scores"),
        ({"units": [0, 0, 1]}, "units"),
        ({"units": [0, 0, 1, None]}, "units: found a missing value"),
        ({"raters": ["a", "b", 3, "b"]}, "raters: found values of different kinds"),
        ({"resamples": 0}, "resamples: found 0"),
        ({"resamples": 1.5}, "resamples"),
    ],
)
def test_what_is_no_row_of_finite_numbers_with_their_units_and_raters_is_refused(
    changed: dict[str, Any], said: str
) -> None:
    good: dict[str, Any] = {
        "scores": [1.0, 2.0, 2.0, 1.0],
        "units": [0, 0, 1, 1],
        "raters": ["a", "b", "a", "b"],
        "resamples": 9,
    }
    lasting_positions(**good, rng=np.random.default_rng(0))
    with pytest.raises(InputRefused, match=said):
        lasting_positions(**good | changed, rng=np.random.default_rng(0))
