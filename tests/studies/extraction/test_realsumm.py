"""REALSumm: the study on 100 articles, 1,056 content units and the summaries of 17 systems, as people labelled them.

Source of the data: neulab/REALSumm, CC BY 4.0.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.corpus.folder import read_folder
from eval_pipeline.judge.offline import read_labels
from eval_pipeline.records import Reason
from eval_pipeline.studies.extraction.fixture import read_fixture

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
NEEDED = [DATA / name for name in ("realsumm", "convert/realsumm.py", "published.json", "expected.json")]
pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in NEEDED), reason=f"the third-party data are not beside the project, at {DATA}"
)
# The name under which the converter files a system, and the one under which its recall was published.
SYSTEMS = {
    "abs__banditsumm_out": "ext__banditsumm_out",
    "abs__bart_out": "abs__bart_out",
    "abs__fast_abs_rl_out_rerank": "abs__fast_abs_rl_out_rerank",
    "abs__neusumm_out": "ext__neusumm_out",
    "abs__presumm_out_abs": "abs__presumm_out_abs",
    "abs__presumm_out_trans_abs": "abs__presumm_out_trans_abs",
    "abs__ptr_generator_out_pointer_gen_cov": "abs__ptr_generator_out_pointer_gen_cov",
    "abs__t5_out_11B": "abs__t5_out_11B",
    "abs__t5_out_large": "abs__t5_out_large",
    "abs__two_stage_rl_out": "abs__two_stage_rl_out",
    "abs__unilm_out_v1": "abs__unilm_out_v1",
    "ext__bart_out": "ext__bart_out",
    "ext__heter_graph_out": "ext__heter_graph_out",
    "ext__pnbert_out_bert_lstm_pn": "ext__pnbert_out_bert_lstm_pn",
    "ext__pnbert_out_bert_lstm_pn_rl": "ext__pnbert_out_bert_lstm_pn_rl",
    "ext__pnbert_out_bert_tf_sl": "ext__pnbert_out_bert_tf_sl",
    "ext__pnbert_out_lstm_pn_rl": "ext__pnbert_out_lstm_pn_rl",
}


@pytest.fixture(scope="session")
def converted(tmp_path_factory):
    """The data in the shapes of the study."""
    out = tmp_path_factory.mktemp("realsumm")
    subprocess.run([sys.executable, DATA / "convert" / "realsumm.py", DATA / "realsumm", out], check=True)
    for system in out.iterdir():
        if system.is_dir():
            shutil.copy(out / "entries.jsonl", system)
    return out


@pytest.fixture(scope="session")
def without_dense(shipped, amended):
    """The shipped plan without its table on long entries, of which there are 20 of 100 here."""
    return amended(shipped, design={"dense": None})


@pytest.fixture(scope="session")
def study_of(converted, world_of, run_study, without_dense):
    """The study of one system under the people's labels."""
    fixture, nothing = read_fixture(converted / "propositions.jsonl"), world_of([])

    def study(system, plan=without_dense):
        world = replace(nothing, snapshot=read_folder(converted / system), fixture=fixture)
        return run_study(world, plan, read_labels(converted / system / "human_labels.jsonl"))

    return study


@pytest.fixture(scope="session")
def expected():
    """Counts and intervals of another program's cluster bootstrap."""
    return json.loads((DATA / "expected.json").read_text())["realsumm"]


@pytest.fixture(scope="session")
def published():
    """The recalls that were published, and what is wrong with one of them."""
    return json.loads((DATA / "published.json").read_text())["realsumm"]


def test_all_seventeen_systems_are_here(converted, expected, published):
    assert {path.name for path in converted.iterdir() if path.is_dir()} == set(SYSTEMS) == set(expected)
    assert set(SYSTEMS.values()) == set(published["systems"])
    assert len(SYSTEMS) == 17


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_system_has_its_published_recall_and_the_intervals_of_another_program(
    study_of, expected, published, system
):
    found = study_of(system).evidence
    assert_macro_recall_is_published(found.recall, published, SYSTEMS[system])
    assert_counts_agree(found.recall, expected[system])
    assert_intervals_agree(found, expected[system])


def assert_macro_recall_is_published(recall, published, name):
    """To four decimals. The one value that differs repeats that of another system; its right one stands beside it."""
    mean = published["systems"][name]["published_mean_of_100"]
    if name == "abs__bart_out":
        assert mean == published["systems"]["ext__bart_out"]["published_mean_of_100"]
        mean = published["abs_bart_out_true_value"]["value"]
    assert float(recall.macro) == pytest.approx(mean, abs=5e-5)


def assert_counts_agree(recall, number):
    """What was counted is the same; shares are given there with four decimals."""
    assert (recall.pooled.hits, recall.pooled.judged) == (number["supported"], number["propositions"])
    assert recall.judged_entries == number["entries"]
    assert [group.judged for group in recall.by_quartile] == number["n_by_quartile"]
    assert [round(float(group.estimate), 4) for group in recall.by_quartile] == number["recall_by_quartile"]
    assert round(float(recall.macro), 4) == number["macro_recall"]
    assert round(float(recall.pooled.estimate), 4) == number["pooled_recall"]


def assert_intervals_agree(found, number):
    """Both programs draw entries again, each from its own stream: their ends agree as closely as 1,000 draws allow."""
    pooled, bound, two_sided = found.recall.pooled, found.uniformity.bound, found.uniformity.two_sided
    assert ends(pooled.interval) == pytest.approx(number["pooled_recall_ci95"], abs=0.01)
    assert float(bound.estimate) == pytest.approx(number["q1_minus_q4"], abs=1e-4)
    assert float(bound.interval.high) == pytest.approx(number["q1_minus_q4_upper95_onesided"], abs=0.015)
    spread = found.uniformity.spread
    assert float(spread.estimate) == pytest.approx(number["max_minus_min"], abs=1e-4)
    assert float(spread.interval.high) == pytest.approx(number["max_minus_min_upper95"], abs=0.015)
    assert ends(two_sided.interval) == pytest.approx(number["q1_minus_q4_ci95"], abs=0.02)


def ends(interval):
    return [float(interval.low), float(interval.high)]


def test_the_largest_t5_is_counted_exactly_and_fails_both_claims(study_of):
    study = study_of("abs__t5_out_11B")
    assert study.recall.estimate == Fraction(496, 1056)
    assert (study.recall.numerator, study.recall.denominator) == (496, 1056)
    assert [(group.hits, group.judged) for group in study.evidence.recall.by_quartile] == [
        (381, 692),
        (68, 175),
        (26, 109),
        (21, 80),
    ]
    assert study.outcomes == ("fail", "fail", "skip")
    assert (study.recall.reason, study.uniformity.reason) == (Reason.THRESHOLD_MISSED,) * 2
    assert study.guard.reason is Reason.SPAN_PENDING


def test_under_the_shipped_plan_the_articles_are_too_short_to_decide(study_of, shipped):
    study = study_of("abs__t5_out_11B", shipped)
    assert study.outcomes == ("skip", "skip", "skip")
    for verdict in (study.recall, study.uniformity):
        assert (verdict.reason, verdict.advisory) == (Reason.UNDERPOWERED, True)
        assert verdict.detail.startswith("20 of 100 entries have 1000 words or more")
    assert study.recall.estimate == Fraction(496, 1056)
    assert study.uniformity.estimate == Fraction(381, 692) - Fraction(21, 80)
