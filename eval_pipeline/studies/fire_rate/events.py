"""The events of the self check in a run's error texts: read exactly, counted once a run, and never passed over."""

from collections.abc import Iterable
from typing import Literal, get_args

from eval_pipeline.errors import InputRefused
from eval_pipeline.jsonl import found

MismatchKind = Literal["content_mutation", "ordering_regression"]
KINDS: tuple[MismatchKind, ...] = get_args(MismatchKind)
PREFIX = "[self_check] plan mismatch detected — mismatch_kind:"

_MARKS = ("plan mismatch", "mismatch_kind")


def kinds_in(errors: Iterable[str]) -> frozenset[MismatchKind]:
    """The kinds of mismatch that a run's error texts report, each once, however often it was reported.

    Raises: InputRefused: a text reports a mismatch of no known kind, or in other words than `PREFIX`.
    """
    kinds: set[MismatchKind] = set()
    for text in errors:
        if expected := fault_of(text):
            raise InputRefused(f"error text: found {found(text)}, expected {expected}")
        if text.startswith(PREFIX):
            kinds.update(kind for kind in KINDS if kind == _said(text))
    return frozenset(kinds)


def fault_of(text: str) -> str | None:
    """What was expected where a text speaks of a mismatch and cannot be counted as one; None of any other text.

    An event that is passed over looks like one that never came, and a fallback that is needed would be deleted.
    """
    if text.startswith(PREFIX):
        if _said(text) in KINDS:
            return None
        known = " or ".join(KINDS)
        return f"{known} after 'mismatch_kind:', not {found(_said(text))}; mend what wrote it, or teach the kind here"
    if any(mark in text.casefold() for mark in _MARKS):
        return f"{PREFIX!r} at its start, since it speaks of a mismatch; mend what wrote it"
    return None


def _said(text: str) -> str:
    return text.removeprefix(PREFIX).strip()
