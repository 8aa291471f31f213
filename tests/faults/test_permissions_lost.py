"""What this user may not write, or not read, any more: one sentence that names it and says what to do."""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval_pipeline.errors import Refused
from eval_pipeline.heldout import Drawn
from eval_pipeline.sealing import sealed_partition
from tests.begun import be_bound_by_permissions
from tests.faults.conftest import Place, Undisturbed, found_in, left_half_done, sentence

# What is taken away from the user: a folder or a file below, and what of it is left; and what the sentence names.
LOST = {
    "home": ("home", 0o555, "home/"),
    "history": ("home/dagster", 0o555, "home/dagster"),
    "an earlier journal": ("home/journals/*/*.jsonl", 0o000, "home/journals/"),
    "evidence": ("home/evidence/*", 0o555, "home/evidence/"),
    "findings": ("out", 0o555, "out"),
}


@pytest.mark.parametrize("case", LOST)
def test_what_may_not_be_written_or_read_is_one_sentence_that_names_it(
    case: str, place: Place, undisturbed: Undisturbed, new_folder: Callable[[str], Path]
) -> None:
    pattern, mode, named = LOST[case]
    base = new_folder("lost")
    home, out = base / "home", base / "out"
    shutil.copytree(undisturbed.home, home)
    (home / "dagster").mkdir(exist_ok=True)
    out.mkdir()
    if case == "home":
        shutil.rmtree(home / "evidence")
    own = str(shutil.copytree(place.folder / "dagster", base / "dagster"))
    history = {} if case in ("home", "history") else {"DAGSTER_HOME": own}
    changed = list(base.glob(pattern))
    modes = [path.stat().st_mode for path in changed]
    for path in changed:
        path.chmod(mode)
    said = sentence(place.extraction(home, out, bound=True, **history))
    assert f"{base}/{named}" in said
    assert "; " in said
    assert left_half_done(base) == []
    assert not (out / "verdict.json").exists()
    for path, before in zip(changed, modes, strict=True):
        path.chmod(before)
    if case == "evidence":  # of the others the second run is no different
        run = place.extraction(home, out, bound=True, **history)
        assert run.wait() == 0, run.said
        assert found_in(out) == undisturbed.found


@pytest.mark.parametrize("lost", ["ledger.jsonl", "ledger.jsonl.lock", "locks", "."])
def test_a_ledger_or_a_lock_that_may_not_be_written_is_one_sentence(
    lost: str, new_folder: Callable[[str], Path]
) -> None:
    """The ledger holds a line already."""
    home = new_folder("lost_ledger")
    assert _bound(_seal, home, "first") == "done"
    (home / lost).chmod(0o555 if (home / lost).is_dir() else 0o444)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    said = _bound(_seal, home, "second")
    assert said.startswith(("ledger ", repr(str(home))[:-1])), said
    assert "Permission denied" in said
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def _seal(home: Path, generation: str) -> None:
    sealed_partition(
        Drawn(("run-1",), ("run-2",)),
        study="retry-limit",
        generation=generation,
        seed=1,
        locks=home / "locks",
        ledger=home / "ledger.jsonl",
        now=datetime(2026, 11, 30, tzinfo=UTC),
    )


def _bound(act: Callable[[Path, str], None], home: Path, generation: str) -> str:
    """What a process that permissions bind came to: "done", or the sentence with which it was refused."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        be_bound_by_permissions()
        try:
            act(home, generation)
            os.write(write, b"done")
        except Refused as refused:
            os.write(write, str(refused).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as said:
        return said.read().decode()
