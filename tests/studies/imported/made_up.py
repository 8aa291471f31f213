"""Results and plans made up for the tests of the study."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval_pipeline.bundled import bundled
from eval_pipeline.importers.results import Headline, Results, Row, Undecided, row_of
from eval_pipeline.plan import parse_plan, read_plan
from eval_pipeline.studies.imported.plan import ImportedPlan

Scores = Mapping[str, Sequence[float | Undecided]]


def bundled_plan() -> ImportedPlan:
    return read_plan(bundled("plans") / "imported.toml", ImportedPlan)


def plan_with(*gates: dict[str, Any], smallest_items: int = 2, undecided_at_most: str = "1/2") -> ImportedPlan:
    """The bundled plan with these gates, and with an intake that lets small results through."""
    values = bundled_plan().model_dump(mode="json")
    intake = {"smallest_items": smallest_items, "undecided_at_most": undecided_at_most}
    values |= {"gates": list(gates), "intake": intake}
    return parse_plan(values, ImportedPlan, "plan 'mine'")


def results(*headlines: Headline, **systems: Scores | Sequence[float | Undecided]) -> Results:
    """Of each system the scores of metric `m`: by item, or one an item."""
    rows: list[Row] = []
    for system, scores in systems.items():
        by_item = scores if isinstance(scores, Mapping) else {f"{n:03d}": [score] for n, score in enumerate(scores)}
        for item, of_item in by_item.items():
            rows += [row_of(system, "m", item, repeat, score) for repeat, score in enumerate(of_item, 1)]
    order = sorted(rows, key=lambda row: (row.system, row.metric, row.item, row.repeat))
    return Results("inspect", "lakes", tuple(order), headlines, (), ())
