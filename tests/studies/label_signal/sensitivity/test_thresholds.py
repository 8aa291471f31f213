"""A threshold turns a conclusion where arithmetic says that it does; grounds are made by hand, so that it can say."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity.thresholds import (
    Swept,
    Threshold,
    grid_of,
    moved,
    outcome,
    relative_margin,
    sweep,
    thresholds,
)
from eval_pipeline.studies.label_signal.track import Track
from tests.studies.label_signal.sensitivity.made_up import (
    alphas,
    comparison,
    composite,
    design,
    grounds,
    profiles,
    score,
    triage,
    with_sensitivity,
)

BISECTED = 1e-4


def swept(plan: LabelSignalPlan, name: str, given: Grounds) -> Swept:
    """What the sweep finds of one threshold; it is swept by itself."""
    sections = {"policy": plan.sensitivity.policy, "decision": plan.sensitivity.decision}
    assert any(name in names for names in sections.values())
    alone = {section: (name,) if name in names else () for section, names in sections.items()}
    (found,) = sweep(given, with_sensitivity(plan, **alone))
    return found


# Which thresholds, and where they are tried


def test_four_tracks_have_96_thresholds(tracks: dict[str, Track], shipped: LabelSignalPlan) -> None:
    """Twelve of the checks and twelve of the recommendation."""
    found = [(key, one.section) for key, track in tracks.items() for one in thresholds(shipped, track.about.depth)]
    assert len(found) == 96
    assert all(found.count((key, section)) == 12 for key in tracks for section in ("policy", "decision"))


def test_each_threshold_is_swept_once_and_on_calm_grounds_none_turns_anything(shipped: LabelSignalPlan) -> None:
    found = sweep(grounds(), shipped)
    assert [one.threshold for one in found] == list(thresholds(shipped, "production"))
    assert len({one.threshold for one in found}) == 24
    assert [(one.threshold.name, one.flips) for one in found if one.flips or one.fragile] == []


def test_the_thresholds_of_checks_are_those_of_the_depth(shipped: LabelSignalPlan) -> None:
    of_depth = {
        depth: {one.name: one.default for one in thresholds(shipped, depth)} for depth in ("exploratory", "pilot")
    }
    assert of_depth["exploratory"]["reliability_floor"] == Fraction(3, 10)
    assert of_depth["pilot"]["reliability_floor"] == Fraction(1, 2)
    assert of_depth["exploratory"]["recalibrate_alpha_below"] == of_depth["pilot"]["recalibrate_alpha_below"]


def grid(plan: LabelSignalPlan, default: Fraction | int, name: str = "reliability_floor") -> list[str]:
    """The values at which a threshold is tried, as texts."""
    return [str(value) for value in grid_of(Threshold("policy", name, default), plan.sensitivity)]


def test_a_share_is_tried_at_tenths_of_itself_and_at_steps_of_one_and_five_points(shipped: LabelSignalPlan) -> None:
    """Of .5: 10, 20 and 30 % are .05, .1 and .15; .05 comes up twice."""
    tried = grid(shipped, Fraction(1, 2))
    assert tried == ["7/20", "2/5", "9/20", "49/100", "1/2", "51/100", "11/20", "3/5", "13/20"]


def test_a_share_is_never_tried_below_0_or_above_1(shipped: LabelSignalPlan) -> None:
    assert grid(shipped, Fraction(1, 50))[0] == "1/100"  # .02 - .05 is left out
    assert grid(shipped, Fraction(49, 50))[-1] == "99/100"
    assert grid(shipped, Fraction(1))[-1] == "1"


@pytest.mark.parametrize("name", ["mde_margin", "replication_at_least", "hold_factor"])
def test_a_factor_of_1_is_no_share_and_is_tried_above_1(shipped: LabelSignalPlan, name: str) -> None:
    assert grid(shipped, Fraction(1), name)[-1] == "13/10"


def test_a_share_of_0_is_tried_at_the_steps_alone(shipped: LabelSignalPlan) -> None:
    assert grid(shipped, Fraction(0)) == ["0", "1/100", "1/20"]


def test_a_count_is_tried_one_and_two_steps_off_and_never_under_one(shipped: LabelSignalPlan) -> None:
    assert grid(shipped, 2, "indicators_needed") == ["1", "2", "3", "4"]
    assert grid(shipped, 5, "indicators_needed") == ["3", "4", "5", "6", "7"]


def test_only_what_is_named_is_moved(shipped: LabelSignalPlan) -> None:
    floor = Threshold("policy", "reliability_floor", Fraction(1, 2))
    needed = Threshold("decision", "indicators_needed", 2)
    other = moved(shipped, "pilot", [(floor, Fraction(1, 3)), (needed, 3)])
    assert other.policies["default"] == shipped.policies["default"].model_copy(
        update={"reliability_floor": Fraction(1, 3)}
    )
    assert other.policies["exploratory"] == shipped.policies["exploratory"]
    assert other.decision == shipped.decision.model_copy(update={"indicators_needed": 3})
    assert other.model_copy(update={"policies": shipped.policies, "decision": shipped.decision}) == shipped


# Where they turn something


# Raters who meet every known score, or .8 of them, and agree on neither dimension: two signs of three stop the track.
STOPPED = {"alphas": alphas(0.5, 0.5), "profiles": profiles(gold=1.0)}
EIGHT_OF_TEN = {"alphas": alphas(0.5, 0.5), "profiles": profiles(gold=0.8)}
# Without known scores nobody is competent, so that the rules of low agreement come to the fifth.
NO_GOLD = {"alphas": alphas(0.52, 0.52), "profiles": profiles(gold=None)}
NINETY_ITEMS = {"comparisons": (comparison(effect=0.05, mde=0.15, pairs=10),)}


@pytest.mark.parametrize(
    ("name", "changes", "at", "margin", "turned"),
    [
        # Both alphas are .52, so that a floor above it withholds what is said of both dimensions.
        ("reliability_floor", NO_GOLD, 0.52, 0.04, 2),
        # .62 warns under a bar of .667, and passes one of .62: (.667 - .62) / .667.
        ("reliability_pass", {"alphas": alphas(0.95, 0.62)}, 0.62, 0.0705, 1),
        ("half_width_at_most", {"systems": (score(half_width=0.07),)}, 0.07, 0.0667, 1),
        ("mde_margin", {"comparisons": (comparison(effect=0.11, mde=0.1),)}, 1.1, 0.1, 1),
        ("balance_at_least", {"coverage": design(smallest=3)}, 0.30, 0.2, 2),
        ("replication_at_least", {"replication": 2.5}, 2.5, 0.25, 4),
        ("flagged_at_most", {"profiles": profiles(flagged=2)}, 0.333, 0.0206, 2),
        ("flagged_block_above", {"profiles": profiles(flagged=2, raters=3)}, 0.667, 0.0191, 2),
        ("gap_rate_at_most", {"triage": triage(0.14)}, 0.14, 0.0667, 2),
        ("gold_at_least", {"profiles": profiles(gold=0.75)}, 0.75, 0.0714, 2),
        ("gold_block_below", {"profiles": profiles(gold=0.64)}, 0.64, 0.0667, 2),
    ],
)
def test_claims_turn_where_arithmetic_says(
    shipped: LabelSignalPlan, name: str, changes: dict[str, Any], at: float, margin: float, turned: int
) -> None:
    """Of two dimensions, a system and a comparison, so many; the recommendation stays."""
    found = swept(shipped, name, grounds(**changes))
    assert_nearest(found, at, margin)
    nearest = found.flips[0]
    assert (nearest.turned, nearest.what) == ("claims", f"{turned} claim{'s' if turned > 1 else ''}")


@pytest.mark.parametrize(
    ("name", "changes", "at", "margin", "to"),
    [
        # The bar of coverage is that of two claims and of the sixth rule.
        ("marginal_gap_at_most", {"coverage": design(thin=17)}, 0.17, 0.15, "iterate"),
        ("recalibrate_alpha_below", NO_GOLD, 0.52, 0.04, "iterate"),
        ("max_dimension_alpha_below", STOPPED, 0.5, 0.1667, "invest"),
        ("structural_alpha_below", STOPPED, 0.5, 0.0909, "invest"),
        # 1 - .5 = .5, of which errors of .2 explain two fifths: .6 is irreducible.
        ("irreducible_at_least", EIGHT_OF_TEN, 0.6, 0.0909, "invest"),
        ("gold_competent", EIGHT_OF_TEN, 0.8, 0.1429, "invest"),
        # Two of five flagged raters are a bad pool under a bar of .4, which is mended before a track is stopped.
        ("pool_bad_above", STOPPED | {"profiles": profiles(gold=1.0, flagged=2, raters=5)}, 0.4, 0.2, "iterate"),
        # Of .5 errors of .3 leave .4 irreducible, so that a rubric blamed in .27 is the second sign or none.
        ("gap_rate_high", STOPPED | {"profiles": profiles(gold=0.7), "triage": triage(0.27)}, 0.27, 0.1, "stop"),
        ("gap_rate_revise", {"triage": triage(0.13)}, 0.13, 0.1333, "iterate"),
        # One dimension of .41 is broken as soon as the bar lies above it, and the other is sound.
        ("broken_alpha_below", {"alphas": alphas(0.95, 0.41)}, 0.41, 0.025, "iterate"),
        # One dimension is broken and one of .68 sound, until it is not; .515 on average is enough for the rest.
        ("sound_alpha_from", NO_GOLD | {"alphas": alphas(0.35, 0.68)}, 0.68, 0.2364, "invest"),
        # 10 * (.15 / .05) ** 2 = 90 items are more than 8 times 10, and not more than 9 times.
        ("hold_factor", NINETY_ITEMS, 9.0, 0.125, "invest"),
    ],
)
def test_the_recommendation_turns_where_arithmetic_says(
    shipped: LabelSignalPlan, name: str, changes: dict[str, Any], at: float, margin: float, to: str
) -> None:
    found = swept(shipped, name, grounds(**changes))
    assert_nearest(found, at, margin)
    assert (found.flips[0].turned, found.flips[0].what) == ("recommendation", to)


def assert_nearest(found: Swept, at: float, margin: float) -> None:
    """The nearest flip lies there, as closely as it was bisected, and that is near or not."""
    nearest = found.flips[0]
    assert nearest.at == pytest.approx(at, abs=BISECTED)
    assert nearest.margin == pytest.approx(margin, abs=BISECTED / float(found.threshold.default) + 5e-5)
    assert found.fragile == (margin <= 0.05)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("reliability_floor", NO_GOLD),
        ("reliability_pass", {"alphas": alphas(0.95, 0.62)}),
        ("flagged_at_most", {"profiles": profiles(flagged=2)}),
        ("hold_factor", NINETY_ITEMS),
    ],
)
def test_at_a_flip_the_conclusion_is_another_and_a_little_nearer_it_is_not(
    shipped: LabelSignalPlan, name: str, changes: dict[str, Any]
) -> None:
    given = grounds(**changes)
    found = swept(shipped, name, given)
    default = Fraction(found.threshold.default)
    at = Fraction(found.flips[0].at)
    nearer = at + (1 if at < default else -1) * shipped.sensitivity.bisected_to
    base = outcome(given, shipped)
    assert outcome(given, moved(shipped, "production", [(found.threshold, at)])) != base
    assert outcome(given, moved(shipped, "production", [(found.threshold, nearer)])) == base


def test_two_of_six_flagged_raters_lie_two_per_cent_under_the_bar(shipped: LabelSignalPlan) -> None:
    """(.34 - .333) / .34, with the share told to three decimals, as it is in a report."""
    given = grounds(profiles=profiles(flagged=2))
    assert given.flagged == 0.333
    assert relative_margin(Fraction("0.34"), Fraction("0.333")) == pytest.approx(0.020588, abs=1e-6)
    found = swept(shipped, "flagged_at_most", given)
    assert found.flips[0].margin == pytest.approx(0.0206, abs=BISECTED / 0.34)
    assert found.fragile


def test_the_flips_of_a_threshold_stand_nearest_first_and_count_what_turned_in_all(shipped: LabelSignalPlan) -> None:
    """A floor above .52 withholds one dimension, and above .56 the other as well."""
    found = swept(shipped, "reliability_floor", grounds(alphas=alphas(0.56, 0.52), profiles=profiles(gold=None)))
    assert [(round(flip.at, 2), flip.what) for flip in found.flips] == [(0.52, "1 claim"), (0.56, "2 claims")]
    assert [flip.margin for flip in found.flips] == pytest.approx([0.04, 0.12], abs=2 * BISECTED)


def test_a_threshold_may_turn_something_on_either_side(shipped: LabelSignalPlan) -> None:
    """Alphas of .46 and .52: a lower floor lets the first pass, a higher one withholds the second."""
    found = swept(shipped, "reliability_floor", grounds(alphas=alphas(0.46, 0.52, 0.9), profiles=profiles(gold=None)))
    assert [round(flip.at, 2) for flip in found.flips] == [0.52, 0.46]


def test_a_count_turns_at_a_whole_number(shipped: LabelSignalPlan) -> None:
    """Two signs of three hold: two needed stop the track, three do not; one and four change nothing more."""
    given = grounds(**STOPPED)
    assert outcome(given, shipped)[0] == "stop"
    found = swept(shipped, "indicators_needed", given)
    assert [(flip.at, flip.margin, flip.turned, flip.what) for flip in found.flips] == [
        (3.0, 0.5, "recommendation", "invest")
    ]
    assert not found.fragile


def test_a_flip_beyond_the_grid_is_not_seen(shipped: LabelSignalPlan) -> None:
    """The floor is tried up to .65."""
    assert not swept(shipped, "reliability_floor", grounds(alphas=alphas(0.66, 0.95))).flips
    assert swept(shipped, "reliability_floor", grounds(alphas=alphas(0.64, 0.95))).flips


def test_a_threshold_of_0_has_no_margin_and_is_not_fragile(compat: LabelSignalPlan) -> None:
    """Raters who meet 3 % of known scores block once more is asked of them; what share of 0 that is, nobody says."""
    found = swept(compat, "gold_block_below", grounds(profiles=profiles(gold=0.03)))
    assert found.flips[0].at == pytest.approx(0.03, abs=BISECTED)
    assert found.flips[0].margin is None
    assert not found.fragile
    assert relative_margin(Fraction(0), Fraction(1, 100)) is None


def test_a_finer_bisection_comes_nearer(shipped: LabelSignalPlan) -> None:
    finer = with_sensitivity(shipped, bisected_to=Fraction(1, 10**8))
    found = swept(finer, "reliability_pass", grounds(alphas=alphas(0.95, 0.62)))
    assert found.flips[0].at == pytest.approx(0.62, abs=1e-8)


def test_the_band_of_what_is_fragile_is_that_of_the_plan(shipped: LabelSignalPlan) -> None:
    given = grounds(alphas=alphas(0.95, 0.62))
    assert not swept(shipped, "reliability_pass", given).fragile
    assert swept(with_sensitivity(shipped, fragile_within=Fraction(8, 100)), "reliability_pass", given).fragile


def test_the_policy_of_the_depth_is_what_is_moved(shipped: LabelSignalPlan) -> None:
    """An exploratory floor of .30 lies near an alpha of .31; the one of .50 for production does not."""
    low = {"alphas": alphas(0.95, 0.31), "composite": composite(0.97)}
    exploratory = replace(grounds(**low), depth="exploratory")
    assert swept(shipped, "reliability_floor", exploratory).flips[0].at == pytest.approx(0.31, abs=BISECTED)
    assert not swept(shipped, "reliability_floor", grounds(**low)).flips
