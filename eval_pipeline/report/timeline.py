"""A claim over time as a picture: each look's number, its interval, the interval over all looks, and the bar."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

from eval_pipeline.report.figures import Palette

SHOWN = 120  # points; more would lie on each other
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 34
_WIDTH, _HEIGHT = 680, 230
_TICKS = 8
_DATES = 6
_ON_PAGE = Palette("currentColor", "var(--faint)", "var(--accent)", "var(--fail)")


def timeline_svg(claim: Mapping[str, Any], *, palette: Palette = _ON_PAGE) -> str:
    """The last points of a claim as an SVG element; the label that is read aloud names the claim.

    A wide bar is the interval over all looks, a narrow one that of the run alone, a dot the estimate; a cross at the
    foot is a look whose number is withheld. A vertical line says that plan or judge changed there. An end that is open
    is drawn no further than the number.
    """
    points = claim["points"][-SHOWN:]
    scale = _Scale(points)
    parts = [*_axes(points, scale, palette), *_bars(points, scale, palette), *_marks(points, scale, palette)]
    label = escape(f"{claim['claim']} over time", quote=True)
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}" font-family="sans-serif"'
        f' font-size="12" fill="{palette.ink}">{"".join(parts)}</svg>'
    )


def timeline_markdown(claim: Mapping[str, Any], *, palette: Palette) -> str:
    """The same as a Markdown image that holds its own bytes."""
    data = base64.b64encode(timeline_svg(claim, palette=palette).encode("utf-8")).decode("ascii")
    label = "".join(mark for mark in claim["claim"] if mark.isalnum() or mark in " _-:")
    return f"![{label} over time](data:image/svg+xml;base64,{data})"


class _Scale:
    """Where a look and a value stand in the picture."""

    def __init__(self, points: Sequence[Mapping[str, Any]]) -> None:
        values = [value for point in points for value in _values(point)] or [0.0, 1.0]
        room = (max(values) - min(values)) * 0.06 or 0.01
        self.least, self.most = min(values) - room, max(values) + room
        self.step = (_WIDTH - _LEFT - _RIGHT) / len(points)

    def x(self, place: int) -> float:
        return round(_LEFT + (place + 0.5) * self.step, 1)

    def y(self, value: float) -> float:
        share = (value - self.least) / (self.most - self.least)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)


def _values(point: Mapping[str, Any]) -> list[float]:
    ends = point["interval"] or []
    values = (point["estimate"], point["low"], point["high"], point["threshold"], *ends)
    return [float(value) for value in values if value is not None]


def _axes(points: Sequence[Mapping[str, Any]], scale: _Scale, palette: Palette) -> Iterator[str]:
    """The values at the side, the days below, and the bar."""
    foot, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    yield _line(_LEFT, foot, end, foot, palette.faint)
    yield _line(_LEFT, _TOP, _LEFT, foot, palette.faint)
    for value in _round_values(scale.least, scale.most):
        yield _text(_LEFT - 6, scale.y(value) + 4, f"{value:.4g}", "end")
    stride = -(-len(points) // _DATES)
    for place in range(0, len(points), stride):
        yield _text(scale.x(place), foot + 18, points[place]["at"][:10], "middle")
    for place, (one, other) in enumerate(pairwise([*points, points[-1]])):
        if one["threshold"] is not None:
            left, right = scale.x(place) - scale.step / 2, scale.x(place) + scale.step / 2
            yield _line(left, scale.y(one["threshold"]), right, scale.y(one["threshold"]), palette.bar, dashes="5 4")
        if {"plan", "judge"} & set(other["changed"]) and other is not one:
            middle = round((scale.x(place) + scale.x(place + 1)) / 2, 1)
            yield _line(middle, _TOP, middle, foot, palette.ink, dashes="1 3")


def _round_values(least: float, most: float) -> list[float]:
    """Some multiples of 1, 2 or 5 tenths, hundredths and so on between two values."""
    rough = (most - least) / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough)
    first, last = ceil(least / step), floor(most / step)
    return [number * step for number in range(first, last + 1)]


def _bars(points: Sequence[Mapping[str, Any]], scale: _Scale, palette: Palette) -> Iterator[str]:
    """The intervals: over all looks, and of the run alone."""
    wide = max(2.0, min(14.0, scale.step * 0.7))
    for place, point in enumerate(points):
        if point["estimate"] is None:
            continue
        for (low, high), width, colour in (
            ((point["low"], point["high"]), wide, palette.faint),
            (point["interval"] or (None, None), wide / 4, palette.accent),
        ):
            if low is not None or high is not None:
                ends = [point["estimate"] if end is None else end for end in (low, high)]
                yield _line(scale.x(place), scale.y(ends[0]), scale.x(place), scale.y(ends[1]), colour, width=width)


def _marks(points: Sequence[Mapping[str, Any]], scale: _Scale, palette: Palette) -> Iterator[str]:
    """The numbers, each with its day and outcome for whoever points at it."""
    size = max(2.0, min(5.0, scale.step / 3))
    for place, point in enumerate(points):
        x, about = scale.x(place), f"<title>{escape(_about(point))}</title>"
        if point["estimate"] is None:
            yield f'<text x="{x}" y="{_HEIGHT - _BOTTOM - 3}" text-anchor="middle" fill="{palette.ink}">×{about}</text>'
            continue
        colour = palette.bar if point["outcome"] == "fail" else palette.accent
        inside = "none" if point["outcome"] in ("warn", "skip") else colour
        yield (
            f'<circle cx="{x}" cy="{scale.y(point["estimate"])}" r="{size:g}" fill="{inside}" stroke="{colour}"'
            f' stroke-width="1.5">{about}</circle>'
        )


def _about(point: Mapping[str, Any]) -> str:
    number = "withheld" if point["estimate"] is None else f"{point['estimate']:.4f}"
    return f"{point['at'][:10]}: {point['outcome']}, {number}"


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str, *, width: float = 1, dashes: str | None = None
) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    place = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {place} stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'
