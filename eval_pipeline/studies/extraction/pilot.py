"""The pilot: which strategy needs the fewest calls, tried on a few entries before the plan is sealed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from eval_pipeline.canonical import seeded_order
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.records import Kind, Label
from eval_pipeline.studies.extraction.asking import Row, judge_proposition
from eval_pipeline.studies.extraction.frame import Frame, Unit
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy


@dataclass(frozen=True, slots=True)
class Tried:
    """What a strategy asked to settle the propositions of the pilot, and how many of them it recovered."""

    strategy: Strategy
    questions: int
    recovered: int
    propositions: int


def pilot(
    frame: Frame, snapshot: Snapshot, judge: Judge, desk: Desk, plan: ExtractionPlan, *, entries: int
) -> tuple[Tried, ...]:
    """Every strategy on the same few entries, the cheapest first; what one asks the others need not ask again.

    Args:
        entries: how many are drawn, by the plan's seed.

    Raises: JudgeDown, CapReached: the judge cannot be asked any more; what was judged is kept.

    """
    return asyncio.run(_pilot(frame, snapshot, judge, desk, plan, entries))


async def _pilot(
    frame: Frame, snapshot: Snapshot, judge: Judge, desk: Desk, plan: ExtractionPlan, entries: int
) -> tuple[Tried, ...]:
    ids = sorted(
        {unit.entry_id for unit in frame.judged_units}, key=lambda name: seeded_order(plan.seed, f"pilot:{name}")
    )
    units = [unit for unit in frame.judged_units if unit.entry_id in ids[:entries]]
    tried = []
    try:
        await desk.probe()
        for strategy in Strategy:
            judging = plan.judging.model_copy(update={"strategy": strategy, "audited_negatives": 0})
            variant = plan.model_copy(update={"judging": judging})

            async def settle(unit: Unit, variant: ExtractionPlan = variant) -> list[Row]:
                signals = snapshot.signals_by_entry.get(unit.entry_id, ())
                return await judge_proposition(unit, signals, desk, variant)

            worked = await work_through(units, settle, workers=judge.in_flight)
            if worked.ended_by:
                raise worked.ended_by
            rows = [rows for rows in worked.results if rows]
            tried.append(_tried(strategy, rows))
    finally:
        await judge.close()
    return tuple(sorted(tried, key=lambda one: one.questions))


def _tried(strategy: Strategy, settled: Sequence[Sequence[Row]]) -> Tried:
    judgments = [row.judgment for rows in settled for row in rows if row.judgment]
    recovered = sum(
        any(row.kind is Kind.SIGNAL and row.judgment and row.judgment.label is Label.SUPPORTED for row in rows)
        for rows in settled
    )
    return Tried(strategy, len({judgment.key for judgment in judgments}), recovered, len(settled))
