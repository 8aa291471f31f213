"""Real attempts and real times: the leukaemia data of Gehan, and exercises that a coding assistant tried twice."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval_pipeline.studies.retry_limit.comparison import compared
from eval_pipeline.studies.retry_limit.curves import curve, steps
from eval_pipeline.studies.retry_limit.limit import rungs_of, smallest
from eval_pipeline.studies.retry_limit.sections import Columns
from tests.studies.retry_limit.conftest import SHIPPED, of_first_version

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"


def needs(name):
    """Skips where the data are not beside the project."""
    return pytest.mark.skipif(not (DATA / name).exists(), reason=f"../shared/data/{name} is not beside the project")


def expected(name: str) -> Any:
    return json.loads((DATA / "expected.json").read_text())[name]


def gehan() -> Columns:
    """The arm of the placebo as 0, that of 6-MP as 1, each child by itself."""
    rows = np.loadtxt(DATA / "lifelines" / "gehan.dat", dtype=np.int64)
    return Columns(rows[:, 1], rows[:, 2], rows[:, 0] - 1, np.arange(len(rows)))


def aider() -> dict[str, dict[str, int]]:
    """Exercises, and how many pass at the first attempt and by the second, of each run."""
    found = {}
    for entry in (DATA / "aider" / "polyglot_leaderboard.yml").read_text().split("- dirname: ")[1:]:
        fields = dict(re.findall(r"^  (test_cases|pass_num_1|pass_num_2): (\d+)$", entry, flags=re.MULTILINE))
        found[entry.split()[0]] = {name: int(value) for name, value in fields.items()}
    return found


def exercises(run: dict[str, int]) -> Columns:
    """A run's exercises, each by itself; whoever has not passed at the second attempt is not tried again."""
    first, later = run["pass_num_1"], run["pass_num_2"] - run["pass_num_1"]
    never = run["test_cases"] - run["pass_num_2"]
    until = np.repeat([1, 2, 2], [first, later, never])
    passed = np.repeat([1, 1, 0], [first, later, never])
    return Columns(until, passed, np.zeros_like(until), np.arange(len(until)))


@needs("lifelines")
@pytest.mark.parametrize(("name", "arm", "median"), [("6-MP", 1, 23), ("placebo", 0, 8)])
def test_children_in_remission_leave_the_published_curves(name, arm, median):
    number, data = expected("gehan_km")[name], gehan()
    own = data.where(data.arm == arm)
    found = curve(own.until, own.passed, SHIPPED.curves)
    assert len(own.until) == number["n"] == 21
    assert sum(point.passed for point in found.points) == number["events"]
    assert {str(int(point.attempt)): round(point.share, 4) for point in found.points} == number["S"]
    assert found.median == number["median"] == median


@needs("lifelines")
def test_the_arms_of_the_leukaemia_data_give_the_published_test():
    found = compared(gehan(), of_first_version(SHIPPED).contrast)
    assert found.plain.chi2 == pytest.approx(expected("gehan_km")["logrank_chi2"], abs=5e-5)
    assert round(found.plain.chi2, 2) == 16.79
    assert found.observed == (21, 9)
    assert found.expected == pytest.approx((10.7, 19.3), abs=0.05)


@needs("aider")
def test_the_second_attempt_leaves_what_the_leaderboard_says():
    """S(2) = 1 - pass_num_2 / n of all 69 runs; of 64 the published pass rate is the same to a decimal."""
    numbers, runs = expected("aider_attempts"), aider()
    assert len(runs) == numbers["runs"] == 69
    as_published = 0
    for row in numbers["rows"]:
        run = runs[row["dirname"]]
        n = run["test_cases"]
        assert (n, run["pass_num_1"], run["pass_num_2"]) == (row["n"], row["pass1"], row["pass2"])
        data = exercises(run)
        left = {point.attempt: point.share for point in curve(data.until, data.passed, SHIPPED.curves).points}
        s_1 = left.get(1.0, 1.0)
        s_2 = left.get(2.0, s_1)
        assert s_1 == pytest.approx(1 - run["pass_num_1"] / n, abs=1e-12)
        assert s_2 == pytest.approx(1 - run["pass_num_2"] / n, abs=1e-12)
        assert (round(s_1, 4), round(s_2, 4)) == (row["S1"], row["S2"])
        passes = {step.attempt: step.share for step in steps(data, SHIPPED.limit)}
        assert round(passes[2], 4) == row["hazard_attempt_2"]
        as_published += round(100 * (1 - s_2), 1) == row["published_pass_rate_2"]
    assert as_published == numbers["all_match"]


@needs("aider")
def test_in_no_run_the_second_attempt_is_shown_to_be_wasted():
    """In three of 69 fewer than 5 % pass at it, and with some 220 exercises none of them is shown to."""
    found = [steps(exercises(run), SHIPPED.limit) for run in aider().values()]
    assert [smallest(rungs_of(one), SHIPPED.limit) for one in found] == [None] * 69
    assert sum(one[1].share < 0.05 for one in found) == 3
    assert min(one[1].clustered.high for one in found) == pytest.approx(0.0577, abs=5e-5)
