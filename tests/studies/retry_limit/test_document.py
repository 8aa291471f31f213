"""The document of the default run, and what it says of constants, charts and p-values."""

import json
from dataclasses import replace
from typing import Any

import pytest

from eval_pipeline.document import document_bytes
from eval_pipeline.observations import Log
from eval_pipeline.records import Outcome
from eval_pipeline.sealing import drawn_for
from eval_pipeline.studies.retry_limit.document import SCRIPT, constants
from eval_pipeline.studies.retry_limit.limit import Word
from eval_pipeline.studies.retry_limit.study import STUDY
from eval_pipeline.studies.retry_limit.verdict import CLAIMS
from tests.studies.retry_limit.conftest import SHIPPED

KEYS = "study plan generation simulated claims decision findings held_out constants charts settled".split()


@pytest.fixture(scope="module")
def run() -> tuple[Any, Any, dict[str, Any]]:
    """Findings, held-out findings and document of the shipped plan's own log."""
    log = STUDY.generate(SHIPPED)
    ids = list(dict.fromkeys(STUDY.unit(row) for row in log.rows))
    held = set(drawn_for({"": ids}, SHIPPED.held_out, generation=SHIPPED.generation).held_out)
    parts = [
        Log(tuple(row for row in log.rows if (STUDY.unit(row) in held) == side), log.simulated)
        for side in (False, True)
    ]
    found = STUDY.findings(parts[0], SHIPPED)
    replay = STUDY.held_out(found, parts[1], SHIPPED)
    return found, replay, STUDY.document(found, replay, SHIPPED)


def test_the_default_run_finds_its_planted_truth(run):
    """Retries with what was wrong pass sooner, and the third attempt, at .5 % and .9 %, is wasted."""
    document = run[2]
    assert document["decision"]["word"] == "calibrated"
    assert document["decision"]["max_attempts"] == 2
    assert document["decision"]["kept_arm"] == "with_prior_violations"
    assert document["decision"]["recommendation"] == "with_prior_violations_helps"
    assert [one["outcome"] for one in document["claims"]] == [Outcome.PASS.value] * len(CLAIMS)
    assert document["simulated"] is True


def test_the_document_has_its_keys_and_can_be_written(run):
    document = run[2]
    assert list(document) == KEYS
    assert json.loads(document_bytes(document)) == document
    assert [one["claim"] for one in document["claims"]] == list(STUDY.claims)
    assert len(document["settled"]) == len(SHIPPED.settled)
    assert [chart["name"] for chart in document["charts"]] == ["first_failures"]
    assert len(document["charts"][0]["points"]) == len(document["charts"][0]["upper"])


def test_no_p_value_is_rounded_to_0(run):
    found, _, document = run
    tests = document["findings"]["comparison"]
    assert 0 < found.comparison.p_value < 1e-10
    assert tests["p_value"] == tests["clustered"]["p_value"] == pytest.approx(found.comparison.p_value, rel=1e-5)
    assert tests["plain"]["p_value"] > 0
    assert document["findings"]["ablation"]["difference"]["p_value"] == pytest.approx(1 / 10001, rel=1e-5)


def test_what_was_generated_calibrates_no_constant(run):
    assert [one["heuristic"] for one in run[2]["constants"]] == [True, True]
    assert [one["data"] for one in run[2]["constants"]] == [None, None]


def test_a_constant_names_its_script_its_n_and_its_data(run):
    found, replay, _ = run
    made = replace(found, simulated=False)
    limit, rate = constants(made, replay.decision)
    assert (limit.name, limit.value, limit.script, limit.n, limit.data) == (
        "max_attempts", 2.0, SCRIPT, found.counted.sections, found.data
    )  # fmt: skip
    assert (rate.n, rate.data) == (found.preflight.event_rate.sections, found.data)


@pytest.mark.parametrize("word", [word for word in Word if word is not Word.CALIBRATED])
def test_a_limit_that_no_data_gave_is_a_heuristic(run, word):
    found, replay, _ = run
    limit, _ = constants(replace(found, simulated=False), replace(replay.decision, word=word, attempts=3))
    assert (limit.value, limit.script, limit.n, limit.data) == (3.0, None, None, None)


def test_the_decision_is_the_one_after_held_out_runs(run):
    found, replay, _ = run
    taken_back = replace(replay, decision=replace(replay.decision, word=Word.REVERTED, attempts=3))
    document = STUDY.document(found, taken_back, SHIPPED)
    assert (document["decision"]["word"], document["decision"]["max_attempts"]) == ("reverted", 3)


def test_a_plan_that_holds_nothing_out_has_no_replay(run):
    document = STUDY.document(run[0], None, SHIPPED)
    assert document["held_out"] is None
    assert document["decision"]["word"] == "calibrated"
    assert {one["claim"]: one["outcome"] for one in document["claims"]}["held_out_no_worse"] == "skip"
