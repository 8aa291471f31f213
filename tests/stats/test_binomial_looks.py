"""Looks at one count of events declare them rare exactly as often as all paths of the counts add up to."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.binomial_looks import CountLook, look_chances
from eval_pipeline.stats.gold_size import chance_to_show, errors_allowed
from tests.stats.laws import LAW

TWO = [CountLook(2, 0, 2), CountLook(4, 1, 4)]


@st.composite
def looks_of(draw):
    """Up to three looks at up to twelve trials."""
    looks, trials, least = [], 0, -1
    for _ in range(draw(st.integers(1, 3))):
        trials += draw(st.integers(1, 4))
        declared = draw(st.none() | st.integers(max(least, 0), max(least, 0) + 2))
        ended = draw(st.integers((0 if declared is None else declared) + 1, trials + 3))
        looks.append(CountLook(trials, declared, ended))
    return looks


def walked(looks, rate):
    """The same chances, by every sequence of events that there is."""
    reached, declared = [0.0] * len(looks), [0.0] * len(looks)
    for events in product((0, 1), repeat=looks[-1].trials):
        chance = np.prod([rate if event else 1 - rate for event in events])
        for place, look in enumerate(looks):
            reached[place] += chance
            count = sum(events[: look.trials])
            if look.declared_up_to is not None and count <= look.declared_up_to:
                declared[place] += chance
                break
            if count >= look.ended_from:
                break
    return reached, declared


def test_two_looks_by_hand():
    # At 1/2: no event in 2 trials, 1/4. One in 2 (1/2) leaves it open; then none in 2 more, 1/4: together 1/8.
    found = look_chances(TWO, rate=0.5)
    assert found.declared == pytest.approx((1 / 4, 1 / 8))
    assert found.reached == pytest.approx((1, 1 / 2))
    assert found.declared_at_all == pytest.approx(3 / 8)


@pytest.mark.parametrize(
    ("first", "second", "expected_n", "alpha", "power"),
    [
        pytest.param((9, 0), (17, 2), 12.0, 0.05, 0.80, id="alpha-.05-power-.80"),
        pytest.param((9, 0), (24, 2), 14.5, 0.10, 0.90, id="alpha-.10-power-.90"),
        pytest.param((9, 0), (30, 3), 16.8, 0.05, 0.90, id="alpha-.05-power-.90"),
    ],
)
def test_simons_optimal_designs_of_5_against_25_percent_have_his_figures(first, second, expected_n, alpha, power):
    """Simon (1989), Controlled Clinical Trials 10, 1-10, table 1: the chance to stop at the first look is .63 in all.

    His trials call a drug not promising that has as few responses; nothing ends one early for having many.
    """
    looks = [CountLook(*first, first[0] + 1), CountLook(*second, second[0] + 1)]
    poor, good = look_chances(looks, rate=0.05), look_chances(looks, rate=0.25)
    assert poor.declared[0] == pytest.approx(0.63, abs=0.005)
    assert first[0] + poor.reached[1] * (second[0] - first[0]) == pytest.approx(expected_n, abs=0.05)
    assert 1 - poor.declared_at_all <= alpha
    assert 1 - good.declared_at_all >= power


@LAW
@given(looks_of(), st.sampled_from([0.0, 0.1, 0.35, 0.5, 1.0]))
def test_every_path_is_counted_once(looks, rate):
    reached, declared = walked(looks, rate)
    found = look_chances(looks, rate=rate)
    assert found.reached == pytest.approx(reached, abs=1e-12)
    assert found.declared == pytest.approx(declared, abs=1e-12)


@LAW
@given(looks_of(), st.floats(0, 1), st.floats(0, 1))
def test_rarer_events_are_declared_rare_no_less_often(looks, one, other):
    rare, frequent = sorted([one, other])
    assert look_chances(looks, rate=rare).declared_at_all >= look_chances(looks, rate=frequent).declared_at_all - 1e-12


@pytest.mark.parametrize("rate", [0.0, 0.004, 0.01])
def test_a_single_look_is_scipys_binomial_and_that_of_a_gold_set(rate):
    """scipy 1.17.1, binom.cdf."""
    allowed = errors_allowed(3000, bound=0.01, level=0.975)
    found = look_chances([CountLook(3000, allowed, allowed + 1)], rate=rate)
    assert found.declared_at_all == pytest.approx(binom.cdf(allowed, 3000, rate), abs=1e-12)
    assert found.declared_at_all == pytest.approx(chance_to_show(3000, rate=rate, bound=0.01, level=0.975), abs=1e-12)


def test_simulated_counts_are_declared_as_often():
    rng = np.random.default_rng(31)
    looks = [CountLook(100, 1, 5), CountLook(250, 6, 9), CountLook(500, 14, 15)]
    declared = 0
    for counts in rng.binomial([100, 150, 250], 0.025, size=(4000, 3)).cumsum(axis=1).tolist():
        for count, look in zip(counts, looks, strict=True):
            if count <= look.declared_up_to:
                declared += 1
            if count <= look.declared_up_to or count >= look.ended_from:
                break
    assert binomtest(declared, 4000, look_chances(looks, rate=0.025).declared_at_all).pvalue > 0.01


def test_a_look_that_can_declare_nothing_leaves_all_to_the_next():
    assert look_chances([CountLook(1, None, 9), CountLook(2, 0, 9)], rate=0.5).declared == pytest.approx((0, 1 / 4))


@pytest.mark.parametrize(
    ("looks", "message"),
    [
        ([], "looks: found none, expected one or more"),
        ([CountLook(0, 0, 1)], "trials of look 1: found 0 after 0, expected more"),
        ([CountLook(5, 0, 1), CountLook(5, 1, 2)], "trials of look 2: found 5 after 5, expected more"),
        ([CountLook(2.5, 0, 1)], "trials of look 1: found 2.5, expected whole numbers"),
        ([CountLook(5, -1, 1)], "declared_up_to of look 1: found -1, expected 0 or more"),
        ([CountLook(5, 2, 2)], "ended_from of look 1: found 2, expected more than the 2 events that are declared rare"),
        ([CountLook(5, None, 0)], "ended_from of look 1: found 0, expected 1 or more"),
    ],
)
def test_what_are_no_looks_is_refused(looks, message):
    with pytest.raises(InputRefused, match=message):
        look_chances(looks, rate=0.5)


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan])
def test_what_is_no_rate_is_refused(rate):
    with pytest.raises(InputRefused, match="rate: found"):
        look_chances(TWO, rate=rate)
