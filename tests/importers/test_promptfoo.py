"""promptfoo's results, in two versions: a failed assertion is a 0, and a failed call or grader is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers.kinds import log_of
from eval_pipeline.importers.results import Undecided, joined
from tests.importers.logs import as_bytes, promptfoo_log, promptfoo_result
from tests.stats.laws import LAW


def read(log, only=()):
    return log_of("promptfoo", as_bytes(log), "results.json", frozenset(only))


def cells(log, metric="pass", only=()):
    return {
        (row.system, row.item, row.repeat): row.undecided or row.score
        for row in read(log, only).rows
        if row.metric == metric
    }


def fault(log):
    with pytest.raises(MalformedLog) as refusal:
        read(log)
    return str(refusal.value)


def only_value(**fields):
    """What `pass` is of one result with these fields."""
    (value,) = cells(promptfoo_log([promptfoo_result(0, 0, success=False, **fields)])).values()
    return value


def test_each_provider_is_a_system_and_each_test_an_item():
    log = promptfoo_log([promptfoo_result(t, p, success=t == p) for t in (0, 1) for p in (0, 1)], prompts=2)
    assert cells(log) == {
        ("acme:model-0", '{"lake":"lake 0"}', 1): 1,
        ("acme:model-0", '{"lake":"lake 1"}', 1): 0,
        ("acme:model-1", '{"lake":"lake 0"}', 1): 0,
        ("acme:model-1", '{"lake":"lake 1"}', 1): 1,
    }


def test_a_provider_with_several_prompts_is_a_system_a_prompt():
    log = promptfoo_log([promptfoo_result(0, p, success=True) for p in (0, 1)], prompts=2)
    for head in log["results"]["prompts"]:
        head["provider"] = "acme:model"
    assert {system for system, _, _ in cells(log)} == {"acme:model, prompt 0", "acme:model, prompt 1"}


def test_tests_with_the_same_variables_are_repeats():
    results = [
        promptfoo_result(n, 0, success=n > 0, vars={"lake": "a"}, testCase={"vars": {"lake": "a"}}) for n in range(3)
    ]
    assert cells(promptfoo_log(results)) == {("acme:model-0", '{"lake":"a"}', n + 1): float(n > 0) for n in range(3)}


def test_a_test_without_variables_is_known_by_its_description():
    results = [
        promptfoo_result(n, 0, success=True, vars={}, testCase={"vars": {}} | said)
        for n, said in enumerate([{"description": "greets"}, {}])
    ]
    assert {item for _, item, _ in cells(promptfoo_log(results))} == {"greets", "the only test"}


def test_what_a_run_adds_to_the_variables_makes_no_other_item():
    results = [
        promptfoo_result(n, 0, success=True, vars={"a": 1}, testCase={"vars": {"a": 1, "_conversation": [n]}})
        for n in range(2)
    ]
    assert {item for _, item, _ in cells(promptfoo_log(results))} == {'{"a":1}'}


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"failureReason": 1, "error": "Expected output to contain x"}, 0),
        ({"failureReason": 2, "error": "429"}, Undecided.ERRORED),
        ({"failureReason": None, "gradingResult": None, "error": "API error"}, Undecided.ERRORED),
        ({"gradingResult": None, "response": {"error": "refused"}}, Undecided.ERRORED),
        ({"gradingResult": {"componentResults": [{"metadata": {"graderError": True}}]}}, Undecided.ERRORED),
        ({"gradingResult": {"componentResults": [None, {"metadata": {}}, {}]}}, 0),
        ({"success": None}, None),
    ],
    ids=["assertion", "error", "old error", "provider", "grader", "no grader error", "no verdict"],
)
def test_an_error_is_no_failure(fields, value):
    if value is None:
        result = promptfoo_result(0, 0, success=True)
        (found,) = cells(promptfoo_log([result | fields])).values()
        assert found is Undecided.UNSCORED
    else:
        assert only_value(**fields) == value


def test_named_scores_are_metrics_and_a_result_without_one_is_missing():
    results = [
        promptfoo_result(0, 0, success=True, namedScores={"tone": 0.25}, score=0.5),
        promptfoo_result(1, 0, success=True),
    ]
    assert list(cells(promptfoo_log(results), "tone").values()) == [0.25, Undecided.MISSING]
    assert list(cells(promptfoo_log(results), "score").values()) == [0.5, 1.0]
    assert list(cells(promptfoo_log(results), "tone", only=["tone"]).values()) == [0.25, Undecided.MISSING]


def test_a_metric_that_is_not_asked_for_may_hold_anything():
    log = promptfoo_log([promptfoo_result(0, 0, success=True, namedScores={"letters": 412})])
    assert {row.metric for row in read(log, ["pass"]).rows} == {"pass"}
    assert "$.results.results[0].namedScores.letters: found 412, expected a score from 0 to 1" in fault(log)


def test_the_summary_alone_and_the_second_version_are_read():
    log = promptfoo_log([promptfoo_result(t, 0, success=t > 0) for t in range(2)])
    summary = log["results"]
    table = {"head": {"prompts": summary["prompts"], "vars": ["lake"]}, "body": []}
    second = {name: value for name, value in summary.items() if name != "prompts"} | {"version": 2, "table": table}
    assert cells(summary) == cells({"results": second}) == cells(log)
    for result in second["results"]:
        for name in ("testIdx", "promptIdx", "failureReason"):
            del result[name]
        result["provider"] = {"id": "acme:model-0"}
    del second["table"]
    assert cells({"results": second}) == cells(log)
    second["results"][0]["provider"] = "acme:model-0"
    assert cells({"results": second}) == cells(log)


def test_stated_passes_and_scores_are_means_over_all_tests():
    results = [promptfoo_result(t, 0, success=True) for t in range(3)]
    counts = {"testPassCount": 3, "testFailCount": 0, "testErrorCount": 1, "score": 2.0}
    stated = {one.metric: one.value for one in read(promptfoo_log(results, **counts)).headlines}
    assert stated == {"pass": 0.75, "score": 0.5}


@given(order=st.permutations(range(4)))
@LAW
def test_the_order_of_results_makes_no_difference(order):
    results = [promptfoo_result(n // 2, n % 2, success=n > 1) for n in range(4)]
    mixed = promptfoo_log([results[n] for n in order], prompts=2)
    assert joined("promptfoo", [read(mixed)]).hash == joined("promptfoo", [read(promptfoo_log(results, 2))]).hash


GOOD = promptfoo_result(0, 0, success=True)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([GOOD, GOOD], "at $.results.results[1]: found test 0 with prompt 0 a second time"),
        ([GOOD | {"promptIdx": 4}], "at $.results.results[0].promptIdx: found 4, expected the number of one of the 1"),
        ([GOOD | {"failureReason": 9}], "at $.results.results[0].failureReason: found 9, expected 0, 1 or 2"),
        ([GOOD | {"success": 1}], "at $.results.results[0].success: found 1, expected true or false"),
        ([GOOD | {"score": -1}], "at $.results.results[0].score: found -1, expected a score from 0 to 1"),
        ([GOOD | {"score": float("inf")}], "at $.results.results[0].score: found Infinity, expected a finite number"),
        ([GOOD | {"testIdx": "a"}], 'at $.results.results[0].testIdx: found "a", expected a whole number of 0 or more'),
        ([GOOD | {"testCase": {"vars": {"a": float("nan")}}}], "expected variables of finite numbers and of text"),
        ([GOOD | {"testCase": {"vars": {"a": "\udc00"}}}], "expected variables of finite numbers and of text"),
        ([], "found no result in it, expected one or more; run promptfoo again"),
    ],
)
def test_what_breaks_the_format_is_refused_with_its_place(results, said):
    assert said in fault(promptfoo_log(results))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 4}, "at $.results.version: found 4, expected version 2 or 3 of the format"),
        ({"results": None}, "at $.results.results: found null, expected a list"),
        ({"prompts": [{}]}, "at $.results.prompts[0]: found an object, expected an object with the field 'provider'"),
    ],
)
def test_a_summary_that_breaks_the_format_is_refused(change, said):
    log = promptfoo_log([GOOD])
    log["results"] |= change
    assert said in fault(log)
