"""A folder of JSON Lines is read whole or refused whole, with the line and field of every fault."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.corpus.folder import read_folder
from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.errors import CorpusIncomplete, CorpusUnreachable, MalformedCorpus
from eval_pipeline.records import Entry, Signal

Folder = Callable[..., Path]

ENTRY = {"lookup_key": "e1", "workspace": "w", "band": "triage", "content": "Long note.", "deleted_at": None}
SIGNAL = {"lookup_key": "s1", "entry_id": "e1", "content": "Short.", "provenance": None, "deleted_at": None}


def line(row: dict[str, Any], **changes: Any) -> bytes:
    """A line of a file; a field that is changed to ... is left out."""
    fields = {name: value for name, value in (row | changes).items() if value is not ...}
    return json.dumps(fields).encode()


def write(folder: Path, *, entries: bytes = line(ENTRY), signals: bytes = line(SIGNAL)) -> Path:
    (folder / "entries.jsonl").write_bytes(entries)
    (folder / "signals.jsonl").write_bytes(signals)
    return folder


def faults(folder: Path) -> tuple[str, ...]:
    with pytest.raises(MalformedCorpus) as refused:
        read_folder(folder)
    return refused.value.faults


def test_both_files_are_read_and_columns_that_no_study_reads_are_passed_over(corpus_folder: Folder):
    folder = corpus_folder(
        [ENTRY | {"author": {"name": "x"}}, {"lookup_key": "e0", "content": "No band."}],
        [
            SIGNAL | {"score": 0.5, "provenance": {"span": {"start": 0, "end": 4}, "model": "m"}},
            {"lookup_key": "s0", "entry_id": "e0", "content": "Bare."},
        ],
    )
    snapshot = read_folder(folder)
    assert snapshot.entries == (Entry("e0", None, None, "No band."), Entry("e1", "w", "triage", "Long note."))
    assert snapshot.signals == (
        Signal("s0", "e0", "Bare.", None, None, None),
        Signal("s1", "e1", "Short.", 0, 4, None),
    )
    assert (snapshot.source, snapshot.refusal) == (str(folder), None)


def test_deleted_orphaned_and_blank_rows_are_left_out_and_counted(corpus_folder: Folder):
    gone = {"deleted_at": "2024-05-01T10:00:00Z"}
    folder = corpus_folder(
        [ENTRY, ENTRY | {"lookup_key": "e2"} | gone],
        [
            SIGNAL,
            SIGNAL | {"lookup_key": "s2"} | gone,
            SIGNAL | {"lookup_key": "s3", "entry_id": "e2"},
            SIGNAL | {"lookup_key": "s4", "entry_id": "e9"},
            SIGNAL | {"lookup_key": "s5", "content": " "},
        ],
    )
    snapshot = read_folder(folder)
    assert [entry.id for entry in snapshot.entries] == ["e1"]
    assert [signal.id for signal in snapshot.signals] == ["s1"]
    assert snapshot.left_out == LeftOut(deleted_entries=1, deleted_signals=1, orphan_signals=2, blank_signals=1)


def test_the_order_of_lines_and_of_fields_does_not_change_the_hash(corpus_folder: Folder, sample: Any):
    entries, signals = sample
    forwards = read_folder(corpus_folder(entries, signals)).hash
    scrambled = [[dict(reversed(row.items())) for row in reversed(rows)] for rows in sample]
    assert read_folder(corpus_folder(*scrambled)).hash == forwards


def test_text_is_taken_to_the_last_character(corpus_folder: Folder):
    text = "\u0000 \u2028\u2029\x85 e\u0301 👩\u200d🔬 \ufeff 'quoted' \\ end "
    folder = corpus_folder([ENTRY | {"content": text}], [SIGNAL | {"content": text}])
    snapshot = read_folder(folder)
    assert (snapshot.entries[0].content, snapshot.signals[0].content) == (text, text)


@pytest.mark.parametrize("content", [b"", b"\n \n\n"], ids=["no_bytes", "blank_lines"])
def test_two_files_without_rows_are_an_empty_corpus(tmp_path: Path, content: bytes):
    snapshot = read_folder(write(tmp_path, entries=content, signals=content))
    assert (snapshot.entries, snapshot.signals, snapshot.refusal) == ((), (), None)


def test_a_folder_without_either_file_is_an_empty_corpus(tmp_path: Path):
    snapshot = read_folder(tmp_path)
    assert (snapshot.entries, snapshot.signals, snapshot.refusal) == ((), (), None)


@pytest.mark.parametrize(("present", "missing"), [("entries", "signals"), ("signals", "entries")])
def test_one_file_alone_is_half_a_corpus(tmp_path: Path, present: str, missing: str):
    write(tmp_path)
    (tmp_path / f"{missing}.jsonl").unlink()
    with pytest.raises(CorpusIncomplete, match=rf"holds {present}\.jsonl and no {missing}\.jsonl; export both"):
        read_folder(tmp_path)


def test_a_folder_that_is_not_there_is_unreachable(tmp_path: Path):
    with pytest.raises(CorpusUnreachable, match=r"nowhere' cannot be read \(No such file or directory\)"):
        read_folder(tmp_path / "nowhere")


def test_a_file_in_the_folders_place_is_unreachable(tmp_path: Path):
    with pytest.raises(CorpusUnreachable, match=r"entries\.jsonl"):
        read_folder(write(tmp_path) / "entries.jsonl")


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        pytest.param(b"{", "line 2, column 2: found invalid JSON", id="cut_off"),
        pytest.param(b"[]", "line 2, column 1: found a list, expected an object", id="list"),
        pytest.param(b'"text"', 'line 2, column 1: found "text", expected an object', id="text"),
        pytest.param(line(ENTRY, content=float("nan")), "line 2, field 'content': found NaN", id="nan"),
        pytest.param(b'{"lookup_key": "e\xff"}', "line 2, byte 18: found a byte that is not UTF-8", id="not_utf8"),
        pytest.param(line(ENTRY, content="\ud800"), "line 2, field 'content': found a lone surrogate", id="surrogate"),
        pytest.param(
            b'{"lookup_key": "e", "content": "a", "content": "b"}',
            "line 2, field 'content': found it twice, expected it once",
            id="field_twice",
        ),
        pytest.param(line(ENTRY, lookup_key=...), "line 2, field 'lookup_key': found nothing", id="key_missing"),
        pytest.param(line(ENTRY, lookup_key=None), "line 2, field 'lookup_key': found null", id="key_null"),
        pytest.param(line(ENTRY, lookup_key=""), "line 2, field 'lookup_key': found \"\"", id="key_empty"),
        pytest.param(line(ENTRY, lookup_key=7), "line 2, field 'lookup_key': found 7", id="key_number"),
        pytest.param(line(ENTRY, content=...), "line 2, field 'content': found nothing", id="text_missing"),
        pytest.param(line(ENTRY, content=None), "line 2, field 'content': found null", id="text_null"),
        pytest.param(line(ENTRY, content=["a"]), "line 2, field 'content': found a list", id="text_list"),
        pytest.param(line(ENTRY, workspace=3), "line 2, field 'workspace': found 3", id="workspace_number"),
        pytest.param(line(ENTRY, band=True), "line 2, field 'band': found true", id="band_boolean"),
        pytest.param(line(ENTRY, deleted_at=True), "line 2, field 'deleted_at': found true", id="deleted_boolean"),
        pytest.param(line(ENTRY, deleted_at=1.5e9), "line 2, field 'deleted_at': found 1500000000.0", id="deleted_at"),
        pytest.param(
            line(ENTRY, lookup_key="e0"),
            "line 2, field 'lookup_key': found \"e0\" again, which stands on line 1",
            id="key_twice",
        ),
    ],
)
def test_a_faulty_entry_is_refused_with_its_line_and_field(tmp_path: Path, row: bytes, fault: str):
    (found,) = faults(write(tmp_path, entries=line(ENTRY, lookup_key="e0") + b"\n" + row))
    assert found.startswith(fault)
    assert ", expected " in found


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        pytest.param(line(SIGNAL, entry_id=...), "line 3, field 'entry_id': found nothing", id="entry_missing"),
        pytest.param(line(SIGNAL, entry_id=None), "line 3, field 'entry_id': found null", id="entry_null"),
        pytest.param(line(SIGNAL, entry_id=""), "line 3, field 'entry_id': found \"\"", id="entry_empty"),
        pytest.param(line(SIGNAL, content=None), "line 3, field 'content': found null", id="text_null"),
        pytest.param(line(SIGNAL, provenance=[]), "line 3, field 'provenance': found a list", id="provenance_list"),
        pytest.param(line(SIGNAL, provenance="{}"), "line 3, field 'provenance': found \"{}\"", id="provenance_text"),
        pytest.param(line(SIGNAL, lookup_key="s0"), "line 3, field 'lookup_key': found \"s0\" again", id="key_twice"),
    ],
)
def test_a_faulty_signal_is_refused_with_its_line_and_field(tmp_path: Path, row: bytes, fault: str):
    """A blank line is passed over, and counted."""
    (found,) = faults(write(tmp_path, signals=line(SIGNAL, lookup_key="s0") + b"\n\n" + row))
    assert found.startswith(fault)
    assert ", expected " in found


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        pytest.param(
            b"\xef\xbb\xbf" + line(ENTRY), "line 1, before the first field: found a byte order mark", id="bom"
        ),
        pytest.param(line(ENTRY) + b"\r\n", "line 1, after the last field: found a line end of CR LF", id="crlf"),
    ],
)
def test_marks_of_another_encoding_are_refused(tmp_path: Path, entries: bytes, fault: str):
    (found,) = faults(write(tmp_path, entries=entries))
    assert found.startswith(fault)


def test_every_fault_of_a_file_is_named_at_once_in_one_sentence(tmp_path: Path):
    rows = [line(ENTRY, content=None), line(ENTRY, lookup_key="e2"), b"{", line(ENTRY, lookup_key=3, band=4)]
    with pytest.raises(MalformedCorpus, match=r"entries\.jsonl' has 4 faults: ") as refused:
        read_folder(write(tmp_path, entries=b"\n".join(rows)))
    places = {fault.split(":")[0] for fault in refused.value.faults}
    assert places == {
        "line 1, field 'content'",
        "line 3, column 2",
        "line 4, field 'lookup_key'",
        "line 4, field 'band'",
    }


@pytest.mark.parametrize("name", ["entries.jsonl", "signals.jsonl"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str):
    (write(tmp_path) / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(MalformedCorpus, match=rf"{name}' has 1 fault: cannot be read \(.+\); give a file"):
        read_folder(tmp_path)


@pytest.mark.parametrize("end", [b"1e400", b"9223372036854775808", b'"4"', b"4.5", b"true", b"null"])
def test_a_recorded_span_that_is_none_is_kept_as_the_signals_fault(tmp_path: Path, end: bytes):
    """The corpus is read all the same, and can be written as a table; the guard says what is wrong with the span."""
    provenance = b'"provenance": {"span": {"start": 0, "end": ' + end + b"}}"
    snapshot = read_folder(write(tmp_path, signals=line(SIGNAL).replace(b'"provenance": null', provenance)))
    (signal,) = snapshot.signals
    assert (signal.start, signal.end) == (None, None)
    assert (signal.span_fault or "").startswith("recorded as {")
    assert snapshot.to_table().num_rows == 2
