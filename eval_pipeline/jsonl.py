"""JSON Lines, read strictly: every fault of a file is found, with its line and field, before anything is used."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval_pipeline.errors import Malformed

_DIGITS = 100
_LEVELS = 100
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _NoNumber:
    """What stands for a number in a line and is none, as it is shown in the fault."""

    shown: str


@dataclass(frozen=True, slots=True)
class Line:
    """One object of a file, and the number of the line it stands on, counted from 1."""

    number: int
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file holds: the lines that could be read, and a clause for each fault of the others."""

    lines: tuple[Line, ...]
    faults: tuple[str, ...]


def read_lines(path: Path, malformed: Callable[[str, list[str]], Malformed], what: str) -> Lines:
    """The objects of a file, one a line; blank lines are passed over.

    Raises: `malformed`: the file cannot be read at all.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise malformed(what, [f"cannot be read ({error.strerror}); give a file that this user may read"]) from None
    return parse_lines(data)


def parse_lines(data: bytes) -> Lines:
    """The objects of a file's bytes, one a line; blank lines are passed over."""
    lines: list[Line] = []
    faults: list[str] = []
    if data.startswith(_BOM):
        faults.append("line 1, before the first field: found a byte order mark, expected UTF-8 without one; save it so")
        data = data.removeprefix(_BOM)
    rows = data.split(b"\n")
    crlf = [number for number, row in enumerate(rows, 1) if row.endswith(b"\r")]
    if crlf:
        faults.append(
            f"line {crlf[0]}, after the last field: found a line end of CR LF (on {len(crlf)} lines), expected LF;"
            " convert the line ends"
        )
    for number, row in enumerate(rows, 1):
        if row.strip():
            try:
                lines.append(Line(number, _parse(row.removesuffix(b"\r"))))
            except ValueError as error:
                faults.append(f"line {number}, {error}")
    return Lines(tuple(lines), tuple(faults))


def _parse(row: bytes) -> dict[str, Any]:
    try:
        text = row.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1}: found a byte that is not UTF-8, expected UTF-8") from None
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_NoNumber, parse_int=_integer)
        if not isinstance(value, dict):
            raise ValueError(f"column 1: found {found(value)}, expected an object")
        for field, leaf in _leaves(value, "", 0):
            if fault := _fault_of(leaf):
                raise ValueError(f"field {field!r}: {fault}")
    except json.JSONDecodeError as error:
        raise ValueError(f"column {error.colno}: found invalid JSON ({error.msg}), expected one object") from None
    except RecursionError:
        raise ValueError("column 1: found JSON nested too deep to read, expected one flat object") from None
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"field {repeated!r}: found it twice, expected it once")
    return fields


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= _DIGITS else _NoNumber(f"an integer of {len(digits)} digits")


def _leaves(value: Any, field: str, level: int) -> Iterator[tuple[str, Any]]:
    """Every value within a value that holds no others, and every key, each with the path of the field it stands in.

    Raises: RecursionError: values are nested deeper than who uses them could follow.
    """
    if level > _LEVELS:
        raise RecursionError
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(item, f"{field}[{place}]", level + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            path = f"{field}.{name}" if field else name
            yield path, name
            yield from _leaves(item, path, level + 1)
    else:
        yield field, value


def _fault_of(leaf: Any) -> str | None:
    if isinstance(leaf, _NoNumber):
        return f"found {leaf.shown}, expected a number that JSON and this program can hold"
    if isinstance(leaf, str) and any("\ud800" <= mark <= "\udfff" for mark in leaf):
        return "found a lone surrogate, expected text that UTF-8 can hold"
    return None


def found(value: Any) -> str:
    """A value as a fault names it: short, and with its type where that is the fault."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, _NoNumber):
        return value.shown
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    shown = json.dumps(value, ensure_ascii=True)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
