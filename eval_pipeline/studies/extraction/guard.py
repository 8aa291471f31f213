"""The precision guard: are the signals entailed by the text that they were taken from, or were some invented?"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import pyarrow as pa

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.records import Interval, Kind, Label
from eval_pipeline.stats.binomial import lower_bound, shortfall_p_value
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.spans import SpanFacts, SpanStatus, span_facts, span_status
from eval_pipeline.tables import rows_where


class Reading(StrEnum):
    """What the exact tests say of harm: precision below the bar is shown, precision above it is shown, or neither."""

    SHOWN_HARMFUL = "shown harmful"
    NOT_SHOWN_HARMFUL = "not shown harmful"
    SHOWN_SAFE = "shown safe"


@dataclass(frozen=True, slots=True)
class Invention:
    """A signal that its span does not support, as the judge has it."""

    signal_id: str
    entry_id: str
    signal: str
    span: str


@dataclass(frozen=True, slots=True)
class GuardFindings:
    """Precision over the drawn spans, with the exact lower bound; `facts` is None where the corpus was not read.

    `worst_case` holds the precision if every undecided span were no support, and if each were. `p_value` is the chance
    of so few supported signals if precision were exactly at the bar.
    """

    facts: SpanFacts | None
    status: SpanStatus
    drawn: int
    judged: int
    supported: int
    undecided: int
    interval: Interval | None
    worst_case: Interval | None
    p_value: float | None
    reading: Reading | None
    inventions: tuple[Invention, ...]


def guard_findings(
    snapshot: Snapshot, frame: Frame, judgments: pa.Table, plan: ExtractionPlan, *, code_writes_spans: bool
) -> GuardFindings:
    """What the judged spans say of precision."""
    facts = None if snapshot.refusal else span_facts(snapshot)
    rows = rows_where(judgments, "kind", [Kind.SPAN]).select(_COLUMNS).to_pylist()
    labels = [row["label"] for row in rows if row["label"]]
    supported, level, bar = (
        labels.count(Label.SUPPORTED),
        float(plan.guard.level),
        float(plan.claims.precision_at_least),
    )
    interval = lower_bound(supported, len(labels), level=level) if labels else None
    p_value = shortfall_p_value(supported, len(labels), bar) if labels else None
    return GuardFindings(
        facts=facts,
        status=span_status(facts.spans if facts else None, code_writes_spans),
        drawn=len(frame.spans),
        judged=len(labels),
        supported=supported,
        undecided=len(frame.spans) - len(labels),
        interval=interval,
        worst_case=_worst_case(supported, len(labels), len(frame.spans)),
        p_value=p_value,
        reading=_reading(interval, p_value, level, bar),
        inventions=tuple(
            Invention(row["signal_id"], row["entry_id"], row["hypothesis"], row["premise"][0])
            for row in rows
            if row["label"] == Label.NOT_SUPPORTED
        ),
    )


_COLUMNS = ["label", "signal_id", "entry_id", "hypothesis", "premise"]


def _worst_case(supported: int, judged: int, drawn: int) -> Interval | None:
    if not drawn:
        return None
    return Interval(Fraction(supported, drawn), Fraction(supported + drawn - judged, drawn), level=1.0)


def _reading(interval: Interval | None, p_value: float | None, level: float, bar: float) -> Reading | None:
    if interval is None or interval.low is None or p_value is None:
        return None
    if interval.low >= bar:
        return Reading.SHOWN_SAFE
    return Reading.SHOWN_HARMFUL if p_value < 1 - level else Reading.NOT_SHOWN_HARMFUL
