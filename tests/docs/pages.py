"""The pages of the documentation, and the commands and files that stand in them."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
README = PROJECT / "README.md"
PAGES = sorted((PROJECT / "docs").rglob("*.md"))

_FENCED = re.compile(r"^```(?P<kind>\w*)(?P<more>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4})[^\n]*(?:\n|\Z))+")
_EXITS = re.compile(r"exits (\d)")
_OURS = ("eval-pipeline ", "make ")
# Blocks that no test runs, and why; each must stand in the documentation.
NOT_RUN = {
    "eval-pipeline ui\n": "serves until it is ended; tests/ui opens it in a browser",
    "make run\n": "installs into .venv first; the command that it then runs is run by tests/test_cli.py",
    "make test\n": "is these tests",
    "eval-pipeline run retry-limit | fire-rate | strategy-feedback | kpi-gates\n": "four names of one command, each of"
    " which is run on its own page",
    "eval-pipeline audit README.md docs/*.md\n": "needs the results of all bundled tracks; tests/test_documents.py"
    " audits these pages with them",
}
VERDICTS = frozenset({0, 2, 3})  # exit statuses of a run that came to a verdict, whatever that is


@dataclass(frozen=True)
class Block:
    """Commands that are run one after the other, how the last may exit, and what is shown to come of them."""

    commands: str
    statuses: frozenset[int]
    shown: tuple[str, ...]


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that are marked as shell, and its indented lines that begin with a command of ours.

    A block exits with 0 unless it is marked otherwise; an indented line may come to any verdict.
    """
    text = page.read_text("utf-8")
    found: list[tuple[int, Block]] = []
    fenced = list(_FENCED.finditer(text))
    for match, after in zip_longest(fenced, fenced[1:]):
        if match["kind"] == "sh":
            exits = _EXITS.search(match["more"])
            shown = after["text"] if after and after["kind"] == "text" and _adjoin(text, match, after) else ""
            lines = tuple(line.strip() for line in shown.splitlines() if line.strip() not in ("", "..."))
            found.append((match.start(), Block(match["text"], frozenset({int(exits[1]) if exits else 0}), lines)))
    for match in _INDENTED.finditer(_FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)):
        lines = tuple(line.strip().partition("  #")[0].strip() for line in match.group(0).splitlines())
        found += [(match.start(), Block(f"{line}\n", VERDICTS, ())) for line in lines if line.startswith(_OURS)]
    return [block for _, block in sorted(found, key=lambda one: one[0])]


def file_in(page: str, name: str) -> str:
    """What a page has its reader write to a file, by `cat > NAME <<'END'`."""
    text = (PROJECT / "docs" / page).read_text("utf-8")
    written = re.search(rf"^cat > {re.escape(name)} <<'END'\n(.*?)^END$", text, re.DOTALL | re.MULTILINE)
    assert written, f"{page} has nobody write {name}"
    return written[1]


def _adjoin(text: str, first: "re.Match[str]", second: "re.Match[str]") -> bool:
    """Whether nothing stands between two blocks."""
    return not text[first.end() : second.start()].strip()


def name_of(page: Path) -> str:
    """Where a page is, from the clone's folder."""
    return str(page.relative_to(PROJECT))
