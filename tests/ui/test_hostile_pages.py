"""Pages whose every text attacks: nothing of it runs, and what would run is refused by the policy of the page."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from assets.run import run_loop, run_study
from eval_pipeline.bundled import bundled
from eval_pipeline.human_check.sheet import Item, Task
from eval_pipeline.plan import read_plan
from eval_pipeline.report import closed_loop, history, human_check, judge_calibration, label_signal
from eval_pipeline.studies.judge_calibration.confusion import Prediction
from eval_pipeline.studies.judge_calibration.gold import Constraint, read_gold
from eval_pipeline.studies.label_signal.document import portfolio_document, track_document
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.simulation.world import world_of
from eval_pipeline.studies.label_signal.study import simulated_study
from eval_pipeline.studies.label_signal.track import read_track
from tests.history import kept_in_memory
from tests.studies.label_signal.conftest import TRACK_TOML, write_track
from tests.ui.conftest import chromium

TEMPLATES = Path(closed_loop.__file__).parent / "templates"
ATTACK = (
    "</script></style></title><script>window.ran = 1; alert(1)</script><img src=x onerror='window.ran = 2'>"
    "<svg onload='window.ran = 3'></svg><a href='javascript:window.ran = 4'>x</a>\"' onfocus=window.ran=5 autofocus x='"
)
# What the program itself chooses from a few words and looks up; every other text may come from data or from a plan.
WORDS = frozenset(
    "claim outcome reason check standing kind expected answered field robustness recommendation rule axis turned"
    " seal at until".split()
)
PAGES = ["closed loop", "judge calibration", "label signal", "human check", "verdicts over time"]
POINT: dict[str, Any] = {
    "at": "2026-11-30T12:00:00+00:00",
    "until": "2026-11-30T13:00:00+00:00",
    "look": 1,
    "runs": 2,
    "outcome": "warn",
    "reason": ATTACK,
    "estimate": 0.5,
    "interval": [0.4, 0.6],
    "low": 0.3,
    "high": 0.7,
    "threshold": 0.8,
    "judge": {"nli-v1": ATTACK},
    "seal": ATTACK,
    "changed": [ATTACK],
    "findings": [ATTACK],
}


def attacked(value: Any, name: str = "") -> Any:
    """The value with the attack in every text that may come from outside."""
    if isinstance(value, dict):
        return {key: attacked(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [attacked(item, name) for item in value]
    return f"{value}{ATTACK}" if isinstance(value, str) and name not in WORDS else value


def with_names_attacked(value: Any) -> Any:
    """The value with the attack in every name of it too, as where it is keyed by what stood in a log."""
    if isinstance(value, dict):
        return {f"{key}{ATTACK}": with_names_attacked(item) for key, item in value.items()}
    return [with_names_attacked(item) for item in value] if isinstance(value, list) else value


def of_closed_loop(out: Path) -> str:
    found = attacked(run_loop("fire-rate", {"out": str(out)}).document)
    names = {name: with_names_attacked(found[name]) for name in ("findings", "held_out")}
    charts = [chart | {"why": ATTACK} for chart in found["charts"]]
    return closed_loop.as_html(found | names | {"charts": charts})


def of_judge_calibration(out: Path) -> str:
    found = attacked(run_study("judge_calibration", {"out": str(out)}).document)
    found["judge"]["fingerprints"] = with_names_attacked(found["judge"]["fingerprints"])
    gold = read_gold(bundled("gold")).tuples
    texts: dict[str, Any] = {"claim": ATTACK, "excerpt": ATTACK}
    rule = Constraint(ATTACK, ATTACK, ATTACK)
    items = [replace(gold[0], **texts, constraint=None), replace(gold[0], **texts, constraint=rule)]
    return judge_calibration.as_html(found, [Prediction(item, None, None, None, ATTACK) for item in items])


def of_label_signal(folder: Path) -> str:
    plan = read_plan(bundled("plans/label-signal.toml"), LabelSignalPlan)
    track = read_track(write_track(folder / "small", track=f"{TRACK_TOML}offsets = [-0.4, 0]\n"))
    studied = simulated_study(track, world_of(track, plan.simulation), plan)
    own = track_document(studied, plan, seal="0" * 64, versions={}) | {"sensitivity": None}
    document = portfolio_document({"small": own}, {}, plan=plan.name, seal="0" * 64)
    tracks = {key: attacked(track) for key, track in document["tracks"].items()}
    return label_signal.as_html(attacked(document) | {"tracks": tracks, "skipped_tracks": {ATTACK: ATTACK}})


def of_human_check() -> str:
    return human_check.sheet_html(ATTACK, [Item(task, (ATTACK, ATTACK), ATTACK) for task in Task])


def of_history() -> str:
    claims = [{"claim": ATTACK, "points": [POINT, POINT | {"look": 2}]}, {"claim": "withheld", "points": [POINT]}]
    found = [{"at": POINT["at"], "sentence": ATTACK}]
    return history.as_html({"study": ATTACK, "subject": ATTACK, "runs": 3, "claims": claims, "findings": found})


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with kept_in_memory(), pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        patch.setenv("EVAL_PIPELINE_HOME", str(tmp_path_factory.mktemp("home")))
        return {
            "closed loop": of_closed_loop(tmp_path_factory.mktemp("out")),
            "judge calibration": of_judge_calibration(tmp_path_factory.mktemp("out")),
            "label signal": of_label_signal(tmp_path_factory.mktemp("track")),
            "human check": of_human_check(),
            "verdicts over time": of_history(),
        }


@pytest.fixture(scope="module")
def browser(pages: dict[str, str]) -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def shown(pages: dict[str, str], visit: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Opens a page, with something put in at the top of what it shows."""

    def show(name: str, put_in: str = "") -> Any:
        path = tmp_path / "page.html"
        path.write_text(pages[name].replace("<main>", f"<main>{put_in}", 1), "utf-8")
        return visit(path.as_uri())

    return show


@pytest.mark.parametrize("name", PAGES)
def test_no_text_of_a_page_runs_or_becomes_an_element(name: str, shown: Callable[..., Any]) -> None:
    seen = shown(name)
    seen.page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert seen.page.evaluate("window.ran") is None
    assert seen.dialogs == []
    assert seen.page.locator("img, iframe, object, base, [onload], [onerror], [onfocus], [autofocus]").count() == 0
    assert seen.page.locator("a[href^='javascript']").count() == 0
    assert seen.page.locator("script").count() == (1 if name in ("label signal", "human check") else 0)
    assert seen.page.locator("style").count() == 1
    assert "<script>window.ran = 1" in seen.page.evaluate("document.querySelector('main').textContent")
    assert len(seen.requests) == 1


@pytest.mark.parametrize("name", PAGES)
def test_what_would_run_if_it_came_past_the_escaping_is_refused_by_the_policy(
    name: str, shown: Callable[..., Any]
) -> None:
    """An inline script, a handler, a script from elsewhere, an address for all links, and a form."""
    put_in = (
        "<script>window.ran = 1</script><img src='data:,' onerror='window.ran = 2'><script src='data:,window.ran=3'>"
        "</script><base href='http://127.0.0.1:9/'><form action='http://127.0.0.1:9/'><button id=send></button></form>"
    )
    seen = shown(name, put_in)
    here = seen.page.url
    seen.page.evaluate("document.getElementById('send').click()")
    seen.page.wait_for_timeout(100)
    assert seen.page.evaluate("window.ran") is None
    assert (seen.page.url, seen.page.evaluate("document.baseURI")) == (here, here)
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []


def test_the_script_of_the_label_signal_works_beside_one_that_is_refused(shown: Callable[..., Any]) -> None:
    page = shown("label signal", "<script>window.ran = 1</script>").page
    page.get_by_role("tab").nth(1).click()
    expect(page.locator("#overview")).to_be_hidden()
    assert page.evaluate("window.ran") is None


def test_the_script_of_the_human_check_works_beside_one_that_is_refused(shown: Callable[..., Any]) -> None:
    page = shown("human check", "<script>window.ran = 1</script>").page
    page.keyboard.press("1")
    expect(page.locator("fieldset :checked")).to_have_count(1)
    assert page.evaluate("window.ran") is None


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_of_a_page_allows_nothing_but_its_own_script_and_style(name: str, pages: dict[str, str]) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', pages[name])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    one_hash = re.compile("'sha256-[A-Za-z0-9+/]{43}='")
    with_script = name in ("label signal", "human check")
    for of in ("script-src", "style-src") if with_script else ():
        assert one_hash.fullmatch(rules.pop(of))
    assert with_script or rules.pop("style-src") == "'unsafe-inline'"
    assert rules == {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}


def test_every_template_of_a_page_has_the_policy_before_anything_that_could_run() -> None:
    whole = [path for path in TEMPLATES.glob("*.html.jinja") if "<html" in path.read_text("utf-8")]
    assert len(whole) >= 6
    for path in whole:
        text = path.read_text("utf-8").partition("<head>")[2]
        before, found, _ = text.partition('http-equiv="Content-Security-Policy" content="{{ policy(')
        assert found, path.name
        assert not re.search("<(script|style|link|img|base)", before), path.name
