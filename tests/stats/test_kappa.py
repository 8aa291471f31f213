"""Kappa and AC1 are what their authors published, and kappa falls with prevalence where AC1 does not."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats import inter_rater

from eval_pipeline.errors import InputRefused, NoVariation, TooFewObservations
from eval_pipeline.stats.agreement import Agreement
from eval_pipeline.stats.kappa import cohen_kappa, fleiss_kappa, gwet_ac1, is_paradox, paradox, raw_agreement
from tests.stats.laws import LAW

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
WEIGHTS = ["none", "linear", "quadratic"]
BY_UNIT: list[Callable[..., Agreement]] = [raw_agreement, fleiss_kappa, gwet_ac1]

# Four raters, twelve units: Gwet (2014), Handbook of Inter-Rater Reliability, 4th edition, chapter 2.
GWET = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, None],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ],
    dtype=object,
).T

# 15 units rated by none to five of five; 0 where a rating is missing.
GAPS = "10000 23100 00210 00300 00022 03001 22100 00332 00011 00030 02012 33331 02011 11010 11030"

# How many of 14 raters gave each of 5 categories: Fleiss' kappa in Wikipedia, .210.
FOURTEEN = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
SAS = [[0, 4, 1], [0, 8, 0], [0, 1, 5]]
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]

TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=raters, max_size=raters), min_size=1, max_size=10
    )
)
SQUARES = st.integers(2, 4).flatmap(
    lambda q: st.lists(st.lists(st.integers(0, 9), min_size=q, max_size=q), min_size=q, max_size=q)
)


def from_counts(counts: Sequence[Sequence[int]]) -> list[list[int]]:
    """Units by raters, from how many raters gave each category."""
    return [list(np.repeat(np.arange(len(row)), row)) for row in counts]


def from_square(square: Sequence[Sequence[int]]) -> np.ndarray:
    """The pairs of ratings that a square table counts."""
    size = len(square)
    return np.repeat([(i, j) for i in range(size) for j in range(size)], np.ravel(square), axis=0)


def of_gaps() -> list[list[int | None]]:
    return [[int(mark) or None for mark in unit] for unit in GAPS.split()]


def by_pairs(table, categories) -> tuple[Fraction, dict] | None:
    """The share of ordered pairs that agree, averaged over units, and the categories' shares, in exact arithmetic."""
    units = [[rating for rating in unit if rating is not None] for unit in table]
    units, twice = [unit for unit in units if unit], [unit for unit in units if len(unit) >= 2]
    if not twice:
        return None
    alike = [
        Fraction(
            sum(x == y for i, x in enumerate(unit) for j, y in enumerate(unit) if i != j), len(unit) * (len(unit) - 1)
        )
        for unit in twice
    ]
    shares = {c: sum(Fraction(unit.count(c), len(unit)) for unit in units) / len(units) for c in categories}
    return sum(alike) / len(twice), shares


def test_coefficients_of_units_by_hand():
    table = [["a", "a", "b"], ["b", "b", None], ["a", None, None]]
    # Pairs that agree: 1/3 and 1; the third unit has none. Shares of a: 2/3, 0, 1, mean 5/9.
    assert raw_agreement(table).estimate == pytest.approx(2 / 3, abs=1e-14)
    assert fleiss_kappa(table).estimate == pytest.approx(1 - (1 / 3) / (1 - (25 + 16) / 81), abs=1e-14)
    # Of two categories, p_e = 2 p (1 - p).
    assert gwet_ac1(table).estimate == pytest.approx(1 - (1 / 3) / (1 - 2 * 20 / 81), abs=1e-14)
    # Of a third that nobody gave, p_e = (p (1 - p) + (1 - p) p) / 2.
    assert gwet_ac1(table, categories="abc").estimate == pytest.approx(1 - (1 / 3) / (1 - 20 / 81), abs=1e-14)
    for coefficient in BY_UNIT:
        assert (coefficient(table).units, coefficient(table).ratings) == (2, 5)


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        (FOURTEEN, 0.20993070442195522),
        ([[7, 1], [3, 5]], 17 / 105),
        ([[7, 0], [0, 7]], 1.0),
        ([[1, 1]], -1.0),
    ],
)
def test_statsmodels_agrees_on_the_kappa_of_complete_tables(counts, kappa):
    found = fleiss_kappa(from_counts(counts)).estimate
    assert found == pytest.approx(kappa, abs=1e-12)
    assert found == pytest.approx(inter_rater.fleiss_kappa(np.array(counts)), abs=1e-12)


@given(TABLES.filter(lambda table: len({rating for unit in table for rating in unit}) > 1))
@LAW
def test_statsmodels_agrees_where_nothing_is_missing(table):
    complete = np.array([[4 if rating is None else rating for rating in unit] for unit in table])
    theirs = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(complete)[0])
    assert fleiss_kappa(complete).estimate == pytest.approx(theirs, abs=1e-12)


def test_irr_cac_agrees_where_ratings_are_missing():
    """irrCAC 0.4.4, digits=12: CAC(frame).fleiss()["est"] and gwet(), whose "pa" is the raw agreement.

    It needs an old SciPy. Its frame is of units by raters, and it takes the categories that occur.
    """
    assert raw_agreement(GWET).estimate == pytest.approx(0.8181818182, abs=1e-9)
    assert fleiss_kappa(GWET).estimate == pytest.approx(0.7611692754, abs=1e-9)
    assert gwet_ac1(GWET).estimate == pytest.approx(0.7754440681, abs=1e-9)
    assert raw_agreement(of_gaps()).estimate == pytest.approx(0.438888888889, abs=1e-11)
    assert fleiss_kappa(of_gaps()).estimate == pytest.approx(0.136181179583, abs=1e-11)
    assert gwet_ac1(of_gaps()).estimate == pytest.approx(0.168988744323, abs=1e-11)
    assert (fleiss_kappa(GWET).units, fleiss_kappa(GWET).ratings) == (11, 40)


def test_ac1_of_two_raters_is_as_published():
    """Gwet (2014): abstractors of 100 pregnant women, .849331; the table of a paradox, .940776."""
    assert gwet_ac1(from_square(ABSTRACTORS)).estimate == pytest.approx(0.8493305482313461, abs=1e-12)
    assert gwet_ac1(from_square([[118, 5], [2, 0]])).estimate == pytest.approx(0.9407763376087177, abs=1e-12)


@given(TABLES, st.integers(4, 6))
@LAW
def test_coefficients_of_units_are_their_definition_pair_by_pair(table, categories):
    parts = by_pairs(table, range(categories))
    assume(parts is not None)
    raw, shares = parts
    assert raw_agreement(table, categories=range(categories)).estimate == pytest.approx(float(raw), abs=1e-12)
    chance = sum(share * (1 - share) for share in shares.values()) / (categories - 1)
    ac1 = gwet_ac1(table, categories=range(categories)).estimate
    assert ac1 == pytest.approx(float((raw - chance) / (1 - chance)), abs=1e-12)
    chance = sum(share**2 for share in shares.values())
    if chance < 1:
        kappa = fleiss_kappa(table).estimate
        assert kappa == pytest.approx(float((raw - chance) / (1 - chance)), abs=1e-12)


@given(TABLES, st.permutations("wxyz"), st.randoms(use_true_random=False), st.integers(2, 4))
@LAW
def test_neither_names_nor_who_rated_nor_copies_of_all_units_count(table, names, random, times):
    assume(len({rating for unit in table for rating in unit if rating is not None}) > 1)
    assume(by_pairs(table, range(4)) is not None)
    renamed = [[None if rating is None else names[rating] for rating in unit] for unit in table] * times
    shuffled = [random.sample(unit, len(unit)) for unit in random.sample(renamed, len(renamed))]
    for coefficient in BY_UNIT:
        assert coefficient(shuffled).estimate == pytest.approx(coefficient(table).estimate, abs=1e-12)


def test_ac1_is_defined_where_all_say_one_of_several_categories_and_kappa_is_not():
    table = [[1, 1]] * 3
    assert gwet_ac1(table, categories=(0, 1)).estimate == 1.0
    assert raw_agreement(table).estimate == 1.0
    for coefficient, categories in ((fleiss_kappa, None), (fleiss_kappa, (0, 1)), (gwet_ac1, None), (gwet_ac1, (1,))):
        with pytest.raises(NoVariation, match="neither 0 nor 1"):
            coefficient(table, categories=categories)


@pytest.mark.parametrize("raters", [3, 6, 7, 49])
def test_one_category_leaves_kappa_undefined_however_the_shares_are_rounded(raters):
    with pytest.raises(NoVariation, match="neither 0 nor 1"):
        fleiss_kappa([["a"] * raters, ["a", "a", *[None] * (raters - 2)], ["a", *[None] * (raters - 1)]])


@pytest.mark.parametrize("coefficient", BY_UNIT)
def test_coefficients_of_units_refuse_what_says_nothing(coefficient):
    with pytest.raises(TooFewObservations, match="no unit was rated twice"):
        coefficient([[1, None], [None, 2]])
    with pytest.raises(InputRefused, match="found 3, expected one of"):
        coefficient([[1, 3]], categories=(1, 2))
    with pytest.raises(InputRefused, match="found texts and numbers"):
        coefficient([["a", 1]])


@pytest.mark.skipif(
    not (DATA / "expected.json").exists(), reason=f"the third-party data are not beside the project, at {DATA}"
)
@pytest.mark.parametrize("dimension", ["grammar", "fluency", "verbosity", "structure", "success", "overall"])
def test_marks_of_recipes_have_the_coefficients_of_another_program(dimension):
    """Marks by 88 people, who rated 12 of 52 recipes each: interactive-cookbook/recipe-generation, CC BY 4.0."""
    marks = pd.read_csv(DATA / "recipes" / "crowd-sourcing-evaluation" / "cleaned_data_anonymized.csv", sep="\t")
    table = marks.pivot_table(index=["condition", "recipeid"], columns="participant", values=dimension, aggfunc="first")
    number = json.loads((DATA / "expected.json").read_text())["agreement"]["recipes"][dimension]
    assert fleiss_kappa(table).estimate == pytest.approx(number["fleiss"], abs=6e-7)
    assert gwet_ac1(table).estimate == pytest.approx(number["ac1"], abs=6e-7)
    assert (gwet_ac1(table).units, gwet_ac1(table).ratings) == (number["units"], number["ratings"])


def test_cohen_kappa_by_hand():
    found = cohen_kappa(from_square([[20, 5], [10, 15]]), weights="none")
    # p_o = 35/50. p_e = 30/50 * 25/50 + 20/50 * 25/50 = 1/2.
    assert found.agreement.estimate == pytest.approx(0.4, abs=1e-14)
    assert (found.agreement.units, found.agreement.ratings) == (50, 100)


def test_weighted_kappa_by_hand_counts_how_far_apart():
    table = [["low", "low"], ["low", "high"], ["mid", "mid"], ["high", "mid"]]
    # Apart by 2 and 1: linear 3, quadratic 5. Rows: 2 1 1; columns: 1 2 1. By chance, of 16 pairs of a row and a
    # column, low-mid 4, low-high 2, mid-low 1, mid-high 1, high-low 1, high-mid 2: linear 8 + 2 * 3, quadratic 8 + 12.
    for weights, kappa in (("linear", 1 - (3 / 4) / (14 / 16)), ("quadratic", 1 - (5 / 4) / (20 / 16))):
        found = cohen_kappa(table, weights=weights, categories=["low", "mid", "high"]).agreement.estimate
        assert found == pytest.approx(kappa, abs=1e-14)


def test_sas_prints_the_same_kappa_and_standard_error():
    """PROC FREQ, as printed in the tests of statsmodels."""
    found = cohen_kappa(from_square(SAS), weights="none")
    assert found.agreement.estimate == pytest.approx(0.4842, abs=6e-5)
    assert found.std_error == pytest.approx(0.1380, abs=6e-5)
    assert (found.interval(0.95).low, found.interval(0.95).high) == (
        pytest.approx(0.2137, abs=6e-5),
        pytest.approx(0.7547, abs=6e-5),
    )
    assert cohen_kappa(from_square(SAS), weights="linear").agreement.estimate == pytest.approx(0.4701, abs=6e-5)


def test_irr_prints_the_same_kappa():
    """kappa2(anxiety[, 2:3]) of R's irr."""
    one = [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4]
    other = [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2]
    found = cohen_kappa(np.column_stack([one, other]), weights="none").agreement.estimate
    assert found == pytest.approx(-0.006289308, abs=1e-8)


@pytest.mark.parametrize("weights", WEIGHTS)
@given(square=SQUARES)
@LAW
def test_statsmodels_agrees_on_the_kappa_of_two_and_its_error(weights, square):
    counts = np.array(square)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    assume(max(rows.max(), columns.max()) < counts.sum() and (rows > 0).sum() > 1 and (columns > 0).sum() > 1)
    theirs = inter_rater.cohens_kappa(counts, wt=None if weights == "none" else weights)
    found = cohen_kappa(from_square(square), weights=weights, categories=range(len(square)))
    assert found.agreement.estimate == pytest.approx(theirs.kappa, abs=1e-12)
    assert found.std_error**2 == pytest.approx(max(theirs.var_kappa, 0), abs=1e-12)
    if theirs.var_kappa > 1e-12:
        bounds = found.interval(0.95)
        assert (bounds.low, bounds.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp), abs=1e-9)


def test_the_interval_has_the_level_that_it_was_asked_for():
    found = cohen_kappa(from_square(SAS), weights="none")
    bounds = found.interval(Fraction(9, 10))
    # The normal quantile for 95% below is 1.6448536.
    assert bounds.low == pytest.approx(found.agreement.estimate - 1.6448536 * found.std_error, abs=1e-7)
    assert bounds.high == pytest.approx(found.agreement.estimate + 1.6448536 * found.std_error, abs=1e-7)
    assert bounds.level == 0.9
    with pytest.raises(InputRefused, match="level: found 90"):
        found.interval(90)


@pytest.mark.parametrize("weights", WEIGHTS)
@given(square=SQUARES)
@LAW
def test_kappa_does_not_know_who_is_first_nor_which_end_is_up_nor_units_that_one_rated(weights, square):
    counts = np.array(square)
    assume(counts.sum() and max(counts.sum(axis=1).max(), counts.sum(axis=0).max()) < counts.sum())
    table, scale = from_square(square), range(len(square))
    expected = cohen_kappa(table, weights=weights, categories=scale)
    alone = [[0, None], [None, len(square) - 1], [None, None]]
    for same in (table[:, ::-1], len(square) - 1 - table, [*table.tolist(), *alone]):
        found = cohen_kappa(same, weights=weights, categories=scale)
        assert found.agreement.estimate == pytest.approx(expected.agreement.estimate, abs=1e-12)
        assert found.std_error == pytest.approx(expected.std_error, abs=1e-9)
        assert found.agreement.units == len(table)


def test_weights_go_by_places_and_not_by_numbers():
    table = from_square(SAS)
    far = np.array([1, 2, 100])[table]
    for weights in WEIGHTS:
        expected = cohen_kappa(table, weights=weights).agreement.estimate
        assert cohen_kappa(far, weights=weights).agreement.estimate == pytest.approx(expected, abs=1e-14)


def test_categories_that_nobody_gave_move_the_places_alone():
    table = [["a", "a"], ["a", "c"], ["c", "c"], ["c", "c"], ["b", "a"]]
    plain, wider = (cohen_kappa(table, weights="none", categories=c) for c in ("abc", "abxcd"))
    assert wider.agreement.estimate == pytest.approx(plain.agreement.estimate, abs=1e-14)
    assert wider.std_error == pytest.approx(plain.std_error, abs=1e-14)
    linear = [cohen_kappa(table, weights="linear", categories=c).agreement.estimate for c in ("abc", "abcd", "abxcd")]
    assert linear[0] == pytest.approx(linear[1], abs=1e-14)
    assert linear[2] != pytest.approx(linear[0], abs=1e-3)


@pytest.mark.parametrize(("units", "studies"), [(100, 1000), (400, 1000)])
def test_the_normal_interval_covers(units, studies):
    """Raters who err in 15% of units, half of which are true: kappa = 1 - .255 / .5."""
    held = studies_held(units, studies, share=0.5, error=0.15, kappa=0.49)
    assert binomtest(held, studies, 0.95).pvalue > 0.01


def test_the_normal_interval_covers_too_seldom_with_20_units_and_a_rare_category():
    """Two in a hundred are true, and raters err in 2%: they say yes in 3.92%, and differ in 3.92%."""
    kappa = 1 - 0.0392 / (2 * 0.0392 * 0.9608)
    assert binomtest(studies_held(20, 1000, share=0.5, error=0.15, kappa=0.49), 1000, 0.95).pvalue < 0.01
    assert studies_held(50, 1000, share=0.02, error=0.02, kappa=kappa) < 800


def studies_held(units, studies, *, share, error, kappa) -> int:
    rng, held, done = np.random.default_rng(21), 0, 0
    while done < studies:
        truth = rng.random((units, 1)) < share
        table = truth ^ (rng.random((units, 2)) < error)
        if table.any():
            found = cohen_kappa(table, weights="none", categories=(False, True))
            if found.std_error > 1e-9:  # a study without an interval does not hold the truth
                bounds = found.interval(0.95)
                held += bounds.low <= kappa <= bounds.high
            done += 1
    return held


@pytest.mark.parametrize("weights", WEIGHTS)
def test_cohen_kappa_refuses_what_says_nothing(weights):
    for categories in (None, (0, 1)):
        with pytest.raises(NoVariation, match="neither 0 nor 1"):
            cohen_kappa([[1, 1], [1, 1], [0, None]], weights=weights, categories=categories)
    with pytest.raises(TooFewObservations, match="no unit was rated by both"):
        cohen_kappa([[1, None], [None, 2]], weights=weights)
    for raters in (1, 3):
        with pytest.raises(InputRefused, match=f"found {raters} raters, expected 2"):
            cohen_kappa([[1] * raters, [2] * raters], weights=weights)
    with pytest.raises(InputRefused, match="found 3, expected one of"):
        cohen_kappa([[1, 3]], weights=weights, categories=(1, 2))


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_texts_in_no_order_have_no_weighted_kappa(weights):
    """By the alphabet, high would be next to low."""
    table = [["low", "mid"], ["mid", "mid"], ["high", "high"], ["low", "low"]]
    with pytest.raises(InputRefused, match="texts on an ordinal scale, expected numbers or declared categories"):
        cohen_kappa(table, weights=weights)
    assert cohen_kappa(table, weights="none").agreement.estimate == pytest.approx(7 / 11, abs=1e-14)


@pytest.mark.parametrize(
    ("square", "raw", "kappa", "ac1", "pabak", "prevalence", "bias"),
    [
        ([[40, 9], [6, 45]], 0.85, 0.6995192307692307, 0.7007481296758105, 0.7, 0.05, 0.03),
        ([[80, 10], [5, 5]], 0.85, 7 / 22, 0.808, 0.7, 0.75, 0.05),
        ([[118, 5], [2, 0]], 0.944, -0.02339181286549608, 0.9407763376087177, 0.888, 0.944, 0.024),
    ],
)
def test_two_tables_with_the_same_agreement_and_another_kappa(square, raw, kappa, ac1, pabak, prevalence, bias):
    """Feinstein & Cicchetti (1990), J Clin Epidemiol 43, 543-549; Byrt et al. (1993); Gwet (2002)."""
    for table in (from_square(square), np.array(["yes", "no"])[from_square(square)], 1 - from_square(square)):
        found = paradox(table)
        assert (found.raw, found.kappa, found.ac1) == pytest.approx((raw, kappa, ac1), abs=1e-12)
        assert (found.pabak, found.prevalence_index, found.bias_index) == pytest.approx((pabak, prevalence, bias))


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4))
@LAW
def test_kappa_follows_from_pabak_prevalence_and_bias(cells):
    """Byrt et al. (1993): kappa = (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2)."""
    assume(sum(cells) > max(cells[0], cells[3]))
    table = [*from_square([cells[:2], cells[2:]]).tolist(), [1, None]]
    found = paradox(table, categories=(0, 1))
    skew = found.bias_index**2 - found.prevalence_index**2
    assert found.kappa == pytest.approx((found.pabak + skew) / (1 + skew), abs=1e-9)
    assert found.raw == pytest.approx((cells[0] + cells[3]) / sum(cells), abs=1e-12)


def test_a_paradox_takes_two_categories_and_two_raters():
    with pytest.raises(InputRefused, match="found 3 categories, expected 2"):
        paradox([[1, 2], [3, 1]])
    with pytest.raises(InputRefused, match="found 3 categories, expected 2"):
        paradox([[1, 2], [2, 1]], categories=(1, 2, 3))
    with pytest.raises(InputRefused, match="found 3 raters, expected 2"):
        paradox([[1, 2, 1]])
    with pytest.raises(NoVariation, match="neither 0 nor 1"):
        paradox([["yes", "yes"], ["yes", "yes"]], categories=("no", "yes"))
    with pytest.raises(TooFewObservations, match="no unit was rated by both"):
        paradox([[1, None], [None, 0]])


@pytest.mark.parametrize(
    ("raw", "kappa", "ac1", "verdict"),
    [
        (0.9, 0.3, 0.9, True),
        (0.8, 0.3, 0.9, True),  # raw on its bar
        (0.79, 0.3, 0.9, False),
        (0.9, 0.4, 0.9, False),  # kappa on its bar
        (0.9, 0.25, 0.5, False),  # a gap on its bar
        (0.9, 0.25, 0.501, True),
    ],
)
def test_a_paradox_is_high_agreement_low_kappa_and_a_gap(raw, kappa, ac1, verdict):
    assert is_paradox(raw=raw, kappa=kappa, ac1=ac1, raw_from=0.8, kappa_below=0.4, gap_above=0.25) is verdict


@pytest.mark.parametrize("table", [[[1, 1], [2, 2], [1, 1]], [[1, 1], [1, 2], [1, 2]]], ids=["agree", "one-constant"])
def test_ratings_without_a_spread_have_no_normal_interval(table):
    """A standard error of 0 from three units would be taken for certainty."""
    with pytest.raises(NoVariation, match="no spread of kappa"):
        cohen_kappa(table, weights="none").interval(0.95)
