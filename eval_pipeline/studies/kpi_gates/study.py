"""Calibrated KPI gates as a closed loop."""

from eval_pipeline.studies.kpi_gates.anytime import anytime
from eval_pipeline.studies.kpi_gates.document import document_of
from eval_pipeline.studies.kpi_gates.findings import KpiGatesFindings, findings
from eval_pipeline.studies.kpi_gates.generator import generate
from eval_pipeline.studies.kpi_gates.held_out import HeldOutFindings, held_out
from eval_pipeline.studies.kpi_gates.observations import KpiRun, read
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.verdict import CLAIMS
from eval_pipeline.studies.loop_study import LoopStudy

STUDY: LoopStudy[KpiGatesPlan, KpiRun, KpiGatesFindings, HeldOutFindings] = LoopStudy(
    name="kpi-gates",
    plan=KpiGatesPlan,
    row=KpiRun,
    claims=CLAIMS,
    read=read,
    generate=generate,
    unit=lambda run: run.run_id,
    stratum=lambda run: run.machine.of_class.value,
    findings=findings,
    findings_type=KpiGatesFindings,
    held_out=held_out,
    held_out_type=HeldOutFindings,
    document=document_of,
    anytime=anytime,
)
