"""People's ratings from a file: JSON Lines, CSV or TSV, one row for each score or one for each rated answer."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval_pipeline.errors import MalformedRatings
from eval_pipeline.jsonl import Line, found
from eval_pipeline.studies.label_signal.ratings import Ratings, Source, Unit, gathered
from eval_pipeline.studies.label_signal.rows import read_rows
from eval_pipeline.studies.label_signal.rubric import Dimension
from eval_pipeline.studies.label_signal.track import Track

_WHO = ("item_id", "system_id", "rater_id")
_ABOUT = ("batch", "order", "duration_s", "failure_codes", "rubric_version", "source")
_Fault = Callable[[str, str], None]
_SOURCES: tuple[Source, ...] = ("people", "simulated")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which columns say whose a row is, whether it holds one score or all, and what it may speak of."""

    columns: tuple[str, str, str]
    long: bool
    systems: tuple[str, ...]
    answers: frozenset[Unit]
    dimensions: Mapping[str, Dimension]
    codes: frozenset[str]
    version: str


@dataclass(slots=True)
class _Sheet:
    """What was gathered of the file so far: an answer's scores by one rater, whatever line each came from."""

    rows: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def read_ratings(path: Path, track: Track) -> Ratings:
    """The ratings of a file, held against the rubric and the answers of a track.

    A row holds `item_id`, `system_id` (or `system`) and `rater_id`, and either `dimension` and `value`, or a column for
    each dimension. It may hold `batch`, or else `order`, for when it was given, `duration_s`, `failure_codes` (a list,
    or codes with ";" between them), `rubric_version`, and `source` "simulated" for what no person rated. Other columns
    are not read, and are named.

    In a long file the codes of an answer are all that its rows name; an empty cell of CSV names none.

    Raises: MalformedRatings: every fault of the file, by line and field: a missing column, a score that is no level, an
        answer that the track does not hold, a score that was given twice, ratings of another version of the rubric.

    """
    what = f"ratings file {str(path)!r}"
    read = read_rows(path, MalformedRatings, what, kept=("failure_codes",))
    rows = read.lines
    if faults := list(read.faults) or ([] if rows else ["found no ratings in it, expected a row for each"]):
        raise MalformedRatings(what, faults)
    layout = _layout(rows, track, what)
    sheet = _Sheet()
    for row in rows:
        _gather(row, layout, sheet)
    if sheet.faults:
        raise MalformedRatings(what, sheet.faults)
    given = list(sheet.rows.values())
    time = next((name for name in ("batch", "order") if any(row.get(name) is not None for row in given)), None)
    if faults := _whole_faults(given, time):
        raise MalformedRatings(what, faults)
    order = {(one.item_id, one.system_id): number for number, one in enumerate(track.responses)}
    given.sort(key=lambda row: (order.get((row["item_id"], row["system_id"]), 0), *(row[name] for name in _WHO)))
    keys = track.rubric.keys
    plain = [
        {"duration_s": None, **dict.fromkeys(keys), **row, "batch": str(row[time]) if time else None} for row in given
    ]
    asked = all("failure_codes" in row for row in plain)
    known = {*layout.columns, *(("dimension", "value") if layout.long else keys), *_ABOUT}
    if time == "batch":
        known.remove("order")
    return Ratings(
        **gathered(plain, keys, batches=sorted({row["batch"] for row in plain}, key=_in_time) if time else []),
        codes=tuple(row["failure_codes"] for row in plain) if asked else None,
        source="simulated" if any(row.get("source") == "simulated" for row in plain) else "people",
        rubric_version=track.rubric.version,
        unread=tuple(sorted({name for row in rows for name in row.fields} - known)),
    )


def _layout(rows: Sequence[Line], track: Track, what: str) -> _Layout:
    """How the file is laid out, and what its rows may speak of.

    Raises: MalformedRatings: a column is missing.
    """
    names = {name for row in rows for name in row.fields}
    system = "system" if "system" in names and "system_id" not in names else "system_id"
    columns = (_WHO[0], system, _WHO[2])
    long, keys = {"dimension", "value"} <= names, track.rubric.keys
    missing = [repr(name) for name in columns if name not in names]
    if not long and not names & set(keys):
        missing.append(f"'dimension' and 'value', or a column for each dimension such as {keys[0]!r}")
    if missing:
        raise MalformedRatings(what, [f"columns: found no {', and no '.join(missing)}; add it to every row"])
    return _Layout(
        columns=columns,
        long=long,
        systems=track.about.systems,
        answers=frozenset((one.item_id, one.system_id) for one in track.responses),
        dimensions={one.key: one for one in track.rubric.dimensions},
        codes=frozenset(code.code for code in track.about.failure_codes),
        version=track.rubric.version,
    )


def _gather(row: Line, layout: _Layout, sheet: _Sheet) -> None:
    """Adds the scores of a row, or its faults."""

    def fault(name: str, what: str) -> None:
        sheet.faults.append(f"line {row.number}, field {name!r}: {what}")

    who = _who(row, layout, fault)
    if who is None:
        return
    own = sheet.rows.setdefault(who, dict(zip(_WHO, who, strict=True)))
    if not _about(row, own, layout, fault):
        return
    for name, dimension, value in _given(row, layout, fault):
        score = _score(value, dimension)
        if score is None:
            levels = ", ".join(f"{level:g}" for level in dimension.levels)
            comma = "; write a point for the comma" if isinstance(value, str) and "," in value else ""
            fault(name, f"found {found(value)} for dimension {dimension.key!r}, expected one of {levels}{comma}")
        elif dimension.key in own:
            what = f"rater {who[2]!r} for item {who[0]!r} of system {who[1]!r} on {dimension.key!r}"
            fault(name, f"found a second score of {what}, expected one; remove either")
        else:
            own[dimension.key] = score


def _who(row: Line, layout: _Layout, fault: _Fault) -> tuple[str, str, str] | None:
    """Item, system and rater of a row."""
    names = []
    for column in layout.columns:
        value = row.fields.get(column)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
            fault(column, f"found {'nothing' if value is None else found(value)}, expected a name")
            return None
        names.append(str(value).strip())
    item, system, rater = names
    if system not in layout.systems:
        fault(layout.columns[1], f"found {found(system)}, expected one of {', '.join(layout.systems)}")
        return None
    if layout.answers and (item, system) not in layout.answers:
        fault(layout.columns[0], f"found {found(item)} of system {found(system)}, which the track does not hold")
        return None
    return item, system, rater


def _given(row: Line, layout: _Layout, fault: _Fault) -> Iterator[tuple[str, Dimension, Any]]:
    """The columns of a row that hold a score, with its dimension; what is empty in a wide file was not rated."""
    if not layout.long:
        scored = [key for key in layout.dimensions if row.fields.get(key) is not None]
        if not scored:
            what = "found nothing, nor a score of another dimension, expected one; leave the row out if there is none"
            fault(next(iter(layout.dimensions)), what)
        yield from ((key, layout.dimensions[key], row.fields[key]) for key in scored)
        return
    name, value = row.fields.get("dimension"), row.fields.get("value")
    if not isinstance(name, str) or name not in layout.dimensions:
        fault("dimension", f"found {found(name)}, expected one of {', '.join(layout.dimensions)}")
    elif value is None:
        fault("value", "found nothing, expected a score; leave the row out if there is none")
    else:
        yield "value", layout.dimensions[name], value


def _about(row: Line, own: dict[str, Any], layout: _Layout, fault: _Fault) -> bool:
    """What a row says beside scores; two rows of one answer and rater must not contradict each other."""
    version = row.fields.get("rubric_version")
    if version is not None and version != layout.version:
        what = f"found {found(version)}, expected {layout.version!r}; ratings of two versions are not pooled"
        fault("rubric_version", what)
        return False
    for name in _ABOUT:
        if (value := row.fields.get(name)) is None:
            continue
        read = _read(name, value, layout)
        if read is None:
            fault(name, f"found {found(value)}, expected {_EXPECTED[name]}")
            return False
        if name == "failure_codes":
            own[name] = own.get(name, frozenset()) | read
        elif own.setdefault(name, read) != read:
            what = f"and {found(own[name])} on another row of the same answer and rater, expected one"
            fault(name, f"found {found(value)}, {what}")
            return False
    return True


_EXPECTED = {
    "batch": "a name or a number",
    "order": "a number",
    "duration_s": "seconds, 0 or more",
    "failure_codes": "codes of the track, as a list or with ';' between them",
    "rubric_version": "a text",
    "source": "'people' or 'simulated'",
}


def _read(name: str, value: Any, layout: _Layout) -> Any:
    """The value as it is kept; None where it is not what was expected."""
    if name == "failure_codes":
        codes = [part.strip() for part in value.split(";") if part.strip()] if isinstance(value, str) else value
        known = isinstance(codes, list) and all(isinstance(code, str) and code in layout.codes for code in codes)
        return frozenset(codes) if known else None
    if name == "source":
        return value if value in _SOURCES else None
    if name in ("batch", "rubric_version") and isinstance(value, str):
        return value or None
    number = _as_number(value)
    if number is None or (name == "duration_s" and number < 0) or name == "rubric_version":
        return None
    if name == "duration_s":
        return number
    return str(value) if isinstance(value, int) else repr(number).removesuffix(".0")


def _score(value: Any, dimension: Dimension) -> float | None:
    number = _as_number(value)
    return number if number in dimension.levels else None


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _whole_faults(rows: Sequence[Mapping[str, Any]], time: str | None) -> list[str]:
    """What can only be said of the whole file."""
    faults = []
    for name in (time, "failure_codes"):
        for row in rows if name and any(name in row for row in rows) else ():
            if name not in row:
                where = f"item {row['item_id']!r} of system {row['system_id']!r} by rater {row['rater_id']!r}"
                what = "found nothing, and a value on other rows; give it on all or on none"
                faults.append(f"{where}, field {name!r}: {what}")
    spelt: dict[str, str] = {}
    for rater in dict.fromkeys(row["rater_id"] for row in rows):
        other = spelt.setdefault(" ".join(rater.split()).casefold(), rater)
        if other != rater:
            what = f"found {rater!r} and {other!r}, which one person may be; spell each rater one way"
            faults.append(f"field 'rater_id': {what}")
    sources = {row.get("source", "people") for row in rows}
    if len(sources) > 1:
        faults.append("field 'source': found people's and simulated ratings in one file, expected one kind; split it")
    return faults


def _in_time(name: str) -> tuple[int, float, str]:
    """Numbers in their order, before names in theirs."""
    number = _as_number(name)
    return (1, 0.0, name) if number is None else (0, number, name)
