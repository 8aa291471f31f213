"""Every ability of every judge by claim type and over all, by the registered estimator and by the pooled one."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eval_pipeline.arms import Arm
from eval_pipeline.records import Interval
from eval_pipeline.stats.pooled_rates import PooledRate, pooled_rates
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.posterior import Posterior, posterior_of, prior_point, source_of
from eval_pipeline.studies.judge_reliability.words import Ability, Source, Truth, Vote, ability_shown_by


@dataclass(frozen=True, slots=True)
class Cell:
    """An ability of a judge on claims of a type.

    `source` says whose posterior a treated run relies on, and `reliability` the number that this gives; `pooled_mean`
    and `pooled_interval` are what the pooled estimator makes of the same claims.
    """

    judge: str
    claim_type: str
    ability: Ability
    posterior: Posterior
    source: Source
    reliability: float
    pooled_mean: float
    pooled_interval: Interval


@dataclass(frozen=True, slots=True)
class Overall:
    """An ability of a judge over all claim types, the mean over such types, and how far the types' rates spread."""

    judge: str
    ability: Ability
    posterior: Posterior
    pooled_centre: float
    pooled_spread: float


@dataclass(frozen=True, slots=True)
class Abilities:
    """All cells and what stands over them; `prior` is the number that the prior stands for."""

    cells: tuple[Cell, ...]
    overall: tuple[Overall, ...]
    prior: float


@dataclass(frozen=True, slots=True)
class Reliance:
    """What each map relies on when a judge votes on a claim of a type: the prior's number, or the calibrated one."""

    cells: Mapping[tuple[str, str, Ability], Cell]
    overall: Mapping[tuple[str, Ability], Overall]
    prior: float

    def calibrated(self, judge: str, claim_type: str, ability: Ability, arm: Arm) -> float:
        """The number of the fallback chain; a judge or a type that was never seen falls through it."""
        cell, overall = self.cells.get((judge, claim_type, ability)), self.overall.get((judge, ability))
        source = source_of(cell.posterior if cell else None, overall.posterior if overall else None, arm)
        if source is Source.CELL and cell:
            return cell.posterior.point
        return overall.posterior.point if source is Source.JUDGE_GLOBAL and overall else self.prior

    def pooled(self, judge: str, claim_type: str, ability: Ability, arm: Arm) -> float:
        """The pooled mean of the cell, of a type that was never seen that over all types; else the prior's number."""
        cell, overall = self.cells.get((judge, claim_type, ability)), self.overall.get((judge, ability))
        if arm is Arm.CONTROL or overall is None:
            return self.prior
        return cell.pooled_mean if cell else overall.pooled_centre


def right_of(truth: Truth, vote: Vote) -> bool:
    """Whether a vote says what is true; one that leaves it open does not."""
    return vote.says == truth


def abilities_of(rows: Iterable[JudgeObservation], plan: JudgeReliabilityPlan) -> Abilities:
    """What judgments of claims with a known truth say of each ability.

    Judgments without a vote say nothing of an ability, and are in none of them.
    """
    n: Counter[tuple[str, str, Ability]] = Counter()
    right: Counter[tuple[str, str, Ability]] = Counter()
    for row in rows:
        if row.truth is not None and row.verdict is not None:
            key = (row.judge, row.claim_type, ability_shown_by(row.truth))
            n[key] += 1
            right[key] += right_of(row.truth, row.verdict)
    judges = sorted({judge for judge, _, _ in n})
    types = {judge: sorted({kind for one, kind, _ in n if one == judge}) for judge in judges}
    cells: list[Cell] = []
    over: list[Overall] = []
    for judge in judges:
        for ability in Ability:
            keys = [(judge, kind, ability) for kind in types[judge]]
            hits, trials = [right[key] for key in keys], [n[key] for key in keys]
            pooled = pooled_rates(
                hits, trials, centre=plan.prior.belief, nodes=plan.pooling.nodes, level=plan.pooling.level
            )
            overall = posterior_of(sum(hits), sum(trials), plan)
            over.append(Overall(judge, ability, overall, pooled.centre, pooled.spread))
            for key, hit, total, rate in zip(keys, hits, trials, pooled.rates, strict=True):
                cells.append(_cell(key, posterior_of(hit, total, plan), overall, rate, plan))
    return Abilities(tuple(cells), tuple(over), prior_point(plan))


def reliance(abilities: Abilities) -> Reliance:
    """The abilities as they are looked up."""
    return Reliance(
        {(one.judge, one.claim_type, one.ability): one for one in abilities.cells},
        {(one.judge, one.ability): one for one in abilities.overall},
        abilities.prior,
    )


def _cell(
    key: tuple[str, str, Ability], own: Posterior, overall: Posterior, rate: PooledRate, plan: JudgeReliabilityPlan
) -> Cell:
    source = source_of(own, overall, Arm.TREATMENT)
    number = {Source.CELL: own.point, Source.JUDGE_GLOBAL: overall.point, Source.PRIOR: prior_point(plan)}[source]
    return Cell(*key, own, source, number, rate.mean, rate.interval)
