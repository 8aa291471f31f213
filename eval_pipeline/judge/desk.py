"""The desk at which a judge sits: questions in, judgments out, each asked once and kept in the journal."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from eval_pipeline.judge.journal import JournalWriter
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.protocol import Judge, key
from eval_pipeline.records import Answer, Judgment, NoLabel, Question

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
        self.calls = 0
        self.remembered = 0

    async def ask(self, question: Question) -> Judgment:
        """The judgment of one question. Raises JudgeDown, as the judge does."""
        question_key = key(self._judge, question)
        if question_key in self._on_their_way:
            answer = await asyncio.shield(self._on_their_way[question_key])
        elif question_key in self._known:
            self.remembered += 1
            answer = self._known[question_key]
        else:
            return await self._ask_once(question_key, question)
        return self._judgment(question_key, question, answer)

    async def _ask_once(self, question_key: str, question: Question) -> Judgment:
        arrival: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._on_their_way[question_key] = arrival
        try:
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


@dataclass(frozen=True, slots=True)
class Worked(Generic[_Result]):
    """The result of each task, in their order, None for those that were not done; and the error that ended the work."""

    results: tuple[_Result | None, ...]
    ended_by: Exception | None


async def work_through(
    tasks: Sequence[_Task], work: Callable[[_Task], Awaitable[_Result]], *, workers: int
) -> Worked[_Result]:
    """The results of a fixed number of workers on one queue.

    An error of one worker stops them all: what they had in hand is given up, and what was done is kept.

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
    try:
        done, _ = await asyncio.wait(crew, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in crew:
            task.cancel()
        await asyncio.gather(*crew, return_exceptions=True)
    errors = [task.exception() for task in crew if task in done]
    error = next((error for error in errors if error is not None), None)
    if error is None or isinstance(error, Exception):
        return Worked(tuple(results), error)
    raise error
