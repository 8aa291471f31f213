"""Judges that err together are told, given truth and type of the claims, over all pairs at once."""

import numpy as np
import pytest

from eval_pipeline.studies.judge_reliability.dependence import pairs_of
from eval_pipeline.studies.judge_reliability.generator import simulated
from tests.studies.judge_reliability.made_up import changed, judge, judgment, world


def rows_of(*wrong, truth="HOLDS"):
    """Judgments of forty claims by judges that err on these."""
    vote = {"HOLDS": ("PASS", "FAIL"), "FAILS": ("FAIL", "PASS")}[truth]
    return [
        judgment(f"c{claim}", vote[claim in errors], truth, judge_name=f"j{number}")
        for claim in range(40)
        for number, errors in enumerate(wrong)
    ]


def test_errors_in_common_by_hand(plan):
    """Three of forty each, all in common: C(40, 3) = 9880 ways, one of them; 3 * 3 / 40 are expected."""
    (pair,) = pairs_of(rows_of({1, 2, 3}, {1, 2, 3}), plan)
    assert (pair.first, pair.second, pair.claims, pair.both_wrong) == ("chat/j0", "chat/j1", 40, 3)
    assert pair.expected == 9 / 40
    assert pair.adjusted_p == pytest.approx(1 / 9880)
    assert pair.together


def test_the_least_of_three_p_values_is_held_against_a_third_of_alpha(plan):
    """One error in common of one each: 1 / 40, which three pairs do not carry."""
    pairs = pairs_of(rows_of({1}, {1}, set()), plan)
    assert [pair.together for pair in pairs] == [False] * 3
    assert pairs[0].adjusted_p == pytest.approx(3 / 40)
    assert pairs_of(rows_of({1}, {1}), plan)[0].together


def test_pairs_with_few_claims_in_common_are_left_out(plan):
    rows = rows_of({1}, {1})[:58]  # 29 claims
    assert pairs_of(rows, plan) == ()
    assert len(pairs_of(rows, changed(plan, dependence={"claims_at_least": 29}))) == 1
    assert pairs_of([], plan) == ()


def test_the_truth_of_a_claim_makes_no_errors_common(plan):
    """Both judges call everything true: they share all errors, and chance has nothing to do with it."""
    rows = [
        judgment(f"c{n}", "PASS", "HOLDS" if n < 20 else "FAILS", judge_name=name) for n in range(40) for name in "ab"
    ]
    (pair,) = pairs_of(rows, plan)
    assert (pair.both_wrong, pair.expected, pair.together) == (20, 20, False)


@pytest.mark.parametrize(("hard", "together"), [(0.0, False), (0.25, True)])
def test_claims_that_are_hard_for_all_show(plan, hard, together):
    made = world(judge("a", 0.9, 0.9), judge("b", 0.9, 0.9), claims=800, hard=hard)
    (pair,) = pairs_of(simulated(made, rng=np.random.default_rng(1), prefix="c").rows, plan)
    assert pair.together is together
