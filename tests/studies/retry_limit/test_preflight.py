"""The rate is that of first attempts that fail, in the first runs; a rate that diverges changes the size."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.retry_limit.preflight import event_rate, preflight, required
from eval_pipeline.studies.retry_limit.sections import columns
from tests.stats.laws import LAW
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, of_first_version, section

RATES = {"anchor": Fraction(3, 10), "tolerance": Fraction(1, 20)}


def of_runs(*failures, sections=10, arm=lambda place: (WITHOUT, WITH)[place % 2]):
    """Runs of ten sections, of which so many fail first and pass at the second attempt."""
    return columns(
        [
            section(f"r{place}", f"s{number}", "rp" if number < failed else "p", arm(place))
            for place, failed in enumerate(failures)
            for number in range(sections)
        ]
    )


def test_a_retry_is_no_first_failure():
    """Of 11 sections 5 fail at first and make 21 attempts in all: the rate is 5/11, not 10 retries over 21 attempts."""
    paths = ["p"] * 6 + ["rrrp", "rrrp", "rrp", "rp", "rp"]
    found = preflight(columns([section("a", f"s{k}", path) for k, path in enumerate(paths)]), SHIPPED)
    assert sum(map(len, paths)) == 21
    assert (found.event_rate.failures, found.event_rate.sections) == (5, 11)
    assert found.event_rate.rate == Fraction(5, 11)


def test_the_first_version_s_definition_gives_519_and_the_first_failures_543():
    under = of_first_version(amended(SHIPPED, preflight={"hazard_ratio": "7/10"}))
    half = Fraction(1, 2)
    assert required(Fraction(3, 10), half, under).subjects == 823
    assert required(Fraction(500, 1050), half, under).subjects == 519
    assert required(Fraction(5, 11), half, under).subjects == 543


def test_a_ratio_and_its_reciprocal_need_the_same():
    under = amended(SHIPPED, preflight={"hazard_ratio": "7/10"})
    assert required(Fraction(3, 10), Fraction(2, 5), under) == required(Fraction(3, 10), Fraction(2, 5), SHIPPED)


@pytest.mark.parametrize(
    ("failures", "diverges"), [(35, False), (36, True), (25, False), (24, True)], ids=["on", "over", "on low", "under"]
)
def test_a_rate_on_the_margin_does_not_diverge(failures, diverges):
    """.35 and .25 lie .05 from .30 exactly, which in floats they do not."""
    found = event_rate(failures, 100, **RATES)
    assert found.diverges is diverges
    assert found.used == (Fraction(failures, 100) if diverges else Fraction(3, 10))


def test_the_first_runs_measure_the_rate_and_all_of_them_the_allocation():
    under = amended(SHIPPED, preflight={"runs": 4})
    found = preflight(of_runs(5, 5, 5, 5, 0, 0, 0, 0, arm=lambda place: WITH if place < 2 else WITHOUT), under)
    assert (found.runs, found.event_rate.failures, found.event_rate.sections) == (4, 20, 40)
    assert found.event_rate.diverges
    assert found.allocation == Fraction(1, 4)
    # 247 / (.5 * .5 of failures that pass later) at half and half is 989; 1/4 and 3/4 need 4/3 of that, 1.2 times.
    assert found.required == pytest.approx(988.9 * 4 / 3 * 1.2, abs=2)


def test_the_interval_draws_runs():
    """Runs that fail in all sections or in none are worth less than as many sections; 50 that are alike are not."""
    alike, apart = preflight(of_runs(*[5] * 50), SHIPPED), preflight(of_runs(*[0, 10] * 25), SHIPPED)
    assert alike.event_rate.rate == apart.event_rate.rate == Fraction(1, 2)
    width = [one.interval.high - one.interval.low for one in (alike, apart)]
    assert width[1] > 3 * width[0]


def test_one_run_has_no_interval():
    assert preflight(of_runs(3, arm=lambda _: WITH), SHIPPED).interval is None


def test_where_no_size_is_large_enough_none_is_given():
    one_arm = preflight(of_runs(3, 3, arm=lambda _: WITH), SHIPPED)
    assert (one_arm.required, one_arm.events) == (None, None)
    assert one_arm.why == "all sections are in one arm; run until both have some"
    nothing_fails = preflight(of_runs(0, 0), SHIPPED)
    assert nothing_fails.required is None
    assert nothing_fails.why == "no first attempt failed, so that no number of sections is large enough"


@LAW
@given(st.integers(1, 99), st.integers(1, 99))
def test_fewer_failures_and_less_even_arms_need_more(rate, share):
    here = required(Fraction(rate, 100), Fraction(share, 100), SHIPPED).subjects
    assert required(Fraction(rate, 101), Fraction(share, 100), SHIPPED).subjects >= here
    assert required(Fraction(rate, 100), Fraction(1, 2), SHIPPED).subjects <= here
    assert required(Fraction(rate, 100), 1 - Fraction(share, 100), SHIPPED).subjects == pytest.approx(here, abs=2)


@pytest.mark.parametrize("allocation", [0, 1])
def test_an_arm_without_sections_is_refused(allocation):
    with pytest.raises(InputRefused):
        required(Fraction(3, 10), Fraction(allocation), SHIPPED)
