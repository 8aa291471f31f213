"""A sitting of the judge over a frame: what it may cost, and all that it is asked."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.chat import ChatJudge
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.judge.sitting import desk_in_journal
from eval_pipeline.studies.extraction.forecast import forecast
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.gold_claims import GoldClaim
from eval_pipeline.studies.extraction.judging import Judged, Progress, judge_frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan

logger = logging.getLogger("eval_pipeline")


def judge_in_journal(
    frame: Frame,
    snapshot: Snapshot,
    judge: Judge,
    plan: ExtractionPlan,
    *,
    journals: Path,
    run: str,
    resume: bool,
    progress: Progress,
    gold: Sequence[GoldClaim] = (),
) -> Judged:
    """As `judge_frame`, at a desk with a journal; says what it may cost before the first call, and what it did cost.

    Raises: RunDiffers: see `desk_in_journal`.
    """
    prompt, values = prompt_named(plan.judging.prompt), plan.model_dump(mode="json")
    with desk_in_journal(judge, prompt, values, journals=journals, run=run, purpose="run", resume=resume) as desk:
        if isinstance(judge, ChatJudge) and frame.calls_at_most:
            logger.info("%s", forecast(frame, snapshot, judge, plan, desk.known, gold))
        judged = asyncio.run(judge_frame(frame, snapshot, judge, desk, plan, progress, gold))
    if desk.calls or desk.remembered:
        logger.info("asked %d questions; %d answers were known", desk.calls, desk.remembered)
    if isinstance(judge, ChatJudge) and judge.spending.requests:
        logger.info("spent: %s", judge.spending)
    return judged
