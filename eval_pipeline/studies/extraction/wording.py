"""How the sentences of a verdict put a number: where an interval lies, and whether a bound is a fall or a rise."""

from fractions import Fraction

from eval_pipeline.records import Interval, Number


def place(interval: Interval | None, threshold: Fraction) -> str:
    """Where the interval lies, in words."""
    if interval is None or interval.low is None or interval.high is None:
        return "too little was judged for an interval"
    if interval.low >= threshold:
        return "the interval lies above it"
    return "the interval lies below it" if interval.high < threshold else "the interval holds it"


def change(bound: Number) -> str:
    """A bound on the loss from the first quartile to the last, in words."""
    return f"falls by at most {float(bound):.4f}" if bound >= 0 else f"rises by at least {-float(bound):.4f}"
