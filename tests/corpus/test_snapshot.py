"""A snapshot is hashed by what a study can see of it, and survives being written as a table."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.corpus.rows import LeftOut, Rows
from eval_pipeline.corpus.snapshot import Snapshot, snapshot_of, unread
from eval_pipeline.evidence import read_table, table_bytes, write_atomically
from eval_pipeline.records import Entry, Reason, Refusal, Signal

LAW = settings(deadline=None, derandomize=True, max_examples=60)
NOTHING = LeftOut(deleted_entries=0, deleted_signals=0, orphan_signals=0, blank_signals=0)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
MAYBE = st.none() | TEXTS
OFFSETS = st.none() | st.integers(-(2**63), 2**63 - 1)
COUNTS = st.integers(0, 2**40)
SNAPSHOTS = st.builds(
    Snapshot,
    entries=st.lists(st.builds(Entry, TEXTS, MAYBE, MAYBE, TEXTS), max_size=4).map(tuple),
    signals=st.lists(st.builds(Signal, TEXTS, TEXTS, TEXTS, OFFSETS, OFFSETS, MAYBE), max_size=4).map(tuple),
    left_out=st.builds(LeftOut, COUNTS, COUNTS, COUNTS, COUNTS),
    source=TEXTS,
    refusal=st.none() | st.builds(Refusal, st.sampled_from(Reason), TEXTS),
)
SMALL = Snapshot(
    entries=(Entry("e1", "w", "triage", "Long note."), Entry("e2", None, None, "Ø")),
    signals=(Signal("s1", "e1", "Short.", 0, 4, None), Signal("s2", "e1", "Faulty.", None, None, "recorded as 3")),
    left_out=NOTHING,
    source="here",
    refusal=None,
)


@LAW
@given(SNAPSHOTS)
def test_a_snapshot_is_the_same_after_it_was_a_table(snapshot: Snapshot):
    again = Snapshot.from_table(snapshot.to_table())
    assert again == snapshot
    assert again.hash == snapshot.hash


def test_a_snapshot_is_the_same_after_it_was_a_parquet_file(tmp_path: Path):
    write_atomically(tmp_path / "corpus.parquet", table_bytes(SMALL.to_table()))
    assert Snapshot.from_table(read_table(tmp_path / "corpus.parquet")) == SMALL


@LAW
@given(SNAPSHOTS)
def test_the_same_snapshot_gives_the_same_parquet_bytes(snapshot: Snapshot):
    copy = replace(snapshot, entries=tuple(replace(entry) for entry in snapshot.entries))
    assert table_bytes(copy.to_table()) == table_bytes(snapshot.to_table())


def test_the_hash_is_that_of_both_kinds_of_rows_as_canonical_json():
    canonical = (
        '{"entries":[{"band":"triage","content":"Long note.","id":"e1","workspace":"w"},'
        '{"band":null,"content":"Ø","id":"e2","workspace":null}],'
        '"signals":[{"content":"Short.","end":4,"entry_id":"e1","id":"s1","span_fault":null,"start":0},'
        '{"content":"Faulty.","end":null,"entry_id":"e1","id":"s2","span_fault":"recorded as 3","start":null}]}'
    )
    assert SMALL.hash == hashlib.sha256(canonical.encode("utf-8")).hexdigest()


@pytest.mark.parametrize("field", ["id", "workspace", "band", "content"])
def test_the_hash_sees_each_field_of_an_entry(field: str):
    changed = replace(SMALL.entries[0], **{field: "other"})
    assert replace(SMALL, entries=(changed, SMALL.entries[1])).hash != SMALL.hash


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", "other"), ("entry_id", "e2"), ("content", "other"), ("start", 1), ("end", 5), ("span_fault", "other")],
)
def test_the_hash_sees_each_field_of_a_signal(field: str, value: str | int):
    changed = replace(SMALL.signals[0], **{field: value})
    assert replace(SMALL, signals=(changed, SMALL.signals[1])).hash != SMALL.hash


def test_the_hash_does_not_see_where_the_corpus_came_from_or_what_was_left_out():
    moved = replace(SMALL, source="there", left_out=replace(NOTHING, deleted_entries=7, blank_signals=1))
    assert moved.hash == SMALL.hash


def test_a_corpus_that_could_not_be_read_has_its_reason_and_no_rows_and_no_hash():
    snapshot = unread(Reason.CORPUS_UNREACHABLE, "it is off; start it", source="there")
    assert snapshot == Snapshot((), (), NOTHING, "there", Refusal(Reason.CORPUS_UNREACHABLE, "it is off; start it"))
    assert snapshot.hash is None


def test_a_corpus_without_rows_was_read_and_has_a_hash():
    snapshot = snapshot_of(Rows((), (), NOTHING), source="there")
    assert snapshot.refusal is None
    assert snapshot.hash == hashlib.sha256(b'{"entries":[],"signals":[]}').hexdigest()


def test_signals_stand_under_their_entry_in_order_and_an_entry_without_any_is_left_out():
    assert SMALL.signals_by_entry == {"e1": SMALL.signals}


def test_entries_are_found_by_their_ids():
    assert SMALL.entries_by_id == {"e1": SMALL.entries[0], "e2": SMALL.entries[1]}
