"""The page of the label signal in a browser: a tab for each track, claims that can be sifted, nothing from outside."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from eval_pipeline.bundled import bundled
from eval_pipeline.plan import read_plan
from eval_pipeline.report.label_signal import as_html
from eval_pipeline.studies.label_signal.document import portfolio_document, sensitivity_document, track_document
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity.kept import kept_in_memory
from eval_pipeline.studies.label_signal.sensitivity.robustness import findings
from eval_pipeline.studies.label_signal.sensitivity.worlds import outcomes
from eval_pipeline.studies.label_signal.simulation.world import world_of
from eval_pipeline.studies.label_signal.study import simulated_study
from eval_pipeline.studies.label_signal.track import read_track
from tests.studies.label_signal.conftest import TRACK_TOML, write_track
from tests.ui.conftest import chromium

PHONE = {"width": 390, "height": 844}
ATTACK = "</script><script>window.ran = 1; alert(1)</script><img src=x onerror='window.ran = 2'>" + "w" * 300


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two tracks, one of them with an attack in each of its texts that a page shows, and one that was passed over."""
    plan = read_plan(bundled("plans/label-signal.toml"), LabelSignalPlan)
    folder, documents = tmp_path_factory.mktemp("tracks"), {}
    texts = {"small": TRACK_TOML, "second": TRACK_TOML.replace('title = "Small"', f'title = "{ATTACK}"')}
    for key, text in texts.items():
        named = text.replace('key = "small"', f'key = "{key}"').replace("Four items.", ATTACK)
        track = read_track(write_track(folder / key, track=f"{named}offsets = [-0.4, 0]\n"))
        studied = simulated_study(track, world_of(track, plan.simulation), plan)
        found = findings(studied.grounds, outcomes(track, [track], plan, kept_in_memory()), plan)
        own = track_document(studied, plan, seal="0" * 64, versions={})
        documents[key] = own | {"sensitivity": sensitivity_document(found, of={})}
    return portfolio_document(documents, {"broken": ATTACK}, plan=plan.name, seal="0" * 64)


@pytest.fixture(scope="module")
def address(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(as_html(document), "utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def panel(page: Page, key: str) -> Any:
    return page.locator(f"#track-{key}")


def test_each_track_has_a_tab_that_opens_it_alone_and_has_an_address(visit: Callable[..., Any], address: str) -> None:
    page = visit(address).page
    expect(page.locator("#overview")).to_be_visible()
    expect(panel(page, "small")).to_be_hidden()
    page.get_by_role("tab", name="Small").click()
    expect(panel(page, "small")).to_be_visible()
    expect(page.locator("#overview")).to_be_hidden()
    assert page.url.endswith("#track-small")
    page.get_by_role("tab", name="Small").press("ArrowLeft")
    expect(page.locator("#overview")).to_be_visible()
    expect(panel(visit(f"{address}#track-second").page, "second")).to_be_visible()


def test_claims_are_sifted_by_what_became_of_them_and_by_the_check_that_blocks(
    visit: Callable[..., Any], address: str, document: dict[str, Any]
) -> None:
    page = visit(f"{address}#track-small").page
    claims = document["tracks"]["small"]["claims"]
    withheld = [claim for claim in claims if claim["outcome"] == "skip"]
    blocks = {check["check"] for claim in withheld for check in claim["checks"] if check["standing"] == "block"}
    shown = panel(page, "small").locator("details[data-kind]:visible")
    expect(shown).to_have_count(len(claims))
    panel(page, "small").get_by_label("show").select_option("withheld")
    expect(shown).to_have_count(len(withheld))
    expect(panel(page, "small").locator("output")).to_have_text(f"{len(withheld)} of {len(claims)} claims")
    for check in blocks:
        panel(page, "small").get_by_label("blocked by").select_option(check)
        blocked = [c for c in withheld if {"check": check, "standing": "block"}.items() <= _by_name(c, check).items()]
        expect(shown).to_have_count(len(blocked))


def _by_name(claim: dict[str, Any], check: str) -> dict[str, Any]:
    return next((one for one in claim["checks"] if one["check"] == check), {})


def test_a_withheld_number_is_its_reason_where_the_number_would_stand(
    visit: Callable[..., Any], address: str, document: dict[str, Any]
) -> None:
    page = visit(f"{address}#track-small").page
    small = document["tracks"]["small"]
    for claim in small["claims"]:
        row = panel(page, "small").locator("tr", has=page.get_by_role("cell", name=claim["subject"], exact=True))
        if claim["outcome"] == "skip" and claim["kind"] in ("measurement", "ranking"):
            expect(row.first).to_contain_text(f"withheld: {claim['reason'].replace('_', ' ')}")
            assert claim["estimate"] is None
            assert claim["interval"] is None
            value = small["systems" if claim["kind"] == "measurement" else "comparisons"][claim["subject"]]
            printed = f"{value['mean']:.3f}" if claim["kind"] == "measurement" else f"{value['effect']:+.4f}"
            assert printed not in row.first.inner_text()


def test_simulated_raters_are_named_on_top_and_on_every_track(visit: Callable[..., Any], address: str) -> None:
    page = visit(address).page
    expect(page.get_by_text("Simulated raters.")).to_be_visible()
    assert page.get_by_role("heading", name=re.compile("simulated raters")).count() == 0  # hidden, until it is opened
    page.get_by_role("tab", name="Small").click()
    expect(page.get_by_role("heading", name="Small (simulated raters)")).to_be_visible()


def test_nothing_is_asked_for_and_no_text_of_a_track_runs(visit: Callable[..., Any], address: str) -> None:
    seen = visit(f"{address}#track-second")
    seen.page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert seen.page.evaluate("window.ran") is None
    assert seen.dialogs == []
    assert len(seen.requests) == 1
    assert seen.page.locator("img, iframe").count() == 0
    assert "<script>window.ran = 1" in seen.page.inner_text("main")


def test_a_script_that_is_put_into_the_page_is_refused_by_its_policy(
    visit: Callable[..., Any], address: str, document: dict[str, Any], tmp_path: Path
) -> None:
    attacked = tmp_path / "attacked.html"
    attacked.write_text(as_html(document).replace("<main>", "<main><script>window.ran = 1</script>", 1), "utf-8")
    page = visit(attacked.as_uri()).page
    assert page.evaluate("window.ran") is None
    expect(page.get_by_role("tab", name="Small")).to_be_visible()


def test_without_its_script_everything_stands_below_each_other(visit: Callable[..., Any], address: str) -> None:
    page = visit(address, java_script_enabled=False).page
    for key in ("small", "second"):
        expect(panel(page, key)).to_be_visible()
    expect(page.get_by_role("tablist")).to_be_hidden()
    expect(page.locator("form.filter").first).to_be_hidden()


@pytest.mark.parametrize("key", ["small", "second"])
def test_a_phone_never_scrolls_the_page_sideways(visit: Callable[..., Any], address: str, key: str) -> None:
    page = visit(f"{address}#track-{key}", viewport=PHONE).page
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_plots_have_names_and_say_what_a_mark_is(visit: Callable[..., Any], address: str) -> None:
    page = visit(f"{address}#track-small").page
    for name in (
        "Krippendorff's alpha of each dimension with its interval",
        "Mean score of each batch",
        "What each world recommends",
    ):
        expect(panel(page, "small").get_by_role("img", name=name)).to_be_visible()
    titles = panel(page, "small").locator("svg title").all_text_contents()
    assert any(title.startswith("correct: ") for title in titles)
    assert any(title.startswith("without A1-senior: ") for title in titles)
