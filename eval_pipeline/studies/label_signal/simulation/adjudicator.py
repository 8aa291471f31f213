"""An adjudicator who is simulated: takes medians, and blames the rubric where raters contest what it asks."""

from collections.abc import Collection, Sequence

from eval_pipeline.studies.label_signal.plan import Simulation, Triage
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.seeds import rng_of
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, Queued, capacity, settled


def simulated_adjudications(
    ratings: Ratings,
    track: Track,
    queued: Sequence[Queued],
    contested: Collection[str],
    triage: Triage,
    simulation: Simulation,
    *,
    seed: int,
) -> tuple[Adjudicated, ...]:
    """What the simulated adjudicator makes of the first of the queue, as far as the capacity goes.

    The rubric is blamed where contested dimensions carry the planned share of the weighted spread, and then with the
    planned chance.
    """
    weights = {one.key: float(one.weight) for one in track.rubric.dimensions}
    medians, place_of = (
        settled(ratings, track.rubric, triage),
        {unit: place for place, unit in enumerate(ratings.units)},
    )
    done = []
    for one in queued[: capacity(len(queued), triage.capacity)]:
        weighted = {key: weights[key] * spread for key, spread in one.spreads.items()}
        whole = sum(weighted.values())
        share = sum(spread for key, spread in weighted.items() if key in contested) / whole if whole else 0.0
        blames = rng_of(seed, track.key, "gap", *one.unit).random() < float(simulation.gap_flag_chance)
        gap = share >= simulation.gap_flag_contested_share and blames
        scores = zip(track.rubric.keys, medians[place_of[one.unit]].tolist(), strict=True)
        final = {key: score for key, score in scores if score == score}  # noqa: PLR0124
        done.append(Adjudicated(one.unit, final, bool(gap), "median of the ratings (simulated)"))
    return tuple(done)
