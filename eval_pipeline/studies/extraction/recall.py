"""Recall: the share of propositions that a single signal recovers, in all and by every part of the design."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eval_pipeline.errors import RatioUndefined, ThinResamples, TooFewClusters
from eval_pipeline.records import Interval, Kind
from eval_pipeline.stats.bootstrap import Bootstrap
from eval_pipeline.studies.extraction.contrasts import contrast
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy
from eval_pipeline.studies.extraction.quartiles import Counts, counts_of
from eval_pipeline.tables import rows_where

NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Group:
    """Recall within a part of the propositions; `interval` is None where too little was judged for one.

    `degenerate`: all resamples agree, so the interval has no width.
    """

    name: str
    entries: int
    hits: int
    judged: int
    undecided: int
    estimate: Fraction | None
    interval: Interval | None
    degenerate: bool


@dataclass(frozen=True, slots=True)
class RecallFindings:
    """Pooled recall with its interval, the range it could have, and where it is high and low.

    `macro` is the mean of the entries' own recalls. `worst_case` holds the recall if everything undecided were missed,
    and if it were recovered. `composition_only` is None where no screen asks about several signals together.
    `judged_entries` and `dense_entries` count what the design is held against.
    """

    pooled: Group
    macro: Fraction | None
    worst_case: Interval | None
    composition_only: int | None
    judged_entries: int
    entries_undecided: tuple[str, ...]
    entries_without_signals: int
    dense_entries: int | None
    by_quartile: tuple[Group, ...]
    by_workspace: tuple[Group, ...]
    by_band: tuple[Group, ...]
    by_density: tuple[Group, ...]


def recall_findings(frame: Frame, quartiles: pa.Table, judgments: pa.Table, plan: ExtractionPlan) -> RecallFindings:
    """Recall of all that was judged."""
    counts = counts_of(quartiles, plan)
    every = np.ones(len(counts.entries), dtype=bool)
    pooled = _group("all", counts, every, range(4), plan)
    nothing_judged = counts.judged.sum(axis=1) == 0
    return RecallFindings(
        pooled=pooled,
        macro=_macro(counts),
        worst_case=_worst_case(pooled),
        composition_only=(
            None if plan.judging.strategy is Strategy.NO_SCREEN else int(quartiles["composition_only"].to_numpy().sum())
        ),
        judged_entries=int(counts.drawn.sum()),
        entries_undecided=tuple(counts.entries[place]["entry_id"] for place in np.flatnonzero(nothing_judged)),
        entries_without_signals=_entries_without_signals(judgments),
        dense_entries=_dense_entries(frame, counts, plan),
        by_quartile=tuple(_group(f"quartile {q}", counts, every, [q - 1], plan) for q in range(1, 5)),
        by_workspace=_groups(counts, [entry["workspace"] or NOT_RECORDED for entry in counts.entries], plan),
        by_band=_groups(counts, [entry["band"] or NOT_RECORDED for entry in counts.entries], plan),
        by_density=_by_density(counts, plan),
    )


def _worst_case(pooled: Group) -> Interval | None:
    in_frame = pooled.judged + pooled.undecided
    if not in_frame:
        return None
    return Interval(Fraction(pooled.hits, in_frame), Fraction(pooled.hits + pooled.undecided, in_frame), level=1.0)


def _by_density(counts: Counts, plan: ExtractionPlan) -> tuple[Group, ...]:
    dense = plan.design.dense
    if dense is None:
        return ()
    long, short = f"{dense.words} words or more", f"under {dense.words} words"
    return _groups(counts, [long if _is_dense(e["words"], dense.words) else short for e in counts.entries], plan)


def _groups(counts: Counts, names: Sequence[str], plan: ExtractionPlan) -> tuple[Group, ...]:
    labels = np.array(names, dtype=object)
    return tuple(_group(name, counts, labels == name, range(4), plan) for name in sorted(set(names)))


def _group(
    name: str, counts: Counts, rows: npt.NDArray[np.bool_], columns: Iterable[int], plan: ExtractionPlan
) -> Group:
    chosen = list(columns)
    hits, judged, undecided = (
        table[rows][:, chosen].sum(axis=1) for table in (counts.hits, counts.judged, counts.undecided)
    )
    total = int(judged.sum())
    resampled = _bootstrap(hits[counts.drawn[rows]], judged[counts.drawn[rows]], plan)
    return Group(
        name=name,
        entries=int((judged > 0).sum()),
        hits=int(hits.sum()),
        judged=total,
        undecided=int(undecided.sum()),
        estimate=Fraction(int(hits.sum()), total) if total else None,
        interval=resampled.interval if resampled else None,
        degenerate=resampled is not None and resampled.degenerate,
    )


def _bootstrap(
    hits: npt.NDArray[np.int64], judged: npt.NDArray[np.int64], plan: ExtractionPlan
) -> Bootstrap[Fraction] | None:
    try:
        return contrast(hits[:, np.newaxis], judged[:, np.newaxis], [1], "two", plan)
    except (TooFewClusters, RatioUndefined, ThinResamples):
        return None


def _macro(counts: Counts) -> Fraction | None:
    """The mean over entries of each entry's recall, exactly; entries of which nothing was judged have none."""
    judged = counts.judged.sum(axis=1)
    shares = [Fraction(int(h), int(t)) for h, t in zip(counts.hits.sum(axis=1), judged, strict=True) if t]
    return sum(shares, Fraction(0)) / len(shares) if shares else None


def _entries_without_signals(judgments: pa.Table) -> int:
    return len(rows_where(judgments, "kind", [Kind.NO_SIGNALS])["entry_id"].unique())


def _is_dense(words: int | None, at_least: int) -> bool:
    return words is not None and words >= at_least


def _dense_entries(frame: Frame, counts: Counts, plan: ExtractionPlan) -> int | None:
    """How many entries are long, counted on what was judged or on all that the fixture names, as the plan says."""
    dense = plan.design.dense
    if dense is None:
        return None
    if dense.counted_on == "fixture":
        return len({unit.entry_id for unit in frame.units if _is_dense(unit.words, dense.words)})
    judged = (entry for entry, drawn in zip(counts.entries, counts.drawn, strict=True) if drawn)
    return sum(_is_dense(entry["words"], dense.words) for entry in judged)
