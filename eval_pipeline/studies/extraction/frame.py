"""The frame: what will be judged, fixed before the first call, and what will not, with the reason."""

import json
import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import chain
from math import ceil, floor
from typing import Any

import pyarrow as pa

from eval_pipeline.canonical import seeded_order
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.records import Entry, Proposition, Reason
from eval_pipeline.studies.extraction.canaries import Canary, salted
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.plan import AtMost, ExtractionPlan, Strategy
from eval_pipeline.studies.extraction.spans import Span, carries_span, sound_spans
from eval_pipeline.tables import records, rows_where, table_of

_SPACE = re.compile(r"\s+")


class State(StrEnum):
    """Whether a proposition will be judged."""

    IN = "in"
    ABSENT = "absent"
    OVER_BUDGET = "over_budget"


@dataclass(frozen=True, slots=True)
class Unit:
    """A proposition of the frame, with what is known of its entry; `id` is its place in the frame, from 0.

    `words` is None, as workspace and band are, where the entry is not in the corpus.
    """

    id: int
    entry_id: str
    workspace: str | None
    band: str | None
    words: int | None
    quartile: int
    text: str
    state: State


@dataclass(frozen=True, slots=True)
class GuardUnit:
    """A signal whose span will be judged."""

    signal_id: str
    entry_id: str
    premise: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The propositions and the spans, and the canaries among them; `calls_at_most` is what judging them can cost.

    `entries_cut_signals` counts the entries of the frame that have more signals than the plan lets be tried,
    `spans_over_budget` the spans that the plan asks for and its budget of calls leaves out.
    """

    units: tuple[Unit, ...]
    spans: tuple[GuardUnit, ...]
    canaries: tuple[Canary, ...]
    entries_cut_signals: int
    spans_over_budget: int
    calls_at_most: int

    @property
    def judged_units(self) -> tuple[Unit, ...]:
        """The propositions that will be judged."""
        return tuple(unit for unit in self.units if unit.state is State.IN)

    @property
    def entries(self) -> frozenset[str]:
        """The ids of all entries that the fixture names."""
        return frozenset(unit.entry_id for unit in self.units)

    @property
    def absent_entries(self) -> frozenset[str]:
        """The ids of those that the corpus does not hold."""
        return frozenset(unit.entry_id for unit in self.units if unit.words is None)

    @property
    def is_cut(self) -> bool:
        """Whether a budget leaves anything out."""
        return self.entries_cut_signals > 0 or any(unit.state is State.OVER_BUDGET for unit in self.units)

    def to_table(self) -> pa.Table:
        """Propositions and spans as one table, whose metadata carries the counts."""
        units = ({"kind": "proposition", **asdict(unit), "state": unit.state.value} for unit in self.units)
        spans = (
            {
                "kind": "span",
                "entry_id": s.entry_id,
                "text": s.hypothesis,
                "signal_id": s.signal_id,
                "premise": s.premise,
            }
            for s in self.spans
        )
        canaries = (
            {"kind": "canary", "entry_id": c.entry_id, "text": c.hypothesis, "signal_id": c.id, "premise": c.premise}
            for c in self.canaries
        )
        names = ("entries_cut_signals", "spans_over_budget", "calls_at_most")
        rest = json.dumps({name: getattr(self, name) for name in names})
        return table_of(chain(units, spans, canaries), _SCHEMA.with_metadata({"frame": rest}))

    @classmethod
    def from_table(cls, table: pa.Table) -> "Frame":
        """The frame that `to_table` wrote."""
        return cls(
            units=tuple(_unit(row) for row in records(rows_where(table, "kind", ["proposition"]))),
            spans=tuple(
                GuardUnit(row["signal_id"], row["entry_id"], row["premise"], row["text"])
                for row in records(rows_where(table, "kind", ["span"]))
            ),
            canaries=tuple(
                Canary(row["signal_id"], row["entry_id"], row["premise"], row["text"])
                for row in records(rows_where(table, "kind", ["canary"]))
            ),
            **json.loads(table.schema.metadata[b"frame"]),
        )


_TEXT: pa.DataType = pa.string()
_WHOLE: pa.DataType = pa.int64()
_SCHEMA = pa.schema(
    [
        ("kind", _TEXT),
        ("id", _WHOLE),
        ("entry_id", _TEXT),
        ("workspace", _TEXT),
        ("band", _TEXT),
        ("words", _WHOLE),
        ("quartile", _WHOLE),
        ("text", _TEXT),
        ("state", _TEXT),
        ("signal_id", _TEXT),
        ("premise", _TEXT),
    ]
)


def _unit(row: dict[str, Any]) -> Unit:
    names = ("id", "entry_id", "workspace", "band", "words", "quartile", "text")
    return Unit(**{name: row[name] for name in names}, state=State(row["state"]))


def word_count(text: str) -> int:
    """The pieces between runs of white space; a blank at either end makes one more, as a regular expression splits."""
    return len(_SPACE.split(text))


def frame_of(snapshot: Snapshot, fixture: Fixture, plan: ExtractionPlan) -> Frame:
    """The frame; empty where the corpus or the fixture is malformed, since then nothing may be asked.

    Entries stand in the order of their ids, propositions in that of the file.
    """
    if snapshot.refusal or (fixture.refusal and fixture.refusal.reason is not Reason.FIXTURE_MISSING):
        return Frame((), (), (), entries_cut_signals=0, spans_over_budget=0, calls_at_most=0)
    by_entry: dict[str, list[Proposition]] = defaultdict(list)
    for proposition in fixture.propositions:
        by_entry[proposition.entry_id].append(proposition)
    ordered = [proposition for entry_id in sorted(by_entry) for proposition in by_entry[entry_id]]
    words = {entry.id: word_count(entry.content) for entry in snapshot.entries if entry.id in by_entry}
    units = [
        _placed(place, proposition, snapshot.entries_by_id.get(proposition.entry_id), words, plan)
        for place, proposition in enumerate(ordered)
    ]
    planned = _planned_spans(snapshot, plan)
    whole = _framed(units, planned, "all", snapshot, plan)
    if not _beyond(whole.calls_at_most, plan.budget.calls):
        return whole
    return _framed(units, planned, _calls_for_the_study(plan), snapshot, plan)


def _framed(units: list[Unit], planned: list[Span], calls: AtMost, snapshot: Snapshot, plan: ExtractionPlan) -> Frame:
    """What so many calls allow of the propositions and of the planned spans."""
    spans = planned if calls == "all" else planned[: calls // 2]
    units = _within_budget(units, snapshot, plan, calls_at_most=calls, calls_spent=len(spans))
    judged = [unit for unit in units if unit.state is State.IN]
    tried = {unit.entry_id: len(snapshot.signals_by_entry.get(unit.entry_id, ())) for unit in judged}
    canaries = salted([unit.entry_id for unit in judged if tried[unit.entry_id]], snapshot, plan)
    deciding = len(spans) + sum(_calls(unit, snapshot, plan) for unit in judged)
    cap = plan.judging.signals_at_most
    return Frame(
        units=tuple(units),
        spans=tuple(
            GuardUnit(span.signal.id, span.signal.entry_id, span.premise, span.signal.content)
            for span in sorted(spans, key=lambda span: span.signal.id)
        ),
        canaries=canaries,
        entries_cut_signals=0 if cap == "all" else sum(signals > cap for signals in tried.values()),
        spans_over_budget=len(planned) - len(spans),
        calls_at_most=deciding + len(canaries) + ceil(plan.judging.repeats * deciding),
    )


def _placed(
    place: int, proposition: Proposition, entry: Entry | None, words: dict[str, int], plan: ExtractionPlan
) -> Unit:
    if entry is None:
        state = State.IN if plan.scoring.absent_entries == "missed" else State.ABSENT
        return Unit(place, proposition.entry_id, None, None, None, proposition.quartile, proposition.text, state)
    known = (entry.workspace, entry.band, words[entry.id])
    return Unit(place, entry.id, *known, proposition.quartile, proposition.text, State.IN)


def _calls(unit: Unit, snapshot: Snapshot, plan: ExtractionPlan) -> int:
    return calls_of(len(snapshot.signals_by_entry.get(unit.entry_id, ())), plan)


def calls_of(signals: int, plan: ExtractionPlan) -> int:
    """The most calls that a proposition beside so many signals can cost: each of them, and the screen, if any."""
    cap = plan.judging.signals_at_most
    tried = signals if cap == "all" else min(signals, cap)
    without_screen = {Strategy.SCREEN_FIRST: 0, Strategy.BEST_FIRST: 1, Strategy.NO_SCREEN: tried}
    return tried + (tried > without_screen[plan.judging.strategy])


def _calls_for_the_study(plan: ExtractionPlan) -> AtMost:
    """What a budget of calls leaves for propositions and spans, when canaries and repeats have had their part."""
    if plan.budget.calls == "all":
        return "all"
    beside = plan.judging.canaries + plan.judging.repeats
    rounded_up = (plan.judging.canaries > 0) + (plan.judging.repeats > 0)
    return max(0, floor((plan.budget.calls - rounded_up) / (1 + beside)))


def _planned_spans(snapshot: Snapshot, plan: ExtractionPlan) -> list[Span]:
    """The spans that the plan asks for: by lot from those that can be read, or of the first those that can be read.

    They take half of a budget of calls at the most, so that propositions are judged too.
    """
    if plan.guard.draw == "first":
        first = {signal.id for signal in [s for s in snapshot.signals if carries_span(s)][: plan.guard.spans]}
        return [span for span in sound_spans(snapshot) if span.signal.id in first]
    lots = sorted(sound_spans(snapshot), key=lambda span: seeded_order(plan.seed, span.signal.id))
    return lots[: plan.guard.spans]


def _within_budget(
    units: list[Unit], snapshot: Snapshot, plan: ExtractionPlan, *, calls_at_most: AtMost, calls_spent: int
) -> list[Unit]:
    """The units with those beyond the budget marked: whole entries first, then propositions within an entry."""
    by_entry: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        if unit.state is State.IN:
            by_entry[unit.entry_id].append(unit)
    kept: set[int] = set()
    for entries, entry_id in enumerate(_entry_order(by_entry, plan), 1):
        drawn = _drawn_propositions(by_entry[entry_id], plan)
        calls_spent += sum(_calls(unit, snapshot, plan) for unit in drawn)
        if _beyond(entries, plan.budget.entries) or _beyond(calls_spent, calls_at_most):
            break
        kept.update(unit.id for unit in drawn)
    return [
        unit if unit.state is not State.IN or unit.id in kept else replace(unit, state=State.OVER_BUDGET)
        for unit in units
    ]


def _beyond(count: int, at_most: AtMost) -> bool:
    return at_most != "all" and count > at_most


def _entry_order(by_entry: dict[str, list[Unit]], plan: ExtractionPlan) -> list[str]:
    """The order in which entries are drawn: any first part of it holds workspaces and bands in proportion."""
    if plan.budget.draw == "first":
        return sorted(by_entry)
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry_id in sorted(by_entry, key=lambda entry_id: seeded_order(plan.seed, entry_id)):
        unit = by_entry[entry_id][0]
        strata[unit.workspace or "", unit.band or ""].append(entry_id)
    placed = [
        ((place + 0.5) / len(stratum), seeded_order(plan.seed, entry_id), entry_id)
        for stratum in strata.values()
        for place, entry_id in enumerate(stratum)
    ]
    return [entry_id for _, _, entry_id in sorted(placed)]


def _drawn_propositions(units: list[Unit], plan: ExtractionPlan) -> list[Unit]:
    """As many as the budget allows, one of each quartile in turn; which quartile is first is drawn for each entry."""
    at_most = plan.budget.propositions_per_entry
    if at_most == "all" or len(units) <= at_most:
        return units
    if plan.budget.draw == "first":
        return units[:at_most]
    turn: Counter[int] = Counter()
    ranked = []
    for unit in sorted(units, key=lambda unit: seeded_order(plan.seed, f"{unit.entry_id}:{unit.text}")):
        turn[unit.quartile] += 1
        ranked.append((turn[unit.quartile], seeded_order(plan.seed, f"{unit.entry_id}:{unit.quartile}"), unit))
    return [unit for _, _, unit in sorted(ranked, key=lambda rank: rank[:2])[:at_most]]
