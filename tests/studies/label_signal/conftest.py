"""The plans, a track so small that its every number can be worked out by hand, and ratings made of rows."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.plan import read_plan
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.ratings import Ratings, Source, gathered
from eval_pipeline.studies.label_signal.track import ITEMS, RESPONSES, RUBRIC, TRACK, Track, read_track

TRACK_TOML = """\
key = "small"
title = "Small"
depth = "production"
question = "Is the answer right, and is it said well?"
systems = ["old", "new"]
reference = "old"
target_items = 4
replication = 3
gold_rate = 0.25
known_limitations = ["Four items."]

[strata]
difficulty = ["easy", "hard"]

[[failure_codes]]
code = "T-01"
name = "wrong figure"
description = "The figure is not the one that was asked for."
penalties = { correct = 2 }

[[failure_codes]]
code = "T-02"
name = "rude"
description = "The answer belittles the one who asks."
penalties = { tone = 2 }

[simulation]
noise = { correct = 0.3, tone = 0.5 }
contested = ["tone"]
"""

RUBRIC_TOML = """\
key = "small-rubric"
name = "Small"
revision = 1
changelog = ["r1: first version"]

[[dimensions]]
key = "correct"
name = "Correct"
question = "Is it right?"
scale = "ordinal"
levels = [0, 1, 2, 3]
weight = 2
critical = true
critical_threshold = 0

[[dimensions]]
key = "tone"
name = "Tone"
question = "Is it said well?"
scale = "ordinal"
levels = [0, 1, 2, 3]
weight = 1
"""

# Planted in the old system: T-01 on q2, T-02 on q3. The answers of q1 are gold.
ITEM_ROWS: list[dict[str, Any]] = [
    {"item_id": f"q{n}", "strata": {"difficulty": level}, "difficulty": hard, "prompt": f"Question {n}?"}
    for n, level, hard in ((1, "easy", 0.2), (2, "easy", 0.3), (3, "hard", 0.7), (4, "hard", 0.8))
]
RESPONSE_ROWS: list[dict[str, Any]] = [
    {
        "item_id": f"q{n}",
        "system_id": system,
        "text": f"Answer of {system} to {n}.",
        "planted_failure": {("q2", "old"): "T-01", ("q3", "old"): "T-02"}.get((f"q{n}", system)),
        "gold_scores": {"correct": 3, "tone": 2} if n == 1 else None,
    }
    for n in (1, 2, 3, 4)
    for system in ("old", "new")
]


def jsonl(rows: Sequence[Any]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_track(folder: Path, **files: str | bytes | None) -> Path:
    """The small track in a folder that is made if need be.

    Args:
        folder: where.
        files: other contents of the files `track`, `rubric`, `items` or `responses`; None leaves the file out.

    """
    small = {"track": TRACK_TOML, "rubric": RUBRIC_TOML, "items": jsonl(ITEM_ROWS), "responses": jsonl(RESPONSE_ROWS)}
    names = {"track": TRACK, "rubric": RUBRIC, "items": ITEMS, "responses": RESPONSES}
    assert set(files) <= set(names)
    folder.mkdir(parents=True, exist_ok=True)
    for key, content in (small | files).items():
        if content is not None:
            (folder / names[key]).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def ratings_of(
    track: Track,
    rows: Sequence[Sequence[Any]],
    *,
    batch: Sequence[str] | None = None,
    duration_s: Sequence[float | None] | None = None,
    codes: Sequence[Sequence[str]] | None = None,
    source: Source = "people",
) -> Ratings:
    """Ratings of rows (item, system, rater, score of each dimension in the order of the rubric).

    None is a score that was left out. `batch`, `duration_s` and `codes` are of each row; batches are in the order in
    which they come up.
    """
    keys = track.rubric.keys
    names = tuple(dict.fromkeys(batch or ()))
    plain = [
        {
            "item_id": row[0],
            "system_id": row[1],
            "rater_id": row[2],
            **dict(zip(keys, row[3:], strict=True)),
            "batch": batch[place] if batch else None,
            "duration_s": duration_s[place] if duration_s else None,
        }
        for place, row in enumerate(rows)
    ]
    return Ratings(
        **gathered(plain, keys, batches=names),
        codes=tuple(frozenset(one) for one in codes) if codes is not None else None,
        source=source,
        rubric_version=track.rubric.version,
    )


@pytest.fixture(scope="session")
def shipped() -> LabelSignalPlan:
    return read_plan(bundled("plans/label-signal.toml"), LabelSignalPlan)


@pytest.fixture(scope="session")
def compat() -> LabelSignalPlan:
    return read_plan(bundled("plans/label-signal_compat.toml"), LabelSignalPlan)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Track:
    """The small track: two dimensions, `correct` (weight 2, critical at 0) and `tone`, two systems, four items."""
    return read_track(write_track(tmp_path_factory.mktemp("tracks") / "small"))


@pytest.fixture(scope="session")
def tracks() -> dict[str, Track]:
    """The tracks that come with the house, by their keys."""
    folders = sorted(path for path in bundled("tracks").iterdir() if path.is_dir())
    return {track.key: track for track in map(read_track, folders)}
