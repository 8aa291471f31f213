"""The human check of a run: what is drawn for people to label, and what their labels say of the frame."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import pyarrow as pa

from eval_pipeline.canonical import content_hash, seeded_order
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import CheckRefused
from eval_pipeline.human_check.join import HumanCheck
from eval_pipeline.human_check.sheet import Item, Rule, Said, Sheet, Task
from eval_pipeline.records import Fate, Kind, Label, Reason, Refusal
from eval_pipeline.studies.extraction.frame import Frame, GuardUnit, Unit
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.tables import rows_where

_ENTRIES_AT_LEAST = 2  # one says nothing of how they differ
_KEY_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Checkable:
    """What a person may be asked about: a proposition or a span of the frame, with what the judge made of it.

    `supported` is None where the judge left it undecided. `item` is None where there is nothing to ask, since the entry
    has no signals; `key` names it whoever judges.
    """

    key: str
    unit: int | None
    signal_id: str | None
    entry_id: str
    quartile: int | None
    supported: bool | None
    item: Item | None


@dataclass(frozen=True, slots=True)
class CheckedLabels:
    """What people said of the frame: of each drawn proposition and of each drawn span, None where they were unsure.

    `refusal` says why nothing may rest on it; then there are no labels.
    """

    propositions: Mapping[int, bool | None]
    spans: Mapping[str, bool | None]
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class SampledSheet:
    """The sheet that was drawn; None where nothing was judged."""

    sheet: Sheet | None


def checkables(frame: Frame, snapshot: Snapshot, fates: pa.Table, judgments: pa.Table) -> tuple[Checkable, ...]:
    """Everything in the frame that people may be asked about: its propositions, then its spans."""
    fate_of = {row["unit"]: str(row["fate"]) for row in fates.select(["unit", "fate"]).to_pylist()}
    spans = rows_where(judgments, "kind", [Kind.SPAN]).select(["signal_id", "label"])
    label_of = {row["signal_id"]: row["label"] for row in spans.to_pylist()}
    propositions = (_proposition(unit, snapshot, fate_of[unit.id]) for unit in frame.judged_units)
    return (*propositions, *(_span(span, label_of.get(span.signal_id)) for span in frame.spans))


def _proposition(unit: Unit, snapshot: Snapshot, fate: str) -> Checkable:
    signals = tuple(signal.content for signal in snapshot.signals_by_entry.get(unit.entry_id, ()))
    return Checkable(
        key=content_hash([Task.PROPOSITION.value, unit.entry_id, unit.quartile, unit.text])[:_KEY_DIGITS],
        unit=unit.id,
        signal_id=None,
        entry_id=unit.entry_id,
        quartile=unit.quartile,
        supported=None if fate == Fate.UNDECIDED else fate == Fate.RECOVERED,
        item=Item(Task.PROPOSITION, signals, unit.text) if signals else None,
    )


def _span(span: GuardUnit, label: str | None) -> Checkable:
    return Checkable(
        key=content_hash([Task.SPAN.value, span.entry_id, span.signal_id])[:_KEY_DIGITS],
        unit=None,
        signal_id=span.signal_id,
        entry_id=span.entry_id,
        quartile=None,
        supported=None if label is None else label == Label.SUPPORTED,
        item=Item(Task.SPAN, (span.premise,), span.hypothesis),
    )


def drawn_sheet(every: Sequence[Checkable], plan: ExtractionPlan, *, share: Fraction, seal: str, judge: str) -> Sheet:
    """The sheet of a seeded draw: whole entries, or of each stratum of verdict, quartile and kind, as the plan says.

    Args:
        every: what may be drawn.
        plan: how it is drawn, and what people's labels must be worth.
        share: of the entries, or of each stratum; at least the plan's.
        seal: of the plan.
        judge: the fingerprint of the judge whose verdicts may be strata.

    Raises: CheckRefused: nothing was judged, or less is asked for than the plan's share.

    """
    rule = plan.human_check
    if not every:
        raise CheckRefused("nothing was judged, so that there is nothing to check; run the study first")
    require_share(share, plan)
    by_entry = rule.draw == "entries"
    drawn = list(_whole_entries(every, plan, share) if by_entry else _of_each_stratum(every, plan, share))
    return Sheet(
        draw=rule.draw,
        plan=seal,
        judge=None if by_entry else judge,
        rule=Rule(
            raters=rule.raters,
            kappa_at_least=str(rule.kappa_at_least),
            unsure_at_most=str(rule.unsure_at_most),
            level=str(plan.bootstrap.level),
            resamples=plan.bootstrap.resamples,
            seed=plan.seed,
        ),
        items=_in_order((one.item for one in drawn if one.item), plan),
        drawn=tuple(sorted(one.key for one in drawn)),
    )


def require_share(share: Fraction, plan: ExtractionPlan) -> None:
    """That a share which people are to check is one that the plan allows.

    Raises: CheckRefused: it is less than the plan's, or more than all.
    """
    if not plan.human_check.share <= share <= 1:
        raise CheckRefused(f"a share of {share} was asked for; the plan allows {plan.human_check.share} to 1")


def _entry_lots(every: Sequence[Checkable], plan: ExtractionPlan) -> list[str]:
    """The entries in the order in which they are drawn."""
    # Of the entries with propositions: recall is what is corrected, and an entry with spans alone has none.
    entries = {one.entry_id for one in every if one.unit is not None} or {one.entry_id for one in every}
    return sorted(entries, key=lambda entry_id: seeded_order(plan.seed, f"check:{entry_id}"))


def _whole_entries(every: Sequence[Checkable], plan: ExtractionPlan, share: Fraction) -> Iterator[Checkable]:
    lots = _entry_lots(every, plan)
    drawn = set(lots[: max(_ENTRIES_AT_LEAST, ceil(share * len(lots)))])
    return (one for one in every if one.entry_id in drawn)


def _of_each_stratum(every: Sequence[Checkable], plan: ExtractionPlan, share: Fraction) -> Iterator[Checkable]:
    strata: dict[tuple[bool, bool, int], list[Checkable]] = defaultdict(list)
    for one in every:
        strata[one.unit is None, bool(one.supported), one.quartile or 0].append(one)
    for stratum in strata.values():
        lots = sorted(stratum, key=lambda one: seeded_order(plan.seed, f"check:{one.key}"))
        yield from lots[: ceil(share * len(lots))]


def _in_order(items: Iterable[Item], plan: ExtractionPlan) -> tuple[Item, ...]:
    """Each once, those of one premise together, so that it is read once, and in a drawn order."""

    def lot(item: Item) -> tuple[str, str, str]:
        premise = content_hash([item.task.value, item.premise])
        return item.task.value, seeded_order(plan.seed, premise), seeded_order(plan.seed, item.id)

    return tuple(sorted({item.id: item for item in items}.values(), key=lot))


def labels_of(check: HumanCheck, every: Sequence[Checkable], plan: ExtractionPlan, *, judge: str) -> CheckedLabels:
    """What a check says of the frame, if it may be rested on.

    Args:
        check: what people said.
        every: what is in the frame now.
        plan: what their labels must be worth.
        judge: the fingerprint of the judge of this run.

    """
    rule = plan.human_check
    refusal = _outdated(check, every, plan, judge) or check.refusal(
        raters=rule.raters, kappa_at_least=rule.kappa_at_least, unsure_at_most=rule.unsure_at_most
    )
    if refusal:
        return CheckedLabels({}, {}, refusal)
    drawn = set(check.sheet.drawn)
    checked = [one for one in every if one.key in drawn]
    return CheckedLabels(
        propositions={one.unit: _said(one, check) for one in checked if one.unit is not None},
        spans={one.signal_id: _said(one, check) for one in checked if one.signal_id is not None},
        refusal=None,
    )


def _said(one: Checkable, check: HumanCheck) -> bool | None:
    if one.item is None:
        return False  # no signal, so that none supports it
    said = check.labels[one.item.id]
    return None if said is Said.UNSURE else said is Said.SUPPORTED


def _outdated(check: HumanCheck, every: Sequence[Checkable], plan: ExtractionPlan, judge: str) -> Refusal | None:
    """The refusal of a check that was drawn from something else, by another rule, or by another judge's verdicts."""
    drawn = set(check.sheet.drawn)
    here = [one for one in every if one.key in drawn]
    changed = sum(one.item is not None and one.item.id not in check.labels for one in here)
    if gone := len(drawn) - len(here) + changed:
        return Refusal(
            Reason.CHECK_OUTDATED,
            f"{gone} of the {len(drawn)} propositions and spans of the human check are not in this run as they were"
            " drawn; draw it again from this corpus, and have it filled",
        )
    if check.sheet.judge not in (None, judge):
        return Refusal(
            Reason.CHECK_OUTDATED,
            "the human check was drawn by the verdicts of another judge, and says nothing of this one's; draw it again,"
            ' or draw whole entries (draw = "entries"), which serve any judge',
        )
    if check.sheet.draw != plan.human_check.draw:
        return Refusal(
            Reason.CHECK_OUTDATED,
            f'the human check was drawn with draw = "{check.sheet.draw}", and the plan has'
            f' draw = "{plan.human_check.draw}"; draw it again under this plan, and have it filled',
        )
    return _drawn_otherwise(here, every, plan)


def _drawn_otherwise(here: Sequence[Checkable], every: Sequence[Checkable], plan: ExtractionPlan) -> Refusal | None:
    """The refusal of what is no draw of this plan from this run: too little of it, or not what its lots say."""
    if plan.human_check.draw == "entries":
        lots, entries = _entry_lots(every, plan), {one.entry_id for one in here}
        if entries != set(lots[: len(entries)]):
            return Refusal(
                Reason.CHECK_OUTDATED,
                "the entries of the human check are not those that the plan's seed draws from this run; draw it again"
                " from this corpus, and have it filled",
            )
        drawn, there = Counter(entries=len(entries)), Counter(entries=len(lots))
    else:
        drawn, there = (
            Counter("spans" if one.unit is None else "propositions" for one in some) for some in (here, every)
        )
    for what, count in there.items():
        if drawn[what] < plan.human_check.share * count:
            return Refusal(
                Reason.UNDERPOWERED,
                f"the human check holds {drawn[what]} of the {count} {what} of this run, and the plan asks for"
                f" {plan.human_check.share} of them; draw it again, and have it filled",
            )
    return None


def summary(labels: CheckedLabels, every: Sequence[Checkable]) -> list[dict[str, Any]]:
    """How often people and judge say which, by kind: the judge's errors as they were found."""
    tables: dict[tuple[str, bool, bool], int] = defaultdict(int)
    for one in every:
        known = (
            labels.spans.get(one.signal_id)
            if one.signal_id
            else labels.propositions.get(one.unit if one.unit is not None else -1)
        )
        if known is not None and one.supported is not None:
            tables["span" if one.signal_id else "proposition", known, one.supported] += 1
    return [
        {"kind": kind, "people": people, "judge": judge, "n": n} for (kind, people, judge), n in sorted(tables.items())
    ]
