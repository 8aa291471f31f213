"""The history of a study as a page of its own: what was found over time, a chart a claim, and every look in a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from eval_pipeline.report.figures import PAPER
from eval_pipeline.report.page import rendered
from eval_pipeline.report.timeline import SHOWN, timeline_markdown, timeline_svg

_FINDINGS_SHOWN = 50
_HASH_SHOWN = 12


def page_name(part: str = "") -> str:
    """The name of the file that holds the history of a study, or of a part of it such as a track."""
    return f"history-{part}.html" if part else "history.html"


def as_html(document: Mapping[str, Any]) -> str:
    """One page that needs nothing beside it: no script, no font, no network."""
    charts = {
        claim["claim"]: Markup(timeline_svg(claim))  # noqa: S704
        for claim in document["claims"]
        if is_drawn(claim)
    }
    return rendered(
        "history.html.jinja",
        document=document,
        charts=charts,
        findings=document["findings"][:_FINDINGS_SHOWN],
        more_findings=max(0, len(document["findings"]) - _FINDINGS_SHOWN),
        shown=SHOWN,
        name_of_judge=_name_of_judge,
    )


def charts_as_markdown(document: Mapping[str, Any]) -> dict[str, str]:
    """The charts of the claims that have a bar, each as a Markdown image."""
    return {
        claim["claim"]: timeline_markdown(claim, palette=PAPER)
        for claim in document["claims"]
        if is_drawn(claim) and claim["points"][-1]["threshold"] is not None
    }


def is_drawn(claim: Mapping[str, Any]) -> bool:
    """Whether there is a number to be drawn, and more than one look."""
    points: Sequence[Mapping[str, Any]] = claim["points"]
    return len(points) > 1 and any(point["estimate"] is not None for point in points)


def _name_of_judge(judge: str | Mapping[str, str] | None) -> str:
    if judge is None:
        return "–"
    prints = [judge] if isinstance(judge, str) else list(judge.values())
    return ", ".join(one[:_HASH_SHOWN] for one in prints) or "–"
