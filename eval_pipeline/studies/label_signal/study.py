"""A track from its ratings to what may be said: triage, adjudication, statistics, claims and a recommendation."""

from collections.abc import Collection
from dataclasses import dataclass

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
    grounds = grounds_for(track, ratings, adjudicated, plan, assumed_contested=assumed_contested)
    return study_on(grounds, track, ratings, adjudicated, plan)


def grounds_for(
    track: Track,
    ratings: Ratings,
    adjudicated: tuple[Adjudicated, ...],
    plan: LabelSignalPlan,
    *,
    assumed_contested: Collection[str] | None,
) -> Grounds:
    """What claims and recommendations rest on.

    Args: as in `study`.
    Raises: InputRefused: as in `study`.
    """
    contested = assumed_contested
    if contested is None:
        contested = {one.key for one in positions_of(track, ratings, plan) if one.found}
    queued = queue(ratings, track.rubric, plan.triage)
    return grounds_of(track, ratings, queued, adjudicated, contested, plan)


def study_on(
    grounds: Grounds, track: Track, ratings: Ratings, adjudicated: tuple[Adjudicated, ...], plan: LabelSignalPlan
) -> Studied:
    """The same on grounds that are there already."""
    details = details_of(track, ratings, grounds, positions_of(track, ratings, plan), plan)
    queued = queue(ratings, track.rubric, plan.triage)
    return Studied(track, ratings, queued, adjudicated, grounds, details, conclude(grounds, plan))


def contested_in(track: Track, ratings: Ratings) -> frozenset[str] | None:
    """What is assumed to be contested: what the track declares for simulated ratings, nothing for people's."""
    if ratings.source != "simulated":
        return None
    return frozenset(track.about.simulation.contested if track.about.simulation else ())


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
