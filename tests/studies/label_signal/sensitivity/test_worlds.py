"""The other worlds of a track: which there are, that each is computed once, and what decides that it must be again."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.document import plain_value
from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.label_signal.analysis import Grounds, grounds_of
from eval_pipeline.studies.label_signal.conclusion import conclude
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.sensitivity import worlds as module
from eval_pipeline.studies.label_signal.sensitivity.kept import kept_in, kept_in_memory
from eval_pipeline.studies.label_signal.sensitivity.worlds import (
    REFERENCE,
    Known,
    Outcome,
    Variant,
    outcomes,
    outcomes_of_people,
    slots_of,
    variants,
)
from eval_pipeline.studies.label_signal.simulation.world import World, chance_of, rated
from eval_pipeline.studies.label_signal.study import grounds_in
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, queue
from tests.studies.label_signal.conftest import ratings_of
from tests.studies.label_signal.sensitivity import made_up
from tests.studies.label_signal.sensitivity.made_up import with_sensitivity

AXES = ["baseline", "contested", "random_contested", "noise", "contested_gain", "leave_one_out"]
CANNED = made_up.grounds()


@pytest.fixture(scope="module")
def all_variants(tracks: dict[str, Track], shipped: LabelSignalPlan) -> dict[str, tuple[Variant, ...]]:
    """The worlds of the bundled tracks."""
    return {key: variants(track, tuple(tracks.values()), shipped) for key, track in tracks.items()}


def of_axis(found: Sequence[Variant], axis: str) -> dict[str, World]:
    """The worlds of an axis by their names."""
    return {one.name: one.world for one in found if one.axis == axis}


# Which worlds there are


def test_four_tracks_are_run_196_times(all_variants: dict[str, tuple[Variant, ...]]) -> None:
    """4 as declared, 5 named and 20 random sets of contested dimensions each, 8 + 8 gains, 6 raters less and all."""
    counts = Counter(one.axis for found in all_variants.values() for one in found)
    assert counts["contested"] + counts["random_contested"] == 100
    assert counts == {
        "baseline": 4,
        "contested": 20,
        "random_contested": 80,
        "noise": 32,
        "contested_gain": 32,
        "leave_one_out": 28,
    }
    assert counts.total() == 196


def test_the_outcomes_are_those_of_the_worlds_in_their_order(
    tracks: dict[str, Track], shipped: LabelSignalPlan, all_variants: dict[str, tuple[Variant, ...]]
) -> None:
    found = outcomes(tracks["refusal"], tuple(tracks.values()), shipped, lambda key, compute: CANNED)
    assert [(one.axis, one.name) for one in found] == [(one.axis, one.name) for one in all_variants["refusal"]]
    assert list(dict.fromkeys(one.axis for one in found)) == AXES


def test_no_two_worlds_of_an_axis_have_one_name(all_variants: dict[str, tuple[Variant, ...]]) -> None:
    for found in all_variants.values():
        assert len({(one.axis, one.name) for one in found}) == len(found) == 49


CHANGED = {
    "baseline": set(),
    "contested": {"contested"},
    "random_contested": {"contested"},
    "noise": {"noise_gain"},
    "contested_gain": {"contested_gain"},
    "leave_one_out": {"pool", "batches"},
}


@pytest.mark.parametrize("axis", AXES)
def test_a_world_differs_from_the_declared_one_on_its_axis_alone(
    all_variants: dict[str, tuple[Variant, ...]], axis: str
) -> None:
    for found in all_variants.values():
        base = found[0].world
        for world in of_axis(found, axis).values():
            differ = {name for name in World.__slots__ if getattr(world, name) != getattr(base, name)}
            assert differ <= CHANGED[axis]


def test_gains_are_those_of_the_plan_but_for_the_declared_one(all_variants: dict[str, tuple[Variant, ...]]) -> None:
    noise = of_axis(all_variants["agentic"], "noise")
    assert [world.noise_gain for world in noise.values()] == [0.35, 0.49, 0.56, 0.63, 0.77, 0.84, 0.91, 1.40]
    assert list(noise) == ["0.35", "0.49", "0.56", "0.63", "0.77", "0.84", "0.91", "1.4"]
    gains = of_axis(all_variants["agentic"], "contested_gain")
    assert [world.contested_gain for world in gains.values()] == [1.30, 1.82, 2.08, 2.34, 2.86, 3.12, 3.38, 3.90]


def test_all_none_and_a_track_by_itself_are_contested_as_the_plan_says(
    all_variants: dict[str, tuple[Variant, ...]],
) -> None:
    """A stance has no order, so that nobody can be lenient on it; what is of one track leaves others as they are."""
    refusal, agentic = (of_axis(all_variants[key], "contested") for key in ("refusal", "agentic"))
    ordered = {"calibration", "over_refusal_cost", "explanation_quality", "tone_respect"}
    assert refusal["all contested"].contested == ordered
    assert refusal["none contested"].contested == refusal["refusal none"].contested == set()
    assert refusal["agentic all"].contested == ordered - {"explanation_quality"}
    assert agentic["refusal none"].contested == set()
    assert len(agentic["agentic all"].contested) == 6


def test_an_exchange_contests_as_many_other_dimensions_the_noisiest_first(
    all_variants: dict[str, tuple[Variant, ...]],
) -> None:
    """Of refusal's three contested dimensions only one of four can be exchanged for; agentic has none to exchange."""
    exchanged = {key: of_axis(found, "contested")["a reviewer's exchange"] for key, found in all_variants.items()}
    assert exchanged["grounding"].contested == {"completeness"}  # .58, before .48, .40 and .26
    assert exchanged["reasoning"].contested == {"verification_behavior"}
    assert exchanged["refusal"].contested == {"explanation_quality"}
    assert exchanged["agentic"].contested == set()


def test_each_random_world_contests_five_of_the_twenty_slots_over_all_tracks(
    tracks: dict[str, Track], all_variants: dict[str, tuple[Variant, ...]]
) -> None:
    """21 dimensions less the one without an order."""
    slots = slots_of(tuple(tracks.values()))
    assert len(slots) == 20
    assert ("refusal", "response_stance") not in slots
    draws = {key: of_axis(found, "random_contested") for key, found in all_variants.items()}
    whole = [
        frozenset((key, one) for key in tracks for one in draws[key][f"draw {number}"].contested)
        for number in range(1, 21)
    ]
    assert {len(own) for own in whole} == {5}
    assert all(own <= set(slots) for own in whole)
    assert len(set(whole)) == 20
    # Any slot is as likely as another: over 100 of them no slot is left out, and none comes up in most draws.
    often = Counter(slot for own in whole for slot in own)
    assert set(often) == set(slots)
    assert max(often.values()) <= 12


def test_random_worlds_change_with_the_seed(tracks: dict[str, Track], shipped: LabelSignalPlan) -> None:
    every = tuple(tracks.values())
    one, two = (
        of_axis(variants(every[0], every, shipped.model_copy(update={"seed": seed})), "random_contested")
        for seed in (shipped.seed, shipped.seed + 100)
    )
    assert [world.contested for world in one.values()] != [world.contested for world in two.values()]


def test_each_rater_is_left_out_once_and_held_against_all_in_as_many_batches(
    all_variants: dict[str, tuple[Variant, ...]], shipped: LabelSignalPlan
) -> None:
    """Seven, since five raters in five batches would not all meet them."""
    names = [one.id for one in shipped.simulation.pool]
    found = of_axis(all_variants["agentic"], "leave_one_out")
    assert list(found) == [REFERENCE, *(f"without {name}" for name in names)]
    assert {world.batches for world in found.values()} == {7}
    assert [one.id for one in found[REFERENCE].pool] == names
    for name in names:
        assert [one.id for one in found[f"without {name}"].pool] == [other for other in names if other != name]


# That each is computed once


@pytest.fixture(scope="module")
def brief(shipped: LabelSignalPlan) -> LabelSignalPlan:
    """A plan of few worlds, two systems and few resamples: what is kept does not depend on how precise it is."""
    plan = with_sensitivity(
        shipped,
        random_worlds=2,
        noise_gains=(Fraction(35, 100), Fraction(70, 100)),
        contested_gains=(Fraction(130, 100), Fraction(260, 100)),
    )
    return plan.model_copy(
        update={
            "simulation": plan.simulation.model_copy(update={"offsets": (Fraction(-1), Fraction(0))}),
            "agreement": plan.agreement.model_copy(update={"resamples": 20, "valid_at_least": 1}),
            "scores": plan.scores.model_copy(update={"resamples": 20, "permutations": 99}),
            "drift": plan.drift.model_copy(update={"permutations": 99}),
        }
    )


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[World]:
    """The worlds whose grounds were computed, as they come."""
    seen: list[World] = []

    def counted(track: Track, world: World, *others: Any) -> Grounds:
        seen.append(world)
        return grounds_in(track, world, *others)

    monkeypatch.setattr(module, "grounds_in", counted)
    return seen


def test_each_world_comes_to_what_it_comes_to_by_itself(small: Track, brief: LabelSignalPlan) -> None:
    found = outcomes(small, (small,), brief, kept_in_memory())
    for one, variant in zip(found, variants(small, (small,), brief), strict=True):
        chance = chance_of(small, variant.world, seed=brief.seed)
        alone = concluded(grounds_in(small, variant.world, chance, brief), brief)
        assert (one.recommendation, one.rule, one.standings) == alone


def test_worlds_that_are_alike_are_computed_once(small: Track, brief: LabelSignalPlan, computed: list[World]) -> None:
    found = outcomes(small, (small,), brief, kept_in_memory())
    worlds = {one.world for one in variants(small, (small,), brief)}
    # Where nothing is contested, it does not matter by how much.
    different = {world if world.contested else replace(world, contested_gain=0.0) for world in worlds}
    assert len(computed) == len(different) < len(found)
    by_world = {one.world: other for one, other in zip(variants(small, (small,), brief), found, strict=True)}
    for one, other in zip(variants(small, (small,), brief), found, strict=True):
        assert replace(by_world[one.world], axis=other.axis, name=other.name) == other


@pytest.mark.parametrize("key", ["agentic", "grounding"])
def test_worlds_with_one_key_have_the_same_ratings(
    tracks: dict[str, Track], shipped: LabelSignalPlan, key: str
) -> None:
    """So that what is kept of one is right for the other."""
    track, every = tracks[key], tuple(tracks.values())
    keys = keys_of(lambda known: outcomes(track, every, shipped, known))
    by_key: dict[str, list[World]] = {}
    for name, one in zip(keys, variants(track, every, shipped), strict=True):
        by_key.setdefault(name, []).append(one.world)
    assert len(by_key) < len(keys)
    for worlds in by_key.values():
        first, *others = (
            rated(track, world, chance_of(track, world, seed=1)).scores for world in dict.fromkeys(worlds)
        )
        assert all((first == other).all() for other in others)


def as_bytes(found: Sequence[Outcome]) -> bytes:
    """Outcomes as they are written, the order of names included."""
    return json.dumps([plain_value(one) for one in found]).encode()


def test_what_is_kept_in_a_folder_is_not_computed_again_and_is_the_same_to_the_byte(
    tmp_path: Path, small: Track, brief: LabelSignalPlan, computed: list[World]
) -> None:
    first = outcomes(small, (small,), brief, kept_in(tmp_path))
    fresh, files = len(computed), {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert fresh == len(files) > 0
    again = outcomes(small, (small,), brief, kept_in(tmp_path))
    assert len(computed) == fresh
    assert as_bytes(again) == as_bytes(first) == as_bytes(outcomes(small, (small,), brief, kept_in_memory()))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == files


def test_a_file_that_is_gone_or_broken_is_computed_again(
    tmp_path: Path, small: Track, brief: LabelSignalPlan, computed: list[World]
) -> None:
    first = outcomes(small, (small,), brief, kept_in(tmp_path))
    fresh = len(computed)
    gone, broken, *_ = sorted(tmp_path.rglob("*.json"))
    whole = broken.read_bytes()
    gone.unlink()
    broken.write_bytes(whole[:-9])
    assert as_bytes(outcomes(small, (small,), brief, kept_in(tmp_path))) == as_bytes(first)
    assert len(computed) == fresh + 2
    assert broken.read_bytes() == whole
    assert gone.exists()


def test_another_threshold_or_one_world_more_computes_only_what_is_new(
    tmp_path: Path, small: Track, brief: LabelSignalPlan, computed: list[World]
) -> None:
    """Grounds do not depend on what is held against them: a plan of other thresholds finds them all."""
    outcomes(small, (small,), brief, kept_in(tmp_path))
    fresh = len(computed)
    wider = with_sensitivity(brief, noise_gains=(*brief.sensitivity.noise_gains, Fraction(140, 100)))
    outcomes(small, (small,), wider, kept_in(tmp_path))
    assert len(computed) == fresh + 1
    never = brief.model_copy(
        update={"decision": brief.decision.model_copy(update={"recalibrate_alpha_below": Fraction(1)})}
    )
    found = outcomes(small, (small,), never, kept_in(tmp_path))
    assert len(computed) == fresh + 1
    assert as_bytes(found) == as_bytes(outcomes(small, (small,), never, kept_in_memory()))


def test_where_nothing_is_contested_it_does_not_matter_how_much_that_would_weigh(
    tracks: dict[str, Track], shipped: LabelSignalPlan
) -> None:
    """Nothing is in agentic, so that eight gains, two sets and many draws are the declared world once more."""
    track, every = tracks["agentic"], tuple(tracks.values())
    keys = keys_of(lambda known: outcomes(track, every, shipped, known))
    found = list(zip(variants(track, every, shipped), keys, strict=True))
    assert {key for one, key in found if one.axis == "contested_gain"} == {keys[0]}
    assert {key for one, key in found if not one.world.contested and one.axis.endswith("contested")} == {keys[0]}


# What decides that it must be computed again


def keys_of(ask: Callable[[Known], object]) -> list[str]:
    """The keys under which outcomes are asked for; none is computed."""
    keys: list[str] = []

    def known(key: str, compute: Callable[[], Grounds]) -> Grounds:
        keys.append(key)
        return CANNED

    ask(known)
    return keys


def key_of(track: Track, plan: LabelSignalPlan) -> str:
    """The key of the declared world."""
    return keys_of(lambda known: outcomes(track, (track,), plan, known))[0]


def test_another_track_plan_or_world_has_another_key(small: Track, brief: LabelSignalPlan) -> None:
    item, response = small.items[0], small.responses[0]
    texts = [
        replace(small, items=(item.model_copy(update={"prompt": "Another?"}), *small.items[1:])),
        replace(small, responses=(response.model_copy(update={"text": "Another."}), *small.responses[1:])),
        replace(small, about=small.about.model_copy(update={"depth": "pilot"})),
        replace(
            small,
            rubric=small.rubric.model_copy(
                update={
                    "dimensions": (
                        small.rubric.dimensions[0].model_copy(update={"weight": Fraction(3)}),
                        small.rubric.dimensions[1],
                    )
                }
            ),
        ),
    ]
    plans = [
        brief.model_copy(update={"seed": brief.seed + 1}),
        brief.model_copy(update={"drift": brief.drift.model_copy(update={"permutations": 98})}),
        brief.model_copy(update={"scores": brief.scores.model_copy(update={"permutations": 98})}),
    ]
    simulation = brief.simulation
    worlds = [
        brief.model_copy(update={"simulation": simulation.model_copy(update=changes)})
        for changes in (
            {"noise_gain": Fraction(71, 100)},
            {"contested_gain": Fraction(261, 100)},
            {"drift_per_batch": Fraction(1, 100)},
            {"batches": 7},
            {"offsets": (Fraction(0), Fraction(0))},
            {"pool": tuple(reversed(simulation.pool))},
        )
    ]
    keys = [key_of(small, brief), *(key_of(track, brief) for track in texts)]
    keys += [key_of(small, plan) for plan in (*plans, *worlds)]
    assert len(set(keys)) == len(keys)
    assert key_of(small, brief) == keys[0]


def test_a_later_version_of_the_code_trusts_nothing_that_was_kept(
    monkeypatch: pytest.MonkeyPatch, small: Track, brief: LabelSignalPlan
) -> None:
    before = key_of(small, brief)
    monkeypatch.setattr(module, "CODE", module.CODE + 1)
    assert key_of(small, brief) != before


def test_a_pool_too_small_for_the_replication_of_a_track_is_refused(small: Track, brief: LabelSignalPlan) -> None:
    """Of three raters one can be left out only where two are enough."""
    three = brief.model_copy(
        update={"simulation": brief.simulation.model_copy(update={"pool": brief.simulation.pool[:3]})}
    )
    with pytest.raises(InputRefused, match="found 3 ratings of an answer, expected 1 to 2, the raters"):
        outcomes(small, (small,), three, kept_in_memory())


# People's ratings


@pytest.fixture(scope="module")
def people(small: Track) -> Ratings:
    """Four people; the last is at odds with the others."""
    rows = [
        (one.item_id, one.system_id, who, *scores)
        for place, one in enumerate(small.responses)
        for who, scores in (
            ("ann", (place % 4, 2)),
            ("ben", (place % 4, 2)),
            ("cem", (place % 4, 1)),
            ("dot", (3 - place % 4, 3)),
        )
    ]
    return ratings_of(small, rows)


ADJUDICATED = (Adjudicated(("q1", "old"), {"correct": 2.0, "tone": 2.0}, False, "as the majority"),)


def of_people(track: Track, ratings: Ratings, plan: LabelSignalPlan) -> Grounds:
    """The grounds of people's ratings."""
    return grounds_of(track, ratings, queue(ratings, track.rubric, plan.triage), ADJUDICATED, (), plan)


def concluded(grounds: Grounds, plan: LabelSignalPlan) -> tuple[str, str, dict[str, str]]:
    """What grounds come to, as an outcome says it."""
    found = conclude(grounds, plan)
    standings = {f"{claim.kind}: {claim.subject}": claim.standing.value for claim in found.claims}
    return found.recommended.recommendation.value, found.recommended.rule, standings


def test_people_have_no_other_worlds_than_each_of_them_left_out(
    small: Track, people: Ratings, brief: LabelSignalPlan
) -> None:
    base = of_people(small, people, brief)
    found = outcomes_of_people(small, people, ADJUDICATED, base, brief, kept_in_memory())
    assert [(one.axis, one.name) for one in found] == [
        ("baseline", REFERENCE),
        *(("leave_one_out", f"without {name}") for name in ("ann", "ben", "cem", "dot")),
    ]
    for place, one in enumerate(found):
        kept = people if place == 0 else people.where(people.rater != place - 1)
        assert (one.recommendation, one.rule, one.standings) == concluded(of_people(small, kept, brief), brief)
    # Without the one who is at odds they agree.
    assert found[0].standings["descriptive: correct"] == "block"
    assert found[4].standings["descriptive: correct"] == "pass"


def test_one_person_cannot_be_left_out(small: Track, people: Ratings, brief: LabelSignalPlan) -> None:
    alone = people.where(people.rater == 0)
    found = outcomes_of_people(small, alone, (), of_people(small, alone, brief), brief, kept_in_memory())
    assert [one.name for one in found] == [REFERENCE]


def test_answers_that_only_the_one_left_out_rated_leave_the_study_with_their_adjudication(
    small: Track, people: Ratings, brief: LabelSignalPlan
) -> None:
    of_q1 = people.unit == people.units.index(("q1", "old"))
    fewer = people.where(~of_q1 | (people.rater == 3))
    assert ("q1", "old") in fewer.units
    base = of_people(small, fewer, brief)
    found = outcomes_of_people(small, fewer, ADJUDICATED, base, brief, kept_in_memory())
    without = fewer.where(fewer.rater != 3)
    assert ("q1", "old") not in without.units
    queued = queue(without, small.rubric, brief.triage)
    alone = concluded(grounds_of(small, without, queued, (), (), brief), brief)
    assert (found[4].recommendation, found[4].rule, found[4].standings) == alone


def test_other_ratings_adjudications_or_plans_of_people_have_other_keys(
    small: Track, people: Ratings, brief: LabelSignalPlan
) -> None:
    base = of_people(small, people, brief)

    def keys(ratings: Ratings, adjudicated: tuple[Adjudicated, ...], plan: LabelSignalPlan) -> list[str]:
        return keys_of(lambda known: outcomes_of_people(small, ratings, adjudicated, base, plan, known))

    other = replace(people, scores=people.scores.copy())
    other.scores[0, 0] = 1 - other.scores[0, 0]
    blamed = (replace(ADJUDICATED[0], rubric_gap=True),)
    all_keys = [
        *keys(people, ADJUDICATED, brief),
        *keys(other, ADJUDICATED, brief),
        *keys(people, (), brief),
        *keys(people, blamed, brief),
        *keys(people, ADJUDICATED, brief.model_copy(update={"seed": 1})),
    ]
    assert len(all_keys) == len(set(all_keys)) == 20
    assert keys(people, ADJUDICATED, brief) == all_keys[:4]


def test_people_left_out_once_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Track, people: Ratings, brief: LabelSignalPlan
) -> None:
    base = of_people(small, people, brief)
    first = outcomes_of_people(small, people, ADJUDICATED, base, brief, kept_in(tmp_path))
    monkeypatch.setattr(module, "grounds_of", None)  # whoever calls it fails
    again = outcomes_of_people(small, people, ADJUDICATED, base, brief, kept_in(tmp_path))
    assert as_bytes(again) == as_bytes(first)
