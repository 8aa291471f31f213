"""The forecast: what judging may cost at the most, and what it will cost if the judge is like words in common."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.chat import ChatJudge
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.prompt import Prompt, prompt_named, user_turn
from eval_pipeline.judge.protocol import key
from eval_pipeline.judge.spending import Spending, Tokens, estimated
from eval_pipeline.records import Answer, Question
from eval_pipeline.studies.extraction.asking import in_order, together
from eval_pipeline.studies.extraction.canaries import Canary
from eval_pipeline.studies.extraction.frame import Frame, GuardUnit
from eval_pipeline.studies.extraction.judging import judge_frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan


@dataclass(frozen=True, slots=True)
class Forecast:
    """Questions and their cost; tokens are estimated from the length of the texts.

    `worst`: every question that the strategy could come to, each sent as often as the plan allows, and billed twice
    where the prompt puts what cannot be read once more. `expected`: what a judge that goes by words in common would be
    asked and is not known yet, each sent once.
    """

    worst_questions: int
    worst: Spending
    expected: Spending
    known: int

    def __str__(self) -> str:
        return (
            f"at most {self.worst_questions:,} questions ({self.worst}); expected, if it judges as words in common do:"
            f" {self.expected}; {self.known:,} answers are known"
        )


@dataclass(frozen=True)
class _Listening(LexicalJudge):
    """The lexical judge, which keeps what it was asked."""

    asked: list[Question] = field(default_factory=list)

    async def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        return await super().answer(question)


def forecast(
    frame: Frame, snapshot: Snapshot, judge: ChatJudge, plan: ExtractionPlan, known: Mapping[str, Answer]
) -> Forecast:
    """What this judge may cost, and will cost as far as words in common can tell.

    Args:
        known: the answers that need not be asked for, by their keys.

    """
    prompt = prompt_named(plan.judging.prompt)
    listening = _Listening()
    desk = Desk(listening, prompt, {}, journal=None)
    asyncio.run(judge_frame(frame, snapshot, listening, desk, plan, _in_silence))
    new = [question for question in listening.asked if key(judge, question) not in known]
    expected = Spending(judge.spending.prices)
    for question in new:
        _add(expected, _tokens(question, prompt, judge))
    return Forecast(
        worst_questions=frame.calls_at_most,
        worst=_worst(frame, snapshot, judge, plan, prompt),
        expected=expected,
        known=len(listening.asked) - len(new),
    )


def _worst(frame: Frame, snapshot: Snapshot, judge: ChatJudge, plan: ExtractionPlan, prompt: Prompt) -> Spending:
    worst = Spending(judge.spending.prices)
    for unit in frame.judged_units:
        signals = snapshot.signals_by_entry.get(unit.entry_id, ())
        if signals:
            _add(worst, _tokens(Question(unit.entry_id, together(signals, plan), unit.text), prompt, judge))
        for signal in in_order(unit, signals, plan):
            _add(worst, _tokens(Question(unit.entry_id, signal.content, unit.text), prompt, judge))
    beside: list[GuardUnit | Canary] = [*frame.spans, *frame.canaries]
    for one in beside:
        _add(worst, _tokens(Question(one.entry_id, one.premise, one.hypothesis), prompt, judge))
    bills = (1 + plan.judging.repeats) * (2 if prompt.reminder else 1)
    worst.prompt_tokens, worst.completion_tokens = (
        int(worst.prompt_tokens * bills),
        int(worst.completion_tokens * bills),
    )
    worst.requests = frame.calls_at_most * plan.judging.attempts
    return worst


def _in_silence(_done: int, _of: int) -> None:
    """No progress is told."""


def _tokens(question: Question, prompt: Prompt, judge: ChatJudge) -> Tokens:
    return estimated(prompt.system, user_turn(question), completion=judge.max_tokens)


def _add(spending: Spending, tokens: Tokens) -> None:
    spending.requests += 1
    spending.prompt_tokens += tokens.prompt
    spending.completion_tokens += tokens.completion
