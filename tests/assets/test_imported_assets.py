"""The import as assets: one check for all gates, a seal that holds, and data versions by content."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from eval_pipeline.bundled import bundled
from tests.importers.logs import as_bytes, inspect_log, inspect_sample

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def instance() -> Any:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def materialized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance) -> Any:
    """Runs the job on a log of `right` correct answers and others, under these gates."""
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / "home"))

    def run(gates: str, right: int, wrong: int = 0, order: int = 1) -> dg.ExecuteInProcessResult:
        samples = [inspect_sample(n, match="C" if n < right else "I") for n in range(right + wrong)]
        (tmp_path / "run.json").write_bytes(as_bytes(inspect_log(samples[::order])))
        text = (bundled("plans") / "imported.toml").read_text("utf-8").replace("gates = []\n", "")
        (tmp_path / "bars.toml").write_text(f"{text}\n{gates}\n", "utf-8")
        inputs = {"imported": [str(tmp_path / "run.json")], "plan": str(tmp_path / "bars.toml")}
        return (
            build_defs()
            .resolve_job_def("imported")
            .execute_in_process(run_config={"resources": {"inputs": {"config": inputs}}, **QUIET}, instance=instance)
        )

    return run


def check(result: dg.ExecuteInProcessResult, name: str) -> Any:
    (found,) = [one for one in result.get_asset_check_evaluations() if one.check_name == name]
    return found


def gate(metric: str, bar: float) -> str:
    return f'[[gates]]\nmetric = "{metric}"\nat_least = {bar}\n'


@pytest.mark.parametrize(
    ("gates", "outcome", "severity"),
    [
        (gate("match", 0.5), "pass", None),
        (gate("match", 0.5) + gate("tone", 0.5), "skip", dg.AssetCheckSeverity.WARN),
        (gate("match", 0.85), "warn", dg.AssetCheckSeverity.WARN),
        (gate("match", 0.95) + gate("tone", 0.5), "fail", dg.AssetCheckSeverity.ERROR),
    ],
)
def test_one_check_holds_all_gates_by_the_worst_of_them(
    materialized: Any, gates: str, outcome: str, severity: Any
) -> None:
    result = materialized(gates, right=18, wrong=2)
    assert result.success
    assert check(result, "imported_seal_holds").passed
    found = check(result, "imported_gates")
    assert found.passed is (outcome == "pass")
    assert found.metadata["outcome"].value == outcome
    assert severity is None or found.severity is severity
    assert len(found.metadata["gates"].value.records) == gates.count("[[gates]]")


def test_the_order_of_a_log_changes_no_version_of_what_rests_on_it(materialized: Any) -> None:
    forth, back = (materialized(gate("match", 0.5), right=18, wrong=2, order=order) for order in (1, -1))

    def version(result: dg.ExecuteInProcessResult, asset: str) -> str:
        (event,) = result.asset_materializations_for_node(asset)
        return str(event.tags["dagster/data_version"])

    assert version(forth, "imported_findings") == version(back, "imported_findings")
    assert version(forth, "imported_plan") == version(back, "imported_plan")


def test_the_verdict_stands_in_the_home_where_no_other_place_is_named(materialized: Any, tmp_path: Path) -> None:
    materialized(gate("match", 0.5), right=20)
    document = json.loads((tmp_path / "home" / "out" / "imported" / "verdict.json").read_text("utf-8"))
    assert [claim["outcome"] for claim in document["claims"]] == ["pass"]
