"""Sections: what the attempts at each come to, and how many in each run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval_pipeline.arms import RetryArm
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.studies.retry_limit.observations import Attempt, Outcome


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a run after its last attempt; one that was still to be tried again is pending."""

    run: str
    name: str
    kind: str
    arm: RetryArm
    attempts: int
    ended: Outcome

    @property
    def passed(self) -> bool:
        """Whether the last attempt passed."""
        return self.ended is Outcome.PASSED

    @property
    def failed_first(self) -> bool:
        """Whether the first attempt failed."""
        return self.attempts > 1 or not self.passed

    def passed_within(self, limit: int) -> bool | None:
        """Whether it passes if tried so often at most; None where the log ended before that."""
        if self.attempts >= limit or self.ended is not Outcome.FAILED_PENDING_RETRY:
            return self.passed and self.attempts <= limit
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Sections as an estimator takes them: shape (n,), their last attempt, whether it passed, arm and run.

    `arm` is 1 with prior violations, 0 without; runs are numbered in the order of their first section.
    """

    until: Counts
    passed: Counts
    arm: Counts
    run: Counts

    @property
    def failed_first(self) -> Counts:
        """Whether the first attempt failed."""
        return np.asarray((self.until > 1) | (self.passed == 0), dtype=np.int64)

    def where(self, kept: npt.NDArray[np.bool_]) -> "Columns":
        """Some of the sections."""
        return Columns(self.until[kept], self.passed[kept], self.arm[kept], self.run[kept])


def sections_of(rows: Sequence[Attempt]) -> tuple[Section, ...]:
    """The sections of a log, in the order of its first lines."""
    last: dict[tuple[str, str], Attempt] = {}
    for row in rows:
        key = row.run_id, row.section_id or row.claim_id or ""
        if key not in last or last[key].attempt < row.attempt:
            last[key] = row
    return tuple(
        Section(run, name, row.section_type, row.arm, row.attempt, row.outcome) for (run, name), row in last.items()
    )


def columns(sections: Sequence[Section]) -> Columns:
    """Sections as arrays."""
    runs: dict[str, int] = {}
    return Columns(
        until=np.array([one.attempts for one in sections], dtype=np.int64),
        passed=np.array([one.passed for one in sections], dtype=np.int64),
        arm=np.array([one.arm is RetryArm.WITH_PRIOR_VIOLATIONS for one in sections], dtype=np.int64),
        run=np.array([runs.setdefault(one.run, len(runs)) for one in sections], dtype=np.int64),
    )
