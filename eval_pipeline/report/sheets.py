"""A sheet of the human check as files: a form and a table for people, and what is needed to join what they write."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eval_pipeline.errors import OutputRefused
from eval_pipeline.evidence import write_atomically
from eval_pipeline.human_check.sheet import Item, Sheet, as_csv, sheet_bytes
from eval_pipeline.report.human_check import sheet_html

SHEET = "sheet.json"
_FORMS = ("sheet.html", "sheet.csv")
_ANOTHER = "name another folder with --out"


def sheet_files(sheet: Sheet) -> dict[str, bytes]:
    """The files of a drawn sheet, by their names."""
    return {**forms(sheet.id, sheet.items, name="sheet"), SHEET: sheet_bytes(sheet)}


def forms(sheet_id: str, items: Sequence[Item], *, name: str) -> dict[str, bytes]:
    """What people fill: a page for the browser, and a table for a spreadsheet."""
    return {f"{name}.html": sheet_html(sheet_id, items).encode("utf-8"), f"{name}.csv": as_csv(sheet_id, items)}


def require_no_sheet(folder: Path) -> None:
    """That no sheet lies in a folder.

    Raises: OutputRefused: one does.
    """
    for name in (SHEET, *_FORMS):
        if (folder / name).exists():
            raise _may_be_filled(folder / name, _ANOTHER)


def write_sheet(folder: Path, sheet: Sheet) -> None:
    """Writes the files of a sheet; where the same sheet lies already, what is there of it stays, filled or not.

    Raises: OutputRefused: another sheet lies there.
    """
    files = sheet_files(sheet)
    if (folder / SHEET).exists() and (folder / SHEET).read_bytes() == files[SHEET]:
        files = {name: data for name, data in files.items() if not (folder / name).exists()}
    write_unfilled(folder, files, instead=_ANOTHER)


def write_unfilled(folder: Path, files: Mapping[str, bytes], *, instead: str) -> None:
    """Writes files that people fill, and none over one in which something else stands.

    Raises: OutputRefused: something else does; `instead` says what to do but for moving it away.
    """
    for name, data in files.items():
        if (folder / name).exists() and (folder / name).read_bytes() != data:
            raise _may_be_filled(folder / name, instead)
    for name, data in files.items():
        write_atomically(folder / name, data)


def _may_be_filled(path: Path, instead: str) -> OutputRefused:
    return OutputRefused(f"{str(path)!r} may be with somebody who fills it; {instead}, or move it away")
