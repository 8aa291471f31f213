"""A log of attempts that nobody made: runs of a known truth, with ids and violations as a pipeline writes them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval_pipeline.arms import RetryArm, arm_of, attempt_limit, retry_arm_of
from eval_pipeline.observations import Log
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.studies.retry_limit.observations import Attempt, Outcome
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.sections import Columns

_INPUTS = ("billing-service", "checkout-flow", "audit-trail", "search-index", "tenant-export", "alert-routing")
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Courses:
    """How the sections of each run went.

    runs, inputs, arms: length r.
    until: shape (r, kinds), the last attempt at each section.
    passed, for_good: shape (r, kinds), whether that passed, or failed and is not tried again.
    found: shape (r, kinds, cap), the violations that an attempt leaves if it fails.
    strays: shape (r, kinds, cap), whether a retry is told what its arm does not tell, or not told what it does.
    """

    runs: tuple[str, ...]
    inputs: tuple[str, ...]
    arms: tuple[RetryArm, ...]
    until: Counts
    passed: _Flags
    for_good: _Flags
    found: Counts
    strays: _Flags

    @property
    def columns(self) -> Columns:
        """The sections as estimators take them."""
        kinds = self.until.shape[1]
        told = np.array([arm is RetryArm.WITH_PRIOR_VIOLATIONS for arm in self.arms], dtype=np.int64)
        return Columns(
            until=self.until.ravel(),
            passed=self.passed.ravel().astype(np.int64),
            arm=np.repeat(told, kinds),
            run=np.repeat(np.arange(len(self.runs)), kinds),
        )


def generated_log(plan: RetryLimitPlan) -> Log[Attempt]:
    """The log of the plan's truth under its seed."""
    return Log(tuple(_rows(courses(plan), plan)), simulated=True)


def courses(plan: RetryLimitPlan) -> Courses:
    """How the runs of the plan's truth go under its seed."""
    truth, rng = plan.generated, np.random.default_rng(plan.seed)
    count, cap = truth.inputs * truth.runs_per_input, plan.limit.cap
    place = np.arange(count) % truth.inputs
    runs = tuple(f"retry-{number:05d}-{word:08x}" for number, word in enumerate(rng.integers(2**32, size=count)))
    arms = tuple(retry_arm_of(run, salt=plan.arms.salt or None) for run in runs)
    limits = np.array([attempt_limit(arm_of(run, plan.arms.rule), cap) for run in runs])
    effects = rng.normal(scale=float(truth.input_spread), size=truth.inputs)[place]
    effects += rng.normal(scale=float(truth.run_spread), size=count)
    shape = (count, len(truth.kinds), cap)
    passes, for_good, cut_off, strays = rng.random((4, *shape))
    passed = passes < _chances(np.exp(effects), arms, plan)
    gives_up = (for_good < float(truth.terminal)) | (np.arange(1, cap + 1) >= limits[:, None, None])
    stops = passed | gives_up | (cut_off < float(truth.cut_off))
    last = stops.argmax(axis=2)[:, :, None]
    ends_passed = np.take_along_axis(passed, last, axis=2)[:, :, 0]
    return Courses(
        runs=runs,
        inputs=tuple(f"{_INPUTS[one % len(_INPUTS)]}-{one:04d}" for one in place.tolist()),
        arms=arms,
        until=last[:, :, 0] + 1,
        passed=ends_passed,
        for_good=~ends_passed & np.take_along_axis(gives_up, last, axis=2)[:, :, 0],
        found=1 + rng.poisson(truth.violations - 1, size=shape),
        strays=strays < float(truth.astray),
    )


def passing(chances: Reals, scale: Reals) -> Reals:
    """The chances whose hazards, -log(1 - chance), are so many times as large."""
    return np.asarray(1 - (1 - chances) ** scale)


def _chances(scale: Reals, arms: tuple[RetryArm, ...], plan: RetryLimitPlan) -> Reals:
    """The chance that each attempt passes, shape (runs, kinds, cap)."""
    truth = plan.generated
    ratio = [float(truth.hazard_ratio) if arm is RetryArm.WITH_PRIOR_VIOLATIONS else 1.0 for arm in arms]
    first = passing(np.array([1 - float(kind.fails_first) for kind in truth.kinds]), scale[:, None])
    later = passing(np.array([float(one) for one in truth.retry_hazards]), (scale * ratio)[:, None])
    repeated = np.broadcast_to(later[:, None, :], (len(arms), len(truth.kinds), later.shape[1]))
    return np.concatenate([first[:, :, None], repeated], axis=2)


def _rows(found: Courses, plan: RetryLimitPlan) -> Iterator[Attempt]:
    for (run, place), until in np.ndenumerate(found.until):
        kind, arm = plan.generated.kinds[place].name, found.arms[run]
        left, strays = found.found[run, place].tolist(), found.strays[run, place].tolist()
        for attempt in range(1, int(until) + 1):
            outcome = Outcome.FAILED_PENDING_RETRY
            if attempt == until and found.passed[run, place]:
                outcome = Outcome.PASSED
            elif attempt == until and found.for_good[run, place]:
                outcome = Outcome.FAILED_TERMINAL
            told = (arm is RetryArm.WITH_PRIOR_VIOLATIONS) != strays[attempt - 1]
            yield Attempt(
                run_id=found.runs[run],
                section_id=f"{found.inputs[run]}/{kind}",
                section_type=kind,
                attempt=attempt,
                prior_violations_count=left[attempt - 2] if attempt > 1 else 0,
                prior_violations_used=attempt > 1 and told,
                arm=arm,
                outcome=outcome,
            )
