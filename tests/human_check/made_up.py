"""Small sheets, and what people write on them."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from eval_pipeline.human_check.filled import Filled, read_filled
from eval_pipeline.human_check.join import HumanCheck, joined
from eval_pipeline.human_check.sheet import Item, Rule, Said, Sheet, Task, as_csv

LETTERS = {"y": Said.SUPPORTED, "n": Said.NOT_SUPPORTED, "u": Said.UNSURE}
RULE = Rule(raters=1, kappa_at_least="3/5", unsure_at_most="1/10", level="19/20", resamples=200, seed=7)


def items_of(count: int) -> tuple[Item, ...]:
    """So many items, each of a premise of its own."""
    return tuple(Item(Task.PROPOSITION, (f"signal {n}", "another"), f"claim {n}") for n in range(count))


def sheet_of(items: Sequence[Item], rule: Rule = RULE) -> Sheet:
    """A sheet of whole entries that shows these items."""
    return Sheet("entries", "a-seal", None, rule, tuple(items), tuple(f"unit {n}" for n in range(len(items))))


def person(name: str, said: str, items: Sequence[Item]) -> Filled:
    """What a person said of the items, a letter each: y, n or u."""
    return Filled(name, {item.id: LETTERS[letter] for item, letter in zip(items, said, strict=True)})


def check_of(*said: str, settled: str = "", rule: Rule = RULE) -> HumanCheck:
    """The check of what people said, each a row of letters; `settled` has one for each item that they differ on."""
    items = items_of(len(said[0]))
    people = [person(name, letters, items) for name, letters in zip(("anna", "ben"), said, strict=False)]
    apart = [item for item, *letters in zip(items, *said, strict=True) if len(set(letters)) > 1]
    third = person("carl", settled, apart) if settled else None
    return joined(sheet_of(items, rule), people, third)


def cells_of(data: bytes, delimiter: str = ",") -> list[list[str]]:
    """The cells of a CSV file, as a spreadsheet reads them."""
    text = data.decode("utf-8").removeprefix("\ufeff")
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


def csv_of(rows: Sequence[Sequence[str]], *, delimiter: str = ",", line_end: str = "\r\n") -> bytes:
    """A CSV file of these rows, as a spreadsheet writes it: with quotes where they are needed, or everywhere."""
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_MINIMAL if line_end == "\r\n" else csv.QUOTE_ALL
    csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(rows)
    return text.getvalue().encode("utf-8")


def filled_in(sheet: Sheet, labels: Mapping[str, str]) -> list[list[str]]:
    """The rows of the sheet's table, with these labels in the last column."""
    header, *rows = cells_of(as_csv(sheet.id, sheet.items))
    return [header, *([*row[:-1], labels[row[1]]] for row in rows)]


def read(path: Path, sheet: Sheet) -> Filled:
    """What stands in a filled copy of a sheet."""
    return read_filled(path, sheet_id=sheet.id, items=frozenset(item.id for item in sheet.items))
