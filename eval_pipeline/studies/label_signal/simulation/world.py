"""How simulated raters come to their scores: an answer's latent quality, seen through each rater's own eyes."""

from dataclasses import dataclass

import numpy as np

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.studies.label_signal.plan import Simulated, Simulation
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Dimension
from eval_pipeline.studies.label_signal.seeds import rng_of
from eval_pipeline.studies.label_signal.simulation.assignment import Task, assignments
from eval_pipeline.studies.label_signal.track import Track

_SPAN = 3.0  # of the scale in which noise, bias and position are told


@dataclass(frozen=True, slots=True)
class World:
    """What is assumed of the raters.

    `contested` are the dimensions on which they hold lasting positions; `drift_per_batch` is by how many levels of a
    scale that spans three their scores rise from one batch to the next.
    """

    pool: tuple[Simulated, ...]
    offsets: tuple[float, ...]
    noise_gain: float
    contested_gain: float
    batches: int
    drift_per_batch: float
    contested: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """All that chance decides in a track's ratings, whatever is assumed of the raters.

    `task`, `rater`, `batch` and `position`, shape (rows,), say who rates what, when, and as the how manieth. `loss`,
    shape (answers,), is what an answer's item costs it, before its system's offset; `loadings` and `own`, shape
    (answers, dimensions), spread it. `seen`, shape (rows, dimensions), is the noise of a rating in standard deviations;
    `luck`, shape (rows, 4), decides duration and codes.
    """

    task: Counts
    rater: Counts
    batch: Counts
    position: Counts
    loss: Reals
    loadings: Reals
    own: Reals
    seen: Reals
    luck: Reals


def world_of(track: Track, simulation: Simulation) -> World:
    """The world that the plan and the track declare.

    Raises: InputRefused: the track says nothing of a simulation, or the plan has no offset for one of its systems.
    """
    if track.about.simulation is None or not track.simulable:
        raise InputRefused(
            f"track {track.key!r} has no answers or no [simulation], so that nothing can stand in for people's ratings;"
            " give a ratings file"
        )
    offsets = track.about.simulation.offsets or simulation.offsets
    if len(offsets) != len(track.about.systems):
        raise InputRefused(
            f"track {track.key!r}, field 'simulation.offsets': found {len(offsets)} (the plan's, where the track says"
            f" none), expected one for each of its {len(track.about.systems)} systems; say them in the track"
        )
    return World(
        pool=simulation.pool,
        offsets=tuple(float(offset) for offset in offsets),
        noise_gain=float(simulation.noise_gain),
        contested_gain=float(simulation.contested_gain),
        batches=simulation.batches,
        drift_per_batch=float(simulation.drift_per_batch),
        contested=frozenset(track.about.simulation.contested),
    )


def chance_of(track: Track, world: World, *, seed: int) -> Chance:
    """The chance of a track under a seed.

    Each answer and each rating has a seed of its own, so that none depends on others, and worlds that differ in what
    they assume share it.

    Raises: InputRefused: raters, replication and batches do not fit; see `assignments`.
    """
    difficulty = {item.item_id: 0.5 if item.difficulty is None else item.difficulty for item in track.items}
    tasks = [Task(one.item_id, one.system_id, difficulty[one.item_id]) for one in track.responses]
    assigned = assignments(tasks, raters=len(world.pool), replication=track.about.replication, batches=world.batches)
    assigned = tuple(sorted(assigned, key=lambda one: (one.task, world.pool[one.rater].id)))
    dimensions = len(track.rubric.dimensions)
    of_answers, of_rows = [], []
    for task in tasks:
        rng = rng_of(seed, track.key, "latent", task.item_id, task.system_id)
        loss = task.difficulty * rng.uniform(0.55, 1.10) + rng.normal(0, 0.62)
        of_answers.append((loss, 0.55 + 0.30 * rng.uniform(size=dimensions), rng.normal(size=dimensions)))
    for one in assigned:
        task = tasks[one.task]
        rng = rng_of(seed, track.key, "rating", task.item_id, task.system_id, world.pool[one.rater].id)
        of_rows.append((rng.normal(size=dimensions), rng.uniform(size=4)))
    return Chance(
        task=np.array([one.task for one in assigned]),
        rater=np.array([one.rater for one in assigned]),
        batch=np.array([one.batch for one in assigned]),
        position=np.array([one.position for one in assigned]),
        loss=np.array([loss for loss, _, _ in of_answers]),
        loadings=np.array([loadings for _, loadings, _ in of_answers]),
        own=np.array([own for _, _, own in of_answers]),
        seen=np.array([seen for seen, _ in of_rows]),
        luck=np.array([luck for _, luck in of_rows]),
    )


def simulated_ratings(track: Track, world: World, *, seed: int) -> Ratings:
    """Ratings of all answers of a track by the pool; see `rated`.

    Raises: InputRefused: as in `chance_of`.
    """
    return rated(track, world, chance_of(track, world, seed=seed))


def rated(track: Track, world: World, chance: Chance) -> Ratings:
    """What the raters of a world give.

    Where an answer's gold score is known, it is its latent quality; elsewhere that is what the difficulty of the item,
    the offset of the system and the penalties of what was planted leave of it. A rater adds noise that grows with
    fatigue, a bias, and on a contested dimension a position; scores are rounded to the nearest level.

    Args:
        track: with answers and a [simulation].
        world: what is assumed.
        chance: of the track, for the raters and batches of this world.

    """
    offset = dict(zip(track.about.systems, world.offsets, strict=True))
    losses = np.maximum(-0.6, chance.loss - np.array([offset[one.system_id] for one in track.responses]))
    latent = _latent(track, chance, losses)
    known = np.array([[key in (one.gold_scores or {}) for key in track.rubric.keys] for one in track.responses])
    scores = np.column_stack(
        [
            _seen(track, world, chance, one, latent[:, place], known[:, place], chance.seen[:, place])
            for place, one in enumerate(track.rubric.dimensions)
        ]
    )
    raters = sorted(range(len(world.pool)), key=lambda place: world.pool[place].id)
    place_of = np.argsort(raters)
    speed = np.array([max(0.2, float(one.speed)) for one in world.pool])[chance.rater]
    seconds = (55 + 14 * len(track.rubric.dimensions)) / speed * (0.75 + 0.55 * chance.luck[:, 0])
    return Ratings(
        units=tuple((one.item_id, one.system_id) for one in track.responses),
        raters=tuple(world.pool[place].id for place in raters),
        dimensions=track.rubric.keys,
        unit=chance.task,
        rater=place_of[chance.rater],
        scores=scores,
        batches=tuple(str(batch) for batch in range(world.batches)),
        batch=chance.batch,
        duration_s=np.round(seconds, 1),
        codes=_named(track, world, chance),
        source="simulated",
        rubric_version=track.rubric.version,
    )


def _latent(track: Track, chance: Chance, losses: Reals) -> Reals:
    """The quality of each answer on each dimension, in levels: off the best one by what item and failure cost."""
    costs = {code.code: code.penalties for code in track.about.failure_codes}
    latent = np.empty(chance.own.shape)
    for place, one in enumerate(track.rubric.dimensions):
        scaled, high = one.span / _SPAN, one.low + one.span
        penalty = np.array([costs.get(each.planted_failure or "", {}).get(one.key, 0) for each in track.responses])
        drop = losses * chance.loadings[:, place] * scaled - 0.22 * scaled * chance.own[:, place]
        if not one.ordered:
            latent[:, place] = [one.low if each.stance is None else each.stance for each in track.responses]
        elif one.better == "lower":
            latent[:, place] = np.clip(one.low + 0.20 + drop - penalty, one.low, high)
        else:
            latent[:, place] = np.clip(high - 0.20 - drop - penalty, one.low, high)
    place_of = {key: place for place, key in enumerate(track.rubric.keys)}
    for row, each in enumerate(track.responses):
        for key, score in (each.gold_scores or {}).items():
            latent[row, place_of[key]] = score
    return latent


def _seen(
    track: Track, world: World, chance: Chance, dimension: Dimension, latent: Reals, known: Counts, draws: Reals
) -> Reals:
    """The level that each rater gives on one dimension."""
    assert track.about.simulation is not None
    noise, scaled = float(track.about.simulation.noise[dimension.key]), dimension.span / _SPAN

    def of_pool(name: str) -> Reals:
        return np.array([float(getattr(one, name)) for one in world.pool])[chance.rater]

    sigma = world.noise_gain * noise * (1.6 - of_pool("competence")) + of_pool("fatigue") * chance.position
    values = latent[chance.task] + draws * np.maximum(0.03, sigma * scaled)
    values += (of_pool("bias") + world.drift_per_batch * chance.batch) * scaled
    if dimension.key in world.contested:
        values += np.where(known[chance.task], 0, of_pool("position")) * noise * world.contested_gain * scaled
    return _nearest(dimension, values)


def _nearest(dimension: Dimension, values: Reals) -> Reals:
    """The levels nearest to values; of two that are as near, the one of the even place."""
    levels = np.array(dimension.levels, dtype=np.float64)
    distances = np.abs(values[:, np.newaxis] - levels)
    place = distances.argmin(axis=1)
    above = np.minimum(place + 1, len(levels) - 1)
    tied = (distances[np.arange(len(values)), above] == distances.min(axis=1)) & (place % 2 == 1)
    return np.asarray(levels[np.where(tied, above, place)])


def _named(track: Track, world: World, chance: Chance) -> tuple[frozenset[str], ...]:
    """The planted failure, which the more competent name the more often, and at times one that is not there."""
    competence = np.array([float(one.competence) for one in world.pool])[chance.rater]
    sees = chance.luck[:, 1] < 0.42 + 0.55 * competence
    errs = chance.luck[:, 2] < 0.10 * (1.4 - competence)
    codes = [code.code for code in track.about.failure_codes]
    named = []
    for row, task in enumerate(chance.task.tolist()):
        planted = track.responses[task].planted_failure
        found = {planted} if planted is not None and sees[row] else set()
        others = [code for code in codes if code != planted] if errs[row] else []
        if others:
            found.add(others[int(chance.luck[row, 3] * len(others))])
        named.append(frozenset(found))
    return tuple(named)
