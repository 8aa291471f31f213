"""Values as Dagster takes them, and a claim as a check."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.checks import refusal_check, to_check
from eval_pipeline.records import Reason, Refusal

ERROR, WARN = dg.AssetCheckSeverity.ERROR, dg.AssetCheckSeverity.WARN


def claim(**changed: Any) -> dict[str, Any]:
    return {
        "claim": "pooled_recall",
        "outcome": "pass",
        "reason": None,
        "detail": "9 of 10 propositions recovered",
        "estimate": 0.9,
        "interval": [0.8, None],
        "threshold": 0.8,
        "advisory": False,
    } | changed


@pytest.mark.parametrize(
    ("outcome", "passed", "severity"),
    [("pass", True, WARN), ("warn", False, WARN), ("skip", False, WARN), ("fail", False, ERROR)],
    ids=["pass", "warn", "skip", "fail"],
)
def test_only_a_pass_is_passed_and_only_a_fail_is_an_error(
    outcome: str, passed: bool, severity: dg.AssetCheckSeverity
) -> None:
    check = to_check(claim(outcome=outcome), asset="extraction_verdict")
    assert (check.passed, check.severity) == (passed, severity)


def test_a_check_says_outcome_reason_and_sentence_in_words() -> None:
    check = to_check(claim(outcome="skip", reason="underpowered", detail="3 of 90"), asset="extraction_verdict")
    assert check.description == "3 of 90"
    assert {name: check.metadata[name].value for name in ("outcome", "reason")} == {
        "outcome": "skip",
        "reason": "underpowered",
    }
    assert (check.asset_key, check.check_name) == (dg.AssetKey("extraction_verdict"), "pooled_recall")


def test_a_number_that_is_withheld_is_not_in_the_metadata() -> None:
    check = to_check(claim(outcome="skip", estimate=None, interval=None), asset="extraction_verdict")
    assert {"estimate", "low", "high"}.isdisjoint(check.metadata)


def test_an_open_end_of_an_interval_is_left_out_and_the_other_stays() -> None:
    check = to_check(claim(interval=[None, 0.25]), asset="extraction_verdict")
    assert "low" not in check.metadata
    assert check.metadata["high"].value == 0.25


def test_a_refusal_fails_its_check_with_its_sentence_and_no_refusal_passes() -> None:
    refused = refusal_check(Refusal(Reason.CORPUS_INCOMPLETE, "export both"))
    assert (refused.passed, refused.description) == (False, "export both")
    assert refused.metadata["reason"].value == "corpus_incomplete"
    sound = refusal_check(None)
    assert (sound.passed, sound.description, sound.metadata["reason"].value) == (True, None, "none")


@pytest.fixture(scope="module")
def run(
    bench: Any, small_corpus: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory
) -> dg.ExecuteInProcessResult:
    folder = small_corpus(tmp_path_factory.mktemp("corpus"))
    result: dg.ExecuteInProcessResult = bench.run({"corpus": str(folder)})
    return result


def test_every_check_that_a_run_planned_was_evaluated(run: dg.ExecuteInProcessResult, bench: Any) -> None:
    planned = {
        (
            entry.get_dagster_event().asset_check_planned_data.asset_key,
            entry.get_dagster_event().asset_check_planned_data.check_name,
        )
        for entry in bench.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED)
    }
    evaluated = [(check.asset_key, check.check_name) for check in run.get_asset_check_evaluations()]
    assert sorted(name for _, name in evaluated) == [
        "corpus_is_readable",
        "fixture_is_valid",
        "human_check_can_be_rested_on",
        "pooled_recall",
        "positional_uniformity",
        "precision_guard",
        "seal_holds",
    ]
    assert set(evaluated) == planned


def test_the_checks_of_a_verdict_say_what_the_verdict_says(run: dg.ExecuteInProcessResult) -> None:
    claims = {claim["claim"]: claim for claim in run.asset_value("extraction_verdict")["claims"]}
    checks = {check.check_name: check for check in run.get_asset_check_evaluations() if check.check_name in claims}
    said = {name: (check.metadata["outcome"].value, check.description) for name, check in checks.items()}
    assert said == {name: (claim["outcome"], claim["detail"]) for name, claim in claims.items()}
    assert {claim["reason"] for claim in claims.values()} == {"underpowered"}
    assert not any(check.passed for check in checks.values())
