"""One reading of a row of either table, wherever it comes from, so that equal corpora give equal snapshots."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from eval_pipeline.records import Entry, Signal

_OFFSETS = 1 << 53  # no text is longer
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that were read and have no part in the snapshot, counted by the reason."""

    deleted_entries: int
    deleted_signals: int
    orphan_signals: int
    blank_signals: int


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A row of raw_sources: the entry, and whether it was soft-deleted."""

    entry: Entry
    deleted: bool


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A row of signals: the signal, and whether it was soft-deleted."""

    signal: Signal
    deleted: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """The live rows of both tables, each in the order of its keys."""

    entries: tuple[Entry, ...]
    signals: tuple[Signal, ...]
    left_out: LeftOut


def signal_of(lookup_key: str, entry_id: str, content: str, provenance: Any) -> Signal:
    """A signal with the span that its provenance records, or with what is wrong with it."""
    start, end, fault = _span(provenance)
    return Signal(lookup_key, entry_id, content, start, end, fault)


def _span(provenance: Any) -> tuple[int | None, int | None, str | None]:
    if provenance is None:
        return None, None, None
    if not isinstance(provenance, dict):
        return None, None, f"within a provenance that is no object: {_shortened(provenance)}"
    span = provenance.get("span")
    if span is None:
        return None, None, None
    if isinstance(span, dict) and all(_is_offset(span.get(end)) for end in ("start", "end")):
        return int(span["start"]), int(span["end"]), None
    return None, None, f"recorded as {_shortened(span)}"


def _is_offset(value: Any) -> bool:
    """Whether a JSON number is a whole one, in whatever form: jsonb turns 1e1 into 10."""
    return type(value) in (int, float) and abs(value) < _OFFSETS and value == int(value)


def _shortened(value: Any) -> str:
    text = json.dumps(_by_value(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _by_value(value: Any) -> Any:
    """A JSON value with whole numbers as such, in whatever form they were written: jsonb keeps their value alone."""
    if isinstance(value, dict):
        return {name: _by_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_by_value(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def live_rows(entry_rows: Iterable[EntryRow], signal_rows: Iterable[SignalRow]) -> Rows:
    """The rows that count: not deleted, and for signals with text and with an entry that is not deleted either."""
    all_entries, all_signals = list(entry_rows), list(signal_rows)
    entries = {row.entry.id: row.entry for row in all_entries if not row.deleted}
    undeleted = [row.signal for row in all_signals if not row.deleted]
    owned = [signal for signal in undeleted if signal.entry_id in entries]
    signals = [signal for signal in owned if signal.content.strip()]
    return Rows(
        entries=tuple(entries[key] for key in sorted(entries)),
        signals=tuple(sorted(signals, key=lambda signal: signal.id)),
        left_out=LeftOut(
            deleted_entries=len(all_entries) - len(entries),
            deleted_signals=len(all_signals) - len(undeleted),
            orphan_signals=len(undeleted) - len(owned),
            blank_signals=len(owned) - len(signals),
        ),
    )
