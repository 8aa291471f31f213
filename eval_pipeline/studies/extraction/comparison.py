"""Two runs of the extraction study, proposition by proposition: whether what changed matters."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from scipy.stats import binomtest

from eval_pipeline.document import plain_interval, plain_number
from eval_pipeline.errors import InputRefused, Undefined
from eval_pipeline.records import Fate, Interval
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.stats.cluster_share import (
    BoundedShare,
    ShareEstimate,
    difference_of,
    influences,
    share_difference,
    share_interval,
)
from eval_pipeline.studies.extraction.recorded import Key, RecordedJudgments, read_judgments
from eval_pipeline.studies.extraction.verdict import GUARD, RECALL, UNIFORMITY
from eval_pipeline.studies.recorded_run import RecordedRun
from eval_pipeline.studies.run_comparison import RunComparison

_QUARTILES = 4
_DIGITS = 10  # of a p-value, which may be far smaller than any decimal


class Shown(StrEnum):
    """What the interval of a change shows."""

    BETTER = "better"
    WORSE = "worse"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Change:
    """A number in either run, that of the second less that of the first, and what is shown of it.

    All are None where `withheld` says why there is none.
    """

    claim: str
    first: float | None
    second: float | None
    change: float | None
    interval: Interval | None
    shown: Shown | None
    withheld: str | None


@dataclass(frozen=True, slots=True)
class PairedRuns:
    """Two runs over the propositions that both decided, and over the entries that both judged spans of.

    `gained` are missed in the first and recovered in the second, `lost` the other way. `p_value` is McNemar's, exact,
    as if propositions of one entry were independent; None where no proposition has another fate. `left_out` counts the
    propositions that one run alone holds, and those that one of them left undecided. `withheld` says why nothing may be
    said of propositions, where a run withholds its recall.
    """

    level: float
    propositions: int
    entries: int
    both_recovered: int
    both_missed: int
    gained: tuple[Key, ...]
    lost: tuple[Key, ...]
    p_value: float | None
    left_out: Mapping[str, int]
    recall: Change
    uniformity: Change
    precision: Change
    span_entries: int
    cause: str
    withheld: str | None


def paired_runs(
    first: RecordedRun, second: RecordedRun, compared: RunComparison, *, level: float | None = None
) -> PairedRuns:
    """What changed in the numbers, as the judge has them, with intervals over entries.

    A number that either run withholds is withheld here too.

    Args:
        first, second: two runs of the study.
        compared: what is different in what they rest on.
        level: of the intervals; that of the runs' own where none is given.

    Raises:
        EvidenceRefused: a folder lacks what the run wrote; see `read_judgments`.
        InputRefused: no level was given, and the two runs do not have one of their own in common.

    """
    at = level if level is not None else _level(first, second)
    one, other = read_judgments(first.folder), read_judgments(second.folder)
    both = {key: (fate, other.fates[key]) for key, fate in one.fates.items() if key in other.fates}
    decided = {key: fates for key, fates in both.items() if Fate.UNDECIDED not in fates}
    gained, lost = (
        tuple(sorted(key for key, fates in decided.items() if fates == turn))
        for turn in ((Fate.MISSED, Fate.RECOVERED), (Fate.RECOVERED, Fate.MISSED))
    )
    fates = Counter(decided.values())
    apart, table = len(gained) + len(lost), _table(decided)
    spans = _spans(one, other, paired=not compared.has_changed("corpus"))
    return PairedRuns(
        level=at,
        propositions=len(decided),
        entries=len({key.entry_id for key in decided}),
        both_recovered=fates[Fate.RECOVERED, Fate.RECOVERED],
        both_missed=fates[Fate.MISSED, Fate.MISSED],
        gained=gained,
        lost=lost,
        p_value=float(binomtest(len(gained), apart).pvalue) if apart else None,
        left_out={
            "only_in_first": len(one.fates.keys() - other.fates.keys()),
            "only_in_second": len(other.fates.keys() - one.fates.keys()),
            "undecided": len(both) - len(decided),
        },
        recall=_recall_change(table, at, _withheld(RECALL, first, second)),
        uniformity=_uniformity_change(table, at, _withheld(UNIFORMITY, first, second)),
        precision=_precision_change(spans, at, _withheld(GUARD, first, second)),
        span_entries=len(spans.trials),
        cause=cause_of(compared),
        withheld=_withheld(RECALL, first, second),
    )


def paired_document(found: PairedRuns) -> dict[str, Any]:
    """The comparison as plain values; None stands where there is no number."""
    stated = found.withheld is None
    return {
        "level": found.level,
        "propositions": found.propositions,
        "entries": found.entries,
        "both_recovered": found.both_recovered if stated else None,
        "both_missed": found.both_missed if stated else None,
        "gained": [key._asdict() for key in found.gained] if stated else None,
        "lost": [key._asdict() for key in found.lost] if stated else None,
        "p_value": None if found.p_value is None or not stated else float(f"{found.p_value:.{_DIGITS}g}"),
        "left_out": dict(found.left_out),
        "span_entries": found.span_entries,
        "changes": [_plain(change) for change in (found.recall, found.uniformity, found.precision)],
        "cause": found.cause,
        "withheld": found.withheld,
    }


def cause_of(compared: RunComparison) -> str:
    """Whose a change is, as far as what is different in two runs tells."""
    texts, judge = compared.has_changed("corpus"), compared.has_changed("judge")
    if texts and judge:
        return "both the texts and the judge are others, and nobody can say which of them makes a change"
    if texts:
        return "the judge is the same and the texts are others: a change is the extraction's, or the corpus's"
    if judge:
        return "the texts are the same and the judge is another: a change is the judge's, and not the extraction's"
    if compared.has_changed("seal of the plan"):
        return "texts and judge are the same and the plan is another: a change is the plan's"
    if compared.changed:
        return "texts, judge and plan are the same: a change is of what else is different"
    return "nothing is different in what they rest on: a change is the judge's own unsteadiness"


def _level(first: RecordedRun, second: RecordedRun) -> float:
    levels = [run.claims[RECALL].level if RECALL in run.claims else None for run in (first, second)]
    if levels[0] is None or levels[0] != levels[1]:
        said = " and ".join("none" if one is None else f"{one:g}" for one in levels)
        raise InputRefused(f"level: found {said} for the intervals of the two runs, expected one; say it with --level")
    return levels[0]


def _withheld(claim: str, *runs: RecordedRun) -> str | None:
    """Why a number may not be said, if one of the runs withholds it."""
    for name, run in zip(("first", "second"), runs, strict=True):
        said = run.claims.get(claim)
        if said is None or said.estimate is None:
            return f"the {name} withholds it ({said.reason if said else 'it makes no such claim'})"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Of each entry and quartile: recovered in the first run, gained, lost, and how many both decided."""

    first: Counts
    gained: Counts
    lost: Counts
    trials: Counts


def _table(decided: Mapping[Key, tuple[Fate, Fate]]) -> _Table:
    place = {entry_id: number for number, entry_id in enumerate(sorted({key.entry_id for key in decided}))}
    table = _Table(*(np.zeros((len(place), _QUARTILES), dtype=np.int64) for _ in range(4)))
    for key, (before, now) in decided.items():
        cell = place[key.entry_id], key.quartile - 1
        table.first[cell] += before is Fate.RECOVERED
        table.gained[cell] += before is Fate.MISSED and now is Fate.RECOVERED
        table.lost[cell] += before is Fate.RECOVERED and now is Fate.MISSED
        table.trials[cell] += 1
    return table


@dataclass(frozen=True, slots=True, eq=False)
class _Spans:
    """Of each entry and run: spans that support, of those judged; `pairs`, if they are the same in both runs."""

    supported: Counts
    trials: Counts
    pairs: _Table | None


def _spans(one: RecordedJudgments, other: RecordedJudgments, *, paired: bool) -> _Spans:
    """The spans of the entries of which both runs judged some; `paired`, those that both judged.

    Of another corpus the signals are others, and those few that stayed would say nothing of the rest.
    """
    runs = [run.spans for run in (one, other)]
    if paired:
        runs = [{key: run[key] for key in runs[0].keys() & runs[1].keys()} for run in runs]
    entries = sorted({key.entry_id for key in runs[0]} & {key.entry_id for key in runs[1]})
    place = {entry_id: number for number, entry_id in enumerate(entries)}
    supported, trials = (np.zeros((len(place), 2), dtype=np.int64) for _ in range(2))
    for number, run in enumerate(runs):
        for key, is_supported in run.items():
            if key.entry_id in place:
                supported[place[key.entry_id], number] += is_supported
                trials[place[key.entry_id], number] += 1
    if not paired:
        return _Spans(supported, trials, None)
    table = _Table(*(np.zeros((len(place), 1), dtype=np.int64) for _ in range(4)))
    for key, before in runs[0].items():
        cell, now = (place[key.entry_id], 0), runs[1][key]
        table.first[cell] += before
        table.gained[cell] += now and not before
        table.lost[cell] += before and not now
        table.trials[cell] += 1
    return _Spans(supported, trials, table)


def _recall_change(table: _Table, level: float, withheld: str | None) -> Change:
    return _said(RECALL, lambda: _paired(table, level), withheld, better=1)


def _precision_change(spans: _Spans, level: float, withheld: str | None) -> Change:
    def over_entries() -> _Found:
        turned = slice(None, None, -1)  # the second less the first
        found = share_difference(spans.supported[:, turned], spans.trials[:, turned], level=level, tails="two")
        first, second = (float(one) for one in spans.supported.sum(axis=0) / spans.trials.sum(axis=0))
        return _Found(first, second, found)

    pairs = spans.pairs
    return _said(GUARD, over_entries if pairs is None else lambda: _paired(pairs, level), withheld, better=1)


def _uniformity_change(table: _Table, level: float, withheld: str | None) -> Change:
    """Of recall in quartile 1 less that in quartile 4; less of it is better."""

    def change() -> _Found:
        moved = [_moved(table.gained[:, q], table.lost[:, q], table.trials[:, q], level) for q in (0, _QUARTILES - 1)]
        found = difference_of(moved[0], moved[1], level=level, tails="two")
        shares = table.first.sum(axis=0) / table.trials.sum(axis=0)
        first = float(shares[0] - shares[-1])
        return _Found(first, first + found.estimate, found)

    return _said(UNIFORMITY, change, withheld, better=-1)


@dataclass(frozen=True, slots=True)
class _Found:
    first: float
    second: float
    change: ShareEstimate


def _said(claim: str, found: Callable[[], _Found], withheld: str | None, *, better: Literal[1, -1]) -> Change:
    """A change, or why there is none."""
    try:
        measured = None if withheld else found()
    except Undefined as refusal:
        withheld = str(refusal)
    if withheld or measured is None:
        return Change(claim, None, None, None, None, None, withheld)
    change = measured.change
    return Change(
        claim, measured.first, measured.second, change.estimate, change.interval, _shown(change, better), None
    )


def _paired(table: _Table, level: float) -> _Found:
    """The share gained less the share lost, of all that both decided.

    The two shares keep the pairing, item by item; where nothing changed both have an upper bound still, and the
    interval a width.
    """
    first, gained, lost, trials = (one.sum(axis=1) for one in (table.first, table.gained, table.lost, table.trials))
    found = share_difference(
        np.stack([gained, lost], axis=1), np.stack([trials, trials], axis=1), level=level, tails="two"
    )
    before = float(first.sum() / trials.sum())
    return _Found(before, before + found.estimate, found)


def _moved(gained: Counts, lost: Counts, trials: Counts, level: float) -> BoundedShare:
    """The change of one quartile's recall with its bounds, and what each entry adds to its error."""
    up, down = (_bounded(one, trials, level) for one in (gained, lost))
    found = difference_of(up, down, level=level, tails="two")
    return _with_bounds(found, up.influence - down.influence)


def _bounded(hits: Counts, trials: Counts, level: float) -> BoundedShare:
    return _with_bounds(share_interval(hits, trials, level=level, tails="two"), influences(hits, trials))


def _with_bounds(found: ShareEstimate, influence: Reals) -> BoundedShare:
    assert found.interval.low is not None
    assert found.interval.high is not None
    return BoundedShare(found.estimate, float(found.interval.low), float(found.interval.high), influence)


def _shown(found: ShareEstimate, better: Literal[1, -1]) -> Shown:
    low, high = found.interval.low, found.interval.high
    assert low is not None
    assert high is not None
    if low > 0:
        return Shown.BETTER if better > 0 else Shown.WORSE
    if high < 0:
        return Shown.WORSE if better > 0 else Shown.BETTER
    return Shown.NEITHER


def _plain(change: Change) -> dict[str, Any]:
    return {
        "claim": change.claim,
        "first": plain_number(change.first),
        "second": plain_number(change.second),
        "change": plain_number(change.change),
        "interval": plain_interval(change.interval),
        "shown": change.shown and change.shown.value,
        "withheld": change.withheld,
    }
