"""All thresholds at once: the one that decides is named, and so often as arithmetic says."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from scipy.stats import binomtest

from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.decision import recommend
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity import joint as module
from eval_pipeline.studies.label_signal.sensitivity.joint import Joint, joint
from tests.studies.label_signal.sensitivity.made_up import alphas, grounds, profiles, triage, with_sensitivity

MANY = 400


@pytest.fixture(scope="module")
def near() -> Grounds:
    """A mean alpha of .52 where .50 is the bar; without known scores no other rule of low agreement can hold."""
    return grounds(alphas=alphas(0.52, 0.52), profiles=profiles(gold=None))


@pytest.fixture(scope="module")
def often(shipped: LabelSignalPlan) -> LabelSignalPlan:
    """Many trajectories of four thresholds, of which two are whole numbers or 0 and stay."""
    return with_sensitivity(
        shipped,
        policy=("reliability_floor", "marginal_gap_at_most"),
        decision=("recalibrate_alpha_below", "indicators_needed"),
        trajectories=MANY,
    )


@pytest.fixture(scope="module")
def found(near: Grounds, often: LabelSignalPlan) -> Joint:
    return joint(near, often)


def test_the_threshold_that_decides_is_the_driver_and_no_other(found: Joint) -> None:
    assert [one.threshold.name for one in found.drivers] == ["recalibrate_alpha_below"]


def test_the_share_that_is_held_is_that_of_the_box(found: Joint) -> None:
    """The bar lies anywhere from .45 to .55, and holds up to .52: in .7 of the box."""
    assert found.draws == MANY
    assert binomtest(found.held, found.draws, 0.7).pvalue > 0.01


def test_a_step_of_half_the_box_turns_it_as_often_as_it_crosses_the_bar(found: Joint) -> None:
    """Shifts from -.10 to .10 of the bar, which is crossed at .04: steps up from -.06 to 0, steps down from .04 on."""
    (driver,) = found.drivers
    assert binomtest(round(driver.turned * MANY), MANY, 0.6).pvalue > 0.01


def test_the_interval_of_the_share_is_exact(found: Joint) -> None:
    """As SciPy has Clopper and Pearson's."""
    ends = binomtest(found.held, found.draws).proportion_ci(0.95, method="exact")
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert (float(found.interval.low), float(found.interval.high)) == pytest.approx((ends.low, ends.high), abs=1e-9)


def test_where_nothing_is_near_everything_is_held(shipped: LabelSignalPlan) -> None:
    calm = joint(grounds(), shipped)
    assert (calm.draws, calm.held, calm.drivers) == (40, 40, ())
    assert calm.interval.high == 1


def test_the_threshold_that_turns_it_most_often_comes_first(shipped: LabelSignalPlan) -> None:
    """Two signs stop the track: alphas of .5 under .55 (.495 to .605) turn seldom, gold of .71 over .70 often."""
    given = grounds(alphas=alphas(0.5, 0.5), profiles=profiles(gold=0.71), triage=triage(0.5))
    plan = with_sensitivity(
        shipped, policy=(), decision=("structural_alpha_below", "gold_competent"), trajectories=MANY // 2
    )
    turned = {one.threshold.name: one.turned for one in joint(given, plan).drivers}
    assert list(turned) == ["gold_competent", "structural_alpha_below"]
    assert turned["gold_competent"] > turned["structural_alpha_below"] > 0


def test_each_trajectory_moves_every_threshold_once_and_no_count_and_no_zero(
    monkeypatch: pytest.MonkeyPatch, near: Grounds, compat: LabelSignalPlan
) -> None:
    """Six of eight: `indicators_needed` counts, and `gold_block_below` is 0 in this plan."""
    names = ("reliability_floor", "gold_at_least", "gold_block_below", "flagged_at_most")
    of_decision = ("recalibrate_alpha_below", "hold_factor", "indicators_needed", "gap_rate_high")
    plan = with_sensitivity(compat, policy=names, decision=of_decision, trajectories=5)
    seen: list[tuple[Fraction, ...]] = []

    def counted(evidence: Any, decision: Any, policy: Any) -> Any:
        seen.append((*(getattr(policy, name) for name in names), *(getattr(decision, name) for name in of_decision)))
        return recommend(evidence, decision, policy)

    monkeypatch.setattr(module, "recommend", counted)
    joint(near, plan)
    base, rest = seen[0], seen[1:]
    assert len(rest) == 5 * (1 + 6)
    for start in range(0, len(rest), 7):
        trajectory = rest[start : start + 7]
        moves = [[place for place in range(8) if one[place] != other[place]] for one, other in pairwise(trajectory)]
        assert sorted(moves) == [[0], [1], [3], [4], [5], [7]]
        assert {(int(values[2]), int(values[6])) for values in trajectory} == {(0, 2)}
        for values in trajectory:
            shifts = [abs(values[place] / base[place] - 1) for place in (0, 1, 3, 4, 5, 7)]
            assert max(shifts) <= plan.sensitivity.joint_within


def test_the_seed_and_the_track_alone_decide_what_is_drawn(near: Grounds, often: LabelSignalPlan, found: Joint) -> None:
    assert joint(near, often) == found
    other_seed = joint(near, often.model_copy(update={"seed": often.seed + 1}))
    other_track = joint(replace(near, track="another"), often)
    shares = {(one.held, one.drivers[0].turned) for one in (found, other_seed, other_track)}
    assert len(shares) == 3


def test_a_wider_box_holds_less(near: Grounds, often: LabelSignalPlan, found: Joint) -> None:
    """Within .02 nothing reaches .52; within .30 the bar lies from .35 to .65, and .57 of that holds."""
    assert joint(near, with_sensitivity(often, joint_within=Fraction(2, 100))).held == MANY
    wide = joint(near, with_sensitivity(often, joint_within=Fraction(3, 10)))
    assert binomtest(wide.held, MANY, 0.17 / 0.30).pvalue > 0.01
    assert wide.held < found.held
