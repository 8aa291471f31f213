"""What the judgments say of the judge: what its screen misses, whether it repeats itself, what asking it cost."""

import json
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.protocol import Standing, standing_of
from eval_pipeline.records import Interval, Kind, Label
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.studies.extraction.asking import within_cap
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.repeats import Flips, flips_of
from eval_pipeline.tables import records, rows_where, rows_where_both


@dataclass(frozen=True, slots=True)
class ScreenAudit:
    """The screen as a judge: of the propositions that it turned away, what became of those that were audited.

    `missed`: a single signal supports the proposition all the same. `undecided`: none does, and of one it is not known.
    `interval` is that of the share missed of the others, exact for propositions that err independently; None where
    there is no other. `quartile` is None for all quartiles together.
    """

    quartile: int | None
    turned_away: int
    audited: int
    missed: int
    undecided: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Calls:
    """The different questions that settled the propositions, and those that trying every signal would have asked."""

    asked: int
    exhaustive: int

    @property
    def saved(self) -> int:
        """How many fewer; below 0 where the screens cost more than they saved."""
        return self.exhaustive - self.asked


@dataclass(frozen=True, slots=True)
class JudgeFindings:
    """The screen in all and by quartile, the repeats of proposition and of span judgments, canaries, and the calls.

    `lost_signals` and `lost_spans` are the repeats of what a signal, and what a span, supported: a pass rests on them.
    """

    screen: ScreenAudit
    screen_by_quartile: tuple[ScreenAudit, ...]
    flips: Flips
    span_flips: Flips
    lost_signals: Flips
    lost_spans: Flips
    canaries: int
    canaries_unread: int
    reasked: int
    calls: Calls


def judge_findings(snapshot: Snapshot, frame: Frame, judgments: pa.Table, plan: ExtractionPlan) -> JudgeFindings:
    """What the judgments say of the judge that gave them."""
    judge = json.loads(judgments.schema.metadata[b"judge"])["judge"]
    canaries = rows_where(judgments, "kind", [Kind.CANARY])
    rows, asked_again = list(records(_audited(judgments))), list(records(_repeated(judgments)))
    return JudgeFindings(
        screen=_audit(None, rows, plan),
        screen_by_quartile=tuple(
            _audit(quartile, [row for row in rows if row["quartile"] == quartile], plan) for quartile in range(1, 5)
        ),
        flips=flips_of((Kind.SCREEN, Kind.SIGNAL), asked_again, plan),
        span_flips=flips_of((Kind.SPAN,), asked_again, plan),
        lost_signals=flips_of((Kind.SIGNAL,), asked_again, plan, labels=(Label.SUPPORTED,)),
        lost_spans=flips_of((Kind.SPAN,), asked_again, plan, labels=(Label.SUPPORTED,)),
        canaries=canaries.num_rows,
        canaries_unread=canaries["label"].null_count,
        reasked=judgments.num_rows - judgments["unread"].null_count,
        calls=_calls(snapshot, frame, judgments, plan, by_entry=standing_of(judge) is Standing.ORACLE),
    )


def _audited(judgments: pa.Table) -> pa.Table:
    """Of the screen what it turned away, and of the propositions that are audited what was asked about one signal."""
    columns = judgments.select(["unit", "kind", "quartile", "label"])
    away = rows_where(rows_where(columns, "kind", [Kind.SCREEN]), "label", [Label.NOT_SUPPORTED])
    audits = rows_where(columns, "kind", [Kind.AUDIT])["unit"].unique()
    singly = rows_where(columns, "kind", [Kind.AUDIT, Kind.SIGNAL])
    return pa.concat_tables([away, rows_where(singly, "unit", audits)])


def _repeated(judgments: pa.Table) -> pa.Table:
    """The repeats, and what they may be repeats of, in the order of the table."""
    again = rows_where(judgments.select(["kind", "premise_sha256", "hypothesis_sha256"]), "kind", [Kind.REPEAT])
    return rows_where_both(
        judgments,
        ("premise_sha256", again["premise_sha256"].unique()),
        ("hypothesis_sha256", again["hypothesis_sha256"].unique()),
        columns=["kind", "entry_id", "together", "premise", "hypothesis", "label"],
    )


def _audit(quartile: int | None, rows: Sequence[dict[str, Any]], plan: ExtractionPlan) -> ScreenAudit:
    audited = {row["unit"] for row in rows if row["kind"] == Kind.AUDIT}
    audits: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["unit"] in audited and row["kind"] in (Kind.AUDIT, Kind.SIGNAL):  # one may have been tried before
            audits[row["unit"]].append(row)
    missed = sum(any(row["label"] == Label.SUPPORTED for row in audit) for audit in audits.values())
    decided = missed + sum(all(row["label"] == Label.NOT_SUPPORTED for row in audit) for audit in audits.values())
    return ScreenAudit(
        quartile=quartile,
        turned_away=sum(row["kind"] == Kind.SCREEN and row["label"] == Label.NOT_SUPPORTED for row in rows),
        audited=len(audits),
        missed=missed,
        undecided=len(audits) - decided,
        interval=exact_interval(missed, decided, level=float(plan.bootstrap.level)) if decided else None,
    )


def _calls(snapshot: Snapshot, frame: Frame, judgments: pa.Table, plan: ExtractionPlan, *, by_entry: bool) -> Calls:
    """What was asked and what would have been; people's labels are asked for by entry, models whatever the entry is."""
    settling = rows_where(judgments.select(["kind", "unit", "key"]), "kind", [Kind.SCREEN, Kind.SIGNAL])
    judged = set(settling["unit"].unique().to_pylist())
    hypotheses: dict[tuple[str, str], int] = {}
    premises: dict[str, int] = {}
    exhaustive = array("q")  # questions as numbers, since there may be many millions
    for unit in frame.judged_units:
        if unit.id in judged:
            asked = hypotheses.setdefault((unit.entry_id if by_entry else "", unit.text), len(hypotheses))
            for signal in within_cap(snapshot.signals_by_entry[unit.entry_id], plan):
                exhaustive.append((asked << 32) + premises.setdefault(signal.content, len(premises)))
    different = len(np.unique(np.frombuffer(exhaustive, dtype=np.int64)))
    return Calls(asked=len(settling["key"].unique()), exhaustive=different)
