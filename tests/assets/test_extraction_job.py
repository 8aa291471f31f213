"""The job `extraction`: what its evidence is versioned by, and what happens to it when a seal is broken."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest

from assets.io_managers import EvidenceIOManager
from eval_pipeline.seal import SealedPlan

NUMBERS = ("estimate", "numerator", "denominator", "interval", "threshold")


def data_versions(run: dg.ExecuteInProcessResult) -> dict[str, str]:
    return {
        event.asset_key.to_user_string(): event.materialization.tags["dagster/data_version"]
        for event in run.get_asset_materialization_events()
        if event.asset_key
    }


def claims(run: dg.ExecuteInProcessResult) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.asset_value("extraction_verdict")["claims"]
    return found


@pytest.fixture(scope="module")
def corpus(small_corpus: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def run(bench: Any, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dg.ExecuteInProcessResult:
    out = tmp_path_factory.mktemp("out")
    result: dg.ExecuteInProcessResult = bench.run({"corpus": str(corpus), "out": str(out)})
    return result


def test_the_same_inputs_give_the_same_data_versions_in_another_home_too(
    run: dg.ExecuteInProcessResult, new_bench: Any, corpus: Path
) -> None:
    again = data_versions(new_bench().run({"corpus": str(corpus)}))
    assert {name: again[name] for name in again if name != "extraction_report"} == {
        name: version for name, version in data_versions(run).items() if name != "extraction_report"
    }


def test_one_edited_proposition_changes_the_fixture_and_what_rests_on_it_and_nothing_else(
    run: dg.ExecuteInProcessResult, new_bench: Any, corpus: Path, tmp_path: Path
) -> None:
    edited = tmp_path / "edited.jsonl"
    edited.write_text((corpus / "propositions.jsonl").read_text().replace("valve 11", "valve 99", 1))
    before = data_versions(run)
    after = data_versions(new_bench().run({"corpus": str(corpus), "propositions": str(edited)}))
    same = {name for name in after if after[name] == before[name]}
    assert same >= {"corpus", "sealed_plan", "gold_set", "human_check", "band_ledger"}
    assert same.isdisjoint(
        {
            "proposition_fixture",
            "frame",
            "nli_judgments",
            "entry_quartiles",
            "recall_estimate",
            "corrected_recall",
            "extraction_verdict",
        }
    )


def test_the_data_versions_of_corpus_fixture_and_plan_are_the_hashes_of_the_verdict(
    run: dg.ExecuteInProcessResult,
) -> None:
    versions = data_versions(run)
    assert run.asset_value("extraction_verdict")["hashes"] == {
        "corpus": versions["corpus"],
        "fixture": versions["proposition_fixture"],
        "plan": versions["sealed_plan"],
        "human_check": None,
    }


def test_a_small_corpus_whose_signals_repeat_it_is_recovered_in_full(run: dg.ExecuteInProcessResult) -> None:
    """3 notes of 4 propositions, a signal and a sound span for each: 12 of 12, and 12 of 12."""
    recall, uniformity, guard = claims(run)
    assert (recall["numerator"], recall["denominator"]) == (12, 12)
    assert (uniformity["estimate"], uniformity["interval"]) == (0.0, [None, 0.0])
    assert (guard["numerator"], guard["denominator"]) == (12, 12)


def test_the_findings_stand_where_the_run_was_told_and_the_metadata_says_where(
    run: dg.ExecuteInProcessResult,
) -> None:
    (report,) = (
        event.materialization.metadata["report"].value
        for event in run.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey("extraction_report")
    )
    out = Path(str(report)).parent
    assert json.loads((out / "verdict.json").read_text("utf-8")) == run.asset_value("extraction_verdict")
    assert pq.read_table(out / "entry_quartiles.parquet").num_rows == 12


def test_the_history_keeps_numbers_that_can_be_plotted(run: dg.ExecuteInProcessResult) -> None:
    (metadata,) = (
        event.materialization.metadata
        for event in run.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey("recall_estimate")
    )
    assert (metadata["recall"].value, metadata["hits"].value, metadata["judged"].value) == (1.0, 12, 12)


def test_the_metadata_count_as_without_label_only_what_was_asked_and_gave_none(run: dg.ExecuteInProcessResult) -> None:
    (metadata,) = (
        event.materialization.metadata
        for event in run.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey("nli_judgments")
    )
    labels = [row["label"] for row in run.asset_value("nli_judgments").rows]
    assert None not in labels
    assert (metadata["judgments"].value, metadata["without_label"].value) == (len(labels), 0)


def test_the_history_keeps_what_the_judgments_say_of_the_judge(run: dg.ExecuteInProcessResult) -> None:
    """12 propositions that the nearest of their note's four signals supports: 12 questions where trying all asks 48."""
    (metadata,) = (
        event.materialization.metadata
        for event in run.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey("judge_findings")
    )
    shown = {name: value.value for name, value in metadata.items()}
    written = run.asset_value("extraction_verdict")["findings"]["judge"]
    assert (shown["questions"], shown["questions_saved"]) == (12, 36)
    assert shown["canaries"] == written["canaries"]["asked"] == 1  # a fiftieth of 12, rounded up
    assert (shown["audited"], shown["missed_by_screen"], shown["turned"]) == (0, 0, 0)
    repeats = written["repeats"]
    assert shown["compared"] == repeats["propositions"]["compared"]
    assert repeats["propositions"]["compared"] + repeats["spans"]["compared"] == 2  # a twentieth of 24, rounded up


def test_an_edited_plan_withholds_every_number_of_a_verdict_made_alone(new_bench: Any, corpus: Path) -> None:
    """One threshold of the stored plan is changed between the run and the verdict that is made again."""
    bench = new_bench()
    bench.run({"corpus": str(corpus)})
    plan = json.loads(bench.evidence("sealed_plan").read_text())
    plan["values"]["claims"]["recall_at_least"] = "1/2"
    bench.forge("sealed_plan", json.dumps(plan).encode())
    verdict = bench.run({"corpus": str(corpus)}, only="extraction_verdict")
    assert [(claim["outcome"], claim["reason"]) for claim in claims(verdict)] == [("skip", "seal_broken")] * 3
    assert [[claim[number] for number in NUMBERS] for claim in claims(verdict)] == [[None] * 5] * 3
    assert "was sealed as" in claims(verdict)[0]["detail"]


class Tampering(EvidenceIOManager):
    """Evidence that comes back with another threshold than was put in."""

    def load_input(self, context: dg.InputContext) -> Any:
        """Everything as it was, but for the plan."""
        value = super().load_input(context)
        if not isinstance(value, SealedPlan):
            return value
        changed = value.values | {"claims": value.values["claims"] | {"recall_at_least": "1/2"}}
        return value.model_copy(update={"values": changed})


def test_a_broken_seal_ends_the_run_before_anything_is_judged(new_bench: Any, corpus: Path) -> None:
    bench = new_bench()
    result = bench.run({"corpus": str(corpus)}, io_manager=Tampering(home=str(bench.home)), raise_on_error=False)
    (seal,) = (check for check in result.get_asset_check_evaluations() if check.check_name == "seal_holds")
    assert (seal.passed, seal.severity, seal.blocking) == (False, dg.AssetCheckSeverity.ERROR, True)
    assert not result.success
    assert {"frame", "nli_judgments", "extraction_verdict", "extraction_report"}.isdisjoint(data_versions(result))
    assert not (bench.home / "journals").exists()
