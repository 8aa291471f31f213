"""The page of verdicts over time: every look in a table, a chart where there is a course, and no text that acts."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest

from eval_pipeline.history import Anytime, exact_intervals, history_document, look_body
from eval_pipeline.ledger import Kind, Line
from eval_pipeline.report.figures import PAPER
from eval_pipeline.report.history import as_html, charts_as_markdown, page_name
from eval_pipeline.report.timeline import SHOWN, timeline_svg

SVG = "{http://www.w3.org/2000/svg}"


def claim(name, errors, outcome, *, bar=0.15):
    estimate = None if outcome == "skip" else errors / 100
    interval = None if outcome == "skip" else [None, estimate + 0.02]
    reason = "judge_down" if outcome == "skip" else None
    numbers = {"estimate": estimate, "interval": interval, "threshold": bar, "numerator": errors, "denominator": 100}
    return {"claim": name, "outcome": outcome, "reason": reason} | numbers


def history(course, *, name="false_negatives", bar=0.15, seals="", subject="", **more):
    """The history of one claim from its (errors, outcome) of each night; `seals` are the plans, a letter each."""
    lines = []
    for night, (errors, outcome) in enumerate(course):
        plan = seals[night] if seals else "a"
        document = {
            "study": "judge-calibration",
            "plan": "p",
            "hashes": {"plan": plan * 64, "night": str(night)},
            "versions": {},
            "claims": [claim(name, errors, outcome, bar=bar)],
        } | more
        anytime = Anytime(Fraction(19, 20), exact_intervals(document, [name]))
        body = look_body(lines, document, subject=subject, judge={"p": "f" * 64}, anytime=anytime, run="r")
        at = datetime(2026, 10, 1, tzinfo=UTC) + timedelta(days=night)
        lines.append(Line(night + 1, Kind.VERDICT, at.isoformat(), body, "", ""))
    return history_document(lines, study="judge-calibration", subject=subject)


COURSE = [(10, "pass"), (20, "fail"), (0, "skip"), (11, "warn")]


@pytest.fixture(scope="module")
def course():
    return history(COURSE)


def cells(html):
    """The rows of the tables, each with the text of its cells."""
    rows = re.findall(r"<tr>(.*?)</tr>", html.partition("<tbody>")[2], re.DOTALL)
    return [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in rows]


def test_the_table_holds_every_look_the_latest_first(course):
    rows = cells(as_html(course))
    assert [row[:4] for row in rows] == [
        ["2026-10-04", "4", "warn", "0.1100"],
        ["2026-10-03", "3", "skip (judge down)", "withheld"],
        ["2026-10-02", "2", "fail", "0.2000"],
        ["2026-10-01", "1", "pass", "0.1000"],
    ]
    assert rows[0][4] == "open to 0.1300"
    assert rows[1][4:6] == ["–", "–"]
    assert re.fullmatch(r"0\.0\d+ to 0\.2\d+", rows[0][5])
    assert rows[0][6:8] == ["f" * 12, "a" * 12]
    assert "turned from skip to warn" in rows[0][8]


def test_the_findings_stand_on_top_with_their_days(course):
    html = as_html(course)
    assert "<li>2026-10-02: false_negatives turned from pass to fail: it may be chance of so many looks" in html
    assert "No outcome turned" in as_html(history([(10, "pass"), (11, "pass")]))


def parts(svg):
    root = ET.fromstring(svg)
    return {tag: list(root.iter(f"{SVG}{tag}")) for tag in ("circle", "line", "text", "title")}


def test_the_chart_has_a_dot_a_number_two_bars_an_interval_and_a_cross_where_it_is_withheld(course):
    found = parts(timeline_svg(course["claims"][0]))
    assert len(found["circle"]) == 3
    assert [one.text for one in found["text"]].count("×") == 1
    widths = [float(line.get("stroke-width")) for line in found["line"]]
    assert len([width for width in widths if width > 1]) == 6
    assert [one.text for one in found["title"]] == [
        "2026-10-01: pass, 0.1000",
        "2026-10-02: fail, 0.2000",
        "2026-10-03: skip, withheld",
        "2026-10-04: warn, 0.1100",
    ]


def test_a_higher_number_stands_higher_and_a_later_one_further_right(course):
    dots = [(float(one.get("cx")), float(one.get("cy"))) for one in parts(timeline_svg(course["claims"][0]))["circle"]]
    (x1, y1), (x2, y2), (x4, y4) = dots
    assert x1 < x2 < x4
    assert y2 < y4 < y1


def dashed(svg, dashes):
    return [line for line in parts(svg)["line"] if line.get("stroke-dasharray") == dashes]


def test_a_line_marks_where_the_plan_changed_and_only_there():
    nothing = history([(10, "pass"), (11, "pass"), (12, "pass")])
    changed = history([(10, "pass"), (11, "pass"), (12, "pass")], seals="aab")
    assert [len(dashed(timeline_svg(one["claims"][0]), "1 3")) for one in (nothing, changed)] == [0, 1]


def test_the_bar_is_drawn_where_there_is_one():
    with_bar, without = (history([(10, "pass"), (11, "pass")], bar=bar) for bar in (0.15, None))
    assert [len(dashed(timeline_svg(one["claims"][0]), "5 4")) for one in (with_bar, without)] == [2, 0]
    assert list(charts_as_markdown(with_bar)) == ["false_negatives"]
    assert charts_as_markdown(without) == {}


def test_values_that_are_all_alike_can_be_drawn():
    for errors, outcome in ((0, "pass"), (100, "fail"), (0, "skip")):
        svg = timeline_svg(history([(errors, outcome)] * 2)["claims"][0])
        assert "nan" not in svg.lower()


def test_one_look_has_a_table_and_no_chart():
    html = as_html(history([(10, "pass")]))
    assert "<svg" not in html
    assert len(cells(html)) == 1


def test_of_a_long_history_the_last_looks_are_shown_and_the_page_says_so():
    html = as_html(history([(10 + night % 3, "pass") for night in range(SHOWN + 5)]))
    assert html.count("<circle") == len(cells(html)) == SHOWN
    assert f"The last {SHOWN} of {SHOWN + 5} looks." in html


def test_no_text_of_a_history_acts():
    hostile = "<script>alert(1)</script>\"'& ](javascript:x)"
    made = history(COURSE, name=hostile, subject=hostile, plan=hostile, study="judge-calibration")
    html = as_html(made)
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(1)") > 3
    ET.fromstring(timeline_svg(made["claims"][0]))
    (image,) = charts_as_markdown(made).values()
    assert re.fullmatch(r"!\[[\w \-:]*\]\(data:image/svg\+xml;base64,[A-Za-z0-9+/=]+\)", image)


def test_the_same_history_gives_the_same_bytes_on_a_page_without_script(course):
    assert as_html(course) == as_html(history(COURSE))
    assert "script" not in as_html(course)
    assert timeline_svg(course["claims"][0], palette=PAPER) == timeline_svg(history(COURSE)["claims"][0], palette=PAPER)


def test_a_page_is_named_by_its_part():
    assert (page_name(), page_name("agentic")) == ("history.html", "history-agentic.html")
