"""What to collect or mend next: absent levels, thin ones, blind spots, rare codes, and levels where answers fail."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from eval_pipeline.studies.label_signal.coverage import coverage
from eval_pipeline.studies.label_signal.detection import CodeDetection
from eval_pipeline.studies.label_signal.investment import investments
from eval_pipeline.studies.label_signal.track import Item
from tests.studies.label_signal.conftest import ratings_of


def code(name, status, planted=5):
    return CodeDetection(name, f"name of {name}", planted, status, None, None, None, None, None, None)


@pytest.fixture
def listed(small, shipped):
    """The list for items with strata (difficulty, domain), the composites of their answers, and codes.

    Only easy and hard, law and health are declared.
    """

    def listed(strata, scores, codes=(), design=None, plan=shipped.coverage):
        design = {"difficulty": ("easy", "hard"), "domain": ("law", "health")} if design is None else design
        items = tuple(
            Item(item_id=f"q{n:02d}", strata=dict(zip(("difficulty", "domain"), one, strict=True)))
            for n, one in enumerate(strata)
        )
        track = replace(small, about=small.about.model_copy(update={"strata": design}), items=items)
        ratings = ratings_of(small, [(item.item_id, "old", "a", 1, 1) for item in items])
        found = coverage(design, items, adequate=plan.adequate)
        return investments(found, codes, ratings, np.array(scores, dtype=float), track, plan, shipped.detection)

    return listed


EVEN = [(difficulty, domain) for difficulty in ("easy", "hard") for domain in ("law", "health")] * 4


def test_a_track_that_lacks_nothing_has_an_empty_list(listed):
    assert listed(EVEN, [0.8] * 16) == ()


def test_what_is_missing_stands_in_the_order_of_its_urgency(listed):
    """No hard item; health with 3; a blind spot, a rare code; law fails in 5 of 9, the easy in 5 of 12."""
    strata = [("easy", "law")] * 9 + [("easy", "health")] * 3
    codes = [
        code("R", "underpowered", 1),
        code("D", "detected"),
        code("B", "blind_spot"),
        code("N", "no_effect_declared"),
    ]
    found = listed(strata, [0.2] * 5 + [0.8] * 7, codes)
    assert [(one.kind, one.about, one.more) for one in found] == [
        ("absent_level", "difficulty=hard", 8),
        ("thin_level", "domain=health", 5),
        ("blind_spot", "B", None),
        ("rare_code", "R", 3),
        ("failing_stratum", "domain=law", None),
    ]
    assert [one.what for one in found] == [
        "collect 8 more items of difficulty=hard",
        "collect 5 more items of domain=health",
        "sharpen the rubric for B (name of B), or retire the code",
        "collect 3 more answers with R (name of R)",
        "expand domain=law, where 56% of the answers fail",
    ]


@pytest.mark.parametrize(("failed", "listed_as"), [(8, []), (9, ["difficulty=easy"]), (10, ["difficulty=easy"])])
def test_a_level_is_listed_from_the_planned_rate_of_failures_on(listed, failed, listed_as):
    """9 of 20 is .45."""
    found = listed(
        [("easy", "law")] * 20 + [("hard", "law")] * 20,
        [0.1] * failed + [0.9] * (40 - failed),
        design={"difficulty": ("easy", "hard")},
    )
    assert [one.about for one in found] == listed_as


def test_an_answer_fails_under_the_bar_and_not_at_it(listed, shipped):
    design = {"difficulty": ("easy",)}
    for score, fails in ((0.5, False), (0.5 - 1e-9, True)):
        assert bool(listed([("easy", "law")] * 8, [score] * 8, design=design)) is fails
    plan = shipped.coverage.model_copy(update={"failure_below": Fraction(9, 10)})
    assert listed([("easy", "law")] * 8, [0.8] * 8, design=design, plan=plan)


def test_only_the_worst_level_of_each_factor_is_listed(listed):
    """All four levels fail in half of their answers or more; hard in 7 of 8, health in 6 of 8."""
    bad = {("easy", "law"): 1, ("easy", "health"): 3, ("hard", "law"): 4, ("hard", "health"): 3}
    scores, seen = [], dict.fromkeys(bad, 0)
    for cell in EVEN:
        seen[cell] += 1
        scores.append(0.1 if seen[cell] <= bad[cell] else 0.9)
    found = listed(EVEN, scores)
    assert [one.about for one in found] == ["difficulty=hard", "domain=health"]
    assert "88% of the answers" in found[0].what


def test_a_level_that_is_listed_already_is_not_listed_again(listed):
    """Hard has three items, which all fail: to collect more of them is said once."""
    strata = [("easy", "law")] * 6 + [("easy", "health")] * 6 + [("hard", "law")] * 2 + [("hard", "health")]
    found = listed(strata, [0.9] * 12 + [0.1] * 3)
    assert [(one.kind, one.about) for one in found] == [("thin_level", "difficulty=hard")]


def test_an_answer_without_a_score_neither_fails_nor_holds(listed):
    design = {"difficulty": ("easy",)}
    found = listed([("easy", "law")] * 10, [0.1] * 4 + [np.nan] * 6, design=design)
    assert [one.what for one in found] == ["expand difficulty=easy, where 100% of the answers fail"]
    assert listed([("easy", "law")] * 10, [np.nan] * 10, design=design) == ()


def test_levels_that_were_not_declared_are_not_asked_for(listed):
    found = listed([("easy", "sport")] * 8, [0.1] * 8, design={"domain": ("law",)})
    assert [(one.kind, one.about) for one in found] == [("absent_level", "domain=law")]


def test_without_a_design_only_codes_are_listed(small, shipped):
    track = replace(small, about=small.about.model_copy(update={"strata": {}}), items=())
    ratings = ratings_of(small, [("q1", "old", "a", 1, 1)])
    codes = [code("B", "blind_spot")]
    found = investments(None, codes, ratings, np.array([0.0]), track, shipped.coverage, shipped.detection)
    assert [one.about for one in found] == ["B"]


def test_what_was_planted_often_enough_and_cannot_be_told_asks_for_no_more_of_it(listed):
    """A code is underpowered as well where no clean answer is left; of it nothing is missing."""
    assert listed(EVEN, [0.8] * 16, [code("X", "underpowered", 4), code("Y", "underpowered", 5)]) == ()
    (found,) = listed(EVEN, [0.8] * 16, [code("Z", "underpowered", 3)])
    assert found.more == 1
