"""A filled sheet is read as its person meant it, or refused with every fault by its file, line and column."""

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedCheck
from eval_pipeline.human_check.filled import Filled, read_filled, require_different_people
from eval_pipeline.human_check.sheet import Item, Said, Task, as_csv
from tests.human_check.made_up import cells_of, csv_of, filled_in, items_of, read, sheet_of
from tests.stats.laws import LAW

A, B = items_of(2)
SHEET = sheet_of([A, B])
HEADER = "sheet,item,label"
LABELS = {A.id: "SUPPORTED", B.id: "NOT_SUPPORTED"}
MEANT = {A.id: Said.SUPPORTED, B.id: Said.NOT_SUPPORTED}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def row(item: Item, label: str, sheet: str = SHEET.id) -> str:
    return f"{sheet},{item.id},{label}"


@pytest.fixture
def faults(tmp_path: Path) -> Callable[[bytes | str], tuple[str, ...]]:
    """The faults of a file with this content; the refusal names the file."""

    def faults(content: bytes | str) -> tuple[str, ...]:
        path = tmp_path / "anna.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(MalformedCheck) as refused:
            read(path, SHEET)
        assert str(refused.value).startswith(f"filled sheet {str(path)!r} has {len(refused.value.faults)} fault")
        return refused.value.faults

    return faults


def lines(*rows: str) -> str:
    return "\n".join([HEADER, *rows, ""])


@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(Said)), min_size=1, max_size=4))
@LAW
def test_a_table_that_a_spreadsheet_saves_again_gives_back_each_label(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, Said]]
) -> None:
    """Whatever stands in the texts, with either separator, either line end, and with a byte order mark or without."""
    meant = {Item(Task.SPAN, (premise,), hypothesis).id: said for premise, hypothesis, said in rows}
    sheet = sheet_of(list({item.id: item for item in (Item(Task.SPAN, (p,), h) for p, h, _ in rows)}.values()))
    path = tmp_path_factory.mktemp("filled") / "anna.csv"
    for delimiter in ",;":
        for line_end in ("\r\n", "\n"):
            for mark in (b"", b"\xef\xbb\xbf"):
                path.write_bytes(mark + csv_of(filled_in(sheet, meant), delimiter=delimiter, line_end=line_end))
                assert read(path, sheet) == Filled("anna", meant)


def test_the_lines_of_an_old_spreadsheet_end_in_a_carriage_return(tmp_path: Path) -> None:
    """The header says what the separator is, also where the rest holds more of the other."""
    path = tmp_path / "anna.csv"
    (a, b) = LABELS.items()
    path.write_bytes(f"sheet,item,label,note\r{SHEET.id},{a[0]},{a[1]},;;;;;\r{SHEET.id},{b[0]},{b[1]},\r".encode())
    assert read(path, SHEET).labels == MEANT


@pytest.mark.parametrize("label", ["SUPPORTED", "supported", "Supported", "  sUPPORTED "])
@pytest.mark.parametrize("other", ["NOT_SUPPORTED", "not supported", "Not Supported", "not_supported"])
def test_a_label_may_be_written_in_any_case_and_with_a_blank(tmp_path: Path, label: str, other: str) -> None:
    path = tmp_path / "anna.csv"
    path.write_text(lines(row(A, label), row(B, other)))
    assert read(path, SHEET).labels == MEANT


def test_columns_may_stand_in_any_order_among_others_and_rows_in_any_order_with_blank_ones(tmp_path: Path) -> None:
    path = tmp_path / "Anna B.csv"
    path.write_text(
        f"note,label,item,sheet\n,,,\nx,not_supported,{B.id},{SHEET.id}\n\n,supported, {A.id} ,{SHEET.id}\n"
    )
    assert read(path, SHEET) == Filled("Anna B", MEANT)


def test_the_form_and_the_table_give_the_same(tmp_path: Path) -> None:
    """The form saves three columns, the spreadsheet all six."""
    form, table = tmp_path / "anna.csv", tmp_path / "table" / "anna.csv"
    table.parent.mkdir()
    form.write_text(lines(row(A, "SUPPORTED"), row(B, "NOT_SUPPORTED")))
    table.write_bytes(csv_of(filled_in(SHEET, LABELS)))
    assert read(form, SHEET) == read(table, SHEET)


def test_a_sheet_that_nobody_filled_is_refused_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes(as_csv(SHEET.id, SHEET.items))
    with pytest.raises(MalformedCheck) as refused:
        read(path, SHEET)
    expected = "column 'label': found \"\", expected SUPPORTED, NOT_SUPPORTED, UNSURE"
    assert refused.value.faults == (f"line 3, {expected}", f"line 5, {expected}")  # each premise stands on two lines


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(A, "SUPPORTED", "s0"), row(A, "SUPPORTED"), row(B, "UNSURE")],
         f"line 2, column 'sheet': found \"s0\", expected {SHEET.id}; fill that sheet"),
        ([row(A, "SUPPORTED"), row(B, "UNSURE"), f"{SHEET.id},i0,UNSURE"],
         "line 4, column 'item': found \"i0\", expected an item of the sheet"),
        ([row(A, "SUPPORTED"), row(B, "UNSURE"), row(A, "SUPPORTED")],
         f"line 4, column 'item': found {A.id} again, which stands on line 2, expected it once"),
        ([row(A, "SUPPORTED"), row(B, "maybe")],
         "line 3, column 'label': found \"maybe\", expected SUPPORTED, NOT_SUPPORTED, UNSURE"),
        ([row(A, "SUPPORTED"), f"{SHEET.id},{B.id}"],
         "line 3, column 'label': found \"\", expected SUPPORTED, NOT_SUPPORTED, UNSURE"),
        ([row(A, "SUPPORTED")], f"after the last line: found no line of 1 items ({B.id} first), expected all"),
    ],
    ids=["wrong sheet", "unknown item", "twice", "wrong label", "no label", "missing"],
)  # fmt: skip
def test_a_fault_is_named_by_line_and_column(
    faults: Callable[[bytes | str], tuple[str, ...]], rows: list[str], said: str
) -> None:
    assert faults(lines(*rows)) == (said,)


def test_all_faults_of_a_sheet_are_named_at_once(faults: Callable[[bytes | str], tuple[str, ...]]) -> None:
    found = faults(lines(row(A, "yes"), row(A, "SUPPORTED", "s0"), f"{SHEET.id},,UNSURE"))
    assert [fault.partition(":")[0] for fault in found] == [
        "line 2, column 'label'",
        "line 3, column 'sheet'",
        "line 4, column 'item'",
        "after the last line",
    ]


def test_a_row_is_named_by_the_line_that_it_ends_on(faults: Callable[[bytes | str], tuple[str, ...]]) -> None:
    (fault,) = faults(f'sheet,item,premise,label\n{SHEET.id},{A.id},"1. a\n2. b",SUPPORTED\n{SHEET.id},{B.id},c,no\n')
    assert fault.startswith("line 4, column 'label': found \"no\"")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: found columns \"\", expected 'sheet' once among them"),
        (b"\xef\xbb\xbf", "line 1: found columns \"\", expected 'sheet' once among them"),
        (b"sheet,item\n", "line 1: found columns \"sheet,item\", expected 'label' once among them"),
        (b"item,sheet,label,item\n", "line 1: found columns \"item,sheet,label,item\", expected 'item' once"),
        (b"sheet\titem\tlabel\n", "line 1: found columns \"sheet\\titem\\tlabel\", expected 'sheet' once among them"),
        ("sheet,item,label\nÅ".encode("utf-16"), "byte 1: found a byte that is not UTF-8"),
        ("sheet,item,label\nÅ".encode("latin-1"), "byte 18: found a byte that is not UTF-8"),
        (b'sheet,item,label\na,"b\nc,d,e\n', "line 3: found no CSV (unexpected end of data), expected CSV"),
        (b'sheet,item,label\na,"b"x,c\n', "line 2: found no CSV (',' expected after '\"'), expected CSV"),
    ],
    ids=["empty", "mark alone", "no column", "two columns", "tabs", "UTF-16", "Latin-1", "open quote", "after quote"],
)  # fmt: skip
def test_what_is_no_such_table_is_one_fault(
    faults: Callable[[bytes | str], tuple[str, ...]], content: bytes, said: str
) -> None:
    (fault,) = faults(content)
    assert fault.startswith(said)


def test_a_quote_that_was_left_open_does_not_swallow_the_labels_after_it(
    faults: Callable[[bytes | str], tuple[str, ...]],
) -> None:
    (fault,) = faults(lines(f'{SHEET.id},{A.id},"SUPPORTED', row(B, "SUPPORTED")))
    assert "found no CSV" in fault


def test_a_premise_may_be_as_long_as_it_is(tmp_path: Path) -> None:
    """Python's reader takes 131,072 letters in a cell unless it is told otherwise."""
    csv.field_size_limit(1 << 17)
    sheet = sheet_of([Item(Task.SPAN, ("a long note " * 20_000,), "It is long.")])
    path = tmp_path / "anna.csv"
    path.write_bytes(as_csv(sheet.id, sheet.items).removesuffix(b"\r\n") + b"SUPPORTED\r\n")
    assert read(path, sheet).labels == {sheet.items[0].id: Said.SUPPORTED}


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir], ids=["missing", "folder"])
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "anna.csv")
    with pytest.raises(MalformedCheck, match=r"cannot be read \((No such file or directory|Is a directory)\)"):
        read(tmp_path / "anna.csv", SHEET)


def test_a_sheet_without_items_is_filled_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "anna.csv"
    path.write_bytes(as_csv("s0", []))
    assert cells_of(path.read_bytes())[1:] == []
    assert read_filled(path, sheet_id="s0", items=frozenset()) == Filled("anna", {})


def test_two_sheets_of_one_name_are_not_those_of_two_people() -> None:
    people = [Filled("anna", MEANT), Filled("ben", MEANT)]
    require_different_people(people)
    with pytest.raises(MalformedCheck, match="filled sheets called 'anna' has 1 fault: found two, expected two people"):
        require_different_people([*people, Filled("anna", {})])


def test_a_name_in_no_encoding_is_a_name_all_the_same(tmp_path: Path) -> None:
    """A file that an old machine called in Latin-1; its name goes into the hash of the check, as UTF-8."""
    path = tmp_path / os.fsdecode(b"j\xf8rg.csv")
    path.write_text(lines(row(A, "SUPPORTED"), row(B, "NOT_SUPPORTED")))
    assert read(path, SHEET) == Filled("j?rg", MEANT)
