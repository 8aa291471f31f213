"""Verdicts and refusals as asset checks."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.metadata import to_meta
from eval_pipeline.errors import SealBroken
from eval_pipeline.plan import Plan
from eval_pipeline.records import Outcome, Refusal
from eval_pipeline.seal import SealedPlan


def to_check(claim: Mapping[str, Any], *, asset: str | None = None) -> dg.AssetCheckResult:
    """A claim of a verdict document as a check: only a pass is passed, and only a fail is an error.

    The asset need not be named where all checks that are made together are of one.
    """
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=claim["claim"],
        passed=claim["outcome"] == Outcome.PASS.value,
        severity=dg.AssetCheckSeverity.ERROR if claim["outcome"] == Outcome.FAIL.value else dg.AssetCheckSeverity.WARN,
        description=claim["detail"],
        metadata=to_meta(
            {
                "outcome": claim["outcome"],
                "reason": claim["reason"] or "none",
                "estimate": claim["estimate"],
                "low": claim["interval"] and claim["interval"][0],
                "high": claim["interval"] and claim["interval"][1],
                "threshold": claim["threshold"],
                "advisory": claim["advisory"],
            }
        ),
    )


def seal_check(plan: SealedPlan, of_type: type[Plan]) -> dg.AssetCheckResult:
    """A check that passes if the plan hashes to its seal."""
    try:
        plan.open(of_type)
    except SealBroken as broken:
        return dg.AssetCheckResult(passed=False, description=str(broken), metadata={"seal": plan.seal})
    return dg.AssetCheckResult(passed=True, metadata={"seal": plan.seal})


def refusal_check(refusal: Refusal | None) -> dg.AssetCheckResult:
    """A check that passes unless something was refused, and then says what."""
    return dg.AssetCheckResult(
        passed=refusal is None,
        description=refusal.detail if refusal else None,
        metadata=to_meta({"reason": refusal.reason if refusal else "none"}),
    )
