"""The intervals of a log's means at any level, for looks without end."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from eval_pipeline.history import Anytime
from eval_pipeline.importers.results import Results
from eval_pipeline.records import Interval
from eval_pipeline.studies.imported.estimates import ByItem, Findings, interval_of, scores_by_item
from eval_pipeline.studies.imported.plan import ImportedPlan
from eval_pipeline.studies.imported.verdict import claim_of


def anytime(results: Results, found: Findings, plan: ImportedPlan) -> Anytime:
    """The interval of each claim as a log's findings have it; each metric by itself."""
    scored = scores_by_item(results)
    of_claim: Mapping[str, ByItem] = {claim_of(one, found): scored[one.system, one.metric] for one in found.estimates}
    return Anytime(plan.intervals.level, {claim: partial(_at, items) for claim, items in of_claim.items()})


def _at(items: ByItem, level: Fraction) -> Interval | None:
    return interval_of(items, level)[0]
