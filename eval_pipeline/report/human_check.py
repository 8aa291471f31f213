"""The form of the human check: the sheet as one page, which is filled in a browser and saves a filled sheet."""

from collections.abc import Sequence
from itertools import groupby

from eval_pipeline.canonical import content_hash
from eval_pipeline.human_check.sheet import QUESTIONS, Item, Said, Task
from eval_pipeline.report.page import rendered

ANSWERS = {
    Task.PROPOSITION: {
        Said.SUPPORTED: "Yes, one statement says it",
        Said.NOT_SUPPORTED: "No",
        Said.UNSURE: "Cannot say",
    },
    Task.SPAN: {Said.SUPPORTED: "Yes, the passage says it", Said.NOT_SUPPORTED: "No", Said.UNSURE: "Cannot say"},
}


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
    )


def _storage_key(sheet_id: str, items: Sequence[Item]) -> str:
    """Under which a browser keeps the labels: those of a sheet do not come up on the sheet of its disagreements."""
    return f"human-check-{sheet_id}-{content_hash([item.id for item in items])[:16]}"
