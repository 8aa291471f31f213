"""What is found in a log fits together: cells, differences and what is learnt are of the same executions."""

from eval_pipeline.arms import Arm


def test_what_is_learnt_is_of_the_control_cells_and_nothing_that_the_guard_left_out(found):
    cells = {(cell.strategy, cell.context, cell.tier): cell for cell in found.cells if cell.arm is Arm.CONTROL}
    assert sum(cell.without_claims for cell in cells.values()) > 0
    for one in found.adjustments:
        gain = cells[one.strategy, one.context, one.tier].gain
        assert (one.executions, one.mean_gain) == (gain.n, gain.mean)


def test_every_execution_is_in_a_cell_or_left_out_by_the_guard(found, parts):
    assert found.executions == len(parts[0].rows) == sum(one.executions for one in found.guarded)
    kept = sum(cell.pass_rate.n for cell in found.cells)
    assert kept == found.whole.on.executions + found.whole.off.executions
    assert kept + sum(one.without_claims for one in found.guarded) == found.executions
    assert found.runs >= found.whole.on.runs + found.whole.off.runs
