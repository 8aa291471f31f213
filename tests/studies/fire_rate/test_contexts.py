"""A round robin gives every context its floor after a multiple of the contexts, and not before."""

from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.studies.fire_rate.contexts import round_robin, runs_for, short_of
from eval_pipeline.studies.fire_rate.observations import CONTEXTS
from tests.stats.laws import LAW


def test_460_runs_leave_four_contexts_one_short_and_464_none():
    assert list(round_robin(460, CONTEXTS).values()) == [58, 58, 58, 58, 57, 57, 57, 57]
    assert short_of(round_robin(460, CONTEXTS), 58) == {"poc": 1, "mvp": 1, "release": 1, "cicd": 1}
    assert short_of(round_robin(464, CONTEXTS), 58) == {}
    assert (runs_for(58, CONTEXTS), runs_for(375, CONTEXTS)) == (464, 3000)


@LAW
@given(st.integers(0, 400), st.integers(1, 8), st.integers(1, 60))
def test_the_floor_is_met_exactly_from_the_runs_that_it_takes(runs, contexts, floor):
    counts = round_robin(runs, CONTEXTS[:contexts])
    assert sum(counts.values()) == runs
    assert (not short_of(counts, floor)) == (runs >= runs_for(floor, CONTEXTS[:contexts]))
