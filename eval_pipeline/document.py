"""What every verdict document is made of: claims, numbers and refusals as plain values, and the bytes of the whole."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any

from eval_pipeline.records import Interval, Number, Refusal, Verdict

_DECIMALS = 10  # more than any reader needs, and fewer than any two machines differ in


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """The document as JSON text, indented, with a line end.

    Raises: ValueError: a number in it is not finite.
    """
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def plain_number(value: Number | None) -> float | None:
    """The number as it is written; None where there is none."""
    return None if value is None else round(float(value), _DECIMALS)


def plain_interval(interval: Interval | None) -> list[float | None] | None:
    """Both ends of an interval, None for one that is open; None where there is no interval."""
    return None if interval is None else [plain_number(interval.low), plain_number(interval.high)]


def plain_value(value: Any) -> Any:
    """Any finding as plain values: a record by its fields, an interval by its ends, an enum or a day by its text."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, Fraction)):
        return plain_number(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Interval):
        return plain_interval(value)
    if isinstance(value, Mapping):
        return {str(name): plain_value(item) for name, item in value.items()}
    if is_dataclass(value):
        return {one.name: plain_value(getattr(value, one.name)) for one in fields(value)}
    return [plain_value(item) for item in value]


def plain_refusal(refusal: Refusal | None) -> dict[str, str] | None:
    """Why something is missing; None where nothing is."""
    return {"reason": refusal.reason.value, "detail": refusal.detail} if refusal else None


def plain_claim(verdict: Verdict, **of_interval: Any) -> dict[str, Any]:
    """The verdict on a claim; what else is said of its interval stands beside that."""
    return {
        "claim": verdict.claim,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason.value if verdict.reason else None,
        "detail": verdict.detail,
        "estimate": plain_number(verdict.estimate),
        "numerator": verdict.numerator,
        "denominator": verdict.denominator,
        "interval": plain_interval(verdict.interval),
        **of_interval,
        "threshold": plain_number(verdict.threshold),
        "advisory": verdict.advisory,
    }
