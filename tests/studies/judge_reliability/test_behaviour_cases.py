"""The cases of reliability, consensus and oracles, each run by the product.

Two cases of the first version contradict the one that says how it should be: a panel without information is
INCONCLUSIVE and not FAIL, and of a schema that cannot be compiled no truth is told.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.arms import Arm
from eval_pipeline.stats.power import two_proportion_size
from eval_pipeline.studies.judge_reliability.abilities import abilities_of
from eval_pipeline.studies.judge_reliability.annotation import label_report
from eval_pipeline.studies.judge_reliability.consensus import Voice, bayesian, weighted
from eval_pipeline.studies.judge_reliability.findings import findings
from eval_pipeline.studies.judge_reliability.held_out import held_out
from eval_pipeline.studies.judge_reliability.oracles.answer import Unavailable
from eval_pipeline.studies.judge_reliability.oracles.arithmetic import math_answer
from eval_pipeline.studies.judge_reliability.oracles.code import Tools, code_answer, installed_tools
from eval_pipeline.studies.judge_reliability.oracles.schema import schema_answer
from eval_pipeline.studies.judge_reliability.posterior import posterior_of, source_of
from eval_pipeline.studies.judge_reliability.words import Ability, Label, Truth, Vote
from tests.studies.judge_reliability.made_up import confusion, judgment, log_of

TOPICS = ("reliability", "consensus", "oracles")
CASES = {
    case["id"].removeprefix("closed_loops-"): case
    for case in json.loads((Path(__file__).parents[2] / "reference" / "closed_loops_cases.json").read_text())
    if case["topic"] in TOPICS
}
RUN = {268, 270, 271, 272, 273, 274, 276, 278, 279, 280, 282, 283, 284, 285, 286}


def given(number):
    case = CASES[str(number)]
    return case["input"], case["expected"], case["tolerance"]


def test_every_case_of_these_topics_is_run_here():
    assert {int(number) for number in CASES} == RUN


def test_posteriors(plan):
    asked, expected, tolerance = given(268)
    for (right, wrong), there in zip(asked["correct_wrong"], expected["posterior"], strict=True):
        found = posterior_of(right, right + wrong, plan)
        assert (found.a, found.b) == (there["alpha"], there["beta"])
        assert (found.mean, found.mode) == pytest.approx((there["mean"], there["mode"]), abs=tolerance)
        assert found.point == found.mode
        assert (found.interval.low, found.interval.high) == pytest.approx(there["ci"], abs=tolerance)
        assert (found.dominant, found.candidate) == (there["dominant"], there["persist"])


def test_a_confusion_splits_into_both_abilities(plan):
    asked, expected, _ = given(270)
    found = abilities_of(confusion(asked["TP"], asked["FN"], asked["TN"], asked["FP"]), plan)
    beliefs = {cell.ability: [cell.posterior.a, cell.posterior.b] for cell in found.cells}
    assert beliefs == {Ability.SENSITIVITY: expected["sens"], Ability.SPECIFICITY: expected["spec"]}


def test_the_fallback_chain(plan):
    asked, expected, _ = given(271)
    used = [
        source_of(posterior_of(own, own, plan), posterior_of(over, over, plan), Arm.CONTROL if c else Arm.TREATMENT)
        for own, over, c in zip(asked["cell_n"], asked["judge_global_n"], asked["control"], strict=True)
    ]
    assert used == expected["use"]


def test_sample_sizes():
    """The plan's 292 is that of arcsines; 1.96 and .84, rounded, give 2.80^2 / ... = 292.8 and so 293."""
    _, expected, _ = given(272)
    size = {
        name: two_proportion_size(0.7, 0.8, alpha=0.05, power=0.8, convention=name) for name in ("pooled", "arcsine")
    }
    assert size == {"pooled": expected["exact_z"], "arcsine": expected["plan_text"]}
    rounded = (1.96 * (2 * 0.75 * 0.25) ** 0.5 + 0.84 * (0.7 * 0.3 + 0.8 * 0.2) ** 0.5) ** 2 / 0.1**2
    assert -(-rounded // 1) == expected["rounded_z"]


def test_the_drop_rate_that_calls_for_a_review(plan):
    asked, expected, _ = given(273)
    for dropped, review in zip(asked["dropped"], expected["review"], strict=True):
        labels = [[Label.INCONCLUSIVE] * 2] * dropped + [[Label.HOLDS] * 2] * (asked["total"] - dropped)
        assert label_report(labels, drop_rate_at_most=plan.labelling.drop_rate_at_most).review is review


def test_the_weighted_consensus():
    asked, expected, tolerance = given(274)
    for panel, there in zip(asked["panels"], expected["result"], strict=True):
        found = weighted([(Vote(vote), confidence) for vote, confidence in panel])
        assert found.vote == there["verdict"]
        assert found.confidence == pytest.approx(there["confidence"], abs=tolerance)


def panel_of(panel):
    return [Voice(Vote(vote), sure, r) for (vote, sure), r in zip(panel["votes"], panel["reliability"], strict=True)]


def test_the_bayesian_consensus(plan):
    asked, expected, tolerance = given(276)
    for panel, there in zip(asked["panels"], expected["result"], strict=True):
        found = bayesian(panel_of(panel), information_above=plan.consensus.information_above)
        assert found.vote == (there["verdict"] if found.informative else Vote.INCONCLUSIVE)
        assert found.confidence == pytest.approx(there["confidence"], abs=tolerance)


def test_a_panel_without_information_is_inconclusive(plan):
    asked, expected, _ = given(278)
    (panel,) = asked["panels"]
    found = bayesian(panel_of(panel), information_above=plan.consensus.information_above)
    assert (found.vote, found.informative) == (expected["superset"], 0)


def test_an_empty_panel(plan):
    _, expected, _ = given(279)
    for found in (weighted([]), bayesian([], information_above=plan.consensus.information_above)):
        assert (found.vote, found.confidence) == (expected["verdict"], expected["confidence"])


def test_the_math_oracle(plan):
    asked, expected, _ = given(280)
    assert plan.oracles.tolerance == Fraction(str(asked["tolerance"]))
    found = [
        math_answer({"expression": text, "expected": value}, tolerance=plan.oracles.tolerance).truth
        for text, value in asked["claims"]
    ]
    assert [one is Truth.HOLDS for one in found] == expected["truth"]
    assert None not in found


def test_the_schema_oracle():
    asked, expected, _ = given(282)
    answers = [schema_answer(claim) for claim in asked["claims"]]
    for answer, there in zip(answers, expected["truth"], strict=True):
        assert answer.unavailable is Unavailable.UNREADABLE or (answer.truth is Truth.HOLDS) is there
    assert [answer.truth is None for answer in answers] == [False, True, False]  # the type "nope"


def test_a_schema_that_cannot_be_compiled_is_no_truth():
    asked, _, _ = given(283)
    answer = schema_answer({**asked, "instance": 1, "expected_valid": False})
    assert (answer.truth, answer.unavailable) == (None, Unavailable.UNREADABLE)


def test_a_project_file_around_changes_no_truth(tmp_path, monkeypatch):
    given(284)
    snippet = {"language": "python", "snippet": "def f(x: int) -> int:\n    return x\n", "expected_valid": True}
    (tmp_path / "mypy.ini").write_text("[mypy]\nno_such_option = what\nplugins = absent.plugin\n")
    (tmp_path / "mypy.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYPY_CONFIG_FILE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert code_answer(snippet, tools=installed_tools(), timeout_s=60).truth is Truth.HOLDS
    broken = Tools((sys.executable, "-c", "print('bad config'); raise SystemExit(2)"), None)
    assert code_answer(snippet, tools=broken, timeout_s=60).unavailable is Unavailable.CRASHED


def test_a_missing_tool_is_counted_as_no_truth():
    _, expected, _ = given(285)
    snippet = {"language": "python", "snippet": "x: int = 1\n", "expected_valid": True}
    answer = code_answer(snippet, tools=Tools(("/no/such/checker",), None), timeout_s=60)
    assert (answer.truth, answer.unavailable) == (None, Unavailable.MISSING_TOOL)
    assert not expected["counted_as_false"]


def test_a_perfect_judge_of_grounded_true_claims(plan):
    asked, expected, _ = given(286)
    found = findings(log_of(judgment(f"c{n}", "PASS", "HOLDS") for n in range(asked["n"])), plan)
    tested = held_out(found, log_of(judgment(f"h{n}", "PASS", "HOLDS") for n in range(asked["n"])), plan)
    assert tested.comparison.calibrated.share == expected["correct_pass_rate"]
    assert tested.comparison.recommendation == expected["correct_recommendation"]
