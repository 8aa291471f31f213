"""A log of judgments whose truth is known: judges of planted abilities on claims of many types."""

from dataclasses import dataclass

import numpy as np

from eval_pipeline.observations import Log
from eval_pipeline.studies.judge_reliability.annotation import settled
from eval_pipeline.studies.judge_reliability.observations import NOT_INVOKED, PARSE_ERROR, JudgeObservation
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.words import Grounding, Label, Truth, Vote

_LENIENT = (Vote.PASS, Vote.SPEC_COMPLETE)
_OPEN = (Vote.NEEDS_RUNTIME, Vote.INCONCLUSIVE)


@dataclass(frozen=True, slots=True)
class PlantedJudge:
    """A judge as it is: how often it is right of claims that hold and of claims that fail, by claim type.

    An ability is given for all types, or by type. `open_share` of its wrong votes leave the claim open, `no_vote` of
    its answers give no vote at all, and so do `no_vote_late` of the last third of them.
    """

    kind: str
    name: str
    sensitivity: float | dict[str, float]
    specificity: float | dict[str, float]
    open_share: float
    no_vote: float
    no_vote_late: float

    def ability(self, truth: Truth, claim_type: str) -> float:
        """The chance of a right vote."""
        of = self.sensitivity if truth is Truth.HOLDS else self.specificity
        return of[claim_type] if isinstance(of, dict) else of


@dataclass(frozen=True, slots=True)
class Planted:
    """A world of judgments.

    `types` gives each claim type its grounding. Of each there are `claims_per_type`, `holds` of them true, in runs of
    `claims_per_run`. Of `hard` claims each judge errs by as much more as leaves it half its ability. Annotators
    disagree on `conflicts` of their claims, and end at INCONCLUSIVE on `dropped`.
    """

    judges: tuple[PlantedJudge, ...]
    types: dict[str, Grounding]
    claims_per_type: int
    claims_per_run: int
    holds: float
    hard: float
    conflicts: float
    dropped: float


@dataclass(frozen=True, slots=True)
class _Claim:
    number: int
    claim_type: str
    grounding: Grounding
    holds: Truth
    labels: tuple[Label, ...] | None
    hard: bool

    @property
    def truth(self) -> Truth | None:
        return self.holds if self.labels is None else settled(self.labels).truth


@dataclass(frozen=True, slots=True)
class _Answers:
    """Of a judge on all claims, in their order."""

    votes: list[Vote | None]
    confidences: list[float | None]
    caveats: list[str | None]


TYPES = {
    "field_schema": Grounding.SCHEMA,
    "payload_schema": Grounding.SCHEMA,
    "arithmetic": Grounding.MATH,
    "unit_conversion": Grounding.MATH,
    "python_typing": Grounding.CODE,
    "typescript_typing": Grounding.CODE,
    "document_structure": Grounding.SPEC,
    "cross_reference": Grounding.SPEC,
    "architecture": Grounding.ANNOTATORS,
    "performance": Grounding.ANNOTATORS,
    "security": Grounding.ANNOTATORS,
}
STRONG_ON = ("field_schema", "payload_schema", "arithmetic", "python_typing")
DEFAULT = Planted(
    judges=(
        PlantedJudge("chat", "reader-large", 0.93, 0.86, open_share=0.3, no_vote=0.02, no_vote_late=0.02),
        PlantedJudge(
            "chat",
            "reader-small",
            dict.fromkeys(TYPES, 0.78),
            {name: 0.74 if name in STRONG_ON else 0.38 for name in TYPES},
            open_share=0.2,
            no_vote=0.03,
            no_vote_late=0.09,
        ),
        PlantedJudge(
            "rules",
            "checklist",
            {name: 0.97 if name in STRONG_ON else 0.52 for name in TYPES},
            {name: 0.95 if name in STRONG_ON else 0.44 for name in TYPES},
            open_share=0.15,
            no_vote=0.002,
            no_vote_late=0.002,
        ),
    ),
    types=TYPES,
    claims_per_type=420,
    claims_per_run=12,
    holds=0.5,
    hard=0.04,
    conflicts=0.15,
    dropped=0.04,
)


def generate(plan: JudgeReliabilityPlan) -> Log[JudgeObservation]:
    """The log of the default world, from the plan's seed."""
    return simulated(DEFAULT, rng=np.random.default_rng(plan.seed), prefix="claim")


def simulated(world: Planted, *, rng: np.random.Generator, prefix: str) -> Log[JudgeObservation]:
    """A log of a world, in the order of its runs.

    Args:
        world: what is true.
        rng: the only source of chance.
        prefix: of the ids, which are distinct within a log.

    """
    claims = _claims(world, rng)
    columns = [_answers(judge, claims, rng) for judge in world.judges]
    rows = [
        _row(claim, judge, answers, place, prefix, world)
        for place, claim in enumerate(claims)
        for judge, answers in zip(world.judges, columns, strict=True)
    ]
    return Log(tuple(rows), simulated=True)


def _claims(world: Planted, rng: np.random.Generator) -> list[_Claim]:
    """All claims in the order in which they come up, types mixed."""
    types = [name for name in world.types for _ in range(world.claims_per_type)]
    n = len(types)
    holds, hard = rng.random(n) < world.holds, rng.random(n) < world.hard
    fate, side = rng.random(n), rng.random(n)
    claims = []
    for number, place in enumerate(rng.permutation(n).tolist()):
        name = types[place]
        truth = Truth.HOLDS if holds[place] else Truth.FAILS
        labels = None
        if world.types[name] is Grounding.ANNOTATORS:
            labels = _labels(Label(truth), fate[place], side[place], world)
        claims.append(_Claim(number, name, world.types[name], truth, labels, bool(hard[place])))
    return claims


def _labels(right: Label, fate: float, side: float, world: Planted) -> tuple[Label, ...]:
    wrong = Label.FAILS if right is Label.HOLDS else Label.HOLDS
    first = (right, wrong) if side < 0.5 else (wrong, right)
    if fate < world.dropped:
        return (Label.INCONCLUSIVE, Label.INCONCLUSIVE) if side < 0.25 else (*first, Label.INCONCLUSIVE)
    return (*first, right) if fate < world.dropped + world.conflicts else (right, right)


def _answers(judge: PlantedJudge, claims: list[_Claim], rng: np.random.Generator) -> _Answers:
    n = len(claims)
    ability = np.array([judge.ability(claim.holds, claim.claim_type) for claim in claims])
    ability = np.where([claim.hard for claim in claims], ability / 2, ability)
    right = rng.random(n) < ability
    none = rng.random(n) < np.where(np.arange(n) < 2 * n / 3, judge.no_vote, judge.no_vote_late)
    leaves_open, other = rng.random(n) < judge.open_share, rng.random(n)
    sure = np.where(right, rng.beta(14, 2, n), rng.beta(9, 3, n)).round(2)
    votes: list[Vote | None] = []
    for place, claim in enumerate(claims):
        says_holds = (claim.holds is Truth.HOLDS) == bool(right[place])
        pick = int(other[place] < 0.12)
        if not right[place] and leaves_open[place]:
            votes.append(_OPEN[pick])
        else:
            votes.append(_LENIENT[pick] if says_holds else Vote.FAIL)
    caveat = [(PARSE_ERROR if other[place] < 0.8 else NOT_INVOKED) if none[place] else None for place in range(n)]
    return _Answers(
        [None if silent else vote for vote, silent in zip(votes, none, strict=True)],
        [None if silent else float(one) for one, silent in zip(sure, none, strict=True)],
        caveat,
    )


def _row(
    claim: _Claim, judge: PlantedJudge, answers: _Answers, place: int, prefix: str, world: Planted
) -> JudgeObservation:
    return JudgeObservation(
        run_id=f"{prefix}-run-{claim.number // world.claims_per_run:04d}",
        judge_kind=judge.kind,
        judge_name=judge.name,
        claim_id=f"{prefix}-{claim.number:05d}",
        claim_type=claim.claim_type,
        grounding=claim.grounding,
        verdict=answers.votes[place],
        confidence=answers.confidences[place],
        caveat=answers.caveats[place],
        truth=claim.truth,
        labels=claim.labels,
    )
