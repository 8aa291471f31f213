"""The closed loops that can be run."""

from typing import Any

from eval_pipeline.studies.fire_rate.study import STUDY as FIRE_RATE
from eval_pipeline.studies.judge_reliability.study import STUDY as JUDGE_RELIABILITY
from eval_pipeline.studies.kpi_gates.study import STUDY as KPI_GATES
from eval_pipeline.studies.loop_study import LoopStudy
from eval_pipeline.studies.retry_limit.study import STUDY as RETRY_LIMIT
from eval_pipeline.studies.strategy_feedback.study import STUDY as STRATEGY_FEEDBACK

STUDIES: tuple[LoopStudy[Any, Any, Any, Any], ...] = (
    JUDGE_RELIABILITY,
    RETRY_LIMIT,
    FIRE_RATE,
    STRATEGY_FEEDBACK,
    KPI_GATES,
)
