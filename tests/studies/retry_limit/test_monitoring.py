"""The chart of first failures has a point a batch of runs, and signals what leaves its limits."""

from eval_pipeline.studies.retry_limit.monitoring import first_failures
from tests.studies.retry_limit.conftest import SHIPPED, amended, section

RULES = amended(SHIPPED, chart={"runs_per_point": 2, "baseline": 4}).chart


def of_points(*failures):
    """Runs of ten sections, of which so many fail first: one number a run."""
    return [
        section(f"r{run}", f"s{k}", "rp" if k < failed else "p")
        for run, failed in enumerate(failures)
        for k in range(10)
    ]


def test_a_point_is_the_share_of_a_batch_and_the_last_batch_must_be_whole():
    found = first_failures(of_points(3, 3, 4, 2, 3, 5, 2, 2, 9), RULES)
    assert found.points == (0.3, 0.3, 0.4, 0.2)
    # The mean is .3, the moving ranges 0, .1 and .2, their mean .1: three sigmas are 3 * .1 / 1.128.
    assert found.centre == 0.3
    assert (round(found.lower[0], 6), round(found.upper[0], 6)) == (
        round(0.3 - 0.3 / 1.128, 6),
        round(0.3 + 0.3 / 1.128, 6),
    )
    assert len(found.lower) == len(found.upper) == 4
    assert found.stable is True


def test_a_batch_beyond_the_limits_is_a_signal():
    found = first_failures(of_points(3, 3, 4, 2, 3, 5, 2, 2, 9, 9), RULES)
    assert [(one.place, one.rule) for one in found.signals] == [(4, "beyond_limits")]
    assert found.stable is False


def test_eight_batches_on_one_side_are_a_signal():
    found = first_failures(of_points(*[3, 3, 4, 2, 3, 5, 2, 2], *[3, 4] * 8), RULES)
    assert [(one.place, one.rule) for one in found.signals] == [(11, "run_of_eight")]


def test_too_few_batches_have_no_limits():
    found = first_failures(of_points(3, 3, 4, 2, 3, 5, 2), RULES)
    assert (found.centre, found.lower, found.stable) == (None, (), None)
    assert found.why == "3 batches of 2 runs, and 4 make the limits"
