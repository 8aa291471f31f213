"""The cases of the first version of this evaluation, each through the study's own functions.

A case of kind `seed` runs under the plan with what the first version computed, one of kind `superset` under the shipped
plan.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval_pipeline.errors import Refused
from eval_pipeline.stats.survival_power import schoenfeld_size
from eval_pipeline.stats.tail_shares import tail_share_bootstrap
from eval_pipeline.studies.retry_limit.ablation import Recommendation, paired
from eval_pipeline.studies.retry_limit.comparison import compared
from eval_pipeline.studies.retry_limit.curves import curve, steps
from eval_pipeline.studies.retry_limit.limit import Evidence, Rung, Word, decide
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.preflight import event_rate, required
from eval_pipeline.studies.retry_limit.sections import Columns
from tests.studies.retry_limit.conftest import SHIPPED, WITH, amended, of_first_version

TOPICS = {"survival", "paired bootstrap"}
ALSO = {"closed_loops-287"}
CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[2] / "reference" / "closed_loops_cases.json").read_text())
    if case["topic"] in TOPICS or case["id"] in ALSO
}
RUNNERS: dict[str, Callable[[RetryLimitPlan, dict[str, Any], dict[str, Any], float], None]] = {}
WORDS = {"calibrated": Recommendation.WITH_HELPS, "inconclusive": Recommendation.INCONCLUSIVE}
ERRORS = {
    "empty set": lambda plan: tail_share_bootstrap([], level=0.95, resamples=10000, seed=42),
    "iterations 999": lambda plan: amended(plan, ablation={"resamples": 999}),
    "negative seed": lambda plan: amended(plan, seed=-1),
}


def runs(*numbers):
    """Files a function as what runs these cases: it takes the plan, the input, what is expected, and how closely."""

    def file(runner):
        RUNNERS.update({f"closed_loops-{number}": runner for number in numbers})
        return runner

    return file


def test_no_case_is_left_unrun():
    assert set(RUNNERS) == set(CASES)
    assert len(CASES) == 17
    assert [name for name, case in CASES.items() if case["kind"] != "seed"] == ["closed_loops-255"]


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_a_case_comes_out_as_it_was_recorded(case_id):
    case = CASES[case_id]
    plan = SHIPPED if case["kind"] == "superset" else of_first_version(SHIPPED)
    RUNNERS[case_id](plan, case["input"], case["expected"], case["tolerance"])


def of_pairs(*arms):
    """Columns of (time, observed) pairs of each arm, each subject a run of its own."""
    pairs = [(until, passed, arm) for arm, subjects in enumerate(arms) for until, passed in subjects]
    until, passed, arm = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    return Columns(until, passed, arm, np.arange(len(pairs)))


def ends(interval):
    return [interval.low, interval.high]


@runs(232, 233)
def curves_of_one_arm(plan, given, expected, tolerance):
    until, passed = zip(*given["time_observed"], strict=True)
    found = curve(until, passed, plan.curves)
    assert [point.share for point in found.points] == pytest.approx(expected["survival"], abs=tolerance)
    if "times" in expected:
        assert [point.attempt for point in found.points] == expected["times"]
        assert ends(found.points[0].interval) == pytest.approx(expected["ci_first"], abs=tolerance)
        assert ends(found.points[-1].interval) == pytest.approx(expected["ci_last"], abs=tolerance)
        assert found.median == expected["median"]
        assert ends(found.median_interval) == expected["median_ci"]
    else:
        assert found.points[-1].interval is None


@runs(234)
def attempts_of_one_arm(plan, given, expected, tolerance):
    counts = given["counts"]
    ended = [(1, 1)] * counts["pass1"] + [(2, 1)] * counts["pass2"] + [(3, 1)] * counts["pass3"]
    found = of_pairs(ended + [(3, 0)] * counts["censored3"])
    of_arm = curve(found.until, found.passed, plan.curves)
    assert [point.share for point in of_arm.points] == pytest.approx(expected["survival"], abs=tolerance)
    for point, interval in zip(of_arm.points, expected["ci95"], strict=True):
        assert ends(point.interval) == pytest.approx(interval, abs=tolerance)
    assert of_arm.median == expected["median"]
    passes = [step.share for step in steps(found, plan.limit)]
    assert passes == pytest.approx(expected["conditional_pass"], abs=tolerance)


@runs(236, 237, 239)
def arms_compared(plan, given, expected, tolerance):
    found = compared(of_pairs(given["a"], given["b"]), plan.contrast)
    assert found.plain.chi2 == pytest.approx(expected["chi2"], abs=tolerance)
    assert found.p_value == found.plain.p_value == pytest.approx(expected["p"], abs=tolerance)


@runs(240)
def sizes(plan, given, expected, tolerance):
    for (ratio, rate), counts in zip(given["hr_eventrate"], expected["events_subjects"], strict=True):
        under = amended(plan, preflight={"hazard_ratio": str(ratio)})
        found = required(Fraction(str(rate)), Fraction(1, 2), under)
        assert [found.events, found.subjects] == counts


@runs(243)
def sizes_that_are_refused(plan, given, expected, tolerance):
    for case, refused in zip(given["cases"], expected["error"], strict=True):
        assert refused
        with pytest.raises(Refused):
            schoenfeld_size(
                case["hr"], event_rate=case["rate"], allocation=case.get("alloc", 0.5), alpha=0.05, power=0.8
            )
        if case["hr"] <= 0 or not 0 < case["rate"] <= 1 or "alloc" in case:
            continue
        with pytest.raises(Refused):
            required(Fraction(str(case["rate"])), Fraction(1, 2), amended(plan, preflight={"hazard_ratio": "1"}))


def evidence(p_value, rungs):
    """All that a decision needs beside p and the rungs."""
    return Evidence(9999, 519, (999, 999), Fraction(1, 2), p_value, 500, WITH, rungs, None)


@runs(244)
def a_mechanism_that_shows_nothing(plan, given, expected, tolerance):
    wasted = Rung(given["k_star"], 0.01, 0.02)
    found = decide(evidence(given["p"], (wasted,)), plan)
    assert found.attempts == expected["max_attempts"]
    assert f"investigate the {expected['investigate']}" in found.reason.replace("\n", " ")
    assert found.word is Word.MECHANISM_BROKEN


@runs(245)
def a_limit_that_is_shown(plan, given, expected, tolerance):
    rungs = tuple(Rung(*row) for row in given["conditional_pass_next"])
    assert decide(evidence(given["p"], rungs), plan).attempts == expected["max_attempts"]


@runs(247)
def an_event_rate_that_diverges(plan, given, expected, tolerance):
    anchor, margin = Fraction(str(given["anchor"])), Fraction(str(given["tolerance"]))
    assert (anchor, margin) == (plan.preflight.anchor, plan.preflight.tolerance)
    found = event_rate(given["events"], given["attempts"], anchor=anchor, tolerance=margin)
    assert float(found.rate) == pytest.approx(expected["rate"], abs=tolerance)
    assert found.diverges is expected["diverges"]
    under = amended(plan, preflight={"hazard_ratio": "7/10"})
    assert required(found.used, Fraction(1, 2), under).subjects == expected["recomputed_subjects"]


def constructed(given):
    """Which claims each system has right, by the construction of the cases."""
    n, places = given["n"], np.arange(given["n"])
    first, second = (int(n * given[name] + 1e-9) for name in "ab")
    return (places < first).tolist(), ((places + n // 3) % n < second).tolist()


@runs(248, 249, 250)
def pairs_of_the_first_version(plan, given, expected, tolerance):
    under = amended(plan, ablation={"resamples": given["iterations"]})
    found = paired(*constructed(given), range(given["n"]), under.ablation, seed=given["seed"])
    assert float(found.difference.estimate) == pytest.approx(expected["mean_difference"], abs=tolerance)
    assert ends(found.difference.interval) == pytest.approx(expected["ci95"], abs=tolerance)
    assert found.difference.p_value == pytest.approx(expected["p"], abs=tolerance)
    assert found.recommendation is WORDS[expected["recommendation"]]


@runs(254)
def what_is_no_comparison(plan, given, expected, tolerance):
    for case, refused in zip(given["cases"], expected["error"], strict=True):
        assert refused
        if case == "empty set":
            assert paired([], [], [], plan.ablation, seed=plan.seed).difference is None
        with pytest.raises(Refused):
            ERRORS[case](plan)


@runs(255)
def a_p_that_is_never_0(plan, given, expected, tolerance):
    sides = constructed(given)
    resamples = {"resamples": given["iterations"]}
    first = amended(of_first_version(plan), ablation=resamples).ablation
    assert paired(*sides, range(given["n"]), first, seed=given["seed"]).difference.p_value == expected["seed"]
    found = paired(*sides, range(given["n"]), amended(plan, ablation=resamples).ablation, seed=given["seed"])
    assert found.difference.p_value >= expected["superset_min"] - tolerance
    assert found.recommendation is Recommendation.WITHOUT_HELPS


@runs(287)
def a_constructed_ablation(plan, given, expected, tolerance):
    told = [place < given["with"]["correct"] for place in range(given["with"]["n"])]
    untold = [place < given["without"]["correct"] for place in range(given["without"]["n"])]
    for under in (plan, SHIPPED):
        found = paired(told, untold, range(len(told)), under.ablation, seed=under.seed)
        rates = found.with_violations, found.without_violations
        assert [float(one.rate) for one in rates] == pytest.approx(expected["pass_rates"], abs=tolerance)
        assert ends(rates[0].interval) == pytest.approx(expected["ci_with"], abs=tolerance)
        assert ends(rates[1].interval) == pytest.approx(expected["ci_without"], abs=tolerance)
        assert float(found.difference.estimate) == pytest.approx(expected["delta"], abs=tolerance)
        assert found.recommendation.value == expected["recommendation"]
