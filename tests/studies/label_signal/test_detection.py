"""Whether planted failures show: in the scores of the dimension that tells them best, and in the codes of raters."""

from dataclasses import replace
from fractions import Fraction

import pytest
from scipy.stats import mannwhitneyu

from eval_pipeline.studies.label_signal.detection import CodeDetection, detected_codes, sensitivity_rate, status_of
from eval_pipeline.studies.label_signal.rubric import Dimension
from eval_pipeline.studies.label_signal.simulation.world import simulated_ratings, world_of
from eval_pipeline.studies.label_signal.track import FailureCode, Response
from tests.studies.label_signal.conftest import ratings_of


@pytest.fixture
def detected(small, shipped):
    """The detection of each code, of answers planted with it or clean (""): their scores by one or several raters."""

    def detected(scores, codes=small.about.failure_codes, named=None, track=small, plan=shipped.detection):
        answers = [(code, row) for code, rows in scores.items() for row in rows]
        responses = tuple(
            Response(item_id=f"q{n}", system_id="old", text="", planted_failure=code or None)
            for n, (code, _) in enumerate(answers)
        )
        about = track.about.model_copy(update={"failure_codes": tuple(codes)})
        rows = [
            (f"q{n}", "old", rater, *given)
            for n, (_, raters) in enumerate(answers)
            for rater, given in zip("abc", raters if isinstance(raters, list) else [raters], strict=False)
        ]
        ratings = ratings_of(track, rows, codes=named)
        found = detected_codes(ratings, replace(track, about=about, responses=responses), plan)
        return {one.code: one for one in found}

    return detected


def code(name, **penalties):
    return FailureCode(code=name, name=name.lower(), description="?", penalties=penalties)


def test_a_failure_that_costs_levels_is_detected_on_the_dimension_that_shows_it(detected):
    """Of 5 clean answers by 4 planted ones all lie above on correct, and none on tone."""
    found = detected({"": [(3, 2), (2, 2), (3, 2), (3, 2), (2, 2)], "T-01": [(0, 2), (1, 2), (0, 2), (1, 2)]})
    one = found["T-01"]
    assert (one.status, one.planted, one.dimension, one.delta) == ("detected", 4, "correct", 1)
    assert (one.magnitude, one.name) == ("large", "wrong figure")
    assert 0 < one.interval.low < one.interval.high == 1


def test_the_distance_by_hand(detected):
    """Clean 3, 3, 2 against planted 2, 3, 1, 0: 9 of 12 pairs higher, 1 lower: (9 - 1) / 12 less none."""
    found = detected({"": [(3, 0), (3, 0), (2, 0)], "T-01": [(2, 0), (3, 0), (1, 0), (0, 0)]})["T-01"]
    # 3 over 2, 1, 0 twice; 2 over 1, 0: 8 wins; 2 under 3: 1 loss.
    assert found.delta == pytest.approx(7 / 12)


def test_the_distance_is_that_of_the_rank_sum_of_another_program(detected):
    """2 U / (n m) - 1 of scipy.stats.mannwhitneyu, SciPy 1.15."""
    clean, planted = [3, 2, 2, 1, 3, 0, 2], [1, 2, 0, 0, 3]
    found = detected({"": [(score, 0) for score in clean], "T-01": [(score, 0) for score in planted]})["T-01"]
    u = mannwhitneyu(clean, planted).statistic
    assert found.delta == pytest.approx(2 * u / (7 * 5) - 1)


def test_answers_are_told_apart_by_the_mean_of_their_raters(detected):
    """One rater in three saw the failure: 7 / 3 lies under 8 / 3, though most gave the same."""
    clean, planted = [(3, 0), (3, 0), (2, 0)], [(3, 0), (3, 0), (1, 0)]
    found = detected({"": [clean] * 4, "T-01": [planted] * 4})["T-01"]
    assert (found.delta, found.status) == (1, "detected")


def test_answers_with_another_failure_are_neither_clean_nor_planted(detected):
    found = detected({"": [(3, 3)] * 4, "T-01": [(1, 3)] * 4, "T-02": [(0, 1)] * 4})
    assert {name: one.delta for name, one in found.items()} == {"T-01": 1, "T-02": 1}


def test_of_several_dimensions_the_best_counts_and_no_other_than_the_code_s_own(detected):
    codes = [code("BOTH", correct=1, tone=1), code("ONE", correct=1)]
    scores = {"": [(2, 3), (3, 3), (2, 3), (3, 3)], "BOTH": [(2, 1)] * 4, "ONE": [(3, 0)] * 4}
    found = detected(scores, codes)
    assert (found["BOTH"].dimension, found["BOTH"].delta) == ("tone", 1)
    assert (found["ONE"].dimension, found["ONE"].delta, found["ONE"].status) == ("correct", -0.5, "blind_spot")


def test_where_lower_is_better_a_failure_raises_the_score(small, detected):
    cost = Dimension(key="cost", name="C", question="?", scale="ordinal", levels=(0, 1, 2, 3), better="lower")
    track = replace(small, rubric=small.rubric.model_copy(update={"dimensions": (cost,)}))
    found = detected({"": [(0,), (1,)] * 2, "HIGH": [(3,)] * 4}, [code("HIGH", cost=-2)], track=track)["HIGH"]
    assert (found.delta, found.status) == (1, "detected")


@pytest.mark.parametrize(
    ("planted", "delta", "status"),
    [
        (4, 0.33, "detected"),
        (4, 0.33 - 1e-9, "blind_spot"),
        (4, Fraction(33, 100), "detected"),
        (4, -1.0, "blind_spot"),
        (3, 1.0, "underpowered"),
        (0, None, "underpowered"),
        (9, None, "underpowered"),
    ],
)
def test_a_failure_is_detected_from_the_bar_on_if_enough_were_planted(shipped, planted, delta, status):
    assert status_of(planted, delta, shipped.detection) == status


def test_too_few_planted_answers_are_no_blind_spot_of_the_rubric(detected):
    found = detected({"": [(3, 2)] * 4, "T-01": [(3, 2)] * 3})
    assert (found["T-01"].status, found["T-01"].planted, found["T-01"].delta) == ("underpowered", 3, 0)
    assert (found["T-02"].status, found["T-02"].planted, found["T-02"].delta) == ("underpowered", 0, None)
    assert (found["T-02"].dimension, found["T-02"].interval, found["T-02"].magnitude) == (None, None, None)


def test_without_clean_answers_nothing_is_told_apart(detected):
    one = detected({"T-01": [(0, 2)] * 5})["T-01"]
    assert (one.status, one.planted, one.delta) == ("underpowered", 5, None)


def test_a_code_that_declares_no_effect_is_no_blind_spot(detected):
    one = detected({"": [(3, 2)] * 4, "VAGUE": [(0, 0)] * 5}, [code("VAGUE")])["VAGUE"]
    assert (one.status, one.planted, one.delta) == ("no_effect_declared", 5, None)


def test_scores_that_were_left_out_are_in_no_comparison(detected):
    found = detected({"": [(3, None), (2, None), (None, 3)], "T-01": [(0, None)] * 3 + [(None, 2)]})["T-01"]
    assert (found.delta, found.planted) == (1, 4)


def test_raters_who_name_the_code_are_counted_and_so_are_those_who_name_it_wrongly(detected):
    """Of 2 planted answers by 2 raters 3 ratings name it; of 2 clean ones 1 does: recall 3 / 4, precision 3 / 4."""
    scores = {"": [[(3, 3)] * 2] * 2, "T-01": [[(1, 3)] * 2] * 2}
    named = [[], ["T-01"], [], ["T-02"], ["T-01"], ["T-01", "T-02"], ["T-01"], []]
    found = detected(scores, named=named)
    assert (found["T-01"].recall, found["T-01"].precision) == (0.75, 0.75)
    # Planted nowhere, named twice.
    assert (found["T-02"].recall, found["T-02"].precision) == (None, 0)


def test_where_raters_were_not_asked_for_codes_none_is_missed(detected):
    one = detected({"": [(3, 3)] * 2, "T-01": [(1, 3)] * 2})["T-01"]
    assert (one.recall, one.precision) == (None, None)
    asked = detected({"": [(3, 3)] * 2, "T-01": [(1, 3)] * 2}, named=[[]] * 4)["T-01"]
    assert (asked.recall, asked.precision) == (0, None)


def made(status):
    return CodeDetection("X", "x", 5, status, None, None, None, None, None, None)


@pytest.mark.parametrize(
    ("statuses", "rate"),
    [
        (["detected", "blind_spot", "underpowered", "no_effect_declared"], 0.5),
        (["detected", "detected", "blind_spot"], 2 / 3),
        (["underpowered", "no_effect_declared"], None),
        ([], None),
    ],
)
def test_the_rate_of_detected_codes_is_over_those_that_can_be_estimated(statuses, rate):
    found = sensitivity_rate([made(status) for status in statuses])
    assert found == (None if rate is None else pytest.approx(rate))


def test_every_planted_failure_of_the_tracks_is_seen_by_raters_who_see_what_is_there(tracks, shipped):
    """Raters without noise, bias or positions: each code that is planted often enough is detected, on every track."""
    seeing = tuple(
        one.model_copy(update={"bias": Fraction(0), "position": Fraction(0), "fatigue": Fraction(0)})
        for one in shipped.simulation.pool
    )
    for track in tracks.values():
        world = replace(world_of(track, shipped.simulation), pool=seeing, noise_gain=0.0)
        found = detected_codes(simulated_ratings(track, world, seed=1), track, shipped.detection)
        assert sensitivity_rate(found) >= 0.9
        assert any(one.status == "underpowered" for one in found)
