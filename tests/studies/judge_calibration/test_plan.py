"""A bar may be tightened at will, and loosened with a reason that stands in the plan."""

from fractions import Fraction

import pytest

from eval_pipeline.errors import PlanRefused
from eval_pipeline.plan import parse_plan
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan

REASON = "A person reads every flag of this judge before it blocks."


@pytest.fixture
def with_gate(shipped):
    """The bundled plan with these fields of its gate changed."""

    def changed(**gate):
        values = shipped.model_dump(mode="json")
        return parse_plan(values | {"gate": values["gate"] | gate}, CalibrationPlan, "plan 'mine'")

    return changed


@pytest.mark.parametrize(
    "loosened", [{"false_negatives_below": "151/1000"}, {"false_positives_below": "101/1000"}], ids=["missed", "false"]
)
def test_a_bar_above_that_of_the_contract_needs_a_reason(with_gate, loosened):
    for justification in ("", " \n"):
        with pytest.raises(PlanRefused) as refusal:
            with_gate(**loosened, justification=justification)
        said = str(refusal.value)
        assert said.startswith("plan 'mine'")
        assert "a written justification, since a bar is above .15 or .10" in said
        assert "\n" not in said
    assert with_gate(**loosened, justification=REASON).gate.justification == REASON


def test_a_bar_at_that_of_the_contract_or_below_needs_none(with_gate):
    assert with_gate(false_negatives_below="3/20", false_positives_below="1/10").gate.justification == ""
    assert with_gate(false_negatives_below="1/20", false_positives_below=0).gate.false_positives_below == 0


@pytest.mark.parametrize(
    "gate",
    [
        {"false_negatives_below": -1},
        {"false_negatives_below": "3/2"},
        {"false_positives_below": float("nan")},
        {"false_positives_below": None},
        {"level": 1},
        {"partial_misses": "pass"},
        {"not_shown": "fail"},
        {"partial_below": "1/10"},
    ],
    ids=lambda gate: "{}={}".format(*next(iter(gate.items()))),
)
def test_a_bar_that_is_no_share_and_a_field_that_nothing_reads_are_refused_by_name(with_gate, gate):
    with pytest.raises(PlanRefused, match=next(iter(gate))):
        with_gate(**gate, justification=REASON)


def test_a_bar_that_is_left_out_has_no_default(shipped):
    values = shipped.model_dump(mode="json")
    del values["gate"]["false_negatives_below"]
    with pytest.raises(PlanRefused, match="false_negatives_below"):
        parse_plan(values, CalibrationPlan, "plan 'mine'")


def test_the_bundled_plans_have_the_bars_of_the_contract(shipped, compat):
    for plan in (shipped, compat):
        bars = plan.gate.false_negatives_below, plan.gate.false_positives_below
        assert bars == (Fraction(3, 20), Fraction(1, 10))
    assert (shipped.gate.partial_misses, shipped.gate.not_shown, shipped.asking.repeats) == ("fail", "warn", 0)
    assert (compat.gate.partial_misses, compat.gate.not_shown, compat.minimum_tuples) == ("report", "pass", 1)
