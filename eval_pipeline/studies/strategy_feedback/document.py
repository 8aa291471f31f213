"""The findings of a feedback loop as one document of plain values."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from eval_pipeline.document import plain_number, plain_value
from eval_pipeline.loop import Chart, Constant
from eval_pipeline.stats.mean_difference import Moments
from eval_pipeline.studies.loop_document import loop_document
from eval_pipeline.studies.strategy_feedback.adjustments import Adjustment
from eval_pipeline.studies.strategy_feedback.cells import Cell
from eval_pipeline.studies.strategy_feedback.comparison import Comparison
from eval_pipeline.studies.strategy_feedback.decision import Word
from eval_pipeline.studies.strategy_feedback.findings import Findings
from eval_pipeline.studies.strategy_feedback.held_out import Replay
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan
from eval_pipeline.studies.strategy_feedback.sizes import size_for
from eval_pipeline.studies.strategy_feedback.verdict import final_decision, verdicts

STUDY = "strategy-feedback"
SCRIPT = "eval_pipeline/studies/strategy_feedback/adjustments.py"


def document(found: Findings, replay: Replay | None, plan: StrategyFeedbackPlan) -> dict[str, Any]:
    """What was found, what it decides, and what it leaves behind; None stands where nothing was measured."""
    decision = final_decision(found, replay)
    return loop_document(
        plan,
        simulated=found.simulated,
        verdicts=verdicts(found, replay, plan),
        decision={
            "word": decision.word.value,
            "reason": decision.reason,
            "before_held_out": found.decision.word.value,
            "executions_for_this_effect": _for_this_effect(found, plan) if decision.word is Word.BELOW_EFFECT else None,
        },
        findings={
            "data": found.data,
            "executions": found.executions,
            "runs": found.runs,
            "zero_claim_guard": [_plain(one) | {"share": plain_number(one.share)} for one in found.guarded],
            "cells": [_cell(one) for one in found.cells],
            "whole": _comparison(found.whole),
            "strategies": [_comparison(one) for one in found.strategies],
            "adjustments": [_plain(one) | {"moved": one.moved} for one in found.adjustments],
            "sizes": plain_value(found.sizes),
        },
        held_out=None if replay is None else {"standing": replay.standing, "whole": _comparison(replay.whole)},
        constants=constants(found, decision.word),
        charts=[_chart(chart) for chart in found.charts],
    )


def constants(found: Findings, word: Word) -> tuple[Constant, ...]:
    """The adjustments, as they stand after the decision: none where the loop is reverted.

    One that moved names where it comes from, but for the day, which whoever writes it down adds; one that did not was
    never calibrated here. Those of made-up runs are no calibration of anything.
    """
    return tuple(_constant(one, found, word) for one in found.adjustments)


def _constant(one: Adjustment, found: Findings, word: Word) -> Constant:
    value = Fraction(0) if word is Word.REVERT else one.proposed
    plain = Constant(f"adjustment of {one.name}", float(value))
    if not one.moved or word is Word.REVERT or found.simulated:
        return plain
    return replace(plain, script=SCRIPT, n=one.executions, data=found.data)


def _for_this_effect(found: Findings, plan: StrategyFeedbackPlan) -> int | None:
    """Of a cell, in each of two equal arms, runs allowed for."""
    return plan.design.inflated(size_for(found.whole.difference, plan)) if found.whole.difference else None


def _cell(cell: Cell) -> dict[str, Any]:
    return _plain(cell) | {"pass_rate": _moments(cell.pass_rate), "gain": _moments(cell.gain)}


def _moments(moments: Moments) -> dict[str, Any]:
    """Sums as exact fractions in text, from which every interval here can be worked out again."""
    return {
        "n": moments.n,
        "sum": str(moments.total),
        "sum_of_squares": str(moments.squares),
        "mean": plain_number(moments.mean),
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    return _plain(one) | {"enough": one.enough, "level": one.interval.level if one.interval else None}


def _chart(chart: Chart) -> dict[str, Any]:
    return _plain(chart) | {"stable": chart.stable}


def _plain(record: Any) -> dict[str, Any]:
    return dict(plain_value(record))
