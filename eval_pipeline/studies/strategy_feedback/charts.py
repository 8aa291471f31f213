"""Control charts of gains about the value in force: what speaks against a constant, and not against its own mean."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from eval_pipeline.loop import Chart, without_limits, xmr_chart
from eval_pipeline.stats.control_charts import XmrLimits, xmr_limits


def batch_means(gains: list[Fraction], *, batch: int) -> tuple[Fraction, ...]:
    """The mean of each batch in the order of time; a last one that is not full is left out."""
    full = len(gains) // batch
    return tuple(sum(gains[k * batch : (k + 1) * batch], Fraction(0)) / batch for k in range(full))


def gain_chart(name: str, points: tuple[Fraction, ...], *, baseline: int, target: Fraction) -> Chart:
    """The chart of points whose limits lie about the target as far off as the baseline's moving ranges say.

    About its own mean a process that was always off its constant would look stable, and the constant would never move.

    Args:
        name: of the chart.
        points: mean gains of batches, in the order of time.
        baseline: how many of the first ones make the limits.
        target: the gain that the constants in force expect.

    """
    shown = tuple(map(float, points))
    if len(points) < baseline:
        why = f"{len(points)} batches are there, and limits take {baseline}; nothing moves until then"
        return without_limits(name, "xmr", shown, baseline=baseline, why=why)
    limits = _about(xmr_limits(np.array(shown[:baseline])), target)
    if limits.no_variation:
        why = f"all {baseline} batches of the baseline are {shown[0]:g}: without variation nothing says what is unusual"
        return without_limits(name, "xmr", shown, baseline=baseline, why=why)
    return xmr_chart(name, shown, limits=limits, baseline=baseline)


def _about(limits: XmrLimits, target: Fraction) -> XmrLimits:
    """The same limits about another centre, moved in decimals, so that no rounding makes a signal."""
    shift = target - Fraction(repr(limits.centre))
    lower, upper = (float(Fraction(repr(end)) + shift) for end in (limits.lower, limits.upper))
    return replace(limits, centre=float(target), lower=lower, upper=upper)
