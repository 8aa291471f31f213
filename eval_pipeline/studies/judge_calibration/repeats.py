"""Whether a judge gives the same answer twice, two judges the same errors, or one judge the same as a while ago."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from scipy.stats import binomtest

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.judge_calibration.confusion import ErrorRates, Prediction, Rate, error_rates, rate_of


@dataclass(frozen=True, slots=True)
class Flips:
    """Of `runs` over the same tuples: those on which not all answers are one, and the errors of the majority.

    Without a majority there is no answer.
    """

    runs: int
    turned: Rate
    majority: ErrorRates


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the same tuples, such as of two judges, or of one judge before and after a change.

    `only_first` and `only_second` are the tuples on which just one is right; `p_value` is McNemar's, exact, None where
    there are none: the runs then err on the same tuples, and nothing tells them apart.
    """

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int
    p_value: float | None


def flips(runs: Sequence[Sequence[Prediction]], *, level: Fraction) -> Flips | None:
    """What several runs say of how steady the judge is; None of fewer than two."""
    if len(runs) < 2:
        return None
    answers = [[one.label for one in together] for together in zip(*runs, strict=True)]
    turned = sum(len(set(labels)) > 1 for labels in answers)
    majority = [_majority(together) for together in zip(*runs, strict=True)]
    return Flips(len(runs), rate_of(turned, len(answers), level=level), error_rates(majority, level=level))


def compared(first: Sequence[Prediction], second: Sequence[Prediction]) -> Comparison:
    """Exact McNemar of two runs over the same tuples, in the same order.

    Raises: InputRefused: they are of other tuples.
    Source: McNemar (1947), Psychometrika 12(2), 153-157.
    """
    if [(one.item.claim, one.item.expected) for one in first] != [
        (one.item.claim, one.item.expected) for one in second
    ]:
        raise InputRefused("second: found predictions of other tuples than the first, expected the same gold set")
    cells = Counter((one.right, other.right) for one, other in zip(first, second, strict=True))
    only_first, only_second = cells[True, False], cells[False, True]
    apart = only_first + only_second
    return Comparison(
        both_right=cells[True, True],
        only_first=only_first,
        only_second=only_second,
        both_wrong=cells[False, False],
        p_value=float(binomtest(only_first, apart).pvalue) if apart else None,
    )


def _majority(together: Sequence[Prediction]) -> Prediction:
    """The prediction of more than half of the runs, with the breakdown of the first that gave it; else none."""
    (label, count), *_ = Counter(one.label for one in together).most_common(1)
    if 2 * count <= len(together):
        return replace(together[0], label=None, no_label=None, breakdown=None, constraint_id=None)
    return next(one for one in together if one.label == label)
