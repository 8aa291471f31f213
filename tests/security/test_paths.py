"""A text of the data that becomes part of a path leads nowhere else."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval_pipeline.errors import InputRefused, MalformedTrack
from eval_pipeline.heldout import Drawn
from eval_pipeline.judge.journal import Head, JournalWriter
from eval_pipeline.sealing import sealed_partition
from eval_pipeline.store import FolderStore
from eval_pipeline.studies.label_signal.track import discover, read_track
from tests.studies.label_signal.conftest import TRACK_TOML, write_track

OUTSIDE = ["../outside", "/tmp/outside", "a/b", "..", ".", "a\\b", "a\nb", "", "é" * 10, "a" * 65]


@pytest.mark.parametrize("name", OUTSIDE, ids=repr)
def test_a_generation_that_is_no_name_of_a_file_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    base = tmp_path / "home"
    with pytest.raises(InputRefused, match="generation: found"):
        sealed_partition(
            Drawn(("run-1",), ("run-2",)),
            study="retry-limit",
            generation=name,
            seed=1,
            locks=base / "locks",
            ledger=base / "ledger.jsonl",
            now=datetime(2026, 11, 30, tzinfo=UTC),
        )
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("name", [name for name in OUTSIDE if "\n" not in name], ids=repr)
def test_a_track_whose_key_is_no_name_of_a_file_is_refused_with_its_field(name: str, tmp_path: Path) -> None:
    """Its documents are named by it: memo, worksheet, history."""
    escaped = name.replace("\\", "\\\\")
    folder = write_track(tmp_path / "small", track=TRACK_TOML.replace('key = "small"', f'key = "{escaped}"'))
    with pytest.raises(MalformedTrack) as refused:
        read_track(folder)
    assert "track.toml, field 'key': found" in str(refused.value)
    assert discover(tmp_path).folders == {}


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../b", "a//b", "a\\b", "a\0b", ""], ids=repr)
def test_no_name_of_evidence_leads_out_of_its_store(name: str, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "evidence")
    for act in (store.read, store.exists, store.place, lambda one: store.write(one, b"x")):
        with pytest.raises(InputRefused, match="evidence: found the name"):
            act(name)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/b"])
def test_a_journal_of_a_run_whose_name_is_a_path_is_not_opened(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="journal: found"):
        JournalWriter(tmp_path / "journals", Head(run=name, judge={}, plan={}))
    assert not (tmp_path / "outside.jsonl").exists()
