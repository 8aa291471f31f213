"""The report of a label signal: what may be said of each track, what is withheld and why, and how much hangs on us."""

from collections.abc import Mapping
from typing import Any

from eval_pipeline.document import document_bytes
from eval_pipeline.report.page import rendered

RESULTS = "results.json"


def report_files(document: Mapping[str, Any], worksheets: Mapping[str, str]) -> dict[str, bytes]:
    """The findings as files, by their names; the report comes last, so that where it stands the others do.

    Args:
        document: of all tracks.
        worksheets: for an adjudicator, by track; they begin with the mark by which spreadsheets know UTF-8.

    """
    files = {f"adjudication-{key}.csv": sheet.encode("utf-8-sig") for key, sheet in worksheets.items()}
    files |= {
        f"memo-{key}.md": as_memo(track).encode("utf-8")
        for key, track in document["tracks"].items()
        if track["decision"]["recommendation"] == "stop"
    }
    return files | {RESULTS: document_bytes(document), "report.html": as_html(document).encode("utf-8")}


def as_html(document: Mapping[str, Any]) -> str:
    """One page that needs nothing beside it: no font, no network, no script but its own, known by its hash."""
    checks = {
        check["check"]
        for track in document["tracks"].values()
        for claim in track["claims"]
        for check in claim["checks"]
    }
    return rendered("label_signal.html.jinja", document=document, checks=sorted(checks), claim_of=_claim_of)


def as_memo(track: Mapping[str, Any]) -> str:
    """The memo of a track that is to be stopped; each number in it is bound to its path in the results."""
    return rendered("label_signal_memo.md.jinja", track=track)


def _claim_of(track: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next(claim for claim in track["claims"] if claim["claim"] == name)
