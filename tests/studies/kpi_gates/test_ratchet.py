"""A threshold moves on the evidence of its chart and in a window, both, and either way."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from eval_pipeline.stats.percentile import percentile
from eval_pipeline.studies.kpi_gates.calibration import calibrated, gate_set
from eval_pipeline.studies.kpi_gates.charts import xmr_chart
from eval_pipeline.studies.kpi_gates.findings import findings
from eval_pipeline.studies.kpi_gates.generator import Truth, generated
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.ratchet import evidence_of, move_of, window_at
from tests.studies.kpi_gates.made_up import SHIPPED, calibrated_on, columns, gate_of, planned

RULE = SHIPPED.ratchet
OPEN = RULE.windows[0].opens
SHUT = OPEN - timedelta(seconds=1)
BASELINE = np.tile([9.0, 11.0], 10)  # centre 10, moving range 2, three sigmas 5.319


def of(values):
    return percentile(values, share=0.95, level=0.95)


def evidence(later, *, latest, anchor=20.0, n=100):
    chart = xmr_chart("x", np.concatenate([BASELINE, later]), baseline=20)
    return evidence_of(of([anchor]), chart, of([latest]), n=n, before=20, rule=RULE)


def test_down_is_shown_by_a_percentile_below_the_anchor_by_more_than_three_sigmas():
    # The band is 3 * 2 / 1.128 = 5.3191...
    assert evidence([10.0], latest=14.68) == "down"
    assert evidence([10.0], latest=14.69) is None


def test_up_is_shown_by_eight_new_points_above_the_centre():
    assert evidence([10.5] * 8, latest=20.0) == "up"
    assert evidence([10.5] * 7 + [10.0], latest=20.0) is None
    assert evidence([9.5] * 8, latest=20.0) is None  # below is no evidence for up, and a lower percentile is for down


def test_points_of_the_baseline_are_no_new_evidence():
    # The last point of the baseline lies above as well, so that the eighth in a row is the seventh new one.
    assert BASELINE[-1] > 10
    assert evidence([10.5] * 7, latest=20.0) is None
    assert evidence([], latest=20.0) is None


def test_too_few_new_runs_show_nothing():
    assert evidence([10.5] * 8, latest=14.0, n=99) is None


def test_a_chart_without_limits_shows_nothing():
    chart = xmr_chart("x", np.full(30, 5.0), baseline=20)
    assert evidence_of(of([20.0]), chart, of([1.0]), n=100, before=20, rule=RULE) is None


@pytest.mark.parametrize(
    ("now", "name"),
    [
        (SHUT, None),
        (OPEN, "fourth quarter of 2026"),
        (RULE.windows[0].closes - timedelta(seconds=1), "fourth quarter of 2026"),
        (RULE.windows[0].closes, None),
    ],
)
def test_a_window_is_open_from_its_first_moment_until_before_its_last(now, name):
    found = window_at(RULE.windows, now)
    assert (found.name if found else None) == name


def moved(factor, now=OPEN, n=800):
    rng = np.random.default_rng(2)
    before, later = rng.normal(50, 4, 2400), rng.normal(50, 4, n) * factor
    gate = gate_of(calibrated_on(columns({Kpi.ITERATION_COUNT: before})), Kpi.ITERATION_COUNT)
    latest = calibrated(columns({Kpi.ITERATION_COUNT: later}), SHIPPED, before=gate_set((gate, *_others())))
    means = np.concatenate([before, later]).reshape(-1, 20).mean(axis=1)
    chart = xmr_chart("x", means, baseline=120)
    found = gate_of(latest, Kpi.ITERATION_COUNT)
    return gate, move_of(gate, found, chart, before=120, now=now, rule=RULE)


def _others():
    return [
        gate for gate in calibrated_on(columns({Kpi.ITERATION_COUNT: [1.0]})) if gate.kpi is not Kpi.ITERATION_COUNT
    ]


@pytest.mark.parametrize(("factor", "way"), [(0.7, "down"), (1.3, "up")])
def test_a_move_is_due_either_way_on_evidence_and_in_a_window(factor, way):
    gate, move = moved(factor)
    assert gate.standing.promoted
    assert (move.evidence, move.due, move.window) == (way, way, "fourth quarter of 2026")
    assert (move.to > gate.in_force) == (way == "up")
    assert move.to == pytest.approx(float(gate.in_force) * factor, rel=0.1)


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_no_move_is_due_outside_a_window(factor):
    _, move = moved(factor, now=SHUT)
    assert (move.due, move.to, move.why) == (None, None, "no window is open")
    assert move.evidence is not None


def test_no_move_is_due_without_evidence():
    _, move = moved(1.0)
    assert (move.evidence, move.due, move.why) == (None, None, "its chart does not show that it has moved")


def test_no_move_is_due_where_the_new_runs_do_not_place_the_threshold():
    _, move = moved(0.7, n=600)
    assert (move.evidence, move.due) == ("down", None)
    assert move.why == "the new runs do not place it: so few runs do not bound the percentile from above"


@pytest.mark.parametrize(("factor", "way"), [(0.7, "down"), (1.3, "up"), (1.0, None)])
def test_a_log_whose_runs_move_after_the_baseline_says_so(factor, way):
    plan = planned(planned={"runs": 3200})
    log = generated(plan, Truth(after={Kpi.ITERATION_COUNT: factor}), rng=np.random.default_rng(5))
    (move,) = [one for one in findings(log, plan).moves if one.gate == "iteration_count_max"]
    assert (move.due, move.to is not None) == (way, way is not None)


def test_the_time_of_the_last_run_decides_whether_a_window_is_open():
    plan = planned(planned={"runs": 3200})
    window = RULE.windows[0].model_copy(update={"opens": datetime(2027, 1, 1, tzinfo=UTC)})
    shut = plan.model_copy(update={"ratchet": RULE.model_copy(update={"windows": (window,)})})
    log = generated(plan, Truth(after={Kpi.ITERATION_COUNT: 0.7}), rng=np.random.default_rng(5))
    (move,) = [one for one in findings(log, shut).moves if one.gate == "iteration_count_max"]
    assert (move.evidence, move.due) == ("down", None)
