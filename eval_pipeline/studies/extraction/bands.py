"""The ledger figure: how many signals an entry gives, by capture band; what a redesign would change the cost of."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from eval_pipeline.corpus.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Band:
    """The entries of a band, those of them that have signals, and the signals."""

    band: str
    entries: int
    entries_with_signals: int
    signals: int
    signals_per_entry: Fraction


@dataclass(frozen=True, slots=True)
class BandLedger:
    """The bands in the order of their names."""

    bands: tuple[Band, ...]


def band_ledger(snapshot: Snapshot) -> BandLedger:
    """One line a band."""
    bands = {entry.id: entry.band or "not recorded" for entry in snapshot.entries}
    entries = Counter(bands.values())
    signals = Counter(bands[signal.entry_id] for signal in snapshot.signals)
    with_signals = Counter(bands[entry_id] for entry_id in snapshot.signals_by_entry)
    return BandLedger(
        tuple(
            Band(band, entries[band], with_signals[band], signals[band], Fraction(signals[band], entries[band]))
            for band in sorted(entries)
        )
    )
