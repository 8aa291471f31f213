"""The human check as assets: the sheet that a run would draw, the check that it was given, and what that corrects."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager
from assets.resources import Home
from eval_pipeline.errors import CheckRefused, OutputRefused, SealBroken
from eval_pipeline.human_check.filled import Filled
from eval_pipeline.human_check.join import HumanCheck, check_bytes, joined
from eval_pipeline.human_check.sheet import Said, Sheet, Task, read_sheet
from eval_pipeline.studies.extraction.correction.estimates import Estimator
from tests.assets.conftest import QUIET


@pytest.fixture(scope="module")
def corpus(small_corpus: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def unchecked(bench: Any, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dg.ExecuteInProcessResult:
    """A run that was given no check."""
    result: dg.ExecuteInProcessResult = bench.run({"corpus": str(corpus), "out": str(tmp_path_factory.mktemp("out"))})
    return result


@pytest.fixture(scope="module")
def sheet(unchecked: dg.ExecuteInProcessResult) -> Sheet:
    drawn: Sheet = unchecked.asset_value("human_check_sample").sheet
    return drawn


@pytest.fixture(scope="module")
def check(sheet: Sheet) -> HumanCheck:
    """A person supports everything that was drawn but one proposition, if it was drawn."""
    labels = {i.id: Said.NOT_SUPPORTED if i.hypothesis == drawn_wrong(sheet) else Said.SUPPORTED for i in sheet.items}
    return joined(sheet, [Filled("anna", labels)], None)


def drawn_wrong(sheet: Sheet) -> str:
    """The first of the propositions that were drawn."""
    return next(item.hypothesis for item in sheet.items if item.task is Task.PROPOSITION)


@pytest.fixture(scope="module")
def check_file(check: HumanCheck, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("check") / "human_check.json"
    path.write_bytes(check_bytes(check))
    return path


@pytest.fixture(scope="module")
def checked(
    bench: Any,
    unchecked: dg.ExecuteInProcessResult,
    corpus: Path,
    check_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dg.ExecuteInProcessResult:
    """A run of the same corpus in the same home that was given the check."""
    inputs = {"corpus": str(corpus), "human_check": str(check_file), "out": str(tmp_path_factory.mktemp("out"))}
    result: dg.ExecuteInProcessResult = bench.run(inputs)
    return result


def materialization(run: dg.ExecuteInProcessResult, asset: str) -> dg.AssetMaterialization:
    (found,) = (e for e in run.get_asset_materialization_events() if e.asset_key == dg.AssetKey(asset))
    return found.materialization


def metadata(run: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    return {name: value.value for name, value in materialization(run, asset).metadata.items()}


def version(run: dg.ExecuteInProcessResult, asset: str) -> str | None:
    return (materialization(run, asset).tags or {}).get("dagster/data_version")


def rows(run: dg.ExecuteInProcessResult) -> dict[Any, dict[str, Any]]:
    """The estimates that the metadata of the corrected recall shows, by estimator."""
    table = materialization(run, "corrected_recall").metadata["estimates"]
    assert isinstance(table, dg.TableMetadataValue)
    return {row.data["estimator"]: dict(row.data) for row in table.records}


def test_without_a_check_the_corrected_recall_is_the_raw_one_and_that_by_the_gold_set(
    unchecked: dg.ExecuteInProcessResult,
) -> None:
    """12 of 12 propositions by the judge."""
    assert metadata(unchecked, "corrected_recall")["decides"] == "raw"
    assert "refusal" not in metadata(unchecked, "corrected_recall")
    assert list(rows(unchecked)) == ["raw", "ratio_by_gold"]
    raw = rows(unchecked)["raw"]
    assert (raw["recall"], raw["low"], raw["high"], raw["quartile_1_less_4"], raw["withheld"]) == (
        1.0,
        1.0,
        1.0,
        0.0,
        "",
    )
    assert unchecked.asset_value("human_check").check is None


def test_the_history_shows_every_estimate_and_which_decides(checked: dg.ExecuteInProcessResult) -> None:
    """Of the 8 propositions of two notes, all of which the judge supports, people support 7: 12/12 x 7/8."""
    shown = metadata(checked, "corrected_recall")
    assert (shown["decides"], "refusal" in shown) == ("post_stratified", False)
    assert list(rows(checked)) == [one.value for one in Estimator]
    corrected = rows(checked)["post_stratified"]
    assert corrected["recall"] == pytest.approx(7 / 8)
    assert corrected["low"] < 7 / 8 < corrected["high"]


def test_the_correction_that_was_stored_is_the_one_that_the_verdict_rests_on(
    checked: dg.ExecuteInProcessResult, check: HumanCheck
) -> None:
    stored = checked.asset_value("corrected_recall")
    document = checked.asset_value("extraction_verdict")
    assert stored.decides is Estimator.POST_STRATIFIED
    assert (stored.check.hash, stored.check.propositions, stored.check.spans) == (check.hash, 8, 8)
    assert stored.corrected.pooled.estimate == pytest.approx(7 / 8)
    assert document["hashes"]["human_check"] == check.hash
    assert document["claims"][0]["estimator"] == "post_stratified"
    written = document["findings"]["correction"]["estimates"][2]
    assert (written["estimator"], written["pooled"]["estimate"]) == ("post_stratified", 0.875)


def test_a_check_is_versioned_by_its_hash_and_comes_back_from_the_evidence_as_it_was(
    checked: dg.ExecuteInProcessResult, check: HumanCheck
) -> None:
    stored = checked.asset_value("human_check").check
    assert (stored, stored.hash, version(checked, "human_check")) == (check, check.hash, check.hash)
    shown = metadata(checked, "human_check")
    assert (shown["check"], shown["labels"], shown["raters"]) == (check.hash, 16, ["anna"])


def test_a_run_shows_the_sheet_that_would_be_drawn_of_it_whether_or_not_it_was_checked(
    unchecked: dg.ExecuteInProcessResult, checked: dg.ExecuteInProcessResult, sheet: Sheet
) -> None:
    """Two of three notes, 4 propositions and 4 spans each."""
    for run in (unchecked, checked):
        shown = metadata(run, "human_check_sample")
        assert (shown["sheet"], shown["items"]) == (sheet.id, len(sheet.items)) == (sheet.id, 16)
    assert version(unchecked, "human_check_sample") == version(checked, "human_check_sample")


def test_a_check_that_was_tampered_with_ends_the_run_before_anything_is_judged(
    new_bench: Any, corpus: Path, check_file: Path, tmp_path: Path
) -> None:
    forged = tmp_path / "human_check.json"
    forged.write_text(check_file.read_text().replace('"settled": 0', '"settled": 1'))
    bench = new_bench()
    with pytest.raises(SealBroken, match="was frozen as"):
        bench.run({"corpus": str(corpus), "human_check": str(forged)})
    assert not (bench.home / "journals").exists()


def draw(bench: Any, corpus: Path, **inputs: str) -> dg.ExecuteInProcessResult:
    """The job that draws a sheet."""
    resources = {"home": Home(path=str(bench.home)), "io_manager": EvidenceIOManager(home=str(bench.home))}
    job = build_defs(resource_overrides=resources).resolve_job_def("human_check_draw")
    config = {"resources": {"inputs": {"config": {"corpus": str(corpus), **inputs}}}, **QUIET}
    result: dg.ExecuteInProcessResult = job.execute_in_process(run_config=config, instance=bench.instance)
    return result


def test_the_job_that_draws_writes_the_sheet_and_says_where(
    bench: Any, corpus: Path, sheet: Sheet, tmp_path: Path
) -> None:
    run = draw(bench, corpus, out=str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"sheet.html", "sheet.csv", "sheet.json"}
    assert read_sheet(tmp_path / "sheet.json") == sheet
    shown = metadata(run, "human_check_sheet")
    assert (shown["sheet"], shown["id"], shown["items"]) == (str(tmp_path / "sheet.html"), sheet.id, 16)


def test_a_sheet_that_is_materialized_again_leaves_what_people_filled_of_it(
    bench: Any, corpus: Path, tmp_path: Path
) -> None:
    draw(bench, corpus, out=str(tmp_path))
    (tmp_path / "sheet.csv").write_text("half filled")
    draw(bench, corpus, out=str(tmp_path))
    assert (tmp_path / "sheet.csv").read_text() == "half filled"


def test_another_sheet_does_not_take_the_place_of_one_that_may_be_with_somebody(
    bench: Any, corpus: Path, tmp_path: Path
) -> None:
    draw(bench, corpus, out=str(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(OutputRefused, match="may be with somebody who fills it"):
        draw(bench, corpus, out=str(tmp_path), check_share="1")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_of_a_corpus_of_which_nothing_was_judged_no_sheet_is_drawn(new_bench: Any, tmp_path: Path) -> None:
    with pytest.raises(CheckRefused, match="nothing was judged, so that there is nothing to check"):
        draw(new_bench(), tmp_path / "nowhere", out=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
