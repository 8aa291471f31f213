"""The log-rank tests weigh events by who was at risk, and reject a true hypothesis no oftener than they say."""

from math import erfc, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines.statistics import logrank_test
from scipy.stats import binomtest
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.duration.survfunc import survdiff

from eval_pipeline.errors import InputRefused, NoVariation, TooFewClusters, TooFewObservations
from eval_pipeline.stats.log_rank import clustered_log_rank, log_rank
from tests.stats.laws import LAW

SEEDS = st.integers(0, 2**32 - 1)
STUDIES = 1000

# Weeks in remission of 42 children with leukaemia: Freireich et al. (1963), in Gehan (1965), Biometrika 52, 203-223.
WEEKS = [
    [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23],
    [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35],
]
RELAPSED = [[1] * 21, [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]]


def of_arms(times, events):
    """One row of subjects from a list for each of the two arms."""
    return np.concatenate(times), np.concatenate(events), np.repeat([0, 1], [len(arm) for arm in times])


def attempts(rng, subjects, *, hazard=0.4, share=0.5):
    """Subjects who stop without the event after the fifth attempt, or earlier by chance; the arm has no effect."""
    until, left = rng.geometric(hazard, subjects), np.minimum(rng.geometric(0.1, subjects), 5)
    return np.minimum(until, left), (until <= left).astype(int), (rng.random(subjects) < share).astype(int)


def runs(rng, count, *, sections=10, treated=0.5):
    """Sections of a run share its hazard, and whole runs are treated, to no effect."""
    hazard = np.repeat(rng.uniform(0.1, 0.9, count), sections)
    until, run = rng.geometric(hazard), np.repeat(np.arange(count), sections)
    return np.minimum(until, 3), (until <= 3).astype(int), (run < treated * count).astype(int), run


def test_a_log_rank_test_by_hand():
    found = log_rank(*of_arms([[1, 4], [2, 3, 4]], [[1, 1], [1, 1, 0]]))
    # At 1, 3 of 5 at risk are in arm 1; at 2, 3 of 4; at 3, 2 of 3; at 4, 1 of 2; one event at each.
    expected = 3 / 5 + 3 / 4 + 2 / 3 + 1 / 2
    assert found.observed == (2, 2)
    assert found.expected == pytest.approx((4 - expected, expected), abs=1e-14)
    # One event's variance is p (1 - p): 6/25 + 3/16 + 2/9 + 1/4.
    assert found.variance == pytest.approx(6 / 25 + 3 / 16 + 2 / 9 + 1 / 4, abs=1e-14)
    assert found.chi2 == pytest.approx(0.296697, abs=1e-6)
    assert found.p_value == pytest.approx(0.585961, abs=1e-6)


def test_events_at_one_time_are_drawn_without_replacement():
    """The test in R's survival of two arms of three, without censoring: chi2 = 0.254237."""
    found = log_rank(*of_arms([[10, 20, 30], [10, 20, 50]], [[1, 1, 1], [1, 1, 1]]))
    # Two of 6, three in each arm: 2 * 4/5 / 4 = 2/5. Two of 4: 2 * 2/3 / 4 = 1/3. One of 2: 1/4. The last is alone.
    assert found.variance == pytest.approx(2 / 5 + 1 / 3 + 1 / 4, abs=1e-14)
    assert found.chi2 == pytest.approx(0.254237, abs=1e-6)


def test_the_leukaemia_data_give_the_published_test():
    """R's survdiff: 21 observed in the placebo arm, 10.7 expected; 9 and 19.3; chi2 16.8."""
    found = log_rank(*of_arms(WEEKS, RELAPSED))
    assert found.observed == (21, 9)
    assert found.expected == pytest.approx((10.7, 19.3), abs=0.05)
    assert found.chi2 == pytest.approx(16.7929, abs=5e-5)
    assert found.p_value == pytest.approx(4.168809109334543e-05, rel=1e-9)


@pytest.mark.parametrize(
    ("times", "events", "chi2"),
    [
        pytest.param(
            [[9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161], [5, 5, 8, 8, 12, 16, 23, 27, 30, 33, 43, 45]],
            [[1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0], [1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]],
            3.396388698977602,
            id="aml of R's survival",
        ),
        pytest.param(
            [[8, 12, 26, 14, 21, 27, 8, 32, 20, 40], [33, 28, 41, 48, 48, 25, 37, 48, 25, 43]],
            [[1, 1, 1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]],
            6.91598157449126,
            id="chemotherapy before or after surgery",
        ),
    ],
)
def test_published_data_give_the_chi2_of_survdiff(times, events, chi2):
    assert log_rank(*of_arms(times, events)).chi2 == pytest.approx(chi2, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_lifelines_and_statsmodels_give_the_same_test(seed):
    times, events, arm = attempts(np.random.default_rng(seed), 80, share=0.3)
    found = log_rank(times, events, arm)
    other = logrank_test(times[arm == 0], times[arm == 1], events[arm == 0], events[arm == 1])
    assert (found.chi2, found.p_value) == pytest.approx((other.test_statistic, other.p_value), rel=1e-9)
    assert (found.chi2, found.p_value) == pytest.approx(survdiff(times, events, arm), rel=1e-9)


def test_the_p_value_is_exact_far_out_in_the_tail():
    """On one degree of freedom it is erfc(sqrt(chi2 / 2)), of which 1 - erf would leave 0."""
    found = log_rank(np.arange(1, 121), np.ones(120), np.arange(120) >= 60)
    assert 100 < found.chi2 < 200
    assert 0 < found.p_value < 1e-23
    assert found.p_value == pytest.approx(erfc(sqrt(found.chi2 / 2)), rel=1e-12)


def test_identical_arms_do_not_differ():
    found = log_rank(*of_arms([[1, 2, 3]] * 2, [[1, 1, 0]] * 2))
    assert (found.chi2, found.p_value) == (pytest.approx(0, abs=1e-12), pytest.approx(1, abs=1e-6))


@LAW
@given(SEEDS)
def test_the_arms_may_change_names(seed):
    times, events, arm = attempts(np.random.default_rng(seed), 40)
    run = np.arange(40) // 2
    for found, other in (
        (log_rank(times, events, arm), log_rank(times, events, 1 - arm)),
        (clustered_log_rank(times, events, arm, run), clustered_log_rank(times, events, 1 - arm, run)),
    ):
        assert other.chi2 == pytest.approx(found.chi2, abs=1e-9)
        assert other.observed == found.observed[::-1]
        assert other.expected == pytest.approx(found.expected[::-1])
        assert sum(found.expected) == pytest.approx(sum(found.observed))


@LAW
@given(SEEDS)
def test_only_the_order_of_times_counts(seed):
    """Whole numbers and others are tabled in different ways, and give one answer."""
    times, events, arm = attempts(np.random.default_rng(seed), 40)
    run = np.arange(40) // 2
    later = np.exp(times / 3)
    assert log_rank(later, events, arm) == log_rank(times, events, arm)
    assert clustered_log_rank(later, events, arm, run) == clustered_log_rank(times, events, arm, run)


@pytest.mark.parametrize(
    ("subjects", "hazard", "share"),
    [
        pytest.param(100, 0.4, 0.5, id="equal arms"),
        pytest.param(200, 0.4, 0.15, id="unequal arms"),
        pytest.param(120, 0.05, 0.5, id="few events"),
        pytest.param(120, 0.9, 0.5, id="nearly all at the first attempt"),
    ],
)
def test_at_5_percent_a_true_hypothesis_is_rejected_in_5_percent_of_studies(subjects, hazard, share):
    rng = np.random.default_rng(21)
    rejected = sum(
        log_rank(*attempts(rng, subjects, hazard=hazard, share=share)).p_value < 0.05 for _ in range(STUDIES)
    )
    assert binomtest(rejected, STUDIES, 0.05).pvalue > 0.01


FOUR = ([1, 2, 3, 4], [1, 1, 1, 1], [1, 0, 1, 0])


def test_a_clustered_test_by_hand():
    """Four subjects with events at 1 to 4, in arms 1, 0, 1, 0, each its own cluster."""
    found = clustered_log_rank(*FOUR, list("abcd"))
    # Of those at risk, arm 1 is 1/2, 1/3, 1/2, 0; the hazards are 1/4, 1/3, 1/2, 1. A subject of arm 1 adds 1 - p at
    # its event less the sum of h (1 - p) until then, one of arm 0 less p and plus the sum of h p; in 72ths:
    added = [27, -7, -7, 35]  # 1/2 - 1/8; -1/3 + 1/8 + 1/9; 1/2 - 1/8 - 2/9 - 1/4; 1/8 + 1/9 + 1/4
    assert found.observed[1] - found.expected[1] == pytest.approx(sum(added) / 72, abs=1e-14)
    assert found.variance == pytest.approx(sum(w**2 for w in added) / 72**2, abs=1e-14)
    assert found.chi2 == pytest.approx(48**2 / 2052, abs=1e-12)
    assert found.p_value == pytest.approx(erfc(sqrt(48**2 / 2052 / 2)), abs=1e-12)


def test_copies_of_a_subject_within_its_cluster_add_nothing():
    """Fifty deterministic repeats are no evidence, though the plain test takes them for it."""
    copies = [np.repeat(array, 50) for array in FOUR]
    found = clustered_log_rank(*copies, np.repeat([7, 5, 3, 1], 50))
    assert found.chi2 == pytest.approx(48**2 / 2052, abs=1e-12)
    assert log_rank(*copies).chi2 > 30


@pytest.mark.parametrize("seed", range(5))
def test_statsmodels_gives_the_same_scores(seed):
    """PHReg without an effect, ties after Breslow; its score residuals are summed by cluster."""
    rng = np.random.default_rng(seed)
    times, events, arm = attempts(rng, 90, share=0.4)
    run = rng.integers(0, 30, 90)
    scores = PHReg(times, arm[:, None].astype(float), status=events, ties="breslow").score_residuals(np.zeros(1))
    by_run = np.bincount(run, weights=scores[:, 0])
    found = clustered_log_rank(times, events, arm, run)
    assert found.variance == pytest.approx((by_run**2).sum(), rel=1e-9)
    assert found.chi2 == pytest.approx(by_run.sum() ** 2 / (by_run**2).sum(), rel=1e-9)


@LAW
@given(SEEDS)
def test_with_each_subject_its_own_cluster_it_comes_close_to_the_plain_test(seed):
    times, events, arm = attempts(np.random.default_rng(seed), 4000)
    alone, plain = clustered_log_rank(times, events, arm, np.arange(4000)), log_rank(times, events, arm)
    assert alone.variance == pytest.approx(plain.variance, rel=0.06)
    assert (alone.observed, alone.expected) == (plain.observed, plain.expected)


@pytest.mark.parametrize(
    ("count", "treated"), [pytest.param(50, 0.5, id="equal arms"), pytest.param(120, 0.25, id="unequal arms")]
)
def test_runs_treated_as_a_whole_are_told_apart_in_5_percent_of_studies_without_an_effect(count, treated):
    """The plain test, which takes sections as independent, is wrong several times as often."""
    rng = np.random.default_rng(22)
    studies = [runs(rng, count, treated=treated) for _ in range(STUDIES)]
    clustered = sum(clustered_log_rank(*study).p_value < 0.05 for study in studies)
    plain = sum(log_rank(*study[:3]).p_value < 0.05 for study in studies)
    assert binomtest(clustered, STUDIES, 0.05).pvalue > 0.01
    assert plain > STUDIES * 0.2


def test_where_each_run_holds_both_arms_the_clustered_test_keeps_its_level_and_the_plain_one_is_too_careful():
    rng = np.random.default_rng(23)
    clustered = plain = 0
    for _ in range(STUDIES):
        times, events, _, run = runs(rng, 50)
        arm = np.tile([0, 1], 250)
        clustered += clustered_log_rank(times, events, arm, run).p_value < 0.05
        plain += log_rank(times, events, arm).p_value < 0.05
    assert binomtest(clustered, STUDIES, 0.05).pvalue > 0.01
    assert binomtest(plain, STUDIES, 0.05, alternative="less").pvalue < 0.01


def test_a_real_effect_is_found_in_most_studies():
    """A hazard of .5 against .3 in 60 runs an arm of 5 sections, each with its own luck."""
    rng = np.random.default_rng(24)
    arm, run = np.repeat([0, 1], 300), np.arange(600) // 5
    found = 0
    for _ in range(100):
        luck = np.exp(rng.normal(0, 0.3, 120))[run]
        until = rng.geometric(np.clip(np.where(arm == 1, 0.5, 0.3) * luck, 0.02, 0.98))
        result = clustered_log_rank(np.minimum(until, 3), until <= 3, arm, run)
        found += result.p_value < 0.05 and result.observed[1] > result.expected[1]
    assert found > 80


def test_narrow_integers_give_the_same_answer():
    times, events, arm = (np.tile(array, 100) for array in FOUR)
    run = np.tile([0, 1, 2, 3], 100)
    narrow = [array.astype(np.uint8) for array in (times, events, arm)]
    assert log_rank(*narrow) == log_rank(times, events, arm)
    assert clustered_log_rank(*narrow, run.astype(np.int8)) == clustered_log_rank(times, events, arm, run)


def both(times, events, arm):
    """Each of the two tests, with each subject its own cluster."""
    return [lambda: log_rank(times, events, arm), lambda: clustered_log_rank(times, events, arm, range(len(times)))]


def test_an_empty_arm_is_refused():
    for test in both([2, 3, 4], [1, 0, 1], [1, 1, 1]):
        with pytest.raises(TooFewObservations, match="found 0 subjects in arm 0 and 3 in arm 1"):
            test()
    for test in both([2, 3, 4], [1, 0, 1], [0, 0, 0]):
        with pytest.raises(TooFewObservations, match="found 3 subjects in arm 0 and 0 in arm 1"):
            test()


def test_no_subjects_are_refused():
    for test in both([], [], []):
        with pytest.raises(TooFewObservations, match="no subject"):
            test()


def test_arms_without_an_event_are_refused():
    for test in both([1, 2, 3, 2, 3, 4], [0] * 6, [0, 0, 0, 1, 1, 1]):
        with pytest.raises(TooFewObservations, match="nobody had the event"):
            test()


@pytest.mark.parametrize(
    ("times", "events"),
    [
        pytest.param([1, 1, 5, 5], [0, 0, 1, 1], id="one arm is gone before the first event"),
        pytest.param([3, 3, 3, 3], [1, 1, 1, 1], id="all have the event at once"),
        pytest.param([0.1, 0.2, 5.5, 5.5], [0, 0, 1, 1], id="times that are not whole"),
    ],
)
def test_events_that_compare_nothing_are_refused(times, events):
    for test in both(times, events, [0, 0, 1, 1]):
        with pytest.raises(NoVariation, match="nothing compares the arms"):
            test()


@pytest.mark.parametrize("treated", [[0, 1], [0, 0, 1]])
def test_clusters_that_hold_the_same_in_both_arms_are_refused(treated):
    """What each adds is 0, up to rounding where a third of those at risk are treated."""
    run = np.repeat(np.arange(1, 51), len(treated))
    with pytest.raises(NoVariation, match="in every cluster the events are those expected"):
        clustered_log_rank(run, np.ones(run.size), np.tile(treated, 50), run)


def test_one_pair_of_many_that_differs_is_tested_though_the_others_add_nothing():
    """Of 31 pairs with an event each at one time, the first lacks one: it adds 1 - 1/2, and (1/2)^2 is the variance."""
    pair, arm = np.repeat(np.arange(1, 32), 2), np.tile([1, 0], 31)
    events = np.where(np.arange(62) == 1, 0, 1)
    found = clustered_log_rank(pair, events, arm, pair)
    assert (found.variance, found.chi2) == (pytest.approx(1 / 4), pytest.approx(1))
    assert log_rank(pair, events, arm).variance > 10


def test_one_cluster_in_an_arm_is_refused():
    with pytest.raises(TooFewClusters, match="arm 1 has subjects of one cluster"):
        clustered_log_rank([1, 2, 3, 4], [1, 1, 1, 1], [0, 0, 1, 1], [1, 2, 3, 3])
    with pytest.raises(TooFewClusters, match="arm 0 has subjects of one cluster"):
        clustered_log_rank([1, 2, 3, 4], [1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 2, 3])


@pytest.mark.parametrize(
    ("times", "events", "arm", "message"),
    [
        ([0, 2], [1, 1], [0, 1], "times: found 0"),
        ([1, 2], [1, 3], [0, 1], "events: found 3"),
        ([1, 2], [1, 1], [1, 2], "arm: found 2, expected 0 or 1"),
        ([1, 2], [1, 1], [0, 1, 1], "2 times, 2 events, 3 arm"),
    ],
)
def test_what_is_no_subject_of_two_arms_is_refused(times, events, arm, message):
    for test in both(times, events, arm):
        with pytest.raises(InputRefused, match=message):
            test()


def test_each_subject_needs_a_cluster():
    with pytest.raises(InputRefused, match="4 times, 3 clusters"):
        clustered_log_rank(*FOUR, [1, 2, 3])
    with pytest.raises(InputRefused, match="clusters: found a missing value"):
        clustered_log_rank(*FOUR, [1, 2, 3, None])
