"""A place of files by name: a folder and a real S3 server alike, and what each says when it cannot."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.errors import EvidenceAbsent, InputRefused, StoreRefused
from eval_pipeline.store import Store, store_at

LARGE = 40_000_000


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store, in a folder and in a bucket."""
    if request.param == "folder":
        return store_at(str(tmp_path / "evidence"))
    s3 = request.getfixturevalue("s3")
    return store_at(f"s3://{s3.bucket()}/team/evidence", endpoint=s3.endpoint)


def test_what_was_written_is_read_back_and_stands_among_the_names(store: Store) -> None:
    for name in ("runs/1/corpus@north", "corpus/latest", "corpus/a.json"):
        store.write(name, name.encode())
    assert store.read("runs/1/corpus@north") == b"runs/1/corpus@north"
    assert store.names("") == ["corpus/a.json", "corpus/latest", "runs/1/corpus@north"]
    assert store.names("corpus/") == ["corpus/a.json", "corpus/latest"]
    assert store.names("corpus/l") == ["corpus/latest"]
    assert store.names("run") == ["runs/1/corpus@north"]


def test_a_name_that_was_not_written_is_not_there_nor_is_a_folder_of_names(store: Store) -> None:
    store.write("corpus/latest", b"x")
    assert [store.exists(name) for name in ("corpus/latest", "corpus", "frame/latest")] == [True, False, False]
    assert store.names("frame") == []
    with pytest.raises(EvidenceAbsent) as refused:
        store.read("frame/latest")
    assert str(refused.value) == (f"evidence '{store.location}/frame/latest' is not there; materialize the asset again")


def test_what_is_written_again_is_what_was_written_last_and_nothing_may_be_empty_too(store: Store) -> None:
    store.write("latest", b"first, which was longer")
    store.write("latest", b"second")
    store.write("nothing", b"")
    assert store.read("latest") == b"second"
    assert (store.exists("nothing"), store.read("nothing")) == (True, b"")


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../beside", "a/../../b", "a//b", "a/", "./a", "a\\b", "a\0"])
def test_no_name_leads_out_of_its_store(store: Store, name: str) -> None:
    for touch in (store.read, store.exists, store.place, lambda name: store.write(name, b"")):
        with pytest.raises(InputRefused, match="expected parts between single slashes"):
            touch(name)


def test_a_place_says_where_a_file_is_for_other_programs(tmp_path: Path) -> None:
    assert store_at(str(tmp_path)).place("a/b") == str(tmp_path / "a" / "b")
    assert store_at("s3://bucket/").place("a/b") == "s3://bucket/a/b"
    assert store_at("s3://bucket/team/evidence/").place("a/b") == "s3://bucket/team/evidence/a/b"
    assert store_at("s3://bucket/team/evidence/").location == "s3://bucket/team/evidence"


@pytest.mark.parametrize("location", ["gs://bucket/a", "s3://", "s3://B/a", "s3:///a", "s3://bucket?region=x"])
def test_a_location_that_is_no_bucket_is_refused_in_one_sentence(location: str) -> None:
    with pytest.raises(InputRefused) as refused:
        store_at(location)
    assert str(refused.value) == (
        f"evidence: found {location!r}, expected a folder or s3://bucket/prefix; set EVAL_PIPELINE_EVIDENCE again"
    )


@pytest.mark.parametrize(
    ("location", "endpoint"),
    [("s3://id:hunter2@bucket/a", ""), ("s3://bucket", "http://id:hunter2@127.0.0.1:9000"), ("s3://bucket", "ftp://x")],
)
def test_credentials_in_a_location_or_an_endpoint_are_refused_and_not_repeated(location: str, endpoint: str) -> None:
    with pytest.raises(InputRefused) as refused:
        store_at(location, endpoint=endpoint)
    assert "hunter2" not in str(refused.value)


def every_use(store: Store) -> list[Callable[[], Any]]:
    return [
        lambda: store.read("a"),
        lambda: store.write("a", b"x"),
        lambda: store.exists("a"),
        lambda: store.names(""),
    ]


def test_a_bucket_that_is_not_there_is_named_whatever_is_asked_of_it(s3: Any) -> None:
    for use in every_use(store_at("s3://no-such-bucket/a", endpoint=s3.endpoint)):
        with pytest.raises(StoreRefused) as refused:
            use()
        assert str(refused.value) == (
            f"bucket 'no-such-bucket' is not there at {s3.endpoint}; make it, or set EVAL_PIPELINE_EVIDENCE again"
        )


def test_a_server_that_is_down_is_named(s3: Any) -> None:
    """Nothing listens on port 1; each use tries three times, which takes a second."""
    store = store_at("s3://bucket", endpoint="http://127.0.0.1:1")
    for use in (lambda: store.exists("a"), lambda: store.write("a", b"x")):
        with pytest.raises(StoreRefused) as refused:
            use()
        assert str(refused.value) == (
            "the S3 server at http://127.0.0.1:1 cannot be reached; start it, or set EVAL_PIPELINE_S3_ENDPOINT again"
        )


def test_refused_credentials_are_said_and_never_shown(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    location = f"s3://{s3.bucket()}/a"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAWRONG")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    store = store_at(location, endpoint=s3.endpoint)
    with s3.refusing():
        for use in every_use(store):
            with pytest.raises(StoreRefused) as refused:
                use()
            said = str(refused.value)
            assert f"refuses the credentials for {location}" in said
            assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in said
            assert "AKIAWRONG" not in said + repr(store)
            assert "hunter2" not in said + repr(store)


_WRITE = """
import sys
from eval_pipeline.store import store_at
store_at(sys.argv[1], endpoint=sys.argv[2]).write("latest", b"x" * int(sys.argv[3]))
"""


def test_of_a_write_that_was_killed_nothing_is_seen_and_what_was_there_stays(s3: Any) -> None:
    """The process is killed when the first of its parts has arrived and the last has not."""
    bucket = s3.bucket()
    store = store_at(f"s3://{bucket}/a", endpoint=s3.endpoint)
    store.write("latest", b"before")
    command = [sys.executable, "-c", _WRITE, store.location, s3.endpoint, str(LARGE)]
    with subprocess.Popen(command) as process:
        while not s3.arrived(bucket):
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -9
    assert 0 < s3.arrived(bucket) < LARGE
    assert (store.names(""), store.read("latest")) == (["latest"], b"before")


def test_a_store_that_is_only_named_asks_nobody() -> None:
    """Asking would fail, and take a second."""
    store = store_at("s3://bucket", endpoint="http://127.0.0.1:1")
    assert vars(store) == {"bucket": "bucket", "prefix": "", "endpoint": "http://127.0.0.1:1"}
