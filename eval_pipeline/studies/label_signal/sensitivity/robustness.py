"""What the sensitivity of a track comes to in one word, and the flip that lies nearest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity.joint import Joint, joint
from eval_pipeline.studies.label_signal.sensitivity.thresholds import Flip, Swept, sweep
from eval_pipeline.studies.label_signal.sensitivity.worlds import REFERENCE, Axis, Outcome


class Robustness(StrEnum):
    """How much a recommendation depends on what was assumed; without any other world, nobody can say."""

    FRAGILE = "fragile"
    CONDITIONAL = "conditional"
    ROBUST = "robust"
    NOT_ASSESSED = "not_assessed"


@dataclass(frozen=True, slots=True)
class SensitivityFindings:
    """Every outcome, every threshold, and what they come to.

    `turned` are the worlds by axis in which the recommendation is another; `kept` the share of each axis' worlds that
    keep it. `nearest` is the flip of the recommendation that lies nearest.
    """

    robustness: Robustness
    outcomes: tuple[Outcome, ...]
    swept: tuple[Swept, ...]
    joint: Joint
    turned: Mapping[Axis, tuple[str, ...]]
    kept: Mapping[Axis, float]
    nearest: Flip | None


def findings(grounds: Grounds, outcomes: Sequence[Outcome], plan: LabelSignalPlan) -> SensitivityFindings:
    """The sensitivity of a track.

    Args:
        grounds: as they are.
        outcomes: of all worlds, the declared one first.
        plan: grids and bands.

    """
    swept = sweep(grounds, plan)
    by_axis: dict[Axis, list[Outcome]] = {}
    for one in outcomes:
        by_axis.setdefault(one.axis, []).append(one)
    turned = {axis: _turned(axis, found, outcomes[0]) for axis, found in by_axis.items()}
    flips = [flip for one in swept for flip in one.flips if flip.turned == "recommendation" and flip.margin is not None]
    nearest = min(flips, key=lambda flip: (flip.margin, flip.threshold.name), default=None)
    dropped = bool(turned.get("leave_one_out"))
    word = robustness(
        nearest.margin if nearest else None,
        rater_turns=dropped,
        world_turns=any(names for axis, names in turned.items() if axis != "leave_one_out"),
        fragile_within=plan.sensitivity.fragile_within,
    )
    return SensitivityFindings(
        robustness=word if len(by_axis) > 1 or word is not Robustness.ROBUST else Robustness.NOT_ASSESSED,
        outcomes=tuple(outcomes),
        swept=swept,
        joint=joint(grounds, plan),
        turned={axis: names for axis, names in turned.items() if names},
        kept={axis: _kept(found, turned[axis]) for axis, found in by_axis.items() if axis != "baseline"},
        nearest=nearest,
    )


def _turned(axis: Axis, found: Sequence[Outcome], base: Outcome) -> tuple[str, ...]:
    """The worlds that come to another recommendation; one rater fewer is held against all, in as many batches."""
    reference = next((one for one in found if one.name == REFERENCE), base) if axis == "leave_one_out" else base
    return tuple(one.name for one in found if one.recommendation != reference.recommendation)


def _kept(found: Sequence[Outcome], turned: Sequence[str]) -> float:
    """The share of an axis' worlds that turn nothing; the one that others are held against is none of them."""
    return 1 - len(turned) / sum(one.name != REFERENCE for one in found)


def robustness(nearest: float | None, *, rater_turns: bool, world_turns: bool, fragile_within: Fraction) -> Robustness:
    """Fragile if a threshold turns the recommendation within the band, or one rater does; robust if nothing does.

    Args:
        nearest: the margin of the nearest threshold that turns it, as a share of the threshold; None if none does.
        rater_turns: whether leaving out a rater turns it.
        world_turns: whether any other world does.
        fragile_within: the band.

    """
    if rater_turns or (nearest is not None and reaches(-nearest, -fragile_within)):
        return Robustness.FRAGILE
    return Robustness.CONDITIONAL if nearest is not None or world_turns else Robustness.ROBUST
