"""The written sentences of a workspace, and the filling of the slots in them."""

import random
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

WORDING = Path(__file__).parent / "wording"

_SLOT = re.compile(r"\{(\w+)(?::(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?))?\}")
_CHOICE = re.compile(r"\[([^\[\]]+\|[^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Frame:
    """One fact in three wordings; `noted` and `signals` have two members when the fact is told in two halves.

    A `vague` signal is true but says less than the proposition; an `invented` one is false.
    """

    noted: tuple[str, ...]
    signals: tuple[str, ...]
    proposition: str
    vague: str | None
    invented: str | None


@dataclass(frozen=True, slots=True)
class Topic:
    """What one paragraph is about."""

    frames: tuple[Frame, ...]
    pairs: tuple[Frame, ...]
    fillers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """The written content of one domain."""

    name: str
    prefix: str
    headings: tuple[str, ...]
    entry_slots: dict[str, list[str]]
    pools: dict[str, list[str]]
    topics: tuple[Topic, ...]


def pick(rng: random.Random, options: Sequence[T]) -> T:
    """One of the options; `random()` is the only draw whose sequence Python promises to keep between versions."""
    return options[int(rng.random() * len(options))]


def shuffled(rng: random.Random, items: Sequence[T]) -> list[T]:
    """The items in random order."""
    return [items[i] for _, i in sorted((rng.random(), i) for i in range(len(items)))]


def read_workspace(name: str) -> Workspace:
    """The written content of a workspace."""
    raw = tomllib.loads((WORDING / f"{name}.toml").read_text(encoding="utf-8"))
    topics = tuple(
        Topic(
            tuple(_frame(frame) for frame in topic["frame"]),
            tuple(_frame(pair) for pair in topic.get("pair", ())),
            tuple(topic["fillers"]),
        )
        for topic in raw["topic"]
    )
    return Workspace(raw["workspace"], raw["prefix"], tuple(raw["headings"]), raw["entry"], raw["pools"], topics)


def _frame(raw: dict[str, Any]) -> Frame:
    noted = (raw["noted"],) if isinstance(raw["noted"], str) else tuple(raw["noted"])
    signals = tuple(raw["signals"]) if "signals" in raw else (raw["signal"],)
    return Frame(noted, signals, raw["proposition"], raw.get("vague"), raw.get("invented"))


def draw_number(rng: random.Random, low: str, high: str) -> str:
    """A number from low to high, with as many decimals as `low` is written with."""
    decimals = len(low.partition(".")[2])
    first, last = round(float(low) * 10**decimals), round(float(high) * 10**decimals)
    return f"{(first + int(rng.random() * (last - first + 1))) / 10**decimals:.{decimals}f}"


def slots_of(text: str) -> list[tuple[str, str, str]]:
    """Name, low and high of every slot of a text; low and high are empty for a slot that is filled from a pool."""
    return [(m[1], m[2] or "", m[3] or "") for m in _SLOT.finditer(text)]


def draw_values(
    rng: random.Random, texts: Sequence[str], fixed: dict[str, str], pools: dict[str, list[str]]
) -> dict[str, str]:
    """A value for every slot of the texts; slots that share a pool (`person`, `person2`) never share a value."""
    values: dict[str, str] = {}
    for name, low, high in (slot for text in texts for slot in slots_of(text)):
        if name in values:
            continue
        if name in fixed:
            values[name] = fixed[name]
        elif low:
            values[name] = draw_number(rng, low, high)
        else:
            taken = set(values.values())
            values[name] = pick(rng, [value for value in pools[name.rstrip("0123456789")] if value not in taken])
    return values


def fill(text: str, values: dict[str, str]) -> str:
    """The text with its slots filled and its first letter a capital."""
    filled = _SLOT.sub(lambda m: values[m[1]], text)
    return filled[0].upper() + filled[1:]


def settle(rng: random.Random, text: str) -> str:
    """The text with one of the words taken wherever it offers a free choice."""
    return _CHOICE.sub(lambda m: pick(rng, m[1].split("|")), text)
