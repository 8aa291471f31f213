"""Whether the arms differ in how soon their sections pass, counting sections as such and by run."""

from collections.abc import Callable
from dataclasses import dataclass

from eval_pipeline.arms import RetryArm
from eval_pipeline.errors import Undefined
from eval_pipeline.stats.log_rank import LogRank, clustered_log_rank, log_rank
from eval_pipeline.studies.retry_limit.plan import Contrast
from eval_pipeline.studies.retry_limit.sections import Columns


@dataclass(frozen=True, slots=True)
class LogRankTest:
    """A log-rank test."""

    chi2: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The log-rank tests of the arms; passing is the event.

    sections: that are compared; without whom nothing is.
    observed, expected: passes without prior violations, and with; None where there is no test.
    plain: takes sections as independent.
    clustered: lets the sections of a run pass together.
    p_value: of the test that the plan decides by; None where there is none, and then `why` says so.
    faster: the arm with more passes than expected; None where they are as many.
    rate_ratio: passes over those expected with prior violations, by the same without: Pike's estimate of the hazard
        ratio, which is drawn towards 1; None where nothing is expected with, or nothing passed without.
    design_effect: the variance by runs over the one by sections.
    """

    sections: int
    passes: int
    observed: tuple[int, int] | None
    expected: tuple[float, float] | None
    plain: LogRankTest | None
    clustered: LogRankTest | None
    p_value: float | None
    faster: RetryArm | None
    rate_ratio: float | None
    design_effect: float | None
    why: str | None


def compared(found: Columns, rules: Contrast) -> Comparison:
    """The comparison of the arms on the sections that the plan names."""
    of = found.where(found.until >= (2 if rules.sections == "retried" else 1))
    plain, refused = _tried(lambda: log_rank(of.until, of.passed, of.arm))
    clustered, of_runs = _tried(lambda: clustered_log_rank(of.until, of.passed, of.arm, of.run))
    tests = {"plain": _test(plain, rules), "clustered": _test(clustered, rules)}
    deciding = tests[rules.variance]
    return Comparison(
        sections=len(of.until),
        passes=int(of.passed.sum()),
        observed=plain.observed if plain else None,
        expected=plain.expected if plain else None,
        plain=tests["plain"],
        clustered=tests["clustered"],
        p_value=deciding.p_value if deciding else None,
        faster=_faster(plain),
        rate_ratio=_rate_ratio(plain) if plain else None,
        design_effect=clustered.variance / plain.variance if plain and clustered else None,
        why=None if deciding else refused or of_runs,
    )


def _tried(test: Callable[[], LogRank]) -> tuple[LogRank | None, str | None]:
    try:
        return test(), None
    except Undefined as refused:
        return None, str(refused)


def _test(found: LogRank | None, rules: Contrast) -> LogRankTest | None:
    if found is None:
        return LogRankTest(0.0, 1.0) if rules.no_contrast == "no_difference" else None
    return LogRankTest(found.chi2, found.p_value)


def _faster(found: LogRank | None) -> RetryArm | None:
    if found is None or found.chi2 == 0:
        return None
    more = found.observed[1] > found.expected[1]
    return RetryArm.WITH_PRIOR_VIOLATIONS if more else RetryArm.WITHOUT_PRIOR_VIOLATIONS


def _rate_ratio(found: LogRank) -> float | None:
    """Source: Berry, Kitchin & Mock (1991), Statistics in Medicine 10(5), 749-755."""
    (without, told), (expected_without, expected_told) = found.observed, found.expected
    if not (without and expected_told):
        return None
    return told * expected_without / (expected_told * without)
