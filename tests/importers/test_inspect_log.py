"""Inspect's logs: every value by its meaning, epochs by their item, and what has no score never a 0."""

import io
import json
import math
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers.kinds import log_of
from eval_pipeline.importers.results import Undecided, joined
from tests.importers.logs import archived, as_bytes, inspect_log, inspect_sample, inspect_score, zipped
from tests.stats.laws import LAW


def read(log, only=()):
    return log_of("inspect", log if isinstance(log, bytes) else as_bytes(log), "run.json", frozenset(only))


def cells(log, metric="match", only=()):
    """The score, or why there is none, of each item and epoch."""
    rows = read(log, only).rows
    return {(row.item, row.repeat): row.undecided or row.score for row in rows if row.metric == metric}


def fault(log):
    with pytest.raises(MalformedLog) as refusal:
        read(log)
    assert len(refusal.value.faults) == 1
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1), ("I", 0), ("P", 0.5), ("yes", 1), ("No", 0), ("TRUE", 1), ("false", 0), ("0.25", 0.25),
        (True, 1), (False, 0), (1, 1), (0.75, 0.75),
        ("N", Undecided.REFUSED), (math.nan, Undecided.UNSCORED), (None, Undecided.UNSCORED),
    ],
)  # fmt: skip
def test_a_value_counts_for_what_it_means(value, score):
    assert cells(inspect_log([inspect_sample(1, match=value), inspect_sample(2, match="C")]))["1", 1] == score


@pytest.mark.parametrize(("value", "shown"), [(7, "7"), (-0.1, "-0.1"), ("1.5", "1.5"), (math.inf, "Infinity")])
def test_a_number_that_is_no_score_is_refused_with_its_place(value, shown):
    said = fault(inspect_log([inspect_sample(1, match="C"), inspect_sample(2, match=value)]))
    assert said.startswith(f"log 'run.json' has 1 fault: at $.samples[1].scores.match.value: found {shown}, expected")
    assert "a finite number" in said or "a score from 0 to 1; rescale it" in said


def test_a_word_that_inspect_would_count_as_0_is_refused():
    said = fault(inspect_log([inspect_sample(1, match="mostly right")]))
    assert 'found "mostly right", expected C, I, P, N, yes, no, true, false or a number' in said


@pytest.mark.parametrize("text", ["nan", "1e999999999", "-inf"])
def test_a_text_that_is_no_finite_number_is_refused_at_once(text):
    assert "a finite number" in fault(inspect_log([inspect_sample(1, match=text)]))


def test_a_sample_that_errored_has_no_score_even_where_it_was_scored():
    errored = inspect_sample(2, match="I") | {"error": {"message": "timed out", "traceback": ""}}
    invalidated = inspect_sample(3, match="C") | {"invalidation": {"author": "ann", "reason": "leaked"}}
    found = cells(inspect_log([inspect_sample(1, match="C"), errored, invalidated]))
    assert found == {("1", 1): 1, ("2", 1): Undecided.ERRORED, ("3", 1): Undecided.INVALIDATED}


def test_a_refusal_that_the_scorer_names_is_one():
    refused = inspect_sample(1, match=math.nan)
    refused["scores"]["match"]["reason"] = "refusal"
    assert cells(inspect_log([refused, inspect_sample(2, match="C")]))["1", 1] is Undecided.REFUSED


def test_a_scorer_that_passed_over_a_sample_is_missing_there():
    log = inspect_log([inspect_sample(1, match="C", tone=0.5), inspect_sample(2, match="C")])
    assert cells(log, "tone") == {("1", 1): 0.5, ("2", 1): Undecided.MISSING}


def test_a_score_with_parts_is_a_metric_a_part():
    log = inspect_log(
        [
            inspect_sample(1, judge={"tone": 0.5, "form": "C"}, pair=[1, 0]),
            inspect_sample(2, judge={"tone": None, "form": "I"}, pair=[0, 0]),
            inspect_sample(3, judge=math.nan, pair=[1, 1]),
        ]
    )
    assert {row.metric for row in read(log).rows} == {"judge.tone", "judge.form", "pair[0]", "pair[1]"}
    assert cells(log, "judge.tone") == {("1", 1): 0.5, ("2", 1): Undecided.UNSCORED, ("3", 1): Undecided.UNSCORED}
    assert cells(log, "pair[1]") == {("1", 1): 0, ("2", 1): 0, ("3", 1): 1}


def test_samples_that_were_planned_and_are_not_there_are_missing_and_said():
    log = inspect_log([inspect_sample("a", 1, match="C"), inspect_sample("a", 2, match="I")], status="cancelled")
    log["eval"] |= {"dataset": {"sample_ids": ["a", "b"], "samples": 2}, "config": {"epochs": 2}}
    log["results"] = None
    assert cells(log) == {
        ("a", 1): 1, ("a", 2): 0, ("b", 1): Undecided.MISSING, ("b", 2): Undecided.MISSING,
    }  # fmt: skip
    assert read(log).notes == (
        "Inspect ended with the status cancelled",
        "2 samples that were to be asked are not in the log",
    )


def test_ids_of_another_selection_than_the_one_that_ran_are_not_missed():
    log = inspect_log([inspect_sample("a", match="C")])
    log["eval"]["dataset"] = {"sample_ids": ["a", "b", "c"]}
    assert cells(log) == {("a", 1): 1}


def test_a_log_of_which_every_sample_errored_has_its_declared_metrics_and_no_score():
    errored = inspect_sample(1) | {"error": {"message": "no network"}}
    log = inspect_log([errored])
    log["eval"]["scorers"] = [{"name": "match"}, {"name": "judge", "metrics": {"tone": [], "*": []}}]
    assert {(row.metric, row.undecided) for row in read(log).rows} == {
        ("match", Undecided.ERRORED), ("judge.tone", Undecided.ERRORED),
    }  # fmt: skip


def reduced(values, rule="mode"):
    samples = [{"sample_id": item, "value": value} for item, value in values.items()]
    return {"scorer": "match", "reducer": rule, "samples": samples}


def test_another_rule_for_epochs_than_the_mean_is_a_metric_of_its_own():
    samples = [inspect_sample(item, epoch, match="C") for item in (1, 2) for epoch in (1, 2)]
    log = inspect_log(samples, reductions=[reduced({1: "C", 2: "I"}), reduced({1: 1.0, 2: 0.5}, "mean")])
    assert {row.metric for row in read(log).rows} == {"match", "match/mode"}
    assert cells(log, "match/mode") == {("1", 1): 1, ("2", 1): 0}
    assert cells(log, "match/mode", only=["match/mode"]) == {("1", 1): 1, ("2", 1): 0}
    assert cells(log, "match", only=["match/mode"]) == {}


def test_what_rests_on_an_epoch_without_a_score_is_undecided_too():
    samples = [inspect_sample(1, 1, match="C"), inspect_sample(1, 2, match="N"), inspect_sample(2, 1, match="C")]
    log = inspect_log(samples, reductions=[reduced({1: "C", 2: "C"}, "pass_at_2")])
    assert cells(log, "match/pass_at_2") == {("1", 1): Undecided.REFUSED, ("2", 1): 1}


@pytest.mark.parametrize("second", [1, "1"])
def test_a_sample_and_epoch_twice_is_refused(second):
    said = fault(inspect_log([inspect_sample(1, match="C"), inspect_sample(second, match="I")]))
    assert "at $.samples[1]: found sample '1' of epoch 1 a second time, first at $.samples[0]" in said


@given(copies=st.integers(2, 4), at=st.integers(0, 3))
@LAW
def test_copies_of_a_sample_never_add_to_the_evidence(copies, at):
    samples = [inspect_sample(item, match="C") for item in range(4)]
    with pytest.raises(MalformedLog, match="a second time"):
        read(inspect_log(samples + [samples[at]] * (copies - 1)))


@given(order=st.permutations(range(6)))
@LAW
def test_the_order_of_samples_makes_no_difference(order):
    samples = [inspect_sample(n // 2, n % 2 + 1, match="CIPN"[n % 4]) for n in range(6)]
    shuffled = inspect_log([samples[n] for n in order])
    assert joined("inspect", [read(shuffled)]).hash == joined("inspect", [read(inspect_log(samples))]).hash


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, 93])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_an_archive_says_the_same_as_the_json(method, in_pieces):
    samples = [inspect_sample(item, epoch, match="CI"[epoch - 1]) for item in (1, 2) for epoch in (1, 2)]
    log = inspect_log(samples, reductions=[reduced({1: "C", 2: "I"})])
    in_archive = read(archived(log, method=method, in_pieces=in_pieces))
    assert joined("inspect", [in_archive]).rows == joined("inspect", [read(log)]).rows
    assert in_archive.subject == "lakes"


def test_a_run_that_was_killed_is_read_from_its_journal():
    log = inspect_log([inspect_sample(1, match="C")])
    whole = archived(log)
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            if name != "header.json":
                new.writestr(name, old.read(name))
    assert cells(buffer.getvalue()) == {("1", 1): 1}


def test_a_log_from_before_samples_had_several_scorers_is_read():
    samples = [inspect_sample(1), inspect_sample(2)]
    for sample, value in zip(samples, "CI", strict=True):
        del sample["scores"]
        sample["score"] = {"value": value}
    results = {"scorer": {"name": "includes"}, "metrics": {"accuracy": {"name": "accuracy", "value": 0.5}}}
    log = inspect_log(samples, version=1, results=results)
    assert cells(log, "includes") == {("1", 1): 1, ("2", 1): 0}
    (stated,) = read(log).headlines
    assert (stated.metric, stated.value) == ("includes", 0.5)


def test_the_means_that_a_log_states_are_those_of_our_metrics():
    log = inspect_log([inspect_sample(1, match="C", judge={"tone": 0.25})])
    log["results"]["scores"] = [
        inspect_score("match", 1.0),
        inspect_score("match", 0.5, reducer="mode"),
        inspect_score("tone", 0.25, scorer="judge"),
    ]
    stated = {one.metric: (one.name, one.value) for one in read(log).headlines}
    assert stated == {
        "match": ("match accuracy", 1.0),
        "match/mode": ("match/mode accuracy", 0.5),
        "judge.tone": ("judge.tone accuracy", 0.25),
    }
    assert [one.metric for one in read(log, ["match"]).headlines] == ["match"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 3}, "at $.version: found 3, expected version 1 or 2 of the format; write the log with"),
        ({"eval": None}, "at $.eval: found null, expected an object"),
        ({"eval": {"model": "m"}}, "at $.eval: found an object, expected an object with the field 'task'"),
        ({"samples": None}, "expected a log with its samples; run Inspect without --no-log-samples"),
        ({"samples": {}}, "at $.samples: found an object, expected a list"),
        ({"samples": []}, "found no result in it, expected one or more; run inspect again"),
        ({"samples": [inspect_sample(1, 0, match="C")]}, "at $.samples[0].epoch: found 0, expected a whole number"),
        ({"samples": [inspect_sample(True, match="C")]}, "at $.samples[0].id: found true, expected a text"),
        ({"samples": [inspect_sample("\ud800", match="C")]}, "expected text without a lone surrogate"),
        ({"samples": [inspect_sample(1) | {"scores": [1]}]}, "at $.samples[0].scores: found a list, expected an obj"),
        ({"samples": [inspect_sample(1) | {"scores": {"a b": {}}}]}, "at $.samples[0].scores['a b']: found an object"),
    ],
)
def test_what_breaks_the_format_is_refused_with_its_place(change, said):
    assert said in fault(inspect_log([inspect_sample(1, match="C")]) | change)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "at line 1, column 2: found invalid JSON"),
        (b"\xff", "at byte 1: found a byte that is not UTF-8, expected JSON"),
        (b"[" * 100_000, "at $: found JSON nested too deep to read"),
        (b'{"eval": 1, "eval": 2}', "at $: found an object with the field 'eval' twice, expected it once"),
        (b'{"a": ' + b"9" * 101 + b"}", "at $: found an integer of 101 digits"),
        (b"[]", "at $: found a list, expected an object"),
        (json.dumps("text").encode(), 'at $: found "text", expected an object'),
    ],
    ids=["cut off", "latin", "deep", "doubled", "long", "list", "text"],
)
def test_what_is_no_log_at_all_is_refused(data, said):
    assert said in fault(data)


def test_a_sample_twice_in_an_archive_is_refused_with_both_members():
    log = inspect_log([inspect_sample(1, match="C"), inspect_sample("1", 1, match="I")])
    files = {"header.json": {name: log[name] for name in ("version", "status", "eval", "results")}}
    files |= {"samples/1_epoch_1.json": log["samples"][0], "samples/1_epoch_1/sample.json": log["samples"][1]}
    said = fault(zipped({name: as_bytes(one) for name, one in files.items()}))
    assert said.startswith("log 'run.json, samples/1_epoch_1/sample.json' has 1 fault: at $: found sample '1' of epoch")
    assert "first at $ of 'run.json, samples/1_epoch_1.json', expected it once" in said
