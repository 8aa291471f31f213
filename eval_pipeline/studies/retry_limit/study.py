"""The retry limit as a closed loop that can be run."""

from eval_pipeline.studies.loop_study import LoopStudy
from eval_pipeline.studies.retry_limit.document import retry_limit_document
from eval_pipeline.studies.retry_limit.findings import Findings, findings
from eval_pipeline.studies.retry_limit.generator import generated_log
from eval_pipeline.studies.retry_limit.held_out import HeldOutFindings, held_out
from eval_pipeline.studies.retry_limit.observations import Attempt, read, require_assigned
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.verdict import CLAIMS

STUDY: LoopStudy[RetryLimitPlan, Attempt, Findings, HeldOutFindings] = LoopStudy(
    name="retry-limit",
    plan=RetryLimitPlan,
    row=Attempt,
    claims=CLAIMS,
    read=read,
    generate=generated_log,
    unit=lambda row: row.run_id,
    stratum=None,
    findings=findings,
    findings_type=Findings,
    held_out=held_out,
    held_out_type=HeldOutFindings,
    document=retry_limit_document,
    require=require_assigned,
)
