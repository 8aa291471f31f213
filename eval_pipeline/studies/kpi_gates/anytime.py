"""The intervals of calibrated gates at any level, for looks without end."""

from collections.abc import Mapping
from typing import Any

from eval_pipeline.history import Anytime, exact_intervals
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.verdict import FALSE_ALARMS


def anytime(document: Mapping[str, Any], plan: KpiGatesPlan) -> Anytime:
    """False alarms over held-out runs, which are independent of each other; the other claims have no such interval."""
    return Anytime(plan.estimate.level, exact_intervals(document, [FALSE_ALARMS]))
