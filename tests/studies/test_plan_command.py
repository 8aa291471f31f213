"""`eval-pipeline plan`: the plan of any study, shown and sealed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.plan import read_plan
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.plans import PLANS


@pytest.mark.parametrize("study", PLANS)
def test_the_plan_that_is_shown_is_taken_back_and_has_the_seal_of_the_bundled_one(
    study: str, command: Callable[..., Any], tmp_path: Path
) -> None:
    copy = tmp_path / "mine.toml"
    copy.write_text(command("plan", "--show", study).out, "utf-8")
    assert copy.read_bytes() == (bundled("plans") / f"{study}.toml").read_bytes()
    plan = read_plan(copy, PLANS[study])
    assert command("plan", copy).out == f"{plan.name} version {plan.version}: {seal_of(plan)}\n"


def test_a_plan_of_no_study_and_a_study_without_a_plan_are_refused_by_name(
    command: Callable[..., Any], tmp_path: Path
) -> None:
    copy = tmp_path / "mine.toml"
    copy.write_text('study = "weather"\n', "utf-8")
    refused = command("plan", copy)
    assert refused.status == 1
    assert "field 'study': found \"weather\", expected one of extraction, judge-calibration" in refused.err
    assert command("plan", "--show", "weather").status == 1
    copy.write_text("study = 3\n", "utf-8")
    assert "field 'study': found 3" in command("plan", copy).err
    copy.write_text("= 3\n", "utf-8")
    assert "is not TOML" in command("plan", copy).err
    assert "cannot be read" in command("plan", tmp_path / "none.toml").err


def test_a_pilot_is_of_the_extraction_study_alone(command: Callable[..., Any]) -> None:
    refused = command("plan", bundled("plans") / "retry-limit.toml", "--pilot", "3")
    assert refused.status == 1
    assert "the plan is of retry-limit" in refused.err
