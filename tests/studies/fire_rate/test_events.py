"""An event is counted once a run, and what might be one is never passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.fire_rate.events import KINDS, PREFIX, fault_of, kinds_in
from tests.stats.laws import LAW
from tests.studies.fire_rate.made_up import event

OTHERS = ("", "[validator] a section is short", "[self_check] a judge gave no answer in time", "a plan without a match")


def test_the_prefix_is_that_of_the_specification():
    assert PREFIX == "[self_check] plan mismatch detected \u2014 mismatch_kind:"


@pytest.mark.parametrize(
    ("errors", "kinds"),
    [
        ((), set()),
        (OTHERS, set()),
        ((event("content_mutation"),), {"content_mutation"}),
        ((event("ordering_regression"), event("ordering_regression")), {"ordering_regression"}),
        ((event(" content_mutation "), *OTHERS, event("ordering_regression")), set(KINDS)),
    ],
)
def test_each_kind_is_counted_once_a_run(errors, kinds):
    assert kinds_in(errors) == kinds


@LAW
@given(st.lists(st.sampled_from([*OTHERS, *map(event, KINDS)]), max_size=12), st.randoms())
def test_neither_order_nor_repetition_matters(errors, rng):
    again = [*errors, *errors]
    rng.shuffle(again)
    assert kinds_in(again) == kinds_in(errors)


@pytest.mark.parametrize("kind", ["teleport", "", "content_mutations", "Content_mutation", "content_mutation (twice)"])
def test_an_unknown_kind_is_refused_by_its_name(kind):
    with pytest.raises(InputRefused) as refusal:
        kinds_in([event(kind)])
    said = str(refusal.value)
    assert said.startswith("error text: found ")
    assert f"expected content_mutation or ordering_regression after 'mismatch_kind:', not \"{kind}\"; mend what" in said


@pytest.mark.parametrize(
    "text",
    [
        "[self_check] plan mismatch detected - mismatch_kind:content_mutation",
        "[self_check] Plan mismatch detected — mismatch_kind:content_mutation",
        "error: [self_check] plan mismatch detected — mismatch_kind:content_mutation",
        "[self_check] plan mismatch detected",
        "[self_check] Plan Mismatch",
        "mismatch_kind:teleport",
    ],
)
def test_a_mismatch_in_other_words_is_refused(text):
    assert fault_of(text) == f"{PREFIX!r} at its start, since it speaks of a mismatch; mend what wrote it"
    with pytest.raises(InputRefused, match="at its start"):
        kinds_in([text])
