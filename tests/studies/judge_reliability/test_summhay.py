"""SummHay's six judges as observations: 1,419 insights each, whose truth people published.

A summary that covers an insight fully makes the claim hold, one that does not cover it makes it fail; of one that is
covered in part neither is true, and a judge that says so leaves the claim open.

Source of the data: salesforce/summary-of-a-haystack, Apache-2.0.
"""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.studies.judge_reliability.abilities import abilities_of
from eval_pipeline.studies.judge_reliability.observations import read
from eval_pipeline.studies.judge_reliability.posterior import posterior_of
from eval_pipeline.studies.judge_reliability.words import Ability, Truth, Vote
from tests.studies.judge_reliability.made_up import changed

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
NEEDED = [DATA / name for name in ("summhay", "convert/summhay.py", "expected.json")]
pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in NEEDED), reason=f"the third-party data are not beside the project, at {DATA}"
)
VOTES = {"SUPPORTED": "PASS", "AMBIGUOUS": "INCONCLUSIVE", "UNSUPPORTED": "FAIL"}
TRUTHS = {"SUPPORTED": "HOLDS", "AMBIGUOUS": None, "UNSUPPORTED": "FAILS"}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    out = tmp_path_factory.mktemp("summhay")
    subprocess.run([sys.executable, DATA / "convert" / "summhay.py", DATA / "summhay", out], check=True)
    path = out / "log.jsonl"
    with path.open("w") as file:
        for line in (out / "judge_observations.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            kind, _, name = row["judge"].partition("_")
            written = {
                "run_id": row["tuple_id"].partition(":")[0],
                "judge_kind": kind,
                "judge_name": name,
                "claim_id": row["tuple_id"],
                "claim_type": "coverage",
                "grounding": "published",
                "verdict": VOTES[row["verdict"]],
                "confidence": 1.0,
                "caveat": None,
                "truth": TRUTHS[row["truth"]],
                "labels": None,
            }
            file.write(json.dumps(written) + "\n")
    return read(path)


@pytest.fixture(scope="module")
def expected():
    there = json.loads((DATA / "expected.json").read_text())["summhay_judges"]
    return {judge.replace("_", "/", 1): found for judge, found in there.items()}


def test_all_six_judges_are_here(log, expected):
    assert {row.judge for row in log.rows} == set(expected)
    assert len(log.rows) == 6 * 1419
    assert sum(row.truth is None for row in log.rows) == 6 * 386


def test_the_abilities_are_those_of_the_expected_confusions(log, expected, plan):
    cells = {(cell.judge, cell.ability): cell.posterior for cell in abilities_of(log.rows, plan).cells}
    assert len(cells) == 12
    for judge, there in expected.items():
        table = there["confusion_truth_then_verdict"]
        for ability, truth in ((Ability.SENSITIVITY, "SUPPORTED"), (Ability.SPECIFICITY, "UNSUPPORTED")):
            right, n = table[truth][truth], sum(table[truth].values())
            found = cells[judge, ability]
            assert (found.right, found.n, found.a, found.b) == (right, n, 7 + right, 3 + n - right)
        missed = 1 - Fraction(cells[judge, Ability.SENSITIVITY].right, 567)
        assert float(missed) == pytest.approx(there["fnr_gold_ambiguous_excluded"], abs=0.51e-4)


def test_the_posterior_of_agreement_is_the_expected_one_under_a_flat_prior(log, expected, plan):
    """Agreement counts partial coverage that people and judge both saw, of which no claim is true or false."""
    flat = changed(plan, prior={"right": 1, "wrong": 1}, persistence={"null": "1/2", "point": "mean"})
    abilities = abilities_of(log.rows, flat).overall
    for judge, there in expected.items():
        mine = [row for row in log.rows if row.judge == judge]
        partly = sum(row.truth is None and row.verdict is Vote.INCONCLUSIVE for row in mine)
        found = posterior_of(
            partly + sum(one.posterior.right for one in abilities if one.judge == judge), len(mine), flat
        )
        posterior = there["beta_1_1_posterior_of_agreement"]
        assert (found.a, found.b) == (posterior["a"], posterior["b"])
        assert found.point == pytest.approx(posterior["mean"], abs=0.51e-4)
        assert (found.interval.low, found.interval.high) == pytest.approx(posterior["ci95"], abs=0.51e-4)


def test_a_claim_holds_fails_or_is_left_out(log):
    assert {row.truth for row in log.rows} == {*Truth, None}
