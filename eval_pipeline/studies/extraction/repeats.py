"""Repeats: judgments that are asked for once more, and how often the answer turned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from eval_pipeline.canonical import content_hash, seeded_order
from eval_pipeline.records import Interval, Kind, Label
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.studies.extraction.asking import Row
from eval_pipeline.studies.extraction.plan import ExtractionPlan

DECIDING = (Kind.SCREEN, Kind.SIGNAL, Kind.SPAN)


@dataclass(frozen=True, slots=True)
class Flips:
    """How many judgments of some kinds were asked for once more, and of those with two labels, how many turned.

    `interval` is exact for judgments that turn independently; None where none has two labels.
    """

    repeated: int
    compared: int
    turned: int
    interval: Interval | None

    @property
    def reach(self) -> Fraction:
        """How far such judgments may move a share of them: the rate's upper end, and 0 if none was seen to turn."""
        if not self.turned or self.interval is None or self.interval.high is None:
            return Fraction(0)
        return Fraction(self.interval.high)


def drawn_again(rows: Iterable[Row], plan: ExtractionPlan) -> list[Row]:
    """The planned share of the judgments with a label, each question once, by the plan's seed."""
    by_key = {
        row.judgment.key: row
        for row in rows
        if row.kind in DECIDING and row.judgment and row.judgment.label is not None
    }
    lots = sorted(by_key.values(), key=lambda row: _lot(row, plan))
    return lots[: ceil(plan.judging.repeats * len(lots))]


def _lot(row: Row, plan: ExtractionPlan) -> str:
    """A place in the draw that is the same whoever judges."""
    assert row.judgment is not None  # only what was asked is drawn
    question = row.judgment.question
    return seeded_order(plan.seed, f"repeat:{content_hash([question.premise, question.hypothesis])}")


def flips_of(
    kinds: Sequence[Kind],
    rows: Sequence[dict[str, Any]],
    plan: ExtractionPlan,
    *,
    labels: Sequence[Label] = tuple(Label),
) -> Flips:
    """What the repeats say of the judgments of these kinds with these labels.

    Args:
        rows: the table of judgments.

    """
    first = {_asked(row): row["label"] for row in rows if row["kind"] in kinds and row["label"] in labels}
    pairs = [(first[_asked(row)], row["label"]) for row in rows if row["kind"] == Kind.REPEAT and _asked(row) in first]
    labelled = [(before, after) for before, after in pairs if after]
    turned = sum(before != after for before, after in labelled)
    interval = exact_interval(turned, len(labelled), level=float(plan.bootstrap.level)) if labelled else None
    return Flips(len(pairs), len(labelled), turned, interval)


def _asked(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["entry_id"], row["together"], tuple(row["premise"]), row["hypothesis"]
