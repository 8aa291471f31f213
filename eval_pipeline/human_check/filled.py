"""Filled sheets: what a person wrote beside each item, read strictly, with every fault by its file, line and column."""

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eval_pipeline.errors import MalformedCheck
from eval_pipeline.human_check.sheet import Said
from eval_pipeline.jsonl import found

_NEEDED = ("sheet", "item", "label")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Filled:
    """The labels of one person, by item."""

    rater: str
    labels: Mapping[str, Said]


def read_filled(path: Path, *, sheet_id: str, items: frozenset[str]) -> Filled:
    """What stands in a filled copy, as a spreadsheet or the form saves it; the person is called as the file is.

    Args:
        path: a CSV file with the columns sheet, item and label, and any others; separated by commas or semicolons.
        sheet_id: of the sheet that it must be a copy of.
        items: all of those must be labelled, once, and no others.

    Raises: MalformedCheck: it cannot be read, is of another sheet, or leaves an item out; all faults are carried.

    """
    what = f"filled sheet {str(path)!r}"
    rows = _rows(path, what)
    faults: list[str] = []
    labels: dict[str, Said] = {}
    lines: dict[str, int] = {}
    for line, row in rows:
        item, said = row["item"].strip(), row["label"].strip().upper().replace(" ", "_")
        at = f"line {line}, column"
        if row["sheet"].strip() != sheet_id:
            faults.append(f"{at} 'sheet': found {found(row['sheet'])}, expected {sheet_id}; fill that sheet")
        elif item not in items:
            faults.append(f"{at} 'item': found {found(row['item'])}, expected an item of the sheet")
        elif item in lines:
            faults.append(f"{at} 'item': found {item} again, which stands on line {lines[item]}, expected it once")
        elif said not in Said.__members__:
            faults.append(f"{at} 'label': found {found(row['label'])}, expected {', '.join(Said)}")
            lines[item] = line
        else:
            labels[item], lines[item] = Said(said), line
    if missing := sorted(items - lines.keys()):
        faults.append(f"after the last line: found no line of {len(missing)} items ({missing[0]} first), expected all")
    if faults:
        raise MalformedCheck(what, faults)
    return Filled(path.stem.encode("utf-8", "replace").decode("utf-8"), labels)  # of a name in no encoding, what can be


def require_different_people(people: list[Filled]) -> None:
    """That no two filled sheets are called alike.

    Raises: MalformedCheck: two are.
    """
    name, count = Counter(one.rater for one in people).most_common(1)[0]
    if count > 1:
        raise MalformedCheck(f"filled sheets called {name!r}", ["found two, expected two people; name the files apart"])


def _rows(path: Path, what: str) -> list[tuple[int, dict[str, str]]]:
    """The rows with the line that each ends on.

    Raises: MalformedCheck: there is no such table.
    """
    try:
        text = path.read_bytes().decode("utf-8").removeprefix(_BOM)
    except OSError as error:
        raise MalformedCheck(what, [f"cannot be read ({error.strerror}); name the CSV file that was saved"]) from None
    except UnicodeDecodeError as error:
        raise MalformedCheck(
            what, [f"byte {error.start + 1}: found a byte that is not UTF-8, expected UTF-8; save it as CSV UTF-8"]
        ) from None
    first = next(iter(io.StringIO(text, newline="")), "")
    delimiter = ";" if first.count(";") > first.count(",") else ","
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a premise may be as long as it is
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next(table, [])]
        if lacking := [name for name in _NEEDED if header.count(name) != 1]:
            raise MalformedCheck(
                what, [f"line 1: found columns {found(','.join(header))}, expected {lacking[0]!r} once among them"]
            )
        places = {name: header.index(name) for name in _NEEDED}
        return [
            (table.line_num, {name: row[place] if place < len(row) else "" for name, place in places.items()})
            for row in table
            if any(cell.strip() for cell in row)
        ]
    except csv.Error as error:
        raise MalformedCheck(what, [f"line {table.line_num}: found no CSV ({error}), expected CSV"]) from None
