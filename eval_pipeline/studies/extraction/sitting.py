"""A sitting of the judge: the journal that it keeps, what it may cost, and all that it is asked."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.chat import ChatJudge
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.journal import Head, JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.offline import REPLAY
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Judge, fingerprint
from eval_pipeline.judge.resume import require_same_run
from eval_pipeline.studies.extraction.forecast import forecast
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.judging import Judged, Progress, judge_frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan

logger = logging.getLogger("eval_pipeline")


@contextmanager
def desk_in_journal(
    judge: Judge, plan: ExtractionPlan, *, journals: Path, run: str, purpose: Literal["run", "pilot"], resume: bool
) -> Iterator[Desk]:
    """A desk that knows what the judge said in earlier runs, and keeps what it says in this one.

    Args:
        journals: the folder of all journals; each judge has a folder within it.
        run: names the journal; no other run may have that name.
        purpose: what it is for; only a run can be gone on with.
        resume: whether this is to go on with the last run, and with no other.

    Raises: RunDiffers: it is to go on with the last run, and was begun otherwise.

    """
    prompt = prompt_named(plan.judging.prompt)
    head = Head(run=run, purpose=purpose, judge=dict(judge.identity), plan=plan.model_dump(mode="json"))
    if resume:
        require_same_run(journals, head)
    if judge.kind == REPLAY:  # what was recorded elsewhere is no answer of the judge's own, and is kept nowhere
        yield Desk(judge, prompt, {}, journal=None)
        return
    folder = journals / fingerprint(judge)[:16]
    with JournalWriter(folder, head) as journal:
        earlier = [read_journal(file) for file in journal_files(folder)]
        if lost := sum(len(past.unreadable) + past.torn for past in earlier):
            logger.warning("%d lines of earlier journals cannot be read; what they said is asked again", lost)
        yield Desk(judge, prompt, known_answers(earlier, judge.identity, prompt.read), journal)


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
) -> Judged:
    """As `judge_frame`, at a desk with a journal; says what it may cost before the first call, and what it did cost.

    Raises: RunDiffers: see `desk_in_journal`.
    """
    with desk_in_journal(judge, plan, journals=journals, run=run, purpose="run", resume=resume) as desk:
        if isinstance(judge, ChatJudge) and frame.calls_at_most:
            logger.info("%s", forecast(frame, snapshot, judge, plan, desk.known))
        judged = asyncio.run(judge_frame(frame, snapshot, judge, desk, plan, progress))
    if desk.calls or desk.remembered:
        logger.info("asked %d questions; %d answers were known", desk.calls, desk.remembered)
    if isinstance(judge, ChatJudge) and judge.spending.requests:
        logger.info("spent: %s", judge.spending)
    return judged
