"""A row is read one way: live rows in the order of their keys, the others counted, and spans taken as recorded."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.corpus.rows import EntryRow, LeftOut, SignalRow, live_rows, signal_of
from eval_pipeline.records import Entry, Signal

LAW = settings(deadline=None, derandomize=True, max_examples=60)


def entry_row(key: str, *, deleted: bool = False) -> EntryRow:
    return EntryRow(Entry(key, None, None, "text"), deleted)


def signal_row(key: str, entry_id: str, content: str = "text", *, deleted: bool = False) -> SignalRow:
    return SignalRow(Signal(key, entry_id, content, None, None, None), deleted)


@pytest.mark.parametrize(
    ("span", "start", "end"),
    [
        pytest.param({"start": 3, "end": 9}, 3, 9, id="plain"),
        pytest.param({"end": 9, "start": 3, "page": "4"}, 3, 9, id="with_more_beside"),
        pytest.param({"start": 0, "end": 0}, 0, 0, id="empty"),
        pytest.param({"start": -4, "end": 9}, -4, 9, id="negative"),
        pytest.param({"start": 9, "end": 3}, 9, 3, id="backwards"),
    ],
)
def test_whole_numbers_are_a_span_whatever_text_they_point_at(span: Any, start: int, end: int):
    assert signal_of("s", "e", "text", {"span": span}) == Signal("s", "e", "text", start, end, None)


@pytest.mark.parametrize(
    "provenance", [None, {}, {"span": None}, {"extractor": "x", "Span": {"start": 1, "end": 2}}], ids=repr
)
def test_no_recorded_span_is_no_span_and_no_fault(provenance: Any):
    assert signal_of("s", "e", "text", provenance) == Signal("s", "e", "text", None, None, None)


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        pytest.param({"start": "3", "end": "9"}, '{"end":"9","start":"3"}', id="strings"),
        pytest.param({"start": 3.5, "end": 9.0}, '{"end":9,"start":3.5}', id="floats"),
        pytest.param({"start": False, "end": True}, '{"end":true,"start":false}', id="booleans"),
        pytest.param({"start": 3}, '{"start":3}', id="end_missing"),
        pytest.param({"end": 9}, '{"end":9}', id="start_missing"),
        pytest.param({"start": 3, "end": None}, '{"end":null,"start":3}', id="end_null"),
        pytest.param({"start": [3], "end": 9}, '{"end":9,"start":[3]}', id="list_within"),
        pytest.param({}, "{}", id="empty_object"),
        pytest.param([3, 9], "[3,9]", id="list"),
        pytest.param("3-9", '"3-9"', id="text"),
        pytest.param(3, "3", id="number"),
        pytest.param(False, "false", id="false"),
        pytest.param("", '""', id="empty_text"),
    ],
)
def test_what_is_not_a_span_is_a_fault_that_shows_what_was_recorded(span: Any, shown: str):
    assert signal_of("s", "e", "text", {"span": span}) == Signal("s", "e", "text", None, None, f"recorded as {shown}")


@pytest.mark.parametrize("end", [2**63, -(2**63) - 1, 10**400], ids=["2^63", "-2^63-1", "10^400"])
def test_a_span_past_what_a_table_can_hold_is_a_fault(end: int):
    signal = signal_of("s", "e", "text", {"span": {"start": 0, "end": end}})
    assert (signal.start, signal.end) == (None, None)
    assert (signal.span_fault or "").startswith("recorded as ")


@pytest.mark.parametrize("end", [float("inf"), float("-inf")], ids=["1e400", "-1e400"])
def test_a_number_too_large_for_a_float_is_a_fault_of_its_span(end: float):
    """JSON text may hold 1e400, which Python reads as infinity; canonical JSON refuses that."""
    signal = signal_of("s", "e", "text", {"span": {"start": 0, "end": end}})
    assert (signal.start, signal.end) == (None, None)
    assert (signal.span_fault or "").startswith("recorded as ")


def test_a_row_that_does_not_count_is_counted_once_under_the_first_reason():
    """Soft-deleted goes before orphaned, and orphaned before blank."""
    rows = live_rows(
        [entry_row("kept"), entry_row("gone", deleted=True)],
        [
            signal_row("1", "kept"),
            signal_row("2", "kept", " \n\t\u00a0\u2003"),
            signal_row("3", "gone"),
            signal_row("4", "never there"),
            signal_row("5", "never there", ""),
            signal_row("6", "kept", deleted=True),
            signal_row("7", "never there", "", deleted=True),
        ],
    )
    assert [entry.id for entry in rows.entries] == ["kept"]
    assert [signal.id for signal in rows.signals] == ["1"]
    assert rows.left_out == LeftOut(deleted_entries=1, deleted_signals=2, orphan_signals=3, blank_signals=1)


def test_an_entry_stays_though_its_text_is_blank_or_it_has_no_signal():
    rows = live_rows([EntryRow(Entry("e", None, None, "  "), deleted=False)], [])
    assert rows.entries == (Entry("e", None, None, "  "),)


def test_text_is_kept_to_the_last_blank():
    assert (
        live_rows([entry_row("e")], [signal_row("s", "e", "  two  words \n")]).signals[0].content == "  two  words \n"
    )


KEYS = st.sampled_from(["a", "B", "b", "é", "z", "10", "9"])
ENTRY_ROWS = st.lists(st.builds(entry_row, KEYS, deleted=st.booleans()), unique_by=lambda row: row.entry.id)
SIGNAL_ROWS = st.lists(
    st.builds(
        signal_row, st.text("abc12é", min_size=1), KEYS, st.sampled_from(["x", "", " \n"]), deleted=st.booleans()
    ),
    unique_by=lambda row: row.signal.id,
)


@LAW
@given(ENTRY_ROWS, SIGNAL_ROWS, st.integers(0, 1000))
def test_every_row_is_live_or_counted_and_the_order_of_reading_is_forgotten(
    entries: list[EntryRow], signals: list[SignalRow], seed: int
):
    rows = live_rows(entries, signals)
    out = rows.left_out
    assert len(rows.entries) + out.deleted_entries == len(entries)
    assert len(rows.signals) + out.deleted_signals + out.orphan_signals + out.blank_signals == len(signals)
    ids = [signal.id for signal in rows.signals]
    assert ids == sorted(ids)
    shuffled = random.Random(seed)
    assert rows == live_rows(shuffled.sample(entries, k=len(entries)), shuffled.sample(signals, k=len(signals)))
