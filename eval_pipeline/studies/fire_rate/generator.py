"""Runs with a known fire rate, as a log that looks like a real one: other errors in it, and events told twice."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.observations import Log
from eval_pipeline.studies.fire_rate.events import KINDS, PREFIX, MismatchKind
from eval_pipeline.studies.fire_rate.observations import Context, Run
from eval_pipeline.studies.fire_rate.plan import FireRatePlan, Simulation

Chances = npt.NDArray[np.float64]

_OTHERS = (
    "[validator] section 'requirements' is shorter than its minimum",
    "[section] attempt 1 of 'acceptance_criteria' failed its checks",
    "[recall] no passage found for 'security_considerations'",
    "[self_check] a judge gave no answer in time",
)


def generated(plan: FireRatePlan) -> Log[Run]:
    """The log of the plan's own simulation, by its seed."""
    truth = plan.simulation
    rng = np.random.default_rng(plan.seed)
    return log_of(steady(truth.rates, truth.runs), plan.contexts, truth, rng=rng)


def steady(rates: Mapping[MismatchKind, Fraction], runs: int) -> Chances:
    """Shape (runs, kinds): in every run the same chances of a mismatch."""
    return np.tile([float(rates[kind]) for kind in KINDS], (runs, 1))


def log_of(chances: Chances, contexts: tuple[Context, ...], truth: Simulation, *, rng: np.random.Generator) -> Log[Run]:
    """Runs that go round the contexts, and fire by chance.

    Args:
        chances: shape (runs, kinds), how likely each run is to report each kind of `KINDS`: the truth.
        contexts: in the order of the round robin.
        truth: how often an event is told twice, and another error stands beside it.
        rng: the only source of chance.

    """
    runs = len(chances)
    fires = rng.random(chances.shape) < chances
    twice = rng.random(runs) < float(truth.reported_twice)
    beside = rng.random(runs) < float(truth.other_errors)
    other = rng.integers(len(_OTHERS), size=runs)
    words = rng.integers(16**8, size=runs)
    rows = []
    for place in range(runs):
        events = [f"{PREFIX}{kind}" for kind, fired in zip(KINDS, fires[place], strict=True) if fired]
        errors = [_OTHERS[other[place]]] * bool(beside[place]) + events * (2 if twice[place] else 1)
        context = contexts[place % len(contexts)]
        name = f"{context}-{place + 1:05d}-{int(words[place]):08x}"
        rows.append(Run(run_id=name, sequence=place + 1, context=context, errors=tuple(errors)))
    return Log(tuple(rows), simulated=True)
