"""A section is what its last attempt made of it, and may be known under one limit and not under another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.studies.retry_limit.observations import Outcome
from eval_pipeline.studies.retry_limit.sections import columns, sections_of
from tests.stats.laws import LAW
from tests.studies.retry_limit.conftest import WITH, WITHOUT, attempts, section


def test_sections_stand_in_the_order_of_their_first_lines():
    rows = [*attempts("b", "s2", "rp", WITHOUT), *attempts("a", "s1", "rrt"), *attempts("b", "s1", "p", WITHOUT)]
    rows = [rows[0], *rows[2:], rows[1]]
    assert sections_of(rows) == (
        section("b", "s2", "rp", WITHOUT), section("a", "s1", "rrt"), section("b", "s1", "p", WITHOUT)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "within"),
    [
        ("p", [True, True, True, True]),
        ("rrp", [False, False, True, True]),
        ("rt", [False, False, False, False]),
        ("rr", [False, False, None, None]),
    ],
)
def test_what_a_limit_makes_of_a_section(path, within):
    """A section that is still to be tried tells nothing of limits beyond its last attempt."""
    assert [section("a", "s", path).passed_within(limit) for limit in (1, 2, 3, 4)] == within


def test_columns_number_runs_and_arms():
    found = columns([section("b", "s", "rp", WITHOUT), section("a", "s", "t"), section("b", "t", "p", WITHOUT)])
    assert found.until.tolist() == [2, 1, 1]
    assert found.passed.tolist() == [1, 0, 1]
    assert found.arm.tolist() == [0, 1, 0]
    assert found.run.tolist() == [0, 1, 0]
    assert found.failed_first.tolist() == [1, 1, 0]
    some = found.where(np.array([True, False, True]))
    assert (some.until.tolist(), some.run.tolist()) == ([2, 1], [0, 0])


@LAW
@given(st.lists(st.sampled_from(["p", "t", "rp", "rt", "rr", "rrrp"]), min_size=1, max_size=8))
def test_a_longer_limit_passes_no_fewer(paths):
    for place, path in enumerate(paths):
        one = section("a", f"s{place}", path, WITH)
        known = [passed for limit in range(1, 6) if (passed := one.passed_within(limit)) is not None]
        assert known == sorted(known)
        assert one.failed_first == (path != "p")
        assert one.passed == (one.ended is Outcome.PASSED)
