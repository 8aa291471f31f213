"""The ledger figure: signals per entry, band by band."""

from fractions import Fraction

import numpy as np

from eval_pipeline.studies.extraction.bands import Band, band_ledger


def test_signals_per_entry_worked_by_hand(note, world_of):
    snapshot = world_of(
        [
            note("a", {"s": [], "t": [], "u": []}, [], band="triage"),
            note("b", {"s": []}, [], band="triage"),
            note("c", {}, [], band="triage"),
            note("d", {"s": [], "t": []}, [], band="over-ceiling"),
            note("e", {}, [], band="confident"),
            note("f", {"s": []}, [], band=None),
        ]
    ).snapshot
    assert band_ledger(snapshot).bands == (
        Band("confident", 1, 0, 0, Fraction(0)),
        Band("not recorded", 1, 1, 1, Fraction(1)),
        Band("over-ceiling", 1, 1, 2, Fraction(2)),
        Band("triage", 3, 2, 4, Fraction(4, 3)),
    )


def test_an_empty_corpus_has_no_bands(world_of):
    assert band_ledger(world_of([]).snapshot).bands == ()


def test_the_bands_add_up_to_the_corpus(note, world_of):
    rng = np.random.default_rng(3)
    notes = [
        note(
            f"e{place:02d}", {f"s{k}": [] for k in range(rng.integers(0, 5))}, [], band=str(rng.choice(["x", "y", "z"]))
        )
        for place in range(40)
    ]
    snapshot = world_of(notes).snapshot
    bands = band_ledger(snapshot).bands
    assert sum(band.entries for band in bands) == 40
    assert sum(band.signals for band in bands) == len(snapshot.signals)
    assert sum(band.entries_with_signals for band in bands) == len(snapshot.signals_by_entry)
    assert sum(band.signals_per_entry * band.entries for band in bands) == len(snapshot.signals)
