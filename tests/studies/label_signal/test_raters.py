"""The raters: leniency against positions, what each flag takes, and on which dimensions they differ for good."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, ttest_1samp

from eval_pipeline.studies.label_signal.raters import Profile, contested_dimensions, flagged_fraction, profiles
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Dimension
from tests.stats.laws import LAW
from tests.studies.label_signal.conftest import ratings_of

SEED = 2


@pytest.fixture
def profiled(small, shipped):
    """The profiles of raters by name, from rows (item, system, rater, correct, tone); `tone` is contested."""

    def profiled(rows, plan=shipped.raters, track=small, contested=("tone",), **of_rows):
        ratings = ratings_of(track, rows, **of_rows)
        return {one.rater: one for one in profiles(ratings, track, contested, plan)}

    return profiled


def given_by(raters, *, items=12, tone=None):
    """Each rater's scores on `correct` over items, and on `tone`, which is 1 unless it is said."""
    return [
        (f"x{n}", "old", name, scores[n % len(scores)], (tone or {}).get(name, 1))
        for n in range(items)
        for name, scores in raters.items()
    ]


def test_leniency_and_position_by_hand(profiled):
    """On correct 3 2 1 and 2 2 2, offsets 1 0 -1 and 0; on tone 0 1 2 and 1 1 1, offsets -1 0 1 and 0.

    Rater a: leniency .5, position -.5 - .5; Student's .975 quantile at one degree of freedom is 12.706.
    """
    rows = [("x1", "old", "a", 3, 0), ("x1", "old", "b", 2, 1), ("x1", "old", "c", 1, 2)]
    rows += [("x2", "old", name, 2, 1) for name in "abc"]
    found = profiled(rows)
    assert [found[name].leniency for name in "abc"] == pytest.approx([0.5, 0, -0.5])
    assert [found[name].position for name in "abc"] == pytest.approx([-1, 0, 1])
    half = 12.706204736 * 0.5**0.5 / 2**0.5
    held = found["a"].leniency_interval
    assert (held.low, held.high) == pytest.approx((0.5 - half, 0.5 + half))
    assert (found["a"].rows, found["a"].mean) == (2, pytest.approx(6 / 4))
    # Squares about the means within correct and tone: 2 * .25 and 2 * .25 over 2 degrees of freedom.
    assert found["a"].spread == pytest.approx(0.5**0.5)


def test_a_leniency_on_all_matters_is_no_position_and_a_position_is_no_leniency(profiled):
    """Of eight raters one is two levels higher throughout, two hold opposite positions, and five hold none."""
    rows = []
    for n in range(21):
        settled = n % 2
        offsets = {"A1": (0, -1), "A2": (0, 1), "A3": (2, 2)} | {f"A{k}": (0, 0) for k in range(4, 9)}
        rows += [(f"x{n}", "old", name, settled + off, 1 + on) for name, (off, on) in offsets.items()]
    found = profiled(rows)
    assert found["A3"].leniency == pytest.approx(2 - 2 / 8)
    assert found["A1"].leniency == found["A2"].leniency == pytest.approx(-2 / 8)
    assert [found[name].position for name in ("A1", "A2", "A3", "A4")] == pytest.approx([-1, 1, 0, 0])
    assert {name for name, one in found.items() if one.flags} == {"A3"}
    assert {name for name, one in found.items() if one.divergent} == {"A1", "A2"}


def test_without_contested_dimensions_nobody_holds_a_position_and_all_count_for_leniency(profiled):
    """Offsets of 1.5 and -1.5 on tone alone are .75 over both dimensions."""
    rows = given_by({"a": [1], "b": [1]}, tone={"a": 3, "b": 0})
    found = profiled(rows, contested=())
    assert [found[name].leniency for name in "ab"] == pytest.approx([0.75, -0.75])
    assert [found[name].position for name in "ab"] == [None, None]
    assert not found["a"].divergent


def test_where_all_dimensions_are_contested_there_is_neither(profiled):
    found = profiled(given_by({"a": [1], "b": [3]}, items=4), contested=("correct", "tone"))
    assert (found["a"].leniency, found["a"].leniency_interval, found["a"].position, found["a"].flags) == (
        None,
        None,
        None,
        (),
    )


def test_a_rater_whose_answers_nobody_else_rated_has_no_offset(profiled):
    rows = [("x1", "old", "a", 1, 1), ("x1", "old", "b", 2, 1), ("x2", "old", "c", 3, 3)]
    found = profiled(rows)
    assert (found["c"].leniency, found["c"].position, found["c"].leniency_interval) == (None, None, None)
    # Of one answer there is a mean and no interval, so that nothing is shown.
    assert (found["a"].leniency, found["a"].leniency_interval, found["a"].flags) == (-0.5, None, ())


def test_a_score_that_a_rater_left_out_is_in_no_offset(profiled):
    rows = [("x1", "old", "a", 3, None), ("x1", "old", "b", 1, 2), ("x1", "old", "c", None, 0)]
    found = profiled(rows)
    assert (found["a"].leniency, found["b"].leniency, found["c"].leniency) == (1, -1, None)
    assert (found["a"].position, found["b"].position) == (None, pytest.approx(1 + 1))


def test_levels_without_an_order_are_in_no_offset(small, profiled):
    kind = Dimension(key="kind", name="K", question="?", scale="nominal", levels=(0, 1, 2, 3), weight=Fraction(0))
    track = replace(small, rubric=small.rubric.model_copy(update={"dimensions": (*small.rubric.dimensions, kind)}))
    rows = [(*row, 3 if row[2] == "a" else 0) for row in given_by({"a": [1], "b": [2]})]
    found = profiled(rows, track=track, contested=("tone", "kind"))
    assert (found["a"].leniency, found["a"].position) == (-0.5, pytest.approx(0.5))


def test_an_interval_is_student_s_over_the_answers_of_the_rater(profiled):
    """ttest_1samp(offsets, 0).confidence_interval(), SciPy 1.15."""
    scores = np.random.default_rng(3).integers(0, 4, (15, 2))
    rows = [(f"x{n}", "old", name, int(scores[n, k]), 1) for n in range(15) for k, name in enumerate("ab")]
    found = profiled(rows)["a"]
    expected = ttest_1samp((scores[:, 0] - scores[:, 1]) / 2, 0).confidence_interval(0.95)
    assert (found.leniency_interval.low, found.leniency_interval.high) == pytest.approx(tuple(expected), abs=1e-12)


def offset_by(levels, *, sure, items=20):
    """Two raters whose first is on average so many levels above the second; if not `sure`, now far above, now below."""
    gaps = [levels] * items if sure else [levels + (3 if n % 2 else -3) for n in range(items)]
    # As Ratings, since offsets of parts of a level can only be had of an interval scale.
    units = tuple((f"x{n}", "old") for n in range(items))
    scores = np.ravel([(10 + gap / 2, 10 - gap / 2) for gap in gaps])
    return Ratings(
        units=units,
        raters=("a", "b"),
        dimensions=("correct", "tone"),
        unit=np.repeat(np.arange(items), 2),
        rater=np.tile([0, 1], items),
        scores=np.column_stack([scores, np.full(2 * items, np.nan)]),
        batches=(),
        batch=np.array([], dtype=np.int64),
        duration_s=np.full(2 * items, np.nan),
        codes=None,
        source="people",
        rubric_version="",
    )


@pytest.mark.parametrize(
    ("gap", "sure", "shown", "observed"),
    [
        (0.70, True, (), ()),  # .35 to either side: at the bar
        (0.72, True, ("lenient",), ("lenient",)),
        (-0.72, True, ("severe",), ("severe",)),
        (1.20, False, (), ("lenient",)),  # .6 and a half width of .72
        (-1.20, False, (), ("severe",)),
        (0.60, True, (), ()),
    ],
)
def test_leniency_must_be_shown_to_lie_beyond_the_bar_and_once_had_but_to_be_seen_there(
    small, shipped, compat, gap, sure, shown, observed
):
    """The first version flagged by the offset itself, however few answers it was of."""
    ratings = offset_by(gap, sure=sure)
    for plan, flags in ((shipped.raters, shown), (compat.raters, observed)):
        found = profiles(ratings, small, (), plan)[0]
        assert tuple(flag for flag in found.flags if flag != "flat") == flags


def test_an_offset_at_the_bar_is_not_beyond_it_for_what_arithmetic_adds(small, compat):
    """The mean of .3, .4, .3, .4 and so on may come out above .35."""
    for items in range(2, 40):
        found = profiles(offset_by(0.7, sure=True, items=items), small, (), compat.raters)[0]
        assert found.leniency == pytest.approx(0.35)
        assert "lenient" not in found.flags


@pytest.mark.parametrize(("top", "flagged"), [(3, True), (6, False), (1, True)])
def test_the_bar_of_offsets_is_told_for_a_scale_of_three_and_grows_with_the_scale(small, compat, top, flagged):
    """.4 of a level: beyond .35 on 0 to 3, within .70 on 0 to 6, and far beyond .12 on 0 to 1."""
    dimensions = tuple(
        Dimension(key=key, name=key, question="?", scale="interval", levels=(0, top)) for key in ("correct", "tone")
    )
    track = replace(small, rubric=small.rubric.model_copy(update={"dimensions": dimensions}))
    found = profiles(offset_by(0.8, sure=True), track, (), compat.raters)[0]
    assert ("lenient" in found.flags) is flagged


@pytest.mark.parametrize(("offset", "divergent"), [(0.34, False), (0.36, True), (-0.36, True)])
def test_a_position_beyond_its_bar_is_said_and_is_no_flag(small, shipped, offset, divergent):
    ratings = offset_by(2 * offset, sure=True)
    ratings = replace(ratings, scores=np.column_stack([np.full(40, 10.0), ratings.scores[:, 0]]))
    found = profiles(ratings, small, ("tone",), shipped.raters)[0]
    assert (found.position, found.divergent) == (pytest.approx(offset), divergent)
    assert set(found.flags) <= {"flat"}


# The answers to q1 of both systems are gold: correct 3, tone 2.
GOLD = [("q1", "old", "a", 3, 2), ("q1", "new", "a", 2, 0), ("q2", "old", "a", 0, 0), ("q1", "new", "b", 3, None)]


def test_known_scores_are_met_by_dimension(profiled):
    """Rater a: errors 0, 0, -1, -2: two of four met, three within one, -.75 on average. Rater b: one of one."""
    found = profiled(GOLD)
    one = found["a"]
    assert (one.gold_scores, one.gold_exact, one.gold_within_one, one.gold_error) == (4, 0.5, 0.75, -0.75)
    assert ("gold" in one.flags, found["b"].gold_exact, found["b"].flags) == (True, 1, ())
    assert found["b"].gold_scores == 1


def test_who_rated_no_known_answer_is_not_flagged_for_it(profiled):
    found = profiled([("q2", "old", "a", 0, 0), ("q3", "old", "a", 1, 1)])["a"]
    assert (found.gold_scores, found.gold_exact, found.gold_within_one, found.gold_error) == (0, None, None, None)
    assert found.flags == ()


@pytest.mark.parametrize(("met", "of", "flagged"), [(7, 10, False), (69, 100, True), (71, 100, False), (14, 20, False)])
def test_seven_of_ten_known_scores_are_enough(small, shipped, met, of, flagged):
    """.7 as a float lies under seven tenths."""
    gold = tuple(
        small.responses[0].model_copy(update={"item_id": f"g{n}", "gold_scores": {"correct": 3}}) for n in range(of)
    )
    rows = [(f"g{n}", "old", "a", 3 if n < met else 2, n % 4) for n in range(of)]
    track = replace(small, responses=gold)
    (found,) = profiles(ratings_of(track, rows), track, (), shipped.raters)
    assert (found.gold_exact, "gold" in found.flags) == (pytest.approx(met / of), flagged)


@pytest.mark.parametrize(
    ("seconds", "mean", "flagged"),
    [
        ([45, 45, 45, 45], 45, False),
        ([44, 45, 45, 45], 44.75, True),
        ([0, 90, 0, None], 90, False),  # 0 says that nobody measured
        ([0, 10, None, None], 10, True),
        ([0, 0, None, None], None, False),
        ([None] * 4, None, False),
    ],
)
def test_a_rater_who_takes_too_little_time_is_flagged(profiled, seconds, mean, flagged):
    rows = [(f"q{n}", "old", "a", n - 1, 1) for n in range(1, 5)]
    found = profiled([row for row in rows if row[0] != "q1"], duration_s=seconds[1:])["a"]
    durations = [one for one in seconds[1:] if one]
    assert found.duration_s == (pytest.approx(sum(durations) / len(durations)) if durations else None)
    whole = profiled([("q5", "old", "a", 2, 1), *rows[1:]], duration_s=seconds)["a"]
    assert (whole.duration_s, "fast" in whole.flags) == (mean, flagged)


@pytest.mark.parametrize(
    ("scores", "flat"),
    [
        ([2] * 10, True),
        ([2] * 9, False),  # too few to say so
        ([2] * 9 + [3], False),  # variance .1 on one of two dimensions: sd sqrt(.9 / 18) = .22
        ([2] * 49 + [3], True),  # sd sqrt(.98 / 98) = .1
    ],
)
def test_a_rater_who_always_gives_the_same_is_flagged(profiled, scores, flat):
    """Though the dimensions differ: 2 on one and always 0 on the other."""
    rows = [(f"x{n}", "old", "a", score, 0) for n, score in enumerate(scores)]
    found = profiled(rows)["a"]
    counts = np.array(scores)
    expected = (((counts - counts.mean()) ** 2).sum() / (2 * (len(scores) - 1))) ** 0.5
    assert found.spread == pytest.approx(expected, abs=1e-12)
    assert ("flat" in found.flags) is flat


def test_of_one_answer_there_is_no_spread(profiled):
    assert profiled([("x1", "old", "a", 3, 2)])["a"].spread == 0


def test_one_rater_may_be_flagged_for_several_things_and_counts_once(profiled):
    rows = [(f"q{n}", system, name, 3 if name == "a" else 1, 0) for n in range(1, 7) for system in ("old", "new")
            for name in "abc"]  # fmt: skip
    found = profiled(rows, duration_s=[10 if row[2] == "a" else 60 for row in rows])
    assert found["a"].flags == ("lenient", "gold", "fast", "flat")
    assert found["b"].flags == ("severe", "gold", "flat")
    assert flagged_fraction(found.values()) == 1


@pytest.mark.parametrize(("flagged", "of", "share"), [(1, 3, 0.333), (2, 3, 0.667), (0, 4, 0.0), (1, 6, 0.167)])
def test_the_share_of_flagged_raters_is_told_to_three_decimals(flagged, of, share):
    made = [
        Profile(
            f"r{n}", 5, 1.0, 0.5, 0.0, None, None, None, None, None, 0, None, ("gold", "fast") * (n < flagged), False
        )
        for n in range(of)
    ]
    assert flagged_fraction(made) == share


@LAW
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=8), st.integers(-2, 2))
def test_offsets_of_all_raters_sum_to_nothing_and_no_answer_s_quality_moves_them(small, shipped, rows, shift):
    def leniencies(by):
        made = offset_by(0, sure=True, items=len(rows))
        moved = np.array(rows) + by * np.arange(len(rows))[:, None]
        made = replace(
            made,
            raters=("a", "b", "c"),
            unit=np.repeat(np.arange(len(rows)), 3),
            rater=np.tile([0, 1, 2], len(rows)),
            scores=np.column_stack([moved.ravel(), np.full(3 * len(rows), np.nan)]),
            duration_s=np.full(3 * len(rows), np.nan),
        )
        return [one.leniency for one in profiles(made, small, (), shipped.raters)]

    plain = leniencies(0)
    assert sum(plain) == pytest.approx(0, abs=1e-9)
    assert leniencies(shift) == pytest.approx(plain, abs=1e-9)


def pool(rng, small, *, leniency, position, items=40, noise=0.6):
    """Ratings of three of four raters of each answer on both dimensions, of answers that are 1 or 2.

    Raters differ in all by `leniency`, and on `tone` by `position` besides; both are in levels, by rater.
    """
    rows, truth = [], rng.integers(1, 3, (items, 2))
    for n in range(items):
        for k in (k for k in range(4) if k != n % 4):
            seen = truth[n] + leniency[k] + np.array([0, position[k]]) + rng.normal(0, noise, 2)
            rows.append((f"x{n}", "old", "abcd"[k], *np.clip(np.rint(seen), 0, 3).astype(int).tolist()))
    return ratings_of(small, rows)


def test_an_interval_holds_what_the_offset_is_on_average(small, shipped):
    """300 studies of 20 answers: a rater half a level above two others lies (2/3) .5 above the mean of all three."""
    rng, made = np.random.default_rng(4), offset_by(0, sure=True, items=20)
    made = replace(
        made,
        raters=("a", "b", "c"),
        unit=np.repeat(np.arange(20), 3),
        rater=np.tile([0, 1, 2], 20),
        duration_s=np.full(60, np.nan),
    )
    hits = 0
    for _ in range(300):
        scores = rng.normal(0, 1, (20, 1)) + rng.normal(0, 0.7, (20, 3)) + [0.5, 0, 0]
        study = replace(made, scores=np.column_stack([scores.ravel(), np.full(60, np.nan)]))
        held = profiles(study, small, (), shipped.raters)[0].leniency_interval
        hits += held.low <= 1 / 3 <= held.high
    assert binomtest(hits, 300, 0.95).pvalue > 0.01


def contested(ratings, track, plan, declared=()):
    return {one.key: one for one in contested_dimensions(ratings, track.rubric, declared, plan, seed=SEED)}


def test_lasting_positions_on_one_dimension_make_it_contested(small, shipped):
    ratings = pool(np.random.default_rng(5), small, leniency=[0] * 4, position=[-1, 1, -0.7, 0.7])
    found = contested(ratings, small, shipped.raters, declared=("correct",))
    assert found["tone"].found
    assert found["tone"].share > found["correct"].share + 0.2
    assert found["tone"].p_value < 0.01
    assert not found["correct"].found
    assert {key: one.declared for key, one in found.items()} == {"correct": True, "tone": False}


def test_leniency_on_all_dimensions_makes_none_of_them_contested(small, shipped):
    """Raters differ for good on both, and beyond doubt; what they differ in on one alone is little."""
    ratings = pool(np.random.default_rng(6), small, leniency=[-0.8, 0.8, -0.5, 0.5], position=[0] * 4)
    found = contested(ratings, small, shipped.raters)
    assert all(one.p_value < 0.01 for one in found.values())
    assert not any(one.found for one in found.values())


def test_p_values_are_adjusted_over_the_dimensions(small, shipped):
    """One of two is doubled: the smallest that 99 permutations give, .01, is .02."""
    ratings = pool(np.random.default_rng(5), small, leniency=[0] * 4, position=[-1, 1, -0.7, 0.7])
    found = contested(ratings, small, shipped.raters.model_copy(update={"permutations": 99}))
    assert found["tone"].p_value == pytest.approx(0.02)


def test_a_share_that_is_not_large_enough_is_not_contested_however_certain(small, shipped):
    ratings = pool(np.random.default_rng(5), small, leniency=[0] * 4, position=[-1, 1, -0.7, 0.7])
    found = contested(ratings, small, shipped.raters)
    between = found["tone"].share - found["correct"].share
    for off, shown in ((-0.01, True), (0.01, False)):
        plan = shipped.raters.model_copy(update={"contested_share": Fraction(between + off)})
        assert contested(ratings, small, plan)["tone"].found is shown


def test_where_nobody_disagrees_nothing_is_contested(small, shipped):
    ratings = ratings_of(small, given_by({"a": [1, 2], "b": [1, 2]}, tone={"a": 2, "b": 0}))
    found = contested(ratings, small, shipped.raters, declared=("correct",))["correct"]
    assert (found.share, found.by_chance, found.p_value, found.found, found.declared) == (None, None, None, False, True)


def test_dimensions_without_an_order_cannot_be_contested(small, shipped):
    kind = Dimension(key="kind", name="K", question="?", scale="nominal", levels=(0, 1), weight=Fraction(0))
    track = replace(small, rubric=small.rubric.model_copy(update={"dimensions": (kind, *small.rubric.dimensions)}))
    rows = [("x1", "old", name, n, n, 1 - n) for n, name in enumerate("ab")]
    assert set(contested(ratings_of(track, rows), track, shipped.raters)) == {"correct", "tone"}


def test_raters_without_positions_seldom_make_a_dimension_contested(small, shipped):
    """Any of two dimensions, in 60 studies of raters who differ in leniency or in nothing."""
    rng, plan = np.random.default_rng(7), shipped.raters.model_copy(update={"permutations": 99})
    found = 0
    for study in range(60):
        leniency = [0] * 4 if study % 2 else [-0.5, 0.5, 0, 0]
        ratings = pool(rng, small, leniency=leniency, position=[0] * 4, items=32)
        found += any(one.found for one in contested(ratings, small, plan).values())
    assert found <= binom.ppf(0.99, 60, 0.05)
