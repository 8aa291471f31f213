"""Arms by hash: the compatible rule to the bit, a salt that keeps loops apart, and limits that are whole numbers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.arms import Arm, Assignment, RetryArm, arm_of, attempt_limit, fnv1a_32, retry_arm_of
from eval_pipeline.errors import InputRefused

COMPATIBLE = Assignment(None, Fraction(1, 5))
IDS = [f"run-{number}" for number in range(10_000)]


def controls(rule: Assignment, ids: list[str] = IDS) -> set[str]:
    return {one for one in ids if arm_of(one, rule) is Arm.CONTROL}


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 2166136261), ("a", 3826002220), ("foobar", 3214735720), ("prüfung", 1262694567), ("日本", 1610399396)],
)
def test_the_hash_is_fnv_1a_over_utf_16_units(text: str, value: int) -> None:
    """The values of "", "a" and "foobar" are those of the published test vectors."""
    assert fnv1a_32(text) == value


@given(st.text())
def test_the_hash_is_the_recurrence_of_its_definition(text: str) -> None:
    value = 0x811C9DC5
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (value ^ unit) * 0x01000193 & 0xFFFFFFFF
    assert fnv1a_32(text) == value


def test_the_compatible_rule_takes_the_published_controls() -> None:
    assert [int(one[4:]) for one in IDS[:60] if arm_of(one, COMPATIBLE) is Arm.CONTROL] == [
        0, 5, 12, 15, 18, 26, 28, 33, 34, 39, 40, 50, 55,
    ]  # fmt: skip
    assert len(controls(COMPATIBLE, IDS[:1000])) == 204
    assert len(controls(COMPATIBLE)) == 1993


def test_the_compatible_halves_of_the_retry_experiment_are_the_published_ones() -> None:
    halves = [retry_arm_of(one, salt=None) for one in IDS]
    assert halves.count(RetryArm.WITH_PRIOR_VIOLATIONS) == 4899
    controls_with = sum(
        half is RetryArm.WITH_PRIOR_VIOLATIONS and arm_of(one, COMPATIBLE) is Arm.CONTROL
        for one, half in zip(IDS, halves, strict=True)
    )
    assert controls_with == 978


@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(1, 20), Fraction(1, 2)])
def test_a_salted_rule_takes_its_share(share: Fraction) -> None:
    found = len(controls(Assignment("retry_limit", share)))
    assert binomtest(found, len(IDS), float(share)).pvalue > 0.001


def test_loops_of_different_salts_have_arms_that_do_not_depend_on_each_other() -> None:
    """Of 10,000 runs 2,000 are controls of each loop and some 400 of both; under one rule they would be the same."""
    first, second = (controls(Assignment(salt, Fraction(1, 5))) for salt in ("kpi_gates", "retry_limit"))
    assert binomtest(len(first & second), len(IDS), 0.04).pvalue > 0.001
    with_feedback = {one for one in first if retry_arm_of(one, salt="kpi_gates") is RetryArm.WITH_PRIOR_VIOLATIONS}
    assert binomtest(len(with_feedback), len(first), 0.5).pvalue > 0.001


def test_a_share_of_none_or_all_is_none_or_all() -> None:
    assert controls(Assignment("x", Fraction(0)), IDS[:200]) == set()
    assert controls(Assignment("x", Fraction(1)), IDS[:200]) == set(IDS[:200])


def test_a_control_run_tries_as_often_as_before_and_a_treated_one_as_was_calibrated() -> None:
    assert [attempt_limit(arm, limit) for arm, limit in [(Arm.CONTROL, 1), (Arm.TREATMENT, 2), (Arm.CONTROL, 5)]] == [
        3,
        2,
        3,
    ]


@pytest.mark.parametrize("calibrated", [0, -1, 1.5, True, "2", None])
def test_a_limit_that_is_no_number_of_attempts_is_refused_in_either_arm(calibrated: object) -> None:
    for arm in Arm:
        with pytest.raises(InputRefused, match="expected a whole number of attempts, 1 or more"):
            attempt_limit(arm, calibrated)  # type: ignore[arg-type]
