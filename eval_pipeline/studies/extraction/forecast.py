"""The forecast: what judging may cost at the most, and what it will cost if the judge is like words in common."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.chat import ChatJudge
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.prompt import Prompt, prompt_named, user_turn
from eval_pipeline.judge.protocol import PROBE, key
from eval_pipeline.judge.spending import Spending, Tokens, estimated
from eval_pipeline.records import Answer, Question
from eval_pipeline.studies.extraction.asking import in_order, together
from eval_pipeline.studies.extraction.frame import Frame, calls_of
from eval_pipeline.studies.extraction.gold_claims import GoldClaim
from eval_pipeline.studies.extraction.judging import claims_to_ask, judge_frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan


@dataclass(frozen=True, slots=True)
class Forecast:
    """Questions and their cost; tokens are estimated from the length of the texts.

    `worst`: every question that the strategy could come to, and the probe, each sent as often as the plan allows and
    paid for each time. `expected`: what a judge that goes by words in common would be asked and is not known yet, each
    sent once.
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
    frame: Frame,
    snapshot: Snapshot,
    judge: ChatJudge,
    plan: ExtractionPlan,
    known: Mapping[str, Answer],
    gold: Sequence[GoldClaim] = (),
) -> Forecast:
    """What this judge may cost, and will cost as far as words in common can tell.

    Args:
        known: the answers that need not be asked for, by their keys.
        gold: the claims of a gold set that it is asked about; see `claims_to_ask`.

    """
    prompt = prompt_named(plan.judging.prompt)
    listening = _Listening()
    desk = Desk(listening, prompt, {}, journal=None)
    claims = claims_to_ask(gold, frame, snapshot)
    asyncio.run(judge_frame(frame, snapshot, listening, desk, plan, _in_silence, claims))
    new = [question for question in listening.asked if key(judge, question) not in known]
    expected = Spending(judge.spending.prices)
    for question in new:
        _add(expected, _tokens(question, prompt.system, judge))
    return Forecast(
        worst_questions=frame.calls_at_most + len(claims) + 1,  # the probe
        worst=_worst(frame, snapshot, judge, plan, prompt, claims),
        expected=expected,
        known=len(listening.asked) - len(new),
    )


def _worst(
    frame: Frame,
    snapshot: Snapshot,
    judge: ChatJudge,
    plan: ExtractionPlan,
    prompt: Prompt,
    gold: Sequence[GoldClaim],
) -> Spending:
    """As if no answer could be read: each is put again with the reminder, and the longest questions are the repeats."""
    system = f"{prompt.system} {prompt.reminder}" if prompt.reminder else prompt.system
    deciding = sorted(
        (_tokens(question, system, judge) for question in _all_deciding(frame, snapshot, plan)),
        key=lambda tokens: tokens.total,
    )
    again = deciding[len(deciding) - ceil(plan.judging.repeats * len(deciding)) :]
    canaries = [Question(canary.entry_id, canary.premise, canary.hypothesis) for canary in frame.canaries]
    known = [Question(claim.entry_id, claim.premise, claim.hypothesis) for claim in gold]
    beside = [_tokens(question, system, judge) for question in (PROBE, *canaries, *known)]
    worst = Spending(judge.spending.prices)
    for tokens in (*deciding, *again, *beside):
        for _ in range(plan.judging.attempts):
            _add(worst, tokens)
    return worst


def _all_deciding(frame: Frame, snapshot: Snapshot, plan: ExtractionPlan) -> Iterator[Question]:
    """Every question that could settle a proposition or a span; no proposition comes to all of them."""
    for unit in frame.judged_units:
        signals = snapshot.signals_by_entry.get(unit.entry_id, ())
        tried = in_order(unit, signals, plan)
        for signal in tried:
            yield Question(unit.entry_id, signal.content, unit.text)
        if calls_of(len(signals), plan) > len(tried):
            yield Question(unit.entry_id, together(signals, plan), unit.text)
    for span in frame.spans:
        yield Question(span.entry_id, span.premise, span.hypothesis)


def _in_silence(_done: int, _of: int) -> None:
    """No progress is told."""


def _tokens(question: Question, system: str, judge: ChatJudge) -> Tokens:
    return estimated(system, user_turn(question), completion=judge.longest_answer)


def _add(spending: Spending, tokens: Tokens) -> None:
    spending.requests += 1
    spending.add(tokens)
