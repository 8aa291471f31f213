"""Plans as assets: each study's is read, sealed and handed on in the same way."""

from typing import Any

import dagster as dg

from assets.metadata import materialized
from assets.resources import StudyInputs
from eval_pipeline.plan import Plan, read_plan
from eval_pipeline.seal import SealedPlan, sealed


def materialized_plan(
    inputs: StudyInputs, study: str, of_type: type[Plan], *, shown: str | None = None
) -> dg.MaterializeResult[SealedPlan]:
    """The plan of a study under its seal, which is its data version; the fields of `shown`, a section, stand by it."""
    plan = sealed(read_plan(inputs.plan_path(study), of_type))
    section: dict[str, Any] = plan.values[shown] if shown else {}
    about = {"plan": plan.values["name"], "version": plan.values["version"], "seal": plan.seal}
    return materialized(plan, about | section, version=plan.seal)
