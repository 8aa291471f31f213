"""The bundled sample: people's labels find exactly what was planted in it, and words in common nearly do."""

import json
from dataclasses import replace

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.source import SAMPLE, pinned
from eval_pipeline.judge.offline import LexicalJudge, read_labels
from eval_pipeline.records import Reason
from eval_pipeline.studies.extraction.fixture import read_fixture

TRUTH = json.loads((bundled("sample") / "truth.json").read_text(encoding="utf-8"))
# Labels are of propositions and not of pairs, so that what is vague or told in halves is simply not supported.
NOT_LABELLED = {"vague_signals", "composition_only"}


@pytest.fixture(scope="session")
def sample(world_of):
    """The bundled corpus with its propositions."""
    fixture = read_fixture(bundled("sample") / "propositions.jsonl")
    return replace(world_of([]), snapshot=pinned(SAMPLE), fixture=fixture)


@pytest.fixture(scope="session")
def labelled(sample, shipped, amended, run_study):
    """The study under the planted labels, with every span judged."""
    plan = amended(shipped, guard={"spans": 1000})
    return run_study(sample, plan, read_labels(bundled("sample") / "labels.jsonl"))


@pytest.fixture(scope="session")
def lexical(sample, shipped, run_study):
    """The study as it is run without a model."""
    return run_study(sample, shipped, LexicalJudge())


def test_people_find_exactly_what_was_planted(sample, labelled):
    recall, guard = labelled.evidence.recall, labelled.evidence.guard
    assert {
        "entries": recall.judged_entries,
        "dense_entries": recall.dense_entries,
        "propositions": recall.pooled.judged,
        "supported": recall.pooled.hits,
        "by_quartile": {
            str(place): {"supported": group.hits, "judged": group.judged}
            for place, group in enumerate(recall.by_quartile, 1)
        },
        "live_signals": guard.judged,
        "deleted_signals": sample.snapshot.left_out.deleted_signals,
        "inventions": len(guard.inventions),
    } == {name: number for name, number in TRUTH.items() if name not in NOT_LABELLED}


def test_the_planted_loss_at_the_end_fails_uniformity_and_leaves_recall_and_precision(labelled):
    assert labelled.outcomes == ("pass", "fail", "pass")
    assert labelled.recall.numerator == TRUTH["supported"]
    assert labelled.uniformity.reason is Reason.THRESHOLD_MISSED


def test_words_in_common_come_within_five_points_of_the_truth(lexical):
    truth = TRUTH["supported"] / TRUTH["propositions"]
    recall = lexical.evidence.recall
    assert float(recall.pooled.estimate) == pytest.approx(truth, abs=0.05)
    for place, group in enumerate(recall.by_quartile, 1):
        planted = TRUTH["by_quartile"][str(place)]
        assert float(group.estimate) == pytest.approx(planted["supported"] / planted["judged"], abs=0.05)


def test_words_in_common_see_the_loss_at_the_end_and_clear_nothing(lexical):
    assert (lexical.uniformity.outcome, lexical.uniformity.reason) == ("fail", Reason.THRESHOLD_MISSED)
    assert (lexical.recall.outcome, lexical.recall.reason) == ("warn", Reason.UNCALIBRATED)


def test_words_in_common_find_propositions_that_only_several_signals_tell(lexical):
    assert 1 <= lexical.evidence.recall.composition_only <= 3 * TRUTH["composition_only"]
