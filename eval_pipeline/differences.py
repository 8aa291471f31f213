"""The first place at which two findings differ, as a person finds it: a field, a line, a row or a byte."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from eval_pipeline.evidence import read_table

_SHOWN = 60


def first_difference(name: str, recorded: bytes, made: bytes) -> str | None:
    """Where a file differs from what it was to be, and what stands there; None where it does not.

    Args:
        name: of the file, whose ending says what it holds: .json, .jsonl, .parquet, or text.
        recorded: what is there.
        made: what its inputs give.

    """
    if recorded == made:
        return None
    if name.endswith(".json"):
        return _of_json(recorded, made)
    if name.endswith(".parquet"):
        return _of_tables(recorded, made)
    return _of_lines(recorded, made, of_json=name.endswith(".jsonl"))


def _of_json(recorded: bytes, made: bytes) -> str:
    try:
        found = json.loads(recorded)
    except ValueError:
        return f"{_of_lines(recorded, made, of_json=False)}, which is no JSON any more"
    place = _of_values(found, json.loads(made), "")
    return place or f"{_of_bytes(recorded, made)}, in how it is written"


def _of_values(found: Any, wanted: Any, path: str) -> str | None:
    """The path of the first value that differs, as in /claims/0/estimate; depth first, in the order of the second."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        for name in [*wanted, *(name for name in found if name not in wanted)]:
            if name not in found or name not in wanted:
                return f"{path}/{name}: {'nothing is there' if name not in found else 'it should not be there'}"
            if place := _of_values(found[name], wanted[name], f"{path}/{name}"):
                return place
        return None
    if isinstance(found, list) and isinstance(wanted, list):
        for at, (one, other) in enumerate(zip(found, wanted, strict=False)):
            if place := _of_values(one, other, f"{path}/{at}"):
                return place
        return None if len(found) == len(wanted) else f"{path or '/'}: {_is(len(found), len(wanted))} values"
    same = type(found) is type(wanted) and found == wanted
    return None if same else f"{path or '/'}: {_is(found, wanted)}"


def _of_tables(recorded: bytes, made: bytes) -> str:
    try:
        found = read_table(recorded)
    except (pa.ArrowInvalid, OSError):
        return f"{_of_bytes(recorded, made)}, and it is no table any more"
    wanted = read_table(made)
    if found.column_names != wanted.column_names:
        return f"its columns: {_is(', '.join(found.column_names), ', '.join(wanted.column_names))}"
    for name in wanted.column_names:
        pairs = zip(found[name].to_pylist(), wanted[name].to_pylist(), strict=False)
        for row, (one, other) in enumerate(pairs):
            if one != other:
                return f"row {row + 1}, column {name}: {_is(one, other)}"
    if found.num_rows != wanted.num_rows:
        return f"its rows: {_is(found.num_rows, wanted.num_rows)}"
    return f"{_of_bytes(recorded, made)}, in how it is written"


def _of_lines(recorded: bytes, made: bytes, *, of_json: bool) -> str:
    found, wanted = recorded.split(b"\n"), made.split(b"\n")
    for number, (one, other) in enumerate(zip(found, wanted, strict=False), 1):
        if one != other:
            return f"line {number}, {_of_json(one, other) if of_json and other else _of_bytes(one, other)}"
    return f"its lines: {_is(len(found), len(wanted))}"


def _of_bytes(recorded: bytes, made: bytes) -> str:
    at = next((at for at, (one, other) in enumerate(zip(recorded, made, strict=False)) if one != other), None)
    if at is None:
        return f"its length: {_is(len(recorded), len(made))}"
    around = slice(max(0, at - 8), at + 24)
    return f"byte {at}: {_is(recorded[around].decode('utf-8', 'replace'), made[around].decode('utf-8', 'replace'))}"


def _is(found: object, wanted: object) -> str:
    return f"found {_shown(found)}, expected {_shown(wanted)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
