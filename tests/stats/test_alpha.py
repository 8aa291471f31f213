"""Krippendorff's alpha is what its definition says pair by pair, on every scale, with any ratings missing."""

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused, NoVariation, TooFewObservations
from eval_pipeline.stats.alpha import krippendorff_alpha
from tests.stats.laws import LAW
from tests.stats.memory import added_megabytes

SCALES = ["nominal", "ordinal", "interval", "ratio"]
DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
needs_data = pytest.mark.skipif(
    not (DATA / "expected.json").exists(), reason=f"the third-party data are not beside the project, at {DATA}"
)
DIMENSIONS = ["grammar", "fluency", "verbosity", "structure", "success", "overall"]
LABELS = ["correctness_label", "completeness_label", "overall_label"]
LEVELS = ["very low", "low", "mid", "high", "very high"]

# Four coders, twelve units: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C.
CODERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = np.array(CODERS, dtype=object).T

TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 6)), min_size=raters, max_size=raters), min_size=1, max_size=12
    )
)


def units_rated_twice(table: Sequence[Sequence]) -> list[list]:
    units = [[rating for rating in unit if rating is not None] for unit in table]
    return [unit for unit in units if len(unit) >= 2]


def distance(one, other, scale, ratings) -> Fraction:
    """Krippendorff's delta squared; the ordinal one sums the frequencies from one category to the other."""
    if scale == "nominal" or one == other:
        return Fraction(one != other)
    if scale == "ordinal":
        low, high = sorted([one, other])
        between = sum(low <= rating <= high for rating in ratings)
        return (between - Fraction(ratings.count(one) + ratings.count(other), 2)) ** 2
    return Fraction(one - other) ** 2 / (Fraction(one + other) ** 2 if scale == "ratio" else 1)


def alpha_by_pairs(table: Sequence[Sequence], scale: str) -> Fraction | None:
    """1 - D_o / D_e over all ordered pairs of ratings, in exact arithmetic; None where D_e is 0."""
    units = units_rated_twice(table)
    ratings = [rating for unit in units for rating in unit]
    apart = {(x, y): distance(x, y, scale, ratings) for x in set(ratings) for y in set(ratings)}
    observed = sum(
        Fraction(sum(apart[x, y] for i, x in enumerate(unit) for j, y in enumerate(unit) if i != j), len(unit) - 1)
        for unit in units
    )
    expected = sum(apart[x, y] for i, x in enumerate(ratings) for j, y in enumerate(ratings) if i != j)
    return 1 - (len(ratings) - 1) * observed / expected if expected else None


def alpha(table, scale, **options) -> float | None:
    """Alpha, or None where it is undefined."""
    try:
        return krippendorff_alpha(table, scale=scale, **options).estimate
    except (NoVariation, TooFewObservations):
        return None


def assert_same(found, expected):
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(float(expected), abs=1e-12)


def test_alpha_by_hand_leaves_out_a_unit_with_one_rating():
    found = krippendorff_alpha([[1, 1], [2, 2], [1, 2], [None, 2]], scale="nominal")
    # Three pairs, one apart: D_o = 1/3. Ratings 1 1 2 2 1 2: 9 of the 15 pairs are apart, D_e = 3/5. 1 - 5/9.
    assert found.estimate == pytest.approx(4 / 9, abs=1e-14)
    assert (found.units, found.ratings) == (3, 6)


def test_ordinal_alpha_by_hand_counts_the_ranks_between():
    found = krippendorff_alpha([[1, 1], [1, 2], [2, 4]], scale="ordinal")
    # 3 ones, 2 twos, 1 four. d(1,2) = 3/2 + 2/2 = 5/2; d(2,4) = 2/2 + 1/2 = 3/2; d(1,4) = 3/2 + 2 + 1/2 = 4.
    # Observed, per pair: 0, 25/4, 9/4: mean 17/6. Expected: 6 * 25/4 + 2 * 9/4 + 3 * 16 = 90 over 15 pairs: 6.
    assert found.estimate == pytest.approx(1 - Fraction(17, 6) / 6, abs=1e-14)


def test_interval_alpha_squares_the_distances():
    found = krippendorff_alpha([[1, 1], [1, 2], [2, 4]], scale="interval")
    # Observed 0, 1, 4: mean 5/3. Pairs: 6 of (1, 2) at 1, 2 of (2, 4) at 4, 3 of (1, 4) at 9: 41 over 15.
    assert found.estimate == pytest.approx(1 - Fraction(5, 3) / Fraction(41, 15), abs=1e-14)


def test_ratio_alpha_by_hand_has_no_distance_between_two_zeros():
    found = krippendorff_alpha([[0, 0], [0, 1], [1, 3]], scale="ratio")
    # d(0, x) = 1, d(1, 3) = (2/4)^2 = 1/4. Observed 0, 1, 1/4: mean 5/12. Pairs: 6 of (0, 1), 3 of (0, 3), 2 of (1, 3).
    assert found.estimate == pytest.approx(1 - Fraction(5, 12) / (Fraction(9 * 4 + 2, 4) / 15), abs=1e-14)


def test_a_unit_of_three_ratings_counts_as_three_and_not_as_its_three_pairs():
    found = krippendorff_alpha([[1, 1, 2], [2, 2, None]], scale="nominal")
    # Unit 1: 2 of 3 pairs apart, and 3 ratings; unit 2: 0, and 2 ratings. D_o = (3 * 2/3) / 5 = 2/5. D_e = 6/10.
    assert found.estimate == pytest.approx(1 / 3, abs=1e-14)
    assert (found.units, found.ratings) == (2, 5)


@pytest.mark.parametrize(
    ("scale", "published", "exact"),
    [
        ("nominal", 0.743, 113 / 152),
        ("ordinal", 0.815, 0.8153875037548813),
        ("interval", 0.849, 951 / 1120),
        ("ratio", 0.797, 0.797402774711612),
    ],
)
def test_the_published_example_gives_its_four_alphas(scale, published, exact):
    """Krippendorff (2011), sections C to E; the digits beyond are of the definition in rational arithmetic."""
    found = krippendorff_alpha(UNITS, scale=scale)
    assert found.estimate == pytest.approx(published, abs=5e-4)
    assert found.estimate == pytest.approx(exact, abs=1e-12)
    assert (found.units, found.ratings) == (11, 40)


def test_two_coders_of_five_texts_agree_as_published():
    """Krippendorff (2011), section B: .692."""
    table = list(zip("aabbdcccedda", "babbbccceddd", strict=True))
    assert krippendorff_alpha(table, scale="nominal").estimate == pytest.approx(31 / 44.8, abs=1e-12)


def test_texts_are_ordinal_in_the_order_that_is_declared():
    """Sorted as texts they would give .7019."""
    texts = [[None if rating is None else LEVELS[rating - 1] for rating in unit] for unit in UNITS]
    found = krippendorff_alpha(texts, scale="ordinal", categories=LEVELS)
    assert found.estimate == pytest.approx(0.8153875037548813, abs=1e-12)
    unused = krippendorff_alpha(texts, scale="ordinal", categories=["none", *LEVELS[:2], "some", *LEVELS[2:]])
    assert unused.estimate == pytest.approx(found.estimate, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "exact"),
    [
        ([["A", "B"], ["B", "A"]], -0.5),  # total disagreement is below 0
        ([[3, 3, 3, 3, 3]] * 4 + [[3, 3, 3, 1, 3]], 0.0),  # one rating apart from all is chance, exactly
        ([[1, 1], [2, 1], [1, 1]] * 2, -0.1),
    ],
)
def test_disagreement_is_told_from_chance(table, exact):
    assert krippendorff_alpha(table, scale="nominal").estimate == pytest.approx(exact, abs=1e-12)


def test_duplicating_every_unit_changes_alpha():
    """The finite-sample term n - 1 shows a join that multiplied rows: 0 becomes -.1."""
    once = [[1, 1], [2, 1], [1, 1]]
    assert krippendorff_alpha(once, scale="nominal").estimate == pytest.approx(0, abs=1e-12)
    assert krippendorff_alpha(once + once, scale="nominal").estimate == pytest.approx(-0.1, abs=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@given(table=TABLES)
@LAW
def test_alpha_is_its_definition_pair_by_pair(table, scale):
    assert_same(alpha(table, scale), alpha_by_pairs(table, scale) if units_rated_twice(table) else None)


@pytest.mark.parametrize("scale", SCALES)
@given(table=TABLES.filter(lambda table: len({x for unit in units_rated_twice(table) for x in unit}) > 1))
@LAW
def test_alpha_is_that_of_the_krippendorff_package(table, scale):
    """The package krippendorff, whose rows are raters."""
    theirs = krippendorff.alpha(np.array(table, dtype=float).T, level_of_measurement=scale)
    assert alpha(table, scale) == pytest.approx(theirs, abs=1e-10)


@given(TABLES, st.permutations(list("abcdefg")))
@LAW
def test_nominal_categories_can_be_renamed(table, names):
    renamed = [[None if rating is None else names[rating] for rating in unit] for unit in table]
    assert_same(alpha(renamed, "nominal"), alpha(table, "nominal"))


@given(TABLES, st.lists(st.integers(-50, 50), min_size=7, max_size=7, unique=True))
@LAW
def test_ordinal_alpha_knows_the_order_alone(table, numbers):
    numbers = sorted(numbers)
    stretched = [[None if rating is None else numbers[rating] for rating in unit] for unit in table]
    assert_same(alpha(stretched, "ordinal"), alpha(table, "ordinal"))
    declared = alpha([[None if x is None else f"{-x}" for x in u] for u in stretched], "ordinal",
                     categories=[f"{-number}" for number in numbers])  # fmt: skip
    assert_same(declared, alpha(table, "ordinal"))


@given(TABLES, st.sampled_from([-3.5, 0.01, 7, 1e6]), st.sampled_from([0, -3, 1e5]))
@LAW
def test_interval_alpha_knows_neither_unit_nor_origin(table, unit, origin):
    moved = [[None if rating is None else unit * rating + origin for rating in row] for row in table]
    found, expected = alpha(moved, "interval"), alpha(table, "interval")
    assert (found is None) == (expected is None)
    assert found is None or found == pytest.approx(expected, abs=1e-8)


@given(TABLES, st.sampled_from([0.1, 3, 1e9]))
@LAW
def test_ratio_alpha_does_not_know_the_unit(table, unit):
    assert_same(
        alpha([[None if x is None else unit * x for x in row] for row in table], "ratio"), alpha(table, "ratio")
    )


@pytest.mark.parametrize("scale", SCALES)
@given(table=TABLES, seed=st.integers(0, 2**32 - 1), alone=st.lists(st.integers(0, 9), max_size=4))
@LAW
def test_neither_who_rated_nor_the_order_of_units_nor_units_rated_once_count(table, scale, seed, alone):
    rng = np.random.default_rng(seed)
    shuffled = [
        list(rng.permutation(np.array(unit, dtype=object))) for unit in rng.permutation(np.array(table, object))
    ]
    once = [[None] * (len(table[0]) - 1) + [rating] for rating in alone] + [[None] * len(table[0])]
    assert_same(alpha(shuffled + once, scale), alpha(table, scale))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "kind", ["int8", "uint8", "uint16", "int32", "uint64", "float16", "float32", "object", "Int64"]
)
def test_narrow_numbers_give_the_alpha_of_wide_ones(scale, kind):
    """Squares of 200 do not fit 8 bits, nor differences an unsigned type."""
    wide = np.random.default_rng(3).integers(0, 120 if kind == "int8" else 250, (40, 3))
    narrow = pd.DataFrame(wide, dtype=kind) if kind == "Int64" else wide.astype(kind)
    expected = krippendorff_alpha(wide, scale=scale).estimate
    assert krippendorff_alpha(narrow, scale=scale).estimate == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "table",
    [
        np.array(UNITS, dtype=float),
        np.array(UNITS, dtype=np.float32),
        pd.DataFrame(UNITS).astype("Int64"),
        np.ma.masked_invalid(np.array(UNITS, dtype=float)),
        np.ma.array(np.where(UNITS == None, -7, UNITS).astype(int), mask=UNITS == None),  # noqa: E711
        [[None if x is None else float(x) if x % 2 else np.int8(x) for x in unit] for unit in UNITS],
    ],
    ids=["float64", "float32", "Int64", "masked floats", "masked ints", "mixed"],
)
def test_missing_ratings_may_be_written_in_any_way(table, scale):
    expected = krippendorff_alpha(UNITS.tolist(), scale=scale).estimate
    assert krippendorff_alpha(table, scale=scale).estimate == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("scale", SCALES)
def test_twenty_four_raters_agree_as_their_pairs_do(scale):
    """Eight categories and MISSING of 24 raters are more ways than 62 bits number."""
    rng = np.random.default_rng(8)
    table = np.clip(rng.normal(rng.integers(0, 8, (25, 1)), 1.5, (25, 24)).round(), 0, 7).astype(int).astype(object)
    table[rng.random(table.shape) < 0.4] = None
    assert_same(alpha(table, scale), alpha_by_pairs(table.tolist(), scale))


def test_interval_alpha_of_many_distinct_numbers_takes_memory_linear_in_them():
    """A table of the distances of 60,000 numbers would take 28 GB."""
    rng = np.random.default_rng(2)
    table = rng.normal(size=(20_000, 1)) + rng.normal(size=(20_000, 3))
    found = []
    assert added_megabytes(lambda: found.append(krippendorff_alpha(table, scale="interval"))) < 60
    assert found[0].estimate == pytest.approx(0.5, abs=0.02)


def test_interval_alpha_survives_a_distant_origin():
    """Seconds since 1970, apart by seconds, with many alike."""
    table = np.random.default_rng(5).integers(0, 5, (50, 3))
    expected = krippendorff_alpha(table, scale="interval").estimate
    assert krippendorff_alpha(table + 1_700_000_000, scale="interval").estimate == pytest.approx(expected, abs=1e-12)


def test_one_unit_in_many_that_differs_is_variation_on_an_interval_scale():
    """Of 40,002 ratings, two are 0 and 3, and the others 1000."""
    found = krippendorff_alpha([[0, 3]] + [[1000, 1000]] * 20_000, scale="interval").estimate
    # One pair of distance 9 within a unit; of all pairs, 40,000 each of 1000^2 and 997^2, and that one.
    assert found == pytest.approx(1 - 40_001 * 9 / (9 + 40_000 * (1000**2 + 997**2)), abs=1e-14)
    assert 1 - found == pytest.approx(4.5136e-6, rel=1e-4)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("number", [0, 1, 0.1, 1e8])
def test_ratings_of_one_category_leave_alpha_undefined(scale, number):
    for options in ({}, {"categories": (number, 2, 3.7)}):
        with pytest.raises(NoVariation, match="neither 0 nor 1"):
            krippendorff_alpha([[number] * 3] * 7 + [[None, 2, None]], scale=scale, **options)


@pytest.mark.parametrize("units", [208_067, 208_069, 250_001])
def test_one_category_leaves_alpha_undefined_however_many_ratings_there_are(units):
    """So many ranks, squared and summed, are no longer whole in a float64."""
    with pytest.raises(NoVariation, match="neither 0 nor 1"):
        krippendorff_alpha(np.ones((units, 2), dtype=np.uint8), scale="ordinal")


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("table", [[[1, None], [None, 3]], [[None, None]], [[1], [2]], np.empty((0, 3))])
def test_units_that_nobody_rated_twice_are_too_few(table, scale):
    with pytest.raises(TooFewObservations, match="no unit was rated twice"):
        krippendorff_alpha(table, scale=scale)


def test_texts_in_no_order_and_negative_ratios_are_refused():
    """Another program gives a perfect 1.0 for ratings that differ by sign."""
    with pytest.raises(InputRefused, match="texts on an ordinal scale, expected numbers or declared categories"):
        krippendorff_alpha([["low", "high"], ["low", "low"]], scale="ordinal")
    with pytest.raises(InputRefused, match="found -1 on a ratio scale, expected 0 or more"):
        krippendorff_alpha([[-1, 1], [3, 3], [2, 2], [1, -1]], scale="ratio")


@pytest.fixture(scope="module")
def expected():
    """What krippendorff 0.9.0 gave for the third-party data."""
    return json.loads((DATA / "expected.json").read_text())


@pytest.fixture(scope="module")
def recipes():
    """Marks by 88 people, who rated 12 of 52 recipes each: interactive-cookbook/recipe-generation, CC BY 4.0."""
    path = DATA / "recipes" / "crowd-sourcing-evaluation" / "cleaned_data_anonymized.csv"
    return pd.read_csv(path, sep="\t").pivot_table(
        index=["condition", "recipeid"], columns="participant", values=DIMENSIONS, aggfunc="first"
    )


@pytest.fixture(scope="module")
def realsumm():
    """Votes of 3 or 4 people on whether a content unit is in a summary: neulab/REALSumm, CC BY 4.0."""
    votes = []
    for path in sorted((DATA / "realsumm" / "human_annotations" / "SCUs_and_annotations").glob("SCU_rating*/*.csv")):
        people = defaultdict(list)
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                people[row["Input.eventId"]].append(row)
        for rows in people.values():
            shown = [i for i in range(1, 17) if rows[0][f"Input.statement_{i}"] != "BLANK"]
            votes += [[*(row[f"Answer.S{i}Answer"] for row in rows), None, None][:4] for i in shown]
    return votes


@pytest.fixture(scope="module")
def ragchecker():
    """Three labels of 280 pairs of answers by two people each: amazon-science/RAGChecker, Apache-2.0."""
    path = DATA / "ragchecker" / "data" / "meta_evaluation" / "human_labeled_data.json.gz"
    rows = pd.DataFrame(json.loads(gzip.decompress(path.read_bytes())))
    rows["annotator"] = rows.groupby("instance_id").cumcount()
    return rows.pivot_table(index="instance_id", columns="annotator", values=LABELS, aggfunc="first")


@needs_data
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_ratings_of_recipes_have_the_alphas_of_another_program(recipes, expected, dimension):
    number = expected["agreement"]["recipes"][dimension]
    for scale in ("nominal", "ordinal", "interval"):
        found = krippendorff_alpha(recipes[dimension], scale=scale)
        assert found.estimate == pytest.approx(number[f"alpha_{scale}"], abs=6e-7)
        assert (found.units, found.ratings) == (number["units"], number["ratings"])


@needs_data
def test_votes_on_realsumm_have_the_alpha_of_another_program(realsumm, expected):
    number = expected["realsumm_17_systems"]
    found = krippendorff_alpha(realsumm, scale="nominal")
    assert (len(realsumm), found.units) == (number["units"], number["units"])
    assert found.estimate == pytest.approx(number["krippendorff_alpha_nominal"], abs=5e-5)


@needs_data
@pytest.mark.parametrize("label", LABELS)
def test_labels_of_ragchecker_have_the_alphas_of_another_program(ragchecker, expected, label):
    number = expected["ragchecker_meta"][label]
    for scale in ("ordinal", "interval"):
        found = krippendorff_alpha(ragchecker[label], scale=scale)
        assert found.estimate == pytest.approx(number[f"alpha_{scale}"], abs=5e-5)
        assert found.units == 280
