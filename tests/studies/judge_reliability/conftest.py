"""The bundled plan, and the same with fewer resamples and nodes, for what is simulated often."""

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.plan import read_plan
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from tests.studies.judge_reliability.made_up import changed


@pytest.fixture(scope="session")
def plan() -> JudgeReliabilityPlan:
    return read_plan(bundled("plans/judge-reliability.toml"), JudgeReliabilityPlan)


@pytest.fixture(scope="session")
def light(plan: JudgeReliabilityPlan) -> JudgeReliabilityPlan:
    return changed(plan, falsifier={"resamples": 1000}, pooling={"nodes": 8})
