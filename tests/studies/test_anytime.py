"""The intervals over all looks of the studies that count independent trials, and which claims have none."""

from fractions import Fraction
from typing import Any

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.history import exact_intervals
from eval_pipeline.plan import read_plan
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.confidence_sequence import mean_sequence
from eval_pipeline.studies.fire_rate.study import STUDY as FIRE_RATE
from eval_pipeline.studies.judge_calibration.anytime import anytime as of_calibration
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from eval_pipeline.studies.kpi_gates.study import STUDY as KPI_GATES
from eval_pipeline.studies.loops import STUDIES

LEVEL = Fraction(999, 1000)


def claims(**counts: tuple[int, int] | None) -> dict[str, Any]:
    """A document of claims with these numerators and denominators."""
    rows = {name: found or (None, None) for name, found in counts.items()}
    return {"claims": [{"claim": name, "numerator": n, "denominator": of} for name, (n, of) in rows.items()]}


def test_error_rates_of_a_judge_are_exact() -> None:
    plan = read_plan(bundled("plans/judge-calibration.toml"), CalibrationPlan)
    found = of_calibration(claims(false_negatives=(3, 40), false_positives=None, decomposition=(0, 5)), plan)
    assert found.level == Fraction(19, 20)
    assert {name: interval_at(LEVEL) for name, interval_at in found.intervals.items()} == {
        "false_negatives": exact_interval(3, 40, level=LEVEL),
        "decomposition": exact_interval(0, 5, level=LEVEL),
    }


def test_false_alarms_of_gates_are_exact_and_no_other_claim_of_theirs_is() -> None:
    plan = read_plan(bundled("plans/kpi-gates.toml"), KPI_GATES.plan)
    assert KPI_GATES.anytime
    found = KPI_GATES.anytime(claims(family_false_alarms=(2, 60), baseline_frozen=(200, 200)), plan)
    assert (found.level, list(found.intervals)) == (plan.estimate.level, ["family_false_alarms"])
    assert found.intervals["family_false_alarms"](LEVEL) == exact_interval(2, 60, level=LEVEL)


@pytest.mark.parametrize("runs", [464, 100])
def test_a_fire_rate_whose_runs_end_at_its_fires_is_held_by_a_sequence(runs: int) -> None:
    """An exact interval takes the number of runs for fixed, and it is not."""
    plan = read_plan(bundled("plans/fire-rate.toml"), FIRE_RATE.plan)
    assert FIRE_RATE.anytime
    found = FIRE_RATE.anytime(claims(rate_below_margin=(5, runs), contexts_covered=(4, 4)), plan)
    assert list(found.intervals) == ["rate_below_margin"]
    interval = found.intervals["rate_below_margin"](LEVEL)
    assert interval == mean_sequence(5, runs, level=LEVEL, tightest_at=plan.test.looks[0].runs)
    exact = exact_interval(5, runs, level=LEVEL)
    assert interval
    assert (interval.low, interval.high) < (exact.low, 1)
    assert float(interval.high or 0) > float(exact.high or 0)


def test_a_fire_rate_that_is_withheld_has_none() -> None:
    plan = read_plan(bundled("plans/fire-rate.toml"), FIRE_RATE.plan)
    assert FIRE_RATE.anytime
    assert FIRE_RATE.anytime(claims(rate_below_margin=None), plan).intervals == {}


def test_loops_whose_intervals_are_resampled_have_outcomes_alone() -> None:
    without = {study.name for study in STUDIES if study.anytime is None}
    assert without == {"judge-reliability", "retry-limit", "strategy-feedback"}


def test_a_claim_without_trials_or_that_is_not_named_has_no_exact_interval() -> None:
    document = claims(one=(1, 2), two=(0, 0), three=(1, 3))
    assert list(exact_intervals(document, ["one", "two", "absent"])) == ["one"]
