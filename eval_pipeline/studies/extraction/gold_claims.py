"""The gold set as the study's own judge is asked about it: does a passage support a claim, yes or no?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eval_pipeline.records import Alignment, Kind, Label
from eval_pipeline.stats.judged_clusters import JudgedClusters
from eval_pipeline.studies.judge_calibration.gold import GoldSet
from eval_pipeline.tables import rows_where


@dataclass(frozen=True, slots=True)
class GoldClaim:
    """A claim with its passage; `supported` is the right answer."""

    entry_id: str
    premise: str
    hypothesis: str
    supported: bool


@dataclass(frozen=True, slots=True)
class GoldErrors:
    """How the judge did on them: of `positives` that are supported it missed some, of `negatives` it supported some.

    `unread` of the claims gave no label; `unasked` were not come to.
    """

    positives: int
    false_negatives: int
    negatives: int
    false_positives: int
    unread: int
    unasked: int

    @property
    def labelled(self) -> int:
        """How many of the claims have a label."""
        return self.positives + self.negatives


def gold_claims(gold: GoldSet) -> tuple[GoldClaim, ...]:
    """The claims that are judged by a passage, where there is one: supported as a whole, or not."""
    return tuple(
        GoldClaim(f"gold-{item.index}", item.excerpt, item.claim, item.expected is Alignment.SUPPORTED)
        for item in gold.alignment
        if item.excerpt and item.expected is not Alignment.RETRIEVAL_FAILED
    )


def gold_errors(claims: Sequence[GoldClaim], judgments: pa.Table) -> GoldErrors:
    """What the judge's answers come to."""
    said = _said(judgments)
    labelled = _labelled(claims, said)
    return GoldErrors(
        positives=sum(right for right, _ in labelled),
        false_negatives=sum(right and label == Label.NOT_SUPPORTED for right, label in labelled),
        negatives=sum(not right for right, _ in labelled),
        false_positives=sum(not right and label == Label.SUPPORTED for right, label in labelled),
        unread=sum(claim.entry_id in said and not said[claim.entry_id] for claim in claims),
        unasked=sum(claim.entry_id not in said for claim in claims),
    )


def gold_table(claims: Sequence[GoldClaim], judgments: pa.Table, *, groups: int) -> JudgedClusters:
    """The answers as clusters of one claim each, all in the first of so many groups."""
    labelled = _labelled(claims, _said(judgments))

    def count(right: bool, label: Label) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        table = np.zeros((len(labelled), groups), dtype=np.int64)
        table[:, 0] = [one == (right, label) for one in labelled]
        return table

    nothing = np.zeros((len(labelled), groups), dtype=np.int64)
    return JudgedClusters(
        supported=nothing,
        judged=nothing,
        true_positives=count(True, Label.SUPPORTED),
        false_negatives=count(True, Label.NOT_SUPPORTED),
        true_negatives=count(False, Label.NOT_SUPPORTED),
        false_positives=count(False, Label.SUPPORTED),
    )


def _labelled(claims: Sequence[GoldClaim], said: Mapping[str, str | None]) -> list[tuple[bool, str]]:
    """The right answer and the judge's label, of each claim that has one."""
    return [(claim.supported, label) for claim in claims if (label := said.get(claim.entry_id))]


def _said(judgments: pa.Table) -> dict[str, str | None]:
    rows = rows_where(judgments, "kind", [Kind.GOLD]).select(["entry_id", "label"]).to_pylist()
    return {row["entry_id"]: row["label"] for row in rows}
