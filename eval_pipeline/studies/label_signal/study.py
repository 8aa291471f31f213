"""A track from its ratings to what may be said: triage, adjudication, statistics, claims and a recommendation."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from eval_pipeline.studies.label_signal.analysis import Details, Grounds, details_of, grounds_of, positions_of
from eval_pipeline.studies.label_signal.conclusion import Conclusion, conclude
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.simulation.adjudicator import simulated_adjudications
from eval_pipeline.studies.label_signal.simulation.world import Chance, World, rated, simulated_ratings
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, Queued, queue


@dataclass(frozen=True, slots=True)
class Studied:
    """A track with its ratings, and all that came of them."""

    track: Track
    ratings: Ratings
    queue: tuple[Queued, ...]
    adjudicated: tuple[Adjudicated, ...]
    grounds: Grounds
    details: Details
    conclusion: Conclusion


def study(
    track: Track,
    ratings: Ratings,
    adjudicated: tuple[Adjudicated, ...],
    plan: LabelSignalPlan,
    *,
    assumed_contested: Collection[str] | None,
) -> Studied:
    """All that ratings say, and what follows.

    Args:
        track: its rubric, items and answers.
        ratings: before adjudication.
        adjudicated: what an adjudicator settled.
        plan: the whole plan.
        assumed_contested: what a simulation made contested; None, for people's ratings, lets them show it.
    Raises: InputRefused: no dimension with a weight was rated.

    """
    queued = queue(ratings, track.rubric, plan.triage)
    positions = positions_of(track, ratings, plan)
    contested = {one.key for one in positions if one.found} if assumed_contested is None else set(assumed_contested)
    grounds = grounds_of(track, ratings, queued, adjudicated, contested, plan)
    details = details_of(track, ratings, grounds, positions, plan)
    return Studied(track, ratings, queued, adjudicated, grounds, details, conclude(grounds, plan))


def simulated_adjudication(
    track: Track, ratings: Ratings, world: World, plan: LabelSignalPlan
) -> tuple[Adjudicated, ...]:
    """What the simulated adjudicator makes of simulated ratings."""
    queued = queue(ratings, track.rubric, plan.triage)
    return simulated_adjudications(
        ratings, track, queued, world.contested, plan.triage, plan.simulation, seed=plan.seed
    )


def simulated_study(track: Track, world: World, plan: LabelSignalPlan) -> Studied:
    """The study of a track that nobody has rated, in a world of simulated raters.

    Raises: InputRefused: the track cannot be simulated; see `world_of` and `simulated_ratings`.
    """
    ratings = simulated_ratings(track, world, seed=plan.seed)
    adjudicated = simulated_adjudication(track, ratings, world, plan)
    return study(track, ratings, adjudicated, plan, assumed_contested=world.contested)


def grounds_in(track: Track, world: World, chance: Chance, plan: LabelSignalPlan) -> Grounds:
    """What conclusions would rest on in another world, by the same chance."""
    ratings = rated(track, world, chance)
    queued = queue(ratings, track.rubric, plan.triage)
    adjudicated = simulated_adjudication(track, ratings, world, plan)
    return grounds_of(track, ratings, queued, adjudicated, world.contested, plan)


def without_rater(world: World, rater: str, *, batches: int) -> World:
    """The world without one of its raters."""
    return replace(world, pool=tuple(one for one in world.pool if one.id != rater), batches=batches)
