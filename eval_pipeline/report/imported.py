"""The report of an import: the verdict first, then every metric with its interval, then what the log says itself."""

from collections.abc import Mapping
from typing import Any

from eval_pipeline.document import document_bytes
from eval_pipeline.evidence import table_bytes
from eval_pipeline.importers.results import Results
from eval_pipeline.report.page import rendered
from eval_pipeline.report.reasons import REASON_WORDS

VERDICT = "verdict.json"
TOOL_NAMES = {
    "inspect": "Inspect",
    "ragchecker": "RAGChecker",
    "deepeval": "DeepEval",
    "promptfoo": "promptfoo",
}


def report_files(document: Mapping[str, Any], results: Results) -> dict[str, bytes]:
    """The findings as files, by their names; the report comes last, so that where it stands the others do."""
    return {
        "results.parquet": table_bytes(results.to_table()),
        VERDICT: document_bytes(document),
        "report.html": as_html(document).encode("utf-8"),
    }


def as_html(document: Mapping[str, Any]) -> str:
    """One page that needs nothing beside it: no script, no font, no network."""
    return rendered(
        "imported.html.jinja",
        document=document,
        tool=TOOL_NAMES[document["tool"]],
        reason_words=REASON_WORDS,
        several=len({one["system"] for one in document["estimates"]}) > 1,
    )
