"""The cases of feedback, and those of charts as they concern updates, each through the study's own functions."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.arms import Arm
from eval_pipeline.records import Interval
from eval_pipeline.studies.strategy_feedback.charts import gain_chart
from eval_pipeline.studies.strategy_feedback.decision import Word, decide
from eval_pipeline.studies.strategy_feedback.findings import findings
from eval_pipeline.studies.strategy_feedback.sizes import runs_of
from tests.studies.strategy_feedback.made_up import log_of

TOPICS = ("feedback", "xmr")
CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[2] / "reference" / "closed_loops_cases.json").read_text())
    if case["topic"] in TOPICS
}
WORDS = {
    "ship": Word.SHIP,
    "revert": Word.REVERT,
    "more_data": Word.MORE_DATA,
    "unregistered: beneficial but below 10 points": Word.BELOW_EFFECT,
}
RULES = {"outside_3sigma": "beyond_limits", "run_of_8": "run_of_eight"}


def test_no_case_of_these_topics_is_left_out() -> None:
    assert len(CASES) == 6


@pytest.mark.parametrize("name", CASES)
def test_the_study_does_what_the_case_says(name: str, plan: Any) -> None:
    given, expected, tolerance = CASES[name]["input"], CASES[name]["expected"], CASES[name]["tolerance"]
    match given:
        case {"cases": cases}:
            words = [decide(one["delta"], Interval(*one["ci"], 0.95), plan.deciding).word for one in cases]
            assert words == [WORDS[word] for word in expected["decision"]]
        case {"claims_on_first_attempt": claims}:
            log = log_of(plan, {Arm.CONTROL: [(0, count) for count in claims], Arm.TREATMENT: []})
            cell = next(cell for cell in findings(log, plan).cells if cell.arm is Arm.CONTROL)
            recorded, left_out = sum(expected["recorded"]), expected["recorded"].count(False)
            assert (cell.pass_rate.n, cell.gain.n, cell.without_claims) == (recorded, recorded, left_out)
        case {"strategies": strategies, "arms": arms, "n": n}:
            assert runs_of(cells=strategies, arms=arms, per_cell=n) == expected["runs"]
            assert (len(plan.design.strategies), len(Arm), plan.power.n) == (strategies, arms, n)
        case {"series": series, "baseline": baseline}:
            points = tuple(map(Fraction, series))
            centre = sum(points[:baseline], Fraction(0)) / baseline
            chart = gain_chart("gain", points, baseline=baseline, target=centre)
            if expected.get("status") == "no_variation":
                assert (chart.stable, chart.signals) == (None, ())
                assert "without variation" in str(chart.why)
                return
            near = [chart.centre, chart.upper[0], chart.lower[0]]
            assert near == pytest.approx([expected[key] for key in ("centerline", "ucl", "lcl")], abs=tolerance)
            assert [[one.place, one.rule] for one in chart.signals] == [
                [place, RULES[rule]] for place, rule in expected["signals"]
            ]
        case _:
            pytest.fail(f"no rule runs case {name}")
