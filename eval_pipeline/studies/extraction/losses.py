"""The losses, entry by entry: what was missed or left undecided, and the signal that came nearest."""

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.lexical import similarity
from eval_pipeline.records import Fate, Signal


@dataclass(frozen=True, slots=True)
class Loss:
    """A proposition that was not recovered; `nearest` is None where its entry has no signal."""

    quartile: int
    proposition: str
    fate: Fate
    composition_only: bool
    nearest: Signal | None


@dataclass(frozen=True, slots=True)
class EntryLosses:
    """What one entry lost, in the order of the frame, and what of it stayed undecided.

    `content` is None where the corpus lacks the entry.
    """

    entry_id: str
    workspace: str | None
    band: str | None
    words: int | None
    propositions: int
    content: str | None
    losses: tuple[Loss, ...]

    @property
    def missed(self) -> int:
        """How many propositions were missed."""
        return sum(loss.fate is Fate.MISSED for loss in self.losses)


def losses_by_entry(fates: pa.Table, snapshot: Snapshot) -> tuple[EntryLosses, ...]:
    """The entries that lost anything, those that lost most first."""
    rows_by_entry = defaultdict(list)
    for row in fates.to_pylist():
        rows_by_entry[row["entry_id"]].append(row)
    entries = []
    for entry_id, rows in rows_by_entry.items():
        lost = [row for row in rows if row["fate"] != Fate.RECOVERED]
        entry = snapshot.entries_by_id.get(entry_id)
        if lost:
            entries.append(
                EntryLosses(
                    entry_id=entry_id,
                    workspace=rows[0]["workspace"],
                    band=rows[0]["band"],
                    words=rows[0]["words"],
                    propositions=len(rows),
                    content=entry.content if entry else None,
                    losses=tuple(_loss(row["quartile"], row["proposition"], row, snapshot) for row in lost),
                )
            )
    return tuple(sorted(entries, key=lambda entry: (-entry.missed, -len(entry.losses), entry.entry_id)))


def _loss(quartile: int, proposition: str, row: dict[str, object], snapshot: Snapshot) -> Loss:
    signals = snapshot.signals_by_entry.get(str(row["entry_id"]), ())
    nearest = max(signals, key=lambda signal: similarity(signal.content, proposition), default=None)
    return Loss(quartile, proposition, Fate(str(row["fate"])), bool(row["composition_only"]), nearest)
