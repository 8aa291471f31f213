"""The shipped plan promises what it can keep, and one that cannot is refused."""

from fractions import Fraction
from math import ceil

import pytest
from scipy.stats import binom

from eval_pipeline.errors import PlanRefused
from eval_pipeline.plan import parse_plan
from eval_pipeline.seal import seal_of, sealed
from eval_pipeline.stats.binomial_looks import CountLook, look_chances
from eval_pipeline.stats.gold_size import errors_allowed, smallest_size
from eval_pipeline.studies.fire_rate.contexts import runs_for
from eval_pipeline.studies.fire_rate.plan import FireRatePlan


def refused(values):
    with pytest.raises(PlanRefused) as refusal:
        parse_plan(values, FireRatePlan, "plan 'mine'")
    return str(refusal.value)


def test_the_looks_are_those_of_the_issue(shipped):
    first, second = shipped.test.looks
    assert (first.runs, first.floor, first.stop_at) == (464, 58, 5)
    assert (second.runs, second.floor, second.stop_at) == (3000, 375, 20)
    assert first.alpha + second.alpha == shipped.test.alpha == Fraction(1, 20)
    assert [shipped.test.allowed(look, look.runs) for look in shipped.test.looks] == [0, 19]


def test_the_numbers_of_the_sample_size_are_computed_again(shipped):
    assert smallest_size(0, bound=Fraction("0.008"), level=0.975) == 460
    assert smallest_size(0, bound=0.01, level=0.975) == 368
    assert shipped.test.looks[0].floor == ceil(460 / 8)
    assert runs_for(58, shipped.contexts) == 464
    assert shipped.test.chances(0.005).declared_at_all == pytest.approx(0.82, abs=0.005)
    assert shipped.test.chances(0.01).declared_at_all == pytest.approx(0.027, abs=0.0005)


def test_the_power_is_that_of_both_looks_summed_by_hand(shipped):
    """P(0 in 464), and P(x in 464) times P(at most 19 - x in 2536 more) for x = 1..4."""
    by_hand = binom.pmf(0, 464, 0.005) + sum(
        binom.pmf(x, 464, 0.005) * binom.cdf(19 - x, 2536, 0.005) for x in range(1, 5)
    )
    assert shipped.test.chances(0.005).declared_at_all == pytest.approx(by_hand, abs=1e-12)
    three_end_it = sum(binom.pmf(x, 464, 0.005) * binom.cdf(19 - x, 2536, 0.005) for x in (1, 2))
    assert binom.pmf(0, 464, 0.005) + three_end_it == pytest.approx(0.55, abs=0.005)


def test_2720_is_the_shortest_round_robin_with_the_planned_power():
    def power(runs):
        allowed = errors_allowed(runs, bound=0.01, level=0.975)
        return look_chances([CountLook(464, 0, 5), CountLook(runs, allowed, runs)], rate=0.005).declared_at_all

    enough = [runs for runs in range(472, 3001, 8) if power(runs) >= 0.80]
    assert enough[0] == 2720
    assert enough[-1] == 3000


def test_the_plan_stands_under_one_seal_however_it_is_written(shipped):
    again = sealed(shipped).open(FireRatePlan)
    assert again == shipped
    assert seal_of(again) == seal_of(shipped)
    assert shipped.seed == 0xC0FFEE0403


@pytest.mark.parametrize(
    ("first", "second", "fields", "expected"),
    [
        ({"runs": 460}, {}, {}, "a floor of 58 takes 464 runs, not 460"),
        ({"alpha": "3/100"}, {}, {}, "alphas of the looks that together spend no more than 0.05"),
        ({}, {"runs": 464, "floor": 58}, {}, "looks in their order, each after more runs than the one before"),
        ({"stop_at": 20}, {}, {}, "looks that each stop at more fires than the one before"),
        ({}, {"stop_at": 19}, {}, "a stop_at above 19, with which 3000 runs still show it"),
        ({"runs": 360, "floor": 45}, {}, {}, "more runs than 360, after which not even 0 fires show anything"),
        ({}, {}, {"planned_rate": "1/100"}, "a planned_rate below the margin; no other can be shown"),
        ({}, {}, {"planned_rate": "6/1000"}, "looks that show a rate of 0.006 with power 0.8, and these have 0.603"),
        ({}, {"runs": 2720, "floor": 340, "stop_at": 18}, {}, "for as many runs as the last look has"),
    ],
)
def test_looks_that_cannot_keep_their_promise_are_refused(with_test, first, second, fields, expected):
    with pytest.raises(PlanRefused) as refusal:
        with_test(first, second, **fields)
    assert expected in str(refusal.value)


@pytest.mark.parametrize(
    ("section", "changed", "expected"),
    [
        ("contexts", ["proposal"] * 8, "each of the contexts proposal, feature"),
        ("contexts", ["proposal", "feature"], "each of the contexts proposal, feature"),
        ("held_out", {"share": "1/5", "seed": 1}, "a held-out share and a control share of 0"),
        ("arms", {"salt": "fire-rate", "control_share": "1/5"}, "a held-out share and a control share of 0"),
        ("preflight", {"injected": {"content_mutation": "x"}}, "a text for each of content_mutation, ordering"),
    ],
)
def test_a_plan_that_promises_what_nothing_keeps_is_refused(shipped, section, changed, expected):
    assert expected in refused(shipped.model_dump(mode="json") | {section: changed})


@pytest.mark.parametrize("field", ["margin", "alpha", "planned_rate", "looks"])
def test_nothing_is_left_to_a_default(shipped, field):
    values = shipped.model_dump(mode="json")
    del values["test"][field]
    assert f"field 'test.{field}': found nothing, expected a value; a plan leaves nothing" in refused(values)


def test_each_contradiction_of_the_first_version_is_settled_with_a_reason(shipped):
    assert all(one.said and one.chosen and one.reason for one in shipped.settled)
    said = " ".join(one.said for one in shipped.settled)
    for word in ("H0", "58", "461", "same level", "not the code", "'unreached'", "0xC0FFEE0403"):
        assert word in said
