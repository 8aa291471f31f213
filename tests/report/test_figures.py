"""Figures say what they are given, in the colours of the page, and are the same bytes each time."""

import base64
import re
from xml.etree import ElementTree as ET

import pytest

from eval_pipeline.report.figures import PAGE, PAPER, Dot, as_markdown, as_svg, dots, histogram

DOTS = [Dot("quartile 1", 0.9, (0.8, 0.95)), Dot("quartile 2", 0.5, None)]
PNG = b"\x89PNG\r\n\x1a\n"


def test_each_value_is_a_dot_and_only_an_interval_is_a_line() -> None:
    """Two dots, one interval, one line at the bar."""
    (axes,) = dots(DOTS, bar=0.8, bar_label="bar 0.8", palette=PAPER).axes
    drawn = [(list(line.get_xdata()), line.get_marker()) for line in axes.lines]
    assert drawn == [([0.8, 0.95], "None"), ([0.9], "o"), ([0.5], "o"), ([0.8, 0.8], "None")]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["quartile 1", "quartile 2"]


def test_shares_are_drawn_from_0_to_1_and_the_first_stands_on_top() -> None:
    (axes,) = dots(DOTS, bar=0.8, bar_label="bar 0.8", palette=PAPER).axes
    assert axes.get_xlim() == (0, 1)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_the_bars_of_a_histogram_have_the_counts_that_were_given() -> None:
    figure = histogram([0.0, 0.1, 0.3], [4, 6], bar=0.1, bar_label="bar 0.1", bound=0.25, palette=PAPER)
    (axes,) = figure.axes
    bars = [(round(bar.get_x(), 6), round(bar.get_width(), 6), bar.get_height()) for bar in axes.patches]
    assert bars == [(0.0, 0.1, 4), (0.1, 0.2, 6)]
    assert [line.get_xdata()[0] for line in axes.lines] == [0.25, 0.1]
    assert {text.get_text() for text in axes.texts} == {"bound 0.2500", "bar 0.1"}


def test_a_histogram_of_one_value_can_be_drawn() -> None:
    figure = histogram([-0.5, 0.5], [1000], bar=0.1, bar_label="bar 0.1", bound=0.0, palette=PAGE)
    assert "bound 0.0000" in as_svg(figure, label="a")


def test_the_svg_takes_the_colours_of_the_page_and_keeps_no_stand_in() -> None:
    svg = as_svg(dots(DOTS, bar=0.8, bar_label="bar 0.8", palette=PAGE), label="Recall")
    assert [colour for colour in vars(type(PAGE)).get("__slots__", ()) if getattr(PAGE, colour) in svg] == []
    assert all(colour in svg for colour in ("currentColor", "var(--accent)", "var(--fail)", "var(--faint)"))
    assert re.findall(r"(?:fill|stroke): ?#[0-9a-f]{6}", svg) == []


def test_the_label_is_an_attribute_whatever_stands_in_it() -> None:
    label = "a \"b\" <c> & 'd'"
    element = ET.fromstring(as_svg(dots(DOTS, bar=0.8, bar_label="bar", palette=PAGE), label=label))
    assert (element.get("role"), element.get("aria-label")) == ("img", label)


def test_words_of_a_figure_are_text_and_are_escaped() -> None:
    hostile = [Dot("<script>alert(1)</script>", 0.5, None)]
    svg = as_svg(dots(hostile, bar=0.8, bar_label="bar", palette=PAGE), label="a")
    assert "<script" not in svg
    texts = [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "<script>alert(1)</script>" in texts


@pytest.mark.parametrize("draw", ["svg", "markdown"])
def test_the_same_values_give_the_same_bytes(draw: str) -> None:
    def drawn() -> str:
        if draw == "svg":
            return as_svg(dots(DOTS, bar=0.8, bar_label="bar", palette=PAGE), label="a")
        return as_markdown(dots(DOTS, bar=0.8, bar_label="bar", palette=PAPER), label="a")

    assert drawn() == drawn()


def test_the_markdown_image_holds_its_own_bytes() -> None:
    found = re.fullmatch(
        r"!\[Recall\]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)",
        as_markdown(dots(DOTS, bar=0.8, bar_label="bar", palette=PAPER), label="Recall"),
    )
    assert found
    assert base64.b64decode(found[1]).startswith(PNG)
