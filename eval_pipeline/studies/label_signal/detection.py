"""Whether the rubric registers the failures that were planted: by its scores, and by the codes that raters name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eval_pipeline.errors import TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.effects import cliffs_delta, magnitude
from eval_pipeline.stats.scalars import as_printed
from eval_pipeline.studies.label_signal.plan import Detection
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.track import FailureCode, Track

Status = Literal["detected", "blind_spot", "underpowered", "no_effect_declared"]

MAGNITUDES: Mapping[str, Number] = {"small": 0.147, "medium": 0.33, "large": 0.474}
SMALLEST = "negligible"


@dataclass(frozen=True, slots=True)
class CodeDetection:
    """A failure code: how far planted answers lie below clean ones, on the dimension that tells them best apart.

    `recall` is the share of raters of a planted answer who named the code, `precision` the share of namings that were
    of a planted answer; both are None where raters named no codes.
    """

    code: str
    name: str
    planted: int
    status: Status
    dimension: str | None
    delta: float | None
    interval: Interval | None
    magnitude: str | None
    recall: float | None
    precision: float | None


def detected_codes(ratings: Ratings, track: Track, plan: Detection) -> tuple[CodeDetection, ...]:
    """Each failure code of the track, in its order."""
    planted = {(one.item_id, one.system_id): one.planted_failure for one in track.responses}
    of_unit = np.array([planted.get(unit) or "" for unit in ratings.units])
    means = {key: ratings.unit_means(ratings.scores[:, place]) for place, key in enumerate(ratings.dimensions)}
    return tuple(_detection(code, of_unit, means, ratings, track, plan) for code in track.about.failure_codes)


def sensitivity_rate(found: Sequence[CodeDetection]) -> float | None:
    """The share of detected codes among those that can be estimated; None where none can."""
    estimable = [one for one in found if one.status in ("detected", "blind_spot")]
    return sum(one.status == "detected" for one in estimable) / len(estimable) if estimable else None


def status_of(planted: int, delta: Number | None, plan: Detection) -> Status:
    """What so many planted answers, so far from clean ones, say of the rubric; too few say nothing."""
    if planted < plan.planted_at_least or delta is None:
        return "underpowered"
    return "detected" if as_printed(delta, "delta") >= plan.delta_at_least else "blind_spot"


def _detection(
    code: FailureCode,
    of_unit: "np.ndarray",
    means: Mapping[str, Reals],
    ratings: Ratings,
    track: Track,
    plan: Detection,
) -> CodeDetection:
    hit, clean = of_unit == code.code, of_unit == ""
    lower_is_better = {one.key for one in track.rubric.dimensions if one.better == "lower"}
    best: tuple[str, float, Interval | None] | None = None
    for key in code.penalties:
        sign = -1 if key in lower_is_better else 1
        of_clean, of_hit = (values[~np.isnan(values)] for values in (means[key][clean], means[key][hit]))
        try:
            found = cliffs_delta(sign * of_clean, sign * of_hit, level=plan.level)
        except TooFewObservations:
            continue
        if best is None or float(found.delta) > best[1]:
            best = (key, float(found.delta), found.interval)
    recall, precision = _coders(code.code, hit, ratings)
    status: Status = status_of(int(hit.sum()), best and best[1], plan) if code.penalties else "no_effect_declared"
    return CodeDetection(
        code=code.code,
        name=code.name,
        planted=int(hit.sum()),
        status=status,
        dimension=best and best[0],
        delta=best and best[1],
        interval=best and best[2],
        magnitude=magnitude(best[1], thresholds=MAGNITUDES, otherwise=SMALLEST) if best else None,
        recall=recall,
        precision=precision,
    )


def _coders(code: str, hit: "np.ndarray", ratings: Ratings) -> tuple[float | None, float | None]:
    """How often raters named the code on planted answers, and how often a naming was of one."""
    if ratings.codes is None:
        return None, None
    named = np.array([code in codes for codes in ratings.codes])
    of_hit = hit[ratings.unit]
    recall = float(named[of_hit].mean()) if of_hit.any() else None
    precision = float(of_hit[named].mean()) if named.any() else None
    return recall, precision
