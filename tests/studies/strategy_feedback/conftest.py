"""The shipped plan, and what its made-up runs come to."""

from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.heldout import drawn
from eval_pipeline.observations import Log
from eval_pipeline.plan import read_plan
from eval_pipeline.studies.strategy_feedback.findings import findings
from eval_pipeline.studies.strategy_feedback.generator import generate
from eval_pipeline.studies.strategy_feedback.held_out import held_out
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def plan():
    return read_plan(ROOT / "data" / "plans" / "strategy-feedback.toml", StrategyFeedbackPlan)


@pytest.fixture(scope="session")
def parts(plan):
    """The made-up runs: those to calibrate on, and those that are held out."""
    log = generate(plan)
    ids = tuple(dict.fromkeys(row.run_id for row in log.rows))
    size = round(Fraction(len(ids)) * plan.held_out.share)
    held = set(drawn(ids, size=size, seed=plan.held_out.seed).held_out)
    return tuple(
        Log(tuple(row for row in log.rows if (row.run_id in held) is out), simulated=True) for out in (False, True)
    )


@pytest.fixture(scope="session")
def found(parts, plan):
    return findings(parts[0], plan)


@pytest.fixture(scope="session")
def replay(found, parts, plan):
    return held_out(found, parts[1], plan)
