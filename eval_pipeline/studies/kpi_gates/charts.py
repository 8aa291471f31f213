"""The KPIs over time: a point is the mean of a batch of runs, and the batches of the baseline make the limits."""

from fractions import Fraction

import numpy as np

from eval_pipeline import loop
from eval_pipeline.errors import InputRefused
from eval_pipeline.loop import Chart, Signal, without_limits
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.stats.control_charts import p_chart, p_chart_centre, xmr_limits


def batches(values: Reals, size: int) -> Reals:
    """The values in rows of `size`, shape (batches, size); what is left over at the end is no batch."""
    whole = len(values) // size
    return values[: whole * size].reshape(whole, size)


def batch_means(values: Reals, size: int) -> Reals:
    """The mean of each batch, in the order of time; those of few counts have no mass points, as percentiles have."""
    return np.asarray(batches(values, size).mean(axis=1))


def xmr_chart(name: str, points: Reals, *, baseline: int) -> Chart:
    """An individuals chart whose limits come of the first `baseline` points.

    Without so many points, or where they are all alike, there are no limits: any other value would lie outside them.

    Args:
        name: of the chart.
        points: shape (k,), in the order of time.
        baseline: how many make the limits, 2 or more.
    Raises: InputRefused: a baseline of fewer than 2, or a point that is no number.

    """
    if baseline < 2:
        raise InputRefused(f"baseline: found {baseline}, expected 2 points or more for a moving range")
    found = tuple(float(point) for point in points)
    if len(found) < baseline:
        return without_limits(
            name, "xmr", found, baseline=baseline, why=f"{len(found)} points of {baseline} that would make them"
        )
    limits = xmr_limits(found[:baseline])
    if limits.no_variation:
        why = f"the first {baseline} points are all {limits.centre:g}, which says nothing of how far chance goes"
        return without_limits(name, "xmr", found, baseline=baseline, why=why)
    return loop.xmr_chart(name, found, limits=limits, baseline=baseline)


def event_chart(name: str, events: Counts, *, size: int, baseline: int) -> Chart:
    """A P chart of the share of runs with an event, by batches; none without an event in the batches of the baseline.

    Args:
        name: of the chart.
        events: shape (n,), 1 for a run with the event and 0 for one without, in the order of time.
        size: runs of a batch.
        baseline: how many batches make the limits.

    """
    hits = batches(events.astype(np.float64), size).sum(axis=1).astype(np.int64)
    shares = tuple((hits / size).tolist())
    if len(hits) < baseline:
        return without_limits(
            name, "p", shares, baseline=baseline, why=f"{len(hits)} batches of {baseline} that would make them"
        )
    centre = p_chart_centre(hits[:baseline], [size] * baseline)
    if centre in (Fraction(0), Fraction(1)):
        why = f"the first {baseline} batches are all alike, which says nothing of how far chance goes"
        return without_limits(name, "p", shares, baseline=baseline, why=why)
    chart = p_chart(hits, [size] * len(hits), centre=centre)
    signals = tuple(Signal(place, "beyond_limits") for place in np.flatnonzero(chart.outside).tolist())
    lower, upper = tuple(chart.lower.tolist()), tuple(chart.upper.tolist())
    return Chart(name, "p", shares, float(centre), lower, upper, signals, baseline)
