"""The shipped plan says what its numbers come from, and a plan that cannot be is refused."""

import re
from math import ceil

import pytest
from scipy.stats import beta

from eval_pipeline.bundled import bundled
from eval_pipeline.errors import PlanRefused
from eval_pipeline.plan import read_plan
from eval_pipeline.stats.survival_power import schoenfeld_size
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.preflight import required
from tests.studies.retry_limit.conftest import SHIPPED, amended


def test_the_planned_number_is_what_the_formula_gives():
    size = schoenfeld_size(10 / 7, event_rate=0.30 * 0.50, allocation=0.40, alpha=0.05, power=0.80)
    assert (size.events, size.subjects) == (258, 1714)
    assert SHIPPED.power.n == ceil(1714 * 1.2) == 2057
    rules = SHIPPED.preflight
    assert required(rules.anchor, rules.allocation, SHIPPED).subjects == SHIPPED.power.n


def test_the_protocol_names_the_numbers_that_the_plan_computes_with():
    text = SHIPPED.protocol.sample_size
    assert re.findall(r"\d+(?= passes| sections)", text) == ["258", "1714", "72"]
    assert "2057 with a design effect" in text


@pytest.mark.parametrize(("passes", "sections"), [(0, 72), (1, 110)])
def test_so_many_sections_show_an_attempt_to_be_wasted_and_one_fewer_does_not(passes, sections):
    """The upper end of the exact interval at 95 %, by SciPy's beta quantiles."""
    assert f"{sections} sections" in SHIPPED.protocol.sample_size or f"by {sections}" in SHIPPED.protocol.sample_size
    assert beta.ppf(0.975, passes + 1, sections - passes) < 0.05
    assert beta.ppf(0.975, passes + 1, sections - 1 - passes) >= 0.05


def test_the_plan_settles_the_sizes_and_the_pairs():
    said = " ".join(one.said for one in SHIPPED.settled)
    assert "823" in said
    assert "519" in said
    assert "543" in said
    assert "paired" in said
    assert len(SHIPPED.settled) == 12


@pytest.mark.parametrize(
    ("section", "change", "message"),
    [
        ("limit", {"default": 2}, "expected a default of 3, by which control runs are limited"),
        ("limit", {"cap": 3}, "expected a cap above the default"),
        ("generated", {"retry_hazards": ["1/2"]}, "expected a hazard in generated.retry_hazards for each attempt"),
        ("ablation", {"resamples": 999}, "field 'ablation.resamples': found 999, expected"),
        ("preflight", {"design_effect": "9/10"}, "field 'preflight.design_effect': found \"9/10\", expected"),
        ("preflight", {"hazard_ratio": "0"}, "field 'preflight.hazard_ratio': found \"0\", expected"),
        ("contrast", {"variance": "robust"}, "field 'contrast.variance': found \"robust\", expected"),
        ("generated", {"violations": 0}, "field 'generated.violations': found 0, expected"),
        ("chart", {"baseline": 1}, "field 'chart.baseline': found 1, expected"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(section, change, message):
    with pytest.raises(PlanRefused) as refusal:
        amended(SHIPPED, **{section: change})
    assert message in str(refusal.value)


def test_the_plan_leaves_nothing_to_a_default(tmp_path):
    text = (bundled("plans") / "retry-limit.toml").read_text()
    path = tmp_path / "plan.toml"
    path.write_text(text.replace("tolerated_loss = 0.02\n", ""))
    with pytest.raises(PlanRefused, match=r"field 'replay.tolerated_loss': found nothing, expected a value"):
        read_plan(path, RetryLimitPlan)
