"""RAGChecker's worked examples: its claim recall and precision, as exact fractions through the study's own functions.

Source of the data: amazon-science/RAGChecker, Apache-2.0.
"""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.offline import LabelsJudge
from eval_pipeline.records import Entry, Proposition, Signal
from eval_pipeline.studies.extraction.fixture import Fixture

EXAMPLES = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "ragchecker" / "examples"
pytestmark = pytest.mark.skipif(
    not EXAMPLES.exists(), reason=f"the third-party data are not beside the project, at {EXAMPLES}"
)


@pytest.fixture(scope="session")
def checked():
    """The examples with their claims, verdict matrices and published numbers, by query."""
    results = json.loads((EXAMPLES / "checking_outputs.json").read_text())["results"]
    return {result["query_id"]: result for result in results}


def claim_text(claim):
    return " ".join(claim)


@pytest.fixture(scope="session")
def study_of(world_of, lenient, run_study):
    """An answer as two entries: its claims against the response as one signal, the response's claims in the answer."""

    def study(result):
        recall, precision = f"recall-{result['query_id']}", f"precision-{result['query_id']}"
        gold = [claim_text(claim) for claim in result["gt_answer_claims"]]
        said = [claim_text(claim) for claim in result["response_claims"]]
        answer = result["gt_answer"]
        signals = [Signal("response", recall, result["response"], None, None, None)]
        signals += [Signal(f"said-{n:02d}", precision, text, 0, len(answer), None) for n, text in enumerate(said)]
        corpus = Snapshot(
            (Entry(precision, None, None, answer), Entry(recall, None, None, answer)),
            tuple(sorted(signals, key=lambda signal: signal.id)),
            LeftOut(0, 0, 0, 0),
            "RAGChecker",
            refusal=None,
        )
        fixture = Fixture(
            tuple(Proposition(recall, 4 * n // len(gold) + 1, text) for n, text in enumerate(gold)), refusal=None
        )
        verdicts = [(recall, gold, result["response2answer"]), (precision, said, result["answer2response"])]
        labels = {
            (entry_id, text): verdict == "Entailment"
            for entry_id, texts, matrix in verdicts
            for text, verdict in zip(texts, matrix, strict=True)
        }
        world = replace(world_of([]), snapshot=corpus, fixture=fixture)
        return run_study(world, lenient, LabelsJudge(labels, "RAGChecker"))

    return study


@pytest.mark.parametrize(
    ("query", "recall", "precision"),
    [("0", Fraction(11, 22), Fraction(8, 11)), ("1", Fraction(6, 8), Fraction(4, 5))],
)
def test_recall_and_precision_are_the_published_ones_exactly(checked, study_of, query, recall, precision):
    study = study_of(checked[query])
    pooled, guard = study.evidence.recall.pooled, study.evidence.guard
    assert (pooled.estimate, pooled.undecided) == (recall, 0)
    assert (Fraction(guard.supported, guard.judged), guard.undecided) == (precision, 0)
    published = checked[query]["metrics"]
    assert (float(recall), float(precision)) == (published["recall"], published["precision"])
