"""What a judge answered beside what is right: error rates of the whole, of each class, and of what blocks people."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from eval_pipeline.judge.claims import SubClaim
from eval_pipeline.records import Alignment, Compliance, Interval, NoLabel, Number
from eval_pipeline.stats.binomial import exact_interval, lower_bound, upper_bound
from eval_pipeline.studies.judge_calibration.gold import GoldTuple
from eval_pipeline.studies.judge_calibration.partial import is_hit

CLASSES = (Alignment.SUPPORTED, Alignment.UNSUPPORTED, Alignment.AMBIGUOUS)
VIOLATED_CONSTRAINT = "violated_constraint"

Standing = Literal["shown_below", "not_shown", "shown_above"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the judge said of a tuple: a label, or why there is none; a breakdown, or the rule that it found broken."""

    item: GoldTuple
    label: Alignment | Compliance | None
    no_label: NoLabel | None
    breakdown: tuple[SubClaim, ...] | None
    constraint_id: str | None

    @property
    def right(self) -> bool:
        """Whether the label is the expected one."""
        return self.label is not None and self.label == self.item.expected


@dataclass(frozen=True, slots=True)
class Rate:
    """An error rate: errors of n; `estimate` and `interval` are None where nothing was measured."""

    errors: int
    n: int
    estimate: Fraction | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class ClassRates:
    """One label against the rest: how often it is missed where it is right, and given where it is not."""

    false_negatives: Rate
    false_positives: Rate


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """Every error rate of a judge on a gold set; answers without a label are in none of them.

    `false_negatives` and `false_positives` are those of the gate: a wrong label of an alignment tuple counts in both, a
    missed violation in the first, a false one in the second. `false_clear` is UNSUPPORTED called SUPPORTED;
    `false_flag` anything else called UNSUPPORTED or VIOLATED. `partial_misses` are partially supported claims that were
    not taken apart rightly, `wrong_rule` violations found for another rule than the one that is broken. The macro
    averages are those of the classes that were measured. `matrix` counts (expected, answered), None for no label.
    """

    false_negatives: Rate
    false_positives: Rate
    per_class: dict[str, ClassRates]
    macro_false_negatives: Fraction | None
    macro_false_positives: Fraction | None
    false_clear: Rate
    false_flag: Rate
    partial_misses: Rate
    wrong_rule: Rate
    invalid: Rate
    matrix: dict[tuple[str, str | None], int]


def error_rates(predictions: Sequence[Prediction], *, level: Fraction) -> ErrorRates:
    """The error rates of predictions, with exact intervals.

    Args:
        predictions: one of each tuple of the gold set.
        level: coverage of the two-sided intervals, in (0, 1).

    """
    labelled = [one for one in predictions if one.label is not None]
    alignment = [one for one in labelled if one.item.constraint is None]
    constraint = [one for one in labelled if one.item.constraint is not None]
    wrong = sum(not one.right for one in alignment)
    broken = [one for one in constraint if one.item.expected is Compliance.VIOLATED]
    kept = [one for one in constraint if one.item.expected is Compliance.NOT_VIOLATED]
    missed, false_alarms = sum(not one.right for one in broken), sum(not one.right for one in kept)

    def rate(errors: int, n: int) -> Rate:
        return rate_of(errors, n, level=level)

    per_class = {str(label): _one_against_the_rest(alignment, label, level) for label in CLASSES}
    per_class[VIOLATED_CONSTRAINT] = ClassRates(rate(missed, len(broken)), rate(false_alarms, len(kept)))
    unsupported = [one for one in alignment if one.item.expected is Alignment.UNSUPPORTED]
    others = [one for one in [*alignment, *kept] if one.item.expected is not Alignment.UNSUPPORTED]
    partial = [one for one in alignment if one.item.partial]
    named = [one for one in broken if one.right and one.constraint_id is not None]
    return ErrorRates(
        false_negatives=rate(wrong + missed, len(alignment) + len(broken)),
        false_positives=rate(wrong + false_alarms, len(alignment) + len(kept)),
        per_class=per_class,
        macro_false_negatives=_mean(rates.false_negatives for rates in per_class.values()),
        macro_false_positives=_mean(rates.false_positives for rates in per_class.values()),
        false_clear=rate(sum(one.label is Alignment.SUPPORTED for one in unsupported), len(unsupported)),
        false_flag=rate(sum(_flags(one) for one in others), len(others)),
        partial_misses=rate(
            sum(not is_hit(one.label, one.breakdown, one.item.sub_claims) for one in partial), len(partial)
        ),
        wrong_rule=rate(sum(_names_another_rule(one) for one in named), len(named)),
        invalid=rate(len(predictions) - len(labelled), len(predictions)),
        matrix=dict(Counter((str(one.item.expected), one.label and str(one.label)) for one in predictions)),
    )


def rate_of(errors: int, n: int, *, level: Fraction) -> Rate:
    """A rate with its exact interval; None for both where n is 0, for what was not measured is not 0."""
    return Rate(errors, n, Fraction(errors, n) if n else None, exact_interval(errors, n, level=level) if n else None)


def standing_of(rate: Rate, threshold: Number, *, level: Fraction) -> Standing | None:
    """Whether the rate is shown to lie below a threshold, or at it or above; by exact one-sided bounds."""
    if not rate.n:
        return None
    below, above = (bound(rate.errors, rate.n, level=level) for bound in (upper_bound, lower_bound))
    assert below.high is not None
    assert above.low is not None
    if below.high < threshold:
        return "shown_below"
    return "shown_above" if above.low >= threshold else "not_shown"


def _one_against_the_rest(alignment: Sequence[Prediction], label: StrEnum, level: Fraction) -> ClassRates:
    positive = [one for one in alignment if one.item.expected is label]
    negative = [one for one in alignment if one.item.expected is not label]
    return ClassRates(
        rate_of(sum(one.label is not label for one in positive), len(positive), level=level),
        rate_of(sum(one.label is label for one in negative), len(negative), level=level),
    )


def _flags(one: Prediction) -> bool:
    return one.label in (Alignment.UNSUPPORTED, Compliance.VIOLATED)


def _names_another_rule(one: Prediction) -> bool:
    return one.item.constraint is not None and one.constraint_id != one.item.constraint.id


def _mean(rates: Iterable[Rate]) -> Fraction | None:
    measured = [rate.estimate for rate in rates if rate.estimate is not None]
    return sum(measured, Fraction(0)) / len(measured) if measured else None
