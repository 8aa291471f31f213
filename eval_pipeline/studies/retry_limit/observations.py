"""A log of attempts: one line an attempt at a section, and the rules by which lines go together."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from eval_pipeline.arms import RetryArm, arm_of, attempt_limit, retry_arm_of
from eval_pipeline.errors import MalformedObservations
from eval_pipeline.jsonl import read_lines
from eval_pipeline.observations import Log, Observation, read_log
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan

_Name = Annotated[str, Field(min_length=1)]


class Outcome(StrEnum):
    """What became of an attempt."""

    PASSED = "passed"
    FAILED_TERMINAL = "failed_terminal"
    FAILED_PENDING_RETRY = "failed_pending_retry"


class Attempt(Observation):
    """One attempt at a section of a run, or at a claim; a log names either sections or claims.

    `prior_violations_count` is how many violations the attempts before it left behind, `prior_violations_used` whether
    the attempt was told of them; what it made of them is not recorded.
    """

    run_id: _Name
    section_id: _Name | None = None
    claim_id: _Name | None = None
    section_type: _Name
    attempt: Annotated[int, Field(ge=1)]
    prior_violations_count: Annotated[int, Field(ge=0)]
    prior_violations_used: bool
    arm: Annotated[RetryArm, Field(strict=False)]
    outcome: Annotated[Outcome, Field(strict=False)]

    @property
    def subject(self) -> str:
        """What was attempted."""
        return self.section_id or self.claim_id or ""


def read(path: Path) -> Log[Attempt]:
    """The log of a file.

    Raises: MalformedObservations: every line that breaks the schema, or else every one that contradicts another.
    """
    log, what = read_log(path, Attempt), f"observations {str(path)!r}"
    lines = [line.number for line in read_lines(path, MalformedObservations, what).lines]
    if faults := contradictions(log.rows, lines):
        raise MalformedObservations(what, faults)
    return log


def contradictions(rows: Sequence[Attempt], lines: Sequence[int]) -> list[str]:
    """A clause for each line that contradicts itself or another.

    Args:
        rows: the attempts, in any order.
        lines: the line that each stands on.

    """
    numbered = sorted(zip(lines, rows, strict=True), key=lambda one: one[0])
    found = [(line, fault) for line, row in numbered for fault in _of_a_row(row)]
    found += _of_a_log(numbered)
    subjects: dict[tuple[str, str], list[tuple[int, Attempt]]] = {}
    for line, row in numbered:
        subjects.setdefault((row.run_id, row.subject), []).append((line, row))
    for attempts in subjects.values():
        found += _of_a_subject(sorted(attempts, key=lambda one: (one[1].attempt, one[0])))
    return [f"line {line}, {fault}" for line, fault in sorted(found, key=lambda one: one[0])]


def require_assigned(log: Log[Attempt], plan: RetryLimitPlan) -> None:
    """That each run is in the arm of its hash, and tried no more often than it may.

    Raises: MalformedObservations: a run is in another arm, or made more attempts.
    """
    faults = []
    first = {row.run_id: row for row in reversed(log.rows)}
    most: dict[str, int] = {}
    for row in log.rows:
        most[row.run_id] = max(most.get(row.run_id, 0), row.attempt)
    for run, attempts in most.items():
        arm = retry_arm_of(run, salt=plan.arms.salt or None)
        if first[run].arm is not arm:
            faults.append(
                f"run {run!r}, field 'arm': found {first[run].arm.value}, expected {arm.value} by the hash of its id;"
                " give the log of runs that this plan assigned"
            )
        side = arm_of(run, plan.arms.rule)
        if attempts > (limit := attempt_limit(side, plan.limit.cap)):
            faults.append(
                f"run {run!r}, field 'attempt': found {attempts}, expected at most {limit} in the {side.value} arm;"
                " give the log of runs that kept to their limit"
            )
    if faults:
        raise MalformedObservations("observations", faults)


def _of_a_row(row: Attempt) -> Iterator[str]:
    if (row.section_id is None) == (row.claim_id is None):
        given = "neither" if row.section_id is None else "both"
        yield f"field 'section_id': found {given} of section_id and claim_id, expected one of them; name what was tried"
    if row.attempt == 1 and row.prior_violations_count:
        yield (
            f"field 'prior_violations_count': found {row.prior_violations_count} at attempt 1, expected 0; there is no"
            " attempt before the first"
        )
    if row.prior_violations_used and not row.prior_violations_count:
        yield (
            "field 'prior_violations_used': found true where prior_violations_count is 0, expected false; nothing"
            " could be told"
        )


def _of_a_log(numbered: Sequence[tuple[int, Attempt]]) -> Iterator[tuple[int, str]]:
    """Runs in two arms, sections of two types, sections and claims in one log."""
    arms: dict[str, tuple[RetryArm, int]] = {}
    types: dict[tuple[str, str], tuple[str, int]] = {}
    by_claims: tuple[bool, int] | None = None
    for line, row in numbered:
        arm, before = arms.setdefault(row.run_id, (row.arm, line))
        if row.arm is not arm:
            yield (
                line,
                f"field 'arm': found {row.arm.value}, expected {arm.value} as on line {before}; a run has one arm",
            )
        name, before = types.setdefault((row.run_id, row.subject), (row.section_type, line))
        if row.section_type != name:
            yield (
                line,
                f"field 'section_type': found {row.section_type!r}, expected {name!r} as on line {before};"
                " a section has one type",
            )
        if (row.section_id is None) != (row.claim_id is None):
            by_claims = by_claims or (row.section_id is None, line)
            if by_claims[0] != (row.section_id is None):
                wanted = "claim_id" if by_claims[0] else "section_id"
                yield (
                    line,
                    f"field {wanted!r}: found nothing, expected it as on line {by_claims[1]}; a log has one schema",
                )


def _of_a_subject(attempts: Sequence[tuple[int, Attempt]]) -> Iterator[tuple[int, str]]:
    """Attempts that are missing, stand twice, or come after the end."""
    expected, end = 1, None
    for line, row in attempts:
        what = f"of {row.subject!r} in run {row.run_id!r}"
        if row.attempt < expected:
            yield line, f"field 'attempt': found attempt {row.attempt} {what} twice, expected it once; remove one"
            continue
        if row.attempt > expected:
            yield (
                line,
                f"field 'attempt': found attempt {row.attempt} {what}, expected attempt {expected} first;"
                " add what is missing",
            )
        if end:
            yield (
                line,
                f"field 'attempt': found attempt {row.attempt} {what} after it {end[1]} on line {end[0]},"
                " expected nothing after that",
            )
        elif row.outcome is not Outcome.FAILED_PENDING_RETRY:
            end = (line, "passed" if row.outcome is Outcome.PASSED else "failed for good")
        expected = row.attempt + 1
