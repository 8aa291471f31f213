"""The pilot: which strategy needs the fewest calls, tried on a few entries before the plan is sealed."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval_pipeline.canonical import seeded_order
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import PilotRefused
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.judge.sitting import desk_in_journal
from eval_pipeline.records import Kind, Label
from eval_pipeline.studies.extraction.asking import Row, in_order, judge_proposition
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import Frame, Unit, frame_of
from eval_pipeline.studies.extraction.judging import refusal_of_probe
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy


@dataclass(frozen=True, slots=True)
class Tried:
    """What a strategy asks, or would ask, to settle the propositions of the pilot."""

    strategy: Strategy
    questions: int


@dataclass(frozen=True, slots=True)
class PilotFindings:
    """Each strategy, the cheapest first, and how many of the entries they were tried on."""

    tried: tuple[Tried, ...]
    entries: int
    all_entries: int


def pilot_in_journal(
    snapshot: Snapshot,
    fixture: Fixture,
    judge: Judge,
    plan: ExtractionPlan,
    *,
    entries: int,
    journals: Path,
    run: str,
) -> PilotFindings:
    """A pilot whose judgments are kept for the run.

    Raises: PilotRefused: there is nothing to try it on; and what `pilot` raises.
    """
    for refusal in (snapshot.refusal, fixture.refusal):
        if refusal:
            raise PilotRefused(refusal.detail)
    frame = frame_of(snapshot, fixture, plan)
    every = {unit.entry_id for unit in frame.judged_units}
    if not every:
        raise PilotRefused("no entry of the fixture is in the corpus; give the corpus that was annotated")
    prompt, values = prompt_named(plan.judging.prompt), plan.model_dump(mode="json")
    with desk_in_journal(judge, prompt, values, journals=journals, run=run, purpose="pilot", resume=False) as desk:
        tried = pilot(frame, snapshot, judge, desk, plan, entries=entries)
    return PilotFindings(tried, min(entries, len(every)), len(every))


def pilot(
    frame: Frame, snapshot: Snapshot, judge: Judge, desk: Desk, plan: ExtractionPlan, *, entries: int
) -> tuple[Tried, ...]:
    """What every strategy asks on the same few entries, the cheapest first.

    Each entry is settled once, under whichever of the strategies with a screen was cheaper so far, so that hardly a
    question is asked that the run will not need. What settles a proposition under one strategy says what the others
    would have asked, if the judge does not contradict itself.

    Args:
        entries: how many are drawn, by the plan's seed.

    Raises: JudgeDown, CapReached: the judge cannot be asked any more; what was judged is kept. PilotRefused: its answer
        to the probe cannot be read.

    """
    return asyncio.run(_pilot(frame, snapshot, judge, desk, plan, entries))


async def _pilot(
    frame: Frame, snapshot: Snapshot, judge: Judge, desk: Desk, plan: ExtractionPlan, entries: int
) -> tuple[Tried, ...]:
    ids = sorted(
        {unit.entry_id for unit in frame.judged_units}, key=lambda name: seeded_order(plan.seed, f"pilot:{name}")
    )
    questions = Counter(dict.fromkeys(Strategy, 0))
    try:
        probe = await desk.probe()
        if probe and (refusal := refusal_of_probe(probe, plan)):
            raise PilotRefused(refusal.detail)
        for entry_id in ids[:entries]:
            units = [unit for unit in frame.judged_units if unit.entry_id == entry_id]
            cheaper = min(Strategy.BEST_FIRST, Strategy.SCREEN_FIRST, key=questions.__getitem__)
            for asked in await _asked(units, snapshot, judge, desk, _under(cheaper, plan)):
                questions.update(asked)
    finally:
        await judge.close()
    return tuple(Tried(strategy, questions[strategy]) for strategy in sorted(Strategy, key=questions.__getitem__))


def _under(strategy: Strategy, plan: ExtractionPlan) -> ExtractionPlan:
    judging = plan.judging.model_copy(update={"strategy": strategy, "audited_negatives": 0})
    return plan.model_copy(update={"judging": judging})


async def _asked(
    units: Sequence[Unit], snapshot: Snapshot, judge: Judge, desk: Desk, plan: ExtractionPlan
) -> list[dict[Strategy, int]]:
    """What each strategy asks to settle each of the propositions, which are settled under that of the plan."""

    async def settle(unit: Unit) -> dict[Strategy, int]:
        signals = snapshot.signals_by_entry.get(unit.entry_id, ())
        rows = await judge_proposition(unit, signals, desk, plan)
        return questions_of(rows, signals=len({signal.content for signal in in_order(unit, signals, plan)}))

    worked = await work_through(units, settle, workers=judge.in_flight)
    worked.require_end()
    return worked.done


def questions_of(rows: Sequence[Row], *, signals: int) -> dict[Strategy, int]:
    """The questions that each strategy asks to settle a proposition, by what one strategy with a screen found.

    Args:
        rows: the judgments that settled it.
        signals: how many different ones there were to try.

    """
    last = rows[-1]
    is_supported = last.kind is Kind.SIGNAL and last.judgment is not None and last.judgment.label is Label.SUPPORTED
    place = len({row.judgment.key for row in rows if row.kind is Kind.SIGNAL and row.judgment})
    tried = place if is_supported else signals
    if not is_supported and (last.kind is not Kind.SIGNAL or signals == 1):  # the screen turned it away, or would have
        screen_first, best_first = min(signals, 1), min(signals, 2)
    else:
        screen_first, best_first = tried + 1, tried + (tried > 1)
    return {Strategy.SCREEN_FIRST: screen_first, Strategy.BEST_FIRST: best_first, Strategy.NO_SCREEN: tried}
