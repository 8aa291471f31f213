"""Held-out runs under the limit that was found and under the one that stands: the falsifier of the calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from eval_pipeline.arms import arm_of, attempt_limit
from eval_pipeline.errors import Undefined
from eval_pipeline.observations import Log
from eval_pipeline.records import Interval
from eval_pipeline.stats.paired_bootstrap import paired_difference
from eval_pipeline.studies.retry_limit.findings import Findings
from eval_pipeline.studies.retry_limit.limit import Decision, Word
from eval_pipeline.studies.retry_limit.observations import Attempt, require_assigned
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.sections import Section, columns, sections_of


@dataclass(frozen=True, slots=True)
class Replay:
    """The same held-out sections under two limits.

    limit, default: attempts.
    undecided: sections of which the log ends before one can say; they are left out.
    passed, passed_by_default: sections that pass under each.
    attempts, attempts_by_default: that are made under each.
    difference: the share that passes under the limit less the one under the default.
    interval, p_value: by drawing runs; None, with the reason in `why`, where nobody can say.
    worse: whether the limit loses more than is tolerated, beyond the interval.
    """

    limit: int
    default: int
    runs: int
    sections: int
    undecided: int
    passed: int
    passed_by_default: int
    attempts: int
    attempts_by_default: int
    difference: Fraction | None
    interval: Interval | None
    p_value: float | None
    worse: bool | None
    why: str | None


@dataclass(frozen=True, slots=True)
class HeldOutFindings:
    """The replay of held-out runs, and the decision after it; `data` is the hash of the observations."""

    data: str
    replay: Replay
    decision: Decision


def held_out(found: Findings, log: Log[Attempt], plan: RetryLimitPlan) -> HeldOutFindings:
    """What held-out runs say of the limit; of those of the arm that is kept, or of both where none is.

    Raises: MalformedObservations: a run is not in the arm of its hash, or tried too often.
    """
    require_assigned(log, plan)
    kept = found.decision.kept
    sections = [one for one in sections_of(log.rows) if kept is None or one.arm is kept]
    replay = replayed(sections, found.decision.attempts, plan)
    return HeldOutFindings(log.hash, replay, after(found.decision, replay, plan))


def replayed(sections: Sequence[Section], limit: int, plan: RetryLimitPlan) -> Replay:
    """Sections under a limit and under the default: what is beyond a limit is taken as not tried.

    Runs that were not allowed as many attempts cannot say what a longer limit gives, and are left out as a whole.
    """
    default = plan.limit.default
    longest = max(limit, default)
    able = [one for one in sections if attempt_limit(arm_of(one.run, plan.arms.rule), plan.limit.cap) >= longest]
    known = [one for one in able if one.passed_within(longest) is not None]
    first = [bool(one.passed_within(limit)) for one in known]
    second = [bool(one.passed_within(default)) for one in known]
    difference, interval, p_value, worse, why = None, None, None, None, None
    if known:
        difference = Fraction(sum(first) - sum(second), len(known))
    try:
        test = paired_difference(
            np.array(first, dtype=np.int64),
            np.array(second, dtype=np.int64),
            columns(known).run,
            level=plan.replay.level,
            alternative="two-sided",
            method="percentile",
            resamples=plan.replay.resamples,
            ranks="symmetric",
            rng=np.random.default_rng([plan.seed, 2]),
        )
        interval, p_value = test.bootstrap.interval, test.p_value
        assert interval.high is not None
        worse = bool(interval.high < -plan.replay.tolerated_loss)
    except Undefined as refused:
        why = str(refused)
    return Replay(
        limit=limit,
        default=default,
        runs=len({one.run for one in known}),
        sections=len(known),
        undecided=len(able) - len(known),
        passed=sum(first),
        passed_by_default=sum(second),
        attempts=sum(min(one.attempts, limit) for one in known),
        attempts_by_default=sum(min(one.attempts, default) for one in known),
        difference=difference,
        interval=interval,
        p_value=p_value,
        worse=worse,
        why=why,
    )


def after(decision: Decision, replay: Replay, plan: RetryLimitPlan) -> Decision:
    """The decision after the replay: a calibrated limit is taken back if it is worse, or if nobody can say."""
    if decision.word is not Word.CALIBRATED or replay.worse is False:
        return decision
    default = plan.limit.default
    if replay.worse is None:
        reason = (
            f"held-out runs cannot say whether {decision.attempts} attempts are worse than {default} ({replay.why})"
        )
        return Decision(Word.UNDECIDED, default, decision.kept, f"{reason}; the limit stays at {default}")
    assert replay.difference is not None
    assert replay.interval is not None
    assert replay.interval.high is not None
    lost, surely = -float(replay.difference), -float(replay.interval.high)
    reason = (
        f"in held-out runs {decision.attempts} attempts lose {lost:.1%} of sections against {default}, at least"
        f" {surely:.1%}, and {float(plan.replay.tolerated_loss):.0%} may be lost; the limit stays at {default}"
    )
    return Decision(Word.REVERTED, default, decision.kept, reason)
