"""Control charts: limits frozen from a baseline, and the points that a stable process would hardly have given."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewObservations
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, counts, in_a_row, reals, require_equal_lengths
from eval_pipeline.stats.scalars import real_number

Rule = Literal["outside_3sigma", "run_of_8"]

_SIGMAS_PER_RANGE = 3 / Fraction("1.128")  # d2 as tabled for pairs; exactly it is 2 / sqrt(pi) = 1.12838
_RANGE_LIMIT = Fraction("3.267")  # D4 for pairs, 1 + 3 d3 / d2
_RUN = 8


@dataclass(frozen=True, slots=True)
class XmrLimits:
    """Limits of an individuals chart, in the unit of its points.

    `centre` is the mean of the baseline, `lower` and `upper` lie three sigmas from it, and a moving range (how far a
    point lies from the one before) is unusual above `moving_range_upper`.
    """

    centre: float
    mean_moving_range: float
    lower: float
    upper: float
    moving_range_upper: float

    @property
    def no_variation(self) -> bool:
        """Whether the baseline was constant, so that any other value lies outside, however near."""
        return self.mean_moving_range == 0


@dataclass(frozen=True, slots=True)
class SpecialCause:
    """A point, by its 0-based index, that a stable process would hardly have given, and the rule that says so."""

    index: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class PChart:
    """A P chart: of each subgroup its share, its limits within [0, 1], and whether the share lies outside them."""

    centre: Fraction
    shares: Reals
    lower: Reals
    upper: Reals
    outside: npt.NDArray[np.bool_]


def xmr_limits(baseline: ArrayLike) -> XmrLimits:
    """Limits at mean +- 3 mean|MR| / 1.128, MR being the moving ranges of the baseline.

    The sum is exact in the decimals that the floats stand for and is rounded once. Rounding keeps order, so a point
    that equals a limit in decimals equals it here too: twelve times 0.1 have the centre 0.1.

    Args:
        baseline: shape (n,), the points in the order of time.

    Raises:
        InputRefused: a point is no finite number.
        TooFewObservations: n < 2; one point has no moving range.
    Source: Wheeler & Chambers (1992), Understanding Statistical Process Control, 2nd ed.; NIST/SEMATECH (2012),
        e-Handbook of Statistical Methods, section 6.3.2.2.

    """
    points = [Fraction(repr(point)) for point in _series(baseline, "baseline").tolist()]
    if len(points) < 2:
        raise TooFewObservations(f"found a baseline of {len(points)}, expected 2 points or more for a moving range")
    centre = sum(points, Fraction(0)) / len(points)
    ranges = [abs(later - earlier) for earlier, later in pairwise(points)]
    mean_range = sum(ranges, Fraction(0)) / len(ranges)
    reach = _SIGMAS_PER_RANGE * mean_range
    return XmrLimits(
        centre=float(centre),
        mean_moving_range=float(mean_range),
        lower=float(centre - reach),
        upper=float(centre + reach),
        moving_range_upper=float(_RANGE_LIMIT * mean_range),
    )


def special_causes(points: ArrayLike, *, limits: XmrLimits) -> tuple[SpecialCause, ...]:
    """What points out to a special cause, in the order of time: a point strictly outside the limits, a run of 8.

    Args:
        points: shape (n,), in the order of time; those of the baseline, or any others.
        limits: from `xmr_limits` of the baseline.
    Raises: InputRefused: a point is no finite number.
    Source: Western Electric (1956), Statistical Quality Control Handbook, 25-28, tests 1 and 4.

    """
    series = _series(points, "points")
    outside = np.flatnonzero((series < limits.lower) | (series > limits.upper)).tolist()
    found = [SpecialCause(index, "outside_3sigma") for index in outside]
    found += [SpecialCause(index, "run_of_8") for index in runs_of_8(series, centre=limits.centre)]
    return tuple(sorted(found, key=lambda cause: cause.index))


def runs_of_8(points: ArrayLike, *, centre: float) -> tuple[int, ...]:
    """The 0-based index of the 8th point of every run on one side of the centre; a longer run is not told again.

    A point on the centre is on neither side and ends the run.

    Args:
        points: shape (n,), in the order of time.
        centre: of the chart, in the unit of the points.
    Raises: InputRefused: a point, or the centre, is no finite number.
    Source: Western Electric (1956), Statistical Quality Control Handbook, 25-28, test 4.

    """
    series, line = _series(points, "points"), real_number(centre, "centre")
    side = (series > line).astype(np.int64) - (series < line)
    starts = np.flatnonzero(np.diff(side, prepend=0))
    lengths = np.diff(starts, append=len(side))
    return tuple((starts[(lengths >= _RUN) & (side[starts] != 0)] + _RUN - 1).tolist())


def p_chart_centre(successes: ArrayLike, trials: ArrayLike) -> Fraction:
    """The centre of a P chart: all successes of the baseline over all its trials, exactly.

    Args:
        successes: shape (k,), of each subgroup.
        trials: shape (k,), of each subgroup; they may differ.

    Raises:
        InputRefused: not whole numbers with 0 <= successes <= trials, or of unequal lengths.
        RatioUndefined: there is no trial.

    """
    hit, total = _subgroups(successes, trials)
    if not total.any():
        raise RatioUndefined("the baseline has no trials; there is no share to be the centre")
    return Fraction(sum(hit.tolist()), sum(total.tolist()))


def p_chart(successes: ArrayLike, trials: ArrayLike, *, centre: Fraction) -> PChart:
    """The subgroups against centre +- 3 sqrt(centre (1 - centre) / total), each with the limits of its own size.

    Args:
        successes: shape (k,), of each subgroup; those of the baseline, or later ones.
        trials: shape (k,), of each subgroup; they may differ.
        centre: from `p_chart_centre` of the baseline.

    Raises:
        InputRefused: not whole numbers with 0 <= successes <= trials, of unequal lengths, or a centre outside [0, 1].
        RatioUndefined: a subgroup has no trials.
    Source: Montgomery (2012), Introduction to Statistical Quality Control, 7th ed., section 7.2.

    """
    hit, total = _subgroups(successes, trials)
    if not 0 <= centre <= 1:
        raise InputRefused(f"centre: found {centre}, expected a share in [0, 1]")
    if not total.all():
        raise RatioUndefined(f"subgroup {np.argmin(total)} has no trials, hence no share; leave it out")
    reach = 3 * np.sqrt(float(centre * (1 - centre)) / total)
    # With centre a/b: |h - n a/b| > 3 sqrt(n a (b - a)) / b, squared and times b^2, compares whole numbers.
    a, b = centre.as_integer_ratio()
    outside = [(h * b - n * a) ** 2 > 9 * n * a * (b - a) for h, n in zip(hit.tolist(), total.tolist(), strict=True)]
    return PChart(
        centre=centre,
        shares=hit / total,
        lower=np.maximum(float(centre) - reach, 0.0),
        upper=np.minimum(float(centre) + reach, 1.0),
        outside=np.array(outside, dtype=np.bool_),
    )


def _series(values: ArrayLike, name: str) -> Reals:
    return in_a_row(reals(values, name), name)


def _subgroups(successes: ArrayLike, trials: ArrayLike) -> tuple[Counts, Counts]:
    hit, total = in_a_row(counts(successes, "successes"), "successes"), in_a_row(counts(trials, "trials"), "trials")
    require_equal_lengths(successes=hit, trials=total)
    if (over := np.flatnonzero(hit > total)).size:
        raise InputRefused(f"subgroup {over[0]}: found {hit[over[0]]} successes in {total[over[0]]} trials")
    return hit, total
