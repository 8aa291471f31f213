"""The snapshot: a corpus as it stood at one moment, with the hash of what was read, or why it could not be read."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain

import pyarrow as pa

from eval_pipeline.canonical import content_hash
from eval_pipeline.corpus.rows import LeftOut, Rows
from eval_pipeline.evidence import read_refusal, refusal_text
from eval_pipeline.records import Entry, Reason, Refusal, Signal
from eval_pipeline.tables import records, rows_where, table_of

_TEXT: pa.DataType = pa.string()
_WHOLE: pa.DataType = pa.int64()
_SCHEMA = pa.schema(
    [
        ("kind", _TEXT),
        ("id", _TEXT),
        ("entry_id", _TEXT),
        ("workspace", _TEXT),
        ("band", _TEXT),
        ("content", _TEXT),
        ("start", _WHOLE),
        ("end", _WHOLE),
        ("span_fault", _TEXT),
    ]
)
_NOTHING = LeftOut(deleted_entries=0, deleted_signals=0, orphan_signals=0, blank_signals=0)


@dataclass(frozen=True)
class Snapshot:
    """Entries and signals in the order of their ids; `source` says where from, without a password.

    Where `refusal` is given the corpus could not be read and there are no rows.
    """

    entries: tuple[Entry, ...]
    signals: tuple[Signal, ...]
    left_out: LeftOut
    source: str
    refusal: Refusal | None

    @cached_property
    def hash(self) -> str | None:
        """The sha256 of all that a study can see of the corpus, wherever it came from; None if it was not read."""
        if self.refusal:
            return None
        return content_hash(
            {"entries": [asdict(e) for e in self.entries], "signals": [asdict(s) for s in self.signals]}
        )

    @cached_property
    def signals_by_entry(self) -> dict[str, tuple[Signal, ...]]:
        """The signals of each entry that has any, in the order of their ids."""
        grouped: dict[str, list[Signal]] = {}
        for signal in self.signals:
            grouped.setdefault(signal.entry_id, []).append(signal)
        return {entry_id: tuple(signals) for entry_id, signals in grouped.items()}

    @cached_property
    def entries_by_id(self) -> dict[str, Entry]:
        """The entries by their ids."""
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def workspaces(self) -> tuple[str, ...]:
        """The workspaces of the entries, in order; an entry need not have one."""
        return tuple(sorted({entry.workspace for entry in self.entries if entry.workspace}))

    def of_workspace(self, workspace: str) -> "Snapshot":
        """What of the corpus belongs to a workspace, as if the rest were not there; one that is not there is refused.

        What was left out was left out of the whole, and stays counted.
        """
        if self.refusal:
            return self
        source = f"{self.source}, workspace {workspace!r}"
        entries = tuple(entry for entry in self.entries if entry.workspace == workspace)
        if not entries:
            there = ", ".join(self.workspaces) or "none"
            detail = f"the corpus has no entry of workspace {workspace!r}; name one that it has: {there}"
            return Snapshot((), (), self.left_out, source, Refusal(Reason.CORPUS_EMPTY, detail))
        ids = {entry.id for entry in entries}
        signals = tuple(signal for signal in self.signals if signal.entry_id in ids)
        return Snapshot(entries, signals, self.left_out, source, refusal=None)

    def to_table(self) -> pa.Table:
        """Both kinds of rows as one table, whose metadata carries the rest."""
        entries = (
            {"kind": "entry", "id": e.id, "workspace": e.workspace, "band": e.band, "content": e.content}
            for e in self.entries
        )
        signals = ({"kind": "signal", **asdict(signal)} for signal in self.signals)
        rest = json.dumps({"source": self.source, "left_out": asdict(self.left_out)})
        about = {"snapshot": rest, "refusal": refusal_text(self.refusal)}
        return table_of(chain(entries, signals), _SCHEMA.with_metadata(about))

    @classmethod
    def from_table(cls, table: pa.Table) -> "Snapshot":
        """The snapshot that `to_table` wrote."""
        rest = json.loads(table.schema.metadata[b"snapshot"])
        return cls(
            entries=tuple(
                Entry(row["id"], row["workspace"], row["band"], row["content"])
                for row in records(rows_where(table, "kind", ["entry"]))
            ),
            signals=tuple(
                Signal(row["id"], row["entry_id"], row["content"], row["start"], row["end"], row["span_fault"])
                for row in records(rows_where(table, "kind", ["signal"]))
            ),
            left_out=LeftOut(**rest["left_out"]),
            source=rest["source"],
            refusal=read_refusal(table.schema.metadata[b"refusal"]),
        )


def snapshot_of(rows: Rows, *, source: str) -> Snapshot:
    """The snapshot of rows that were read."""
    return Snapshot(rows.entries, rows.signals, rows.left_out, source, refusal=None)


def unread(reason: Reason, detail: str, *, source: str) -> Snapshot:
    """The snapshot of a corpus that could not be read, which says why."""
    return Snapshot((), (), _NOTHING, source, Refusal(reason, detail))
