"""The control chart of the fire rate: runs in batches, and whether so few fires let the chart tell anything."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval_pipeline.loop import Chart, without_limits, xmr_chart
from eval_pipeline.stats.control_charts import xmr_limits
from eval_pipeline.studies.fire_rate.plan import Batches

Standing = Literal["informative", "too_few", "no_variation", "single_fires", "empty_batches"]

NAME = "share_of_runs_that_fired"


@dataclass(frozen=True, slots=True)
class BatchChart:
    """The chart, what it is worth, and how many runs at the end filled no batch."""

    chart: Chart
    standing: Standing
    runs_left: int


def batch_chart(fired: npt.NDArray[np.bool_], rule: Batches) -> BatchChart:
    """The chart of runs in their order, in batches of equal size; a last one that is not full is left out.

    Args:
        fired: shape (n,), whether each run reports a mismatch.
        rule: runs of a batch, and batches of the baseline.

    """
    full = len(fired) // rule.runs * rule.runs
    points = [count / rule.runs for count in fired[:full].reshape(-1, rule.runs).sum(axis=1).tolist()]
    chart, standing = individuals_chart(points, baseline=rule.baseline, one=1 / rule.runs)
    return BatchChart(chart, standing, len(fired) - full)


def individuals_chart(points: list[float], *, baseline: int, one: float) -> tuple[Chart, Standing]:
    """The chart of points whose first ones make the limits, and what it is worth.

    A baseline in which nothing varies has no limits: whatever came next would lie outside. Where the limits let no
    single event pass, a signal says that there was one, and not that anything changed. Where most points are 0, eight
    in a row lie below the centre by chance alone.

    Args:
        points: in the order of time, each a number or share of events.
        baseline: how many make the limits, from 2 on.
        one: what a single event adds to a point.

    """
    if len(points) < baseline:
        why = f"{len(points)} points, and {baseline} make the limits"
        return without_limits(NAME, "xmr", points, baseline=baseline, why=why), "too_few"
    limits = xmr_limits(points[:baseline])
    if limits.no_variation:
        why = f"the first {baseline} points are all {points[0]:g}, so that any other would lie outside"
        return without_limits(NAME, "xmr", points, baseline=baseline, why=why), "no_variation"
    chart = xmr_chart(NAME, points, limits=limits, baseline=baseline)
    if limits.upper < one:
        return chart, "single_fires"
    return chart, "empty_batches" if 2 * points[:baseline].count(0) > baseline else "informative"
