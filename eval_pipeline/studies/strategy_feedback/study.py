"""The feedback loop as a study that can be run."""

from eval_pipeline.studies.loop_study import LoopStudy
from eval_pipeline.studies.strategy_feedback.document import STUDY as NAME
from eval_pipeline.studies.strategy_feedback.document import document
from eval_pipeline.studies.strategy_feedback.executions import executions_of
from eval_pipeline.studies.strategy_feedback.findings import Findings, findings
from eval_pipeline.studies.strategy_feedback.generator import generate
from eval_pipeline.studies.strategy_feedback.held_out import Replay, held_out
from eval_pipeline.studies.strategy_feedback.observations import Execution, read
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan
from eval_pipeline.studies.strategy_feedback.verdict import CLAIMS


def _run(execution: Execution) -> str:
    return execution.run_id


def _arm(execution: Execution) -> str:
    return execution.arm.value


STUDY: LoopStudy[StrategyFeedbackPlan, Execution, Findings, Replay] = LoopStudy(
    name=NAME,
    plan=StrategyFeedbackPlan,
    row=Execution,
    claims=CLAIMS,
    read=read,
    generate=generate,
    unit=_run,
    stratum=_arm,
    findings=findings,
    findings_type=Findings,
    held_out=held_out,
    held_out_type=Replay,
    document=document,
    require=executions_of,
)
