"""What a run came to, on the terminal and as an exit status; and what long steps say while they go on."""

import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eval_pipeline.cli.options import previous
from eval_pipeline.records import Outcome

TABLE_WIDTH = 110  # of a table that goes to a file or a pipe
BROKEN, FAILED, SKIPPED = 1, 2, 3
_STATUS_WORDS = {
    0: "every claim passes or warns",
    FAILED: "a claim fails",
    SKIPPED: "no claim fails and one is skipped",
}
_COLOURS = {Outcome.PASS: "green", Outcome.WARN: "yellow", Outcome.FAIL: "red", Outcome.SKIP: "bright_black"}


def conclude(document: dict[str, Any], out: Path, verdict: str) -> None:
    """Prints the verdict and exits with what it says; that of the run before is no longer needed."""
    previous(out / verdict).unlink(missing_ok=True)
    _print_verdict(document, out)
    status = _exit_status(document)
    typer.echo(f"exit status {status}: {_STATUS_WORDS[status]}")
    sys.exit(status)


def conclude_tracks(document: dict[str, Any], out: Path, results: str) -> None:
    """Prints what each track came to, and exits with what its claims say; the results before are no longer needed."""
    previous(out / results).unlink(missing_ok=True)
    claims = [claim for track in document["tracks"].values() for claim in track["claims"]]
    _print_tracks(document, out)
    status = _exit_status({"claims": claims})
    typer.echo(f"exit status {status}: {'a claim is withheld' if status == SKIPPED else _STATUS_WORDS[status]}")
    sys.exit(status)


def conclude_loop(document: dict[str, Any], out: Path, verdict: str) -> None:
    """Prints the decision and the verdict of a closed loop, and exits with what it says."""
    typer.echo(f"decision: {document['decision']['word']}: {document['decision']['reason']}")
    if document["simulated"]:
        typer.echo("generated: nobody ran this, the log was generated with a known truth")
    conclude(document, out, verdict)


@contextlib.contextmanager
def progress_shown() -> Iterator[None]:
    """What long steps say of their progress, on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("eval_pipeline")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _print_verdict(document: dict[str, Any], out: Path) -> None:
    table = Table(
        "claim",
        "outcome",
        "estimate",
        "interval",
        "bar",
        "reason",
        title=Text(f"{document['study']}, plan {document['plan']} under seal {document['hashes']['plan'][:12]}"),
    )
    for claim in document["claims"]:
        outcome = Outcome(claim["outcome"])
        table.add_row(
            claim["claim"],
            f"[{_COLOURS[outcome]}]{outcome}[/]",
            _shown(claim["estimate"]),
            " to ".join(_shown(end) for end in claim["interval"]) if claim["interval"] else "withheld",
            _shown(claim["threshold"]),
            (claim["reason"] or "") + (" (advisory)" if claim["advisory"] else ""),
        )
    console = Console() if sys.stdout.isatty() else Console(width=TABLE_WIDTH)
    console.print(table)
    for claim in document["claims"]:
        console.print(f"{claim['claim']}: {claim['detail']}", markup=False, highlight=False, soft_wrap=True)
    typer.echo(f"report: {out / 'report.html'}")


def _print_tracks(document: dict[str, Any], out: Path) -> None:
    title = f"{document['study']}, plan {document['plan']} under seal {document['hashes']['plan'][:12]}"
    table = Table("track", "raters", "recommendation", "robustness", "published", "withheld", title=Text(title))
    for key, track in document["tracks"].items():
        ledger, sensitivity = track["ledger"], track["sensitivity"]
        table.add_row(
            key,
            "simulated" if track["simulated"] else str(track["counts"]["raters"]),
            track["decision"]["recommendation"],
            sensitivity["robustness"] if sensitivity else "-",
            str(ledger["publishable"]),
            str(ledger["blocked"]),
        )
    console = Console() if sys.stdout.isatty() else Console(width=TABLE_WIDTH)
    console.print(table)
    for key, track in document["tracks"].items():
        console.print(f"{key}: {track['decision']['reason']}", markup=False, highlight=False, soft_wrap=True)
        for claim in track["claims"]:
            said = claim["sentence"] or f"withheld, {claim['claim']}: {claim['detail']}"
            console.print(f"  {said}", markup=False, highlight=False, soft_wrap=True)
        if track["effects_table_missing"]:
            console.print("  no failure code says what it costs: nothing can be said of blind spots", markup=False)
    if document["simulated"]:
        typer.echo("simulated raters: nobody rated this, and it says nothing of people or of models")
    typer.echo(f"report: {out / 'report.html'}")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _exit_status(document: dict[str, Any]) -> int:
    outcomes = {Outcome(claim["outcome"]) for claim in document["claims"]}
    if Outcome.FAIL in outcomes:
        return FAILED
    return SKIPPED if Outcome.SKIP in outcomes else 0
