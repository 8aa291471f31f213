"""A sheet shows texts: its ids follow from them, and a spreadsheet that opens its table runs and rewrites nothing."""

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedCheck
from eval_pipeline.human_check.sheet import (
    COLUMNS,
    QUESTIONS,
    Item,
    Sheet,
    Task,
    as_csv,
    numbered,
    read_sheet,
    sheet_bytes,
)
from tests.human_check.made_up import RULE, cells_of, items_of, sheet_of
from tests.stats.laws import LAW

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ITEMS = st.builds(Item, st.sampled_from(Task), st.lists(TEXTS, min_size=1, max_size=3).map(tuple), TEXTS)
ITEM = Item(Task.PROPOSITION, ("Crew 1 left.", "It rained."), "Crew 1 went home.")
SHEET = sheet_of([ITEM, Item(Task.SPAN, ("Crew 1 left.",), "Crew 1 left.")])
FORMULAS = ["=1+1", "+1", "-1", "@cmd", "\t=1", "\r=1"]


def test_an_id_is_a_letter_and_the_first_digits_of_the_hash_of_what_is_shown() -> None:
    shown = '["proposition",["Crew 1 left.","It rained."],"Crew 1 went home."]'
    assert ITEM.id == "i" + hashlib.sha256(shown.encode()).hexdigest()[:16]


@given(ITEMS, ITEMS)
@LAW
def test_two_items_have_one_id_if_and_only_if_they_show_the_same(first: Item, second: Item) -> None:
    assert (first.id == second.id) == (first == second)


@pytest.mark.parametrize(
    "other",
    [
        replace(ITEM, task=Task.SPAN),
        replace(ITEM, premise=ITEM.premise[::-1]),
        replace(ITEM, premise=("Crew 1 left. It rained.",)),
        replace(ITEM, hypothesis="Crew 1 went home"),
    ],
    ids=["task", "order", "joined", "hypothesis"],
)
def test_what_differs_in_anything_shown_has_another_id(other: Item) -> None:
    assert other.id != ITEM.id


def test_no_id_reads_as_a_number_which_a_spreadsheet_would_write_its_own_way() -> None:
    """Of 5,000 hashes some begin with 16 digits, or with digits, an e and digits: 1e5 comes back as 1.00E+05."""
    items = items_of(5000)
    assert any(_is_number(item.id[1:]) for item in items)
    assert [item.id for item in items if _is_number(item.id)] == []
    assert SHEET.id[0] == "s"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


CHANGED: dict[str, Any] = {
    "draw": "judgments",
    "plan": "another",
    "judge": "somebody",
    "rule": replace(RULE, raters=2),
    "items": SHEET.items[::-1],
    "drawn": ("unit 0",),
}


@pytest.mark.parametrize("field", [field.name for field in fields(Sheet)])
def test_the_id_of_a_sheet_follows_from_all_of_it(field: str) -> None:
    assert replace(SHEET, **{field: CHANGED[field]}).id != SHEET.id
    assert replace(SHEET).id == SHEET.id


def test_a_table_asks_each_question_beside_its_texts_and_leaves_the_label_open() -> None:
    data = as_csv(SHEET.id, SHEET.items)
    assert data.startswith(b"\xef\xbb\xbfsheet,item,question,premise,hypothesis,label\r\n")
    header, first, second = cells_of(data)
    assert tuple(header) == COLUMNS
    numbers = "1. Crew 1 left.\n2. It rained."
    assert first == [SHEET.id, ITEM.id, QUESTIONS[Task.PROPOSITION], numbers, "Crew 1 went home.", ""]
    assert second == [SHEET.id, SHEET.items[1].id, QUESTIONS[Task.SPAN], "Crew 1 left.", "Crew 1 left.", ""]


@given(st.lists(ITEMS, max_size=4))
@LAW
def test_any_text_comes_back_from_the_table_as_it_was_but_for_the_mark(items: list[Item]) -> None:
    rows = cells_of(as_csv("s0", items))[1:]
    assert [(row[0], row[1], row[5]) for row in rows] == [("s0", item.id, "") for item in items]
    for row, item in zip(rows, items, strict=True):
        for cell, text in zip(row[3:5], (numbered(item), item.hypothesis), strict=True):
            assert cell in (text, f"'{text}")
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_stands_behind_a_mark(text: str) -> None:
    (row,) = cells_of(as_csv("s0", [Item(Task.SPAN, (text,), text)]))[1:]
    assert row[3:5] == [f"'{text}"] * 2
    (row,) = cells_of(as_csv("s0", [Item(Task.PROPOSITION, (text,), "a")]))[1:]
    assert row[3] == f"1. {text}"  # it begins with its number


@pytest.mark.parametrize(
    "text", ["a\nb", "a\r\nb", 'she said "no"', "a; b, c", "ø ☕ العربية", "'quoted'", " = 1", "\ufeffa"]
)
def test_any_other_text_stands_as_it_is(text: str) -> None:
    (row,) = cells_of(as_csv("s0", [Item(Task.SPAN, (text,), text)]))[1:]
    assert row[3:5] == [text, text]


@given(st.lists(ITEMS, max_size=3))
@LAW
def test_a_sheet_that_was_written_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, items: list[Item]
) -> None:
    path, sheet = tmp_path_factory.mktemp("sheet") / "sheet.json", sheet_of(items)
    path.write_bytes(sheet_bytes(sheet))
    assert (read_sheet(path), read_sheet(path).id) == (sheet, sheet.id)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "field 'the whole': invalid json"),
        (b"\xff{}", "field 'the whole': invalid json"),
        (b"[]", "field 'the whole': input should be an object"),
        (b"{}", "field 'draw': field required"),
        (b'{"draw": "lots"}', "field 'draw': input should be 'entries' or 'judgments'"),
    ],
)
def test_what_is_no_sheet_is_refused_by_file_and_field(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "sheet.json"
    path.write_bytes(content)
    with pytest.raises(MalformedCheck) as refused:
        read_sheet(path)
    assert str(refused.value).startswith(f"sheet {str(path)!r} has 1 fault: {said}")
    assert str(refused.value).endswith("; name the file that was written")


def test_a_field_of_an_item_is_named_by_its_place(tmp_path: Path) -> None:
    plain = json.loads(sheet_bytes(SHEET))
    plain["items"][1]["task"] = "poem"
    path = tmp_path / "sheet.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(MalformedCheck, match=r"field 'items\.1\.task'"):
        read_sheet(path)


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir], ids=["missing", "folder"])
def test_a_sheet_that_cannot_be_read_says_why(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "sheet.json")
    with pytest.raises(MalformedCheck, match=r"cannot be read \((No such file or directory|Is a directory)\)"):
        read_sheet(tmp_path / "sheet.json")
