"""Runs whose truth is known: what the loop adds, how runs differ, and what each strategy gains in confidence."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.observations import Log
from eval_pipeline.studies.strategy_feedback.executions import Executions
from eval_pipeline.studies.strategy_feedback.observations import Execution
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan
from eval_pipeline.studies.strategy_feedback.sizes import split

_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of the runs.

    A claim passes with `pass_rate`, `effect` more where the loop is on, and its run's own part, whose standard
    deviation is `run_sd`. An execution has `claims` on average, and none with the chance `without_claims`. Confidence
    of the reference has mean and standard deviation `reference`; of a strategy, as much more as `gain` says by its
    place in the plan, give or take `gain_sd`. Under the loop, strategies are chosen with these `preferences`.
    """

    effect: float
    pass_rate: float
    run_sd: float
    claims: float
    without_claims: float
    reference: tuple[float, float]
    gain: tuple[float, ...]
    gain_sd: float
    preferences: tuple[float, ...]


HELPFUL = Truth(
    effect=0.12,
    pass_rate=0.62,
    run_sd=0.05,
    claims=6.0,
    without_claims=0.03,
    reference=(0.58, 0.08),
    gain=(0.10, 0.08, 0.06, 0.05),
    gain_sd=0.06,
    preferences=(0.27, 0.26, 0.24, 0.23),
)


def generate(plan: StrategyFeedbackPlan) -> Log[Execution]:
    """A log of as many runs as the plan needs, some of them to be held out, in which the loop helps by 12 points."""
    return generated(plan, HELPFUL, runs=runs_planned(plan, HELPFUL), rng=np.random.default_rng(plan.seed))


def runs_planned(plan: StrategyFeedbackPlan, truth: Truth) -> int:
    """Runs that leave the planned executions in both arms, though some are held out or have no claims.

    A tenth more, because neither the hash nor the loop deals them out evenly.
    """
    executions = sum(split(plan.needed_of_all, plan.arms.control_share).values())
    kept = (1 - float(plan.held_out.share)) * (1 - truth.without_claims)
    return ceil(1.1 * executions / kept / plan.design.executions_per_run)


def generated(plan: StrategyFeedbackPlan, truth: Truth, *, runs: int, rng: np.random.Generator) -> Log[Execution]:
    """A log of that truth."""
    ids = run_ids(runs)
    made = made_up(plan, truth, treated=treated(ids, plan), rng=rng)
    design = plan.design
    columns = zip(*(getattr(made, name).tolist() for name in made.__slots__), strict=True)
    return Log(
        tuple(
            Execution(
                run_id=ids[run],
                context=design.contexts[context],
                tier=design.tiers[tier],
                strategy=design.strategies[strategy],
                arm=Arm.TREATMENT if on else Arm.CONTROL,
                passes=passes,
                claims=claims,
                confidence=confidence,
                reference_confidence=reference,
                sequence=sequence,
            )
            for sequence, (run, on, strategy, context, tier, passes, claims, confidence, reference) in enumerate(
                columns
            )
        ),
        simulated=True,
    )


def run_ids(runs: int) -> tuple[str, ...]:
    """The ids of made-up runs."""
    return tuple(f"run-{number:05d}" for number in range(runs))


def treated(ids: tuple[str, ...], plan: StrategyFeedbackPlan) -> np.ndarray:
    """Which runs have the loop on, by their hash."""
    return np.array([arm_of(one, plan.arms.rule) is Arm.TREATMENT for one in ids])


def made_up(plan: StrategyFeedbackPlan, truth: Truth, *, treated: np.ndarray, rng: np.random.Generator) -> Executions:
    """Executions of that truth as columns, in the order of time, without the way through a log.

    Args:
        plan: its cells.
        truth: what is true.
        treated: shape (runs,), whether the loop is on.
        rng: the only source of chance.

    """
    design = plan.design
    run = np.repeat(np.arange(len(treated)), design.executions_per_run)
    on, n = treated[run], len(run)
    indifferent = np.full(len(design.strategies), 1 / len(design.strategies))
    chosen = (rng.choice(len(indifferent), n, p=mix) for mix in (truth.preferences, indifferent))
    strategy = np.where(on, *chosen)
    of_run = rng.normal(0, truth.run_sd, len(treated))
    chance = np.clip(truth.pass_rate + truth.effect * on + of_run[run], 0, 1)
    claims = np.where(rng.random(n) < truth.without_claims, 0, 1 + rng.poisson(truth.claims - 1, n))
    reference = np.clip(rng.normal(*truth.reference, n), 0, 1)
    confidence = np.clip(reference + rng.normal(np.array(truth.gain)[strategy], truth.gain_sd), 0, 1)
    return Executions(
        run=run,
        treated=on,
        strategy=strategy,
        context=rng.integers(len(design.contexts), size=n),
        tier=rng.integers(len(design.tiers), size=n),
        passes=rng.binomial(claims, chance),
        claims=claims,
        confidence=np.round(confidence, _DECIMALS),
        reference=np.round(reference, _DECIMALS),
    )
