"""The losses, entry by entry: what was missed or left undecided, and the signal that came nearest."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import pyarrow as pa

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.lexical import similarity
from eval_pipeline.records import Fate, Signal
from eval_pipeline.tables import records, rows_where


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


class LossesByEntry(Sequence[EntryLosses]):
    """The entries that lost anything, those that lost most first; each is put together when it is asked for."""

    def __init__(
        self, lost: Mapping[str, Sequence[Mapping[str, Any]]], propositions: Mapping[str, int], snapshot: Snapshot
    ) -> None:
        self._lost, self._propositions, self._snapshot = lost, propositions, snapshot
        missed = {entry_id: sum(row["fate"] == Fate.MISSED for row in rows) for entry_id, rows in lost.items()}
        self._order = sorted(lost, key=lambda entry_id: (-missed[entry_id], -len(lost[entry_id]), entry_id))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> EntryLosses: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[EntryLosses, ...]: ...

    def __getitem__(self, place: int | slice) -> EntryLosses | tuple[EntryLosses, ...]:
        if isinstance(place, slice):
            return tuple(self._of(entry_id) for entry_id in self._order[place])
        return self._of(self._order[place])

    def _of(self, entry_id: str) -> EntryLosses:
        rows, entry = self._lost[entry_id], self._snapshot.entries_by_id.get(entry_id)
        return EntryLosses(
            entry_id=entry_id,
            workspace=rows[0]["workspace"],
            band=rows[0]["band"],
            words=rows[0]["words"],
            propositions=self._propositions[entry_id],
            content=entry.content if entry else None,
            losses=tuple(_loss(row, self._snapshot) for row in rows),
        )


def losses_by_entry(fates: pa.Table, snapshot: Snapshot) -> LossesByEntry:
    """What each entry lost."""
    lost: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in records(rows_where(fates, "fate", [Fate.MISSED, Fate.UNDECIDED])):
        lost[row["entry_id"]].append(row)
    counted = fates.group_by("entry_id").aggregate([([], "count_all")])
    propositions: dict[Any, Any] = dict(
        zip(counted["entry_id"].to_pylist(), counted["count_all"].to_pylist(), strict=True)
    )
    return LossesByEntry(lost, propositions, snapshot)


def _loss(row: Mapping[str, Any], snapshot: Snapshot) -> Loss:
    proposition, signals = row["proposition"], snapshot.signals_by_entry.get(row["entry_id"], ())
    nearest = max(signals, key=lambda signal: similarity(signal.content, proposition), default=None)
    return Loss(row["quartile"], proposition, Fate(row["fate"]), row["composition_only"], nearest)
