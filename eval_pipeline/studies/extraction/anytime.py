"""The claims' intervals at any level, for looks without end: from shares over entries, and never from resamples.

A quantile of a thousand resamples says nothing of what comes once in a thousand; these intervals hold so far out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import Undefined
from eval_pipeline.history import Anytime, IntervalAt
from eval_pipeline.human_check.join import HumanCheck
from eval_pipeline.records import Interval, Kind, Label
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.stats.cluster_share import ShareEstimate, share_difference, share_interval
from eval_pipeline.stats.judged_clusters import JudgedClusters
from eval_pipeline.stats.post_stratified import post_stratified_difference, post_stratified_share
from eval_pipeline.studies.extraction.correction.checking import checkables, labels_of
from eval_pipeline.studies.extraction.correction.estimates import Estimator, checked_propositions, checked_spans
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.quartiles import counts_of
from eval_pipeline.studies.extraction.verdict import GUARD, RECALL, UNIFORMITY
from eval_pipeline.tables import rows_where

_ENDS = [0, 3]


@dataclass(frozen=True, slots=True)
class Checked:
    """What people said of propositions, by entry and quartile, and of spans, by entry; None where they said nothing."""

    propositions: JudgedClusters | None
    spans: JudgedClusters | None


def checked_by_people(
    check: HumanCheck | None,
    frame: Frame,
    snapshot: Snapshot,
    fates: pa.Table,
    judgments: pa.Table,
    plan: ExtractionPlan,
    *,
    judge: str,
) -> Checked:
    """What a human check says of a run, if it was given one that may be rested on."""
    if check is None:
        return Checked(None, None)
    every = checkables(frame, snapshot, fates, judgments)
    labels = labels_of(check, every, plan, judge=judge)
    if labels.refusal:
        return Checked(None, None)
    return Checked(checked_propositions(every, labels.propositions), checked_spans(every, labels.spans))


def anytime(
    document: Mapping[str, Any],
    quartiles: pa.Table,
    judgments: pa.Table,
    checked: Checked,
    plan: ExtractionPlan,
) -> Anytime:
    """The intervals of the claims, each of the estimator that decided it, at the level of the plan's intervals.

    A claim that the ratio estimator decided has none: where it screens, only its resamples are known.

    Args:
        document: the verdict.
        quartiles, judgments: the tables that it rests on.
        checked: what people said.
        plan: the level.

    """
    by_estimator = {
        Estimator.RAW.value: _raw(quartiles, judgments, plan),
        Estimator.POST_STRATIFIED.value: _corrected(checked),
    }
    found = {
        claim["claim"]: interval_at
        for claim in document["claims"]
        if (interval_at := by_estimator.get(claim["estimator"], {}).get(claim["claim"]))
    }
    return Anytime(plan.bootstrap.level, found)


def _raw(quartiles: pa.Table, judgments: pa.Table, plan: ExtractionPlan) -> dict[str, IntervalAt]:
    """As the judge has it, over the entries."""
    counts = counts_of(quartiles, plan)
    hits, judged = counts.hits[counts.drawn], counts.judged[counts.drawn]
    supported, drawn = _spans_by_entry(judgments)
    return {
        RECALL: _at(lambda level: share_interval(hits.sum(axis=1), judged.sum(axis=1), level=level, tails="two")),
        UNIFORMITY: _at(lambda level: share_difference(hits[:, _ENDS], judged[:, _ENDS], level=level, tails="two")),
        GUARD: _at(lambda level: share_interval(supported, drawn, level=level, tails="two")),
    }


def _corrected(checked: Checked) -> dict[str, IntervalAt]:
    """As people correct it."""
    found: dict[str, IntervalAt] = {}
    if (propositions := checked.propositions) is not None:
        together = JudgedClusters(*(counts.sum(axis=1, keepdims=True) for counts in propositions.columns))
        ends = JudgedClusters(*(counts[:, _ENDS] for counts in propositions.columns))
        found[RECALL] = _at(lambda level: post_stratified_share(together, group=0, level=level, tails="two"))
        found[UNIFORMITY] = _at(lambda level: post_stratified_difference(ends, level=level, tails="two"))
    if (spans := checked.spans) is not None:
        found[GUARD] = _at(lambda level: post_stratified_share(spans, group=0, level=level, tails="two"))
    return found


def _at(estimate: Callable[[Fraction], ShareEstimate]) -> IntervalAt:
    """The interval at a level; None where the data have none."""

    def interval_at(level: Fraction) -> Interval | None:
        try:
            return estimate(level).interval
        except Undefined:
            return None

    return interval_at


def _spans_by_entry(judgments: pa.Table) -> tuple[Counts, Counts]:
    """Of each entry with judged spans, how many signals follow from their span, and how many were judged."""
    spans = rows_where(judgments, "kind", [Kind.SPAN]).select(["entry_id", "label"])
    judged = [(row["entry_id"], row["label"] == Label.SUPPORTED) for row in spans.to_pylist() if row["label"]]
    places = np.unique([entry_id for entry_id, _ in judged], return_inverse=True)[1]
    supported = np.bincount(places, weights=[is_supported for _, is_supported in judged]).astype(np.int64)
    return supported, np.bincount(places).astype(np.int64)
