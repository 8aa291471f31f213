"""What becomes of a recommendation in one word, from its nearest threshold, the raters and the other worlds."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity.robustness import (
    Robustness,
    SensitivityFindings,
    findings,
    robustness,
)
from eval_pipeline.studies.label_signal.sensitivity.worlds import REFERENCE, Axis, Outcome
from tests.studies.label_signal.sensitivity.made_up import alphas, grounds, profiles, with_sensitivity

BAND = Fraction(5, 100)


@pytest.mark.parametrize(
    ("nearest", "rater_turns", "world_turns", "expected"),
    [
        (None, False, False, "robust"),
        (None, False, True, "conditional"),
        (None, True, False, "fragile"),
        (None, True, True, "fragile"),
        (0.30, False, False, "conditional"),
        (0.30, False, True, "conditional"),
        (0.30, True, False, "fragile"),
        (0.0501, False, False, "conditional"),
        (0.05, False, False, "fragile"),
        (0.01, False, False, "fragile"),
        (0.0, False, False, "fragile"),
        (0.01, True, True, "fragile"),
    ],
)
def test_fragile_is_what_a_near_threshold_or_one_rater_turns_and_robust_what_nothing_does(
    nearest: float | None, rater_turns: bool, world_turns: bool, expected: str
) -> None:
    found = robustness(nearest, rater_turns=rater_turns, world_turns=world_turns, fragile_within=BAND)
    assert found is Robustness(expected)


def world(axis: Axis, name: str, recommendation: str = "invest") -> Outcome:
    """What a world came to."""
    return Outcome(axis, name, recommendation, "rule", {})


BASE = world("baseline", "as declared")
ALL = world("leave_one_out", REFERENCE)
WITHOUT = [world("leave_one_out", f"without r{place}") for place in range(4)]


@pytest.fixture
def found_of(shipped: LabelSignalPlan) -> Any:
    """The findings of outcomes, with thresholds that turn nothing unless other grounds are given."""
    plan = with_sensitivity(shipped, policy=(), decision=("recalibrate_alpha_below",), trajectories=1)

    def found(outcomes: Sequence[Outcome], **changes: Any) -> SensitivityFindings:
        return findings(grounds(**changes), outcomes, plan)

    return found


def test_where_every_world_agrees_the_recommendation_is_robust(found_of: Any) -> None:
    found = found_of([BASE, world("contested", "all"), world("noise", "1.4"), ALL, *WITHOUT])
    assert found.robustness is Robustness.ROBUST
    assert (found.turned, found.nearest) == ({}, None)
    assert found.kept == {"contested": 1, "noise": 1, "leave_one_out": 1}


def test_another_world_makes_it_conditional_and_is_named_by_its_axis(found_of: Any) -> None:
    others = [world("noise", "0.35", "stop"), world("noise", "1.4"), world("contested", "none", "stop")]
    found = found_of([BASE, *others, ALL, *WITHOUT])
    assert found.robustness is Robustness.CONDITIONAL
    assert found.turned == {"noise": ("0.35",), "contested": ("none",)}
    assert found.kept == {"noise": 0.5, "contested": 0, "leave_one_out": 1}


def test_one_rater_who_turns_it_makes_it_fragile(found_of: Any) -> None:
    """Three of four raters can be spared: the world with all of them turns nothing and does not count."""
    found = found_of([BASE, ALL, *WITHOUT[1:], world("leave_one_out", "without r0", "hold")])
    assert found.robustness is Robustness.FRAGILE
    assert found.turned == {"leave_one_out": ("without r0",)}
    assert found.kept == {"leave_one_out": 0.75}


def test_raters_left_out_are_held_against_all_of_them_in_as_many_batches(found_of: Any) -> None:
    """Seven batches alone turn it here, which says nothing of any rater."""
    seven = [world("leave_one_out", one.name, "iterate") for one in (ALL, *WITHOUT)]
    assert found_of([BASE, *seven]).turned == {}
    back = world("leave_one_out", "without r3", "invest")
    assert found_of([BASE, *seven[:-1], back]).turned == {"leave_one_out": ("without r3",)}


def test_for_people_the_ratings_of_all_are_the_reference(found_of: Any) -> None:
    """Nobody can put them into other batches."""
    people = world("baseline", REFERENCE)
    found = found_of([people, *WITHOUT[:3], world("leave_one_out", "without r3", "stop")])
    assert found.turned == {"leave_one_out": ("without r3",)}
    assert found.kept == {"leave_one_out": 0.75}


def test_a_threshold_that_turns_the_recommendation_near_by_makes_it_fragile(found_of: Any) -> None:
    found = found_of([BASE], alphas=alphas(0.52, 0.52), profiles=profiles(gold=None))
    assert found.robustness is Robustness.FRAGILE
    assert (found.nearest.threshold.name, found.nearest.what) == ("recalibrate_alpha_below", "iterate")


def test_a_threshold_that_turns_it_farther_off_makes_it_conditional(found_of: Any) -> None:
    found = found_of([BASE], alphas=alphas(0.58, 0.58), profiles=profiles(gold=None))
    assert found.robustness is Robustness.CONDITIONAL
    assert found.nearest.margin == pytest.approx(0.16, abs=2e-4)


def test_a_threshold_that_turns_claims_alone_leaves_the_recommendation_robust(shipped: LabelSignalPlan) -> None:
    plan = with_sensitivity(shipped, policy=("reliability_pass",), decision=(), trajectories=1)
    found = findings(grounds(alphas=alphas(0.95, 0.65)), [BASE, ALL, *WITHOUT], plan)
    assert [flip.turned for one in found.swept for flip in one.flips] == ["claims"]
    assert found.swept[0].fragile
    assert (found.robustness, found.nearest) == (Robustness.ROBUST, None)


def test_without_any_other_world_nobody_can_call_it_robust(found_of: Any) -> None:
    """One rater cannot be left out; a threshold that turns it says more than that all the same."""
    assert found_of([BASE]).robustness is Robustness.NOT_ASSESSED
    assert found_of([BASE], alphas=alphas(0.52, 0.52), profiles=profiles(gold=None)).robustness is Robustness.FRAGILE
