"""Whether a threshold that was calibrated replaces the provisional one."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.scalars import as_printed
from eval_pipeline.studies.kpi_gates.kpis import LARGEST, Kpi
from eval_pipeline.studies.kpi_gates.plan import Promotion

Why = Literal[
    "promoted",
    "special_cause",
    "no_runs",
    "no_variation",
    "too_few_runs",
    "at_zero",
    "provisional_within",
    "headroom_reaches_provisional",
    "small_change",
    "blunt",
    "never_fires",
    "stopped",
    "baseline_changed",
    "worse_on_held_out",
    "not_tried",
]

WORDS: dict[Why, str] = {
    "promoted": "it lies apart from the provisional threshold, and far enough",
    "special_cause": "one is too many, so that its threshold stays 0",
    "no_runs": "no run says anything of it",
    "no_variation": "all runs have one value, which says nothing of how far chance goes",
    "too_few_runs": "so few runs do not bound the percentile from above",
    "at_zero": "the percentile is 0, which leaves no headroom in proportion",
    "provisional_within": "the interval of the percentile holds the provisional threshold",
    "headroom_reaches_provisional": "with its headroom it would no longer lie below the provisional threshold",
    "small_change": "the change is smaller than the plan asks for",
    "blunt": "the percentile is known so vaguely that the threshold would let the shift pass that it is to stop",
    "never_fires": "the threshold would lie where no value can exceed it",
    "stopped": "the calibration was stopped",
    "baseline_changed": "runs were measured by other code than the frozen one",
    "worse_on_held_out": "on held-out runs it does worse than the provisional threshold",
    "not_tried": "held-out runs have not shown, or are too few to show, what it does",
}

_UNIT = 10_000  # thresholds are rounded up to four decimals


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of a gate: its calibrated threshold, where there is one, and why it is promoted or held."""

    calibrated: Fraction | None
    change: Fraction | None
    why: Why

    @property
    def promoted(self) -> bool:
        """Whether the calibrated threshold replaces the provisional one."""
        return self.why == "promoted"


def relative_change(provisional: Number, calibrated: Number) -> Fraction:
    """How far the calibrated value lies from the provisional one, in proportion to that, or to 1e-9 if it is less."""
    before, after = as_printed(provisional, "provisional"), as_printed(calibrated, "calibrated")
    return abs(after - before) / max(before, Fraction(1, 10**9))


def excludes(interval: Interval, value: Number) -> bool:
    """Whether a value lies outside an interval; its ends are within, and an open end excludes nothing."""
    point = as_printed(value, "value")
    below = interval.low is not None and point < as_printed(interval.low, "low")
    return below or (interval.high is not None and point > as_printed(interval.high, "high"))


def replaces(provisional: Number, calibrated: Number, interval: Interval, *, change_at_least: Fraction) -> bool:
    """Whether the interval excludes the provisional value and the change is as large as the plan asks for."""
    return excludes(interval, provisional) and relative_change(provisional, calibrated) >= change_at_least


def threshold_of(estimate: Number, interval: Interval, rule: Promotion) -> Fraction | None:
    """Where a gate stands that is calibrated on a percentile; None where its interval is open above.

    It is the upper end of the interval, so that a good run exceeds it no more often than the percentile says, and at
    least the headroom above the estimate, so that it never equals the value that it was calibrated on.
    """
    if interval.high is None:
        return None
    with_headroom = as_printed(estimate, "estimate") * (1 + rule.headroom)
    return Fraction(ceil(max(as_printed(interval.high, "high"), with_headroom) * _UNIT), _UNIT)


def standing_of(
    kpi: Kpi, provisional: Fraction, estimate: Number, interval: Interval, rule: Promotion, *, no_variation: bool
) -> Standing:
    """What becomes of a gate by its percentile.

    Args:
        kpi: whose gate it is.
        provisional: the threshold that stands.
        estimate: of the percentile.
        interval: of the percentile.
        rule: of the plan.
        no_variation: whether all runs have one value.

    """
    if no_variation:
        return Standing(None, None, "no_variation")
    if (threshold := threshold_of(estimate, interval, rule)) is None:
        return Standing(None, None, "too_few_runs")
    change = relative_change(provisional, threshold)
    return Standing(
        threshold, change, _why(kpi, provisional, as_printed(estimate, "estimate"), interval, threshold, rule)
    )


def _why(
    kpi: Kpi, provisional: Fraction, estimate: Fraction, interval: Interval, threshold: Fraction, rule: Promotion
) -> Why:
    if estimate <= 0:
        return "at_zero"
    if not excludes(interval, provisional):
        return "provisional_within"
    if estimate < provisional <= threshold:
        return "headroom_reaches_provisional"
    if not replaces(provisional, threshold, interval, change_at_least=rule.change_at_least):
        return "small_change"
    if kpi in LARGEST and threshold >= LARGEST[kpi]:
        return "never_fires"
    return "promoted" if estimate * (1 + rule.shift) > threshold else "blunt"
