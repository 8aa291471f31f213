"""What Inspect writes as the value of a score, and what it is worth."""

import math
from typing import Any

from eval_pipeline.importers.place import Place
from eval_pipeline.importers.results import Scored, Undecided

_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def leaves_of(score: Place) -> list[str]:
    """What the parts of a score add to the name of its scorer; nothing where it is one value."""
    value = score.field("value")
    if isinstance(value.value, dict):
        return [f".{name}" for name in value.value]
    return [f"[{place}]" for place in range(len(value.value))] if isinstance(value.value, list) else [""]


def part_of(score: Place, leaf: str) -> Scored:
    """The value of a score, or of the part of it that `leaf` names."""
    value = score.field("value")
    if is_unscored(value.value):
        return _why_unscored(score)
    if not leaf:
        return _credit(value)
    if isinstance(value.value, dict):
        parts = {f".{name}": part for name, part in value.entries().items()}
    else:
        parts = {f"[{place}]": part for place, part in enumerate(value.items())}
    part = parts.get(leaf)
    if part is None:
        return Undecided.MISSING
    return Undecided.UNSCORED if is_unscored(part.value) else _credit(part)


def is_unscored(value: Any) -> bool:
    """Inspect writes NaN, and before that null, for a sample that its scorer could not score."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _why_unscored(score: Place) -> Undecided:
    reason = score.maybe("reason")
    return Undecided.REFUSED if reason and reason.value in ("refusal", "no_response") else Undecided.UNSCORED


def _credit(value: Place) -> Scored:
    """What Inspect counts a value as; N, no answer or a refusal to, is undecided, where Inspect counts 0."""
    if not isinstance(value.value, str):
        return value.score()
    text = value.value
    if text == "N":
        return Undecided.REFUSED
    if text in _GRADES:
        return _GRADES[text]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        number = float(text)
    except ValueError:
        raise value.refusal(
            "C, I, P, N, yes, no, true, false or a number",
            "Inspect counts such a value as 0; let the scorer give one of these, or leave it out with --metric",
        ) from None
    return Place(value.file, value.path, number).score()
