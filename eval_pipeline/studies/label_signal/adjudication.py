"""The worksheet of an adjudicator: written with empty cells, and read as it was filled."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eval_pipeline.errors import MalformedAdjudication
from eval_pipeline.jsonl import found, read_lines
from eval_pipeline.studies.label_signal.ratings import Ratings, Unit
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, Queued

WORKSHEET_HEAD = ("item_id", "system_id", "priority", "prompt", "answer", "ratings")
SETTLED = ("rubric_gap", "reason")


def worksheet(ratings: Ratings, track: Track, queued: Sequence[Queued]) -> str:
    """The queue as CSV for an adjudicator: texts and ratings, and empty cells for the final scores.

    A cell that a spreadsheet would take for a formula is led by an apostrophe.
    """
    prompts = {item.item_id: item.prompt for item in track.items}
    texts = {(one.item_id, one.system_id): one.text for one in track.responses}
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([*WORKSHEET_HEAD, *track.rubric.keys, *SETTLED])
    for one in queued:
        rows = ratings.scores[ratings.unit == ratings.units.index(one.unit)]
        shown = "; ".join(
            f"{key} {' '.join(f'{score:g}' for score in rows[:, place] if not np.isnan(score))}"
            for place, key in enumerate(track.rubric.keys)
        )
        cells = [*one.unit, f"{one.priority:g}", prompts.get(one.unit[0], ""), texts.get(one.unit, ""), shown]
        writer.writerow([*(_inert(cell) for cell in cells), *[""] * len(track.rubric.keys), "", ""])
    return sink.getvalue()


def _inert(cell: str) -> str:
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def read_adjudications(path: Path, ratings: Ratings, track: Track) -> tuple[Adjudicated, ...]:
    """The worksheet as an adjudicator filled it, CSV or JSON Lines; rows without any final score are still open.

    `rubric_gap` is "yes" or "no" (true or false in JSON); it may be empty only on an open row.

    Raises: MalformedAdjudication: every fault of the file, by line and field.
    """
    what = f"adjudication file {str(path)!r}"
    rows, faults = _adjudication_rows(path, what)
    done: dict[Unit, Adjudicated] = {}
    for line, fields in rows:
        one = _adjudicated(fields, ratings, track)
        if isinstance(one, str):
            faults.append(f"line {line}, {one}")
        elif one is not None and one.unit in done:
            faults.append(f"line {line}, field 'item_id': found the answer twice, expected it once")
        elif one is not None:
            done[one.unit] = one
    if faults:
        raise MalformedAdjudication(what, faults)
    return tuple(done.values())


def _adjudication_rows(path: Path, what: str) -> tuple[list[tuple[int, Mapping[str, Any]]], list[str]]:
    if path.suffix.lower() != ".csv":
        read = read_lines(path, MalformedAdjudication, what)
        return [(line.number, line.fields) for line in read.lines], list(read.faults)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise MalformedAdjudication(what, [f"cannot be read ({error.strerror}); give a file that can be"]) from None
    except UnicodeDecodeError as error:
        return [], [f"byte {error.start + 1}: found a byte that is not UTF-8, expected UTF-8"]
    reader = csv.DictReader(io.StringIO(text, newline=""))
    rows: list[tuple[int, Mapping[str, Any]]] = [
        (reader.line_num, {name: cell for name, cell in row.items() if name and cell}) for row in reader
    ]
    return rows, []


_YES_NO = {True: True, False: False, "yes": True, "no": False, "true": True, "false": False}


def _adjudicated(fields: Mapping[str, Any], ratings: Ratings, track: Track) -> Adjudicated | str | None:
    unit = (str(fields.get("item_id", "")), str(fields.get("system_id", "")))
    if unit not in ratings.units:
        return f"field 'item_id': found {found(unit[0])} of system {found(unit[1])}, which nobody rated"
    final = {}
    for dimension in track.rubric.dimensions:
        value = fields.get(dimension.key)
        if value is None:
            continue
        try:
            score = float(value)
        except (TypeError, ValueError):
            score = np.nan
        if not dimension.low <= score <= dimension.low + dimension.span:
            return f"field {dimension.key!r}: found {found(value)}, expected a number on the scale"
        final[dimension.key] = score
    if not final:
        return None
    gap = fields.get("rubric_gap")
    key = gap.strip().lower() if isinstance(gap, str) else gap
    if not isinstance(key, (bool, str)) or key not in _YES_NO:
        return f"field 'rubric_gap': found {found(gap)}, expected yes or no: did the rubric leave it open?"
    return Adjudicated(unit, final, _YES_NO[key], str(fields.get("reason", "")))
