"""The page of an import in a browser: nothing of a log's texts runs, and it asks for nothing."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from eval_pipeline.importers.kinds import log_of
from eval_pipeline.importers.results import joined
from eval_pipeline.report.imported import as_html
from eval_pipeline.studies.imported.document import imported_document
from eval_pipeline.studies.imported.estimates import findings
from eval_pipeline.studies.imported.verdict import verdicts
from tests.importers.logs import as_bytes, inspect_log, inspect_sample, inspect_score
from tests.studies.imported.made_up import plan_with
from tests.ui.conftest import chromium

ATTACK = (
    "</script></style><script>window.ran = 1; alert(1)</script><img src=x onerror='window.ran = 2'>"
    "<svg onload='window.ran = 3'></svg>\"' onfocus=window.ran=4 autofocus x='"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two logs whose every text attacks."""
    logs = []
    for model in (f"a{ATTACK}", f"b{ATTACK}"):
        samples = [inspect_sample(f"{n}{ATTACK}", **{ATTACK: "CN"[n]}) for n in range(2)]
        log = inspect_log(samples, model=model, status=ATTACK)
        log["eval"]["task"] = ATTACK
        log["results"]["scores"] = [inspect_score(ATTACK, 0.5)]
        logs.append(log_of("inspect", as_bytes(log), f"{model}.json"))
    plan = plan_with({"metric": ATTACK, "at_least": Fraction(1, 2)})
    results = joined("inspect", logs)
    found = findings(results, plan)
    document = imported_document(verdicts(found, plan), found, results, plan, seal=ATTACK, versions={})
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(as_html(document), "utf-8")
    return path


def test_no_text_of_a_log_runs_or_becomes_an_element(page: Path, visit: Callable[..., Any]) -> None:
    seen = visit(page.as_uri())
    seen.page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert seen.page.evaluate("window.ran") is None
    assert seen.dialogs == []
    assert seen.page.locator("script, img, svg, [onload], [onerror], [onfocus], [autofocus]").count() == 0
    assert "<script>window.ran = 1" in seen.page.evaluate("document.querySelector('main').textContent")
    assert len(seen.requests) == 1


def test_what_came_past_the_escaping_would_be_refused(page: Path, visit: Callable[..., Any], tmp_path: Path) -> None:
    put_in = (
        "<script>window.ran = 1</script><img src='data:,' onerror='window.ran = 2'><p style='color: red' id=x>x</p>"
    )
    path = tmp_path / "page.html"
    path.write_text(page.read_text("utf-8").replace("<main>", f"<main>{put_in}", 1), "utf-8")
    seen = visit(path.as_uri())
    assert seen.page.evaluate("window.ran") is None
    ink = "element => getComputedStyle(element).color"
    assert seen.page.locator("#x").evaluate(ink) == seen.page.locator("main").evaluate(ink)


def test_the_page_is_styled_and_no_wider_than_a_phone(page: Path, visit: Callable[..., Any]) -> None:
    seen = visit(page.as_uri(), viewport={"width": 360, "height": 700})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert seen.page.locator(".claim").first.evaluate("element => getComputedStyle(element).borderTopWidth") == "4px"
