"""What the documents of all closed loops say alike: whose plan they follow, what it settles, where numbers are from."""

from collections.abc import Iterable, Mapping
from typing import Any

from eval_pipeline.document import plain_claim, plain_value
from eval_pipeline.loop import Constant, LoopPlan
from eval_pipeline.records import Verdict


def loop_document(
    plan: LoopPlan,
    *,
    simulated: bool,
    verdicts: Iterable[Verdict],
    decision: Mapping[str, Any],
    findings: Mapping[str, Any],
    held_out: Mapping[str, Any] | None,
    constants: Iterable[Constant],
    charts: Iterable[Mapping[str, Any]],
) -> dict[str, Any]:
    """The document of a closed loop.

    Args:
        plan: that it follows.
        simulated: the log was generated.
        verdicts: on each claim, in their order.
        decision, findings, held_out, charts: as plain values; None where nothing was replayed on held-out data.
        constants: that the decision leaves in force.

    """
    return {
        "study": plan.study,
        "plan": plan.name,
        "generation": plan.generation,
        "simulated": simulated,
        "claims": [plain_claim(one) for one in verdicts],
        "decision": decision,
        "findings": findings,
        "held_out": held_out,
        "constants": [plain_value(one) | {"heuristic": one.heuristic} for one in constants],
        "charts": list(charts),
        "settled": [one.model_dump(mode="json") for one in plan.settled],
    }
