"""The seal of a plan: the hash of what was promised, and the refusal to go on when the promise has changed."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import SealBroken
from eval_pipeline.plan import Plan, parse_plan

_Plan = TypeVar("_Plan", bound=Plan)


def seal_of(plan: Plan) -> str:
    """The sha256 of the plan's canonical bytes. White space, comments and the order of a file play no part in it."""
    return content_hash(plan.model_dump(mode="json"))


class SealedPlan(BaseModel):
    """A plan as plain values with the seal that was put on it; it gives the plan only while the seal holds."""

    model_config = ConfigDict(frozen=True)
    seal: str
    values: dict[str, Any]

    def open(self, model: type[_Plan]) -> _Plan:
        """The plan.

        Raises: SealBroken: its values hash to something else than the seal.
        """
        try:
            found = content_hash(self.values)
        except (TypeError, ValueError):
            found = "what no plan can hold"
        if found != self.seal:
            raise SealBroken(
                f"plan {self.values.get('name')!r} was sealed as {self.seal[:12]} but now hashes to {found[:12]};"
                " restore the sealed plan, or register a new one under a new name"
            )
        return parse_plan(self.values, model, f"plan {self.values.get('name')!r}")


def sealed(plan: Plan) -> SealedPlan:
    """The plan under its seal."""
    return SealedPlan(seal=seal_of(plan), values=plan.model_dump(mode="json"))
