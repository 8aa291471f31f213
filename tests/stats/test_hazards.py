"""A hazard is of those who came to the attempt, is the step of the curve, and its interval holds what it says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Interval
from eval_pipeline.stats.hazards import hazards
from eval_pipeline.stats.survival import kaplan_meier
from tests.stats.laws import LAW

SUBJECTS = st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=40)


def test_a_hazard_is_of_those_who_are_still_there_at_the_attempt():
    """Of 10, 6 pass at the first attempt; of 4 none at the second, and one gives up; of 3, 2 at the third."""
    found = hazards([1] * 6 + [2, 3, 3, 3], [1] * 6 + [0, 1, 1, 0], level=0.95)
    assert [(h.attempt, h.at_risk, h.events) for h in found] == [(1, 10, 6), (2, 4, 0), (3, 3, 2)]
    assert [h.share for h in found] == [6 / 10, 0, 2 / 3]
    # Clopper & Pearson without a success among 4: 1 - .025^(1/4).
    assert found[1].interval == Interval(0.0, pytest.approx(1 - 0.025**0.25, abs=1e-12), 0.95)


def test_an_attempt_at_which_no_one_stops_has_a_hazard_of_0():
    found = hazards([1, 4, 4], [1, 1, 0], level=0.95)
    assert [(h.attempt, h.at_risk, h.events, h.share) for h in found] == [
        (1, 3, 1, 1 / 3), (2, 2, 0, 0.0), (3, 2, 0, 0.0), (4, 2, 1, 1 / 2)
    ]  # fmt: skip


def test_the_intervals_of_hazards_are_those_of_scipy():
    for hazard in hazards(
        np.repeat([1, 2, 3, 3], [60, 20, 5, 15]), np.repeat([1, 1, 1, 0], [60, 20, 5, 15]), level=0.9
    ):
        other = binomtest(hazard.events, hazard.at_risk).proportion_ci(0.9, method="exact")
        assert hazard.interval == Interval(pytest.approx(other.low), pytest.approx(other.high), 0.9)


@LAW
@given(SUBJECTS)
def test_a_hazard_is_the_share_by_which_the_curve_falls(subjects):
    times, events = zip(*subjects, strict=True)
    found, before = kaplan_meier(times, events, level=0.95, transform="log-log"), 1.0
    for hazard in hazards(times, events, level=0.95):
        after = found.at(hazard.attempt).share
        assert hazard.share == pytest.approx(1 - after / before, abs=1e-12)
        before = after
        if after == 0:
            assert hazard.attempt == max(times)


@pytest.mark.parametrize("true_hazard", [0.03, 0.5, 0.97])
def test_the_intervals_of_hazards_hold_the_true_one_at_least_as_often_as_they_say(true_hazard):
    rng = np.random.default_rng(13)
    hits = tries = 0
    for _ in range(400):
        until = rng.geometric(true_hazard, 30)
        found = hazards(np.minimum(until, 3), until <= 3, level=0.9)
        hits += sum(h.interval.low <= true_hazard <= h.interval.high for h in found[:2])
        tries += len(found[:2])
    assert binomtest(hits, tries, 0.9, alternative="less").pvalue > 0.01
    assert hits < tries


@pytest.mark.parametrize("attempts", [[0, 1], [1.5, 2], [1, -1]])
def test_what_is_no_attempt_is_refused(attempts):
    with pytest.raises(InputRefused, match="attempts: found"):
        hazards(attempts, [1, 1], level=0.95)


@pytest.mark.parametrize(
    ("attempts", "events", "message"),
    [([1, 2], [1, 2], "events: found 2"), ([1, 2, 3], [1, 1], "3 times, 2 events"), ([[1]], [1], "2 dimensions")],
)
def test_what_is_no_row_of_subjects_is_refused(attempts, events, message):
    with pytest.raises(InputRefused, match=message):
        hazards(attempts, events, level=0.95)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_that_is_no_coverage_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        hazards([1], [1], level=level)


def test_a_level_may_be_a_fraction():
    assert hazards([1, 2], [1, 0], level=Fraction(9, 10)) == hazards([1, 2], [1, 0], level=0.9)


def test_no_subjects_are_refused():
    with pytest.raises(TooFewObservations, match="no subject"):
        hazards([], [], level=0.95)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float32, object])
def test_every_kind_of_array_gives_the_same_hazards(kind):
    attempts, events = np.tile([1, 2, 3], 100), np.tile([1, 0, 1, 1], 75)
    assert hazards(attempts.astype(kind), events.astype(kind), level=0.95) == hazards(attempts, events, level=0.95)
