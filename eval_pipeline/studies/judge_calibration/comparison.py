"""Two calibrations over one gold set, tuple by tuple: of two judges, or of one judge at two times."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scipy.stats import binomtest

from eval_pipeline.document import plain_interval, plain_number
from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Compliance, Interval
from eval_pipeline.stats.attenuation import paired_gap, true_gap_interval
from eval_pipeline.studies.judge_calibration.recorded import Calibration, TupleOutcome

_DIGITS = 10  # of a p-value, which may be far smaller than any decimal


@dataclass(frozen=True, slots=True)
class Cells:
    """How many tuples each calibration has right; an answer without a label is not right.

    `changed` have another answer in the second. `p_value` is McNemar's, exact; None where no tuple is right in one
    alone: the two then err on the same tuples, and nothing tells them apart.
    """

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int
    changed: int
    p_value: float | None

    @property
    def n(self) -> int:
        """All of them."""
        return self.both_right + self.only_first + self.only_second + self.both_wrong


@dataclass(frozen=True, slots=True)
class Change:
    """An error rate in either calibration, and that of the second less that of the first.

    All three are over the `n` tuples that measure it and have a label in both; `left_out` are those that lack one. They
    are None where nothing was measured, and `interval`, that of the change, for fewer than two tuples.
    """

    n: int
    left_out: int
    first: Fraction | None
    second: Fraction | None
    change: Fraction | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two calibrations over one gold set, with intervals at the level of either's own.

    `apart` are the outcomes, first and second, of which just one is right.
    """

    same_judge: bool
    level: float
    everything: Cells
    alignment: Cells
    constraint: Cells
    false_negatives: Change
    false_positives: Change
    apart: tuple[tuple[TupleOutcome, TupleOutcome], ...]


_Pairs = Sequence[tuple[TupleOutcome, TupleOutcome]]


def compared(first: Calibration, second: Calibration) -> Comparison:
    """The comparison of two calibrations, each tuple beside itself.

    The changes have Bonett and Price's interval for paired shares, which has a width also where no answer differs.

    Args:
        first, second: over the same gold set, and with intervals of the same level.
    Raises: InputRefused: they are over other gold sets, or have intervals of other levels.
    Source: McNemar (1947), Psychometrika 12(2), 153-157; Bonett & Price (2012), Journal of Educational and Behavioral
        Statistics 37(4), 479-488.

    """
    if first.hashes.gold != second.hashes.gold:
        raise InputRefused(
            f"second: found gold set {second.hashes.gold[:12]}, expected {first.hashes.gold[:12]}, that of the first;"
            " measure both against the same tuples"
        )
    if [(one.index, one.expected) for one in first.tuples] != [(one.index, one.expected) for one in second.tuples]:
        raise InputRefused("second: found other tuples than the first has of that gold set; run both again")
    level = first.levels.intervals
    if second.levels.intervals != level:
        raise InputRefused(
            f"second: found intervals of level {second.levels.intervals:g}, expected {level:g}, that of the first; run"
            " one again under a plan with the other's intervals.level, which asks nothing that is known"
        )
    pairs = tuple(zip(first.tuples, second.tuples, strict=True))
    alignment = [pair for pair in pairs if pair[0].kind == "alignment"]
    constraint = [pair for pair in pairs if pair[0].kind == "constraint"]
    return Comparison(
        same_judge=first.judge.fingerprints == second.judge.fingerprints,
        level=level,
        everything=_cells(pairs),
        alignment=_cells(alignment),
        constraint=_cells(constraint),
        false_negatives=_change([*alignment, *_of(constraint, Compliance.VIOLATED)], level),
        false_positives=_change([*alignment, *_of(constraint, Compliance.NOT_VIOLATED)], level),
        apart=tuple(pair for pair in pairs if pair[0].right != pair[1].right),
    )


def comparison_document(first: Calibration, second: Calibration, found: Comparison) -> dict[str, Any]:
    """The comparison as plain values; None stands where nothing was measured."""
    return {
        "first": _plain_calibration(first),
        "second": _plain_calibration(second),
        "same_judge": found.same_judge,
        "gold": first.hashes.gold,
        "level": found.level,
        "cells": {
            "all": _plain_cells(found.everything),
            "alignment": _plain_cells(found.alignment),
            "constraint": _plain_cells(found.constraint),
        },
        "changes": {"FNR": _plain_change(found.false_negatives), "FPR": _plain_change(found.false_positives)},
        "right_in_one": [
            {
                "index": one.index,
                "kind": one.kind,
                "expected": one.expected.value,
                "first": one.answered and one.answered.value,
                "second": other.answered and other.answered.value,
                "right": "first" if one.right else "second",
            }
            for one, other in found.apart
        ],
    }


def _of(pairs: _Pairs, label: Compliance) -> _Pairs:
    return [pair for pair in pairs if pair[0].expected is label]


def _cells(pairs: _Pairs) -> Cells:
    cells = Counter((one.right, other.right) for one, other in pairs)
    only_first, only_second = cells[True, False], cells[False, True]
    apart = only_first + only_second
    return Cells(
        both_right=cells[True, True],
        only_first=only_first,
        only_second=only_second,
        both_wrong=cells[False, False],
        changed=sum(one.answered != other.answered for one, other in pairs),
        p_value=float(binomtest(only_first, apart).pvalue) if apart else None,
    )


def _change(measured: _Pairs, level: float) -> Change:
    labelled = [pair for pair in measured if pair[0].answered is not None and pair[1].answered is not None]
    n, left_out = len(labelled), len(measured) - len(labelled)
    before, now = ([not pair[side].right for pair in labelled] for side in (0, 1))
    if not n:
        return Change(0, left_out, None, None, None, None)
    interval = true_gap_interval(paired_gap(now, before), eta=0.0, eta_error=0.0, level=level) if n > 1 else None
    first, second = Fraction(sum(before), n), Fraction(sum(now), n)
    return Change(n, left_out, first, second, second - first, interval)


def _plain_calibration(one: Calibration) -> dict[str, Any]:
    judge = {"kind": one.judge.kind, "fingerprints": dict(one.judge.fingerprints)}
    return {"judge": judge, "plan": one.plan, "seal": one.hashes.plan}


def _plain_cells(cells: Cells) -> Mapping[str, Any]:
    return {
        "n": cells.n,
        "both_right": cells.both_right,
        "only_first": cells.only_first,
        "only_second": cells.only_second,
        "both_wrong": cells.both_wrong,
        "changed": cells.changed,
        "p_value": None if cells.p_value is None else float(f"{cells.p_value:.{_DIGITS}g}"),
    }


def _plain_change(change: Change) -> Mapping[str, Any]:
    return {
        "n": change.n,
        "left_out": change.left_out,
        "first": plain_number(change.first),
        "second": plain_number(change.second),
        "change": plain_number(change.change),
        "interval": plain_interval(change.interval),
    }
