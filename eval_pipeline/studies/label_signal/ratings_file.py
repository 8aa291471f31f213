"""People's ratings from a file: JSON Lines, CSV or TSV, one row for each score or one for each rated answer."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval_pipeline.errors import MalformedRatings
from eval_pipeline.jsonl import found, read_lines
from eval_pipeline.studies.label_signal.ratings import Ratings, Source, gathered
from eval_pipeline.studies.label_signal.rubric import Dimension
from eval_pipeline.studies.label_signal.track import Track

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_WHO = ("item_id", "system_id", "rater_id")
_ABOUT = ("batch", "order", "duration_s", "failure_codes", "rubric_version", "source")
_SOURCES: tuple[Source, ...] = ("people", "simulated")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the file, and the line it stands on."""

    line: int
    fields: Mapping[str, Any]


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

    Raises: MalformedRatings: every fault of the file, by line and field: a missing column, a score that is no level, an
        answer that the track does not hold, a score that was given twice, ratings of another version of the rubric.

    """
    what = f"ratings file {str(path)!r}"
    rows, faults = _rows(path, what)
    if not rows and not faults:
        faults.append("found no ratings in it, expected a row for each")
    if faults:
        raise MalformedRatings(what, faults)
    names = {name for row in rows for name in row.fields}
    system = "system_id" if "system_id" in names or "system" not in names else "system"
    columns = (_WHO[0], system, _WHO[2])
    long = {"dimension", "value"} <= names
    keys = track.rubric.keys
    missing = [name for name in columns if name not in names]
    if not long and not any(key in names for key in keys):
        missing.append("'dimension' and 'value', or a column for each dimension such as " + repr(keys[0]))
    if missing:
        raise MalformedRatings(what, [f"columns: found no {_named(missing)}; add it to every row" ])
    sheet = _Sheet()
    for row in rows:
        _gather(row, columns, long, track, sheet)
    if sheet.faults:
        raise MalformedRatings(what, sheet.faults)
    time = next((name for name in ("batch", "order") if any(row.get(name) is not None for row in sheet.rows.values())), None)
    gathered_rows = list(sheet.rows.values())
    faults = _whole_faults(gathered_rows, time, track)
    if faults:
        raise MalformedRatings(what, faults)
    order = {unit: number for number, unit in enumerate((one.item_id, one.system_id) for one in track.responses)}
    gathered_rows.sort(key=lambda row: (order.get((row["item_id"], row["system_id"]), len(order)), row["item_id"], row["system_id"], row["rater_id"]))
    plain = [{"duration_s": None, **dict.fromkeys(keys), **row, "batch": str(row[time]) if time else None} for row in gathered_rows]
    batches = sorted({row["batch"] for row in plain}, key=_in_time) if time else []
    known = {*columns, *keys, *_ABOUT, *(("dimension", "value") if long else ())}
    return Ratings(
        **gathered(plain, keys, batches=batches),
        codes=tuple(frozenset(row["failure_codes"]) for row in plain) if all("failure_codes" in row for row in plain) else None,
        source="simulated" if any(row.get("source") == "simulated" for row in plain) else "people",
        rubric_version=track.rubric.version,
        unread=tuple(sorted(names - known)),
    )


def _rows(path: Path, what: str) -> tuple[list[_Row], list[str]]:
    separator = _SEPARATORS.get(path.suffix.lower())
    if separator is None:
        read = read_lines(path, MalformedRatings, what)
        return [_Row(line.number, line.fields) for line in read.lines], list(read.faults)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise MalformedRatings(what, [f"cannot be read ({error.strerror}); give a file that this user may read"]) from None
    except UnicodeDecodeError as error:
        return [], [f"byte {error.start + 1}: found a byte that is not UTF-8, expected UTF-8"]
    if separator == "," and "\t" in text.partition("\n")[0] and "," not in text.partition("\n")[0]:
        separator = "\t"  # tab separated, though its name ends in .csv
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    rows, faults = [], []
    try:
        for fields in reader:
            if None in fields or None in fields.values():
                faults.append(f"line {reader.line_num}: found more or fewer cells than the header names, expected as many")
            else:
                rows.append(_Row(reader.line_num, {name: cell for name, cell in fields.items() if cell != ""}))
    except csv.Error as error:
        faults.append(f"line {reader.line_num}: found no CSV ({error})")
    header = reader.fieldnames or []
    if twice := next((name for name in header if list(header).count(name) > 1), None):
        faults.insert(0, f"line 1: found column {twice!r} twice, expected it once")
    return rows, faults


def _gather(row: _Row, columns: Sequence[str], long: bool, track: Track, sheet: _Sheet) -> None:
    def fault(name: str, what: str) -> None:
        sheet.faults.append(f"line {row.line}, field {name!r}: {what}")

    who: list[str] = []
    for name in columns:
        value = row.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
            fault(name, f"found {'nothing' if value is None else found(value)}, expected a name")
            return
        who.append(str(value))
    if not _is_of_track(who, columns, track, fault):
        return
    own = sheet.rows.setdefault((who[0], who[1], who[2]), dict(zip(_WHO, who, strict=True)))
    if not _about(row, own, track, fault):
        return
    by_key = {one.key: one for one in track.rubric.dimensions}
    if long:
        name = row.fields.get("dimension")
        if name not in by_key:
            fault("dimension", f"found {found(name)}, expected one of {', '.join(by_key)}")
            return
        given = {"value": (by_key[name], row.fields.get("value"))}
    else:
        given = {key: (one, row.fields.get(key)) for key, one in by_key.items()}
    for name, (dimension, value) in given.items():
        if value is None:
            if long:
                fault(name, "found nothing, expected a score; leave the row out if there is none")
            continue
        score = _score(value, dimension)
        if score is None:
            levels = ", ".join(f"{level:g}" for level in dimension.levels)
            fault(name, f"found {found(value)} for dimension {dimension.key!r}, expected one of {levels}")
        elif dimension.key in own:
            fault(name, f"found a second score of rater {who[2]!r} for item {who[0]!r} of system {who[1]!r} on {dimension.key!r}, expected one; remove either")
        else:
            own[dimension.key] = score


def _is_of_track(who: Sequence[str], columns: Sequence[str], track: Track, fault: Any) -> bool:
    if who[1] not in track.about.systems:
        fault(columns[1], f"found {found(who[1])}, expected one of {', '.join(track.about.systems)}")
        return False
    if track.responses and (who[0], who[1]) not in {(one.item_id, one.system_id) for one in track.responses}:
        fault(columns[0], f"found {found(who[0])} of system {found(who[1])}, which the track does not hold")
        return False
    return True


def _about(row: _Row, own: dict[str, Any], track: Track, fault: Any) -> bool:
    """What a row says beside scores; two rows of one answer and rater must not contradict each other."""
    version = row.fields.get("rubric_version")
    if version is not None and version != track.rubric.version:
        fault("rubric_version", f"found {found(version)}, expected {track.rubric.version!r}; ratings of two versions are not pooled")
        return False
    for name in _ABOUT:
        if (value := row.fields.get(name)) is None:
            continue
        read = _read(name, value, track)
        if read is None:
            fault(name, f"found {found(value)}, expected {_EXPECTED[name]}")
            return False
        if own.setdefault(name, read) != read:
            fault(name, f"found {found(value)}, and {found(own[name])} on another row of the same answer and rater, expected one")
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


def _read(name: str, value: Any, track: Track) -> Any:
    """The value as it is kept; None where it is not what was expected."""
    if name == "failure_codes":
        codes = [part.strip() for part in value.split(";") if part.strip()] if isinstance(value, str) else value
        known = {code.code for code in track.about.failure_codes}
        return codes if isinstance(codes, list) and all(code in known for code in codes) else None
    if name == "source":
        return value if value in _SOURCES else None
    if name in ("batch", "rubric_version") and isinstance(value, str):
        return value
    number = _as_number(value)
    if number is None or (name == "duration_s" and number < 0) or name == "rubric_version":
        return None
    return number if name == "duration_s" else f"{number:g}"


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


def _whole_faults(rows: Sequence[Mapping[str, Any]], time: str | None, track: Track) -> list[str]:
    """What can only be said of the whole file."""
    faults = [
        f"item {row['item_id']!r} of system {row['system_id']!r} by rater {row['rater_id']!r}, field {time!r}: found nothing, and a value on other rows; give it on all or on none"
        for row in rows
        if time and row.get(time) is None
    ]
    sources = {row.get("source", "people") for row in rows}
    if len(sources) > 1:
        faults.append("field 'source': found people's and simulated ratings in one file, expected one kind; split it")
    return faults


def _in_time(name: str) -> tuple[int, float, str]:
    """Numbers in their order, before names in theirs."""
    number = _as_number(name)
    return (1, 0.0, name) if number is None else (0, number, name)


def _named(names: Sequence[str]) -> str:
    return ", and no ".join(name if " " in name else repr(name) for name in names)
