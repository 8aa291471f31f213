"""A sitting of a judge: the desk that it sits at, and the journal that is kept of it."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.journal import Head, JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.offline import REPLAY
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.protocol import Judge, fingerprint
from eval_pipeline.judge.resume import require_same_run

logger = logging.getLogger("eval_pipeline")


def head_of(
    judge: Judge, others: Sequence[Judge], plan: Mapping[str, Any], *, run: str, purpose: Literal["run", "pilot"]
) -> Head:
    """What stands at the head of a judge's journal in a run that has those others too."""
    return Head(
        run=run,
        purpose=purpose,
        judge=dict(judge.identity),
        others=tuple(dict(other.identity) for other in others),
        plan=dict(plan),
    )


@contextmanager
def desk_in_journal(
    judge: Judge,
    prompt: Prompt,
    plan: Mapping[str, Any],
    *,
    journals: Path,
    run: str,
    purpose: Literal["run", "pilot"],
    resume: bool,
    others: Sequence[Judge] = (),
) -> Iterator[Desk]:
    """A desk that knows what the judge said in earlier runs, and keeps what it says in this one.

    Args:
        judge: who sits at it.
        prompt: what it is told.
        plan: the values of the plan that it is asked under.
        journals: the folder of all journals; each judge has a folder within it.
        run: names the journal; no other run may have that name.
        purpose: what it is for; only a run can be gone on with.
        resume: whether this is to go on with the last run, and with no other.
        others: the judges of the run's other journals, where it asks under several prompts.

    Raises: RunDiffers: it is to go on with the last run, and was begun otherwise.

    """
    head = head_of(judge, others, plan, run=run, purpose=purpose)
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
