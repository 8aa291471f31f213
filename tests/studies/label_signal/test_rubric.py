"""A rubric says what is wrong with it, has a version that changes with what is asked, and makes a score of several."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from eval_pipeline.canonical import content_hash
from eval_pipeline.studies.label_signal.rubric import Dimension, Rubric, composites, unweighted
from tests.stats.laws import LAW

NAN = float("nan")


def a_dimension(key: str = "depth", **changed: Any) -> Dimension:
    values = {"key": key, "name": "Depth", "question": "How deep?", "scale": "ordinal", "levels": (0, 1, 2, 3)}
    return Dimension.model_validate(values | changed)


def a_rubric(*dimensions: Dimension, **changed: Any) -> Rubric:
    values = {"key": "made-up", "name": "Made up", "revision": 1, "dimensions": dimensions or (a_dimension(),)}
    return Rubric.model_validate(values | changed)


def an_anchor(value: float, **changed: Any) -> dict[str, Any]:
    return {"value": value, "label": f"L{value}", "description": f"What gets {value}."} | changed


ANCHORS = tuple(an_anchor(level) for level in (0, 1, 2, 3))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"levels": ()}, "at least one level of dimension 'depth'"),
        ({"levels": (0, 2, 1)}, "levels of dimension 'depth' in rising order, each once"),
        ({"levels": (0, 1, 1)}, "in rising order, each once"),
        ({"levels": (0, NAN)}, "greater than or equal to"),
        ({"levels": (0, float("inf"))}, "less than or equal to"),
        ({"critical_threshold": NAN}, "greater than or equal to"),
        ({"critical": True}, "a critical_threshold of dimension 'depth', since it is critical"),
        ({"anchors": ANCHORS[:3]}, "an anchor for each level of dimension 'depth', or none at all"),
        ({"anchors": (*ANCHORS, an_anchor(4))}, "an anchor for each level"),
        ({"scale": "nominal"}, "weight 0 and no threshold of dimension 'depth', since its levels have no order"),
        ({"scale": "nominal", "weight": Fraction(0), "critical_threshold": 1}, "weight 0 and no threshold"),
        ({"scale": "binary"}, "two levels of dimension 'depth', since it is binary"),
        ({"scale": "ratio"}, "'nominal', 'ordinal', 'interval' or 'binary'"),
        ({"better": "most"}, "'higher' or 'lower'"),
        ({"weight": Fraction(-1)}, "greater than or equal to 0"),
        ({"weight": True}, "a number, or a fraction"),
        ({"key": ""}, "at least 1 character"),
        ({"question": ""}, "at least 1 character"),
        ({"levels": (False, True)}, "valid integer"),
        ({"wieght": 3}, "Extra inputs"),
    ],
)
def test_a_dimension_that_cannot_be_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        a_dimension(**changed)


@pytest.mark.parametrize(
    ("rubric", "said"),
    [
        ({"dimensions": ()}, "at least one dimension"),
        ({"dimensions": (a_dimension(), a_dimension("tone"), a_dimension())}, "'depth' stands twice"),
        ({"dimensions": (a_dimension("batch"),)}, "no column of a ratings file or worksheet, and 'batch' is one"),
        ({"dimensions": (a_dimension("value"),)}, "'value' is one"),
        ({"dimensions": (a_dimension("reason"),)}, "'reason' is one"),
        ({"revision": 0}, "greater than or equal to 1"),
    ],
)
def test_a_rubric_that_cannot_be_is_refused(rubric: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        a_rubric(**rubric)


def test_an_anchor_for_each_level_or_none_is_well() -> None:
    assert a_dimension(anchors=ANCHORS).anchors[3].label == "L3"
    assert a_dimension(levels=(0, 0.5), anchors=(an_anchor(0), an_anchor(0.5))).levels == (0, 0.5)
    assert a_dimension(critical=True, critical_threshold=0).critical_threshold == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Height"},
        {"question": "How high?"},
        {"scale": "interval"},
        {"levels": (0, 1, 2, 3, 4), "anchors": ()},
        {"better": "lower"},
        {"weight": Fraction(1, 3)},
        {"critical_threshold": 0},
        {"critical_threshold": 0, "critical": True},
        {"notes": "Mind the gap."},
        {"anchors": ()},
        {"anchors": (*ANCHORS[:3], an_anchor(3, description="Deeper."))},
        {"anchors": (*ANCHORS[:3], an_anchor(3, example="This."))},
        {"anchors": (*ANCHORS[:3], an_anchor(3, counter_example="Not this."))},
        {"anchors": (*ANCHORS[:3], an_anchor(3, label="Deepest"))},
    ],
    ids=str,
)
def test_the_version_changes_with_anything_that_a_dimension_says(changed: dict[str, Any]) -> None:
    before = a_rubric(a_dimension(anchors=ANCHORS))
    after = a_rubric(a_dimension(**{"anchors": ANCHORS} | changed))
    assert after.hash != before.hash
    assert after.version != before.version


def test_the_hash_knows_the_dimensions_and_their_order_alone() -> None:
    one, other = a_dimension("one"), a_dimension("other")
    rubric = a_rubric(one, other)
    renamed = a_rubric(one, other, key="another", name="Another", revision=4, changelog=("r4: a word",))
    assert renamed.hash == rubric.hash
    assert a_rubric(other, one).hash != rubric.hash
    assert rubric.version == f"made-up@r1+{rubric.hash}"
    assert renamed.version == f"another@r4+{rubric.hash}"


def test_the_hash_is_the_first_twelve_digits_of_the_canonical_dimensions() -> None:
    """Keys sorted, no blanks; written out, so that the version of stored ratings never changes unseen."""
    expected = {
        "anchors": [],
        "better": "higher",
        "critical": False,
        "critical_threshold": None,
        "key": "depth",
        "levels": [0, 1, 2, 3],
        "name": "Depth",
        "notes": "",
        "question": "How deep?",
        "scale": "ordinal",
        "weight": "3/2",
    }
    assert a_rubric(a_dimension(weight="1.5")).hash == content_hash([expected])[:12]


def test_a_weight_is_the_number_that_is_written() -> None:
    assert a_rubric(a_dimension(weight="1.5")).hash == a_rubric(a_dimension(weight="3/2")).hash
    assert a_dimension(weight="0.1").weight == Fraction(1, 10)


@pytest.mark.parametrize(
    ("scale", "measured"),
    [("ordinal", "ordinal"), ("interval", "interval"), ("binary", "nominal"), ("nominal", "nominal")],
)
def test_agreement_takes_two_levels_as_names(scale: str, measured: str) -> None:
    levels = (0, 1) if scale == "binary" else (0, 1, 2)
    one = a_dimension(scale=scale, levels=levels, weight=Fraction(0))
    assert one.agreement_scale == measured
    assert one.ordered is (scale != "nominal")


# Weights 3 and 1; `depth` from 1 to 5, floored at 1; `cost` from 0 to 3, of which less is better.
TWO = a_rubric(
    a_dimension(levels=(1, 2, 3, 4, 5), weight=Fraction(3), critical_threshold=1),
    a_dimension("cost", better="lower"),
)


@pytest.mark.parametrize(
    ("depth", "cost", "composite", "plain"),
    [
        (3, 0, (3 * 0.5 + 1) / 4, (0.5 + 1) / 2),
        (5, 3, 3 / 4, 1 / 2),
        (4, 1, (3 * 0.75 + 2 / 3) / 4, (0.75 + 2 / 3) / 2),
        (1, 0, 0.0, 1 / 2),  # floored
        (1, NAN, 0.0, 0.0),  # floored too
        (NAN, 1, 2 / 3, 2 / 3),  # what was not scored has no weight, and floors nothing
        (2, NAN, 0.25, 0.25),
        (NAN, NAN, NAN, NAN),
    ],
)
def test_composites_by_hand(depth: float, cost: float, composite: float, plain: float) -> None:
    scores = np.array([[depth, cost]])
    assert composites(TWO, scores, unscored="undefined") == pytest.approx([composite], nan_ok=True)
    assert unweighted(TWO, scores) == pytest.approx([plain], nan_ok=True)


def test_an_answer_without_a_score_is_worth_what_the_plan_says() -> None:
    nothing = np.full((1, 2), NAN)
    assert np.isnan(composites(TWO, nothing, unscored="undefined")).all()
    assert composites(TWO, nothing, unscored="zero").tolist() == [0.0]
    no_weight = a_rubric(a_dimension(weight=Fraction(0)))
    assert np.isnan(composites(no_weight, np.array([[2.0]]), unscored="undefined")).all()
    assert composites(no_weight, np.array([[2.0]]), unscored="zero").tolist() == [0.0]
    assert unweighted(no_weight, np.array([[3.0]])).tolist() == [1.0]


@pytest.mark.parametrize(("better", "floored"), [("higher", [True, True, False, False]), ("lower", [False, True] * 2)])
def test_a_threshold_floors_at_and_beyond_it(better: str, floored: list[bool]) -> None:
    one = a_dimension(better=better, critical_threshold=1)
    scores = np.array([0.0, 1.0, 1.5, 2.0]) if better == "higher" else np.array([0.0, 1.0, 0.5, 2.0])
    assert one.floored(scores).tolist() == floored
    assert one.floored(np.array([NAN])).tolist() == [False]
    assert a_dimension().floored(scores).tolist() == [False] * 4


def test_a_scale_of_one_level_gives_nothing_with_all_its_weight() -> None:
    rubric = a_rubric(a_dimension(levels=(2,)), a_dimension("tone"))
    assert composites(rubric, np.array([[2.0, 3.0], [NAN, 3.0]]), unscored="zero").tolist() == [0.5, 1.0]
    assert np.isnan(rubric.dimensions[0].share(np.array([NAN]))).all()


def test_names_without_an_order_count_for_nothing() -> None:
    rubric = a_rubric(a_dimension(scale="nominal", weight=Fraction(0)), a_dimension("tone"))
    scores = np.array([[0.0, 2.0], [3.0, 2.0]])
    assert composites(rubric, scores, unscored="undefined") == pytest.approx([2 / 3, 2 / 3])
    assert unweighted(rubric, scores) == pytest.approx([2 / 3, 2 / 3])
    only = a_rubric(a_dimension(scale="nominal", weight=Fraction(0)))
    assert np.isnan(unweighted(only, np.array([[1.0]]))).all()


def test_the_levels_of_the_composite_are_those_that_all_weighted_dimensions_share() -> None:
    assert a_rubric(a_dimension(), a_dimension("tone")).levels_of_composite == 3
    assert TWO.levels_of_composite is None
    unlike = a_dimension("cost", levels=(0, 1), weight=Fraction(0))
    assert a_rubric(a_dimension(), unlike).levels_of_composite == 3
    assert a_rubric(unlike).levels_of_composite is None


LEVELS = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, NAN])
COSTS = st.sampled_from([0.0, 1.0, 2.0, 3.0, NAN])


@given(st.lists(st.tuples(LEVELS, COSTS), min_size=1, max_size=6), st.integers(1, 50))
@LAW
def test_a_composite_is_a_share_that_no_unit_of_weight_changes(rows: list[tuple[float, float]], unit: int) -> None:
    scores = np.array(rows)
    found = composites(TWO, scores, unscored="undefined")
    assert ((found >= 0) & (found <= 1) | np.isnan(found)).all()
    heavier = a_rubric(*(one.model_copy(update={"weight": unit * one.weight}) for one in TWO.dimensions))
    assert composites(heavier, scores, unscored="undefined") == pytest.approx(found, nan_ok=True)
    singly = np.concatenate([composites(TWO, row[np.newaxis], unscored="undefined") for row in scores])
    assert singly == pytest.approx(found, nan_ok=True)


@given(LEVELS.filter(lambda level: level > 1), COSTS, st.sampled_from([0, 1]))
@LAW
def test_a_better_score_never_makes_a_composite_worse(depth: float, cost: float, which: int) -> None:
    before = np.array([[depth, cost]])
    better = before + [[1, 0], [0, -1]][which]
    better = np.where((better > 5) | (better < 0), before, better)
    first, second = (composites(TWO, scores, unscored="zero")[0] for scores in (before, better))
    assert second >= first - 1e-12
