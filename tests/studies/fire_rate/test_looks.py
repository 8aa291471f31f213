"""The branches of the decision: what counts is the count at a look, and a look waits until every context is covered."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from eval_pipeline.studies.fire_rate.looks import Decision
from eval_pipeline.studies.fire_rate.observations import CONTEXTS
from tests.stats.laws import LAW
from tests.studies.fire_rate.made_up import course_where, first_runs


@pytest.mark.parametrize(
    ("runs", "fires", "decision", "look"),
    [
        (0, 0, Decision.UNDERPOWERED, 1),
        (463, 0, Decision.UNDERPOWERED, 1),
        (463, 4, Decision.UNDERPOWERED, 1),
        (464, 0, Decision.UNREACHED, 1),
        (464, 1, Decision.NEXT_LOOK, 2),
        (464, 4, Decision.NEXT_LOOK, 2),
        (464, 5, Decision.INVESTIGATE, 1),
        (5, 5, Decision.INVESTIGATE, 1),
        (2999, 0, Decision.UNREACHED, 1),
        (2999, 4, Decision.NEXT_LOOK, 2),
        (3000, 0, Decision.UNREACHED, 1),
        (3000, 1, Decision.RARE, 2),
        (3000, 4, Decision.RARE, 2),
    ],
)
def test_the_branches_when_all_fires_come_first(shipped, runs, fires, decision, look):
    found = course_where(runs, first_runs(fires), shipped)
    assert (found.decision, found.look) == (decision, look)


@pytest.mark.parametrize(
    ("later", "decision"), [(15, Decision.RARE), (16, Decision.INVESTIGATE), (30, Decision.INVESTIGATE)]
)
def test_look_2_allows_19_fires_in_all(shipped, later, decision):
    fired = [*first_runs(4), *range(1000, 1000 + later)]
    found = course_where(3000, fired, shipped)
    assert found.decision is decision
    assert found.stopped == (later > 15)


def test_20_fires_that_end_with_the_last_run_end_at_the_look(shipped):
    fired = [*first_runs(1), *range(2982, 3001)]
    assert len(fired) == 20
    found = course_where(3000, fired, shipped)
    assert (found.decision, found.runs, found.fires) == (Decision.INVESTIGATE, 3000, 20)


@pytest.mark.parametrize("runs", range(460, 470))
def test_one_run_more_without_a_fire_never_turns_the_decision(shipped, runs):
    """In the first version one fire in 460 ran on, and in 461 it was investigated."""
    decisions = {course_where(more, [7], shipped).decision for more in (runs, runs + 1)}
    assert decisions <= {Decision.UNDERPOWERED, Decision.NEXT_LOOK}


def test_the_fifth_fire_ends_the_study_at_its_run(shipped):
    found = course_where(400, [3, 50, 51, 200, 222, 300], shipped)
    assert (found.decision, found.stopped, found.runs, found.fires) == (Decision.INVESTIGATE, True, 222, 5)
    assert found.looks == ()


def test_a_fifth_fire_at_the_very_run_of_the_look_ends_it_too(shipped):
    found = course_where(464, [1, 2, 3, 4, 464], shipped)
    assert (found.decision, found.stopped, found.runs) == (Decision.INVESTIGATE, True, 464)


def test_a_fallback_that_was_reached_after_its_look_is_judged_by_the_next(shipped):
    """No fire in 464 runs shows it; a log that goes on and fires is not called unreached."""
    assert course_where(600, [], shipped).decision is Decision.UNREACHED
    assert course_where(600, [500], shipped).decision is Decision.NEXT_LOOK
    assert course_where(3000, [500], shipped).decision is Decision.RARE
    assert course_where(900, range(600, 620), shipped).decision is Decision.INVESTIGATE


def test_a_fire_after_the_last_look_takes_the_word_unreached_and_no_more(shipped):
    found = course_where(3100, [3050], shipped)
    assert (found.decision, found.runs, found.fires, found.look) == (Decision.RARE, 3000, 0, 2)


def test_a_look_waits_until_every_context_has_its_floor(shipped):
    """Contexts go round without the last, which then runs 58 times in a row."""
    contexts = [*(np.arange(500) % 7), *[7] * 58]
    waiting = course_where(557, [], shipped, contexts=contexts[:557])
    assert waiting.decision is Decision.UNCOVERED
    assert [(one.context, one.missing) for one in waiting.short] == [("cicd", 1)]
    (look,) = course_where(558, [], shipped, contexts=contexts).looks
    assert (look.runs, look.fires, look.allowed) == (558, 0, 1)


def test_the_second_look_has_a_floor_of_its_own(shipped):
    contexts = [*(np.arange(464) % 8), *(np.arange(2536) % 7)]
    found = course_where(3000, [9], shipped, contexts=contexts)
    assert (found.decision, found.look) == (Decision.UNCOVERED, 2)
    assert [(one.context, one.missing) for one in found.short] == [("cicd", 375 - 58)]


def test_a_look_that_comes_late_is_held_against_its_own_number_of_runs(shipped):
    """One fire in 600 runs is bounded at .00925: one is allowed from 556 runs on."""
    contexts = [*(np.arange(542) % 7), *[7] * 58]
    (look,) = course_where(600, [9], shipped, contexts=contexts).looks
    assert (look.runs, look.allowed, look.shown) == (600, 1, True)
    assert look.interval.high == pytest.approx(0.00925, abs=5e-6)
    assert course_where(600, [9], shipped, contexts=contexts).decision is Decision.RARE


def test_what_a_look_states_is_scipys_exact_test(shipped):
    """scipy 1.17.1, binomtest(..., alternative="less")."""
    look = course_where(3000, [1, *range(500, 518)], shipped).looks[-1]
    theirs = binomtest(19, 3000, 0.01, alternative="less")
    assert look.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert look.interval.high == pytest.approx(theirs.proportion_ci(0.975, method="exact").high, abs=1e-9)
    assert look.interval.high == pytest.approx(0.009873, abs=2e-6)
    assert (look.alpha, look.interval.level) == (Fraction(1, 40), 0.975)


@LAW
@given(st.sets(st.integers(1, 3000), max_size=30), st.integers(1, 3000), st.integers(0, 3000))
def test_one_fire_more_never_makes_the_fallback_less_reached(shipped, fired, another, runs):
    order = [Decision.UNREACHED, Decision.RARE, Decision.UNDERPOWERED, Decision.NEXT_LOOK, Decision.INVESTIGATE]

    def place(numbers):
        return order.index(course_where(runs, [one for one in numbers if one <= runs], shipped).decision)

    assert place(fired | {another}) >= place(fired)


@LAW
@given(st.sets(st.integers(1, 3000), max_size=30))
def test_a_look_shows_what_its_bound_and_its_p_value_show(shipped, fired):
    for look in course_where(3000, fired, shipped).looks:
        assert look.shown == (look.interval.high <= 0.01) == (look.p_value <= 0.025)


def chance_of(pmf, at_most):
    return pmf[: at_most + 1].sum()


@pytest.mark.parametrize("shares", [[8, 0, 0, 0, 0, 0, 0, 0], [4, 4, 0, 0, 0, 0, 0, 0], [2, 2, 1, 1, 1, 1, 0, 0]])
def test_contexts_that_differ_in_their_rates_are_declared_no_more_often(shipped, shares):
    """All have a mean rate of 1 %; the sums of unlike contexts are convolved, and compared with the binomial."""
    assert len(shares) == len(CONTEXTS)
    for look in shipped.test.looks:
        pmf = np.ones(1)
        for share in shares:
            each = look.runs // len(CONTEXTS)
            pmf = np.convolve(pmf, binom.pmf(np.arange(each + 1), each, share / 100))
        allowed = shipped.test.allowed(look, look.runs)
        assert chance_of(pmf, allowed) <= binom.cdf(allowed, look.runs, 0.01) <= look.alpha
