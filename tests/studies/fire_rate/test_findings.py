"""Rates are counts with exact intervals, once a run, of the runs up to the one that ended the study."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.observations import Log
from eval_pipeline.records import Interval
from eval_pipeline.stats.confidence_sequence import mean_sequence
from eval_pipeline.studies.fire_rate.findings import Findings, findings
from eval_pipeline.studies.fire_rate.looks import Decision
from tests.stats.laws import LAW
from tests.studies.fire_rate.made_up import event, log_where, run


@pytest.fixture(scope="module")
def whole(shipped):
    """3000 runs: three of one kind and two of the other in the first 464, one of them of both, and 4 later."""
    fired = {1: "content_mutation", 9: "content_mutation", 17: "ordering_regression"}
    fired |= dict.fromkeys(range(1001, 1005), "content_mutation")
    rows = list(log_where(3000, fired).rows)
    both = (event("content_mutation"), event("ordering_regression"), event("content_mutation"))
    rows[99] = run(100, *both)
    return findings(Log(tuple(rows), simulated=False), shipped)


def test_each_kind_and_any_are_counted_once_a_run(whole):
    assert (whole.runs, whole.fires) == (3000, 8)
    assert [(one.name, one.fires, one.runs) for one in (whole.overall, *whole.kinds)] == [
        ("all", 8, 3000),
        ("content_mutation", 7, 3000),
        ("ordering_regression", 2, 3000),
    ]
    assert whole.overall.estimate == Fraction(8, 3000)
    assert sum(one.fires for one in whole.contexts) == 8
    assert [(one.name, one.fires) for one in whole.contexts if one.fires] == [
        ("proposal", 4),
        ("feature", 1),
        ("bug", 1),
        ("incident", 2),
    ]


def test_the_intervals_are_those_of_statsmodels(whole):
    """statsmodels 0.14, proportion_confint(..., method="beta")."""
    for rate in (whole.overall, *whole.kinds, *whole.contexts):
        low, high = proportion_confint(rate.fires, rate.runs, alpha=0.05, method="beta")
        assert (rate.interval.low, rate.interval.high) == (pytest.approx(low), pytest.approx(high))


def test_the_interval_at_every_look_is_that_of_the_confidence_sequence(whole):
    assert whole.anytime == mean_sequence(8, 3000, level=0.95, tightest_at=464)
    assert whole.anytime.low < whole.overall.interval.low < whole.overall.interval.high < whole.anytime.high


def test_the_rates_end_where_the_study_ended(shipped):
    found = findings(log_where(600, [*range(1, 5), 100, 200, 300]), shipped)
    assert found.course.decision is Decision.INVESTIGATE
    assert (found.runs, found.fires) == (600, 7)
    assert (found.overall.runs, found.overall.fires) == (100, 5)
    assert found.anytime == mean_sequence(5, 100, level=0.95, tightest_at=464)


def test_a_context_without_a_run_has_no_rate(shipped):
    found = findings(log_where(5, range(1, 6)), shipped)
    assert [one.runs for one in found.contexts] == [1, 1, 1, 1, 1, 0, 0, 0]
    assert (found.contexts[-1].estimate, found.contexts[-1].interval) == (None, None)


def test_the_operating_characteristics_stand_in_the_findings(whole, shipped):
    assert whole.operating.shown_at_margin == pytest.approx(0.02695, abs=5e-6)
    assert whole.operating.shown_at_planned_rate >= shipped.power.power


def test_the_first_version_is_asked_of_the_same_counts(whole):
    assert (whole.first_version.runs, whole.first_version.fires) == (3000, 8)
    assert whole.first_version.word == "fallback_unreached_delete_candidate"


@LAW
@given(st.randoms())
def test_the_order_of_the_rows_does_not_matter(shipped, rng):
    log = log_where(80, [7, 30, 77])
    rows = list(log.rows)
    rng.shuffle(rows)
    mixed = findings(Log(tuple(rows), simulated=False), shipped)
    expected = findings(log, shipped)
    assert (mixed.course, mixed.batches, mixed.contexts) == (expected.course, expected.batches, expected.contexts)


def test_findings_are_kept_as_they_are(whole):
    assert read_json(json_bytes(whole, Findings), Findings) == whole
    assert isinstance(whole.anytime, Interval)
