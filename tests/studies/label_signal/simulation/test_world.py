"""Each term of a simulated rating seen by itself, on scales so fine that rounding hides none of it.

The worlds here are still: no noise, no bias, nothing contested, and each test moves one thing.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan, Simulated
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Dimension, Rubric
from eval_pipeline.studies.label_signal.simulation.world import (
    Chance,
    World,
    chance_of,
    rated,
    simulated_ratings,
    world_of,
)
from eval_pipeline.studies.label_signal.study import simulated_study
from eval_pipeline.studies.label_signal.track import About, FailureCode, Item, Response, SimulatedRating, Track

HUNDREDTHS = tuple(place / 100 for place in range(301))  # from 0 to 3, as the world's numbers are meant
TWICE = tuple(place / 50 for place in range(301))  # from 0 to 6: everything told in levels of three is doubled
approx = pytest.approx


def dimension(key: str = "fine", *, levels: Sequence[float] = HUNDREDTHS, **other: Any) -> Dimension:
    return Dimension(key=key, name=key, question="How good?", **{"scale": "ordinal", "levels": tuple(levels)} | other)


def track_of(
    *responses: Mapping[str, Any],
    dimensions: Sequence[Dimension] = (dimension(),),
    noise: Fraction = Fraction(0),
    penalties: Mapping[str, int] | None = None,
) -> Track:
    """A track of one item and the answers of systems s0, s1, ...; code F costs its penalties, and G costs nothing."""
    answers = responses or ({},)
    about = About(
        key="still",
        title="Still",
        depth="production",
        question="?",
        systems=tuple(f"s{place}" for place in range(len(answers))),
        reference="s0",
        target_items=1,
        replication=1,
        gold_rate=Fraction(0),
        known_limitations=(),
        failure_codes=(
            FailureCode(code="F", name="F", description="F", penalties=dict(penalties or {})),
            FailureCode(code="G", name="G", description="G"),
        ),
        simulation=SimulatedRating(noise={one.key: noise for one in dimensions}, contested=()),
    )
    rubric = Rubric(key="still", name="Still", revision=1, dimensions=tuple(dimensions))
    items = (Item(item_id="q", difficulty=0.5),)
    return Track(
        about,
        rubric,
        items,
        tuple(Response(item_id="q", system_id=f"s{place}", text="", **answer) for place, answer in enumerate(answers)),
    )


def rater(**traits: str) -> Simulated:
    """A rater without any trait but those."""
    plain = {"competence": "1", "bias": "0", "position": "0", "speed": "1", "fatigue": "0"} | traits
    return Simulated(id="a", **{name: Fraction(value) for name, value in plain.items()})


def still(*pool: Simulated, offsets: Sequence[float] = (0.0,), **changes: Any) -> World:
    """A world in which nothing happens but what is named."""
    world = World(
        pool=pool or (rater(),),
        offsets=tuple(offsets),
        noise_gain=0.0,
        contested_gain=0.0,
        batches=5,
        drift_per_batch=0.0,
        contested=frozenset(),
    )
    return replace(world, **changes)


def chance(track: Track, **changes: Any) -> Chance:
    """The first rater rates each answer, in batch 0 and without tiring; nothing is lost, and all luck is middling."""
    answers, dimensions = len(track.responses), len(track.rubric.dimensions)
    nothing = np.zeros(answers, dtype=np.int64)
    plain = Chance(
        task=np.arange(answers),
        rater=nothing,
        batch=nothing,
        position=nothing,
        loss=np.zeros(answers),
        loadings=np.full((answers, dimensions), 0.7),
        own=np.zeros((answers, dimensions)),
        seen=np.zeros((answers, dimensions)),
        luck=np.full((answers, 4), 0.99),
    )
    return replace(plain, **{name: np.asarray(value) for name, value in changes.items()})


def score(track: Track, world: World, given: Chance | None = None) -> float:
    """What the only rating of the only answer says on the only dimension."""
    ((found,),) = rated(track, world, given or chance(track)).scores.tolist()
    return float(found)


# What the answer is worth


def test_an_answer_that_loses_nothing_lies_a_fifth_of_a_level_under_the_best() -> None:
    assert score(track_of(), still()) == approx(2.80)


def test_a_loss_counts_by_the_loading_of_the_dimension() -> None:
    """3 - .20 - .5 * .7 = 2.45."""
    track = track_of()
    assert score(track, still(), chance(track, loss=[0.5])) == approx(2.45)


@pytest.mark.parametrize(("offset", "expected"), [(-0.42, 2.16), (-0.05, 2.42), (0.30, 2.66)])
def test_the_offset_of_a_system_is_what_its_answers_are_better_by(offset: float, expected: float) -> None:
    """3 - .20 - (.5 + .42) * .7 = 2.156; with -.05 2.415, to the even hundredth; with .30 2.66."""
    track = track_of()
    found = score(track, still(offsets=(offset,)), chance(track, loss=[0.5]))
    assert found == approx(expected, abs=0.0051)
    assert found == approx(2.80 - (0.5 - offset) * 0.7, abs=0.0051)


def test_offsets_belong_to_the_systems_in_the_order_of_the_track() -> None:
    track = track_of({}, {}, {})
    ratings = rated(track, still(offsets=(-0.4, -0.2, 0.0)), chance(track, loss=[0.4] * 3))
    # 2.80 - .7 * .8, .7 * .6 and .7 * .4
    assert ratings.scores[:, 0].tolist() == approx([2.24, 2.38, 2.52])


def test_an_easy_answer_gains_six_tenths_at_the_most() -> None:
    """Of a loss of -2 only -.6 counts: 3 - .20 + .6 * .7 - 1 = 2.22; with all of it the answer would have a 3."""
    track = track_of({"planted_failure": "F"}, penalties={"fine": 1})
    assert score(track, still(), chance(track, loss=[-2.0])) == approx(2.22)


def test_each_dimension_has_a_part_of_its_own() -> None:
    """.22 levels a standard deviation: 2.80 + .22 and 2.80 - .44."""
    track = track_of(dimensions=[dimension("x"), dimension("y")])
    ((x, y),) = rated(track, still(), chance(track, own=[[0.5, -2.0]])).scores.tolist()
    assert (x, y) == approx((2.91, 2.36))


def test_a_planted_failure_costs_its_penalties_and_only_on_their_dimensions() -> None:
    track = track_of({"planted_failure": "F"}, dimensions=[dimension("x"), dimension("y")], penalties={"x": 2})
    ((x, y),) = rated(track, still(), chance(track)).scores.tolist()
    assert (x, y) == approx((0.80, 2.80))


def test_a_failure_without_penalties_costs_nothing() -> None:
    assert score(track_of({"planted_failure": "G"}, penalties={"fine": 2}), still()) == approx(2.80)


def test_the_worth_of_an_answer_stays_on_the_scale_before_anyone_sees_it() -> None:
    """A loss of 10 leaves 0 and not -4.2, so that a bias of .5 shows as .5."""
    track = track_of()
    assert score(track, still(rater(bias="0.5")), chance(track, loss=[10.0])) == approx(0.5)


def test_where_lower_is_better_everything_is_mirrored() -> None:
    """0 + .20 + .5 * .7 + 1 - .22 * .5 = 1.44, with a penalty of -1 that raises the cost."""
    track = track_of({"planted_failure": "F"}, dimensions=[dimension("cost", better="lower")], penalties={"cost": -1})
    assert score(track, still()) == approx(1.20)
    assert score(track, still(), chance(track, loss=[0.5], own=[[0.5]])) == approx(1.44)


@pytest.mark.parametrize(("own", "dimensions"), [(0.5, [dimension("twice", levels=TWICE)])])
def test_on_a_scale_of_twice_the_span_losses_and_parts_are_doubled(own: float, dimensions: list[Dimension]) -> None:
    """6 - .20 - .5 * .7 * 2 + .22 * .5 * 2 = 5.32."""
    track = track_of(dimensions=dimensions)
    assert score(track, still(), chance(track, loss=[0.5], own=[[own]])) == approx(5.32)


def test_levels_without_an_order_are_those_that_the_answer_takes() -> None:
    stance = dimension("stance", levels=(0, 1, 2, 3), scale="nominal", weight=Fraction(0))
    track = track_of({"stance": 2}, {"stance": None}, dimensions=[stance])
    ratings = rated(track, still(offsets=(0.0, 0.0)), chance(track, loss=[1.0, 1.0]))
    assert ratings.scores[:, 0].tolist() == [2, 0]


def test_known_scores_are_the_worth_of_an_answer_whatever_it_lost() -> None:
    track = track_of(
        {"planted_failure": "F", "gold_scores": {"x": 1.5, "y": 3.0}},
        dimensions=[dimension("x"), dimension("y")],
        penalties={"x": 2},
    )
    ((x, y),) = rated(track, still(), chance(track, loss=[1.0])).scores.tolist()
    assert (x, y) == approx((1.5, 3.0))


def test_an_answer_whose_score_is_known_on_one_dimension_has_it_on_that_alone() -> None:
    track = track_of({"gold_scores": {"x": 1.5}}, dimensions=[dimension("x"), dimension("y")], noise=Fraction(1, 2))
    world = still(rater(position="1"), contested=frozenset({"x", "y"}), contested_gain=0.2)
    ((x, y),) = rated(track, world, chance(track, loss=[1.0])).scores.tolist()
    assert (x, y) == approx((1.5, 2.10 + 0.1))  # 3 - .20 - .7, and a position of 1 * .5 * .2


# How a rater sees it


def test_a_bias_is_added_in_levels_of_three() -> None:
    track = track_of()
    lost = chance(track, loss=[1.0])  # 2.10
    assert score(track, still(rater(bias="0.42")), lost) == approx(2.52)
    assert score(track, still(rater(bias="-0.31")), lost) == approx(1.79)
    wide = track_of(dimensions=[dimension("twice", levels=TWICE)])
    assert score(wide, still(rater(bias="0.42")), chance(wide, loss=[1.0])) == approx(6 - 0.2 - 1.4 + 0.84)


def test_noise_is_the_larger_the_less_competent_the_rater_is() -> None:
    """Gain .7, noise .4: .28 * (1.6 - .9) = .196 a standard deviation, and .28 * (1.6 - .4) = .336."""
    track = track_of(noise=Fraction(2, 5))
    one_up = chance(track, loss=[1.0], seen=[[1.0]])
    assert score(track, still(rater(competence="0.9"), noise_gain=0.7), one_up) == approx(2.30, abs=0.0051)
    assert score(track, still(rater(competence="0.4"), noise_gain=0.7), one_up) == approx(2.44, abs=0.0051)
    two_down = replace(one_up, seen=np.array([[-2.0]]))
    assert score(track, still(rater(competence="0.9"), noise_gain=0.7), two_down) == approx(2.10 - 0.392, abs=0.0051)


def test_noise_is_doubled_on_a_scale_of_twice_the_span() -> None:
    track = track_of(dimensions=[dimension("twice", levels=TWICE)], noise=Fraction(1, 2))
    world = still(rater(competence="0.6"), noise_gain=0.5)  # .5 * .5 * 1.0 * 2 = .5
    assert score(track, world, chance(track, loss=[1.0], seen=[[1.0]])) == approx(6 - 0.2 - 1.4 + 0.5)


def test_nobody_is_without_noise() -> None:
    """At least .03 a standard deviation: ten of them are .3."""
    track = track_of()
    assert score(track, still(), chance(track, loss=[1.0], seen=[[10.0]])) == approx(2.40)


def test_fatigue_adds_to_the_noise_with_each_rating_that_went_before() -> None:
    """.01 a rating, twenty before: .20 on top of .5 * .2 * .6 = .06."""
    track = track_of(noise=Fraction(1, 5))
    world = still(rater(fatigue="0.01"), noise_gain=0.5)
    fresh, tired = (chance(track, loss=[1.0], seen=[[1.0]], position=[place]) for place in (0, 20))
    assert score(track, world, fresh) == approx(2.16)
    assert score(track, world, tired) == approx(2.36)
    # It is no bias: without noise to scale, nothing moves.
    assert score(track, world, replace(tired, seen=np.zeros((1, 1)))) == approx(2.10)


@pytest.mark.parametrize(("key", "expected"), [("x", 2.10 + 0.416), ("y", 2.10)])
def test_a_position_shows_on_contested_dimensions_only(key: str, expected: float) -> None:
    """.8 * .2 * 2.6 = .416 on x, which is contested; nothing on y."""
    track = track_of(dimensions=[dimension("x"), dimension("y")], noise=Fraction(1, 5))
    world = still(rater(position="0.8"), contested=frozenset({"x"}), contested_gain=2.6)
    ratings = rated(track, world, chance(track, loss=[1.0]))
    assert ratings.scores[0, track.rubric.keys.index(key)] == approx(expected, abs=0.0051)


def test_a_position_does_not_show_where_the_right_scores_are_known_and_a_bias_does() -> None:
    track = track_of({"gold_scores": {"fine": 1.5}}, {}, noise=Fraction(1, 5))
    world = still(rater(position="0.8", bias="0.1"), offsets=(0, 0), contested=frozenset({"fine"}), contested_gain=2.6)
    gold, other = rated(track, world, chance(track, loss=[1.0, 1.0])).scores[:, 0].tolist()
    assert gold == approx(1.6)
    assert other == approx(2.10 + 0.1 + 0.416, abs=0.0051)


def test_a_position_is_doubled_on_a_scale_of_twice_the_span() -> None:
    track = track_of(dimensions=[dimension("twice", levels=TWICE)], noise=Fraction(1, 5))
    world = still(rater(position="-0.5"), contested=frozenset({"twice"}), contested_gain=2.0)
    assert score(track, world, chance(track, loss=[1.0])) == approx(6 - 0.2 - 1.4 - 0.4)


def test_planted_drift_raises_scores_from_batch_to_batch() -> None:
    track = track_of()
    world = still(drift_per_batch=0.1)
    found = [score(track, world, chance(track, loss=[1.0], batch=[batch])) for batch in (0, 1, 4)]
    assert found == approx([2.10, 2.20, 2.50])


@pytest.mark.parametrize(
    ("levels", "gold", "bias", "expected"),
    [
        ((0, 1, 2, 3), 0, "0.5", 0),
        ((0, 1, 2, 3), 1, "0.5", 2),
        ((0, 1, 2, 3), 2, "0.5", 2),
        ((0, 1, 2, 3), 1, "0.49", 1),
        ((0, 1, 2, 3), 1, "-0.51", 0),
        ((0, 1, 2, 3), 3, "2", 3),
        ((0, 1, 2, 3), 0, "-2", 0),
        ((1, 2, 3, 4), 1, "0.5", 1),  # 1 stands in the even place of this scale
        ((1, 2, 3, 4), 2, "0.5", 3),
        ((0, 1, 3), 1, "1", 3),  # of 1 and 3, both a whole level away, 3 stands in place 2
        ((0, 1, 3), 1, "0.99", 1),
    ],
)
def test_a_rating_is_the_nearest_level_and_of_two_the_one_of_the_even_place(
    levels: tuple[int, ...], gold: int, bias: str, expected: int
) -> None:
    whole = track_of({"gold_scores": {"fine": gold}}, dimensions=[dimension(levels=levels)])
    per_level = Fraction(levels[-1] - levels[0], 3)
    assert score(whole, still(rater(bias=str(Fraction(bias) / per_level)))) == expected


@pytest.mark.parametrize(
    ("speed", "luck", "seconds"), [("1", 0, 62.2), ("1", 1, 107.9), ("4", 0, 15.6), ("1/10", 0, 311.2)]
)
def test_a_rating_takes_as_long_as_its_dimensions_and_the_rater_are_slow(speed: str, luck: int, seconds: float) -> None:
    """(55 + 14 * 2) / speed, of which .75 to 1.30; nobody is slower than a fifth: 83 * .75 = 62.25."""
    track = track_of(dimensions=[dimension("x"), dimension("y")])
    ratings = rated(track, still(rater(speed=speed)), chance(track, luck=[[luck, 1, 1, 1]]))
    assert ratings.duration_s.tolist() == approx([seconds])


@pytest.mark.parametrize(
    ("sees", "errs", "which", "named"),
    [
        (0.859, 0.99, 0.0, {"F"}),  # .42 + .55 * .8 = .86
        (0.861, 0.99, 0.0, set()),
        (0.99, 0.059, 0.0, {"G"}),  # .10 * (1.4 - .8) = .06
        (0.99, 0.061, 0.0, set()),
        (0.10, 0.01, 0.9, {"F", "G"}),
    ],
)
def test_a_planted_failure_is_named_by_the_competent_and_at_times_another_is(
    sees: float, errs: float, which: float, named: set[str]
) -> None:
    track = track_of({"planted_failure": "F"})
    ratings = rated(track, still(rater(competence="0.8")), chance(track, luck=[[0, sees, errs, which]]))
    assert ratings.codes == (frozenset(named),)


def test_on_a_clean_answer_any_code_may_be_named_by_mistake() -> None:
    track = track_of({}, {}, {})
    luck = [[0, 0.1, 0.01, 0.2], [0, 0.1, 0.01, 0.7], [0, 0.1, 0.9, 0.7]]
    ratings = rated(track, still(rater(competence="0.8"), offsets=(0, 0, 0)), chance(track, luck=luck))
    assert ratings.codes == (frozenset("F"), frozenset("G"), frozenset())


# What chance decides


def many(items: int, *, difficulty: float | None, system: str = "s0", first: int = 0) -> Track:
    """A track of so many items of one difficulty, with one answer to each that two raters rate."""
    one = track_of(dimensions=[dimension("x"), dimension("y")], noise=Fraction(1, 5))
    names = [f"q{place:03}" for place in range(first, first + items)]
    return replace(
        one,
        about=one.about.model_copy(update={"replication": 2}),
        items=tuple(Item(item_id=name, difficulty=difficulty) for name in names),
        responses=tuple(Response(item_id=name, system_id=system, text="") for name in names),
    )


def pool_of(size: int) -> tuple[Simulated, ...]:
    return tuple(
        Simulated(
            id=f"r{place}",
            competence=Fraction(4, 5),
            bias=Fraction(place, 10),
            position=Fraction(0),
            speed=Fraction(1),
            fatigue=Fraction(1, 100),
        )
        for place in range(size)
    )


def test_losses_and_noise_have_the_distributions_of_the_model() -> None:
    """Difficulty 0 loses N(0, .62) alone; loadings are uniform from .55 to .85; everything else is standard normal."""
    track, world = many(300, difficulty=0.0), still(*pool_of(2))
    drawn = chance_of(track, world, seed=11)
    assert kstest(drawn.loss, "norm", args=(0, 0.62)).pvalue > 0.01
    assert float(drawn.loss.std()) == approx(0.62, abs=3 * 0.62 / 600**0.5)  # its standard error
    assert kstest(drawn.loadings.ravel(), "uniform", args=(0.55, 0.30)).pvalue > 0.01
    assert kstest(drawn.own.ravel(), "norm").pvalue > 0.01
    assert kstest(drawn.seen.ravel(), "norm").pvalue > 0.01
    assert kstest(drawn.luck.ravel(), "uniform").pvalue > 0.01
    assert abs(float(np.corrcoef(drawn.own[:, 0], drawn.own[:, 1]).ravel()[1])) < 0.2


def test_a_difficult_item_loses_a_share_of_its_difficulty_and_one_without_is_of_the_middle() -> None:
    """By .55 to 1.10 of it; the same chance, so that two tracks differ by that alone."""
    world = still(*pool_of(2))
    easy, middle, unknown, hard = (
        chance_of(many(300, difficulty=difficulty), world, seed=11).loss for difficulty in (0.0, 0.5, None, 1.0)
    )
    assert kstest(hard - easy, "uniform", args=(0.55, 0.55)).pvalue > 0.01
    assert middle - easy == approx((hard - easy) / 2)
    assert unknown.tolist() == middle.tolist()


def scored(ratings: Ratings) -> dict[tuple[str, str, str], list[float]]:
    """The scores of each rating by item, system and rater."""
    return {
        (*ratings.units[ratings.unit[row]], ratings.raters[ratings.rater[row]]): ratings.scores[row].tolist()
        for row in range(len(ratings))
    }


def test_an_item_more_changes_no_other_rating() -> None:
    world = replace(still(*pool_of(4)), batches=3, noise_gain=0.7)
    before, after = (scored(simulated_ratings(many(items, difficulty=0.4), world, seed=3)) for items in (20, 21))
    assert set(after) - set(before) == {key for key in after if key[0] == "q020"}
    assert {key: after[key] for key in before} == before


def test_an_item_more_before_all_others_moves_raters_on_and_no_chance() -> None:
    """Other raters rate an answer then; what it is worth, and how those who rate it still see it, stays."""
    world = replace(still(*pool_of(4)), batches=3)
    late, early = many(20, difficulty=0.4, first=1), many(21, difficulty=0.4)
    of_late, of_early = chance_of(late, world, seed=3), chance_of(early, world, seed=3)
    assert of_early.loss[1:].tolist() == of_late.loss.tolist()
    assert of_early.own[1:].tolist() == of_late.own.tolist()
    seen = [
        {
            (track.responses[task].item_id, place): drawn.seen[row].tolist()
            for row, (task, place) in enumerate(zip(drawn.task.tolist(), drawn.rater.tolist(), strict=True))
        }
        for track, drawn in ((late, of_late), (early, of_early))
    ]
    both = set(seen[0]) & set(seen[1])
    assert both
    assert all(seen[0][key] == seen[1][key] for key in both)


def test_worlds_that_assume_something_else_share_their_chance_and_seeds_do_not() -> None:
    track, world = many(12, difficulty=0.4), still(*pool_of(4))
    other = replace(world, noise_gain=1.4, contested=frozenset({"x"}), contested_gain=3.0, offsets=(-0.4,))
    one, two, third = chance_of(track, world, seed=3), chance_of(track, other, seed=3), chance_of(track, world, seed=4)
    for name in ("task", "rater", "batch", "position", "loss", "loadings", "own", "seen", "luck"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist()
    for name in ("loss", "loadings", "own", "seen", "luck"):
        assert not np.isclose(getattr(one, name), getattr(third, name)).any()


def test_raters_stand_in_the_order_of_their_names_whatever_their_order_in_the_pool() -> None:
    track, pool = many(12, difficulty=0.4), pool_of(4)
    backwards = simulated_ratings(track, still(*reversed(pool)), seed=3)
    assert backwards.raters == ("r0", "r1", "r2", "r3")
    # The bias of each is its own: .1 for each place, on answers that all lose alike.
    calm = chance(track, loss=[1.0] * 12, rater=np.arange(12) % 4)
    ratings = rated(track, still(*reversed(pool)), calm)
    means = [float(ratings.scores[ratings.rater == place].mean()) for place in range(4)]
    assert means == approx([2.1, 2.2, 2.3, 2.4])


_HASH = """
import sys
from eval_pipeline.bundled import bundled
from eval_pipeline.plan import read_plan
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.simulation.world import simulated_ratings, world_of
from eval_pipeline.studies.label_signal.track import read_track

plan = read_plan(bundled("plans/label-signal.toml"), LabelSignalPlan)
for name in sys.argv[1:]:
    track = read_track(bundled("tracks") / name)
    print(simulated_ratings(track, world_of(track, plan.simulation), seed=plan.seed).hash)
"""


def test_ratings_are_the_same_in_every_process(tracks: dict[str, Track], shipped: LabelSignalPlan) -> None:
    """Two processes of their own, in which sets and dictionaries of texts have other orders, and this one."""
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", _HASH, *tracks],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("0", "4242")
    ]
    said = [process.communicate(timeout=60)[0].split() for process in begun]
    here = [
        simulated_ratings(track, world_of(track, shipped.simulation), seed=shipped.seed).hash
        for track in tracks.values()
    ]
    assert said == [here, here]


# That nobody takes them for people


def test_simulated_ratings_say_so_wherever_they_go(tracks: dict[str, Track], shipped: LabelSignalPlan) -> None:
    track = tracks["refusal"]
    ratings = simulated_ratings(track, world_of(track, shipped.simulation), seed=1)
    assert ratings.source == "simulated"
    assert {row["source"] for row in ratings.rows()} == {"simulated"}
    assert Ratings.from_table(ratings.to_table()).source == "simulated"
    assert ratings.where(ratings.rater != 0).source == "simulated"
    assert ratings.rubric_version == track.rubric.version


def test_a_study_of_simulated_ratings_is_labelled_simulated(small: Track, shipped: LabelSignalPlan) -> None:
    world = replace(world_of(small, shipped.simulation.model_copy(update={"offsets": (Fraction(0),) * 2})))
    studied = simulated_study(small, world, shipped)
    assert studied.grounds.simulated
    assert studied.ratings.source == "simulated"


def test_the_declared_world_is_that_of_plan_and_track(tracks: dict[str, Track], shipped: LabelSignalPlan) -> None:
    world = world_of(tracks["refusal"], shipped.simulation)
    assert world.contested == {"calibration", "over_refusal_cost", "tone_respect"}
    assert (world.noise_gain, world.contested_gain, world.batches, world.drift_per_batch) == (0.70, 2.60, 5, 0)
    assert world.offsets == (-0.42, -0.05, 0)
    assert [one.id for one in world.pool] == [one.id for one in shipped.simulation.pool]


@pytest.mark.parametrize("missing", ["simulation", "responses"])
def test_a_track_that_says_nothing_of_a_simulation_or_has_no_answers_cannot_be_simulated(
    small: Track, shipped: LabelSignalPlan, missing: str
) -> None:
    bare = (
        replace(small, responses=())
        if missing == "responses"
        else replace(small, about=small.about.model_copy(update={"simulation": None}))
    )
    sentence = (
        "track 'small' has no answers or no [simulation], so that nothing can stand in for people's ratings; give a"
        " ratings file"
    )
    with pytest.raises(InputRefused, match=re.escape(sentence)):
        world_of(bare, shipped.simulation)


def test_each_system_needs_an_offset(small: Track, shipped: LabelSignalPlan) -> None:
    sentence = (
        "track 'small', field 'simulation.offsets': found 3 (the plan's, where the track says none), expected one for"
        " each of its 2 systems; say them in the track"
    )
    with pytest.raises(InputRefused, match=re.escape(sentence)):
        world_of(small, shipped.simulation)


def test_a_track_that_says_its_offsets_has_them_and_not_those_of_the_plan(
    small: Track, shipped: LabelSignalPlan
) -> None:
    simulation = small.about.simulation
    assert simulation
    own = simulation.model_copy(update={"offsets": (Fraction(-1), Fraction(1, 4))})
    track = replace(small, about=small.about.model_copy(update={"simulation": own}))
    assert world_of(track, shipped.simulation).offsets == (-1, 0.25)
