"""The worksheet of an adjudicator: written with empty cells, and read as it was filled."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eval_pipeline.errors import MalformedAdjudication
from eval_pipeline.jsonl import found
from eval_pipeline.studies.label_signal.ratings import Ratings, Unit
from eval_pipeline.studies.label_signal.rows import read_rows
from eval_pipeline.studies.label_signal.rubric import Dimension
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, Queued

WORKSHEET_HEAD = ("item_id", "system_id", "raters", "priority", "prompt", "answer", "ratings")
SETTLED = ("rubric_gap", "reason")


def worksheet(ratings: Ratings, track: Track, queued: Sequence[Queued]) -> str:
    """The queue as CSV for an adjudicator: texts and ratings, and empty cells for the final scores.

    A cell that a spreadsheet would take for a formula is led by an apostrophe.
    """
    prompts = {item.item_id: item.prompt for item in track.items}
    texts = {(one.item_id, one.system_id): one.text for one in track.responses}
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    writer.writerow([*WORKSHEET_HEAD, *track.rubric.keys, *SETTLED])
    for one in queued:
        rows = ratings.scores[ratings.unit == ratings.units.index(one.unit)]
        shown = "; ".join(
            f"{key} {' '.join(f'{score:g}' for score in rows[:, place] if not np.isnan(score))}"
            for place, key in enumerate(track.rubric.keys)
        )
        cells = [
            *one.unit,
            ratings.source,
            f"{one.priority:g}",
            prompts.get(one.unit[0], ""),
            texts.get(one.unit, ""),
            shown,
        ]
        writer.writerow([*(_inert(cell) for cell in cells), *[""] * len(track.rubric.keys), "", ""])
    return sink.getvalue()


def _inert(cell: str) -> str:
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def read_adjudications(path: Path, ratings: Ratings, track: Track) -> tuple[Adjudicated, ...]:
    """The worksheet as an adjudicator filled it, CSV or JSON Lines; rows without any final score are still open.

    `rubric_gap` is "yes" or "no" (true or false in JSON); it is empty on an open row, and on no other.

    Raises: MalformedAdjudication: every fault of the file, by line and field.
    """
    what = f"adjudication file {str(path)!r}"
    read = read_rows(path, MalformedAdjudication, what)
    expected = ("item_id", "system_id", *track.rubric.keys, "rubric_gap")
    faults = list(read.faults)
    if read.columns is not None and (missing := [name for name in expected if name not in read.columns]):
        faults.append(f"columns: found no {', and no '.join(map(repr, missing))}; give all those of the worksheet")
    elif read.columns is None and not read.lines and not faults:
        faults.append("found nothing in it, expected a row for each answer")
    units = {tuple(_inert(part) for part in unit): unit for unit in ratings.units}
    units |= {unit: unit for unit in ratings.units}
    done: dict[Unit, Adjudicated] = {}
    for line in () if faults else read.lines:
        unknown = _unknown(line.fields, track) if read.columns is None else None
        one = unknown or _adjudicated(line.fields, units, track)
        if isinstance(one, str):
            faults.append(f"line {line.number}, {one}")
        elif one is not None and one.unit in done:
            faults.append(f"line {line.number}, field 'item_id': found the answer twice, expected it once")
        elif one is not None:
            done[one.unit] = one
    if faults:
        raise MalformedAdjudication(what, faults)
    return tuple(done.values())


_YES_NO = {True: True, False: False, "yes": True, "no": False, "true": True, "false": False}


def _unknown(fields: Mapping[str, Any], track: Track) -> str | None:
    known = {*WORKSHEET_HEAD, *track.rubric.keys, *SETTLED}
    name = next((name for name in fields if name not in known), None)
    return None if name is None else f"field {name!r}: found a field that no rule reads; remove it"


def _adjudicated(
    fields: Mapping[str, Any], units: Mapping[tuple[str, ...], Unit], track: Track
) -> Adjudicated | str | None:
    """What a row settles; None where it is open, and a text where it has a fault."""
    named = (str(fields.get("item_id", "")), str(fields.get("system_id", "")))
    if named not in units:
        return f"field 'item_id': found {found(named[0])} of system {found(named[1])}, which nobody rated"
    final = {}
    for dimension in track.rubric.dimensions:
        value = fields.get(dimension.key)
        if value is None:
            continue
        score = _final(value, dimension)
        if score is None:
            return f"field {dimension.key!r}: found {found(value)}, expected a number on the scale"
        final[dimension.key] = score
    gap, reason = fields.get("rubric_gap"), fields.get("reason")
    if not final:
        return None if gap is None else f"field 'rubric_gap': found {found(gap)}, expected a final score beside it"
    key = gap.strip().lower() if isinstance(gap, str) else gap
    if not isinstance(key, (bool, str)) or key not in _YES_NO:
        return f"field 'rubric_gap': found {found(gap)}, expected yes or no: did the rubric leave it open?"
    if not isinstance(reason, (str, type(None))):
        return f"field 'reason': found {found(reason)}, expected a text"
    return Adjudicated(units[named], final, _YES_NO[key], reason or "")


def _final(value: Any, dimension: Dimension) -> float | None:
    """A score on the scale, between two levels too where these have an order; None if it is none."""
    if isinstance(value, bool):
        return None
    try:
        score = float(value)
    except (TypeError, ValueError):
        return None
    between = dimension.ordered and dimension.low <= score <= dimension.low + dimension.span
    return score if between or score in dimension.levels else None
