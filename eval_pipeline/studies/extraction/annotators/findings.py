"""What two annotators' decompositions say: aligned at the judge's desk, held against each other, and each judged."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.desk import Desk, refusal_of
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Judge, Standing, standing_of
from eval_pipeline.judge.sitting import desk_in_journal
from eval_pipeline.judge.spending import CapReached
from eval_pipeline.records import Reason, Refusal
from eval_pipeline.studies.extraction.annotators.agreement import AnnotatorAgreement, annotator_agreement
from eval_pipeline.studies.extraction.annotators.alignment import (
    AlignedEntry,
    aligned_by_judge,
    aligned_by_text,
    questions_at_most,
    refusal_of_unread,
)
from eval_pipeline.studies.extraction.annotators.sensitivity import Sensitivity, sensitivity
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.judging import Progress, refusal_of_probe
from eval_pipeline.studies.extraction.plan import ExtractionPlan

logger = logging.getLogger("eval_pipeline")


@dataclass(frozen=True, slots=True)
class AnnotatorFindings:
    """How far two annotators agree and whether the verdict depends on it; `refusal` says why either is None."""

    first_hash: str | None
    second_hash: str | None
    agreement: AnnotatorAgreement | None
    sensitivity: Sensitivity | None
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class GivenAnnotators:
    """The findings on the two annotators that a run was given, if any."""

    found: AnnotatorFindings | None


def annotators_in_journal(
    first: Fixture,
    second: Fixture,
    snapshot: Snapshot,
    judge: Judge,
    plan: ExtractionPlan,
    *,
    journals: Path,
    run: str,
    resume: bool,
    progress: Progress,
) -> AnnotatorFindings:
    """The findings, at a desk with a journal; says what the alignment may cost before the first question of it.

    Raises: RunDiffers: see `desk_in_journal`.
    """
    nothing = AnnotatorFindings(first.hash, second.hash, agreement=None, sensitivity=None, refusal=None)
    if refusal := refusal_of_inputs(first, second, snapshot):
        return replace(nothing, refusal=refusal)
    entries = aligned_by_text(first, second)
    if refusal := refusal_of_judge(entries, judge, plan):
        return replace(nothing, refusal=refusal)
    prompt, values = prompt_named(plan.judging.prompt), plan.model_dump(mode="json")
    with desk_in_journal(judge, prompt, values, journals=journals, run=run, purpose="run", resume=resume) as desk:
        logger.info("aligning two annotators asks at most %d questions", questions_at_most(entries))
        found = asyncio.run(_findings(nothing, entries, snapshot, judge, desk, plan, progress))
    logger.info("asked %d questions for two annotators; %d answers were known", desk.calls, desk.remembered)
    return found


def refusal_of_inputs(first: Fixture, second: Fixture, snapshot: Snapshot) -> Refusal | None:
    """Why there is nothing to hold against each other, or nothing to judge it by."""
    for name, refusal in (("first", first.refusal), ("second", second.refusal)):
        if refusal:
            return Refusal(refusal.reason, f"of the {name} annotator: {refusal.detail}")
    return snapshot.refusal


def refusal_of_judge(entries: Sequence[AlignedEntry], judge: Judge, plan: ExtractionPlan) -> Refusal | None:
    """Why this judge is not asked about what is left to be aligned."""
    questions, budget = questions_at_most(entries), plan.budget.calls
    if questions and standing_of(judge.identity) is Standing.ORACLE:
        return Refusal(
            Reason.NOT_MEASURED,
            "people's labels say whether a signal supports a proposition, not whether two propositions are the same;"
            " take a judge that reads them",
        )
    if budget != "all" and questions > budget:
        return Refusal(
            Reason.CAP_REACHED,
            f"aligning the two annotators may take {questions} questions, and the plan's budget is {budget}; raise it,"
            " or give fewer entries",
        )
    return None


async def _findings(
    nothing: AnnotatorFindings,
    entries: Sequence[AlignedEntry],
    snapshot: Snapshot,
    judge: Judge,
    desk: Desk,
    plan: ExtractionPlan,
    progress: Progress,
) -> AnnotatorFindings:
    try:
        if questions_at_most(entries) and (probe := await desk.probe()) and (said := refusal_of_probe(probe, plan)):
            return replace(nothing, refusal=said)
        entries = await aligned_by_judge(entries, desk, workers=judge.in_flight, progress=progress)
    except (JudgeDown, CapReached) as error:
        return replace(nothing, refusal=refusal_of(error))
    finally:
        await judge.close()
    if refusal := refusal_of_unread(entries, plan):
        return replace(nothing, refusal=refusal)
    agreed = replace(nothing, agreement=annotator_agreement(entries, plan))
    judged = await sensitivity(entries, snapshot, judge, desk, plan, progress)
    return replace(agreed, refusal=judged) if isinstance(judged, Refusal) else replace(agreed, sensitivity=judged)
