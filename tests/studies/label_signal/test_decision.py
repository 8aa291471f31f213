"""The eight rules of a recommendation: each by itself, the first that holds, what is missing, and what it costs."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.studies.label_signal.decision import Evidence, Recommended, irreducible_share, recommend
from eval_pipeline.studies.label_signal.words import Recommendation
from tests.stats.laws import LAW

INVEST, ITERATE, HOLD, STOP = (
    Recommendation.INVEST,
    Recommendation.ITERATE,
    Recommendation.HOLD,
    Recommendation.STOP,
)
NEAR = 1e-9
HEALTHY = Evidence(
    alpha_by_dimension={"a": 0.85, "b": 0.8, "c": 0.75},
    alpha_mean=0.8,
    gold=0.9,
    gap_rate=0.05,
    flagged=0.1,
    marginal_gap=0.05,
    effect=0.12,
    mde=0.04,
    items=100,
)
# Low agreement on every dimension, of raters who meet known scores: 1 - .42 = .58, of which .14 are errors; .44 / .58.
CONTESTED = replace(
    HEALTHY, alpha_by_dimension={"a": 0.5, "b": 0.42, "c": 0.34}, alpha_mean=0.42, gold=0.86, gap_rate=0.4, effect=0.01
)


@pytest.fixture
def recommended(shipped):
    """What the shipped plan recommends, with thresholds of the decision changed by name."""

    def recommended(evidence: Evidence, **changed: Any) -> Recommended:
        decision = shipped.decision.model_copy(update=changed)
        return recommend(evidence, decision, shipped.policies["default"])

    return recommended


def test_the_first_rule_mends_the_pool_before_the_question_is_given_up(recommended):
    found = recommended(replace(CONTESTED, flagged=0.51))
    # 40 items by 3 raters at .85
    assert (found.rule, found.recommendation, found.cost_usd) == ("pool", ITERATE, 102.0)
    assert recommended(replace(CONTESTED, flagged=0.5)).rule == "structural"
    assert recommended(replace(CONTESTED, flagged=0.5 + NEAR)).rule == "pool"
    # Where raters agree all the same, their flags are the gate's matter.
    assert recommended(replace(HEALTHY, flagged=0.9)).rule == "sound"


def test_the_second_rule_stops_where_raters_know_the_scores_and_still_disagree(recommended):
    found = recommended(CONTESTED)
    assert (found.rule, found.recommendation, found.cost_usd) == ("structural", STOP, None)
    assert "0.42 on average" in found.reason
    assert "3 of 3 signs" in found.reason


def test_the_third_rule_revises_a_rubric_that_is_blamed(recommended):
    found = recommended(replace(HEALTHY, gap_rate=0.16))
    assert (found.rule, found.recommendation, found.cost_usd) == ("rubric", ITERATE, 102.0)
    assert found.reason.startswith("adjudicators blame the rubric in 16%")
    assert recommended(replace(HEALTHY, gap_rate=0.15)).rule == "sound"
    assert recommended(replace(HEALTHY, gap_rate=0.15 + NEAR)).rule == "rubric"


def test_the_fourth_rule_rebuilds_the_few_dimensions_that_are_broken(recommended):
    alphas = {"a": 0.73, "b": 0.66, "c": 0.19}
    found = recommended(replace(HEALTHY, alpha_by_dimension=alphas, alpha_mean=0.527))
    assert (found.rule, found.recommendation, found.cost_usd) == ("broken_dimensions", ITERATE, 102.0)
    assert found.reason == "drop or rebuild c; the other dimensions hold"


@pytest.mark.parametrize(
    ("alphas", "rule"),
    [
        ((0.9, 0.4 - NEAR), "broken_dimensions"),
        ((0.9, 0.4), "sound"),
        ((0.55, 0.39), "broken_dimensions"),
        ((0.55 - NEAR, 0.39), "sound"),
        # as many sound as broken, and one fewer
        ((0.9, 0.8, 0.1, 0.2), "broken_dimensions"),
        ((0.9, 0.1, 0.2), "sound"),
        ((0.5, 0.5), "sound"),
    ],
)
def test_dimensions_are_broken_under_their_bar_and_sound_from_theirs_on(recommended, alphas, rule):
    """The mean is held at .60, so that no other rule comes in between."""
    named = dict(zip("abcd", alphas, strict=False))
    assert recommended(replace(HEALTHY, alpha_by_dimension=named, alpha_mean=0.6)).rule == rule


def test_all_broken_dimensions_are_named_and_no_other(recommended):
    alphas = {"a": 0.9, "b": 0.1, "c": 0.8, "d": 0.2, "e": None, "f": 0.45}
    found = recommended(replace(HEALTHY, alpha_by_dimension=alphas, alpha_mean=0.6))
    assert found.reason == "drop or rebuild b, d; the other dimensions hold"


def test_the_fifth_rule_calibrates_raters_who_agree_on_nothing_much(recommended):
    low = replace(HEALTHY, alpha_by_dimension={"a": 0.48, "b": 0.45, "c": 0.42}, alpha_mean=0.45, gold=0.55)
    found = recommended(low)
    # 25 items by 3 raters at .85
    assert (found.rule, found.recommendation, found.cost_usd) == ("recalibrate", ITERATE, 63.75)
    assert [recommended(replace(low, alpha_mean=mean)).rule for mean in (0.5 - NEAR, 0.5)] == ["recalibrate", "sound"]


def test_the_sixth_rule_collects_what_the_design_lacks(recommended):
    found = recommended(replace(HEALTHY, marginal_gap=0.45))
    assert (found.rule, found.recommendation, found.cost_usd) == ("coverage", ITERATE, None)
    gaps = [recommended(replace(HEALTHY, marginal_gap=gap)).rule for gap in (0.2, 0.2 + NEAR)]
    assert gaps == ["sound", "coverage"]


def test_the_sixth_rule_has_the_bar_of_the_policy(shipped):
    policy = shipped.policies["default"].model_copy(update={"marginal_gap_at_most": Fraction(1, 2)})
    assert recommend(replace(HEALTHY, marginal_gap=0.45), shipped.decision, policy).rule == "sound"


def test_the_seventh_rule_pays_for_the_items_that_a_small_difference_takes(recommended):
    """100 (.05 / .02)^2 = 625 items, 525 more; by 3 raters at .85 that is 1338.75."""
    found = recommended(replace(HEALTHY, effect=0.02, mde=0.05))
    assert (found.rule, found.recommendation, found.cost_usd) == ("underpowered", INVEST, 1338.75)
    assert found.reason == "a difference of 0.0200 takes 625 items, 525 more"
    assert recommended(replace(HEALTHY, effect=-0.02, mde=0.05)) == found


def test_the_seventh_rule_holds_where_no_affordable_number_of_items_would_do(recommended):
    """100 (.06 / .02)^2 = 900 > 800; at .05657 it is 800.04, of which 801 is the next whole number; at .0565, 799."""
    found = recommended(replace(HEALTHY, effect=0.02, mde=0.06))
    assert (found.rule, found.recommendation, found.cost_usd) == ("too_small", HOLD, None)
    assert "would take 900 items, beyond 8 times what there is" in found.reason
    assert recommended(replace(HEALTHY, effect=0.02, mde=0.05657)).recommendation is HOLD
    assert recommended(replace(HEALTHY, effect=0.02, mde=0.0565)).recommendation is INVEST


def test_a_number_of_items_is_no_item_larger_for_being_a_float(recommended):
    """32 (.033 / .011)^2 = 288, which is 9 times 32; in floats it comes out above, and 289 items would be asked for."""
    evidence = replace(HEALTHY, effect=0.011, mde=0.033, items=32)
    assert recommended(evidence, hold_factor=Fraction(9)).cost_usd == pytest.approx((288 - 32) * 3 * 0.85)
    assert recommended(evidence, hold_factor=Fraction(899, 100)).recommendation is HOLD


def test_no_difference_at_all_is_held_and_was_invested_in_by_the_first_version(recommended, compat):
    nothing = replace(HEALTHY, effect=0.0)
    found = recommended(nothing)
    assert (found.rule, found.recommendation, found.cost_usd) == ("no_effect", HOLD, None)
    first = recommend(nothing, compat.decision, compat.policies["default"])
    assert (first.rule, first.recommendation, first.cost_usd) == ("no_effect", INVEST, None)


def test_the_eighth_rule_invests_in_what_is_sound(recommended):
    found = recommended(HEALTHY)
    assert (found.rule, found.recommendation, found.cost_usd) == ("sound", INVEST, None)
    reached = [recommended(replace(HEALTHY, effect=effect)).rule for effect in (0.04, -0.04, 0.04 - NEAR)]
    assert reached == ["sound", "sound", "underpowered"]


def test_the_first_rule_that_holds_decides(recommended):
    """Everything is wrong at once, and is mended from the top."""
    alphas = {"a": 0.3, "b": 0.59, "c": 0.35, "d": 0.57}
    wrong = replace(CONTESTED, alpha_by_dimension=alphas, alpha_mean=0.45, flagged=0.6, marginal_gap=0.5)
    rules = [recommended(wrong).rule]
    for mended in (
        {"flagged": 0.2},
        {"gold": 0.69},
        {"gap_rate": 0.15},
        {"alpha_by_dimension": {"a": 0.42, "b": 0.45}},
        {"alpha_mean": 0.5},
        {"marginal_gap": 0.2},
        {"effect": 0.03},
        {"effect": 0.2},
    ):
        wrong = replace(wrong, **mended)
        rules.append(recommended(wrong).rule)
    assert rules == [
        "pool",
        "structural",
        "rubric",
        "broken_dimensions",
        "recalibrate",
        "coverage",
        "too_small",
        "underpowered",
        "sound",
    ]


@pytest.mark.parametrize(
    ("changed", "sign", "shown"),
    [
        ({"alpha_by_dimension": {"a": 0.6 - NEAR, "b": 0.1}}, "no_dimension_agreed", True),
        ({"alpha_by_dimension": {"a": 0.6, "b": 0.1}}, "no_dimension_agreed", False),
        ({"alpha_by_dimension": {"a": None, "b": 0.1}}, "no_dimension_agreed", True),
        ({"alpha_by_dimension": {"a": None}}, "no_dimension_agreed", None),
        ({"alpha_mean": 0.6, "gold": 0.82}, "irreducible", True),  # (.40 - .18) / .40
        ({"alpha_mean": 0.6, "gold": 0.82 - NEAR}, "irreducible", False),
        ({"gold": None}, "irreducible", None),
        ({"gap_rate": 0.3}, "rubric_blamed", True),
        ({"gap_rate": 0.3 - NEAR}, "rubric_blamed", False),
        ({"gap_rate": None}, "rubric_blamed", None),
    ],
)
def test_each_sign_of_a_structural_disagreement_has_its_bar(recommended, changed, sign, shown):
    assert recommended(replace(CONTESTED, **changed)).indicators[sign] is shown


@pytest.mark.parametrize("absent", ["no_dimension_agreed", "irreducible", "rubric_blamed"])
def test_any_two_of_the_three_signs_stop_a_track_and_one_does_not(recommended, absent):
    """Gold of .75 explains .25 of a disagreement of .5, which leaves .5; .80 leaves .6."""
    mended = {
        "no_dimension_agreed": {"alpha_by_dimension": {"a": 0.6, "b": 0.42}},
        "irreducible": {"gold": 0.75},
        "rubric_blamed": {"gap_rate": 0.1},
    }
    start = replace(CONTESTED, alpha_mean=0.5, gold=0.8)
    two = replace(start, **mended[absent])
    assert recommended(two).recommendation is STOP
    assert recommended(two, indicators_needed=3).recommendation is not STOP
    for other in set(mended) - {absent}:
        assert recommended(replace(two, **mended[other])).recommendation is not STOP


def test_agreement_from_the_bar_on_is_not_structural_whatever_the_signs(recommended):
    found = [recommended(replace(CONTESTED, alpha_mean=mean)).rule for mean in (0.55 - NEAR, 0.55)]
    assert found == ["structural", "rubric"]


def test_raters_are_competent_from_the_bar_of_known_scores_on(recommended):
    """Two signs hold at either gold: no dimension is agreed on, and the rubric is blamed."""
    found = [recommended(replace(CONTESTED, gold=gold)).rule for gold in (0.7 - NEAR, 0.7)]
    assert found == ["rubric", "structural"]


def test_without_known_scores_no_track_is_stopped(recommended):
    found = recommended(replace(CONTESTED, gold=None))
    assert (found.rule, found.irreducible) == ("rubric", None)
    assert recommended(replace(CONTESTED, gold=None, gap_rate=0.0)).rule == "recalibrate"


SHARES = st.one_of(st.none(), st.floats(0, 1))


@LAW
@given(
    st.dictionaries(st.sampled_from("abcd"), st.one_of(st.none(), st.floats(-0.5, 1)), max_size=4),
    st.one_of(st.none(), st.floats(-0.5, 1)),
    SHARES,
    SHARES,
    SHARES,
    st.one_of(st.none(), st.floats(-1, 1)),
    SHARES,
    st.integers(0, 500),
)
def test_whatever_else_is_found_no_gold_never_stops(shipped, alphas, mean, gap_rate, flagged, gap, effect, mde, items):
    evidence = Evidence(alphas, mean, None, gap_rate, flagged, gap, effect, mde, items)
    found = recommend(evidence, shipped.decision, shipped.policies["default"])
    assert found.recommendation is not STOP
    assert found.irreducible is None


def test_agreement_that_is_undefined_is_not_taken_for_none(recommended):
    """Raters are calibrated again: 25 items. The first version took it for an alpha of 0."""
    nothing = {"a": None, "b": None}
    found = recommended(replace(CONTESTED, alpha_by_dimension=nothing, alpha_mean=None, flagged=0.9))
    assert (found.rule, found.recommendation, found.cost_usd) == ("agreement_undefined", ITERATE, 63.75)
    assert "undefined on every dimension" in found.reason
    assert found.irreducible is None


@pytest.mark.parametrize(
    ("missing", "rule"),
    [
        ({"flagged": None}, "structural"),
        ({"flagged": None, "gold": None, "gap_rate": None}, "recalibrate"),
        ({"gap_rate": None}, "structural"),
    ],
)
def test_what_is_missing_takes_part_in_no_rule(recommended, missing, rule):
    assert recommended(replace(CONTESTED, **missing)).rule == rule


@pytest.mark.parametrize("missing", ["gap_rate", "flagged", "marginal_gap", "gold", "effect", "mde"])
def test_a_sound_track_needs_none_of_what_may_be_missing(recommended, missing):
    assert recommended(replace(HEALTHY, **{missing: None})).recommendation is INVEST


def test_without_two_systems_there_is_no_difference_to_pay_for(recommended):
    for alone in ({"effect": None}, {"mde": None}, {"effect": None, "mde": None, "items": 0}):
        found = recommended(replace(HEALTHY, **alone))
        assert (found.rule, found.cost_usd) == ("sound", None)
        assert "no two systems to tell apart" in found.reason


def test_costs_are_items_by_ratings_by_their_price(recommended):
    changed = {"bridge_items": 10, "recalibration_items": 7, "ratings_each": 2, "usd_per_rating": Fraction(3, 2)}
    assert recommended(replace(HEALTHY, gap_rate=0.5), **changed).cost_usd == 30.0
    assert recommended(replace(HEALTHY, alpha_mean=0.4, gold=0.5), **changed).cost_usd == 21.0
    assert recommended(replace(HEALTHY, effect=0.02), **changed).cost_usd == 300 * 2 * 1.5


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (CONTESTED, "mean alpha of 0.55 or more on a revised rubric, with the same raters"),
        (replace(HEALTHY, effect=0.0), "items that tell systems apart better"),
        (replace(HEALTHY, effect=0.001), "a system whose expected difference exceeds what the study detects"),
        (replace(CONTESTED, flagged=0.9), "the bridge sample of 40 items rated again"),
        (replace(HEALTHY, gap_rate=0.2), "the rubric blamed in less than 0.15"),
        (replace(HEALTHY, marginal_gap=0.5), "every declared level with enough items"),
        (HEALTHY, "mean alpha under 0.5, or drift, on the next batch"),
    ],
)
def test_every_recommendation_says_what_would_turn_it(recommended, evidence, said):
    assert any(said in one for one in recommended(evidence).reversal)


GONE = {
    "no_dimension_agreed": (
        "a dimension with an alpha of 0.6 or more that decides by itself",
        {"alpha_by_dimension": {"a": 0.6, "b": 0.4}},
    ),
    "irreducible": (
        "errors on known scores that explain more than 0.45 of the disagreement",
        {"gold": 0.72},  # .28 of a disagreement of .58
    ),
    "rubric_blamed": ("adjudicators who blame the rubric in less than 0.3", {"gap_rate": 0.29}),
}


@pytest.mark.parametrize("absent", list(GONE))
def test_of_two_signs_either_that_goes_turns_a_stop(recommended, absent):
    two = replace(CONTESTED, **GONE[absent][1])
    said = recommended(two).reversal
    assert recommended(two).recommendation is STOP
    assert GONE[absent][0] not in said
    for name in set(GONE) - {absent}:
        sentence, change = GONE[name]
        assert sentence in said
        assert recommended(replace(two, **change)).recommendation is not STOP
    assert recommended(replace(two, alpha_mean=0.55)).recommendation is not STOP


def test_of_three_signs_two_must_go_to_turn_a_stop(recommended):
    said = recommended(CONTESTED).reversal
    assert said[1] == "2 of these at once: " + "; ".join(sentence for sentence, _ in GONE.values())
    for _, change in GONE.values():
        assert recommended(replace(CONTESTED, **change)).recommendation is STOP
    (_, first), _, (_, last) = GONE.values()
    assert recommended(replace(CONTESTED, **first, **last)).recommendation is not STOP


@pytest.mark.parametrize(
    ("alpha", "gold", "share"),
    [
        (1.0, 0.9, 0.0),  # there is no disagreement
        (1 - 1e-12, 0.0, 0.0),
        (0.4, 0.95, 0.55 / 0.6),
        (0.4, 0.3, 0.0),  # errors explain more than there is
        (0.4, 1.0, 1.0),
        (-0.3, 0.7, 0.7),  # worse than chance is held at 0
        (None, 0.9, None),
        (0.4, None, None),
    ],
)
def test_the_irreducible_share_is_what_errors_on_known_scores_leave(alpha, gold, share):
    assert irreducible_share(alpha, gold) == (None if share is None else pytest.approx(share, abs=1e-12))


@LAW
@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_irreducible_share_is_one_and_grows_with_what_raters_know(alpha, one, other):
    low, high = sorted((one, other))
    less, more = irreducible_share(alpha, low), irreducible_share(alpha, high)
    assert 0 <= less <= more + 1e-12
    assert more <= 1


@LAW
@given(st.floats(0.001, 0.3), st.floats(0.001, 0.3), st.integers(2, 500))
def test_the_items_that_are_bought_make_the_difference_detectable(shipped, effect, mde, items):
    """The smallest detectable difference falls with the root of the items: at `needed` it is the effect or less."""
    found = recommend(
        replace(HEALTHY, effect=effect, mde=mde, items=items), shipped.decision, shipped.policies["default"]
    )
    if found.rule == "underpowered":
        needed = items + found.cost_usd / (3 * 0.85)
        assert mde * (items / needed) ** 0.5 <= effect * (1 + 1e-9)
        assert mde * (items / (needed - 1)) ** 0.5 > effect * (1 - 1e-9)
        assert needed <= 8 * items + 1e-6
    else:
        assert found.rule == ("too_small" if effect < mde else "sound")
