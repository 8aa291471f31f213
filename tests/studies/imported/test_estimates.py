"""What scores show: items count once, what is undecided is bounded, and intervals are those of other programs."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_rel
from statsmodels.stats.proportion import proportion_confint

from eval_pipeline.importers.results import Headline, Undecided
from eval_pipeline.stats.bounded_mean import bounded_mean
from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.studies.imported.document import sentence_of
from eval_pipeline.studies.imported.estimates import EXACT, MEANS, SHARES, findings
from tests.stats.laws import LAW
from tests.studies.imported.made_up import plan_with, results

ERRORED, REFUSED = Undecided.ERRORED, Undecided.REFUSED
PLAN = plan_with()
CELL = st.sampled_from([0.0, 0.1, 0.5, 1.0, ERRORED])
ITEMS = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(CELL, min_size=1, max_size=3), min_size=1)


def estimate(**systems):
    (one,) = findings(results(**systems), PLAN).estimates
    return one


def ends(interval):
    return interval.low, interval.high


def test_a_score_an_item_of_yes_or_no_has_the_exact_interval_of_statsmodels_and_scipy():
    one = estimate(s=[1] * 17 + [0] * 3)
    assert (one.mean, one.method) == (Fraction(17, 20), EXACT)
    assert ends(one.interval) == pytest.approx(proportion_confint(17, 20, method="beta"), abs=1e-12)
    theirs = binomtest(17, 20).proportion_ci(0.95, method="exact")
    assert ends(one.interval) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_as_many_scores_an_item_of_yes_or_no_have_the_interval_of_a_share_by_item():
    one = estimate(s={"a": [1, 1], "b": [1, 0], "c": [0, 0]})
    assert (one.mean, one.method) == (Fraction(1, 2), SHARES)
    assert one.interval == share_interval([2, 1, 0], [2, 2, 2], level=0.95, tails="two").interval


def test_items_of_unequal_size_count_once_each():
    """a: 1/4, b: 1. Their mean is 5/8, where the pooled share is 2/5."""
    one = estimate(s={"a": [1, 0, 0, 0], "b": [1]})
    assert (one.mean, one.method) == (Fraction(5, 8), MEANS)
    assert one.interval == bounded_mean([0.25, 1], level=0.95, tails="two").interval


def test_graded_scores_are_exact_as_they_print():
    """Three times .1, as binary numbers, add up to more than .3."""
    assert estimate(s=[0.1, 0.1, 0.1]).mean == Fraction(1, 10)
    assert estimate(s=[0.7, 0.9]).mean == Fraction(4, 5)


def test_what_is_undecided_is_left_out_counted_and_bounded():
    one = estimate(s={"a": [1, ERRORED], "b": [0, 0], "c": [REFUSED, ERRORED], "d": [1, 1]})
    assert (one.items, one.scored_items, one.scores) == (4, 3, 5)
    assert one.undecided == {"errored": 2, "refused": 1}
    assert one.share_undecided == Fraction(3, 8)
    assert one.mean == Fraction(2, 3)  # 1, 0 and 1
    assert (one.worst_low, one.worst_high) == (Fraction(3, 8), Fraction(3, 4))  # (.5 + 0 + 0 + 1)/4, (1 + 0 + 1 + 1)/4


def test_nothing_is_said_where_nothing_is_known():
    one = estimate(s=[ERRORED, ERRORED])
    assert (one.mean, one.interval, one.worst_low, one.worst_high) == (None, None, 0, 1)
    single = estimate(s=[1])
    assert (single.mean, single.interval, single.method) == (1, None, None)


@given(ITEMS)
@LAW
def test_the_mean_lies_within_its_interval_and_what_is_undecided_decides_within_the_range(items):
    one = estimate(s=items)
    zeros, ones = (
        estimate(s={item: [end if score is ERRORED else score for score in of] for item, of in items.items()})
        for end in (0.0, 1.0)
    )
    assert (one.worst_low, one.worst_high) == (zeros.mean, ones.mean)
    if one.interval:
        assert one.interval.low <= float(one.mean) <= one.interval.high


@given(ITEMS, st.randoms(use_true_random=False))
@LAW
def test_the_names_of_items_make_no_difference(items, random):
    names = random.sample(sorted(items), len(items))
    one, other = estimate(s=items), estimate(s=dict(zip(names, items.values(), strict=True)))
    assert (other.mean, other.undecided, other.worst_high) == (one.mean, one.undecided, one.worst_high)
    assert (other.interval is None) == (one.interval is None)
    if one.interval:
        assert ends(other.interval) == pytest.approx(ends(one.interval), abs=1e-9)


def difference(plan=PLAN, **systems):
    (one,) = findings(results(**systems), plan).differences
    return one


def test_two_systems_are_compared_on_the_items_that_both_have_a_score_on():
    one = difference(a=[1, 1, 1, 0, ERRORED], b=[1, 0, 0, 0, 1])
    assert (one.first, one.second, one.metric, one.items, one.left_out) == ("a", "b", "m", 4, 1)
    assert one.mean == Fraction(1, 2)
    assert one.interval.low < 0.5 < one.interval.high
    assert 0 < one.p_value <= 1


def test_a_paired_difference_agrees_with_scipys_paired_t_test_where_items_are_many():
    rng = np.random.default_rng(8)
    hard = rng.uniform(0.2, 0.6, 150)
    first, second = (np.round(hard + rng.uniform(0, 0.3, 150) + shift, 3) for shift in (0.02, 0.0))
    one = difference(a=first.tolist(), b=second.tolist())
    theirs = ttest_rel(first, second)
    assert float(one.mean) == pytest.approx(
        theirs.confidence_interval().low / 2 + theirs.confidence_interval().high / 2
    )
    assert one.p_value == pytest.approx(theirs.pvalue, abs=0.03)
    assert ends(one.interval) == pytest.approx(tuple(theirs.confidence_interval()), abs=0.004)


def test_systems_that_are_the_same_on_every_item_have_no_p_value():
    one = difference(a=[1, 0, 1], b=[1, 0, 1])
    assert (one.mean, one.p_value) == (0, None)
    assert difference(a=[0.5, 0.25], b=[0.25, 0]).p_value is None
    assert one.interval.low < 0 < one.interval.high


def test_too_few_shared_items_are_not_compared():
    one = difference(plan_with(smallest_items=4), a=[1, 1, 1, ERRORED], b=[0, 0, 0, 0])
    assert (one.items, one.left_out, one.mean, one.interval, one.p_value) == (3, 1, None, None, None)


def test_each_pair_of_systems_is_compared_once():
    found = findings(results(a=[1, 0], b=[1, 1], c=[0, 0]), PLAN).differences
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]


def said(stated, scores, rounded=0.0):
    found = findings(results(Headline("s", "m", "m accuracy", stated, rounded), s=scores), PLAN)
    (one,) = found.comparisons
    return one, sentence_of(one, found)


def test_a_number_of_the_log_that_we_find_too_is_confirmed():
    one, sentence = said(0.75, [1, 1, 1, 0])
    assert not one.differs
    assert sentence == "the log states 0.7500, as we find"
    assert not said(0.667, [1, 1, 0], 0.0005)[0].differs
    assert said(0.667, [1, 1, 0])[0].differs


def test_a_log_that_counts_refusals_as_0_is_told_so():
    one, sentence = said(0.5, [1, 1, REFUSED, REFUSED, ERRORED])
    assert (one.ours, one.differs, one.as_zero) == (1.0, True, ("refused",))
    assert sentence == (
        "the log states 0.5000 and we find 1.0000: counting as 0 what is undecided here (2 refused) gives the log's"
        " number"
    )


def test_a_difference_that_nothing_explains_is_said_to_be_one():
    assert "is of another rule or of other scores; look into it" in said(0.9, [1, 0])[1]
    assert "what the log makes of it is not seen from it" in said(0.9, [1, 0, ERRORED])[1]
    assert said(0.9, [ERRORED, ERRORED])[1] == "the log states 0.9000, and no item has a score that counts here"
