"""Figures: dots with their intervals, and a histogram with its threshold; as SVG for a page, as PNG for Dagster."""

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_ID = re.compile(r"(\bid=\"|href=\"#|url\(#)([^\")]+)")


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a figure: text, what stays back, the data, the threshold."""

    ink: str
    faint: str
    accent: str
    bar: str


PAPER = Palette("#333333", "#bbbbbb", "#2563ab", "#b3261e")
# Stand-ins, which `as_svg` replaces by the colours of the page, so that a figure follows dark mode.
PAGE = Palette("#010203", "#040506", "#070809", "#0a0b0c")
_OF_THE_PAGE = {
    PAGE.ink: "currentColor",
    PAGE.faint: "var(--faint)",
    PAGE.accent: "var(--accent)",
    PAGE.bar: "var(--fail)",
}


def _style(palette: Palette) -> Any:  # rc_context takes one key of hundreds each, by a type that no one writes out
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "eval_pipeline",
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": palette.ink,
        "axes.labelcolor": palette.ink,
        "axes.edgecolor": palette.faint,
        "xtick.color": palette.ink,
        "ytick.color": palette.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }


@dataclass(frozen=True, slots=True)
class Dot:
    """A share with its interval; an interval of None is drawn as a dot alone."""

    label: str
    value: float
    interval: tuple[float, float] | None


def dots(values: Sequence[Dot], *, bar: float, bar_label: str, palette: Palette) -> Figure:
    """One line a value, from 0 to 1, with a vertical line at the bar."""
    with mpl.rc_context(_style(palette)):
        figure = Figure(figsize=(6, 0.6 + 0.42 * len(values)), layout="constrained")
        axes = figure.add_subplot()
        for place, dot in enumerate(values):
            if dot.interval:
                axes.plot(dot.interval, (place, place), color=palette.accent, linewidth=2, clip_on=False)
            axes.plot([dot.value], [place], "o", color=palette.accent, markersize=7, clip_on=False)
        axes.set_yticks(range(len(values)), [dot.label for dot in values])
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        _mark(axes, bar, bar_label, palette)
        return figure


def histogram(
    edges: Sequence[float], counts: Sequence[int], *, bar: float, bar_label: str, bound: float, palette: Palette
) -> Figure:
    """The bins as bars, with vertical lines at the bar and at the bound."""
    with mpl.rc_context(_style(palette)):
        figure = Figure(figsize=(6, 2.6), layout="constrained")
        axes = figure.add_subplot()
        widths = [right - left for left, right in pairwise(edges)]
        axes.bar(edges[:-1], counts, widths, align="edge", color=palette.faint, edgecolor="none")
        axes.axvline(bound, color=palette.accent, linewidth=2)
        axes.annotate(f"bound {bound:.4f}", (bound, 1), xycoords=("data", "axes fraction"), xytext=(4, -10),
                      textcoords="offset points", color=palette.accent)  # fmt: skip
        axes.set_yticks([])
        axes.set_xlabel("recall in quartile 1 less recall in quartile 4, resampled")
        _mark(axes, bar, bar_label, palette)
        return figure


def _mark(axes: Axes, bar: float, label: str, palette: Palette) -> None:
    axes.axvline(bar, color=palette.bar, linewidth=1.5, linestyle=(0, (4, 3)))
    axes.annotate(label, (bar, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
                  color=palette.bar, ha="center", va="bottom")  # fmt: skip


def as_svg(figure: Figure, *, label: str) -> str:
    """A figure drawn in `PAGE` as an SVG element in the colours of the page around it; `label` is read aloud."""
    with mpl.rc_context(_style(PAGE)):
        sink = io.StringIO()
        figure.savefig(sink, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = sink.getvalue()
    svg = text[text.index("<svg") :]
    for stand_in, colour in _OF_THE_PAGE.items():
        svg = svg.replace(stand_in, colour)
    own = "".join(mark for mark in label.lower() if mark.isalnum())  # two figures of a page must not share an id
    svg = _ID.sub(rf"\g<1>{own}-\g<2>", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(label, quote=True)}"', 1)


def as_markdown(figure: Figure, *, label: str) -> str:
    """A figure drawn in `PAPER` as a Markdown image that holds its own bytes."""
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=110, metadata={"Software": None})
    return f"![{label}](data:image/png;base64,{base64.b64encode(sink.getvalue()).decode()})"


def control_chart(
    points: Sequence[float],
    *,
    centre: float,
    lower: Sequence[float],
    upper: Sequence[float],
    signals: Sequence[int],
    palette: Palette,
) -> Figure:
    """Points in their order between their limits, with the centre; those that call for a cause are marked."""
    with mpl.rc_context(_style(palette)):
        figure = Figure(figsize=(6, 2.6), layout="constrained")
        axes = figure.add_subplot()
        places = range(len(points))
        axes.fill_between(places, lower, upper, color=palette.faint, alpha=0.25, linewidth=0)
        axes.axhline(centre, color=palette.faint, linewidth=1)
        axes.plot(places, points, "-o", color=palette.accent, markersize=3, linewidth=1)
        marked = sorted(set(signals))
        axes.plot(marked, [points[place] for place in marked], "o", color=palette.bar, markersize=7, fillstyle="none")
        axes.set_xlim(-0.5, len(points) - 0.5)
        return figure
