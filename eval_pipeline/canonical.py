"""One way to write a value as bytes, so that equal values have equal hashes on every machine."""

import hashlib
import json
from fractions import Fraction
from typing import Any


def canonical_bytes(value: Any) -> bytes:
    """JSON with sorted keys, no white space, UTF-8; NaN, infinities and lone surrogates raise ValueError."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def content_hash(value: Any) -> str:
    """The sha256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def text_hash(text: str) -> str:
    """The sha256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def seeded_order(seed: int, name: str) -> str:
    """A sort key that puts names in an order that is random in effect and fixed by the seed, on every machine."""
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()


def is_drawn(share: Fraction, seed: int, name: str) -> bool:
    """Whether a name is among the share of all names that the seed draws; the same on every machine."""
    return int(seeded_order(seed, name), 16) < share * 2**256
