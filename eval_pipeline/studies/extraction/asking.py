"""The asking: which questions settle a proposition, and in which order, under the strategy of the plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval_pipeline.canonical import is_drawn, seeded_order
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.lexical import similarity
from eval_pipeline.records import Judgment, Kind, Label, Question, Signal
from eval_pipeline.studies.extraction.canaries import Canary
from eval_pipeline.studies.extraction.frame import GuardUnit, Unit
from eval_pipeline.studies.extraction.gold_claims import GoldClaim
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy


@dataclass(frozen=True, slots=True)
class Row:
    """A judgment with its place in the frame; `unit` and `quartile` are None where it is not about a proposition.

    `judgment` is None for a proposition of an entry without signals: there was nothing to ask.
    """

    unit: int | None
    kind: Kind
    entry_id: str
    quartile: int | None
    signal_id: str | None
    hypothesis: str
    judgment: Judgment | None


async def judge_proposition(unit: Unit, signals: Sequence[Signal], desk: Desk, plan: ExtractionPlan) -> list[Row]:
    """The judgments that settle a proposition: it must follow from a single signal.

    The screen, which asks about all signals at once, is an economy: what all together do not support, no single one
    does, unless the judge contradicts itself. Its support decides nothing. Of the propositions that it turns away,
    those that the plan draws for an audit are asked about signal by signal all the same; that decides nothing either.
    """
    if not signals:
        return [_row(unit, Kind.NO_SIGNALS, None, None)]
    rows: list[Row] = []
    tried = in_order(unit, signals, plan)
    if plan.judging.strategy is not Strategy.SCREEN_FIRST:
        before = 1 if plan.judging.strategy is Strategy.BEST_FIRST else len(tried)
        rows += await _one_by_one(unit, tried[:before], Kind.SIGNAL, desk)
        tried = [signal for signal in tried[before:] if signal.content != tried[0].content]  # the same needs no asking
        if not tried or _is_supported(rows):
            return rows
    screen = await desk.ask(Question(unit.entry_id, together(signals, plan), unit.text))
    rows.append(_row(unit, Kind.SCREEN, None, screen))
    if screen.label is Label.NOT_SUPPORTED:
        is_audited = is_drawn(plan.judging.audited_negatives, plan.seed, f"audit:{unit.entry_id}:{unit.text}")
        return rows + (await _one_by_one(unit, tried, Kind.AUDIT, desk) if is_audited else [])
    if screen.no_label and plan.judging.unreadable_screen == "undecided":
        return rows
    return rows + await _one_by_one(unit, tried, Kind.SIGNAL, desk)


async def judge_span(span: GuardUnit, desk: Desk) -> Row:
    """Whether a signal follows from the span that is recorded for it."""
    judgment = await desk.ask(Question(span.entry_id, span.premise, span.hypothesis))
    return Row(None, Kind.SPAN, span.entry_id, None, span.signal_id, span.hypothesis, judgment)


async def judge_canary(canary: Canary, desk: Desk) -> Row:
    """Whether the judge obeys the instruction."""
    judgment = await desk.ask(Question(canary.entry_id, canary.premise, canary.hypothesis))
    return Row(None, Kind.CANARY, canary.entry_id, None, canary.id, canary.hypothesis, judgment)


async def judge_gold(claim: GoldClaim, desk: Desk) -> Row:
    """What the judge says of a claim whose right label is known."""
    judgment = await desk.ask(Question(claim.entry_id, claim.premise, claim.hypothesis))
    return Row(None, Kind.GOLD, claim.entry_id, None, None, claim.hypothesis, judgment)


async def judge_again(row: Row, desk: Desk) -> Row:
    """What the judge says when it is asked for that judgment once more."""
    assert row.judgment is not None  # only what was asked is asked again
    question = row.judgment.question
    judgment = await desk.ask(Question(question.entry_id, question.premise, question.hypothesis, repeat=1))
    return Row(None, Kind.REPEAT, row.entry_id, None, row.signal_id, row.hypothesis, judgment)


def in_order(unit: Unit, signals: Sequence[Signal], plan: ExtractionPlan) -> list[Signal]:
    """The signals that are tried for a proposition, in the order in which they are."""
    tried = within_cap(signals, plan)
    if plan.judging.signal_order == "similarity":
        tried.sort(key=lambda signal: -similarity(signal.content, unit.text))
    return tried


def within_cap(signals: Sequence[Signal], plan: ExtractionPlan) -> list[Signal]:
    """Those of the signals that the plan lets be asked about."""
    cap = plan.judging.signals_at_most
    return list(signals) if cap == "all" else list(signals[:cap])


def together(signals: Sequence[Signal], plan: ExtractionPlan) -> tuple[str, ...]:
    """The signals of the screen; in a drawn order, so that a place in the prompt is no place in the text."""
    shown = within_cap(signals, plan)
    if plan.judging.screen_order == "seeded":
        shown.sort(key=lambda signal: seeded_order(plan.seed, f"screen:{signal.id}"))
    return tuple(signal.content for signal in shown)


async def _one_by_one(unit: Unit, signals: Sequence[Signal], kind: Kind, desk: Desk) -> list[Row]:
    """The judgments until one supports the proposition."""
    rows = []
    for signal in signals:
        rows.append(_row(unit, kind, signal, await desk.ask(Question(unit.entry_id, signal.content, unit.text))))
        if _is_supported(rows):
            break
    return rows


def _is_supported(rows: Sequence[Row]) -> bool:
    last = rows[-1].judgment if rows else None
    return last is not None and last.label is Label.SUPPORTED


def _row(unit: Unit, kind: Kind, signal: Signal | None, judgment: Judgment | None) -> Row:
    return Row(unit.id, kind, unit.entry_id, unit.quartile, signal.id if signal else None, unit.text, judgment)
