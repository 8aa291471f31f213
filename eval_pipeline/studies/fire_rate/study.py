"""The fire rate as a closed loop to be run."""

from pathlib import Path
from typing import NoReturn

from eval_pipeline.errors import InputRefused
from eval_pipeline.observations import Log
from eval_pipeline.studies.fire_rate import observations
from eval_pipeline.studies.fire_rate.anytime import anytime
from eval_pipeline.studies.fire_rate.document import STUDY as NAME
from eval_pipeline.studies.fire_rate.document import document
from eval_pipeline.studies.fire_rate.findings import Findings, findings
from eval_pipeline.studies.fire_rate.generator import generated
from eval_pipeline.studies.fire_rate.observations import Run
from eval_pipeline.studies.fire_rate.plan import FireRatePlan
from eval_pipeline.studies.fire_rate.preflight import AS_WRITTEN, require_counted
from eval_pipeline.studies.fire_rate.verdict import CLAIMS
from eval_pipeline.studies.loop_study import LoopStudy


def read(path: Path) -> Log[Run]:
    """The log of a file, once the events that are injected were counted; before that no byte of it is read.

    Raises:
        EvidenceRefused: an injected event was not counted.
        MalformedObservations: as in `observations.read`.

    """
    require_counted(AS_WRITTEN)
    return observations.read(path)


def run_of(row: Run) -> str:
    """The run that a row is about: its own."""
    return row.run_id


def held_out(found: Findings, log: Log[Run], plan: FireRatePlan) -> NoReturn:
    """Nothing: the study tunes nothing that unseen runs could contradict.

    Raises: InputRefused: always.
    """
    raise InputRefused(
        f"held out: found {len(log.rows)} runs for plan {plan.name!r}, which counts all {found.runs}; expected none"
    )


STUDY: LoopStudy[FireRatePlan, Run, Findings, None] = LoopStudy(
    name=NAME,
    plan=FireRatePlan,
    row=Run,
    claims=CLAIMS,
    read=read,
    generate=generated,
    unit=run_of,
    stratum=None,
    findings=findings,
    findings_type=Findings,
    held_out=held_out,
    held_out_type=type(None),
    document=document,
    anytime=anytime,
)
