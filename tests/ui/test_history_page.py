"""The page of verdicts over time as a person sees it: on a phone, in the dark, without a script."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from eval_pipeline.report.history import as_html
from tests.report.test_history_page import history
from tests.ui.conftest import chromium

PHONE = {"width": 390, "height": 844}
ATTACK = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'><svg onload='window.ran = 3'>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty nights of a claim whose name, reason and plan try to be more than text, and are wider than a phone."""
    course = [(10 + night % 7, "fail" if night % 7 > 4 else "pass") for night in range(30)]
    text = f"{ATTACK} {'w' * 300}"
    path = tmp_path_factory.mktemp("page") / "history.html"
    path.write_text(as_html(history(course, name=text, subject=text, seals="a" * 20 + "b" * 10, plan=text)), "utf-8")
    return path


def test_it_is_read_without_a_script_and_asks_for_nothing(browser: Browser, page_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert asked == [page_file.as_uri()]
    assert page.get_by_role("img").count() == 1
    expect(page.get_by_text("turned from pass to fail").first).to_be_visible()
    assert page.locator("tbody tr").count() == 30
    context.close()


def test_the_chart_says_when_and_against_which_bar(browser: Browser, page_file: Path, tmp_path: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(page_file.as_uri())
    chart = page.get_by_role("img").first
    words = chart.locator("text").all_text_contents()
    assert len([word for word in words if re.fullmatch(r"\d{4}-\d{2}-\d{2}", word)]) >= 2
    assert [word for word in words if re.fullmatch(r"0?\.\d+|\d", word)]
    assert chart.locator("circle").count() >= 20
    assert len(chart.screenshot(path=tmp_path / "history.png")) > 1_000
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_in_it_runs_and_a_phone_never_scrolls_it_sideways(
    browser: Browser, page_file: Path, scheme: str
) -> None:
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.evaluate("window.ran") is None
    assert page.locator("script, img[src]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    dot = page.locator("circle").first
    assert dot.evaluate("node => getComputedStyle(node).stroke") != page.evaluate(
        "getComputedStyle(document.body).backgroundColor"
    )
    context.close()
