"""DeepEval's test runs, in the names of several releases: scores as they are, and a metric that failed to run no 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers.kinds import log_of
from eval_pipeline.importers.results import Undecided, joined
from tests.importers.logs import as_bytes, deepeval_case, deepeval_run
from tests.stats.laws import LAW

CASES = [
    deepeval_case("case_0", 0, "How deep is the lake?", {"Relevancy": 0.75, "Faithfulness": 1.0}),
    deepeval_case("case_1", 1, "How wide is the lake?", {"Relevancy": 0.25, "Faithfulness": None}),
    deepeval_case("case_2", 2, "How old is the lake?", {"Relevancy": 0.5, "Faithfulness": None}),
]


def read(log, only=()):
    return log_of("deepeval", as_bytes(log), "march.json", frozenset(only))


def scores(log, metric):
    return {(row.item, row.repeat): row.undecided or row.score for row in read(log).rows if row.metric == metric}


def fault(log):
    with pytest.raises(MalformedLog) as refusal:
        read(log)
    return str(refusal.value)


def test_a_metric_gives_its_score_and_one_that_failed_none():
    assert list(scores(deepeval_run(CASES), "Relevancy").values()) == [0.75, 0.25, 0.5]
    assert list(scores(deepeval_run(CASES), "Faithfulness").values()) == [1.0, Undecided.ERRORED, Undecided.ERRORED]


def test_a_case_that_only_a_failed_metric_keeps_from_passing_may_have_passed():
    passed, failed, unknown = scores(deepeval_run(CASES), "passed").values()
    assert (passed, failed, unknown) == (1.0, 0.0, Undecided.ERRORED)


def snake(case):
    """A case of what evaluate() returns."""
    names = {"metricsData": "metrics_data", "actualOutput": "actual_output", "order": "index"}
    return {names.get(name, name): value for name, value in case.items()} | {"conversational": False}


def old(case):
    """A case of a release that called metrics data metadata, and a metric's name the metric."""
    metrics = [{"metric": one.pop("name"), **one} for one in map(dict, case["metricsData"])]
    return {name: value for name, value in case.items() if name != "metricsData"} | {"metricsMetadata": metrics}


@pytest.mark.parametrize(
    "log",
    [
        {"testRunData": deepeval_run(CASES), "testRunLink": None},
        {"test_results": [snake(case) for case in CASES], "confident_link": None, "test_run_id": None},
        deepeval_run([old(case) for case in CASES]),
    ],
    ids=["latest run", "evaluation result", "older release"],
)
def test_every_form_of_a_run_says_the_same(log):
    assert joined("deepeval", [read(log)]).rows == joined("deepeval", [read(deepeval_run(CASES))]).rows


def test_cases_with_one_input_are_repeats_of_one_item():
    cases = [deepeval_case(f"case_{n}", n, "How deep?", {"Relevancy": n / 4}) for n in range(3)]
    assert scores(deepeval_run(cases), "Relevancy") == {
        ("How deep?", 1): 0.0, ("How deep?", 2): 0.25, ("How deep?", 3): 0.5,
    }  # fmt: skip


def test_a_conversation_is_known_by_its_scenario_or_name():
    talk = deepeval_case("talk", 0, "", {"Role": 1.0})
    del talk["input"]
    run = deepeval_run([], conversationalTestCases=[talk | {"scenario": "a lost key"}, talk | {"order": 1}])
    assert set(scores(run, "Role")) == {("a lost key", 1), ("talk", 1)}


def test_the_identifier_of_a_run_names_the_system_or_else_the_file():
    assert {row.system for row in read(deepeval_run(CASES)).rows} == {"march"}
    assert {row.system for row in read(deepeval_run(CASES, identifier="small model")).rows} == {"small model"}


def test_stated_means_and_passes_are_read():
    run = deepeval_run(
        CASES,
        testPassed=1,
        testFailed=3,
        metricsScores=[{"metric": "Relevancy", "scores": [0.75, 0.25, 0.5], "passes": 2, "fails": 1, "errors": 0}],
    )
    stated = {one.metric: one.value for one in read(run).headlines}
    assert stated == {"passed": 0.25, "Relevancy": 0.5}
    assert [one.metric for one in read(run, ["passed"]).headlines] == ["passed"]


@given(order=st.permutations(range(3)))
@LAW
def test_the_order_of_cases_makes_no_difference(order):
    mixed = deepeval_run([CASES[n] for n in order])
    assert joined("deepeval", [read(mixed)]).hash == joined("deepeval", [read(deepeval_run(CASES))]).hash


def one(score):
    return deepeval_run(
        [deepeval_case("a", 0, "x", {"Relevancy": 1.0}) | {"metricsData": [{"name": "R", "score": score}]}]
    )


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (one(7), "at $.testCases[0].metricsData[0].score: found 7, expected a score from 0 to 1; rescale it"),
        (one(float("nan")), "metricsData[0].score: found NaN, expected a finite number"),
        (one("high"), 'metricsData[0].score: found "high", expected a finite number'),
        (deepeval_run([CASES[0], CASES[0]]), "at $.testCases[1]: found test case 'case_0', order 0, input 'How deep"),
        (
            deepeval_run([CASES[0] | {"metricsData": [{"name": "R", "score": 1}] * 2}]),
            "at $.testCases[0].metricsData[1]: found R a second time",
        ),
        ({"results": []}, "expected an object with the field 'testCases' or 'test_results'; give the test run"),
        (deepeval_run([]), "found no result in it, expected one or more; run deepeval again"),
        (deepeval_run([{"name": "a", "metricsData": [{"score": 1}]}]), "expected an object with the field 'metric'"),
        (deepeval_run([{"name": " "}]), 'at $.testCases[0].name: found " ", expected a text that is not blank'),
        (deepeval_run([{"name": "a", "success": "yes"}]), 'success: found "yes", expected true or false'),
    ],
)
def test_what_breaks_the_format_is_refused_with_its_place(log, said):
    assert said in fault(log)
