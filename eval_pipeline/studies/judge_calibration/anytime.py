"""The intervals of a judge's error rates at any level, for looks without end."""

from collections.abc import Mapping
from typing import Any

from eval_pipeline.history import Anytime, exact_intervals
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from eval_pipeline.studies.judge_calibration.verdict import CLAIMS


def anytime(document: Mapping[str, Any], plan: CalibrationPlan) -> Anytime:
    """Exact intervals of the rates, as the plan counts tuples: each by itself."""
    return Anytime(plan.intervals.level, exact_intervals(document, CLAIMS))
