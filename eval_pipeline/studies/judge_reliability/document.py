"""The document of the study: claims and decision first, then what they rest on, as plain values."""

from typing import Any

from eval_pipeline.document import plain_number, plain_value
from eval_pipeline.loop import Constant
from eval_pipeline.studies.judge_reliability.abilities import Cell, Overall
from eval_pipeline.studies.judge_reliability.findings import Findings
from eval_pipeline.studies.judge_reliability.held_out import HeldOut
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.verdict import candidates, decide, verdicts
from eval_pipeline.studies.loop_document import loop_document

SCRIPT = "eval_pipeline/studies/judge_reliability"


def document(found: Findings, tested: HeldOut | None, plan: JudgeReliabilityPlan) -> dict[str, Any]:
    """All that the study says; None stands where nothing was measured."""
    return loop_document(
        plan,
        simulated=found.simulated,
        verdicts=verdicts(found, tested, plan),
        decision=plain_value(decide(found, tested, plan)),
        findings={
            "counts": plain_value(found.counts),
            "judges": [_overall(one) for one in found.abilities.overall],
            "cells": [_cell(one) for one in found.abilities.cells],
            "labels": plain_value(found.labels),
            "pairs": plain_value(found.pairs),
        },
        held_out=plain_value(tested),
        constants=constants(found, tested, plan),
        charts=[plain_value(chart) | {"stable": chart.stable} for chart in found.charts],
    )


def constants(found: Findings, tested: HeldOut | None, plan: JudgeReliabilityPlan) -> list[Constant]:
    """The numbers that the next runs rely on: the prior's, and those that persist.

    None of a generated log is calibrated, whatever it says; the date is that of the run, which writes it down.
    """
    kept = [Constant("reliability where nothing else is relied on", found.abilities.prior)]
    if decide(found, tested, plan).word != "persist":
        return kept
    data = None if found.simulated else found.data
    return kept + [
        Constant(
            f"{cell.ability} of {cell.judge} on {cell.claim_type}",
            cell.posterior.point,
            script=SCRIPT,
            n=cell.posterior.n,
            data=data,
        )
        for cell in candidates(found)
    ]


def _cell(cell: Cell) -> dict[str, Any]:
    own = cell.posterior
    return {
        "judge": cell.judge,
        "claim_type": cell.claim_type,
        "ability": cell.ability.value,
        "right": own.right,
        "n": own.n,
        "mode": plain_number(own.mode),
        "mean": plain_number(own.mean),
        "interval": plain_value(own.interval),
        "dominant": own.dominant,
        "candidate": own.candidate,
        "source": cell.source.value,
        "reliability": plain_number(cell.reliability),
        "pooled_mean": plain_number(cell.pooled_mean),
        "pooled_interval": plain_value(cell.pooled_interval),
    }


def _overall(one: Overall) -> dict[str, Any]:
    own = one.posterior
    return {
        "judge": one.judge,
        "ability": one.ability.value,
        "right": own.right,
        "n": own.n,
        "mode": plain_number(own.mode),
        "mean": plain_number(own.mean),
        "interval": plain_value(own.interval),
        "dominant": own.dominant,
        "pooled_centre": plain_number(one.pooled_centre),
        "pooled_spread": plain_number(one.pooled_spread),
    }
