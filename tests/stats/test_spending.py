"""What looks spend: never more than alpha in all, so that looking every night does not manufacture findings."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.cluster_share import share_difference, share_interval
from eval_pipeline.stats.spending import level_of_look
from tests.stats.laws import LAW
from tests.stats.simulate import clustered, holds

ALPHA = 0.05
NIGHTS = 100
LEVELS = [level_of_look(look, level=1 - ALPHA) for look in range(1, NIGHTS + 1)]


def test_the_first_looks_by_hand():
    # At .95: 1 - .05/2, 1 - .05/6, 1 - .05/12.
    assert LEVELS[:3] == [Fraction(39, 40), Fraction(119, 120), Fraction(239, 240)]


def test_all_looks_that_can_ever_be_spend_what_sympy_sums_them_to():
    """sympy 1.14, summation."""
    k = sympy.symbols("k", integer=True, positive=True)
    spent = sympy.summation(sympy.Rational(1, 20) / (k * (k + 1)), (k, 1, sympy.oo))
    assert spent == sympy.Rational(1, 20)
    assert sum(1 - level for level in LEVELS) == Fraction(1, 20) * Fraction(NIGHTS, NIGHTS + 1)


@LAW
@given(st.integers(1, 10**6), st.floats(0.001, 0.999))
def test_each_look_has_a_higher_level_than_the_one_before(look, level):
    assert level < level_of_look(look, level=level) < level_of_look(look + 1, level=level) < 1


def missed_nights(interval_of, found, truth):
    """In how many histories some night's interval misses the truth, at the levels of the looks and at a fixed one."""
    spent, fixed = np.zeros(len(found), dtype=bool), np.zeros(len(found), dtype=bool)
    for number, nights in enumerate(found):
        for level, night in zip(LEVELS, nights, strict=False):
            spent[number] |= not holds(interval_of(night, level), truth)
            fixed[number] |= not holds(interval_of(night, 1 - ALPHA), truth)
    return int(spent.sum()), int(fixed.sum())


def test_a_hundred_nights_on_which_nothing_changes_manufacture_a_finding_in_few_histories():
    """400 histories of a rate of .12 on 150 new tuples a night; at a fixed level nearly each history has a finding."""
    known = {}

    def interval_of(errors, level):
        if (errors, level) not in known:
            known[errors, level] = exact_interval(int(errors), 150, level=level)
        return known[errors, level]

    nights = np.random.default_rng(11).binomial(150, 0.12, (400, NIGHTS))
    spent, fixed = missed_nights(interval_of, nights, 0.12)
    assert binomtest(spent, 400, ALPHA, alternative="greater").pvalue > 0.01
    assert fixed > 360


def test_nights_that_add_to_the_same_data_manufacture_no_more():
    """80 histories of a log that grows by 20 on each of 40 nights, so that each night holds all before it."""
    grown = np.random.default_rng(12).binomial(20, 0.12, (80, 40)).cumsum(axis=1)
    nights = [list(zip(one.tolist(), range(20, 801, 20), strict=True)) for one in grown]
    spent, fixed = missed_nights(lambda night, level: exact_interval(*night, level=level), nights, 0.12)
    assert binomtest(spent, 80, ALPHA, alternative="greater").pvalue > 0.01
    assert fixed > 12


def share_at(hits, trials, level):
    return share_interval(hits[:, 0], trials[:, 0], level=level, tails="two").interval


def difference_at(hits, trials, level):
    return share_difference(hits, trials, level=level, tails="two").interval


@pytest.mark.parametrize(("interval_at", "rates", "truth"), [(share_at, [0.8], 0.8), (difference_at, [0.8, 0.8], 0.0)])
def test_intervals_over_clusters_hold_so_far_in_the_tails(interval_at, rates, truth):
    """30 histories of 40 nights, each night 60 new entries of 2 to 8 propositions that are alike within an entry."""
    rng, nights = np.random.default_rng(13), 40
    found = [list(zip(*clustered(rng, nights, 60, rates, alike=0.1, sizes=(2, 8)), strict=True)) for _ in range(30)]
    spent, fixed = missed_nights(lambda night, level: interval_at(*night, level), found, truth)
    assert binomtest(spent, 30, ALPHA, alternative="greater").pvalue > 0.01
    assert fixed > 20


@pytest.mark.parametrize("look", [0, -1, 1.5, np.nan, [1]])
def test_what_is_no_look_is_refused(look):
    with pytest.raises(InputRefused, match="look: found"):
        level_of_look(look, level=0.95)


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, np.nan])
def test_what_is_no_level_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        level_of_look(1, level=level)
