"""The sheet of the human check as files: a page that a browser fills, a table, and what is needed to join them."""

import base64
import hashlib
from collections.abc import Sequence
from itertools import groupby

from eval_pipeline.canonical import content_hash
from eval_pipeline.human_check.sheet import QUESTIONS, Item, Said, Sheet, Task, as_csv, sheet_bytes
from eval_pipeline.report.page import rendered

SHEET = "sheet.json"
_FORMS = ("sheet.html", "sheet.csv")
_ANOTHER = "name another folder with --out"
ANSWERS = {
    Task.PROPOSITION: {
        Said.SUPPORTED: "Yes, one statement says it",
        Said.NOT_SUPPORTED: "No",
        Said.UNSURE: "Cannot say",
    },
    Task.SPAN: {Said.SUPPORTED: "Yes, the passage says it", Said.NOT_SUPPORTED: "No", Said.UNSURE: "Cannot say"},
}


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


def sheet_html(sheet_id: str, items: Sequence[Item]) -> str:
    """One page that needs nothing beside it: no font, no network, no script but its own, known by its hash.

    Items that follow each other and have one premise stand beside it, so that it is read once.
    """
    return rendered(
        "human_check.html.jinja",
        sheet_id=sheet_id,
        storage_key=_storage_key(sheet_id, items),
        groups=[list(group) for _, group in groupby(items, key=lambda item: (item.task, item.premise))],
        places={item.id: place for place, item in enumerate(items, 1)},
        questions=QUESTIONS,
        answers=ANSWERS,
        source_hash=_source_hash,
    )


def _storage_key(sheet_id: str, items: Sequence[Item]) -> str:
    """Under which a browser keeps the labels: those of a sheet do not come up on the sheet of its disagreements."""
    return f"human-check-{sheet_id}-{content_hash([item.id for item in items])[:16]}"


def _source_hash(text: str) -> str:
    """How a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
