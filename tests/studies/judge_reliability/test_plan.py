"""The bundled plan says what is promised, and its number of claims is the one that its own test needs."""

import pytest

from eval_pipeline.errors import PlanRefused
from eval_pipeline.stats.power import one_proportion_size
from tests.studies.judge_reliability.made_up import changed


def test_the_planned_number_of_claims_is_that_of_the_named_test(plan):
    n = one_proportion_size(0.7, 0.8, alpha=float(plan.power.alpha), power=float(plan.power.power), method="score")
    assert plan.power.n == n == 153
    assert f"{n} claims" in plan.protocol.sample_size


def test_the_prior_and_the_rule_are_the_registered_ones(plan):
    assert (plan.prior.right, plan.prior.wrong, plan.persistence.point) == (7, 3, "mode")
    assert (plan.persistence.claims_at_least, plan.persistence.null * 10, plan.persistence.dominant_at) == (30, 7, 30)
    assert plan.arms.rule.salt == "judge-reliability"


def test_each_contradiction_is_settled_with_a_reason(plan):
    said = " ".join(one.said for one in plan.settled)
    for word in ("292", "4010704", "mode", "store", "paired", "seal", "run_id % 5"):
        assert word in said
    assert all(one.reason.endswith(".") for one in plan.settled)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prior": {"right": 6}}, "a prior whose mean is persistence.null"),
        ({"falsifier": {"resamples": 999}}, "greater than or equal to 1000"),
        ({"pooling": {"nodes": 7}}, "greater than or equal to 8"),
        ({"parse_failures": {"baseline_points": 1}}, "greater than or equal to 2"),
        ({"persistence": {"point": "median"}}, "'mode' or 'mean'"),
        ({"study": "other"}, "'judge-reliability'"),
    ],
)
def test_what_cannot_be_is_refused(plan, change, sentence):
    with pytest.raises(PlanRefused, match=sentence):
        changed(plan, **change)
