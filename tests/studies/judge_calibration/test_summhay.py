"""SummHay: six judges on 1,419 insights and summaries, beside the labels that people gave.

People and judges say whether a summary covers an insight fully, partially or not; the converter reads these as
SUPPORTED, AMBIGUOUS and UNSUPPORTED. The published accuracies of linking are out of reach: they compare the bullet of
the summary that a judge names with the one that people named, and no gold tuple names a part of its passage.

Source of the data: salesforce/summary-of-a-haystack, Apache-2.0.
"""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from statsmodels.stats.contingency_tables import mcnemar

from eval_pipeline.records import Alignment, Outcome, Reason
from eval_pipeline.stats.beta_binomial import Beta
from eval_pipeline.stats.effects import leave_one_out_correlations
from eval_pipeline.studies.judge_calibration.comparison import compared
from eval_pipeline.studies.judge_calibration.confusion import Prediction, error_rates
from eval_pipeline.studies.judge_calibration.gold import GoldTuple
from eval_pipeline.studies.judge_calibration.recorded import (
    Calibration,
    Hashes,
    Levels,
    RecordedClaim,
    RecordedJudge,
    TupleOutcome,
)
from tests.studies.judge_calibration.made_up import LEVEL

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
NEEDED = [DATA / name for name in ("summhay", "convert/summhay.py", "published.json", "expected.json")]
pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in NEEDED), reason=f"the third-party data are not beside the project, at {DATA}"
)
# The name under which the converter files a judge, and the one under which its correlation was published.
JUDGES = {
    "prompted_gpt-4o": "gpt-4o",
    "prompted_claude3-haiku": "claude3-haiku",
    "prompted_claude3-opus": "claude3-opus",
    "prompted_gemini-1.5-pro": "gemini-1.5-pro",
    "prompted_gpt3.5": "gpt3.5",
    "9fs_gpt-4o": "gpt-4o-9fs",
}
COVERED = {Alignment.SUPPORTED: 1.0, Alignment.AMBIGUOUS: 0.5, Alignment.UNSUPPORTED: 0.0}


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    """The predictions of each judge, in the order of the gold tuples."""
    out = tmp_path_factory.mktemp("summhay")
    subprocess.run([sys.executable, DATA / "convert" / "summhay.py", DATA / "summhay", out], check=True)
    gold = {
        row["tuple_id"]: GoldTuple(
            index, row["claim"], row["source_excerpt"], "none", "", Alignment(row["label"]), (), None, {}
        )
        for index, row in enumerate(lines_of(out / "gold.jsonl"))
    }
    said = {judge: {} for judge in JUDGES}
    for row in lines_of(out / "judge_observations.jsonl"):
        assert gold[row["tuple_id"]].expected == row["truth"]
        said[row["judge"]][row["tuple_id"]] = Alignment(row["verdict"])
    return {
        judge: [Prediction(item, labels[name], None, None, None) for name, item in gold.items()]
        for judge, labels in said.items()
    }


@pytest.fixture(scope="module")
def rates(predictions):
    return {judge: error_rates(made, level=LEVEL) for judge, made in predictions.items()}


@pytest.fixture(scope="module")
def expected():
    """Rates of another program, to four decimals."""
    return json.loads((DATA / "expected.json").read_text())["summhay_judges"]


@pytest.fixture(scope="module")
def published():
    return json.loads((DATA / "published.json").read_text())["summhay"]


def same(rate, printed):
    """Whether a rate is the one that was printed with four decimals."""
    return rate.estimate is not None and abs(float(rate.estimate) - printed) <= 0.5e-4 + 1e-12


def test_all_six_judges_are_here(predictions, expected, published):
    assert set(predictions) == set(JUDGES) == set(expected)
    assert set(published["pearson"]) == set(JUDGES.values())
    assert {len(made) for made in predictions.values()} == {1419}


@pytest.mark.parametrize("judge", JUDGES)
def test_the_confusion_of_each_judge_is_as_expected(rates, expected, judge):
    table = expected[judge]["confusion_truth_then_verdict"]
    assert rates[judge].matrix == {(truth, said): n for truth, row in table.items() for said, n in row.items() if n}


@pytest.mark.parametrize("judge", JUDGES)
def test_the_false_negatives_and_false_positives_of_each_judge_are_as_expected(rates, expected, judge):
    """Full coverage is the positive, or any; where partially covered ones are left out, full against none."""
    there, found = expected[judge], rates[judge]
    full, none = found.per_class["SUPPORTED"], found.per_class["UNSUPPORTED"]
    assert same(full.false_negatives, there["fnr_only_full_is_positive"])
    assert same(full.false_positives, there["fpr_only_full_is_positive"])
    # Any coverage is missed where it is called none, and claimed wrongly where none is called some.
    assert same(none.false_positives, there["fnr_partial_is_positive"])
    assert same(none.false_negatives, there["fpr_partial_is_positive"])
    assert same(full.false_negatives, there["fnr_gold_ambiguous_excluded"])
    assert same(found.false_clear, there["fpr_gold_ambiguous_excluded"])


@pytest.mark.parametrize("judge", JUDGES)
def test_the_accuracy_of_each_judge_is_as_expected_and_its_complement_is_either_rate_of_the_gate(
    rates, expected, judge
):
    found, there = rates[judge], expected[judge]
    assert found.false_negatives == found.false_positives  # no tuple has a rule
    assert abs(1 - float(found.false_negatives.estimate) - there["accuracy3"]) <= 0.5e-4 + 1e-12
    right = found.false_negatives.n - found.false_negatives.errors
    belief = Beta(1, 1).updated(right, found.false_negatives.n)
    posterior = there["beta_1_1_posterior_of_agreement"]
    assert (belief.a, belief.b) == (posterior["a"], posterior["b"])
    assert belief.mean == pytest.approx(posterior["mean"], abs=0.51e-4)
    interval = belief.interval(level=Fraction(95, 100))
    assert (interval.low, interval.high) == pytest.approx(posterior["ci95"], abs=0.51e-4)


@pytest.mark.parametrize("judge", JUDGES)
def test_the_correlation_of_each_judge_with_the_people_is_the_published_one(predictions, expected, published, judge):
    """Pearson's, of full coverage as 1, partial as 1/2 and none as 0; published with three decimals."""
    scores = [[COVERED[one.item.expected], COVERED[one.label]] for one in predictions[judge]]
    people, machine = leave_one_out_correlations(scores)  # of two parts, each with the other
    assert people.correlation == pytest.approx(machine.correlation, abs=1e-12)
    assert people.correlation == pytest.approx(expected[judge]["pearson"], abs=0.51e-4)
    assert people.correlation == pytest.approx(published["pearson"][JUDGES[judge]], abs=0.51e-3)


def calibration_of(judge, predictions):
    """The judge's calibration as a report holds it."""
    outcomes = [
        TupleOutcome(index=one.item.index, expected=one.item.expected, answered=one.label) for one in predictions
    ]
    return Calibration(
        study="judge-calibration",
        plan="none",
        judge=RecordedJudge(kind="recorded", fingerprints={"summhay": judge}),
        hashes=Hashes(gold="summhay", plan="none"),
        levels=Levels(intervals=float(LEVEL)),
        claims=(RecordedClaim(outcome=Outcome.FAIL, reason=Reason.THRESHOLD_MISSED, detail=""),),
        tuples=tuple(outcomes),
    )


@pytest.mark.parametrize("judge", [judge for judge in JUDGES if judge != "prompted_gemini-1.5-pro"])
def test_the_best_judge_is_told_from_each_other_by_mcnemar_as_statsmodels_has_it(predictions, expected, judge):
    """mcnemar(table, exact=True), statsmodels 0.14."""
    best = "prompted_gemini-1.5-pro"
    one, other = (calibration_of(name, predictions[name]) for name in (best, judge))
    found = compared(one, other)
    cells = found.everything
    table = [[cells.both_right, cells.only_first], [cells.only_second, cells.both_wrong]]
    assert cells.n == 1419
    assert cells.p_value == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-9)
    assert cells.p_value < 0.05
    gain = expected[best]["accuracy3"] - expected[judge]["accuracy3"]
    assert float(found.false_negatives.change) == pytest.approx(gain, abs=1.1e-4)
    assert found.false_negatives.interval.low > 0
