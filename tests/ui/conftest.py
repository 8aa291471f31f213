"""A Chromium, pages in it that may reach nothing but this machine, and runs of the study to look at."""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from assets.run import StudyRun, run_study
from tests.history import kept_in_memory

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium while it is looked through; what wants one skips where there is none."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine; install it to look at the pages")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield opened
        opened.close()


@dataclass
class Visit:
    """A page, and what it did that a report must not do."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Made:
    """A run and the home that holds its history."""

    home: Path
    run: StudyRun


@pytest.fixture(scope="session")
def run_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    """Runs the study in a home, with its findings in a folder of their own, and its history there or nowhere."""

    def run(home: Path, *, history: bool = False, **inputs: str) -> Made:
        where = contextlib.nullcontext() if history else kept_in_memory()
        with where, pytest.MonkeyPatch.context() as patch:
            patch.delenv("DAGSTER_HOME", raising=False)
            patch.setenv("EVAL_PIPELINE_HOME", str(home))
            return Made(home, run_study("extraction", {"out": str(tmp_path_factory.mktemp("out")), **inputs}))

    return run


@pytest.fixture(scope="session")
def sample(run_in: Callable[..., Made], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run of the bundled sample, in a home of its own with nothing else in it."""
    return run_in(tmp_path_factory.mktemp("home"), history=True, out="")


@pytest.fixture(scope="session")
def other_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the runs whose history is not looked at."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def hostile(run_in: Callable[..., Made], other_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run of a corpus that tries to run scripts, and to be wider than a phone, in every text that it has."""
    folder = tmp_path_factory.mktemp("corpus")
    attack = (
        "<script>window.ran = 1; alert(1)</script><img src=x onerror='window.ran = 2'><svg onload='window.ran = 3'>"
    )
    text = f"{attack} {'w' * 300}"
    tables: dict[str, list[dict[str, Any]]] = {"entries": [], "signals": [], "propositions": []}
    for note in (1, 2):
        key, facts = (
            f"note-{note}-{'x' * 120}",
            [f"Crew {note} replaced valve {10 * note + fact}." for fact in range(8)],
        )
        content = " ".join([*facts, text])
        tables["entries"].append({"lookup_key": key, "workspace": text, "band": text, "content": content})
        for place, fact in enumerate(facts):
            if place < 7:
                start = content.index(facts[0] if place == 6 else fact)
                span = {"start": start, "end": len(content) if place < 6 else start + len(fact)}
                signal = {"lookup_key": f"{note}{place}{text}", "entry_id": key, "content": f"{fact} {text}"}
                tables["signals"].append(signal | {"provenance": {"span": span}})
            said = {"entry_id": key, "quartile": place // 2 + 1, "proposition": f"{fact} {text}"}
            tables["propositions"].append(said)
    for name, rows in tables.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return run_in(other_home, corpus=str(folder))


@pytest.fixture(scope="session")
def withheld(run_in: Callable[..., Made], other_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run of the sample without annotations."""
    empty = tmp_path_factory.mktemp("annotations") / "propositions.jsonl"
    empty.write_text("")
    return run_in(other_home, propositions=str(empty))


@pytest.fixture(scope="module")
def browser(sample: Made, hostile: Made, withheld: Made) -> Iterator[Browser]:
    """One Chromium for all tests of a module; the runs come first, since none can be made while it is open."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens pages and notes what they do; an option is one of a browser's context, such as its viewport."""
    contexts = []

    def go(address: str, **options: Any) -> Visit:
        context = browser.new_context(**options)
        contexts.append(context)
        seen = Visit(context.new_page())

        def note(request: Request) -> None:
            seen.requests.append(request.url)

        seen.page.on("request", note)
        seen.page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
        seen.page.goto(address)
        return seen

    yield go
    for context in contexts:
        context.close()
