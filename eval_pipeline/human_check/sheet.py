"""The sheet: what people are asked, as a file that holds texts and nothing of what any judge said of them."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import MalformedCheck
from eval_pipeline.evidence import json_bytes

Draw = Literal["entries", "judgments"]

COLUMNS = ("sheet", "item", "question", "premise", "hypothesis", "label")
_ID_DIGITS = 16
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a cell begins that a spreadsheet runs


class Task(StrEnum):
    """What a person is asked about an item."""

    PROPOSITION = "proposition"
    SPAN = "span"


class Said(StrEnum):
    """What a person may write beside an item."""

    SUPPORTED = "SUPPORTED"
    NOT_SUPPORTED = "NOT_SUPPORTED"
    UNSURE = "UNSURE"


QUESTIONS = {
    Task.PROPOSITION: "Does one of the numbered statements, by itself, say what the claim says?",
    Task.SPAN: "Does the passage say what the claim says?",
}


@dataclass(frozen=True)
class Item:
    """One question: for a proposition, all signals of its entry and the proposition; for a span, its text and signal.

    Two of the same texts are one item, wherever they stand.
    """

    task: Task
    premise: tuple[str, ...]
    hypothesis: str

    @cached_property
    def id(self) -> str:
        """The first digits of the hash of what is shown, behind a letter that makes them no number to a spreadsheet."""
        return f"i{content_hash([self.task.value, self.premise, self.hypothesis])[:_ID_DIGITS]}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What the plan asks of the people: how many, how much they must agree, and how many items may stay open.

    `kappa_at_least` and `unsure_at_most` are exact; `level` and `resamples` are those of the intervals.
    """

    raters: int
    kappa_at_least: str
    unsure_at_most: str
    level: str
    resamples: int
    seed: int


@dataclass(frozen=True)
class Sheet:
    """The items in the order in which they are shown, and what was drawn to come to them.

    `drawn` are the keys of the drawn units, which a sheet does not show: two of them may be one item, and what has no
    premise needs nobody. `judge` is the fingerprint of the judge whose verdicts had a part in the draw, None where they
    had none: a sheet of whole entries serves any judge.
    """

    draw: Draw
    plan: str
    judge: str | None
    rule: Rule
    items: tuple[Item, ...]
    drawn: tuple[str, ...]

    @cached_property
    def hash(self) -> str:
        """The sha256 of all of it."""
        return content_hash(asdict(self))

    @property
    def id(self) -> str:
        """By which a filled copy says which sheet it is of; no number to a spreadsheet, as in `Item.id`."""
        return f"s{self.hash[:_ID_DIGITS]}"


def sheet_bytes(sheet: Sheet) -> bytes:
    """The sheet as JSON."""
    return json_bytes(sheet, Sheet)


def read_sheet(path: Path) -> Sheet:
    """The sheet that `sheet_bytes` wrote.

    Raises: MalformedCheck: it cannot be read, or is no sheet.
    """
    sheet: Sheet = read_record(path, Sheet, "sheet")
    return sheet


def read_record(path: Path, of_type: Any, what: str) -> Any:
    """A value of a JSON file by its type.

    Raises: MalformedCheck: the file cannot be read, or does not hold one.
    """
    named = f"{what} {str(path)!r}"
    try:
        return TypeAdapter(of_type).validate_json(path.read_bytes())
    except OSError as error:
        raise MalformedCheck(named, [f"cannot be read ({error.strerror}); name the file that was written"]) from None
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(str(part) for part in fault["loc"]) or "the whole"
        said = f"field {field!r}: {fault['msg'].lower()}; name the file that was written"
        raise MalformedCheck(named, [said]) from None


def as_csv(sheet_id: str, items: Sequence[Item]) -> bytes:
    """The items as a table to be filled in its last column; what a spreadsheet would run stands behind a mark."""
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(COLUMNS)
    for item in items:
        shown = (QUESTIONS[item.task], numbered(item), item.hypothesis)
        table.writerow([sheet_id, item.id, *(_as_text(cell) for cell in shown), ""])
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8")  # without the mark, spreadsheets take UTF-8 for another


def numbered(item: Item) -> str:
    """The premise as one text; several statements are numbered."""
    if item.task is Task.SPAN:
        return "\n".join(item.premise)
    return "\n".join(f"{place}. {text}" for place, text in enumerate(item.premise, 1))


def _as_text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
