"""The cases of the first version of these gates, each through the study's own functions."""

import json
from typing import Any

import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.records import Interval
from eval_pipeline.stats.percentile import percentile
from eval_pipeline.studies.kpi_gates.blocked import blocked_bytes, read_blocked, report_of, rows_of
from eval_pipeline.studies.kpi_gates.calibration import provisional_gates
from eval_pipeline.studies.kpi_gates.charts import xmr_chart
from eval_pipeline.studies.kpi_gates.family import family_wise
from eval_pipeline.studies.kpi_gates.kpis import machine_class
from eval_pipeline.studies.kpi_gates.promotion import replaces
from tests.studies.kpi_gates.made_up import ROOT, SHIPPED, row

TOPICS = ("gates", "xmr")
CASES = {
    case["id"].removeprefix("closed_loops-"): case
    for case in json.loads((ROOT / "tests" / "reference" / "closed_loops_cases.json").read_text())
    if case["topic"] in TOPICS or case["id"] == "closed_loops-288"
}
CHARTS, SETS = ("256", "257"), ("289", "290")


def case(number: str) -> tuple[Any, Any, float]:
    found = CASES[number]
    return found["input"], found["expected"], found["tolerance"]


def test_every_case_of_these_topics_is_tried_here():
    assert set(CASES) == {*CHARTS, "260", "288", *SETS, "292", "294", "295", "297", "298"}


@pytest.mark.parametrize("number", CHARTS)
def test_a_chart_has_the_limits_and_the_signals_of_the_case(number):
    given, expected, tolerance = case(number)
    chart = xmr_chart("series", given["series"], baseline=given["baseline"])
    found = (chart.centre, chart.lower[0], chart.upper[0])
    assert found == pytest.approx((expected["centerline"], expected["lcl"], expected["ucl"]), abs=tolerance)
    words = {"beyond_limits": "outside_3sigma", "run_of_eight": "run_of_8"}
    assert [[one.place, words[one.rule]] for one in chart.signals] == expected["signals"]


def test_a_baseline_without_variation_has_no_limits():
    given, expected, _ = case("260")
    chart = xmr_chart("series", given["series"], baseline=given["baseline"])
    assert expected["status"] == "no_variation"
    assert (chart.centre, chart.signals, chart.stable) == (None, (), None)
    assert chart.why == "the first 4 points are all 3, which says nothing of how far chance goes"


def test_rows_of_the_products_own_writer_are_read_and_others_are_an_error(tmp_path):
    given, expected, _ = case("288")
    assert (given["rows"], expected["seed_n"]) == ("gate_name/observed/threshold fields", 0)
    blocked = row("run-7", error_count=6, cortex_recall_empty_count=4)
    rows = rows_of(blocked, report_of(blocked, provisional_gates(SHIPPED)))
    path = tmp_path / "blocked.jsonl"
    path.write_bytes(blocked_bytes(rows))
    assert read_blocked(path).rows == rows
    assert [(one.gate_name, one.observed, one.threshold) for one in rows] == [
        ("error_count_max", 6, 5), ("cortex_recall_empty_count_max", 4, 3)
    ]  # fmt: skip
    path.write_bytes(blocked_bytes(rows).replace(b'"gate_name"', b'"metric"'))
    with pytest.raises(MalformedObservations, match="line 1, field 'gate_name': found nothing"):
        read_blocked(path)


@pytest.mark.parametrize("number", SETS)
def test_a_run_violates_the_gates_of_the_case(number):
    given, expected, _ = case(number)
    run = row(data="canned" if given["canned"] else "real", **given["kpis"])
    report = report_of(run, provisional_gates(SHIPPED))
    assert [violation.metric for violation in report.violations] == expected["violations"]
    assert report.passed == (not expected["violations"])


def test_percentiles_are_of_type_7():
    given, expected, tolerance = case("292")
    found = [
        percentile(values, share=share, level=SHIPPED.estimate.level).estimate for values, share in given["values_p"]
    ]
    assert found == pytest.approx(expected["value"], abs=tolerance)


def test_the_interval_of_the_95th_percentile_of_1_to_100_is_of_order_statistics():
    given, expected, tolerance = case("294")
    found = percentile(range(1, 101), share=given["p"], level=SHIPPED.estimate.level)
    assert found.estimate == pytest.approx(expected["p95"])
    assert [found.low_rank, found.high_rank] == expected["valid_order_statistic_ranks"]
    assert found.coverage == pytest.approx(expected["coverage"], abs=tolerance)
    assert found.interval.low <= expected["p95"] <= found.interval.high
    assert expected["seed_interval"] != [found.interval.low, found.interval.high]


def test_a_gate_is_promoted_where_the_interval_excludes_and_the_change_is_large():
    given, expected, _ = case("295")
    found = [
        replaces(
            one["provisional"], one["calibrated"], Interval(*one["ci"], 0.95),
            change_at_least=SHIPPED.promotion.change_at_least,
        )
        for one in given["cases"]
    ]  # fmt: skip
    assert found == expected["promote"]


def test_machines_are_of_the_classes_of_the_case():
    given, expected, _ = case("297")
    assert [machine_class(*one).value for one in given["cases"]] == expected["class"]


def test_nine_independent_gates_at_the_95th_percentile_stop_a_third_of_good_runs():
    given, expected, tolerance = case("298")
    assert float(family_wise(given["rate"], given["gates"])) == pytest.approx(expected["probability"], abs=tolerance)
