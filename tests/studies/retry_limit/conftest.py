"""The shipped plan, plans that differ from it, and logs made of a few letters."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from eval_pipeline.arms import RetryArm, arm_of, retry_arm_of
from eval_pipeline.bundled import bundled
from eval_pipeline.observations import Log
from eval_pipeline.plan import parse_plan, read_plan
from eval_pipeline.studies.retry_limit.observations import Attempt, Outcome
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.sections import Section

WITH, WITHOUT = RetryArm.WITH_PRIOR_VIOLATIONS, RetryArm.WITHOUT_PRIOR_VIOLATIONS
ENDS = {"p": Outcome.PASSED, "t": Outcome.FAILED_TERMINAL, "r": Outcome.FAILED_PENDING_RETRY}
SHIPPED = read_plan(bundled("plans") / "retry-limit.toml", RetryLimitPlan)


def amended(plan: RetryLimitPlan, **sections: Any) -> RetryLimitPlan:
    """The plan with other values in some of its sections, validated as a whole."""
    values = plan.model_dump(mode="json")
    for name, value in sections.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    return parse_plan(values, RetryLimitPlan, "plan 'amended'")


def of_first_version(plan: RetryLimitPlan) -> RetryLimitPlan:
    """The plan with what the first version computed."""
    return amended(
        plan,
        arms={"salt": ""},
        preflight={"events_per_failure": "1", "design_effect": "1", "allocation": "1/2"},
        contrast={"sections": "all", "variance": "plain", "no_contrast": "no_difference"},
        curves={"transform": "plain", "median_ends": "last_not_below"},
        ablation={"method": "tail_shares"},
        replay={"tolerated_loss": "0"},
    )


def runs_in(arm: RetryArm, count: int, plan: RetryLimitPlan = SHIPPED, *, treated: bool = True) -> list[str]:
    """Run ids whose hash puts them into the arm, and into that of treated runs or of control runs."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        run = f"run-{number}"
        side = arm_of(run, plan.arms.rule).value == ("treatment" if treated else "control")
        if side and retry_arm_of(run, salt=plan.arms.salt or None) is arm:
            found.append(run)
        number += 1
    return found


def section(run: str, name: str, path: str, arm: RetryArm = WITH) -> Section:
    """A section from its attempts: `r` failed and to be tried again, `p` passed, `t` failed for good."""
    return Section(run, name, "overview", arm, len(path), ENDS[path[-1]])


def attempts(run: str, name: str, path: str, arm: RetryArm = WITH, **fields: Any) -> list[Attempt]:
    """The lines of a section, whose retries are told what the arm tells."""
    return [
        Attempt(
            **{
                "run_id": run,
                "section_id": name,
                "section_type": "overview",
                "attempt": place,
                "prior_violations_count": 0 if place == 1 else 2,
                "prior_violations_used": place > 1 and arm is WITH,
                "arm": arm,
                "outcome": ENDS[letter],
            }
            | fields
        )
        for place, letter in enumerate(path, 1)
    ]


def log_of(rows: Sequence[Attempt]) -> Log[Attempt]:
    """The rows as a log of runs that were made."""
    return Log(tuple(rows), simulated=False)


@pytest.fixture
def plan() -> RetryLimitPlan:
    return SHIPPED


@pytest.fixture
def compat() -> RetryLimitPlan:
    return of_first_version(SHIPPED)


@pytest.fixture
def lines() -> Callable[..., list[Attempt]]:
    return attempts
