"""How many clusters to label: by hand, and the interval's reach at the number that is named is the distance."""

from fractions import Fraction
from math import ceil, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused, NoEffect
from eval_pipeline.stats.cluster_share import share_difference
from eval_pipeline.stats.labels_needed import LabelsNeeded, clusters_to_label
from eval_pipeline.stats.post_stratified import post_stratified_difference
from eval_pipeline.stats.prediction_powered import prediction_powered_mean
from tests.stats.laws import LAW
from tests.stats.simulate import judged

# Sixty-fourths are floats to the last digit, and so are their squares.
REACHES, DISTANCES = st.integers(1, 64).map(lambda n: n / 64), st.integers(1, 32).map(lambda n: n / 64)
SIZES = st.integers(2, 300).flatmap(lambda every: st.tuples(st.integers(1, every - 1), st.just(every)))
PARTS = st.floats(0, 1)


def needed(alone, corrected, distance, *, labelled, clusters):
    return clusters_to_label(alone, corrected, distance, labelled=labelled, clusters=clusters)


def reach_with(alone, part, *, labelled, clusters, then):
    """How far the corrected interval reaches with `then` labels, if labels alone reach `alone` with `labelled`."""
    return alone * sqrt(labelled / then * (1 - part * (1 - then / clusters)))


def test_by_hand():
    """20 of 100 labelled reach .5 alone and .4 corrected, and the bar is .25 away."""
    # One reaches .25 x 20 = 5, squared. .16 / .25 = .64 is left of it: R (1 - 20/100) = .36, R = .45.
    # .0625 = 5 / m (1 - .45 (1 - m/100)) = 2.75 / m + .0225, so that m = 2.75 / .04 = 68.75.
    assert needed(0.5, 0.4, 0.25, labelled=20, clusters=100) == LabelsNeeded(69, 100)
    # .3 away: 2.75 / (.09 - .0225) = 40.74. .5 away, fewer than there are: 2.75 / .2275 = 12.09.
    assert needed(0.5, 0.4, 0.3, labelled=20, clusters=100) == LabelsNeeded(41, 100)
    assert needed(0.5, 0.4, 0.5, labelled=20, clusters=100) == LabelsNeeded(13, 100)


def test_where_labelling_all_does_not_suffice_the_population_must_grow_and_the_judge_does_not_count():
    """All of 100 reach sqrt(5 / 100) = .2236. For .2 it takes 5 / .04 = 125, all of them labelled."""
    assert needed(0.5, 0.4, 0.2, labelled=20, clusters=100) == LabelsNeeded(125, 125)
    # Short of sqrt(.0225) = .15 no number of labels of these 100 would do either way: 5 / .01 = 500.
    assert needed(0.5, 0.4, 0.1, labelled=20, clusters=100) == LabelsNeeded(500, 500)
    # All are labelled: 100 / 64 of them reach as far as 4/5.
    assert needed(0.5, 0.5, 0.4, labelled=64, clusters=64) == LabelsNeeded(100, 100)


def test_a_judge_that_knows_all_needs_one_label_or_more_clusters():
    """With R = 1 what is left is 5 / 100, labelled or not: .2236, and one label suffices for more than that."""
    corrected = sqrt(0.25 * 20 / 100)
    assert needed(0.5, corrected, 0.25, labelled=20, clusters=100) == LabelsNeeded(1, 100)
    assert needed(0.5, corrected, 0.2, labelled=20, clusters=100) == LabelsNeeded(125, 125)
    assert needed(0.5, 0.1, 0.25, labelled=20, clusters=100) == LabelsNeeded(1, 100)  # it cannot know more than all


def test_labels_that_leave_no_doubt_need_be_one():
    assert needed(0, 0, 0.1, labelled=20, clusters=100) == LabelsNeeded(1, 100)


@LAW
@given(REACHES, DISTANCES, SIZES, st.floats(1, 3))
def test_a_useless_judge_needs_as_many_as_the_square_of_the_ratio_says(alone, distance, sizes, worse):
    """Whether it takes nothing away, or even adds to what labels alone reach."""
    labelled, clusters = sizes
    expected = max(ceil(labelled * Fraction(alone) ** 2 / Fraction(distance) ** 2), 1)
    found = needed(alone, worse * alone, distance, labelled=labelled, clusters=clusters)
    assert found == LabelsNeeded(expected, max(expected, clusters))


@LAW
@given(REACHES, DISTANCES, SIZES, PARTS)
def test_at_the_number_named_the_interval_ends_at_the_bar_or_short_of_it_and_with_one_fewer_beyond(
    alone, distance, sizes, part
):
    labelled, clusters = sizes
    corrected = reach_with(alone, part, labelled=labelled, clusters=clusters, then=labelled)
    found = needed(alone, corrected, distance, labelled=labelled, clusters=clusters)

    def reach(then):
        """With so many; beyond all that there are, with so many in all."""
        return reach_with(alone, part, labelled=labelled, clusters=max(clusters, then), then=then)

    assert found.clusters == max(clusters, found.labelled)
    assert reach(found.labelled) <= distance * (1 + 1e-6)
    assert found.labelled == 1 or reach(found.labelled - 1) >= distance * (1 - 1e-6)


@LAW
@given(REACHES, DISTANCES, DISTANCES, SIZES, PARTS)
def test_a_bar_that_is_nearer_never_needs_fewer(alone, distance, other, sizes, part):
    labelled, clusters = sizes
    corrected = reach_with(alone, part, labelled=labelled, clusters=clusters, then=labelled)
    near, far = (
        needed(alone, corrected, apart, labelled=labelled, clusters=clusters) for apart in sorted([distance, other])
    )
    assert near.labelled >= far.labelled
    assert near.clusters >= far.clusters


@LAW
@given(REACHES, DISTANCES, SIZES, PARTS, PARTS)
def test_a_better_judge_never_needs_more(alone, distance, sizes, part, other):
    labelled, clusters = sizes
    worse, better = (
        needed(
            alone,
            reach_with(alone, one, labelled=labelled, clusters=clusters, then=labelled),
            distance,
            labelled=labelled,
            clusters=clusters,
        ).labelled
        for one in sorted([part, other])
    )
    assert better <= worse


@LAW
@given(REACHES, DISTANCES, SIZES, PARTS)
def test_the_unit_of_the_reaches_does_not_matter(alone, distance, sizes, part):
    labelled, clusters = sizes
    corrected = reach_with(alone, part, labelled=labelled, clusters=clusters, then=labelled)
    found, other = (
        needed(by * alone, by * corrected, by * distance, labelled=labelled, clusters=clusters) for by in (1, 32)
    )
    assert other == found


def reaches_of_a_mean(correlation, *, labelled, clusters):
    """How far labels alone and corrected ones reach, over studies of independent normal scores of known correlation."""
    rng = np.random.default_rng(71)
    alone, corrected = [], []
    for _ in range(120):
        truth, noise = rng.normal(size=(2, clusters))
        says = correlation * truth + sqrt(1 - correlation**2) * noise
        for trust, found in ((0.0, alone), ("tuned", corrected)):
            interval = prediction_powered_mean(
                truth[:labelled], says[:labelled], says[labelled:], trust=trust, level=0.95
            ).interval
            found.append((interval.high - interval.low) / 2)
    return np.mean(alone), np.mean(corrected)


@pytest.mark.parametrize("shorter", [0.6, 0.85])
@pytest.mark.parametrize("correlation", [0, 0.5, 0.8])
def test_a_mean_of_so_many_labels_reaches_as_far_as_the_bar(correlation, shorter):
    alone, corrected = reaches_of_a_mean(correlation, labelled=60, clusters=600)
    # The judge takes away the square of its correlation, as far as there are others.
    assert (corrected / alone) ** 2 == pytest.approx(1 - correlation**2 * (1 - 60 / 600), abs=0.03)
    found = needed(alone, corrected, shorter * corrected, labelled=60, clusters=600)
    assert 60 < found.labelled < found.clusters == 600
    _, then = reaches_of_a_mean(correlation, labelled=found.labelled, clusters=600)
    assert then == pytest.approx(shorter * corrected, rel=0.03)


def reaches_of_a_loss(*, labelled, clusters):
    """The same of the upper bound of a difference of shares, clusters being unequal and the judge wrong in a tenth."""
    rng = np.random.default_rng(72)
    judge = {"sensitivity": 0.9, "specificity": 0.9}
    alone, corrected = [], []
    for study in judged(rng, 80, clusters, (0.8, 0.7), **judge, checked=labelled):
        of_people = share_difference(study.known_positives, study.checked, level=0.95, tails="upper")
        of_both = post_stratified_difference(study, level=0.95, tails="upper")
        alone.append(of_people.interval.high - of_people.estimate)
        corrected.append(of_both.interval.high - of_both.estimate)
    return np.mean(alone), np.mean(corrected)


@pytest.mark.parametrize("shorter", [0.5, 0.7])
def test_the_bound_of_a_loss_with_the_verdicts_as_strata_reaches_as_far_as_the_bar(shorter):
    """At .7 with some of the clusters that there are, at .5 with more than these, all labelled.

    A little less far, as the reaches of 40 clusters pay for how few these are.
    """
    alone, corrected = reaches_of_a_loss(labelled=40, clusters=150)
    found = needed(alone, corrected, shorter * corrected, labelled=40, clusters=150)
    assert (found.clusters == 150) == (shorter == 0.7)
    _, then = reaches_of_a_loss(labelled=found.labelled, clusters=found.clusters)
    assert 0.94 < then / (shorter * corrected) < 1.02


def test_an_estimate_on_its_bar_is_refused():
    with pytest.raises(NoEffect, match="the estimate lies on the bar"):
        needed(0.5, 0.4, 0, labelled=20, clusters=100)


@pytest.mark.parametrize("name", ["labels_alone", "corrected", "distance"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), None])
def test_a_reach_or_a_distance_that_is_none_is_refused(name, value):
    given = {"labels_alone": 0.5, "corrected": 0.4, "distance": 0.25, "labelled": 20, "clusters": 100}
    with pytest.raises(InputRefused, match=f"{name}: found"):
        clusters_to_label(**given | {name: value})


@pytest.mark.parametrize(
    ("labelled", "clusters", "name"), [(0, 9, "labelled"), (1.5, 9, "labelled"), (1, 0, "clusters")]
)
def test_clusters_that_are_no_number_of_them_are_refused(labelled, clusters, name):
    with pytest.raises(InputRefused, match=f"{name}: found"):
        needed(0.5, 0.4, 0.25, labelled=labelled, clusters=clusters)


def test_more_labelled_clusters_than_there_are_are_refused():
    with pytest.raises(InputRefused, match="labelled: found 10, expected at most the 9 clusters"):
        needed(0.5, 0.4, 0.25, labelled=10, clusters=9)
