"""Only executions of registered cells, in the arm that their run's hash gives, each at its own place in time."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.arms import Arm
from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import Log
from eval_pipeline.studies.strategy_feedback.executions import executions_of, gain_of
from tests.stats.laws import LAW
from tests.studies.strategy_feedback.made_up import changed, execution, runs_in


def logged(*rows):
    return Log(rows, simulated=False)


def test_columns_are_in_the_order_of_time_whatever_that_of_the_file(plan):
    (control,), (one, other) = runs_in(plan, Arm.CONTROL, 1), runs_in(plan, Arm.TREATMENT, 2)
    rows = [
        execution(plan, one, 7, passes=0),
        execution(plan, control, 3, passes=1, strategy="reflexion"),
        execution(plan, other, 9, passes=2, claims=2),
        execution(plan, one, 5, passes=4),
    ]
    random.Random(1).shuffle(rows)
    found = executions_of(logged(*rows), plan)
    assert found.run.tolist() == [0, 1, 1, 2]
    assert found.treated.tolist() == [False, True, True, True]
    assert found.passes.tolist() == [1, 4, 0, 2]
    assert found.strategy.tolist() == [plan.design.strategies.index("reflexion"), 0, 0, 0]
    assert found.rates.tolist() == [0.25, 1, 0, 1]


def test_a_run_that_chose_its_arm_is_refused(plan):
    (control,), (treated,) = runs_in(plan, Arm.CONTROL, 1), runs_in(plan, Arm.TREATMENT, 1)
    rows = execution(plan, control, 1, arm="treatment"), execution(plan, treated, 2)
    with pytest.raises(
        MalformedObservations,
        match=f"has 1 fault: run '{control}', sequence 1, field 'arm': found 'treatment', expected 'control' by the",
    ):
        executions_of(logged(*rows), plan)


def test_the_arm_goes_by_the_salt_of_the_plan(plan):
    """Of ten controls by the first version's rule, some are treated by this loop's own: its salt keeps them apart."""
    first = changed(plan, arms={"salt": ""})
    rows = [execution(first, run_id, number) for number, run_id in enumerate(runs_in(first, Arm.CONTROL, 10))]
    executions_of(logged(*rows), first)
    with pytest.raises(MalformedObservations, match="expected 'treatment' by the hash"):
        executions_of(logged(*rows), plan)


@pytest.mark.parametrize("field", ["strategy", "context", "tier"])
def test_a_cell_that_is_not_registered_is_refused(plan, field):
    rows = execution(plan, "r1", 1), execution(plan, "r1", 2, **{field: "another"})
    with pytest.raises(MalformedObservations, match=f"sequence 2, field '{field}': found 'another', expected one of"):
        executions_of(logged(*rows), plan)


def test_the_reference_is_no_strategy_to_be_chosen(plan):
    with pytest.raises(MalformedObservations, match="found 'chain_of_thought', expected one of 'tree_of_thoughts'"):
        executions_of(logged(execution(plan, "r1", 1, strategy="chain_of_thought")), plan)


def test_two_executions_at_one_place_in_time_are_refused(plan):
    rows = execution(plan, "r1", 4), execution(plan, "r2", 4)
    with pytest.raises(MalformedObservations, match="run 'r2', field 'sequence': found 4, which run 'r1' has"):
        executions_of(logged(*rows), plan)


def test_every_fault_is_told(plan):
    rows = [execution(plan, "r1", 1, strategy="x", context="y", tier="z")] * 2
    with pytest.raises(MalformedObservations, match="has 7 faults"):
        executions_of(logged(*rows), plan)


def test_a_gain_is_in_the_decimals_that_are_printed():
    # In floats .8 - .7 is .10000000000000009 and .7 - .6 is .09999999999999998.
    assert gain_of(0.8, 0.7) == gain_of(0.7, 0.6) == Fraction(1, 10)


@LAW
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_gain_of_the_reference_over_itself_is_nothing_and_exchange_turns_its_sign(one, other):
    assert gain_of(one, one) == 0
    assert gain_of(one, other) == -gain_of(other, one)


def test_a_copy_under_another_place_in_time_is_refused(plan):
    rows = execution(plan, "r1", 4), execution(plan, "r1", 5), execution(plan, "r2", 6)
    with pytest.raises(MalformedObservations, match="run 'r1', sequence 5: found what sequence 4 says in every field"):
        executions_of(logged(*rows), plan)
