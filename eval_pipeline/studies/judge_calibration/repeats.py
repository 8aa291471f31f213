"""Whether a judge gives the same answer when it is asked again within one run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from eval_pipeline.studies.judge_calibration.confusion import ErrorRates, Prediction, Rate, error_rates, rate_of


@dataclass(frozen=True, slots=True)
class Flips:
    """Of `runs` over the same tuples: those on which not all answers are one, and the errors of the majority.

    Without a majority there is no answer.
    """

    runs: int
    turned: Rate
    majority: ErrorRates


def flips(runs: Sequence[Sequence[Prediction]], *, level: Fraction) -> Flips | None:
    """What several runs say of how steady the judge is; None of fewer than two."""
    if len(runs) < 2:
        return None
    answers = [[one.label for one in together] for together in zip(*runs, strict=True)]
    turned = sum(len(set(labels)) > 1 for labels in answers)
    majority = [_majority(together) for together in zip(*runs, strict=True)]
    return Flips(len(runs), rate_of(turned, len(answers), level=level), error_rates(majority, level=level))


def _majority(together: Sequence[Prediction]) -> Prediction:
    """The prediction of more than half of the runs, with the breakdown of the first that gave it; else none."""
    (label, count), *_ = Counter(one.label for one in together).most_common(1)
    if 2 * count <= len(together):
        return replace(together[0], label=None, no_label=None, breakdown=None, constraint_id=None)
    return next(one for one in together if one.label == label)
