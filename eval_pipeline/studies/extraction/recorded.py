"""What became of each proposition and span of a recorded run, from its judgments and its table of entries."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.evidence import read_table
from eval_pipeline.records import Fate, Kind, Label

JUDGMENTS, QUARTILES = "judgments.jsonl", "entry_quartiles.parquet"
_DECIDING = (Kind.NO_SIGNALS, Kind.SCREEN, Kind.SIGNAL)
_NEEDED = ("kind", "entry_id", "unit", "quartile", "signal_id", "hypothesis", "label")
_RUN_AGAIN = "name the folder of a run's findings, with all that the run wrote"


class Key(NamedTuple):
    """A proposition whoever judges: where it stands, its text, and which of several with one text it is."""

    entry_id: str
    quartile: int
    text: str
    number: int


class SpanKey(NamedTuple):
    """A signal whose span was judged."""

    entry_id: str
    signal_id: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordedJudgments:
    """The fate of each proposition that was judged, and of each signal with a label whether its span supports it."""

    fates: Mapping[Key, Fate]
    spans: Mapping[SpanKey, bool]


def read_judgments(folder: Path) -> RecordedJudgments:
    """What a run judged.

    What an answer without a label means is a rule of the run's plan, which the folder does not hold; it is the one
    under which the judgments make the run's own table.

    Raises: EvidenceRefused: a file is missing or is not what a run wrote, or the two are not of one run.
    """
    spans: dict[SpanKey, bool] = {}
    by_unit: dict[int, list[Mapping[str, Any]]] = {}
    for row in _rows(folder / JUDGMENTS):
        if row["kind"] == Kind.SPAN and row["label"]:
            key = SpanKey(row["entry_id"], row["signal_id"], row["hypothesis"])
            spans[key] = row["label"] == Label.SUPPORTED
        elif row["kind"] in _DECIDING and row["unit"] is not None:
            by_unit.setdefault(row["unit"], []).append(row)
    table = _table(folder / QUARTILES)
    for unlabelled in (Fate.UNDECIDED, Fate.MISSED):
        fates = dict(_fates(by_unit, unlabelled))
        if _fits(fates, table):
            return RecordedJudgments(fates, spans)
    raise EvidenceRefused(
        f"{str(folder / JUDGMENTS)!r} and {QUARTILES!r} beside it are not of one run: the judgments do not make the"
        f" table; {_RUN_AGAIN}"
    )


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield _row(file, number, line)
    except OSError as error:
        raise EvidenceRefused(f"judgments {str(file)!r} cannot be read ({error.strerror}); {_RUN_AGAIN}") from None
    except UnicodeDecodeError:
        raise EvidenceRefused(f"judgments {str(file)!r} are no text in UTF-8; {_RUN_AGAIN}") from None


def _row(file: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
        return {name: row[name] for name in _NEEDED}
    except (ValueError, TypeError, KeyError):
        raise EvidenceRefused(
            f"judgments {str(file)!r}, line {number}: found what is no judgment of this study; {_RUN_AGAIN}"
        ) from None


def _table(file: Path) -> Counter[tuple[str, int, Literal["hits", "judged"]]]:
    """How much was recovered and how much judged, by entry and quartile."""
    try:
        table = read_table(file)
        rows = table.select(["entry_id", "quartile", "hits", "judged"]).to_pylist()
    except (OSError, KeyError, pa.ArrowInvalid):
        raise EvidenceRefused(f"table {str(file)!r} is not there, or is not what a run wrote; {_RUN_AGAIN}") from None
    found: Counter[tuple[str, int, Literal["hits", "judged"]]] = Counter()
    for row in rows:
        found[row["entry_id"], row["quartile"], "hits"] += row["hits"]
        found[row["entry_id"], row["quartile"], "judged"] += row["judged"]
    return found


def _fits(fates: Mapping[Key, Fate], table: Counter[tuple[str, int, Literal["hits", "judged"]]]) -> bool:
    made: Counter[tuple[str, int, Literal["hits", "judged"]]] = Counter()
    for key, fate in fates.items():
        made[key.entry_id, key.quartile, "hits"] += fate is Fate.RECOVERED
        made[key.entry_id, key.quartile, "judged"] += fate is not Fate.UNDECIDED
    return made == table  # counters are equal where they differ in what counts 0


def _fates(by_unit: Mapping[int, list[Mapping[str, Any]]], unlabelled: Fate) -> Iterator[tuple[Key, Fate]]:
    """The fate of each proposition, if a signal without a label leaves it at `unlabelled`."""
    seen: Counter[tuple[str, int, str]] = Counter()
    for unit in sorted(by_unit):
        rows = by_unit[unit]
        place = rows[0]["entry_id"], rows[0]["quartile"], rows[0]["hypothesis"]
        seen[place] += 1
        yield Key(*place, seen[place]), _fate(rows, unlabelled)


def _fate(rows: list[Mapping[str, Any]], unlabelled: Fate) -> Fate:
    signals = [row["label"] for row in rows if row["kind"] == Kind.SIGNAL]
    if Label.SUPPORTED in signals:
        return Fate.RECOVERED
    last = rows[-1]
    if last["kind"] == Kind.SCREEN and last["label"] is None:  # its signals were not asked about
        return Fate.UNDECIDED
    return unlabelled if None in signals else Fate.MISSED
