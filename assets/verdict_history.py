"""Histories as assets: a verdict is entered in the ledger, and shown beside those that were entered before it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from assets.metadata import materialized
from assets.resources import Clock, Home
from eval_pipeline.canonical import content_hash
from eval_pipeline.evidence import write_atomically
from eval_pipeline.history import Anytime, Judge, history_document, look_body
from eval_pipeline.ledger import Kind, append_made, read_ledger
from eval_pipeline.report.history import as_html, charts_as_markdown, page_name

GENERATED = "generated"  # the subject of what nobody ran, or nobody rated: it has a history of its own
_SHOWN = ("claim", "outcome", "estimate", "threshold", "look", "level", "low", "high")


def entered(
    document: Mapping[str, Any],
    *,
    subject: str,
    judge: Judge,
    anytime: Anytime | None,
    run: str,
    home: Home,
    clock: Clock,
    out: Path,
    part: str = "",
    generation: str | None = None,
) -> dg.MaterializeResult[dict[str, Any]]:
    """The history of a subject with this verdict in it, which is entered in the ledger; its page goes to `out`.

    The data version is that of the look: the same verdict again is no new one, whenever it came.

    Args:
        document: the verdict.
        subject, judge, anytime, run, generation: as in `look_body`.
        home, clock: where the ledger is, and what time it is.
        out: the folder of the findings.
        part: of the study that the page is about, by its name in a file; "" for a study that has one page.

    """

    def made(lines: Any) -> dict[str, Any]:
        return look_body(lines, document, subject=subject, judge=judge, anytime=anytime, run=run, generation=generation)

    line = append_made(home.ledger, Kind.VERDICT, made, now=clock.now())
    history = history_document(read_ledger(home.ledger), study=document["study"], subject=subject)
    page = out / page_name(part)
    write_atomically(page, as_html(history).encode("utf-8"))
    claims = line.body["claims"]
    about = {
        "look": claims[0]["look"] if claims else None,
        "runs": history["runs"],
        "claims": [{name: claim[name] for name in _SHOWN} for claim in claims],
        "findings": _of_this_look(history, {claim["claim"] for claim in claims})
        or "nothing turned, and nothing is shown to have moved",
        "history": dg.MetadataValue.path(str(page)),
    }
    charts = {f"chart_{name}": dg.MetadataValue.md(chart) for name, chart in charts_as_markdown(history).items()}
    look = {name: value for name, value in line.body.items() if name != "run"}
    return materialized(history, about | charts, version=content_hash(look))


def _of_this_look(history: Mapping[str, Any], made: Collection[str]) -> list[dict[str, str]]:
    """What is to be told of the last point of each claim that this look made."""
    last = [claim["points"][-1] for claim in history["claims"] if claim["claim"] in made]
    return [{"finding": sentence} for point in last for sentence in point["findings"]]
