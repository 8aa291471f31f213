"""How often a section may be tried: the decision from what was found, branch by branch."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from eval_pipeline.arms import RetryArm
from eval_pipeline.gates import at_most, below
from eval_pipeline.records import Number, Outcome
from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.retry_limit.curves import Step
from eval_pipeline.studies.retry_limit.plan import Limit, RetryLimitPlan


class Word(StrEnum):
    """What is decided of the limit."""

    CALIBRATED = "calibrated"
    KEPT = "kept"
    REVERTED = "reverted"
    HELD = "held"
    UNDECIDED = "undecided"
    MECHANISM_BROKEN = "mechanism_broken"


@dataclass(frozen=True, slots=True)
class Rung:
    """A limit of `attempts`: how often one attempt more passes, and how often it may; None where nobody can say."""

    attempts: int
    next_passes: float
    next_at_most: Number | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the decision rests on.

    `required` is None where no number of sections would do. `astray` is the share of retries that were told against
    their arm, None without one that had anything to be told. `failures` are first failures without and with prior
    violations. `first_failing` is the share of first failures among the first sections, None before there are enough.
    `p_value` is None where the arms cannot be compared, `passes` are those at a retry. `faster` is the arm whose
    sections pass sooner, and the rungs are its.
    """

    sections: int
    required: int | None
    failures: tuple[int, int]
    first_failing: Fraction | None
    p_value: float | None
    passes: int
    faster: RetryArm | None
    rungs: tuple[Rung, ...]
    astray: Fraction | None


@dataclass(frozen=True, slots=True)
class Decision:
    """The limit from now on, the arm whose retries it is for where one is kept, and why."""

    word: Word
    attempts: int
    kept: RetryArm | None
    reason: str


def rungs_of(steps: Sequence[Step]) -> tuple[Rung, ...]:
    """Each limit below the last attempt that was made, with what one attempt more would give."""
    return tuple(
        Rung(later.attempt - 1, later.share, later.clustered.high if later.clustered else None) for later in steps[1:]
    )


def smallest(rungs: Sequence[Rung], rules: Limit) -> int | None:
    """The smallest limit after which another attempt is shown to be wasted; None where none is."""
    return next((one.attempts for one in rungs if _wasted(one, rules)), None)


def decide(found: Evidence, plan: RetryLimitPlan) -> Decision:
    """The decision by the first branch that holds: hold, too little, broken, calibrated, kept."""
    default, alpha = plan.limit.default, plan.power.alpha
    if found.first_failing is not None and found.first_failing < plan.stopping.hold_below:
        return Decision(Word.HELD, default, None, _held(found.first_failing, plan))
    if lacking := _lacking(found, plan):
        return Decision(Word.UNDECIDED, default, None, f"{lacking}; the limit stays at {default}")
    if found.astray is not None and at_most(found.astray, plan.delivery.astray_at_most, "exact") is not Outcome.PASS:
        return Decision(Word.UNDECIDED, default, None, _astray(found.astray, plan))
    if found.p_value is None and found.passes:
        return Decision(Word.UNDECIDED, default, None, f"the arms cannot be compared; the limit stays at {default}")
    if found.p_value is None or reaches(found.p_value, alpha):
        return Decision(Word.MECHANISM_BROKEN, 1, None, _broken(found.p_value, alpha))
    told = "told" if found.faster is RetryArm.WITH_PRIOR_VIOLATIONS else "not told"
    limit = smallest(found.rungs, plan.limit)
    bar = f"{float(plan.limit.pass_below):.0%}"
    if limit is None:
        reason = (
            f"retries that are {told} what was wrong pass sooner (p = {found.p_value:.2g}), and after no number of"
            f" attempts is the next one shown to pass in less than {bar}; the limit stays at {default}"
        )
        return Decision(Word.KEPT, default, found.faster, reason)
    rung = next(one for one in found.rungs if one.attempts == limit)
    assert rung.next_at_most is not None
    reason = (
        f"retries that are {told} what was wrong pass sooner (p = {found.p_value:.2g}), and attempt {limit + 1} passes"
        f" in {rung.next_passes:.1%} of the sections that come to it, at most {float(rung.next_at_most):.1%}, below"
        f" {bar}"
    )
    return Decision(Word.CALIBRATED, limit, found.faster, reason)


def _wasted(rung: Rung, rules: Limit) -> bool:
    if rung.next_at_most is None:
        return False
    return all(below(one, rules.pass_below) is Outcome.PASS for one in (rung.next_passes, rung.next_at_most))


def _lacking(found: Evidence, plan: RetryLimitPlan) -> str | None:
    """What is still too little for a decision; None where nothing is."""
    if found.required is None:
        return "no number of sections is known to be enough"
    if found.sections < found.required:
        return f"{found.sections} sections were tried and {found.required} are needed; go on"
    if min(found.failures) < plan.stopping.failures_per_arm:
        return (
            f"{min(found.failures)} first attempts failed in one arm and {plan.stopping.failures_per_arm} are needed;"
            " go on"
        )
    return None


def _held(share: Fraction, plan: RetryLimitPlan) -> str:
    first, bar = plan.stopping.first_sections, float(plan.stopping.hold_below)
    return (
        f"of the first {first} sections {float(share):.1%} failed at the first attempt, less than {bar:.0%}; a limit of"
        f" retries hardly matters, and stays at {plan.limit.default}"
    )


def _astray(share: Fraction, plan: RetryLimitPlan) -> str:
    return (
        f"{float(share):.1%} of the retries were told against their arm, and {float(plan.delivery.astray_at_most):.0%}"
        f" may be, so that the arms are not what they are called; mend how they are told, and collect new data; the"
        f" limit stays at {plan.limit.default}"
    )


def _broken(p_value: float | None, alpha: Fraction) -> str:
    shown = "no retry passed in either arm" if p_value is None else f"p = {p_value:.2g}, not below {float(alpha):g}"
    return (
        f"retries that are told what was wrong do not pass sooner than others ({shown}); investigate the retry"
        " mechanism, and until then try once"
    )
