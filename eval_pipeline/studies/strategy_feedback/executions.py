"""The executions of a log as columns, once each is known to be of a registered cell and in the arm of its run."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import Log
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.studies.strategy_feedback.observations import Execution
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan


@dataclass(frozen=True, slots=True, eq=False)
class Executions:
    """Columns in the order of time, shape (n,) each; names are numbered as the plan lists them, runs as they come.

    `treated` says that the loop was on.
    """

    run: Counts
    treated: npt.NDArray[np.bool_]
    strategy: Counts
    context: Counts
    tier: Counts
    passes: Counts
    claims: Counts
    confidence: Reals
    reference: Reals

    @property
    def recorded(self) -> "Executions":
        """Those with a claim on the first attempt; the others say nothing, and are not zeros."""
        return self.where(self.claims > 0)

    @property
    def rates(self) -> Reals:
        """The pass rate of each; all have claims."""
        return self.passes / self.claims

    def where(self, chosen: npt.NDArray[np.bool_]) -> "Executions":
        """Those that were chosen."""
        return Executions(*(getattr(self, name)[chosen] for name in self.__slots__))


def executions_of(log: Log[Execution], plan: StrategyFeedbackPlan) -> Executions:
    """The columns of a log.

    Raises:
        MalformedObservations: a row is of no registered cell, stands in another arm than the hash of its run says, has
            the place in time of another, or is a copy of another in all but that.

    """
    if faults := [*_misplaced(log, plan), *_at_one_time(log), *_copied(log)]:
        raise MalformedObservations("the log of executions", faults)
    rows = sorted(log.rows, key=lambda row: row.sequence)
    runs = {run_id: number for number, run_id in enumerate(dict.fromkeys(row.run_id for row in rows))}
    design = plan.design
    return Executions(
        run=np.array([runs[row.run_id] for row in rows], dtype=np.int64),
        treated=np.array([row.arm is Arm.TREATMENT for row in rows], dtype=np.bool_),
        strategy=np.array([design.strategies.index(row.strategy) for row in rows], dtype=np.int64),
        context=np.array([design.contexts.index(row.context) for row in rows], dtype=np.int64),
        tier=np.array([design.tiers.index(row.tier) for row in rows], dtype=np.int64),
        passes=np.array([row.passes for row in rows], dtype=np.int64),
        claims=np.array([row.claims for row in rows], dtype=np.int64),
        confidence=np.array([row.confidence for row in rows], dtype=np.float64),
        reference=np.array([row.reference_confidence for row in rows], dtype=np.float64),
    )


def gain_of(confidence: float, reference: float) -> Fraction:
    """What a strategy gains on an input: its confidence less the reference's there, in the decimals that both print as.

    It takes nothing else. A gain that the outcome decides would confirm whatever was expected.
    """
    return Fraction(repr(confidence)) - Fraction(repr(reference))


def _misplaced(log: Log[Execution], plan: StrategyFeedbackPlan) -> Iterator[str]:
    design = plan.design
    registered = {"strategy": design.strategies, "context": design.contexts, "tier": design.tiers}
    for row in log.rows:
        where = f"run {row.run_id!r}, sequence {row.sequence}"
        for field, names in registered.items():
            if (found := getattr(row, field)) not in names:
                yield (
                    f"{where}, field {field!r}: found {found!r}, expected one of {', '.join(map(repr, names))};"
                    " leave it out, or register it in a new plan"
                )
        if row.arm is not (assigned := arm_of(row.run_id, plan.arms.rule)):
            yield (
                f"{where}, field 'arm': found {row.arm.value!r}, expected {assigned.value!r} by the hash of the run;"
                " arms are assigned, not chosen: find out who chose, and leave no such run in"
            )


def _at_one_time(log: Log[Execution]) -> Iterator[str]:
    taken: dict[int, str] = {}
    for row in log.rows:
        if row.sequence in taken:
            yield (
                f"run {row.run_id!r}, field 'sequence': found {row.sequence}, which run {taken[row.sequence]!r} has;"
                " number all executions in their order, each once"
            )
        taken[row.sequence] = row.run_id


def _copied(log: Log[Execution]) -> Iterator[str]:
    """An execution with a gain in confidence is measured; two of a run that agree in every decimal are one."""
    seen: dict[Execution, int] = {}
    for row in log.rows:
        timeless = row.model_copy(update={"sequence": 0})
        if seen.setdefault(timeless, row.sequence) != row.sequence:
            yield (
                f"run {row.run_id!r}, sequence {row.sequence}: found what sequence {seen[timeless]} says in every"
                " field; an execution stands in a log once: leave the copy out"
            )
