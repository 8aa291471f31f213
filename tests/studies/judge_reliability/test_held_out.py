"""The replay of held-out claims: both maps on the same claims, counted exactly, and by arm."""

from fractions import Fraction

import pytest

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.records import Interval
from eval_pipeline.studies.judge_reliability.abilities import abilities_of, reliance
from eval_pipeline.studies.judge_reliability.findings import findings
from eval_pipeline.studies.judge_reliability.held_out import compared, held_out, recommended, replay
from eval_pipeline.studies.judge_reliability.words import Vote
from tests.studies.judge_reliability.made_up import confusion, judgment, log_of

# "one" is nearly always right, "two" and "three" are no better than chance.
CALIBRATION = [
    *confusion(59, 1, 59, 1),
    *confusion(30, 30, 30, 30, judge_name="two"),
    *confusion(30, 30, 30, 30, judge_name="three"),
]


def panel(claim, truth, one, two, three, **changes):
    said = zip(("one", "two", "three"), (one, two, three), strict=True)
    return [judgment(claim, vote, truth, judge_name=name, **changes) for name, vote in said]


def test_the_trusted_judge_carries_a_panel_under_the_calibrated_map_and_not_under_the_prior(plan):
    """Prior: r = .75 * .9 for all, and two votes beat one. Calibrated: .96 * .9 beats twice .54 * .9."""
    maps = reliance(abilities_of(CALIBRATION, plan))
    found = replay(panel("h", "HOLDS", "PASS", "FAIL", "FAIL"), maps, plan)
    assert (found.prior, found.calibrated, found.pooled, found.by_confidence) == (
        Vote.FAIL,
        Vote.PASS,
        Vote.PASS,
        Vote.FAIL,
    )


def test_a_judge_without_a_vote_has_no_voice(plan):
    maps = reliance(abilities_of(CALIBRATION, plan))
    assert replay(panel("h", "HOLDS", None, "FAIL", "FAIL"), maps, plan).calibrated is Vote.FAIL
    assert replay(panel("h", "HOLDS", None, None, None), maps, plan).calibrated is Vote.INCONCLUSIVE


def rest(runs, truth="HOLDS"):
    """A claim in each run, on which the trusted judge is right and both others are wrong."""
    wrong, right = ("FAIL", "PASS") if truth == "HOLDS" else ("PASS", "FAIL")
    return [row for run in range(runs) for row in panel(f"h{run}", truth, right, wrong, wrong, run_id=f"run-{run}")]


def test_forty_claims_that_calibration_turns(plan):
    found = held_out(findings(log_of(CALIBRATION), plan), log_of(rest(40)), plan)
    comparison = found.comparison
    assert (comparison.calibrated.right, comparison.prior_only.right, comparison.flipped) == (40, 0, 40)
    assert (comparison.delta, comparison.interval.low) == (Fraction(1), 1)
    assert comparison.recommendation == "calibration_helps"
    assert comparison.p_value < 0.001
    assert comparison.schema_version == 2
    assert len(found.flips) == 40


def test_a_claim_without_a_truth_is_in_no_share(plan):
    rows = [*rest(3), *panel("unknown", None, "PASS", "PASS", "PASS")]
    found = held_out(findings(log_of(CALIBRATION), plan), log_of(rows), plan)
    assert (found.claims, found.unknown, found.comparison.prior_only.n) == (4, 1, 3)


def test_runs_of_the_control_arm_are_counted_under_the_prior_and_others_under_the_calibrated_map(plan):
    found = held_out(findings(log_of(CALIBRATION), plan), log_of(rest(60)), plan)
    controls = sum(arm_of(f"run-{run}", plan.arms.rule) is Arm.CONTROL for run in range(60))
    assert 0 < controls < 30
    assert (found.control_arm.right, found.control_arm.n) == (0, controls)
    assert (found.treatment_arm.right, found.treatment_arm.n) == (60 - controls, 60 - controls)


@pytest.mark.parametrize("n", [0, 1, 29])
def test_fewer_than_thirty_claims_compare_nothing(plan, n):
    comparison = held_out(findings(log_of(CALIBRATION), plan), log_of(rest(n)), plan).comparison
    assert (comparison.delta, comparison.interval, comparison.p_value) == (None, None, None)
    assert comparison.recommendation == "inconclusive_underpowered"
    assert (comparison.calibrated.share is None) is (n == 0)


def test_thirty_claims_are_compared(plan):
    assert held_out(findings(log_of(CALIBRATION), plan), log_of(rest(30)), plan).comparison.delta == 1


def test_the_pooled_map_knows_a_thin_cell_where_the_chain_takes_the_judge_for_all(plan):
    """Twenty claims of a type, all wrong: too few for the cell, and enough for the pooled estimate to lie near 0."""
    rows = [
        *confusion(60, 0, 60, 0),
        *(
            row.model_copy(update={"claim_id": f"t{row.claim_id}"})
            for row in confusion(0, 20, 0, 20, claim_type="thin")
        ),
    ]
    maps = reliance(abilities_of(rows, plan))
    found = replay([judgment("h", "PASS", "HOLDS", claim_type="thin")], maps, plan)
    assert (found.calibrated, found.pooled) == (Vote.PASS, Vote.INCONCLUSIVE)


def test_a_vote_that_leaves_a_claim_open_is_not_right(plan):
    maps = reliance(abilities_of([], plan))
    replayed = [replay([judgment(f"h{n}", "INCONCLUSIVE", "HOLDS")], maps, plan) for n in range(30)]
    assert compared(replayed, plan).prior_only.right == 0


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.01, 0.2, "calibration_helps"),
        (-0.2, -0.01, "prior_helps"),
        (0.0, 0.2, "inconclusive_underpowered"),
        (-0.2, 0.0, "inconclusive_underpowered"),
        (-0.1, 0.1, "inconclusive_underpowered"),
    ],
)
def test_an_interval_that_touches_0_recommends_nothing(low, high, word):
    assert recommended(Interval(low, high, 0.95)) == word


def test_the_same_log_gives_the_same_comparison(plan):
    found = findings(log_of(CALIBRATION), plan)
    mixed = [*rest(20), *[row.model_copy(update={"claim_id": f"f{row.claim_id}"}) for row in rest(20, "FAILS")]]
    assert held_out(found, log_of(mixed), plan) == held_out(found, log_of(mixed), plan)
