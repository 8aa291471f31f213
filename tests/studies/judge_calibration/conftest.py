"""The plans, and the composition that the first version of this calibration was measured with."""

import pytest

from eval_pipeline.plan import read_plan
from eval_pipeline.studies.judge_calibration.gold import GoldSet
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from tests.studies.judge_calibration.made_up import ROOT, composed


@pytest.fixture(scope="session")
def canonical() -> GoldSet:
    """The 25 tuples of the first version of this calibration, by their number."""
    return composed(
        {"SUPPORTED": 5, "UNSUPPORTED": 8, "AMBIGUOUS": 3, "RETRIEVAL_FAILED": 1},
        {"VIOLATED": 5, "NOT_VIOLATED": 3},
        partial=5,
    )


@pytest.fixture(scope="session")
def compat() -> CalibrationPlan:
    return read_plan(ROOT / "data" / "plans" / "judge-calibration_compat.toml", CalibrationPlan)


@pytest.fixture(scope="session")
def shipped() -> CalibrationPlan:
    return read_plan(ROOT / "data" / "plans" / "judge-calibration.toml", CalibrationPlan)
