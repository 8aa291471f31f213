"""A corpus from a folder of JSON Lines: entries.jsonl and signals.jsonl."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval_pipeline.corpus.rows import EntryRow, SignalRow, live_rows, signal_of
from eval_pipeline.corpus.snapshot import Snapshot, snapshot_of
from eval_pipeline.errors import CorpusIncomplete, CorpusUnreachable, MalformedCorpus
from eval_pipeline.jsonl import Line, found, read_lines
from eval_pipeline.records import Entry

_FILES = frozenset({"entries.jsonl", "signals.jsonl"})
_Key = Annotated[str, Field(min_length=1)]


class EntryLine(BaseModel):
    """A line of entries.jsonl; columns that no study reads may stand beside these."""

    model_config = ConfigDict(strict=True, extra="ignore")
    lookup_key: _Key
    content: str
    workspace: str | None = None
    band: str | None = None
    deleted_at: str | None = None


class SignalLine(BaseModel):
    """A line of signals.jsonl; columns that no study reads may stand beside these."""

    model_config = ConfigDict(strict=True, extra="ignore")
    lookup_key: _Key
    entry_id: _Key
    content: str
    provenance: dict[str, Any] | None = None
    deleted_at: str | None = None


_Row = TypeVar("_Row", EntryLine, SignalLine)


def read_folder(folder: Path) -> Snapshot:
    """The snapshot of a folder; one without either file is an empty corpus.

    Raises:
        CorpusUnreachable: there is no such folder.
        CorpusIncomplete: one of the two files is missing.
        MalformedCorpus: a line cannot be read, a field is missing or of another type, or a lookup_key stands twice.

    """
    try:
        present = [path.name for path in folder.iterdir() if path.name in _FILES]
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CorpusUnreachable(
            f"corpus folder {str(folder)!r} cannot be read ({why}); give a folder or a Postgres DSN"
        ) from None
    if len(present) == 1:
        (missing,) = _FILES - set(present)
        raise CorpusIncomplete(f"corpus folder {str(folder)!r} holds {present[0]} and no {missing}; export both")
    if not present:
        return snapshot_of(live_rows([], []), source=str(folder))
    entries = [
        EntryRow(Entry(row.lookup_key, row.workspace, row.band, row.content), row.deleted_at is not None)
        for row in _read(folder / "entries.jsonl", EntryLine)
    ]
    signals = [
        SignalRow(signal_of(row.lookup_key, row.entry_id, row.content, row.provenance), row.deleted_at is not None)
        for row in _read(folder / "signals.jsonl", SignalLine)
    ]
    return snapshot_of(live_rows(entries, signals), source=str(folder))


def _read(path: Path, model: type[_Row]) -> list[_Row]:
    what = f"corpus file {str(path)!r}"
    text = read_lines(path, MalformedCorpus, what)
    faults = list(text.faults)
    rows: list[_Row] = []
    first_seen: dict[str, int] = {}
    for line in text.lines:
        try:
            row = model.model_validate(line.fields)
        except ValidationError as error:
            faults += _faults(line, error)
            continue
        if row.lookup_key in first_seen:
            faults.append(
                f"line {line.number}, field 'lookup_key': found {found(row.lookup_key)} again, which stands on line"
                f" {first_seen[row.lookup_key]}, expected it once"
            )
        first_seen.setdefault(row.lookup_key, line.number)
        rows.append(row)
    if faults:
        raise MalformedCorpus(what, faults)
    return rows


def _faults(line: Line, error: ValidationError) -> Iterator[str]:
    for fault in error.errors():
        field = ".".join(str(part) for part in fault["loc"])
        shown = "nothing" if fault["type"] == "missing" else found(fault["input"])
        expected = {"missing": "a value", "string_too_short": "text"}.get(
            fault["type"], fault["msg"].removeprefix("Input should be ")
        )
        yield f"line {line.number}, field {field!r}: found {shown}, expected {expected}"
