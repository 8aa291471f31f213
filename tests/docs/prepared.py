"""What a person would have at hand, or would do, before a command of the documentation: files, and filled sheets."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

from eval_pipeline.bundled import bundled
from eval_pipeline.studies.label_signal.track import read_track
from tests.docs.pages import file_in

Prepare = Callable[[Path], None]
_NOTES = ("entries", "signals", "propositions")


def exports(folder: Path) -> None:
    """The corpus of the tutorial, and its propositions once more by themselves."""
    (folder / "exports").mkdir(exist_ok=True)
    for name in _NOTES:
        (folder / "exports" / f"{name}.jsonl").write_text(file_in("tutorial.md", f"notes/{name}.jsonl"), "utf-8")
    shutil.copy(folder / "exports" / "propositions.jsonl", folder / "annotated.jsonl")


def filled(*people: str) -> Prepare:
    """People who find every claim in the texts that they are shown, which in this corpus is nearly the truth."""

    def fill(folder: Path) -> None:
        with (folder / "check" / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
            head, *rows = list(csv.reader(file))
        for person in people:
            with (folder / "check" / f"{person}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([head, *([*row[:-1], "SUPPORTED"] for row in rows)])

    return fill


def gold(folder: Path) -> None:
    """The bundled gold set as somebody's own."""
    shutil.copytree(bundled("gold"), folder / "mine")


def two_months(folder: Path) -> None:
    """The calibration that is there, as it was found in March and again in April."""
    for month in ("march", "april"):
        shutil.copytree(folder / "findings", folder / month)


def own_track(folder: Path) -> None:
    """The track of the page on the label signal under another name, with its ratings."""
    track = folder / "tracks" / "mine"
    track.mkdir(parents=True)
    about = file_in("how-to/label-signal.md", "tracks/summaries/track.toml")
    (track / "track.toml").write_text(about.replace('key = "summaries"', 'key = "mine"'), "utf-8")
    (track / "rubric.toml").write_text(file_in("how-to/label-signal.md", "tracks/summaries/rubric.toml"), "utf-8")
    (folder / "ratings.csv").write_text(file_in("how-to/label-signal.md", "ratings.csv"), "utf-8")


def report(folder: Path) -> None:
    """A report with one number, which is bound to its place in the results."""
    bound = "There were 2<!-- = /label-signal/tracks/mine/counts/raters --> raters.\n"
    (folder / "report.md").write_text(bound, "utf-8")


def judgments(folder: Path) -> None:
    """The log of the page on judge reliability."""
    log = file_in("how-to/judge-reliability.md", "judgments.jsonl")
    (folder / "judgments.jsonl").write_text(log, "utf-8")


def ratings_of_agentic(folder: Path) -> None:
    """Two people's ratings of a few answers of a bundled track."""
    track = read_track(bundled("tracks") / "agentic")
    answers = [(one.item_id, one.system_id) for one in track.responses[:18]]
    lines = ["item_id,system_id,rater_id,dimension,value"]
    for place, (item, system) in enumerate(answers):
        for rater, shift in (("anna", 0), ("ben", place % 3 == 0)):
            for one in track.rubric.dimensions:
                score = one.levels[(place + shift) % len(one.levels)]
                lines.append(f"{item},{system},{rater},{one.key},{score:g}")
    (folder / "ratings.csv").write_text("\n".join([*lines, ""]), "utf-8")


# By the page, and how the command begins.
BEFORE: dict[tuple[str, str], Prepare] = {
    ("README.md", "run extraction --corpus exports/ --propositions"): exports,
    ("README.md", "human-check join"): filled("anna", "ben"),
    ("README.md", "run judge-calibration"): gold,
    ("README.md", "compare-calibrations"): two_months,
    ("README.md", "run label-signal"): own_track,
    ("README.md", "audit report.md"): report,
    ("README.md", "run judge-reliability"): judgments,
    ("docs/how-to/extraction.md", "run extraction"): exports,
    ("docs/label-signal.md", "run label-signal"): ratings_of_agentic,
    ("docs/tutorial.md", "human-check join"): filled("anna"),
}
