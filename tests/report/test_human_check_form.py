"""The form of the human check is one page of texts: complete, escaped, self-contained, and silent on any judge."""

import base64
import hashlib
import re
from html.parser import HTMLParser

from eval_pipeline.human_check.sheet import QUESTIONS, Item, Rule, Said, Sheet, Task
from eval_pipeline.report.human_check import sheet_html

HOSTILE = "</script><script>window.ran = 1</script><img src=x onerror=alert(2)> \"'& =cmd() " + "w" * 300
STATEMENTS = ("Crew 1 replaced valve 11.", "Crew 1 left at noon.")
ITEMS = (
    Item(Task.PROPOSITION, STATEMENTS, "Valve 11 was replaced."),
    Item(Task.PROPOSITION, STATEMENTS, "The crew went home."),
    Item(Task.PROPOSITION, (HOSTILE,), HOSTILE),
    Item(Task.SPAN, ("Crew 1 replaced valve 11, then left.",), "Crew 1 replaced a valve."),
)
SHEET = Sheet("judgments", "a-plan", "the-judge", Rule(2, "0.6", "0.1", "0.95", 100, 7), ITEMS, ("unit-1", "unit-2"))
HTML = sheet_html(SHEET.id, SHEET.items)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and what stands in its scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.texts: list[str] = []
        self._last = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._last = tag

    def handle_endtag(self, tag: str) -> None:
        self._last = ""

    def handle_data(self, data: str) -> None:
        self.inside[self._last].append(data) if self._last in self.inside else self.texts.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


PAGE = Elements(HTML)


def policy() -> str:
    (found,) = (a["content"] for a in PAGE.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert found is not None
    return found


def test_every_item_can_be_given_each_label_once() -> None:
    assert [a["data-item"] for a in PAGE.of("fieldset")] == [item.id for item in ITEMS]
    radios = [(a["name"], a["value"]) for a in PAGE.of("input") if a["type"] == "radio"]
    assert radios == [(item.id, said.value) for item in ITEMS for said in Said]


def test_a_premise_stands_once_before_all_claims_about_it() -> None:
    assert HTML.count(STATEMENTS[0]) == 1
    assert len(PAGE.of("section")) == 3
    text = " ".join("".join(PAGE.texts).split())
    places = [text.index(part) for part in (*STATEMENTS, *(item.hypothesis for item in ITEMS[:2]))]
    assert places == sorted(places)
    assert [text.count(question) for question in QUESTIONS.values()] == [2, 1]


def test_nothing_of_a_judge_and_nothing_of_the_draw_is_on_the_page() -> None:
    words = ("judge", "verdict", "missed", "recovered", "undecided", "entail", "model", "quartile", "predict")
    assert [word for word in words if word in HTML.lower()] == []
    assert [part for part in (SHEET.judge, SHEET.plan, *SHEET.drawn) if str(part) in HTML] == []
    assert {a["value"] for a in PAGE.of("input") if a["type"] == "radio"} == set(Said)
    assert [a for a in PAGE.of("input") if "checked" in a and a["type"] == "radio"] == []


def test_the_page_needs_nothing_beside_it() -> None:
    assert {"link", "img", "iframe", "object", "base", "form"}.isdisjoint(tag for tag, _ in PAGE.found)
    assert [a for _, a in PAGE.found if {"src", "href", "action", "srcset", "style"} & a.keys()] == []
    assert re.findall(r"https?:|url\(|@import|\bfetch\b|XMLHttpRequest|\bimport\b", HTML) == []


def test_its_one_script_and_its_one_style_are_allowed_by_their_hashes_and_nothing_else_is() -> None:
    assert (len(PAGE.of("script")), len(PAGE.of("style"))) == (1, 1)
    named = {
        kind: base64.b64encode(hashlib.sha256("".join(PAGE.inside[kind]).encode()).digest()).decode()
        for kind in ("script", "style")
    }
    assert policy().split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{named['script']}'",
        f"style-src 'sha256-{named['style']}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_hostile_texts_stand_on_the_page_as_texts() -> None:
    assert "".join(PAGE.texts).count(HOSTILE) == 2
    assert [name for _, attributes in PAGE.found for name in attributes if name.startswith("on")] == []
    harmless = Elements(sheet_html(SHEET.id, [*ITEMS[:2], Item(Task.PROPOSITION, ("a",), "b"), ITEMS[3]]))
    assert [tag for tag, _ in harmless.found] == [tag for tag, _ in PAGE.found]


def test_each_choice_is_in_words_and_each_group_of_choices_is_called_by_its_claim() -> None:
    text = " ".join("".join(PAGE.texts).split())
    assert text.count("Yes, one statement says it No Cannot say") == 3
    assert text.count("Yes, the passage says it No Cannot say") == 1
    assert "Claim 4 of 4 Crew 1 replaced a valve." in text
    assert len(PAGE.of("legend")) == len(PAGE.of("fieldset")) == 4


def test_the_labels_of_a_sheet_are_not_kept_where_those_of_its_disagreements_are() -> None:
    keys = {
        Elements(html).of("body")[0]["data-storage-key"]
        for html in (HTML, sheet_html(SHEET.id, ITEMS[:2]), sheet_html("0" * 16, ITEMS))
    }
    assert len(keys) == 3
    assert PAGE.of("body")[0]["data-sheet"] == SHEET.id


def test_the_same_sheet_gives_the_same_page() -> None:
    assert sheet_html(SHEET.id, ITEMS) == HTML


def test_the_script_is_short_enough_to_be_read() -> None:
    assert "".join(PAGE.inside["script"]).count("\n") < 120
