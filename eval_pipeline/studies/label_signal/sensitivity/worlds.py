"""A track in other worlds: other dimensions contested, more or less noise, one rater fewer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from eval_pipeline.canonical import content_hash
from eval_pipeline.studies.label_signal.analysis import Grounds, grounds_of
from eval_pipeline.studies.label_signal.conclusion import conclude
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.seeds import rng_of
from eval_pipeline.studies.label_signal.simulation.world import Chance, World, chance_of, world_of
from eval_pipeline.studies.label_signal.study import grounds_in
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, queue

Axis = Literal["baseline", "contested", "random_contested", "noise", "contested_gain", "leave_one_out"]
Slot = tuple[str, str]

REFERENCE = "all raters"
CODE = 1  # raised when the same world comes to something else


@dataclass(frozen=True, slots=True)
class Variant:
    """A world by its axis and name."""

    axis: Axis
    name: str
    world: World


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a world comes to: the recommendation and its rule, and the standing of each claim by its subject."""

    axis: Axis
    name: str
    recommendation: str
    rule: str
    standings: Mapping[str, str]


Progress = Callable[[int, int], None]
Known = Callable[[str, Callable[[], Grounds]], Grounds]
"""Gives the grounds that are kept under a key, or computes them and keeps them."""

_OF_GROUNDS = {"seed", "agreement", "scores", "drift", "raters", "triage", "coverage", "simulation"}


def _unsaid(done: int, total: int) -> None:
    """Tells nobody how much is done."""


def slots_of(tracks: Sequence[Track]) -> tuple[Slot, ...]:
    """Every ordered dimension of every track that can be simulated, where positions could be held."""
    return tuple(
        (track.key, one.key)
        for track in tracks
        if track.about.simulation and track.responses
        for one in track.rubric.dimensions
        if one.ordered
    )


def variants(track: Track, tracks: Sequence[Track], plan: LabelSignalPlan) -> tuple[Variant, ...]:
    """The worlds of a track: itself first, then each axis in turn.

    Args:
        track: whose worlds.
        tracks: all of them; a random world has as many contested dimensions over all as are declared.
        plan: the grids, and the pool.

    """
    base, grid = world_of(track, plan.simulation), plan.sensitivity
    found = [Variant("baseline", "as declared", base)]
    for one in grid.contested:
        applies = not one.tracks or track.key in one.tracks
        contested = _contested(track, base, one.contested) if applies else base.contested
        found.append(Variant("contested", one.name, replace(base, contested=contested)))
    slots = slots_of(tracks)
    declared = sum(len(each.about.simulation.contested) for each in tracks if each.about.simulation)
    for number in range(grid.random_worlds):
        drawn = rng_of(plan.seed + number, "contested").choice(
            len(slots), size=min(declared, len(slots)), replace=False
        )
        own = frozenset(slots[place][1] for place in drawn if slots[place][0] == track.key)
        found.append(Variant("random_contested", f"draw {number + 1}", replace(base, contested=own)))
    found += [
        Variant("noise", f"{float(gain):g}", replace(base, noise_gain=float(gain)))
        for gain in grid.noise_gains
        if gain != plan.simulation.noise_gain
    ]
    found += [
        Variant("contested_gain", f"{float(gain):g}", replace(base, contested_gain=float(gain)))
        for gain in grid.contested_gains
        if gain != plan.simulation.contested_gain
    ]
    return tuple(found) + tuple(_leave_one_out(base, grid.leave_one_out_batches))


def _contested(track: Track, base: World, how: Literal["all", "none", "exchanged"]) -> frozenset[str]:
    ordered = [one.key for one in track.rubric.dimensions if one.ordered]
    if how == "none":
        return frozenset()
    if how == "all":
        return frozenset(ordered)
    assert track.about.simulation is not None
    noise = track.about.simulation.noise
    others = sorted((key for key in ordered if key not in base.contested), key=lambda key: (-noise[key], key))
    return frozenset(others[: len(base.contested)])


def _leave_one_out(base: World, batches: int) -> Iterator[Variant]:
    yield Variant("leave_one_out", REFERENCE, replace(base, batches=batches))
    for one in base.pool:
        pool = tuple(other for other in base.pool if other.id != one.id)
        yield Variant("leave_one_out", f"without {one.id}", replace(base, pool=pool, batches=batches))


def outcomes(
    track: Track, tracks: Sequence[Track], plan: LabelSignalPlan, known: Known, *, progress: Progress = _unsaid
) -> tuple[Outcome, ...]:
    """What each world of a track comes to; worlds that are alike, or known, are computed once.

    Args:
        track, tracks, plan: as in `variants`.
        known: where grounds are kept, by the hash of the track, the world and what of the plan they depend on; so a
            threshold that is changed is held against grounds that are there.
        progress: is told how many worlds are done, of how many.

    """
    of = [CODE, track.hash, _plan_of_grounds(plan)]
    chances: dict[tuple[object, int], Chance] = {}

    def computed(world: World) -> Grounds:
        place = (tuple(one.id for one in world.pool), world.batches)
        if place not in chances:
            chances[place] = chance_of(track, world, seed=plan.seed)
        return grounds_in(track, world, chances[place], plan)

    found, worlds = [], variants(track, tracks, plan)
    for done, one in enumerate(worlds, 1):
        key = content_hash([*of, _plain(one.world)])
        kept = known(key, lambda world=one.world: computed(world))  # type: ignore[misc]
        found.append(_outcome(one.axis, one.name, kept, plan))
        progress(done, len(worlds))
    return tuple(found)


def outcomes_of_people(
    track: Track,
    ratings: Ratings,
    adjudicated: Sequence[Adjudicated],
    base: Grounds,
    plan: LabelSignalPlan,
    known: Known,
    *,
    progress: Progress = _unsaid,
) -> tuple[Outcome, ...]:
    """What people's ratings come to with all raters, and without each in turn: the only worlds there are for them."""
    of = [CODE, track.hash, ratings.hash, _plan_of_grounds(plan), [asdict(one) for one in adjudicated]]

    def computed(kept: Ratings) -> Grounds:
        units = set(kept.units)
        resolved = [one for one in adjudicated if one.unit in units]
        queued = queue(kept, track.rubric, plan.triage)
        return grounds_of(track, kept, queued, resolved, base.contested, plan)

    found = [_outcome("baseline", REFERENCE, base, plan)]
    for place, name in enumerate(ratings.raters if len(ratings.raters) > 1 else ()):
        key = content_hash([*of, name])
        kept = known(key, lambda place=place: computed(ratings.where(ratings.rater != place)))  # type: ignore[misc]
        found.append(_outcome("leave_one_out", f"without {name}", kept, plan))
        progress(place + 1, len(ratings.raters))
    return tuple(found)


def _outcome(axis: Axis, name: str, grounds: Grounds, plan: LabelSignalPlan) -> Outcome:
    """What grounds come to under a plan."""
    found = conclude(grounds, plan)
    standings = {f"{claim.kind}: {claim.subject}": claim.standing.value for claim in found.claims}
    return Outcome(axis, name, found.recommended.recommendation.value, found.recommended.rule, standings)


def _plan_of_grounds(plan: LabelSignalPlan) -> dict[str, Any]:
    """What of a plan grounds depend on; the rest decides what they come to."""
    return plan.model_dump(mode="json", include=_OF_GROUNDS)


def _plain(world: World) -> dict[str, Any]:
    return {
        "pool": [one.model_dump(mode="json") for one in world.pool],
        "offsets": list(world.offsets),
        "noise_gain": world.noise_gain,
        "contested_gain": world.contested_gain if world.contested else None,  # without any, it changes nothing
        "batches": world.batches,
        "drift_per_batch": world.drift_per_batch,
        "contested": sorted(world.contested),
    }
