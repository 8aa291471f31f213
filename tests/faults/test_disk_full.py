"""A disk that is full, wherever that befalls a run: one sentence, nothing half written, and on it goes with room."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eval_pipeline.ledger import Kind, read_ledger
from tests.faults.conftest import Place, Undisturbed, evidence_in, found_in, left_half_done, sentence

ROOM_KB = 64_000
# What lies on the small disk, how many KB that has, and what the sentence names.
CASES = {
    "history": ("home/dagster", 900, "Dagster's history in "),
    "evidence": ("home/evidence", 160, "home/evidence/"),
    "journal": ("home/journals", 4, "home/journals/"),
    "report": ("out", 8, "out/"),
}


@contextlib.contextmanager
def disk(folder: Path, kb: int) -> Iterator[Callable[[], None]]:
    """A small disk on a folder while it is there; what it gives makes room on it."""
    folder.mkdir(parents=True, exist_ok=True)
    _mounted("-t", "tmpfs", "-o", f"size={kb}k", "small", str(folder))
    try:
        yield lambda: _mounted("-o", f"remount,size={ROOM_KB}k", str(folder))
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mounted(*arguments: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("a small disk is mounted by root alone")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")


@pytest.mark.parametrize("case", CASES)
def test_a_full_disk_is_one_sentence_and_with_room_the_same_command_finds_what_it_would_have_found(
    case: str, place: Place, undisturbed: Undisturbed, new_folder: Callable[[str], Path]
) -> None:
    where, kb, named = CASES[case]
    base = new_folder("full")
    home, out = base / "home", base / "out"
    history = {} if case == "history" else place.history
    with disk(base / where, kb) as make_room:
        said = sentence(place.extraction(home, out, **history))
        assert named in said
        assert "make room" in said
        assert left_half_done(home, *([out] if out.exists() else [])) == []
        assert (
            not (out / "verdict.json").exists()
            or (out / "verdict.json").read_bytes() == undisturbed.found["verdict.json"]
        )
        make_room()
        run = place.extraction(home, out, **history)
        assert run.wait() == 0, run.said
        assert found_in(out) == undisturbed.found
        assert evidence_in(home) == undisturbed.evidence
        assert left_half_done(home, out) == []


def test_a_ledger_that_cannot_be_written_is_named_and_goes_on_once_there_is_room(
    place: Place, new_folder: Callable[[str], Path]
) -> None:
    home, out = new_folder("full_ledger"), new_folder("out")
    with disk(home, 64) as make_room:
        (home / "evidence").symlink_to(new_folder("evidence"))
        (home / "ledger.jsonl.lock").touch()
        (home / "filler").write_bytes(b"x" * 64 * 1024)
        said = sentence(place.begin("run", "fire-rate", "--out", out, home=home, **place.history))
        assert f"{home}/ledger.jsonl" in said
        assert "(No space left on device); make room" in said
        assert left_half_done(home) == []
        make_room()
        run = place.begin("run", "fire-rate", "--out", out, home=home, **place.history)
        assert run.wait() in (0, 2, 3), run.said
        assert next(line.kind for line in read_ledger(home / "ledger.jsonl")) is Kind.PLAN_SEALED
