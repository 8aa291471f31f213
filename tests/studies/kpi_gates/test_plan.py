"""The shipped plan says what its numbers show, and a plan that cannot be is refused."""

import tomllib
from decimal import Decimal

import pytest

from eval_pipeline.errors import PlanRefused
from eval_pipeline.plan import parse_plan
from eval_pipeline.seal import sealed
from eval_pipeline.stats.power import two_proportion_size
from eval_pipeline.studies.kpi_gates.calibration import bounded_share
from eval_pipeline.studies.kpi_gates.family import fewest_runs
from eval_pipeline.studies.kpi_gates.generator import KPI_SOURCE
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from tests.studies.kpi_gates.made_up import ROOT, SHIPPED


def values():
    text = (ROOT / "data" / "plans" / "kpi-gates.toml").read_text()
    return tomllib.loads(text, parse_float=Decimal)


def test_the_planned_number_is_that_of_the_power_function():
    power = SHIPPED.power
    found = two_proportion_size(0.05, 0.15, alpha=float(power.alpha), power=float(power.power), convention="pooled")
    assert power.n == found


def test_the_words_of_the_plan_name_the_runs_that_a_percentile_needs():
    needed = fewest_runs(bounded_share(SHIPPED), level=SHIPPED.estimate.level)
    assert f"is bounded from above at 95 % by {needed} runs" in SHIPPED.protocol.sample_size
    assert f"with {SHIPPED.power.n} runs in each of two equal arms" in SHIPPED.protocol.sample_size


def test_the_provisional_thresholds_are_those_of_the_first_version():
    assert [float(SHIPPED.thresholds[kpi]) for kpi in Kpi] == [100, 500, 5, 0.95, 5, 0, 2.5, 0, 3]


def test_the_plan_freezes_the_code_of_the_generator():
    assert SHIPPED.frozen.kpi_source == KPI_SOURCE


def test_a_sealed_plan_opens_to_itself():
    assert sealed(SHIPPED).open(KpiGatesPlan) == SHIPPED


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("promotion", {"headroom": Decimal("0.05")}, "a headroom above the noise and below the shift"),
        ("promotion", {"headroom": Decimal("0.20")}, "a headroom above the noise and below the shift"),
        ("family", {"method": "none"}, "field 'family.method'"),
        ("frozen", {"kpi_source": "abc"}, "field 'frozen.kpi_source'"),
        ("planned", {"baseline_until": "soon"}, "field 'planned.baseline_until'"),
        ("charts", {"batch": 1}, "field 'charts.batch'"),
        ("provisional", {"error_count": -1}, "field 'provisional.error_count'"),
        ("ratchet", {"windows": []}, "field 'ratchet.windows'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(table, change, message):
    found = values()
    found[table] |= change
    with pytest.raises(PlanRefused, match=message):
        parse_plan(found, KpiGatesPlan, "plan 'p'")


def test_a_window_that_closes_before_it_opens_is_refused():
    found = values()
    found["ratchet"]["windows"][0]["closes"] = found["ratchet"]["windows"][0]["opens"]
    with pytest.raises(PlanRefused, match="a window that closes after it opens"):
        parse_plan(found, KpiGatesPlan, "plan 'p'")


def test_nothing_of_the_plan_has_a_default():
    for table in ("promotion", "family", "frozen", "estimate", "charts", "stop", "ratchet", "planned", "provisional"):
        found = values()
        del found[table]
        with pytest.raises(PlanRefused, match=f"field '{table}': found nothing"):
            parse_plan(found, KpiGatesPlan, "plan 'p'")
