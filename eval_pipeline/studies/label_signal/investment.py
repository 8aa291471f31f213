"""What to collect or mend next, most urgent first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eval_pipeline.stats.arrays import Reals
from eval_pipeline.studies.label_signal.coverage import Covered
from eval_pipeline.studies.label_signal.detection import CodeDetection
from eval_pipeline.studies.label_signal.plan import Coverage, Detection
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.track import Track

Kind = Literal["absent_level", "thin_level", "blind_spot", "rare_code", "failing_stratum"]


@dataclass(frozen=True, slots=True)
class Investment:
    """One thing to do, about what, and how many items or answers it takes; None where it is not a matter of more."""

    kind: Kind
    about: str
    what: str
    more: int | None


def investments(
    covered: Covered | None,
    codes: Sequence[CodeDetection],
    ratings: Ratings,
    composites: Reals,
    track: Track,
    coverage: Coverage,
    detection: Detection,
) -> tuple[Investment, ...]:
    """Absent levels, thin levels, blind spots, rare codes, and the worst failing level of each factor, each once.

    Args:
        covered: the coverage of the design, if one was declared.
        codes: what was detected.
        ratings, composites: shape (rows,), whose failures are counted.
        track: its strata.
        coverage, detection: the plan's bars.

    """
    found: list[Investment] = []
    for name, kind in [*((one, "absent_level") for one in (covered.absent if covered else ())),
                       *((one, "thin_level") for one in (covered.thin if covered else ()))]:  # fmt: skip
        assert covered
        factor, _, level = name.partition("=")
        more = coverage.enough - covered.counts[factor][level]
        found.append(Investment(kind, name, f"collect {more} more items of {name}", more))  # type: ignore[arg-type]
    found += [
        Investment("blind_spot", one.code, f"sharpen the rubric for {one.code} ({one.name}), or retire the code", None)
        for one in codes
        if one.status == "blind_spot"
    ]
    for one in codes:
        more = detection.planted_at_least - one.planted
        if one.status == "underpowered" and more > 0:  # without clean answers any number of planted ones is too few
            found.append(
                Investment("rare_code", one.code, f"collect {more} more answers with {one.code} ({one.name})", more)
            )
    named = {one.about for one in found}
    return tuple(found) + tuple(one for one in _failing(ratings, composites, track, coverage) if one.about not in named)


def _failing(ratings: Ratings, composites: Reals, track: Track, plan: Coverage) -> list[Investment]:
    """The level of each factor whose answers fail most, where that is often."""
    strata = {item.item_id: item.strata for item in track.items}
    of_unit = ratings.unit_means(composites)
    known = ~np.isnan(of_unit)
    failed = of_unit < float(plan.failure_below)
    found = []
    for factor in track.about.strata:
        levels = np.array([strata.get(item, {}).get(factor, "") for item, _ in ratings.units])
        rates = {
            level: float(failed[known & (levels == level)].mean())
            for level in track.about.strata[factor]
            if (known & (levels == level)).any()
        }
        if not rates:
            continue
        worst = max(rates, key=lambda level: (rates[level], level))
        if rates[worst] >= plan.failure_rate:
            name = f"{factor}={worst}"
            found.append(
                Investment(
                    "failing_stratum", name, f"expand {name}, where {rates[worst]:.0%} of the answers fail", None
                )
            )
    return found
