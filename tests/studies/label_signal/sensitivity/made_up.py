"""Grounds made by hand, on which every conclusion lies far from every threshold until a test moves one."""

from dataclasses import replace
from typing import Any

from eval_pipeline.records import Interval
from eval_pipeline.studies.label_signal.agreement import CompositeReliability, Measure
from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.batches import DriftFound
from eval_pipeline.studies.label_signal.comparisons import Comparison, SystemScore
from eval_pipeline.studies.label_signal.coverage import Covered, covered
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.raters import Profile
from eval_pipeline.studies.label_signal.triage import Summary


def measure(estimate: float | None) -> Measure:
    """A coefficient without an interval."""
    return Measure(estimate, None, None)


def alphas(*estimates: float | None) -> dict[str, Measure]:
    """The agreement on dimensions d0, d1, ..."""
    return {f"d{place}": measure(estimate) for place, estimate in enumerate(estimates)}


def composite(estimate: float) -> CompositeReliability:
    """The reliability of the raters' mean composite, and of one rater's."""
    return CompositeReliability(measure(estimate), 3.0, measure(estimate))


def score(*, half_width: float = 0.01) -> SystemScore:
    """A system's mean of .6."""
    return SystemScore("new", 40, 0.6, Interval(0.6 - half_width, 0.6 + half_width, 0.95))


def comparison(*, effect: float = 0.3, mde: float = 0.1, pairs: int = 40) -> Comparison:
    """A difference that is significant, whatever its size."""
    return Comparison("new", "old", pairs, effect, 0.2, Interval(0.001, 0.9, 0.95), mde, 0.001, 0.001)


def profiles(*, gold: float | None = 0.95, flagged: int = 0, raters: int = 6) -> tuple[Profile, ...]:
    """So many raters, the first of them flagged, who all meet the same share of known scores."""
    return tuple(
        Profile(
            rater=f"r{place}",
            rows=40,
            mean=2.0,
            spread=1.0,
            leniency=0.0,
            leniency_interval=None,
            position=None,
            gold_exact=gold,
            gold_within_one=1.0,
            gold_error=0.0,
            gold_scores=0 if gold is None else 20,
            duration_s=90.0,
            flags=("fast",) if place < flagged else (),
            divergent=False,
        )
        for place in range(raters)
    )


def triage(gap_rate: float | None) -> Summary:
    """A queue of 20 answers, half of them resolved, with the rubric blamed so often."""
    return Summary(80, 20, 10, 10, 0.25, 0.5, gap_rate, 0.8, 1.0, 0.2, 0.0)


def design(*, thin: int = 0, smallest: int = 10, levels: int = 100) -> Covered:
    """A factor of so many levels with 10 items each, but for the thin ones, and a factor of two levels."""
    first = {f"l{place}": 3 if place < thin else 10 for place in range(levels)}
    counts = {"kind": first, "size": {"small": smallest, "large": 10}}
    found = covered(counts, adequate=1, undeclared=(), filled=1)
    return replace(found, marginal_gap=thin / levels, balance=smallest / 10)


def grounds(**changes: Any) -> Grounds:
    """A production track that is worth an investment, every claim publishable and far from any threshold."""
    calm = Grounds(
        track="made-up",
        depth="production",
        pair_by="item",
        simulated=False,
        items=40,
        answers=80,
        rows=240,
        replication=3.0,
        levels_of_composite=3.0,
        alphas=alphas(0.95, 0.95),
        composite=composite(0.97),
        systems=(score(),),
        comparisons=(comparison(),),
        drift=DriftFound(("0", "1"), (0.6, 0.6), 0.0, 0.0, 0.9, False, None),
        profiles=profiles(),
        contested=(),
        triage=triage(0.02),
        coverage=design(),
    )
    return replace(calm, **changes)


def with_sensitivity(plan: LabelSignalPlan, **changes: Any) -> LabelSignalPlan:
    """The plan with another table of the sensitivity."""
    return plan.model_copy(update={"sensitivity": plan.sensitivity.model_copy(update=changes)})
