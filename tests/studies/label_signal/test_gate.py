"""Each of the twelve checks at its bars and to either side of them, what does not apply, and what they come to."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.records import Interval
from eval_pipeline.studies.label_signal import gate
from eval_pipeline.studies.label_signal.gate import Check
from eval_pipeline.studies.label_signal.words import Standing, worst
from tests.stats.laws import LAW

PASS, WARN, BLOCK, NOT_APPLICABLE = Standing.PASS, Standing.WARN, Standing.BLOCK, Standing.NOT_APPLICABLE
NEAR = 1e-9  # far more than arithmetic loses, and far less than anyone would report
SHARES = st.floats(0, 1)


@pytest.fixture
def default(shipped):
    return shipped.policies["default"]


@pytest.fixture
def exploratory(shipped):
    return shipped.policies["exploratory"]


def between(low, high):
    return Interval(low, high, 0.95)


def better(one, other):
    """Whether a standing is better than another."""
    return list(Standing).index(one) < list(Standing).index(other)


@pytest.mark.parametrize(
    ("estimate", "standing"),
    [
        (-0.2, BLOCK),
        (0.5 - NEAR, BLOCK),
        (0.5, WARN),
        (0.5 + NEAR, WARN),
        (0.667 - NEAR, WARN),
        (0.667, PASS),
        (0.667 + NEAR, PASS),
        (1.0, PASS),
        (None, BLOCK),
    ],
)
def test_reliability_blocks_under_the_floor_and_warns_under_the_bar(default, estimate, standing):
    assert gate.reliability("x", estimate, None, default).standing is standing


def test_reliability_that_arithmetic_left_a_hair_under_a_bar_reaches_it(default, exploratory):
    assert 1 - 7 * 0.1 < 0.3
    assert gate.reliability("x", 1 - 7 * 0.1, None, exploratory).standing is WARN
    assert gate.reliability("x", Fraction(667, 1000), None, default).standing is PASS


def test_an_exploratory_track_is_held_to_lower_bars_of_reliability(exploratory):
    found = [gate.reliability("x", value, None, exploratory).standing for value in (0.3 - NEAR, 0.3, 0.5 - NEAR, 0.5)]
    assert found == [BLOCK, WARN, WARN, PASS]


def test_the_sentence_of_reliability_says_tentative_under_the_firm_bar_and_firm_from_it_on(default):
    for value, word in ((0.667, "tentative"), (0.8 - NEAR, "tentative"), (0.8, "firm"), (0.95, "firm")):
        assert f", {word}, 0.667 or more" in gate.reliability("x", value, None, default).detail
    assert "under the floor of 0.5" in gate.reliability("x", 0.4, None, default).detail
    assert "is 0.600, under 0.667" in gate.reliability("x", 0.6, None, default).detail
    assert gate.reliability("tone", None, None, default).detail == "the reliability of tone cannot be computed"


@pytest.mark.parametrize("estimate", [0.45, 0.52, 0.66, 0.7, 0.85])
@pytest.mark.parametrize("interval", [(0.3, 0.95), (0.49, 0.51), (0.6, 0.7), (0.9, 0.95), (0.1, 0.2), None])
def test_an_interval_changes_the_sentence_and_never_the_standing(default, estimate, interval):
    held = between(*interval) if interval else None
    with_it, without = (gate.reliability("x", estimate, one, default) for one in (held, None))
    assert with_it.standing is without.standing
    straddles = interval is not None and any(interval[0] < bar <= interval[1] for bar in (0.5, 0.667))
    assert ("uncertain" in with_it.detail) is straddles
    assert ("no interval could be computed" in with_it.detail) is (interval is None)


def test_the_sentence_names_the_interval_and_the_lowest_bar_in_it(default):
    assert gate.reliability("x", 0.52, between(0.36, 0.68), default).detail.endswith(
        "; uncertain: its interval, 0.360 to 0.680, holds 0.5"
    )
    assert gate.reliability("x", 0.62, between(0.55, 0.68), default).detail.endswith("0.550 to 0.680, holds 0.667")
    assert gate.reliability("x", 0.62, between(0.55, 0.66), default).detail.endswith("(0.550 to 0.660)")
    # An interval that ends in the bar has a value there that reaches it, and others that do not.
    assert "uncertain" in gate.reliability("x", 0.6, between(0.55, Fraction(667, 1000)), default).detail
    # One that begins there does not: all of it reaches the bar.
    assert "uncertain" not in gate.reliability("x", 0.7, between(Fraction(667, 1000), 0.7), default).detail


@pytest.mark.parametrize(
    ("half_width", "standing"),
    [(0.0, PASS), (0.075 - NEAR, PASS), (0.075, PASS), (0.075 + NEAR, WARN), (0.5, WARN), (None, BLOCK)],
)
def test_precision_warns_above_its_bar_and_blocks_where_there_is_none(default, half_width, standing):
    assert gate.precision(half_width, default).standing is standing


def test_an_exploratory_track_may_be_half_as_precise(exploratory):
    assert [gate.precision(width, exploratory).standing for width in (0.15, 0.15 + NEAR)] == [PASS, WARN]


@pytest.mark.parametrize(
    ("effect", "mde", "standing"),
    [
        (0.06, 0.06, PASS),
        (0.06 - NEAR, 0.06, BLOCK),
        (0.06 + NEAR, 0.06, PASS),
        (-0.06, 0.06, PASS),
        (-0.06 + NEAR, 0.06, BLOCK),
        (0.0, 0.06, BLOCK),
        (None, 0.06, BLOCK),
        (0.06, None, BLOCK),
    ],
)
def test_a_difference_of_either_sign_must_reach_what_could_be_detected(default, effect, mde, standing):
    assert gate.effect_vs_mde(effect, mde, default).standing is standing


def test_a_margin_asks_for_a_multiple_of_what_could_be_detected(default):
    stricter = default.model_copy(update={"mde_margin": Fraction(3, 2)})
    assert gate.effect_vs_mde(0.09, 0.06, stricter).standing is PASS
    assert gate.effect_vs_mde(0.09 - NEAR, 0.06, stricter).standing is BLOCK


def test_a_depth_may_waive_what_could_be_detected(exploratory):
    assert gate.effect_vs_mde(0.0001, 0.9, exploratory).standing is PASS
    assert gate.effect_vs_mde(None, None, exploratory).standing is PASS


@pytest.mark.parametrize(
    ("interval", "standing"),
    [
        ((0.01, 0.09), PASS),
        ((NEAR, 0.09), PASS),
        ((0.0, 0.09), BLOCK),
        ((-NEAR, 0.09), BLOCK),
        ((-0.09, -NEAR), PASS),
        ((-0.09, 0.0), BLOCK),
        ((-0.09, NEAR), BLOCK),
        ((0.0, 0.0), BLOCK),
        ((None, 0.09), BLOCK),
        ((0.01, None), BLOCK),
    ],
)
def test_zero_must_lie_outside_of_the_interval_and_not_on_its_edge(interval, standing):
    assert gate.interval_excludes_zero(between(*interval)).standing is standing


def test_without_an_interval_zero_is_not_left_out():
    found = gate.interval_excludes_zero(None)
    assert (found.standing, found.detail) == (BLOCK, "the interval of the difference cannot be computed")


@pytest.mark.parametrize(
    ("p_value", "standing"),
    [(1e-6, PASS), (0.05 - NEAR, PASS), (0.05, PASS), (0.05 + NEAR, BLOCK), (1.0, BLOCK), (None, BLOCK)],
)
def test_a_difference_stands_at_an_adjusted_p_of_alpha_or_less(p_value, standing):
    """As in Holm's procedure itself, where p = alpha is rejected; .05 is the decimal, and no float of it."""
    assert gate.multiplicity(p_value, Fraction(1, 20)).standing is standing


@pytest.mark.parametrize(
    ("gap", "balance", "absent", "standing"),
    [
        (0.0, 1.0, (), PASS),
        (0.2, 0.25, (), PASS),
        (0.2 + NEAR, 1.0, (), WARN),
        (0.0, 0.25 - NEAR, (), WARN),
        (0.0, 0.25, (), PASS),
        (1.0, 0.1, (), WARN),
        (0.0, 1.0, ("domain=law",), BLOCK),
        (0.9, 0.0, ("domain=law",), BLOCK),
        (None, None, (), NOT_APPLICABLE),
    ],
)
def test_an_absent_level_blocks_and_thin_or_unequal_ones_warn(default, gap, balance, absent, standing):
    assert gate.coverage(gap, balance, absent, default).standing is standing


def test_of_several_faults_of_coverage_the_first_is_said(default):
    assert gate.coverage(0.5, 0.1, ("a=b", "c=d"), default).detail == "no item of a=b, c=d"
    assert gate.coverage(0.5, 0.1, (), default).detail.startswith("50% of the declared levels")
    assert gate.coverage(0.2, 0.1, (), default).detail.startswith("a level has 0.10 of the items of another")


@pytest.mark.parametrize(
    ("mean", "standing"), [(1.0, BLOCK), (2 - NEAR, BLOCK), (2.0, PASS), (2 + NEAR, PASS), (3.0, PASS)]
)
def test_an_answer_must_be_rated_twice_on_average(default, mean, standing):
    assert gate.replication(mean, default).standing is standing


@pytest.mark.parametrize(
    ("flagged", "standing"),
    [
        (0.0, PASS),
        (0.34 - NEAR, PASS),
        (0.34, PASS),
        (0.34 + NEAR, WARN),
        (0.68 - NEAR, WARN),
        (0.68, WARN),
        (0.68 + NEAR, BLOCK),
        (1.0, BLOCK),
    ],
)
def test_too_many_flagged_raters_warn_and_twice_as_many_block(default, flagged, standing):
    assert gate.annotator_pool(flagged, default).standing is standing


def test_drift_blocks_or_warns_as_the_policy_says(default, exploratory):
    assert [gate.drift(found, "why", default).standing for found in (False, True, None)] == [
        PASS,
        BLOCK,
        NOT_APPLICABLE,
    ]
    assert [gate.drift(found, "", exploratory).standing for found in (False, True, None)] == [
        PASS,
        WARN,
        NOT_APPLICABLE,
    ]
    assert gate.drift(True, "why", default).detail == "why"


@pytest.mark.parametrize(
    ("rate", "standing"),
    [(0.0, PASS), (0.15 - NEAR, PASS), (0.15, PASS), (0.15 + NEAR, BLOCK), (1.0, BLOCK), (None, NOT_APPLICABLE)],
)
def test_a_rubric_that_is_blamed_too_often_blocks(default, rate, standing):
    assert gate.rubric_specification(rate, default).standing is standing


@pytest.mark.parametrize(
    ("exact", "standing", "in_the_first_version"),
    [
        (1.0, PASS, PASS),
        (0.7, PASS, PASS),
        (0.7 - NEAR, WARN, WARN),
        (0.6, WARN, WARN),
        (0.6 - NEAR, BLOCK, WARN),
        (0.0, BLOCK, WARN),
        (None, NOT_APPLICABLE, NOT_APPLICABLE),
    ],
)
def test_a_rater_who_misses_known_scores_warns_and_blocks_in_the_end(
    default, compat, exact, standing, in_the_first_version
):
    """The first version never blocked for it."""
    assert gate.gold_calibration(exact, default).standing is standing
    assert gate.gold_calibration(exact, compat.policies["default"]).standing is in_the_first_version


@pytest.mark.parametrize(
    ("kind", "allowed_to"),
    [
        ("descriptive", {"exploratory", "pilot", "production"}),
        ("measurement", {"pilot", "production"}),
        ("ranking", {"production"}),
        ("release_gate", {"production"}),
        ("prophecy", {"production"}),
    ],
)
def test_what_may_be_claimed_grows_with_the_depth(shipped, kind, allowed_to):
    """A kind that no rule knows asks for the most; a depth that none knows has the least."""
    for depth in ("exploratory", "pilot", "production"):
        assert gate.depth_contract(kind, depth, shipped.depths).standing is (PASS if depth in allowed_to else BLOCK)
    as_exploratory = PASS if "exploratory" in allowed_to else BLOCK
    assert gate.depth_contract(kind, "deepest", shipped.depths).standing is as_exploratory


def test_the_sentence_of_the_depth_says_what_may_not_be_claimed(shipped):
    found = gate.depth_contract("release_gate", "pilot", shipped.depths)
    assert found.detail == "a track of depth pilot may not make a release gate claim"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_passes_no_check(default, value):
    """None says that something could not be measured; a NaN is an error of whoever gives it."""
    for check in (
        lambda: gate.reliability("x", value, None, default),
        lambda: gate.precision(value, default),
        lambda: gate.effect_vs_mde(0.1, value, default),
        lambda: gate.effect_vs_mde(value, 0.1, default),
        lambda: gate.multiplicity(value, Fraction(1, 20)),
        lambda: gate.coverage(value, 1.0, (), default),
        lambda: gate.coverage(0.0, value, (), default),
        lambda: gate.replication(value, default),
        lambda: gate.annotator_pool(value, default),
        lambda: gate.rubric_specification(value, default),
        lambda: gate.gold_calibration(value, default),
    ):
        with pytest.raises((ValueError, OverflowError)):
            check()


def checks(*standings):
    return [Check("coverage", standing, "") for standing in standings]


@pytest.mark.parametrize("order", [(PASS, WARN, BLOCK), (BLOCK, WARN, PASS), (WARN, BLOCK, PASS)])
def test_the_worst_check_decides_wherever_it_stands(shipped, order):
    assert gate.standing_of(checks(*order), shipped.claims) is BLOCK
    assert gate.standing_of(checks(*(one for one in order if one is not BLOCK)), shipped.claims) is WARN


def test_what_does_not_apply_is_left_out_and_is_no_pass(shipped, compat):
    assert gate.standing_of(checks(NOT_APPLICABLE, PASS), shipped.claims) is PASS
    assert gate.standing_of(checks(NOT_APPLICABLE, WARN), shipped.claims) is WARN
    assert gate.standing_of(checks(NOT_APPLICABLE), shipped.claims) is BLOCK
    assert gate.standing_of(checks(NOT_APPLICABLE), compat.claims) is PASS


def test_a_claim_without_checks_has_shown_nothing(shipped, compat):
    """In the first version it passed."""
    assert gate.standing_of([], shipped.claims) is BLOCK
    assert gate.standing_of([], compat.claims) is PASS


def test_there_is_no_worst_of_no_standings():
    with pytest.raises(ValueError, match="empty"):
        worst([])


@LAW
@given(st.lists(st.sampled_from(Standing), max_size=6), st.sampled_from(Standing))
def test_one_more_check_never_makes_a_claim_better(shipped, standings, one_more):
    """But for the first that applies, since without any nothing is shown."""
    before = gate.standing_of(checks(*standings), shipped.claims)
    after = gate.standing_of(checks(*standings, one_more), shipped.claims)
    assert not better(after, before) or all(one is NOT_APPLICABLE for one in standings)


@LAW
@given(st.tuples(SHARES, SHARES), st.tuples(SHARES, SHARES), st.sampled_from(["default", "exploratory"]))
def test_a_worse_number_never_stands_better(shipped, pair, other, name):
    policy, (low, high), (few, many) = shipped.policies[name], sorted(pair), sorted(other)
    for worse, good in (
        (gate.reliability("x", low, None, policy), gate.reliability("x", high, None, policy)),
        (gate.precision(high, policy), gate.precision(low, policy)),
        (gate.effect_vs_mde(low, few, policy), gate.effect_vs_mde(high, few, policy)),
        (gate.effect_vs_mde(low, many, policy), gate.effect_vs_mde(low, few, policy)),
        (gate.multiplicity(high, Fraction(1, 20)), gate.multiplicity(low, Fraction(1, 20))),
        (gate.coverage(high, few, (), policy), gate.coverage(low, many, (), policy)),
        (gate.replication(3 * low, policy), gate.replication(3 * high, policy)),
        (gate.annotator_pool(high, policy), gate.annotator_pool(low, policy)),
        (gate.rubric_specification(high, policy), gate.rubric_specification(low, policy)),
        (gate.gold_calibration(low, policy), gate.gold_calibration(high, policy)),
    ):
        assert not better(worse.standing, good.standing)
