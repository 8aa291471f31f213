"""The course of a study over its looks: which were taken, what each showed, and what is to be done."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.stats.binomial import shortfall_p_value, upper_bound
from eval_pipeline.studies.fire_rate.contexts import short_of
from eval_pipeline.studies.fire_rate.observations import CONTEXTS, Context
from eval_pipeline.studies.fire_rate.plan import Look, NonInferiority


class Decision(StrEnum):
    """What is to be done. A fallback that was reached, however rarely, is never called unreached."""

    UNREACHED = "fallback_unreached_delete_candidate"
    RARE = "fallback_rarely_reached"
    NEXT_LOOK = "run_to_next_look"
    INVESTIGATE = "investigate_root_cause"
    UNDERPOWERED = "underpowered"
    UNCOVERED = "contexts_short"


@dataclass(frozen=True, slots=True)
class LookTaken:
    """A look: after how many runs it was due, with how many fires, and the exact one-sided interval of the rate.

    `allowed` fires at the most show the rate below the margin; `p_value` is the chance of so few where it equals the
    margin, and `alpha` what the look may spend.
    """

    number: int
    runs: int
    fires: int
    allowed: int | None
    interval: Interval
    p_value: float
    alpha: Fraction

    @property
    def shown(self) -> bool:
        """Whether the true rate is shown to lie below the margin."""
        return self.allowed is not None and self.fires <= self.allowed


@dataclass(frozen=True, slots=True)
class Short:
    """A context that lacks runs of its floor."""

    context: Context
    missing: int


@dataclass(frozen=True, slots=True)
class Course:
    """The looks that were taken, the runs up to where it ended, and the decision.

    `look` is the number of the look that decided, or that is waited for. `stopped` says that the fires were so many
    that it did not come to that look. `short` are the contexts that it waits for.
    """

    decision: Decision
    looks: tuple[LookTaken, ...]
    look: int
    runs: int
    fires: int
    stopped: bool
    short: tuple[Short, ...]


def course_of(fired: npt.NDArray[np.bool_], contexts: Counts, test: NonInferiority) -> Course:
    """What comes of runs in the order in which they were started.

    A look is due at the first run by which there are as many as planned and every context has its floor. When that is
    depends on the contexts alone, so that each look errs with no more than its alpha; it errs less often still where
    contexts differ in their rates and only the mean of these reaches the margin. A look that shows the rate to be below
    the margin ends the study, unless a later run of the log fired: then the next look decides, as it would have.

    Args:
        fired: shape (n,), whether each run reports a mismatch.
        contexts: shape (n,), the place of each run's context in `CONTEXTS`.
        test: margin and looks.
    Source: Hoeffding (1956), Annals of Mathematical Statistics 27(3), 713-721, theorem 4 (of rates that differ).

    """
    fires = np.cumsum(fired, dtype=np.int64)
    runs_of = np.cumsum(contexts[:, None] == np.arange(len(CONTEXTS)), axis=0)
    taken: list[LookTaken] = []
    for number, look in enumerate(test.looks, 1):
        due, stop = _due(runs_of, look), _first(fires >= look.stop_at)
        if stop is not None and (due is None or stop <= due):
            return _ended(Decision.INVESTIGATE, taken, number, stop, fires, stopped=True)
        if due is None:
            return _waiting(taken, number, look, fires, runs_of)
        taken.append(_taken(number, look, due, int(fires[due - 1]), test))
        last = number == len(test.looks)
        if taken[-1].shown and (last or fires[-1] == fires[due - 1]):
            decision = Decision.RARE if fires[-1] else Decision.UNREACHED
            return _ended(decision, taken, number, due, fires, stopped=False)
    return _ended(Decision.INVESTIGATE, taken, len(test.looks), taken[-1].runs, fires, stopped=False)


def _taken(number: int, look: Look, runs: int, fires: int, test: NonInferiority) -> LookTaken:
    return LookTaken(
        number=number,
        runs=runs,
        fires=fires,
        allowed=test.allowed(look, runs),
        interval=upper_bound(fires, runs, level=1 - look.alpha),
        p_value=shortfall_p_value(fires, runs, test.margin),
        alpha=look.alpha,
    )


def _ended(
    decision: Decision, taken: Sequence[LookTaken], look: int, runs: int, fires: Counts, *, stopped: bool
) -> Course:
    return Course(decision, tuple(taken), look, runs, int(fires[runs - 1]), stopped, ())


def _waiting(taken: Sequence[LookTaken], number: int, look: Look, fires: Counts, runs_of: Counts) -> Course:
    """The course of a log that ends before a look is due."""
    runs = len(fires)
    counts = dict(zip(CONTEXTS, runs_of[-1].tolist(), strict=True)) if runs else dict.fromkeys(CONTEXTS, 0)
    short = tuple(Short(context, missing) for context, missing in short_of(counts, look.floor).items())
    too_few = Decision.NEXT_LOOK if taken else Decision.UNDERPOWERED
    decision = Decision.UNCOVERED if runs >= look.runs else too_few
    return Course(decision, tuple(taken), number, runs, int(fires[-1]) if runs else 0, stopped=False, short=short)


def _due(runs_of: Counts, look: Look) -> int | None:
    """After how many runs the look is due."""
    enough = np.arange(1, len(runs_of) + 1) >= look.runs
    return _first(enough & (runs_of.min(axis=1) >= look.floor))


def _first(holds: npt.NDArray[np.bool_]) -> int | None:
    """How many runs there were when it first held."""
    return int(np.argmax(holds)) + 1 if holds.any() else None
