"""Histories as assets: each run is a look in the ledger, its page stands beside the report, and staleness is right."""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager
from assets.partitions import TRACKS
from assets.resources import Home
from eval_pipeline.bundled import bundled
from eval_pipeline.errors import LedgerBroken
from eval_pipeline.ledger import Kind, read_ledger
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.spending import level_of_look
from tests.assets.conftest import QUIET
from tests.studies.label_signal.conftest import TRACK_TOML, write_track

FIRST = datetime(2026, 10, 1, 6, tzinfo=UTC)


class Nights:
    """A home in which a job is run night after night."""

    def __init__(self, home: Path) -> None:
        self.home, self.nights = home, 0
        self.instance = dg.DagsterInstance.ephemeral()
        resources = {"home": Home(path=str(home)), "io_manager": EvidenceIOManager(home=str(home))}
        self.definitions = build_defs(resource_overrides=resources)

    def run(
        self, job: str, *, partition: str | None = None, only: tuple[str, ...] = (), **inputs: Any
    ) -> dg.ExecuteInProcessResult:
        """The job, or some of its assets, a day after the last."""
        at = (FIRST + timedelta(days=self.nights)).isoformat()
        given = {"inputs": {"out": str(self.home / "out"), **inputs}, "clock": {"at": at}}
        self.nights += 1
        return self.definitions.resolve_job_def(job).execute_in_process(
            run_config={"resources": {name: {"config": config} for name, config in given.items()}, **QUIET},
            instance=self.instance,
            partition_key=partition,
            asset_selection=[dg.AssetKey(name) for name in only] or None,
        )

    @property
    def looks(self) -> list[dict[str, Any]]:
        return [dict(line.body) for line in read_ledger(self.home / "ledger.jsonl") if line.kind is Kind.VERDICT]


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nights]:
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path))
    made = Nights(tmp_path)
    yield made
    made.instance.dispose()


def materialization(run: dg.ExecuteInProcessResult, asset: str) -> dg.AssetMaterialization:
    (found,) = [
        event.materialization
        for event in run.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey(asset)
    ]
    return found


def version(run: dg.ExecuteInProcessResult, asset: str) -> str:
    return (materialization(run, asset).tags or {})["dagster/data_version"]


def gold_without(folder: Path, tuples: int) -> str:
    """The bundled gold set, but for some of its first tuples."""
    shutil.copytree(bundled("gold"), folder)
    rows = (folder / "alignment.jsonl").read_text("utf-8").splitlines()
    (folder / "alignment.jsonl").write_text("".join(f"{row}\n" for row in rows[tuples:]), "utf-8")
    return str(folder)


def test_a_judge_that_is_measured_each_night_has_a_course_of_exact_intervals(nights: Nights, tmp_path: Path) -> None:
    one = nights.run("judge_calibration")
    again = nights.run("judge_calibration", only=("judge_calibration_history",))
    other = nights.run("judge_calibration", gold=gold_without(tmp_path / "gold", 3))
    looks = nights.looks
    assert [look["claims"][0]["look"] for look in looks] == [1, 1, 2]
    assert looks[0]["claims"] == looks[1]["claims"]
    assert [look["run"] for look in looks] == [one.run_id, again.run_id, other.run_id]
    assert looks[2]["judge"] == other.asset_value("judge_calibration_verdict")["judge"]["fingerprints"]
    rate = looks[2]["claims"][0]
    expected = exact_interval(rate["numerator"], rate["denominator"], level=level_of_look(2, level=0.95))
    assert (rate["low"], rate["high"]) == pytest.approx((expected.low, expected.high), abs=1e-9)

    asset = "judge_calibration_history"
    assert version(one, asset) == version(again, asset) != version(other, asset)
    (points,) = {len(claim["points"]) for claim in other.asset_value(asset)["claims"]}
    assert points == 2
    shown = materialization(other, asset).metadata
    assert (shown["look"].value, shown["runs"].value) == (2, 3)
    assert str(shown["chart_false_negatives"].value).startswith("![false_negatives over time](data:image/svg+xml;")
    page = (tmp_path / "out" / "history.html").read_text("utf-8")
    assert "2026-10-01" in page
    assert "2 runs, to 2026-10-02" in page
    assert '<a href="history.html">' in (tmp_path / "out" / "report.html").read_text("utf-8")

    # A ledger that was tampered with takes no more verdicts.
    ledger = nights.home / "ledger.jsonl"
    ledger.write_text(ledger.read_text("utf-8").replace("judge-calibration", "judge-celebration", 1), "utf-8")
    before = ledger.read_bytes()
    with pytest.raises(LedgerBroken, match="line 1: found a line that does not follow"):
        nights.run("judge_calibration", only=("judge_calibration_history",))
    assert ledger.read_bytes() == before


def test_the_extraction_study_enters_its_claims_with_wider_intervals_than_its_own(
    nights: Nights, small_corpus: Callable[[Path], Path], tmp_path: Path
) -> None:
    corpus = small_corpus(tmp_path / "corpus")
    run = nights.run("extraction", corpus=str(corpus))
    (look,) = nights.looks
    document = run.asset_value("extraction_verdict")
    assert (look["study"], look["subject"], look["judge"]) == ("extraction", "", document["judge"]["fingerprint"])
    assert (look["seal"], look["hashes"]) == (document["hashes"]["plan"], document["hashes"])
    assert [(one["claim"], one["estimate"]) for one in look["claims"]] == [
        (one["claim"], one["estimate"]) for one in document["claims"]
    ]
    for claim in look["claims"]:
        assert claim["level"] == float(level_of_look(1, level=0.95))
        assert claim["low"] < claim["estimate"] <= claim["high"]


def test_what_was_generated_has_a_history_of_its_own(nights: Nights) -> None:
    run = nights.run("fire_rate")
    nights.run("fire_rate", only=("fire_rate_verdict", "fire_rate_history"))
    first, second = nights.looks
    assert (first["subject"], first["study"], first["decision"]) == (
        "generated",
        "fire-rate",
        "fallback_rarely_reached",
    )
    assert first["generation"] == run.asset_value("fire_rate_verdict")["generation"]
    assert first["document"] == second["document"]  # another day, and the same constants
    rate = first["claims"][0]
    assert rate["low"] <= rate["estimate"] < rate["high"]
    assert rate["high"] > rate["interval"][1]


def test_each_track_has_its_own_page_and_outcomes_alone(nights: Nights, tmp_path: Path) -> None:
    write_track(tmp_path / "tracks" / "small", track=f"{TRACK_TOML}offsets = [-0.4, 0]\n")
    nights.instance.add_dynamic_partitions(str(TRACKS.name), ["small"])
    run = nights.run("label_signal", partition="small", tracks=str(tmp_path / "tracks"))
    (look,) = nights.looks
    assert look["subject"] == "small, generated"
    assert {(claim["level"], claim["low"]) for claim in look["claims"]} == {(None, None)}
    assert len(look["claims"]) == len(run.asset_value("label_signal_verdict")["claims"])
    assert "over time: small, generated" in (tmp_path / "out" / "history-small.html").read_text("utf-8")
    assert 'href="history-small.html"' in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert json.loads((tmp_path / "out" / "results.json").read_bytes())["study"] == "label-signal"
