"""The claims' intervals at any level: over entries, of the estimator that decided, and none where none is known."""

from fractions import Fraction

import numpy as np
import pytest

from eval_pipeline.errors import Undefined
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.stats.cluster_share import share_difference, share_interval
from eval_pipeline.studies.extraction.anytime import Checked, anytime, checked_by_people
from eval_pipeline.studies.extraction.correction.estimates import Estimator
from eval_pipeline.studies.extraction.plan import Strategy
from eval_pipeline.studies.extraction.quartiles import entry_quartiles
from eval_pipeline.studies.extraction.verdict import GUARD, RECALL, UNIFORMITY
from tests.studies.extraction.people import check_by, erring, gold_of, ran, truth_of, with_spans

LEVELS = (Fraction(39, 40), Fraction(9999, 10000), 1 - Fraction(1, 10**7))
NOBODY = Checked(None, None)


@pytest.fixture(scope="session")
def world(counted, world_of):
    """Thirty notes of 12 propositions, more of them lost at the end, each with a span; one span supports nothing."""
    return world_of(
        with_spans(counted(f"e{k:02d}", (3, 3, 2 + k % 2, k % 3), (3, 3, 3, 3)), supported=k != 4) for k in range(30)
    )


@pytest.fixture(scope="session")
def plan(lenient, amended):
    return amended(lenient, judging={"strategy": Strategy.NO_SCREEN}, bootstrap={"resamples": 100})


@pytest.fixture(scope="session")
def model(scripted):
    return lambda says: scripted(says, standing=Standing.UNCALIBRATED)


@pytest.fixture(scope="session")
def study(run_study, world, plan):
    return run_study(world, plan)


@pytest.fixture(scope="session")
def raw(study, plan):
    return anytime(study.document, study.quartiles, study.judged.to_table(), NOBODY, plan)


def ends(interval):
    return interval.low, interval.high


@pytest.mark.parametrize("level", LEVELS)
def test_as_the_judge_has_them_they_are_those_of_shares_over_entries(raw, level):
    """Quartiles 1 to 4 of entry k: 3, 3, 2 + k % 2 and k % 3 of 3 each; its span supports, but for one of 30."""
    hits = np.array([(3, 3, 2 + k % 2, k % 3) for k in range(30)])
    recall = share_interval(hits.sum(axis=1), [12] * 30, level=level, tails="two")
    loss = share_difference(hits[:, [0, 3]], np.full((30, 2), 3), level=level, tails="two")
    precision = share_interval([int(k != 4) for k in range(30)], [1] * 30, level=level, tails="two")
    assert raw.level == Fraction(19, 20)
    for claim, expected in ((RECALL, recall), (UNIFORMITY, loss), (GUARD, precision)):
        assert ends(raw.intervals[claim](level)) == pytest.approx(ends(expected.interval))


@pytest.mark.parametrize("claim", [RECALL, UNIFORMITY, GUARD])
def test_they_hold_the_estimate_and_grow_with_the_level(raw, study, claim):
    estimate = next(one["estimate"] for one in study.document["claims"] if one["claim"] == claim)
    found = [ends(raw.intervals[claim](level)) for level in LEVELS]
    assert all(low <= estimate <= high for low, high in found)
    assert [low for low, _ in found] == sorted((low for low, _ in found), reverse=True)
    assert [high for _, high in found] == sorted(high for _, high in found)


def test_what_too_few_entries_say_nothing_of_has_no_interval(run_study, counted, world_of, plan):
    one = run_study(world_of([counted("e0", (1, 1, 1, 0), (1, 1, 1, 1))]), plan)
    found = anytime(one.document, one.quartiles, one.judged.to_table(), NOBODY, plan)
    assert {interval_at(LEVELS[0]) for interval_at in found.intervals.values()} <= {None}
    with pytest.raises(Undefined):
        share_interval([3], [4], level=0.95, tails="two")


@pytest.fixture(scope="session")
def checked(world, plan, model):
    """The run of a judge that errs, and what people say of a fifth of it."""
    run = ran(world, plan, model(erring(world, misses={"1.0", "2.0"})))
    return run, check_by(run.sheet(), truth_of(world))


def test_corrected_they_are_those_of_the_estimator_that_decided(checked, plan, world):
    run, check = checked
    seen, judgments = run.seen(check), run.judged.to_table()
    said = checked_by_people(check, run.frame, world.snapshot, run.fates, judgments, plan, judge=run.judged.fingerprint)
    found = anytime(seen.document, entry_quartiles(run.fates), judgments, said, plan)
    (cells,) = [one for one in seen.correction.estimates if one.estimator is Estimator.POST_STRATIFIED]
    own = Fraction(19, 20)
    assert ends(found.intervals[RECALL](own)) == pytest.approx(ends(cells.pooled.interval))
    assert ends(found.intervals[UNIFORMITY](own)) == pytest.approx(ends(cells.first_less_last.interval))
    assert found.intervals[GUARD](own).low < seen.correction.precision.low


def test_without_a_check_or_with_one_that_may_not_be_rested_on_nobody_said_anything(checked, plan, world, amended):
    run, check = checked
    given = run.frame, world.snapshot, run.fates, run.judged.to_table()
    assert checked_by_people(None, *given, plan, judge=run.judged.fingerprint) == NOBODY
    stricter = amended(plan, human_check={"raters": 2})
    assert checked_by_people(check, *given, stricter, judge=run.judged.fingerprint) == NOBODY


def test_where_the_gold_set_decides_recall_has_none_and_precision_that_of_the_judge(world, plan, amended, model):
    by_gold = amended(plan, calibration={"decides": "gold", "gold": "asked"})
    run = ran(world, by_gold, model(erring(world, misses={"1.0"})), gold_of(20, 20))
    document = run.seen().document
    assert document["claims"][0]["estimator"] == Estimator.RATIO_BY_GOLD.value
    found = anytime(document, entry_quartiles(run.fates), run.judged.to_table(), NOBODY, by_gold)
    assert set(found.intervals) == {GUARD}
