"""Two people label a claim, neither knowing of the other or of any judge; a third settles what they disagree on."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.judge_reliability.words import Label, Truth


@dataclass(frozen=True, slots=True)
class Settled:
    """What labels come to: a truth, or that the claim is dropped, or neither while a third label is missing."""

    truth: Truth | None
    dropped: bool
    conflict_resolved: bool


@dataclass(frozen=True, slots=True)
class LabelReport:
    """How labelling went: claims that two agreed on, that a third resolved, that were dropped, and that are open.

    `drop_rate` is of the claims that are not open, and None where there are none; `review` says whether it calls for
    a review of the rubric.
    """

    claims: int
    agreed: int
    resolved: int
    dropped: int
    open: int
    drop_rate: Fraction | None
    review: bool


def settled(labels: Sequence[Label]) -> Settled:
    """What the labels of a claim come to, in the order in which they were given.

    Two that agree settle it, and a third where they do not; a claim that ends as INCONCLUSIVE is dropped.

    Raises: InputRefused: not two labels, and not two that differ and a third.
    """
    if not 2 <= len(labels) <= 3 or (len(labels) == 3 and labels[0] == labels[1]):
        raise InputRefused(
            f"labels: found {', '.join(labels) or 'none'}; expected two, and a third where these two differ"
        )
    if len(labels) == 2 and labels[0] != labels[1]:
        return Settled(None, dropped=False, conflict_resolved=False)
    final = labels[-1]
    dropped = final is Label.INCONCLUSIVE
    return Settled(None if dropped else Truth(final), dropped, conflict_resolved=len(labels) == 3 and not dropped)


def label_report(labelled: Sequence[Sequence[Label]], *, drop_rate_at_most: Fraction) -> LabelReport:
    """How the labelling of these claims went.

    Raises: InputRefused: as in `settled`.
    """
    results = [settled(labels) for labels in labelled]
    dropped = sum(one.dropped for one in results)
    still_open = sum(one.truth is None and not one.dropped for one in results)
    resolved = sum(one.conflict_resolved for one in results)
    closed = len(results) - still_open
    rate = Fraction(dropped, closed) if closed else None
    return LabelReport(
        claims=len(results),
        agreed=closed - dropped - resolved,
        resolved=resolved,
        dropped=dropped,
        open=still_open,
        drop_rate=rate,
        review=rate is not None and rate > drop_rate_at_most,
    )
