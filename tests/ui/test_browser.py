"""What a person sees: the report on any screen, and Dagster with the study in it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.webserver import AS_ALONE, Server, free_port, wait_until_loaded

CHAIN = (
    "sealed_plan",
    "corpus",
    "proposition_fixture",
    "frame",
    "nli_judgments",
    "proposition_fates",
    "entry_quartiles",
    "recall_estimate",
    "uniformity_bound",
    "precision_guard",
    "band_ledger",
    "extraction_verdict",
    "extraction_report",
)
PHONE = {"width": 390, "height": 844}
RUN_S = 90
SEEN_MS = 30_000


def address(made: Any) -> str:
    return (made.run.out / "report.html").as_uri()


def open_all(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")


def test_no_text_of_a_corpus_runs_as_a_script(visit: Callable[..., Any], hostile: Any) -> None:
    seen = visit(address(hostile))
    open_all(seen.page)
    assert seen.page.evaluate("window.ran") is None
    assert seen.dialogs == []
    assert seen.page.locator("script, img, iframe").count() == 0
    assert "<script>window.ran = 1" in seen.page.inner_text("main")


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_a_report_asks_for_nothing_but_itself(
    visit: Callable[..., Any], name: str, request: pytest.FixtureRequest
) -> None:
    page = address(request.getfixturevalue(name))
    seen = visit(page)
    open_all(seen.page)
    assert seen.requests == [page]


def test_a_script_that_is_put_into_the_page_is_refused_by_its_policy(visit: Callable[..., Any], sample: Any) -> None:
    """The policy itself holds: it does not rest on the escaping alone."""
    html = (sample.run.out / "report.html").read_text("utf-8")
    attacked = sample.home / "attacked.html"
    attacked.write_text(html.replace("<main>", "<main><script>window.ran = 1</script>", 1), "utf-8")
    assert visit(attacked.as_uri()).page.evaluate("window.ran") is None


@pytest.mark.parametrize("name", ["sample", "withheld", "hostile"])
def test_a_phone_never_scrolls_the_page_sideways(
    visit: Callable[..., Any], name: str, request: pytest.FixtureRequest
) -> None:
    """`hostile` holds a word of 300 letters in each of its texts."""
    page = visit(address(request.getfixturevalue(name)), viewport=PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_dark_screen_gets_a_dark_page_with_light_letters(visit: Callable[..., Any], sample: Any) -> None:
    page = visit(address(sample), color_scheme="light").page

    def brightness(property_: str) -> int:
        colour = page.evaluate(f"getComputedStyle(document.body).{property_}")
        return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))

    assert brightness("backgroundColor") > brightness("color")
    page.emulate_media(color_scheme="dark")
    assert brightness("backgroundColor") < brightness("color")


def test_the_figures_have_names_for_those_who_do_not_see_them(visit: Callable[..., Any], sample: Any) -> None:
    page = visit(address(sample)).page
    names = ("Recall by quartile of the text", "Distribution of the loss over resamples")
    assert [page.get_by_role("img", name=name).count() for name in names] == [1, 1]


def test_a_withheld_number_is_its_reason_where_the_number_would_stand(visit: Callable[..., Any], withheld: Any) -> None:
    page = visit(address(withheld)).page
    for name in ("Pooled recall", "Positional uniformity"):
        claim = page.get_by_role("article").filter(has=page.get_by_role("heading", name=name))
        assert claim.locator(".number").inner_text() == "withheld: fixture missing"
        assert "There are no annotated propositions to measure against." in claim.inner_text()


@pytest.fixture(scope="module")
def server(sample: Any, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The user interface on the home of the sample's run; its whole process group ends with the module."""
    port, log = free_port(), tmp_path_factory.mktemp("ui") / "log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DAGSTER_")}
    environment |= {"EVAL_PIPELINE_HOME": str(sample.home), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", AS_ALONE, "ui", "--port", str(port)]
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, env=environment, start_new_session=True)
    try:
        wait_until_loaded(Server(f"http://127.0.0.1:{port}"), process, log)
        yield Server(f"http://127.0.0.1:{port}")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=15)


_LAUNCH = """
mutation Launch($selector: JobOrPipelineSelector!) {
  launchRun(executionParams: {selector: $selector, runConfigData: {}}) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}
"""
_STATUS = "query Status($run: ID!) { runOrError(runId: $run) { ... on Run { status } } }"
_LAST = """
query Last { assetNodes(assetKeys: [{path: ["extraction_verdict"]}], loadMaterializations: true) {
  assetMaterializations(limit: 1) { runId } } }
"""


@pytest.fixture(scope="module")
def launched(server: Server) -> str:
    """The job `extraction`, launched as the launchpad does, by its id; it runs while the pages are looked at."""
    selector = {
        "repositoryName": "__repository__",
        "repositoryLocationName": "eval_pipeline",
        "jobName": "extraction",
    }
    answer = server.ask(_LAUNCH, selector=selector)["launchRun"]
    assert answer["__typename"] == "LaunchRunSuccess", answer
    return str(answer["run"]["runId"])


@pytest.fixture(scope="module")
def finished(server: Server, launched: str) -> str:
    """That job once it has ended: while its checks run, a page shows "In progress" in place of what they found."""
    deadline = time.monotonic() + RUN_S
    while server.ask(_STATUS, run=launched)["runOrError"]["status"] not in ("SUCCESS", "FAILURE", "CANCELED"):
        assert time.monotonic() < deadline, f"the job has not ended within {RUN_S} s"
        time.sleep(0.3)
    return launched


def test_the_chain_of_the_study_stands_in_the_lineage(
    server: Server, launched: str, visit: Callable[..., Any], tmp_path: Path
) -> None:
    page = visit(f"{server.url}/asset-groups").page
    page.get_by_role("button", name="arrow_drop_down").first.click(timeout=SEEN_MS)  # opens the group of the study
    for name in CHAIN:
        expect(page.get_by_role("button").filter(has_text=name).first).to_be_visible(timeout=SEEN_MS)
    page.screenshot(path=tmp_path / "lineage.png")


def test_the_checks_of_the_verdict_name_each_claim_with_outcome_and_reason(
    server: Server, finished: str, visit: Callable[..., Any], sample: Any, tmp_path: Path
) -> None:
    page = visit(f"{server.url}/assets/extraction_verdict?view=checks").page
    for claim in sample.run.document["claims"]:
        page.get_by_text(claim["claim"], exact=True).first.click(timeout=SEEN_MS)
        expect(page.get_by_text(claim["detail"]).first).to_be_visible(timeout=SEEN_MS)
        expect(page.get_by_text(claim["outcome"], exact=True).first).to_be_visible(timeout=SEEN_MS)
        expect(page.get_by_text(claim["reason"], exact=True).first).to_be_visible(timeout=SEEN_MS)
        page.screenshot(path=tmp_path / f"{claim['claim']}.png")


def test_the_verdict_of_a_run_is_seen_with_its_claims_and_its_table(
    server: Server, finished: str, visit: Callable[..., Any], sample: Any, tmp_path: Path
) -> None:
    page = visit(f"{server.url}/assets/extraction_verdict").page
    for claim in sample.run.document["claims"]:
        expect(page.get_by_text(claim["claim"]).first).to_be_visible(timeout=SEEN_MS)
    page.screenshot(path=tmp_path / "verdict_asset.png")
    page = visit(address(sample)).page
    for claim in sample.run.document["claims"]:
        expect(page.get_by_text(claim["detail"]).first).to_be_visible()
    page.screenshot(path=tmp_path / "verdict.png", full_page=True)


def test_the_job_that_the_launchpad_starts_comes_to_the_verdict_of_the_command_line(
    server: Server, finished: str, sample: Any
) -> None:
    assert server.ask(_STATUS, run=finished)["runOrError"]["status"] == "SUCCESS"
    assert server.ask(_LAST)["assetNodes"][0]["assetMaterializations"][0]["runId"] == finished
    found = json.loads((sample.home / "out" / "extraction" / "verdict.json").read_text("utf-8"))
    assert found == sample.run.document
