"""Positional uniformity: the bound on what is lost from the first to the last quartile, or why there is none."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap, linregress

from eval_pipeline.records import Reason
from eval_pipeline.studies.extraction.uniformity import uniformity_findings

ALL = (1, 1, 1, 1)


def random_rows(rng, entries, *, recalls=(0.9, 0.85, 0.8, 0.75)):
    """Entries with one to three propositions a quartile; entries differ in how much of them is recovered."""
    judged = rng.integers(1, 4, size=(entries, 4))
    shift = rng.uniform(-0.1, 0.1, size=(entries, 1))
    return list(zip(rng.binomial(judged, np.array(recalls) + shift).tolist(), judged.tolist(), strict=True))


def test_constant_entries_worked_by_hand(quartile_table, lenient):
    found = uniformity_findings(quartile_table([((2, 1, 1, 1), (2, 2, 4, 2))] * 10), lenient)
    # 2/2 - 1/2 = 1/2 in every resample; slope (-3 (1) - 1 (1/2) + 1 (1/4) + 3 (1/2)) / 10 = -7/40.
    assert found.bound.estimate == found.bound.interval.high == Fraction(1, 2)
    assert found.bound.interval.low is None
    assert (found.two_sided.interval.low, found.two_sided.interval.high) == (Fraction(1, 2), Fraction(1, 2))
    assert found.slope.estimate == Fraction(-7, 40)
    assert (found.valid, found.resamples, found.rows, found.degenerate) == (1000, 1000, 10, True)
    assert found.refusal is None


def test_estimates_are_of_the_pooled_counts_and_not_of_entries(quartile_table, lenient):
    found = uniformity_findings(quartile_table([((9, 0, 0, 3), (9, 0, 0, 9)), ((0, 0, 0, 1), (1, 0, 0, 1))]), lenient)
    assert found.bound.estimate == Fraction(9, 10) - Fraction(4, 10)


def test_the_slope_is_that_of_least_squares(quartile_table, lenient):
    """scipy.stats.linregress of the four recalls on 1, 2, 3, 4."""
    rows = random_rows(np.random.default_rng(2), 40)
    hits, judged = (np.array([row[side] for row in rows]).sum(axis=0) for side in (0, 1))
    slope = uniformity_findings(quartile_table(rows), lenient).slope.estimate
    assert float(slope) == pytest.approx(linregress([1, 2, 3, 4], hits / judged).slope, abs=1e-12)


def test_the_bound_and_the_two_sided_interval_agree_with_scipy(quartile_table, lenient):
    """scipy.stats.bootstrap, paired over entries, percentile, 9,999 resamples."""
    rows = random_rows(np.random.default_rng(12), 90)
    found = uniformity_findings(quartile_table(rows), lenient)
    columns = [np.array([row[side][quartile] for row in rows]) for quartile in (0, 3) for side in (0, 1)]

    def difference(first_hits, first, last_hits, last, axis):
        return first_hits.sum(axis) / first.sum(axis) - last_hits.sum(axis) / last.sum(axis)

    def interval(level):
        drawn = bootstrap(
            columns,
            difference,
            paired=True,
            vectorized=True,
            method="percentile",
            confidence_level=level,
            n_resamples=9999,
            rng=np.random.default_rng(1),
        )
        return drawn.confidence_interval

    assert float(found.bound.interval.high) == pytest.approx(interval(0.90).high, abs=0.01)
    assert float(found.two_sided.interval.low) == pytest.approx(interval(0.95).low, abs=0.015)
    assert float(found.two_sided.interval.high) == pytest.approx(interval(0.95).high, abs=0.015)


def test_reading_the_notes_backwards_turns_the_difference_and_the_slope(quartile_table, lenient):
    rows = random_rows(np.random.default_rng(4), 30)
    backwards = [(hits[::-1], judged[::-1]) for hits, judged in rows]
    there, back = (uniformity_findings(quartile_table(table), lenient) for table in (rows, backwards))
    assert back.bound.estimate == -there.bound.estimate
    assert back.slope.estimate == -there.slope.estimate
    assert back.two_sided.interval.low == -there.two_sided.interval.high


def test_the_quartiles_between_have_no_part_in_the_bound(quartile_table, lenient):
    rows = random_rows(np.random.default_rng(4), 30)
    emptied = [((h[0], 0, 0, h[3]), (j[0], 0, 0, j[3])) for h, j in rows]
    full, empty = (uniformity_findings(quartile_table(table), lenient) for table in (rows, emptied))
    assert empty.bound == full.bound
    assert empty.two_sided == full.two_sided
    assert full.slope.estimate < 0
    assert empty.slope is None


def test_the_bound_is_at_least_the_true_loss_in_95_percent_of_studies(quartile_table, lenient, amended):
    """300 simulated studies with a true loss of .15: the one-sided bound is below it in about 5 % of them."""
    rng, plan = np.random.default_rng(9), amended(lenient, bootstrap={"resamples": 400})
    holds = sum(
        uniformity_findings(quartile_table(random_rows(rng, 60)), plan).bound.interval.high >= 0.15 for _ in range(300)
    )
    assert binomtest(holds, 300, 0.95).pvalue > 0.01


def test_one_entry_is_underpowered(quartile_table, lenient):
    found = uniformity_findings(quartile_table([(ALL, ALL)]), lenient)
    assert found.refusal.reason is Reason.UNDERPOWERED
    assert "judge more entries" in found.refusal.detail
    assert (found.bound, found.two_sided, found.slope, found.histogram, found.valid) == (None,) * 5


@pytest.mark.parametrize("place", [0, 3], ids=["first", "last"])
def test_a_quartile_of_which_nothing_was_judged_is_thin(quartile_table, lenient, place):
    judged = tuple(int(quartile != place) for quartile in range(4))
    found = uniformity_findings(quartile_table([(judged, judged)] * 10), lenient)
    assert found.refusal.reason is Reason.THIN_QUARTILES
    assert "no proposition of quartile 1, or none of quartile 4" in found.refusal.detail
    assert (found.bound, found.valid) == (None, None)


def test_quartiles_that_most_resamples_miss_are_thin_and_the_valid_ones_are_counted(quartile_table, lenient, amended):
    """One entry of two holds quartile 1 and the other quartile 4: half of all resamples hold both, and 60 % must."""
    rows = [((1, 1, 1, 0), (1, 1, 1, 0)), ((0, 1, 1, 1), (0, 1, 1, 1))]
    strict = amended(lenient, bootstrap={"valid_at_least": Fraction(3, 5)})
    found = uniformity_findings(quartile_table(rows), strict)
    assert found.refusal.reason is Reason.THIN_QUARTILES
    # Binomial(1000, 1/2) lies within 4 standard errors, 63, of 500.
    assert 437 <= found.valid <= 563
    assert f"only {found.valid} of 1000 resamples" in found.refusal.detail
    assert "at least 600 are needed" in found.refusal.detail


def test_the_histogram_counts_every_valid_resample(quartile_table, lenient):
    found = uniformity_findings(quartile_table(random_rows(np.random.default_rng(6), 30)), lenient)
    edges = found.histogram.edges
    assert sum(found.histogram.counts) == found.valid == 1000
    assert len(edges) == len(found.histogram.counts) + 1
    assert list(edges) == sorted(edges)
    assert edges[0] <= float(found.bound.interval.high) <= edges[-1]


def test_a_histogram_of_one_value_has_one_bar(quartile_table, lenient):
    found = uniformity_findings(quartile_table([(ALL, ALL)] * 5), lenient)
    assert found.histogram.counts == (1000,)
    assert found.degenerate


def test_another_seed_draws_other_resamples_and_the_same_seed_the_same(quartile_table, lenient):
    table = quartile_table(random_rows(np.random.default_rng(6), 30))
    first, again, other = (
        uniformity_findings(table, lenient.model_copy(update={"seed": seed})) for seed in (4242, 4242, 4243)
    )
    assert first == again
    assert first.histogram != other.histogram
    assert first.bound.estimate == other.bound.estimate
