"""The report shows what the verdict says, shows texts as texts, and withholds what is withheld."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from eval_pipeline.records import Fate, Reason
from eval_pipeline.report.extraction import (
    ENTRIES_SHOWN,
    ReportInput,
    as_html,
    as_markdown,
    bound_figure,
    quartile_figure,
)
from eval_pipeline.report.figures import PAPER
from eval_pipeline.report.reasons import REASON_WORDS
from eval_pipeline.studies.extraction.losses import EntryLosses, Loss

EMPTY = {"meta", "br", "img", "path", "use", "rect"}


class Page(HTMLParser):
    """The elements of a page, and the text that a reader sees of it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._within: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._within.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._within:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """The text with its white space folded."""
        return " ".join("".join(self.texts).split())


def cells(markdown: str) -> Iterator[list[str]]:
    """The rows of all tables, as an independent reader of Markdown has them."""
    row: list[str] = []
    in_cell = False
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        if token.type == "tr_open":
            row = []
        elif token.type in ("td_open", "th_open"):
            in_cell = True
        elif token.type == "inline" and in_cell:
            children = token.children or []
            assert {child.type for child in children} <= {"text", "softbreak"}, token.content
            row.append("".join(child.content for child in children))
            in_cell = False
        elif token.type == "tr_close":
            yield row


def skipped(document: dict[str, Any], reason: str) -> dict[str, Any]:
    """The document with every claim withheld for a reason, and the numbers that belong to it with it."""
    withheld = {"outcome": "skip", "reason": reason, "estimate": None, "interval": None, "advisory": False}
    rows = [row | {"estimate": None, "interval": None} for row in document["quartiles"]]
    numbers = ("first_less_last", "upper_bound", "worst_bound", "slope_per_quartile", "highest_less_lowest")
    uniformity = document["findings"]["uniformity"] | dict.fromkeys(numbers)
    return document | {
        "claims": [claim | withheld for claim in document["claims"]],
        "quartiles": rows,
        "findings": document["findings"] | {"uniformity": uniformity},
    }


def test_every_text_of_the_corpus_stands_on_the_page_as_text(hostile_report: ReportInput, hostile: str) -> None:
    """Entry, signal, signal id, proposition, workspace, band, entry id, span, source and plan."""
    page = Page(as_html(hostile_report))
    assert page.text.count(" ".join(hostile.split())) >= 10
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "object", "link", "base"})
    assert [attributes for tag, attributes in page.elements if tag == "a"] == [{"href": "history.html"}]
    assert [name for _, attributes in page.elements for name in attributes if name.startswith("on")] == []


def test_hostile_and_harmless_texts_give_pages_of_the_same_elements(
    hostile_report: ReportInput, report: ReportInput
) -> None:
    hostile_page, page = (Page(as_html(found)) for found in (hostile_report, report))
    assert [tag for tag, _ in hostile_page.elements] == [tag for tag, _ in page.elements]


def test_the_page_forbids_scripts_and_loads_nothing(report: ReportInput) -> None:
    page = Page(as_html(report))
    (policy,) = (a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    loads = [
        attributes[name]
        for tag, attributes in page.elements
        for name in ("src", "href", "xlink:href", "data", "action")
        if attributes.get(name) and tag != "a"  # a link is followed by a person
    ]
    assert [target for target in loads if target and not target.startswith(("#", "data:"))] == []
    assert "@import" not in as_html(report)
    assert re.findall(r"url\((?!#)[^)]*\)", as_html(report)) == []


def test_each_figure_is_an_image_with_a_name_that_is_read_aloud(report: ReportInput) -> None:
    figures = [attributes for tag, attributes in Page(as_html(report)).elements if tag == "svg"]
    assert [(figure["role"], figure["aria-label"]) for figure in figures] == [
        ("img", "Recall by quartile of the text"),
        ("img", "Distribution of the loss over resamples"),
    ]


def test_the_same_findings_give_the_same_page(report: ReportInput) -> None:
    assert as_html(report) == as_html(report)
    assert as_markdown(report) == as_markdown(report)


def test_the_numbers_of_the_page_are_those_of_the_verdict(report: ReportInput) -> None:
    """2 notes of 8 facts, 7 of which have a signal each: recall 14/16."""
    text = Page(as_html(report)).text
    recall = report.document["claims"][0]
    assert (recall["numerator"], recall["denominator"]) == (14, 16)
    assert "0.875" in text
    assert f"{recall['interval'][0]:.4f} to {recall['interval'][1]:.4f}; at least 0.8000" in text
    assert "note-1 · 1 of 8 lost" in text
    assert "the entry has no signal" not in text


@pytest.mark.parametrize("reason", Reason, ids=str)
def test_a_number_that_is_withheld_is_shown_as_its_reason(report: ReportInput, reason: Reason) -> None:
    document = skipped(report.document, reason.value)
    shown = replace(report, document=document)
    html, markdown = Page(as_html(shown)).text, as_markdown(shown)
    words = f"withheld: {reason.value.replace('_', ' ')}"
    assert html.count(words) >= 3 <= markdown.count(words)
    assert "—" not in markdown
    assert html.count(REASON_WORDS[reason]) == markdown.count(REASON_WORDS[reason]) == 3


def test_the_figures_go_where_their_numbers_are_withheld(report: ReportInput) -> None:
    document = skipped(report.document, "underpowered")
    assert quartile_figure(document, PAPER) is None
    assert bound_figure(document, report.histogram, PAPER) is None
    assert bound_figure(report.document, None, PAPER) is None
    assert "<svg" not in as_html(replace(report, document=document))


def test_an_advisory_claim_says_that_it_does_not_bind(report: ReportInput) -> None:
    assert [claim["advisory"] for claim in report.document["claims"]] == [True] * 3
    words = "Advisory: the numbers were measured, and they do not bind."
    assert Page(as_html(report)).text.count(words) == as_markdown(report).count(words) == 3
    bound = replace(
        report, document=report.document | {"claims": [c | {"advisory": False} for c in report.document["claims"]]}
    )
    assert words not in as_html(bound) + as_markdown(bound)


def test_an_open_end_of_an_interval_is_shown_as_a_bound(report: ReportInput) -> None:
    high = report.document["claims"][1]["interval"][1]
    assert report.document["claims"][1]["interval"][0] is None
    assert f"≤ {high:.4f}" in as_markdown(report)


def test_no_hostile_text_breaks_a_table_or_is_acted_upon_in_it(
    hostile_report: ReportInput, report: ReportInput, hostile: str
) -> None:
    hostile_rows, rows = (list(cells(as_markdown(found))) for found in (hostile_report, report))
    assert [len(row) for row in hostile_rows] == [len(row) for row in rows]
    assert sum(" ".join(hostile.split()) in cell for row in hostile_rows for cell in row) >= 6


def loss(text: str) -> EntryLosses:
    lost = Loss(1, text, Fate.MISSED, composition_only=False, nearest=None)
    return EntryLosses("note-1", None, None, None, 1, None, (lost,))


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_any_text_in_a_cell_of_the_markdown_is_read_back_as_it_was(report: ReportInput, text: str) -> None:
    shown = replace(report, losses=(loss(f"A {text} b"),))
    assert ["1", " ".join(f"A {text} b".split()), "the entry has no signal"] in list(cells(as_markdown(shown)))


@pytest.mark.parametrize(
    "text",
    ["a | b", "a \\| b", "a\nb\r\nc", "`a` | `b`", "~~a~~", "&lt;b&gt;", "<b>a</b>", "![a](b)", "**a** _b_", "a\\"],
)
def test_a_mark_of_markdown_in_a_cell_is_a_mark_and_no_more(report: ReportInput, text: str) -> None:
    shown = replace(report, losses=(loss(f"A {text}"),))
    assert ["1", " ".join(f"A {text}".split()), "the entry has no signal"] in list(cells(as_markdown(shown)))


def test_a_report_without_losses_says_so(report: ReportInput) -> None:
    shown = replace(report, losses=())
    assert "No proposition was lost." in as_html(shown)
    assert "No proposition was lost." in as_markdown(shown)


def test_entries_beyond_those_shown_are_counted(report: ReportInput) -> None:
    shown = replace(report, losses=(loss("a"),) * (ENTRIES_SHOWN + 3))
    assert "3 more entries have losses; judgments.jsonl holds them all." in Page(as_html(shown)).text
    assert "3 more entries have losses; judgments.jsonl holds them all." in as_markdown(shown)
    assert as_html(shown).count("<details id=") == ENTRIES_SHOWN


def test_every_reason_has_words() -> None:
    assert set(REASON_WORDS) == {reason.value for reason in Reason}


def at_work(report: ReportInput, **changed: Any) -> tuple[str, str]:
    """The part on the judge of the page and of the Markdown, with some of its findings changed."""
    findings = report.document["findings"]
    document = report.document | {"findings": findings | {"judge": findings["judge"] | changed}}
    shown = replace(report, document=document)
    texts = Page(as_html(shown)).text, " ".join(as_markdown(shown).split())
    first, second = (text.partition("The judge at work")[2].partition("Losses by entry")[0] for text in texts)
    return first, second


def test_the_judge_at_work_is_shown_in_the_counts_of_the_document(report: ReportInput) -> None:
    """2 notes of 8 facts and 7 signals: 14 are settled by the nearest signal, 2 by it and the screen, of 112 in all.

    Every judgment was asked for once more, 18 on propositions and 14 on spans, and each proposition had a canary.
    """
    for text in at_work(report):
        assert "It turned away 2 propositions; 2 of them were asked about signal by signal all the same" in text
        assert "Asked once more about propositions, the judge turned 0 of 18 answers: 0.0000 (0.0000 to " in text
        assert "Asked once more about spans, the judge turned 0 of 14 answers: 0.0000 (0.0000 to " in text
        assert "what to reply: 16 asked." in text
        assert "settled by 18 different questions; to ask about each signal of each would have taken 112." in text
        assert "put a second time" not in text


def test_the_audit_of_the_screen_is_a_table_by_quartile_with_the_sum_last(report: ReportInput) -> None:
    rows = [row for row in cells(as_markdown(report)) if len(row) == 7]
    audits = report.document["findings"]["judge"]["screen_by_quartile"]
    start = rows.index(["Quartile", "Turned away", "Audited", "Missed", "Undecided", "Miss rate", "Interval"])
    assert [row[:5] for row in rows[start + 1 : start + 6]] == [
        [str(audit[name]) for name in ("quartile", "turned_away", "audited", "missed", "undecided")] for audit in audits
    ] + [["all", "2", "2", "0", "0"]]
    assert [row[5:] for row in rows[start + 1 : start + 5]] == [
        ["too little judged"] * 2 if audit["miss_rate"] is None else ["0.0000", "0.0000 to 0.8419"] for audit in audits
    ]


def test_what_was_not_done_of_the_judging_of_the_judge_is_not_shown(report: ReportInput) -> None:
    nothing = {"repeated": 0, "compared": 0, "turned": 0, "flip_rate": None, "interval": None}
    screen = report.document["findings"]["judge"]["screen"] | {"turned_away": 0}
    for text in at_work(
        report,
        screen=screen,
        repeats={"propositions": nothing, "spans": nothing},
        canaries={"asked": 0, "unread": 0},
        reasked=3,
    ):
        assert "turned away" not in text
        assert "Asked once more" not in text
        assert "Canaries" not in text
        assert "could not be read: 3." in text


def test_a_canary_without_a_label_is_shown_beside_those_that_were_asked(report: ReportInput) -> None:
    for text in at_work(report, canaries={"asked": 16, "unread": 2}):
        assert "what to reply: 16 asked, 2 without a label." in text


def test_where_no_screen_was_asked_support_by_several_signals_is_not_asked_instead_of_none(report: ReportInput) -> None:
    findings = report.document["findings"]
    recall = findings["recall"] | {"composition_only": None}
    shown = replace(report, document=report.document | {"findings": findings | {"recall": recall}})
    for text in (Page(as_html(shown)).text, as_markdown(shown)):
        assert "Supported only by several signals together, and so missed: not asked." in text
