"""Whether judges err together: the consensus takes them as independent, and is too sure where they are not."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from eval_pipeline.stats.common_errors import common_errors
from eval_pipeline.stats.multiplicity import holm
from eval_pipeline.studies.judge_reliability.abilities import right_of
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges on the claims that both voted on: errors in common, how many were expected, and Holm's p."""

    first: str
    second: str
    claims: int
    both_wrong: int
    expected: float
    adjusted_p: float
    together: bool


def pairs_of(rows: Iterable[JudgeObservation], plan: JudgeReliabilityPlan) -> tuple[Pair, ...]:
    """Each pair of judges with claims enough in common, given the truth and the type of each claim."""
    wrong: dict[str, dict[str, bool]] = {}
    stratum: dict[str, str] = {}
    for row in rows:
        if row.truth is not None and row.verdict is not None:
            wrong.setdefault(row.judge, {})[row.claim_id] = not right_of(row.truth, row.verdict)
            stratum[row.claim_id] = f"{row.truth} {row.claim_type}"
    found = []
    for first, second in combinations(sorted(wrong), 2):
        both = [claim for claim in wrong[first] if claim in wrong[second]]
        if len(both) >= plan.dependence.claims_at_least:
            errs, others = ([wrong[judge][claim] for claim in both] for judge in (first, second))
            found.append((first, second, common_errors(errs, others, [stratum[claim] for claim in both])))
    adjusted = holm([one.p_value for _, _, one in found], alpha=float(plan.dependence.alpha))
    decided = zip(found, adjusted.p_values.tolist(), adjusted.rejected.tolist(), strict=True)
    return tuple(
        Pair(first, second, one.n, one.both, float(one.expected), p, together)
        for (first, second, one), p, together in decided
    )
