"""Test runs of DeepEval: a run that it saved, in its names or in those of older releases, or an evaluation result."""

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from eval_pipeline.importers.place import Place, by_name, parse_log
from eval_pipeline.importers.results import Headline, Row, Scored, Undecided, item_named, row_of

PASSED = "passed"
_CASES = ("testCases", "test_cases", "test_results", "testResults")
_CONVERSATIONS = ("conversationalTestCases", "conversational_test_cases")
_METRICS = ("metricsData", "metrics_data", "metricsMetadata", "metrics_metadata")
_EXACT = 1e-9


def read_deepeval(
    data: bytes, file: str, system: str, only: frozenset[str]
) -> tuple[tuple[Row, ...], tuple[Headline, ...]]:
    """The rows and the stated means of a file.

    Each metric gives its score, and `passed` says whether the whole test case did. Cases with one input are repeats of
    one item.

    Raises: MalformedLog: it breaks its format, or holds a case or a metric of a case twice.
    """
    log = parse_log(data, file)
    run = log.maybe("testRunData") or log
    named = run.maybe("identifier")
    system = named.text() if named else system
    cases = _cases(run)
    for _ in by_name([case for case in cases if case.maybe("order")], _identity):
        pass
    tables = [_scores(case) for case in cases]
    metrics = dict.fromkeys(metric for table in tables for metric in table)
    times: Counter[str] = Counter()
    rows: list[Row] = []
    for case, table in zip(cases, tables, strict=True):
        item = _item(case)
        times[item] += 1
        rows += [
            row_of(system, metric, item, times[item], table.get(metric, Undecided.MISSING))
            for metric in metrics
            if not only or metric in only
        ]
    return tuple(rows), tuple(one for one in _headlines(run, system) if not only or one.metric in only)


def _cases(run: Place) -> list[Place]:
    found = [run.maybe(*names) for names in (_CASES, _CONVERSATIONS)]
    if not any(found):
        raise run.refusal(
            "an object with the field 'testCases' or 'test_results'",
            "give the test run that DeepEval saved, or what evaluate() returned as JSON",
        )
    return [case for cases in found if cases for case in cases.items()]


def _item(case: Place) -> str:
    text = case.maybe("input") or case.maybe("scenario") or case.field("name")
    return item_named(text.text())


def _identity(case: Place) -> str:
    order = case.field("order").whole(at_least=0)
    return f"test case {case.field('name').text()!r}, order {order}, input {_item(case)!r}"


def _scores(case: Place) -> dict[str, Scored]:
    """The score of each metric of a case, and whether the case passed."""
    metrics = case.maybe(*_METRICS)
    scores: dict[str, Scored] = {}
    named = by_name(metrics.items() if metrics else [], lambda metric: metric.field(_name_of(metric)).text())
    for name, metric in named:
        scores[name] = _score(metric)
    scores[PASSED] = _passed(case, metrics.items() if metrics else [])
    return scores


def _name_of(metric: Place) -> str:
    return "name" if metric.maybe("name") else "metric"


def _score(metric: Place) -> Scored:
    if metric.maybe("error"):
        return Undecided.ERRORED
    score = metric.maybe("score")
    return Undecided.MISSING if score is None else score.score()


def _passed(case: Place, metrics: list[Place]) -> Scored:
    """Whether a case passed; one that only a metric without a score keeps from it may have."""
    success = case.maybe("success")
    if success is None:
        return Undecided.MISSING
    errored = [metric for metric in metrics if isinstance(_score(metric), Undecided)]
    failed = [metric for metric in metrics if metric not in errored and _failed(metric)]
    return Undecided.ERRORED if errored and not failed else float(success.flag())


def _failed(metric: Place) -> bool:
    success = metric.maybe("success")
    return success is not None and not success.flag()


def _headlines(run: Place, system: str) -> Iterator[Headline]:
    passed, failed = run.maybe("testPassed", "test_passed"), run.maybe("testFailed", "test_failed")
    if passed and failed and passed.whole(at_least=0) + failed.whole(at_least=0):
        share = passed.value / (passed.value + failed.value)
        yield Headline(system, PASSED, "test cases that passed", share, _EXACT)
    stated = run.maybe("metricsScores", "metrics_scores")
    for one in stated.items() if stated else []:
        name, scores = one.field("metric").text(), [score.number() for score in one.field("scores").items()]
        if scores:
            yield Headline(system, name, f"{name}, mean", fmean(scores), _EXACT)
