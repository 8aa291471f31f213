"""The report of a calibration: the verdict first, then the rates that block people, then what went wrong."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from eval_pipeline.document import document_bytes
from eval_pipeline.report.page import rendered
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.confusion import Prediction

CLAIM_NAMES = {
    "false_negatives": "False negatives",
    "false_positives": "False positives",
    "decomposition": "Taking claims apart",
}
RATE_NAMES = {
    "false_clear": "False clear: unsupported, and called supported",
    "false_flag": "False flag: called unsupported or violated, and is not",
    "partial_misses": "Supported in part, and not taken apart rightly",
    "wrong_rule": "Violation found, of another rule",
    "invalid": "Answer without a label",
}


def report_files(document: Mapping[str, Any], predictions: Predictions) -> dict[str, bytes]:
    """The findings as files, by their names; the report comes last, so that where it stands the others do."""
    return {
        "judgments.jsonl": journal_of(predictions),
        "report.html": as_html(document, predictions.first).encode("utf-8"),
        "report.json": document_bytes(document),
    }


def journal_of(predictions: Predictions) -> bytes:
    """The judgments as JSON Lines that can be replayed."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in predictions.judgments).encode("utf-8")


def as_html(document: Mapping[str, Any], predictions: Sequence[Prediction]) -> str:
    """One page that needs nothing beside it: no script, no font, no network."""
    cells = document["confusion"] or []
    matrix: dict[str, dict[str | None, int]] = {}
    for cell in cells:
        matrix.setdefault(cell["expected"], {})[cell["answered"]] = cell["n"]
    return rendered(
        "judge_calibration.html.jinja",
        document=document,
        claim_names=CLAIM_NAMES,
        rate_names=RATE_NAMES,
        matrix=matrix,
        answered=sorted({cell["answered"] for cell in cells}, key=lambda label: (label is None, label or "")),
        wrong=[_shown(one) for one in predictions if not one.right],
    )


def _shown(one: Prediction) -> dict[str, Any]:
    return {
        "claim": one.item.claim,
        "excerpt": one.item.excerpt,
        "expected": one.item.expected.value,
        "answered": one.label and one.label.value,
        "no_label": one.no_label and one.no_label.value,
        "constraint_id": one.item.constraint and one.item.constraint.id,
        "rule": one.item.constraint and one.item.constraint.rule,
    }
