"""The cases of the first version that concern the fire rate, each through the product's own functions."""

import json

import pytest

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.gold_size import smallest_size
from eval_pipeline.studies.fire_rate.batches import individuals_chart
from eval_pipeline.studies.fire_rate.contexts import round_robin, short_of
from eval_pipeline.studies.fire_rate.events import kinds_in
from eval_pipeline.studies.fire_rate.first_version import first_decision
from eval_pipeline.studies.fire_rate.plan import FirstVersion
from tests.studies.fire_rate.made_up import ROOT

TOPICS = ("fire rate", "clopper-pearson", "xmr")
CASES = [
    case
    for case in json.loads((ROOT / "tests" / "reference" / "closed_loops_cases.json").read_text())
    if case["topic"] in TOPICS
]
RULES = {"outside_3sigma": "beyond_limits", "run_of_8": "run_of_eight"}


def of_keys(*keys):
    """The cases whose input has these keys."""
    return [pytest.param(case, id=case["id"]) for case in CASES if set(case["input"]) == set(keys)]


def test_every_case_of_the_topics_is_run():
    run = of_keys("counts") + of_keys("series", "baseline") + of_keys("K_fires") + of_keys("ceiling")
    run += of_keys("K", "floor") + of_keys("errors")
    assert sorted(one.id for one in run) == sorted(case["id"] for case in CASES)
    assert len(CASES) == 8


@pytest.mark.parametrize("case", of_keys("counts"))
def test_the_bounds(case, shipped):
    for (fires, runs), expected in zip(case["input"]["counts"], case["expected"]["intervals"], strict=True):
        found = exact_interval(fires, runs, level=shipped.intervals.level)
        assert [found.low, found.high] == pytest.approx(expected, abs=case["tolerance"])


@pytest.mark.parametrize("case", of_keys("K_fires"))
def test_the_decisions(case, shipped):
    found = [first_decision(runs, fires, shipped.first_version) for runs, fires in case["input"]["K_fires"]]
    assert [one.word for one in found] == case["expected"]["decision"]
    assert [one.upper for one in found] == pytest.approx(case["expected"]["upper"], abs=case["tolerance"])


@pytest.mark.parametrize("case", of_keys("ceiling"))
def test_the_smallest_number_of_runs(case, shipped):
    level = 1 - shipped.test.looks[0].alpha
    assert smallest_size(0, bound=case["input"]["ceiling"], level=level) == case["expected"]["K"]
    assert float(shipped.test.margin) == case["input"]["ceiling"]


@pytest.mark.parametrize("case", of_keys("K", "floor"))
def test_the_round_robin(case, shipped):
    met = [
        len(shipped.contexts) - len(short_of(round_robin(runs, shipped.contexts), case["input"]["floor"]))
        for runs in case["input"]["K"]
    ]
    assert met == case["expected"]["contexts_meeting_floor"]
    assert shipped.test.looks[0].floor == case["input"]["floor"]


@pytest.mark.parametrize("case", of_keys("errors"))
def test_an_unknown_kind(case):
    with pytest.raises(InputRefused, match="teleport"):
        kinds_in(case["input"]["errors"])


@pytest.mark.parametrize("case", of_keys("series", "baseline"))
def test_the_chart(case):
    points, expected = [float(one) for one in case["input"]["series"]], case["expected"]
    chart, standing = individuals_chart(points, baseline=case["input"]["baseline"], one=1)
    if "status" in expected:
        assert standing == expected["status"]
        return
    limits = (chart.centre, chart.upper[0], chart.lower[0])
    assert limits == pytest.approx((expected["centerline"], expected["ucl"], expected["lcl"]), abs=case["tolerance"])
    signals = [[one.place, one.rule] for one in chart.signals]
    assert signals == [[place, RULES[rule]] for place, rule in expected["signals"]]


def test_the_shipped_plan_names_the_numbers_of_the_first_version(shipped):
    assert shipped.first_version == FirstVersion(runs=460, margin="1/100", level="19/20", fallback_up_to=2)
