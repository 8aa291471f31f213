"""Label signal as assets: a partition a track, evidence kept apart by partition, a check for each family of claims."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import ALL_PARTITIONS, EvidenceIOManager
from assets.partitions import TRACKS, label_signal_tracks
from assets.resources import Home, Software
from assets.studies.label_signal import label_signal_verdict
from eval_pipeline.bundled import bundled
from eval_pipeline.errors import EvidenceRefused, InputRefused, SealBroken
from tests.assets.conftest import QUIET
from tests.studies.label_signal.conftest import TRACK_TOML, write_track

KEYS = ("first", "second")
LETTERS = dg.StaticPartitionsDefinition(["a", "b", "c"])


@pytest.fixture(scope="module")
def tracks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracks")
    for key in KEYS:
        named = TRACK_TOML.replace('key = "small"', f'key = "{key}"')
        write_track(folder / key, track=f"{named}offsets = [-0.4, 0]\n")
    return folder


class Bench:
    """A home with its history, in which the job of a track is run."""

    def __init__(self, home: Path, tracks: Path, instance: dg.DagsterInstance) -> None:
        self.home, self.tracks, self.instance = home, tracks, instance
        resources = {"home": Home(path=str(home)), "io_manager": EvidenceIOManager(home=str(home))}
        self.job = build_defs(resource_overrides=resources).resolve_job_def("label_signal")
        instance.add_dynamic_partitions(str(TRACKS.name), [*KEYS, "absent"])

    def run(self, key: str, **inputs: Any) -> dg.ExecuteInProcessResult:
        config = {"tracks": str(self.tracks), "out": str(self.home / "out")} | inputs
        return self.job.execute_in_process(
            run_config={"resources": {"inputs": {"config": config}}, **QUIET},
            instance=self.instance,
            partition_key=key,
        )


@pytest.fixture(scope="module")
def bench(tracks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Bench(tmp_path_factory.mktemp("home"), tracks, instance)


@pytest.fixture(scope="module")
def runs(bench: Bench) -> dict[str, dg.ExecuteInProcessResult]:
    """Both tracks, one after the other."""
    return {key: bench.run(key) for key in KEYS}


def test_each_track_has_a_verdict_of_its_own_and_the_report_holds_them_all(
    runs: dict[str, dg.ExecuteInProcessResult],
) -> None:
    verdicts = {key: run.asset_value("label_signal_verdict") for key, run in runs.items()}
    assert {key: verdict["track"] for key, verdict in verdicts.items()} == {key: key for key in KEYS}
    report = runs["second"].asset_value("label_signal_portfolio")
    assert list(report["tracks"]) == list(KEYS)
    for key in KEYS:
        sensitivity = report["tracks"][key]["sensitivity"]
        assert {**report["tracks"][key], "sensitivity": None} == {**verdicts[key], "sensitivity": None}
        assert sensitivity["of"]["ratings"] == verdicts[key]["hashes"]["ratings"]


def test_every_family_of_claims_is_a_check_that_names_its_track_and_what_is_withheld(
    runs: dict[str, dg.ExecuteInProcessResult],
) -> None:
    document = runs["first"].asset_value("label_signal_verdict")
    checks = {check.check_name: check for check in runs["first"].get_asset_check_evaluations()}
    assert set(checks) == {"label_seal_holds", "descriptive_claims", "measurement_claims", "ranking_claims"}
    for kind in ("descriptive", "measurement", "ranking"):
        claims = [claim for claim in document["claims"] if claim["kind"] == kind]
        short = [claim for claim in claims if claim["outcome"] != "pass"]
        check = checks[f"{kind}_claims"]
        assert check.passed is (not short)
        assert check.severity is dg.AssetCheckSeverity.WARN
        assert check.metadata["track"].value == "first"
        assert check.metadata["withheld"].value == sum(claim["outcome"] == "skip" for claim in claims)
        assert str(check.description).startswith("first: ")
        assert all(claim["detail"] in str(check.description) for claim in short)


def test_simulated_raters_are_called_so_in_the_metadata_of_what_rests_on_them(
    runs: dict[str, dg.ExecuteInProcessResult],
) -> None:
    said = {
        event.asset_key.to_user_string(): event.materialization.metadata["raters"].value
        for event in runs["first"].get_asset_materialization_events()
        if event.asset_key and "raters" in event.materialization.metadata
    }
    assert set(said) == {"ratings", "label_grounds", "label_signal_verdict"}
    assert all("Nobody rated this" in str(text) for text in said.values())


def test_a_run_again_gives_every_asset_the_version_that_it_had(bench: Bench, runs: Any) -> None:
    def versions(run: dg.ExecuteInProcessResult) -> dict[str, str]:
        return {
            str(event.asset_key): event.materialization.tags["dagster/data_version"]
            for event in run.get_asset_materialization_events()
            if event.materialization.tags
        }

    assert versions(bench.run("second")) == versions(runs["second"])


def test_a_track_that_was_studied_under_another_plan_is_left_out_of_the_report_and_said_to_be(
    bench: Bench, runs: Any, tmp_path: Path
) -> None:
    text = bundled("plans/label-signal.toml").read_text("utf-8").replace("seed = 20260808", "seed = 1")
    plan = tmp_path / "other.toml"
    plan.write_text(text, "utf-8")
    report = bench.run("first", plan=str(plan)).asset_value("label_signal_portfolio")
    assert list(report["tracks"]) == ["first"]
    assert report["skipped_tracks"] == {"second": "it was studied under another plan; materialize it again"}


def test_a_partition_whose_folder_is_gone_is_refused_in_a_sentence(bench: Bench) -> None:
    with pytest.raises(InputRefused, match=r"track 'absent' is not in folder .*, which holds first, second"):
        bench.run("absent")


def test_no_path_leads_past_a_broken_seal(bench: Bench, runs: Any) -> None:
    """The check of the plan stops the run before anything is computed; and each asset opens the seal itself."""
    plan = runs["first"].asset_value("label_plan")
    broken = plan.model_copy(update={"values": plan.values | {"seed": 2}})
    grounds = runs["first"].asset_value("label_grounds")
    with pytest.raises(SealBroken):
        next(
            label_signal_verdict(
                runs["first"].asset_value("rating_track"),
                runs["first"].asset_value("ratings"),
                runs["first"].asset_value("adjudications"),
                grounds,
                broken,
                software=Software(),
            )
        )


def test_the_sensor_offers_each_new_track_once(tracks: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_TRACKS", str(tracks))
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance=instance)
        result = label_signal_tracks(context)
        assert isinstance(result, dg.SensorResult)
        (request,) = result.dynamic_partitions_requests or []
        assert sorted(request.partition_keys) == sorted(KEYS)
        instance.add_dynamic_partitions(str(TRACKS.name), list(KEYS))
        assert isinstance(label_signal_tracks(context), dg.SkipReason)
    write_track(tmp_path / "broken", track="key = 3")
    monkeypatch.setenv("EVAL_PIPELINE_TRACKS", str(tmp_path))
    with dg.DagsterInstance.ephemeral() as instance:
        skipped = label_signal_tracks(dg.build_sensor_context(instance=instance))
        assert isinstance(skipped, dg.SkipReason)
        assert "passed over: track folder" in str(skipped.skip_message)


@dg.asset(partitions_def=LETTERS)
def letter(context: dg.AssetExecutionContext) -> dict[str, Any]:
    return {"letter": context.partition_key}


@dg.asset(partitions_def=LETTERS)
def capital(letter: dict[str, Any]) -> dict[str, Any]:
    return {"letter": letter["letter"].upper()}


@dg.asset(ins={"capital": dg.AssetIn(metadata={ALL_PARTITIONS: True}, partition_mapping=dg.AllPartitionMapping())})
def word(capital: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {key: value["letter"] for key, value in capital.items()}


def test_evidence_of_a_partition_is_read_by_its_key_and_all_of_it_where_that_is_asked_for(tmp_path: Path) -> None:
    resources = {"io_manager": EvidenceIOManager(home=str(tmp_path))}

    def make(*assets: dg.AssetsDefinition, key: str | None = None, only: str | None = None) -> Any:
        selection = dg.AssetSelection.assets(only) if only else None
        with dg.DagsterInstance.ephemeral() as instance:
            return dg.materialize(
                list(assets), resources=resources, instance=instance, partition_key=key, selection=selection,
                run_config=QUIET,
            )  # fmt: skip

    for key in ("b", "a"):
        make(letter, capital, key=key)
    assert make(letter, capital, word, only="word").asset_value("word") == {"a": "A", "b": "B"}
    assert make(letter, capital, key="b", only="capital").asset_value("capital") == {"letter": "B"}
    with pytest.raises(EvidenceRefused, match="asset letter@c was never materialized"):
        make(letter, capital, key="c", only="capital")
