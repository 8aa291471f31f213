"""The rows of a file that people send: JSON Lines, or by its name CSV or TSV, each read strictly."""

import csv
import io
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from eval_pipeline.errors import Malformed
from eval_pipeline.jsonl import Line, read_lines

_SEPARATORS = {".csv": ",;\t", ".tsv": "\t"}  # what .csv is called is often separated otherwise


@dataclass(frozen=True, slots=True)
class Rows:
    """What a file holds: its rows, a clause for each fault, and the columns of a table; JSON Lines have none.

    A row of a table holds its cells as texts, and stands where it ends; an empty cell is none.
    """

    lines: tuple[Line, ...]
    faults: tuple[str, ...]
    columns: tuple[str, ...] | None = None


def read_rows(
    path: Path, malformed: Callable[[str, list[str]], Malformed], what: str, *, kept: Collection[str] = ()
) -> Rows:
    """The rows of a file; blank ones are passed over.

    Args:
        path: of the file.
        malformed: the refusal.
        what: the file, as a refusal names it.
        kept: columns of which an empty cell is a text too.

    Raises: `malformed`: the file cannot be read at all.

    """
    separators = _SEPARATORS.get(path.suffix.lower())
    if separators is None:
        read = read_lines(path, malformed, what)
        return Rows(read.lines, read.faults)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise malformed(what, [f"cannot be read ({error.strerror}); give a file that this user may read"]) from None
    except UnicodeDecodeError as error:
        return Rows((), (f"byte {error.start + 1}: found a byte that is not UTF-8, expected UTF-8",))
    first = next(iter(io.StringIO(text, newline="")), "")
    return _table(text, max(separators, key=first.count), kept)


def _table(text: str, separator: str, kept: Collection[str]) -> Rows:
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # an answer may be as long as it is
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines, faults, ended = [], [], 0
    columns: list[str] = []
    try:
        columns = [name.strip() for name in next(table, [])]
        if twice := next((name for name in columns if columns.count(name) > 1), None):
            faults.append(f"line 1: found column {twice!r} twice, expected it once")
        ended = table.line_num
        for row in table:
            if any(cell.strip() for cell in row):
                if len(row) == len(columns):
                    cells = zip(columns, row, strict=True)
                    lines.append(Line(table.line_num, {name: cell for name, cell in cells if cell or name in kept}))
                else:
                    faults.append(
                        f"line {table.line_num}: found {len(row)} cells, expected {len(columns)} as in the first line"
                    )
            ended = table.line_num
    except csv.Error as error:
        faults.append(f"line {ended + 1}: found no CSV ({error}), expected CSV")
    return Rows(tuple(lines), tuple(faults), tuple(columns))
