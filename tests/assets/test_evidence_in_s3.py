"""The chain with its evidence in a bucket of a real S3 server: what it comes to, and what it says of damage."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager
from assets.resources import evidence_location, evidence_store, s3_endpoint
from eval_pipeline.errors import EvidenceRefused, StoreRefused
from eval_pipeline.store import FolderStore, Store, store_at


def in_bucket(s3: Any) -> tuple[EvidenceIOManager, Store]:
    """An IO manager over a fresh bucket, and the store that it writes to."""
    location = f"s3://{s3.bucket()}/evidence"
    return EvidenceIOManager(home="/nowhere", location=location, endpoint=s3.endpoint), store_at(
        location, endpoint=s3.endpoint
    )


def test_the_chain_comes_to_the_same_files_under_the_same_names_as_in_a_folder(
    s3: Any, new_bench: Callable[[], Any], small_corpus: Callable[[Path], Path], tmp_path: Path
) -> None:
    """Not one byte differs, nor one name, but for the history of runs; the pointers of a run have that run's name."""
    corpus = {"corpus": str(small_corpus(tmp_path / "corpus")), "out": str(tmp_path / "out")}
    local, remote = new_bench(), new_bench()
    io_manager, store = in_bucket(s3)
    here, there = local.run(corpus), remote.run(corpus, io_manager=io_manager)
    folder = FolderStore(local.home / "evidence")
    assert not (remote.home / "evidence").exists()
    names = {name.replace(there.run_id, here.run_id): name for name in store.names("") if "history" not in name}
    assert sorted(names) == [name for name in folder.names("") if "history" not in name]
    assert all(store.read(name) == folder.read(same) for same, name in names.items())
    assert len(store.names("extraction_history/")) == 2


@dg.asset
def answer() -> dict[str, Any]:
    return {"value": 3}


@dg.asset
def doubled(answer: dict[str, Any]) -> dict[str, Any]:
    return {"value": 2 * answer["value"]}


def materialize(io_manager: EvidenceIOManager, only: str) -> dg.ExecuteInProcessResult:
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [answer, doubled],
            selection=dg.AssetSelection.assets(only),
            resources={"io_manager": io_manager},
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            instance=instance,
        )


@pytest.mark.parametrize("damaged", ["object", "pointer"])
def test_an_object_that_was_damaged_is_refused_and_mended_by_the_next_run_that_makes_it(s3: Any, damaged: str) -> None:
    io_manager, store = in_bucket(s3)
    materialize(io_manager, "answer")
    latest = "answer/latest"
    name = latest if damaged == "pointer" else f"answer/{store.read(latest).decode()}"
    sound = store.read(name)
    store.write(name, sound[:-3])
    with pytest.raises(EvidenceRefused) as refused:
        materialize(io_manager, "doubled")
    said = f"evidence {store.place(name)!r} is not what was written; materialize the asset again"
    assert str(refused.value) == said
    materialize(io_manager, "answer")
    assert store.read(name) == sound
    assert materialize(io_manager, "doubled").asset_value("doubled") == {"value": 6}


def test_a_bucket_that_is_not_there_ends_the_run_with_one_sentence(s3: Any) -> None:
    with pytest.raises(StoreRefused, match="bucket 'no-such-bucket' is not there"):
        materialize(EvidenceIOManager(home="/nowhere", location="s3://no-such-bucket", endpoint=s3.endpoint), "answer")


def test_the_environment_names_the_place_and_the_server(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = f"s3://{s3.bucket()}/evidence"
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path))
    monkeypatch.setenv("EVAL_PIPELINE_EVIDENCE", location)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("EVAL_PIPELINE_S3_ENDPOINT", s3.endpoint)
    io_manager: Any = (build_defs().resources or {})["io_manager"]
    materialize(io_manager, "answer")
    assert "answer/latest" in evidence_store().names("")
    assert (evidence_store().location, list(tmp_path.iterdir())) == (location, [])
    secret = "known-to-the-tests-alone"
    assert secret not in repr(io_manager) + repr(evidence_store())


def test_without_a_word_of_the_environment_the_place_is_a_folder_of_the_home_and_the_server_that_of_aws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path))
    for name in ("EVAL_PIPELINE_EVIDENCE", "EVAL_PIPELINE_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    assert (evidence_location(), s3_endpoint()) == (str(tmp_path / "evidence"), "")
