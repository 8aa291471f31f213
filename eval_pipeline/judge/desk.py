"""The desk at which a judge sits: questions in, judgments out, each asked once and kept in the journal."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.journal import JournalWriter
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.protocol import PROBE, Judge, key
from eval_pipeline.judge.spending import CapReached
from eval_pipeline.records import Answer, Judgment, NoLabel, Question, Reason, Refusal

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class Desk:
    """Asks one judge, and remembers: an answer that is known, or on its way, is not asked for again.

    `calls` counts the questions that were put to the judge, `remembered` those that were not because the answer was
    known. Both depend on what was in the journal, so neither is part of any finding. Without a journal nothing is kept.
    """

    def __init__(
        self, judge: Judge, prompt: Prompt, known: Mapping[str, Answer], journal: JournalWriter | None
    ) -> None:
        self._judge = judge
        self._prompt = prompt
        self._known = dict(known)
        self._journal = journal
        self._on_their_way: dict[str, asyncio.Future[Answer]] = {}
        self._probing: asyncio.Future[Answer | None] | None = None
        self.calls = 0
        self.remembered = 0

    @property
    def known(self) -> Mapping[str, Answer]:
        """The answers that need not be asked for, by their keys."""
        return self._known

    async def ask(self, question: Question) -> Judgment:
        """The judgment of one question. Raises JudgeDown and CapReached, as the judge does."""
        question_key = key(self._judge, question)
        if question_key in self._on_their_way:
            answer = await asyncio.shield(self._on_their_way[question_key])
        elif question_key in self._known:
            self.remembered += 1
            answer = self._known[question_key]
        else:
            return await self._ask_once(question_key, question)
        return self._judgment(question_key, question, answer)

    async def probe(self) -> Judgment | None:
        """The judgment of the probe, None of a judge that needs none; where it is known, the judge need not be there.

        Raises: JudgeDown, CapReached: the judge cannot be asked.
        """
        probe_key = key(self._judge, PROBE)
        if probe_key not in self._known:
            answer = await self._alive()
            if answer is None:
                return None
            self._known[probe_key] = answer
            if self._journal:
                self._journal.append(self._judgment(probe_key, PROBE, answer), self._judge)
        return self._judgment(probe_key, PROBE, self._known[probe_key])

    async def _alive(self) -> Answer | None:
        """The judge's answer to the one probe that is made, before the first question that it is asked."""
        if self._probing is None:
            self._probing = asyncio.ensure_future(self._judge.probe())
        return self._probing.result() if self._probing.done() else await asyncio.shield(self._probing)

    async def _ask_once(self, question_key: str, question: Question) -> Judgment:
        arrival: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._on_their_way[question_key] = arrival
        try:
            await self._alive()
            self.calls += 1
            answer = await self._judge.answer(question)
            judgment = self._judgment(question_key, question, answer)
            if self._journal:
                self._journal.append(judgment, self._judge)
        except BaseException as error:
            arrival.set_exception(error)
            arrival.exception()  # those who wait will see it; if none waits, that is no fault
            raise
        finally:
            del self._on_their_way[question_key]
        self._known[question_key] = answer
        arrival.set_result(answer)
        return judgment

    def _judgment(self, question_key: str, question: Question, answer: Answer) -> Judgment:
        readable = answer.raw is not None and answer.no_label is None
        label = self._prompt.read(answer.raw or "") if readable else None
        no_label = None if label else answer.no_label or NoLabel.UNPARSABLE
        return Judgment(question_key, question, answer, label, no_label)


def refusal_of(error: JudgeDown | CapReached) -> Refusal:
    """Why a judge cannot be asked any more, on its way to the verdict."""
    return Refusal(Reason.JUDGE_DOWN if isinstance(error, JudgeDown) else Reason.CAP_REACHED, str(error))


@dataclass(frozen=True, slots=True)
class Worked(Generic[_Result]):
    """The result of each task, in their order, None for those that were not done; and the error that ended the work."""

    results: tuple[_Result | None, ...]
    ended_by: Exception | None

    @property
    def done(self) -> list[_Result]:
        """The results of the tasks that were done."""
        return [result for result in self.results if result is not None]

    def require_end(self) -> None:
        """Returns if the work came to its end; raises what ended it otherwise."""
        if self.ended_by:
            raise self.ended_by


async def work_through(
    tasks: Sequence[_Task], work: Callable[[_Task], Awaitable[_Result]], *, workers: int
) -> Worked[_Result]:
    """The results of a fixed number of workers on one queue.

    An error of one worker stops them all: what they had in hand is given up, and what was done is kept. A cap that is
    reached stops a worker when it would spend more: what is in flight is paid for, and is let end.

    Raises: ValueError: no workers.
    """
    if workers < 1:
        raise ValueError(f"found {workers} workers, expected at least 1")
    results: list[_Result | None] = [None] * len(tasks)
    queue = iter(enumerate(tasks))

    async def worker() -> None:
        for place, task in queue:
            results[place] = await work(task)

    crew = [asyncio.create_task(worker()) for _ in range(min(workers, len(tasks)))]
    if not crew:
        return Worked((), None)
    errors: list[BaseException] = []
    going: set[asyncio.Task[None]] = set(crew)
    try:
        while going and all(isinstance(error, CapReached) for error in errors):
            done, going = await asyncio.wait(going, return_when=asyncio.FIRST_EXCEPTION)
            errors += [error for task in done if (error := task.exception())]
    finally:
        for task in crew:
            task.cancel()
        await asyncio.gather(*crew, return_exceptions=True)
    error = next((error for error in errors if not isinstance(error, CapReached)), errors[0] if errors else None)
    if error is None or isinstance(error, Exception):
        return Worked(tuple(results), error)
    raise error
