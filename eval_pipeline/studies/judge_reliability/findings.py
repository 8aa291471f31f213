"""What the calibration part of a log says: abilities, parse failures, labelling, and whether judges err together."""

from dataclasses import dataclass

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.errors import InputRefused
from eval_pipeline.loop import Chart
from eval_pipeline.observations import Log
from eval_pipeline.studies.judge_reliability.abilities import Abilities, abilities_of
from eval_pipeline.studies.judge_reliability.annotation import LabelReport, label_report
from eval_pipeline.studies.judge_reliability.dependence import Pair, pairs_of
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation, contradictions
from eval_pipeline.studies.judge_reliability.parse_failures import charts_of
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.queue import pending


@dataclass(frozen=True, slots=True)
class Counts:
    """What the log holds; `pending` claims wait for a truth, and `no_vote` judgments gave no vote."""

    judgments: int
    no_vote: int
    claims: int
    pending: int
    judges: int
    control_runs: int
    treatment_runs: int


@dataclass(frozen=True, slots=True)
class Findings:
    """All of it; `data` is the hash of the observations."""

    simulated: bool
    data: str
    counts: Counts
    abilities: Abilities
    charts: tuple[Chart, ...]
    labels: LabelReport
    pairs: tuple[Pair, ...]


def findings(log: Log[JudgeObservation], plan: JudgeReliabilityPlan) -> Findings:
    """What the calibration part of a log says under the plan.

    Raises: InputRefused: observations contradict each other, or repeat a judgment.
    """
    if faults := contradictions(log.rows):
        raise InputRefused(faults[0])
    return Findings(
        simulated=log.simulated,
        data=log.hash,
        counts=_counts(log, plan),
        abilities=abilities_of(log.rows, plan),
        charts=charts_of(log.rows, plan),
        labels=label_report(
            [labels for labels in {row.claim_id: row.labels for row in log.rows}.values() if labels is not None],
            drop_rate_at_most=plan.labelling.drop_rate_at_most,
        ),
        pairs=pairs_of(log.rows, plan),
    )


def _counts(log: Log[JudgeObservation], plan: JudgeReliabilityPlan) -> Counts:
    arms = [arm_of(run, plan.arms.rule) for run in {row.run_id for row in log.rows}]
    return Counts(
        judgments=len(log.rows),
        no_vote=sum(row.verdict is None for row in log.rows),
        claims=len({row.claim_id for row in log.rows}),
        pending=len(pending(log)),
        judges=len({row.judge for row in log.rows}),
        control_runs=arms.count(Arm.CONTROL),
        treatment_runs=arms.count(Arm.TREATMENT),
    )
