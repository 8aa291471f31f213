"""Claims that were held out, their consensus replayed under either map: is it right more often for being calibrated?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.observations import Log
from eval_pipeline.records import Interval
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.paired_bootstrap import paired_difference
from eval_pipeline.studies.judge_reliability.abilities import Reliance, reliance, right_of
from eval_pipeline.studies.judge_reliability.consensus import Voice, bayesian, weighted
from eval_pipeline.studies.judge_reliability.findings import Findings
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.words import Ability, Truth, Vote, ability_relied_on

REPORT_SCHEMA_VERSION = 2  # version 1 compared where labels came from, and not the consensus under two maps

Recommendation = Literal["calibration_helps", "prior_helps", "inconclusive_underpowered"]
_Map = Callable[[str, str, Ability, Arm], float]


@dataclass(frozen=True, slots=True)
class Replayed:
    """A held-out claim: its truth, and what the panel says of it under each map."""

    claim_id: str
    arm: Arm
    truth: Truth
    prior: Vote
    calibrated: Vote
    pooled: Vote
    by_confidence: Vote


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `n` claims the consensus has right; the share and its exact interval are None for no claims."""

    right: int
    n: int
    share: Fraction | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The consensus under the calibrated map beside that under the prior, claim by claim.

    `delta` is how much more often it is right for being calibrated, `interval` that of the paired bootstrap; both are
    None where there are too few claims. `flipped` claims got another verdict.
    """

    schema_version: int
    calibrated: Share
    prior_only: Share
    delta: Fraction | None
    interval: Interval | None
    p_value: float | None
    flipped: int
    recommendation: Recommendation


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What the held-out claims say: of the calibration, of the pooled estimator, of confidence alone, and by arm.

    `unknown` claims have no truth and are in no share. The shares by arm are those of the map that a run of the arm
    uses; their claims are not the same, and no pairs.
    """

    claims: int
    unknown: int
    comparison: Comparison
    pooled: Share
    by_confidence: Share
    control_arm: Share
    treatment_arm: Share
    flips: tuple[str, ...]


def held_out(found: Findings, log: Log[JudgeObservation], plan: JudgeReliabilityPlan) -> HeldOut:
    """What the held-out part of a log says of what was found in the rest.

    Both maps are replayed on every claim, whatever the arm of its run, so that the claims are their own controls.
    """
    claims: dict[str, list[JudgeObservation]] = {}
    for row in log.rows:
        claims.setdefault(row.claim_id, []).append(row)
    known = [rows for rows in claims.values() if rows[0].truth is not None]
    maps, level = reliance(found.abilities), plan.falsifier.level
    replayed = [replay(rows, maps, plan) for rows in known]

    def share(cases: Iterable[tuple[Truth, Vote]]) -> Share:
        right = [right_of(truth, vote) for truth, vote in cases]
        return share_of(sum(right), len(right), level=level)

    control = [one for one in replayed if one.arm is Arm.CONTROL]
    treatment = [one for one in replayed if one.arm is Arm.TREATMENT]
    return HeldOut(
        claims=len(claims),
        unknown=len(claims) - len(known),
        comparison=compared(replayed, plan),
        pooled=share((one.truth, one.pooled) for one in replayed),
        by_confidence=share((one.truth, one.by_confidence) for one in replayed),
        control_arm=share((one.truth, one.prior) for one in control),
        treatment_arm=share((one.truth, one.calibrated) for one in treatment),
        flips=tuple(one.claim_id for one in replayed if one.prior is not one.calibrated),
    )


def replay(rows: Sequence[JudgeObservation], maps: Reliance, plan: JudgeReliabilityPlan) -> Replayed:
    """What the panel says of one claim, whose truth is known, under each map."""
    first = rows[0]
    assert first.truth is not None
    voted = [(row.judge, row.verdict, row.confidence) for row in rows if row.verdict is not None]

    def said(of: _Map) -> Vote:
        voices = [
            Voice(vote, confidence or 0.0, of(judge, first.claim_type, ability_relied_on(vote), Arm.TREATMENT))
            for judge, vote, confidence in voted
        ]
        return bayesian(voices, information_above=plan.consensus.information_above).vote

    return Replayed(
        claim_id=first.claim_id,
        arm=arm_of(first.run_id, plan.arms.rule),
        truth=first.truth,
        prior=said(lambda *_: maps.prior),
        calibrated=said(maps.calibrated),
        pooled=said(maps.pooled),
        by_confidence=weighted([(vote, confidence or 0.0) for _, vote, confidence in voted]).vote,
    )


def compared(replayed: Sequence[Replayed], plan: JudgeReliabilityPlan) -> Comparison:
    """The comparison of both maps, claim by claim, by the paired bootstrap."""
    rule = plan.falsifier
    with_it, without = ([right_of(one.truth, vote(one)) for one in replayed] for vote in (_calibrated, _prior))
    n = len(replayed)
    found = Comparison(
        schema_version=REPORT_SCHEMA_VERSION,
        calibrated=share_of(sum(with_it), n, level=rule.level),
        prior_only=share_of(sum(without), n, level=rule.level),
        delta=None,
        interval=None,
        p_value=None,
        flipped=sum(one.prior is not one.calibrated for one in replayed),
        recommendation="inconclusive_underpowered",
    )
    if n < rule.claims_at_least:
        return found
    difference = paired_difference(
        with_it,
        without,
        range(n),
        level=rule.level,
        alternative="two-sided",
        method="percentile",
        resamples=rule.resamples,
        ranks="symmetric",
        rng=np.random.default_rng(plan.seed),
    )
    interval = difference.bootstrap.interval
    return replace(
        found,
        delta=difference.bootstrap.estimate,
        interval=interval,
        p_value=difference.p_value,
        recommendation=recommended(interval),
    )


def recommended(interval: Interval) -> Recommendation:
    """What an interval of the difference recommends: one that touches 0 nothing."""
    assert interval.low is not None
    assert interval.high is not None
    if interval.low > 0:
        return "calibration_helps"
    return "prior_helps" if interval.high < 0 else "inconclusive_underpowered"


def share_of(right: int, n: int, *, level: Fraction) -> Share:
    """A share with its exact interval; None for both of no claims."""
    return Share(right, n, Fraction(right, n) if n else None, exact_interval(right, n, level=level) if n else None)


def _calibrated(one: Replayed) -> Vote:
    return one.calibrated


def _prior(one: Replayed) -> Vote:
    return one.prior
