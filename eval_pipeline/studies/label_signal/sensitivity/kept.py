"""Outcomes that were computed once, in a folder, each in a file named by the hash of what it is of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eval_pipeline.canonical import canonical_bytes
from eval_pipeline.evidence import write_atomically
from eval_pipeline.studies.label_signal.sensitivity.worlds import Known


def kept_in(folder: Path) -> Known:
    """What is kept in a folder; a file that cannot be read is computed again."""

    def known(key: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        path = folder / key[:2] / f"{key}.json"
        try:
            found: dict[str, Any] = json.loads(path.read_bytes())
        except (OSError, ValueError):
            data = canonical_bytes(compute())
            write_atomically(path, data)
            found = json.loads(data)  # as it will be read the next time, the order of its names included
        return found

    return known


def kept_in_memory() -> Known:
    """What is kept as long as the process lives."""
    found: dict[str, dict[str, Any]] = {}

    def known(key: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if key not in found:
            found[key] = json.loads(canonical_bytes(compute()))  # as a folder gives it
        return found[key]

    return known
