"""The definitions load, quietly, and hold what the house promises."""

import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets import resources
from assets.build import build_defs
from assets.jobs import JOBS
from assets.resources import Home, JudgeEndpoint, StudyInputs, home_folder, judge_endpoint
from eval_pipeline.judge.prompt import prompt_named

PROJECT = Path(__file__).resolve().parents[2]
CHAIN = (
    "sealed_plan",
    "judge_prompt",
    "corpus",
    "proposition_fixture",
    "persist_code",
    "frame",
    "nli_judgments",
    "proposition_fates",
    "entry_quartiles",
    "recall_estimate",
    "uniformity_bound",
    "precision_guard",
    "judge_findings",
    "human_check",
    "human_check_sample",
    "human_check_sheet",
    "corrected_recall",
    "annotator_agreement",
    "band_ledger",
    "extraction_verdict",
    "extraction_report",
    "extraction_provenance",
    "extraction_history",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def specs() -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in build_defs().resolve_all_asset_specs()}


def test_the_definitions_load_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING):
        warnings.simplefilter("always")
        dg.Definitions.validate_loadable(build_defs())
    assert [str(warning.message) for warning in caught] == []
    assert caplog.records == []


def test_the_chain_stands_in_one_group_under_the_names_that_were_promised() -> None:
    assert set(CHAIN) <= {name for name, spec in specs().items() if spec.group_name == "extraction"}


def made_by(job: str) -> set[str]:
    """The assets that a job makes."""
    keys = build_defs().resolve_job_def(job).asset_layer.executable_asset_keys
    return {key.to_user_string() for key in keys}


def test_the_job_of_the_study_makes_the_chain_and_the_gold_set_but_no_sheet_for_people() -> None:
    assert made_by("extraction") == {*CHAIN, "gold_set"} - {"human_check_sheet"}


def test_the_job_of_the_sheet_makes_what_it_is_drawn_from_and_no_verdict() -> None:
    assert made_by("human_check_draw") == {
        "sealed_plan",
        "judge_prompt",
        "corpus",
        "proposition_fixture",
        "gold_set",
        "frame",
        "nli_judgments",
        "proposition_fates",
        "human_check_sample",
        "human_check_sheet",
    }


def test_each_asset_names_all_the_inputs_that_it_rests_on() -> None:
    """Dagster looks for staleness no further up than that; an input is what names nothing, and so is the prompt."""
    parents = {name: {dep.asset_key.to_user_string() for dep in spec.deps} for name, spec in specs().items()}
    inputs = {name for name, above in parents.items() if not above} | {"judge_prompt"}

    def all_above(name: str) -> set[str]:
        return parents.get(name, set()).union(*(all_above(one) for one in parents.get(name, set())))

    graph = build_defs().resolve_asset_graph()
    missing = {
        name: sorted((all_above(name) & inputs) - above)
        for name, above in parents.items()
        if not graph.get(dg.AssetKey.from_user_string(name)).is_partitioned
    }
    assert {name: far for name, far in missing.items() if far} == {}


def test_no_job_has_the_name_of_an_asset() -> None:
    """Dagster holds both in one space, and loads nothing where two names clash."""
    assert {job.name for job in JOBS}.isdisjoint(specs())


@pytest.mark.parametrize("name", CHAIN)
def test_each_asset_says_what_it_is_and_has_a_code_version(name: str) -> None:
    spec = specs()[name]
    assert spec.description
    assert spec.code_version


def test_loading_writes_nothing(home: Path) -> None:
    build_defs()
    assert not home.exists()


def test_a_resource_that_is_handed_in_takes_the_place_of_the_house_s_own() -> None:
    other = Home(path="/elsewhere")
    resources = build_defs(resource_overrides={"home": other}).resources or {}
    assert resources["home"] is other
    assert isinstance(resources["inputs"], StudyInputs)


def test_the_home_is_what_the_environment_says_and_else_a_folder_of_the_project(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home_folder() == home
    monkeypatch.delenv("EVAL_PIPELINE_HOME")
    assert home_folder() == PROJECT / ".eval_pipeline"


def test_a_key_of_the_judge_is_shown_as_its_variable_s_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_JUDGE_API_KEY", "sk-very-secret")
    endpoint: Any = (build_defs().resources or {})["endpoint"]
    assert "sk-very-secret" not in repr(endpoint)
    job = build_defs().resolve_job_def("extraction")
    shown = repr(job.resource_defs["endpoint"].config_schema.default_value)
    assert "EVAL_PIPELINE_JUDGE_API_KEY" in shown
    assert "sk-very-secret" not in shown


def test_the_limits_of_the_judge_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_JUDGE_MAX_TOKENS", "16")
    monkeypatch.setenv("EVAL_PIPELINE_JUDGE_IN_FLIGHT", "4")

    @dg.asset
    def limits(endpoint: JudgeEndpoint) -> list[int]:
        return [
            endpoint.endpoint(prompt_named("nli-v1")).max_tokens,
            endpoint.endpoint(prompt_named("nli-v1")).in_flight,
        ]

    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"endpoint": judge_endpoint(), "io_manager": dg.mem_io_manager}
        done = dg.materialize([limits], resources=resources, instance=instance)
    assert done.asset_value("limits") == [16, 4]


def test_the_workspace_file_loads_from_any_folder(tmp_path: Path) -> None:
    environment = os.environ | {"DAGSTER_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "dagster", "definitions", "validate"]
    done = subprocess.run(
        [*command, "-w", str(PROJECT / "workspace.yaml")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Validation successful for code location eval_pipeline" in done.stdout + done.stderr


def test_state_lies_in_the_clone_and_for_an_installed_wheel_where_the_command_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVAL_PIPELINE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert resources.home_folder() == PROJECT / ".eval_pipeline"
    monkeypatch.setattr(resources, "PROJECT", tmp_path / "site-packages")
    assert resources.home_folder() == tmp_path / ".eval_pipeline"
