"""Where signals say that they come from: the recorded spans, checked against the text before any of them is judged."""

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.records import Entry, Signal

_WRITES_SPAN = re.compile(r"^\s*span:", re.MULTILINE)
_EXAMPLES = 5


class SpanStatus(StrEnum):
    """What the corpus, and the code that fills it where that is known, say of spans."""

    UNKNOWN = "unknown"
    PENDING_CAVEAT = "pending_caveat"
    PENDING_CORPUS = "pending_corpus"
    ACTIVE_CAVEAT_CHANGED = "active_caveat_changed"
    ACTIVE = "active"


class SpanFault(StrEnum):
    """What can be wrong with a recorded span."""

    NOT_A_SPAN = "not_a_span"
    NEGATIVE = "negative"
    REVERSED = "reversed"
    OUT_OF_RANGE = "out_of_range"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """How many signals carry a span, how many of those are broken and how, with the first few in words.

    `cut_words` counts the spans that begin or end within a word; `cut_words_one_lower` those that would if both offsets
    were one lower, as they must be read where they were counted from 1.
    """

    signals: int
    spans: int
    faults: dict[SpanFault, int]
    examples: tuple[str, ...]
    cut_words: int
    cut_words_one_lower: int

    @property
    def look_one_based(self) -> bool:
        """Whether most spans cut a word as they stand, and few would with offsets one lower."""
        sound = self.spans - sum(self.faults.values())
        return 2 * self.cut_words > sound and 4 * self.cut_words_one_lower < self.cut_words


@dataclass(frozen=True, slots=True)
class Span:
    """A signal with the text that it was taken from."""

    signal: Signal
    premise: str


def fault_of(signal: Signal, entry: Entry) -> SpanFault | None:
    """What is wrong with the span that a signal records; offsets are characters, from 0, the end exclusive."""
    if signal.span_fault is not None or signal.start is None or signal.end is None:
        return SpanFault.NOT_A_SPAN
    if signal.start < 0 or signal.end < 0:
        return SpanFault.NEGATIVE
    if signal.start > signal.end:
        return SpanFault.REVERSED
    if signal.end > len(entry.content):
        return SpanFault.OUT_OF_RANGE
    return None if entry.content[signal.start : signal.end].strip() else SpanFault.BLANK


def carries_span(signal: Signal) -> bool:
    """Whether anything was recorded as the signal's span, sound or not."""
    return signal.start is not None or signal.span_fault is not None


def sound_spans(snapshot: Snapshot) -> tuple[Span, ...]:
    """The signals whose span can be read, with the text at it, in the order of their ids."""
    entries = snapshot.entries_by_id
    return tuple(
        Span(signal, entries[signal.entry_id].content[signal.start : signal.end])
        for signal in snapshot.signals
        if carries_span(signal) and fault_of(signal, entries[signal.entry_id]) is None
    )


def span_facts(snapshot: Snapshot) -> SpanFacts:
    """The count of spans and of what is wrong with them."""
    entries = snapshot.entries_by_id
    carrying = [signal for signal in snapshot.signals if carries_span(signal)]
    faults = [(signal, fault) for signal in carrying if (fault := fault_of(signal, entries[signal.entry_id]))]
    sound = [span.signal for span in sound_spans(snapshot)]
    return SpanFacts(
        signals=len(snapshot.signals),
        spans=len(carrying),
        faults=dict(sorted(Counter(fault for _, fault in faults).items())),
        examples=tuple(_in_words(signal, fault, entries[signal.entry_id]) for signal, fault in faults[:_EXAMPLES]),
        cut_words=sum(_cuts_a_word(signal, entries[signal.entry_id].content, lower=0) for signal in sound),
        cut_words_one_lower=sum(_cuts_a_word(signal, entries[signal.entry_id].content, lower=1) for signal in sound),
    )


def _cuts_a_word(signal: Signal, text: str, *, lower: int) -> bool:
    edges = (offset - lower for offset in (signal.start, signal.end) if offset is not None)
    return any(0 < edge < len(text) and text[edge - 1].isalnum() and text[edge].isalnum() for edge in edges)


def _in_words(signal: Signal, fault: SpanFault, entry: Entry) -> str:
    recorded = signal.span_fault or f"[{signal.start}, {signal.end})"
    return f"signal {signal.id!r}: span {recorded} of an entry of {len(entry.content)} characters is {fault.value}"


def writes_spans(code: Path) -> bool:
    """Whether the code that stores signals has a line that writes a span."""
    return bool(_WRITES_SPAN.search(code.read_text(encoding="utf-8", errors="replace")))


def span_status(spans: int | None, code_writes_spans: bool) -> SpanStatus:
    """What can be said of the guard.

    Args:
        spans: how many signals carry one; None if the corpus was not read.
        code_writes_spans: whether the code that stores signals writes one.

    """
    if spans is None:
        return SpanStatus.UNKNOWN
    if code_writes_spans:
        return SpanStatus.ACTIVE if spans else SpanStatus.PENDING_CORPUS
    return SpanStatus.ACTIVE_CAVEAT_CHANGED if spans else SpanStatus.PENDING_CAVEAT
