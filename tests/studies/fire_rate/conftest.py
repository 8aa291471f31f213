"""What tests of the fire rate share: the shipped plan, and plans that differ from it."""

import pytest

from eval_pipeline.plan import parse_plan, read_plan
from eval_pipeline.studies.fire_rate.plan import FireRatePlan
from tests.studies.fire_rate.made_up import ROOT


@pytest.fixture(scope="session")
def shipped() -> FireRatePlan:
    return read_plan(ROOT / "data" / "plans" / "fire-rate.toml", FireRatePlan)


@pytest.fixture
def with_test(shipped):
    """The shipped plan with these fields of its test changed, and those of its two looks."""

    def changed(first=(), second=(), **fields):
        values = shipped.model_dump(mode="json")
        looks = [look | dict(own) for look, own in zip(values["test"]["looks"], (first, second), strict=True)]
        return parse_plan(values | {"test": values["test"] | {"looks": looks} | fields}, FireRatePlan, "plan 'mine'")

    return changed
