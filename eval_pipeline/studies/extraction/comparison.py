"""Two runs of the extraction study, proposition by proposition: whether what changed matters."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.stats import binomtest

from eval_pipeline.document import plain_interval, plain_number
from eval_pipeline.errors import InputRefused, Undefined
from eval_pipeline.records import Fate, Interval
from eval_pipeline.stats.arrays import Counts
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
    apart = len(gained) + len(lost)
    hits, trials = _by_entry(decided)
    spans = sorted(one.spans.keys() & other.spans.keys())
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
        recall=_recall_change(hits, trials, at, _withheld(RECALL, first, second)),
        uniformity=_uniformity_change(hits, trials, at, _withheld(UNIFORMITY, first, second)),
        precision=_precision_change(spans, one, other, at, _withheld(GUARD, first, second)),
        span_entries=len(spans),
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


def _by_entry(decided: Mapping[Key, tuple[Fate, Fate]]) -> tuple[Counts, Counts]:
    """Recovered and decided, of shape (entries, quartiles, runs); the decided are the same in both runs."""
    place = {entry_id: number for number, entry_id in enumerate(sorted({key.entry_id for key in decided}))}
    hits, trials = (np.zeros((len(place), _QUARTILES, 2), dtype=np.int64) for _ in range(2))
    for key, fates in decided.items():
        cell = place[key.entry_id], key.quartile - 1
        hits[cell] += [fate is Fate.RECOVERED for fate in fates]
        trials[cell] += 1
    return hits, trials


def _recall_change(hits: Counts, trials: Counts, level: float, withheld: str | None) -> Change:
    of_run = [(hits[..., run].sum(axis=1), trials[..., run].sum(axis=1)) for run in (0, 1)]
    return _change(RECALL, of_run, level, withheld, better=1)


def _precision_change(
    entries: Sequence[str], one: RecordedJudgments, other: RecordedJudgments, level: float, withheld: str | None
) -> Change:
    counts = np.array([[run.spans[entry_id] for entry_id in entries] for run in (one, other)], dtype=np.int64)
    counts = counts.reshape(2, len(entries), 2)
    return _change(GUARD, [(run[:, 0], run[:, 1]) for run in counts], level, withheld, better=1)


def _change(
    claim: str, of_run: Sequence[tuple[Counts, Counts]], level: float, withheld: str | None, *, better: int
) -> Change:
    """A share in the second run less that in the first, over the same entries."""
    (hits_before, before), (hits_now, now) = of_run
    try:
        found = share_difference(
            np.stack([hits_now, hits_before], axis=1), np.stack([now, before], axis=1), level=level, tails="two"
        )
    except Undefined as refusal:
        return Change(claim, None, None, None, None, None, withheld or str(refusal))
    if withheld:
        return Change(claim, None, None, None, None, None, withheld)
    first, second = (float(hits.sum() / trials.sum()) for hits, trials in of_run)
    return Change(claim, first, second, found.estimate, found.interval, _shown(found, better), None)


def _uniformity_change(hits: Counts, trials: Counts, level: float, withheld: str | None) -> Change:
    """Recall in quartile 1 less that in quartile 4, in the second run less the first; less of it is better."""
    try:
        losses = [_loss(hits[..., run], trials[..., run], level) for run in (0, 1)]
    except Undefined as refusal:
        return Change(UNIFORMITY, None, None, None, None, None, withheld or str(refusal))
    if withheld:
        return Change(UNIFORMITY, None, None, None, None, None, withheld)
    found = difference_of(losses[1], losses[0], level=level, tails="two")
    return Change(UNIFORMITY, losses[0].share, losses[1].share, found.estimate, found.interval, _shown(found, -1), None)


def _loss(hits: Counts, trials: Counts, level: float) -> BoundedShare:
    """The loss of one run with its bounds, and what each entry adds to its error."""
    first, last = (_bounded(hits[:, quartile], trials[:, quartile], level) for quartile in (0, _QUARTILES - 1))
    found = difference_of(first, last, level=level, tails="two")
    return _with_bounds(found, first.influence - last.influence)


def _bounded(hits: Counts, trials: Counts, level: float) -> BoundedShare:
    return _with_bounds(share_interval(hits, trials, level=level, tails="two"), influences(hits, trials))


def _with_bounds(found: ShareEstimate, influence: Any) -> BoundedShare:
    assert found.interval.low is not None
    assert found.interval.high is not None
    return BoundedShare(found.estimate, float(found.interval.low), float(found.interval.high), influence)


def _shown(found: ShareEstimate, better: int) -> Shown:
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
