"""The study as every closed loop gives itself to be run."""

from eval_pipeline.studies.judge_reliability.document import document
from eval_pipeline.studies.judge_reliability.findings import Findings, findings
from eval_pipeline.studies.judge_reliability.generator import generate
from eval_pipeline.studies.judge_reliability.held_out import HeldOut, held_out
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation, read
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.verdict import CLAIMS
from eval_pipeline.studies.loop_study import LoopStudy


def _claim(row: JudgeObservation) -> str:
    return row.claim_id


def _grounding(row: JudgeObservation) -> str:
    return row.grounding.value


STUDY: LoopStudy[JudgeReliabilityPlan, JudgeObservation, Findings, HeldOut] = LoopStudy(
    name="judge-reliability",
    plan=JudgeReliabilityPlan,
    row=JudgeObservation,
    claims=CLAIMS,
    read=read,
    generate=generate,
    unit=_claim,
    stratum=_grounding,
    findings=findings,
    findings_type=Findings,
    held_out=held_out,
    held_out_type=HeldOut,
    document=document,
)
