"""Thresholds moved one at a time: where the nearest value lies at which a conclusion turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.conclusion import conclude
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan, Sensitivity

Section = Literal["policy", "decision"]
Value = Fraction | int
Outcome = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number of the plan that decides something, by its section and name."""

    section: Section
    name: str
    default: Value


@dataclass(frozen=True, slots=True)
class Flip:
    """Where a threshold turns a conclusion; `margin` is the distance from the default as a share of it.

    It is None where the default is 0. `turned` says whether the recommendation turns there, or claims alone; `what` is
    the recommendation that it turns to, or how many claims turn.
    """

    threshold: Threshold
    at: float
    margin: float | None
    turned: Literal["recommendation", "claims"]
    what: str


@dataclass(frozen=True, slots=True)
class Swept:
    """A threshold with all of its flips, nearest first, and whether the nearest makes it fragile."""

    threshold: Threshold
    flips: tuple[Flip, ...]
    fragile: bool


def thresholds(plan: LabelSignalPlan, depth: str) -> tuple[Threshold, ...]:
    """The thresholds that the plan names for a sweep, those of checks by the policy of the depth."""
    policy, grid = plan.policy_of(depth), plan.sensitivity
    return tuple(Threshold("policy", name, getattr(policy, name)) for name in grid.policy) + tuple(
        Threshold("decision", name, getattr(plan.decision, name)) for name in grid.decision
    )


def moved(plan: LabelSignalPlan, depth: str, values: Sequence[tuple[Threshold, Value]]) -> LabelSignalPlan:
    """The plan with some thresholds at other values, and all else as it was."""
    name = plan.depths[depth].policy  # type: ignore[index]
    of_policy = {threshold.name: value for threshold, value in values if threshold.section == "policy"}
    of_decision = {threshold.name: value for threshold, value in values if threshold.section == "decision"}
    return plan.model_copy(
        update={
            "policies": plan.policies | {name: plan.policies[name].model_copy(update=of_policy)},
            "decision": plan.decision.model_copy(update=of_decision),
        }
    )


def outcome(grounds: Grounds, plan: LabelSignalPlan) -> Outcome:
    """The recommendation, and the standing of each claim."""
    found = conclude(grounds, plan)
    return found.recommended.recommendation.value, tuple(claim.standing.value for claim in found.claims)


def sweep(grounds: Grounds, plan: LabelSignalPlan) -> tuple[Swept, ...]:
    """Every threshold of the plan, moved by itself over its grid; each change between neighbours is bisected.

    Args:
        grounds: of a track; nothing of them is computed again.
        plan: the thresholds, and the grids.

    """
    found = []
    for threshold in thresholds(plan, grounds.depth):

        def at(value: Value, threshold: Threshold = threshold) -> Outcome:
            return outcome(grounds, moved(plan, grounds.depth, [(threshold, value)]))

        flips = _flips(threshold, at, plan.sensitivity)
        near = min((one.margin for one in flips if one.margin is not None), default=None)
        found.append(Swept(threshold, flips, near is not None and near <= plan.sensitivity.fragile_within))
    return tuple(found)


def grid_of(threshold: Threshold, plan: Sensitivity) -> tuple[Value, ...]:
    """The values at which a threshold is tried, in rising order, its default among them; none below 0."""
    default = threshold.default
    if isinstance(default, int):
        steps = {default + sign * step for step in plan.whole for sign in (-1, 1)}
        return tuple(sorted({default, *(step for step in steps if step >= 1)}))
    shifts = {default * share for share in plan.relative} | set(plan.absolute)
    values = {default + sign * shift for shift in shifts for sign in (-1, 1)}
    most = Fraction(1) if default <= 1 and _is_share(threshold) else None
    return tuple(sorted({default, *(value for value in values if value >= 0 and (most is None or value <= most))}))


def _is_share(threshold: Threshold) -> bool:
    return threshold.name not in ("mde_margin", "replication_at_least", "hold_factor")


def _flips(threshold: Threshold, at: Callable[[Value], Outcome], plan: Sensitivity) -> tuple[Flip, ...]:
    grid = grid_of(threshold, plan)
    seen = {value: at(value) for value in grid}
    base = seen[threshold.default]
    found = []
    for low, high in pairwise(grid):
        if seen[low] != seen[high]:
            # Seen from the default, the nearer side of the change is where the conclusion still holds.
            inner, outer = (low, high) if low >= threshold.default else (high, low)
            turn, beyond = _bisected(inner, outer, seen, at, plan)
            found.append(_flip(threshold, turn, base, beyond))
    return tuple(sorted(found, key=lambda flip: (flip.margin is None, flip.margin or 0.0)))


def _bisected(
    inner: Value, outer: Value, seen: dict[Value, Outcome], at: Callable[[Value], Outcome], plan: Sensitivity
) -> tuple[Value, Outcome]:
    """The value nearest to `inner` at which the outcome is another, and that outcome."""
    held, beyond = seen[inner], seen[outer]
    if isinstance(inner, int) and isinstance(outer, int):
        return outer, beyond
    while abs(Fraction(outer) - inner) > plan.bisected_to:
        middle = Fraction(inner + outer) / 2
        here = at(middle)
        if here == held:
            inner = middle
        else:
            outer, beyond = middle, here
    return outer, beyond


def _flip(threshold: Threshold, at: Value, base: Outcome, beyond: Outcome) -> Flip:
    turned: Literal["recommendation", "claims"] = "recommendation" if beyond[0] != base[0] else "claims"
    changed = sum(one != other for one, other in zip(base[1], beyond[1], strict=True))
    what = beyond[0] if turned == "recommendation" else f"{changed} claim{'' if changed == 1 else 's'}"
    return Flip(threshold, float(at), relative_margin(threshold.default, at), turned, what)


def relative_margin(default: Value, at: Value) -> float | None:
    """How far a flip lies from the default, as a share of it; None for a default of 0."""
    return float(abs(Fraction(at) - default) / default) if default else None
