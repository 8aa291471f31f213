"""The report of a closed loop: the decision first, then its claims, where its constants come from, and its charts."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from eval_pipeline.document import document_bytes
from eval_pipeline.report.figures import PAGE, PAPER, Palette, as_svg, control_chart
from eval_pipeline.report.page import rendered
from eval_pipeline.report.reasons import REASON_WORDS

VERDICT = "verdict.json"


def report_files(document: Mapping[str, Any]) -> dict[str, bytes]:
    """The findings as files, by their names; the report comes last, so that where it stands the others do."""
    return {VERDICT: document_bytes(document), "report.html": as_html(document).encode("utf-8")}


def as_html(document: Mapping[str, Any]) -> str:
    """One page that needs nothing beside it: no script, no font, no network."""
    charts = [
        chart | {"svg": as_svg(chart_figure(chart, palette=PAGE), label=chart["name"]) if chart["lower"] else None}
        for chart in document["charts"]
    ]
    return rendered("closed_loop.html.jinja", document=document, charts=charts, reasons=REASON_WORDS)


def chart_figure(chart: Mapping[str, Any], *, palette: Palette = PAPER) -> Figure:
    """A control chart that has limits, as a figure."""
    return control_chart(
        chart["points"],
        centre=chart["centre"],
        lower=chart["lower"],
        upper=chart["upper"],
        signals=[signal["place"] for signal in chart["signals"]],
        palette=palette,
    )
