"""Grounds that were computed once, in a folder, each in a file named by the hash of what they are of."""

from collections.abc import Callable
from pathlib import Path

from eval_pipeline.evidence import json_bytes, read_json, write_atomically
from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.sensitivity.worlds import Known


def kept_in(folder: Path) -> Known:
    """What is kept in a folder; a file that cannot be read is computed again."""

    def known(key: str, compute: Callable[[], Grounds]) -> Grounds:
        path = folder / key[:2] / f"{key}.json"
        try:
            found: Grounds = read_json(path.read_bytes(), Grounds)
        except (OSError, ValueError):
            found = compute()
            write_atomically(path, json_bytes(found, Grounds))
        return found

    return known


def kept_in_memory() -> Known:
    """What is kept as long as the process lives."""
    found: dict[str, Grounds] = {}

    def known(key: str, compute: Callable[[], Grounds]) -> Grounds:
        if key not in found:
            found[key] = compute()
        return found[key]

    return known
