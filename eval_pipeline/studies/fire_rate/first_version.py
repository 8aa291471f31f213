"""The decision of the first version, on the same counts: for whoever comes from it, and for nothing else."""

from dataclasses import dataclass
from typing import Literal

from eval_pipeline.gates import below
from eval_pipeline.records import Outcome
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.studies.fire_rate.plan import FirstVersion

Word = Literal[
    "underpowered",
    "fallback_unreached_delete_candidate",
    "underpowered_run_fallback_K3000",
    "investigate_root_cause",
]


@dataclass(frozen=True, slots=True)
class FirstDecision:
    """Its word, and the upper end of the two-sided exact interval that it went by."""

    word: Word
    runs: int
    fires: int
    upper: float


def first_decision(runs: int, fires: int, rule: FirstVersion) -> FirstDecision:
    """What the first version would have said of so many fires in so many runs, its contradictions included.

    One fire in 460 runs let it run on, and in 461 it did not; 19 in 3000 were unreached to it.
    """
    high = exact_interval(fires, runs, level=rule.level).high
    assert high is not None
    return FirstDecision(_word(runs, fires, float(high), rule), runs, fires, float(high))


def _word(runs: int, fires: int, high: float, rule: FirstVersion) -> Word:
    is_below = below(high, rule.margin) is Outcome.PASS
    if runs < rule.runs:
        return "underpowered"
    if not fires and is_below:
        return "fallback_unreached_delete_candidate"
    if runs <= rule.runs and 1 <= fires <= rule.fallback_up_to:
        return "underpowered_run_fallback_K3000"
    if fires:
        return "fallback_unreached_delete_candidate" if is_below else "investigate_root_cause"
    return "underpowered"
