"""A sheet of the human check as files: a form and a table for people, and what is needed to join what they write."""

from collections.abc import Sequence

from eval_pipeline.human_check.sheet import Item, Sheet, as_csv, sheet_bytes
from eval_pipeline.report.human_check import sheet_html

SHEET = "sheet.json"


def sheet_files(sheet: Sheet) -> dict[str, bytes]:
    """The files of a drawn sheet, by their names."""
    return {**forms(sheet.id, sheet.items, name="sheet"), SHEET: sheet_bytes(sheet)}


def forms(sheet_id: str, items: Sequence[Item], *, name: str) -> dict[str, bytes]:
    """What people fill: a page for the browser, and a table for a spreadsheet."""
    return {f"{name}.html": sheet_html(sheet_id, items).encode("utf-8"), f"{name}.csv": as_csv(sheet_id, items)}
