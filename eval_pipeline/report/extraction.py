"""The report of the extraction study: the verdict first, with its reason in words; then what it rests on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from matplotlib.figure import Figure

from eval_pipeline.document import document_bytes
from eval_pipeline.evidence import table_bytes
from eval_pipeline.report import figures
from eval_pipeline.report.figures import PAGE, Dot, Palette
from eval_pipeline.report.page import rendered
from eval_pipeline.report.reasons import REASON_WORDS
from eval_pipeline.studies.extraction.guard import Invention
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.losses import EntryLosses
from eval_pipeline.studies.extraction.uniformity import Histogram

CLAIM_NAMES = {
    "pooled_recall": "Pooled recall",
    "positional_uniformity": "Positional uniformity",
    "precision_guard": "Precision guard",
}
ESTIMATOR_NAMES = {
    "raw": "the judge, as if it never erred",
    "people_alone": "people's labels alone",
    "post_stratified": "corrected by people, the judge's verdicts as strata",
    "difference": "corrected by people, difference estimator",
    "ratio_by_check": "ratio estimator, errors from people",
    "ratio_by_gold": "ratio estimator, errors from the gold set",
}
ENTRIES_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ReportInput:
    """All that the report shows: the verdict document, and the texts behind its numbers."""

    document: dict[str, Any]
    source: str
    histogram: Histogram | None
    losses: Sequence[EntryLosses]
    inventions: Sequence[Invention]


def report_files(report: ReportInput, judged: Judged, quartiles: pa.Table) -> dict[str, bytes | Iterable[bytes]]:
    """The findings as files, by their names; the verdict comes last, so that where it stands the others do.

    The judgments, of which there may be a million, are given line by line.
    """
    return {
        "judgments.jsonl": judged.lines(),
        "entry_quartiles.parquet": table_bytes(quartiles),
        "report.md": as_markdown(report).encode("utf-8"),
        "report.html": as_html(report).encode("utf-8"),
        "verdict.json": document_bytes(report.document),
    }


def as_html(report: ReportInput) -> str:
    """One page that needs nothing beside it: no script, no font, no network."""
    return _render("extraction.html.jinja", report, quartiles=_svg_quartiles(report), bound=_svg_bound(report))


def as_markdown(report: ReportInput) -> str:
    """The same, as Markdown."""
    return _render("extraction.md.jinja", report)


def quartile_figure(document: dict[str, Any], palette: Palette) -> Figure | None:
    """Recall by quartile with its intervals; None where the claim on recall withholds its numbers."""
    values = [
        Dot(f"quartile {row['quartile']}", row["estimate"], tuple(row["interval"]) if row["interval"] else None)
        for row in document["quartiles"]
        if row["estimate"] is not None
    ]
    threshold = document["claims"][0]["threshold"]
    return figures.dots(values, bar=threshold, bar_label=f"bar {threshold:g}", palette=palette) if values else None


def bound_figure(document: dict[str, Any], histogram: Histogram | None, palette: Palette) -> Figure | None:
    """How the resampled differences lie about the bound; None where that claim withholds its numbers."""
    claim, bound = document["claims"][1], document["findings"]["uniformity"]["upper_bound"]
    if histogram is None or bound is None:
        return None
    return figures.histogram(
        histogram.edges,
        histogram.counts,
        bar=claim["threshold"],
        bar_label=f"bar {claim['threshold']:g}",
        bound=bound,
        palette=palette,
    )


def _svg_quartiles(report: ReportInput) -> Markup | None:
    figure = quartile_figure(report.document, PAGE)
    return Markup(figures.as_svg(figure, label="Recall by quartile of the text")) if figure else None  # noqa: S704


def _svg_bound(report: ReportInput) -> Markup | None:
    figure = bound_figure(report.document, report.histogram, PAGE)
    return Markup(figures.as_svg(figure, label="Distribution of the loss over resamples")) if figure else None  # noqa: S704


def _render(template: str, report: ReportInput, **figures_of_page: Markup | None) -> str:
    return rendered(
        template,
        document=report.document,
        withheld=[claim["reason"] if claim["estimate"] is None else None for claim in report.document["claims"]],
        source=report.source,
        losses=report.losses[:ENTRIES_SHOWN],
        more_losses=max(0, len(report.losses) - ENTRIES_SHOWN),
        lost_in_shown=sum(len(entry.losses) for entry in report.losses[:ENTRIES_SHOWN]),
        inventions=report.inventions,
        claim_names=CLAIM_NAMES,
        reason_words=REASON_WORDS,
        estimator_names=ESTIMATOR_NAMES,
        **figures_of_page,
    )
