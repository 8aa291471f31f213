"""Judge calls for the same recovered propositions, by strategy and by order of the signals; no network and no model.

A judge that knows which signals say what answers in this process, so every strategy recovers the same propositions and
only the number of its calls differs. `calls` is that number where the screen comes first and then the signals in the
order of their keys. What follows is relative to it: each strategy with the signals by similarity, each with a signal
that says the proposition before all others (oracle), and the one that the pilot finds cheapest (ours), with all that
the pilot asked and the run does not need.
"""

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from planted import Told, Workload, exported, planted, sample

from eval_pipeline.bundled import bundled
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.offline import Offline
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.plan import read_plan
from eval_pipeline.records import Answer, Kind, Label, Question, Signal
from eval_pipeline.studies.extraction.asking import Row, judge_proposition
from eval_pipeline.studies.extraction.frame import Unit, frame_of
from eval_pipeline.studies.extraction.pilot import pilot
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy

Order = Literal["key", "similarity", "oracle"]

PLAIN, CONFUSABLE, LOW = "recall .83", "half confusable", "recall .10"
_HEAD = """\
                                               by similarity         oracle
                               recovered calls screen   best     no  screen   best     no   ours"""


@dataclass(frozen=True)
class Knowing(Offline):
    """A judge that knows which signals say what."""

    told: Told
    kind = "knowing"

    @property
    def identity(self) -> Mapping[str, Any]:
        """Its kind alone: the judges of two workloads never share a desk."""
        return {"kind": self.kind}

    async def answer(self, question: Question) -> Answer:
        """SUPPORTED if the premise holds all signals of a set that says the hypothesis."""
        premise = set(question.premise) if isinstance(question.premise, tuple) else {question.premise}
        is_said = any(signals <= premise for signals in self.told.get(question.hypothesis, ()))
        label = Label.SUPPORTED if is_said else Label.NOT_SUPPORTED
        return Answer(label.value, None, attempts=1, latency_s=0.0, tokens=None)


@dataclass(frozen=True, slots=True)
class Cost:
    """What it took to settle all propositions, the questions by their keys, and which were recovered."""

    strategy: Strategy
    asked: frozenset[str]
    recovered: frozenset[int | None]


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a workload, those of a fixed strategy by strategy and order."""

    base: Cost
    fixed: Mapping[tuple[Order, Strategy], Cost]
    ours: Cost

    def relative(self, cost: Cost) -> float:
        """The calls as a share of those of the base."""
        return len(cost.asked) / len(self.base.asked)

    def cheapest(self, order: Order) -> float:
        """The calls of the strategy that needs the fewest in that order, as a share of those of the base."""
        return min(self.relative(self.fixed[order, strategy]) for strategy in Strategy)


def plan_of(strategy: Strategy, order: Order, *, seed: int | None = None) -> ExtractionPlan:
    """The shipped plan with that strategy and no judgments beside those that settle propositions."""
    plan = read_plan(bundled("plans") / "extraction.toml", ExtractionPlan)
    judging = plan.judging.model_copy(
        update={
            "strategy": strategy,
            "signal_order": "similarity" if order == "similarity" else "key",
            "screen_order": "key",
            "audited_negatives": 0,
            "canaries": 0,
            "repeats": 0,
        }
    )
    budget = plan.budget.model_copy(update={"calls": "all"})
    return plan.model_copy(update={"judging": judging, "budget": budget, "seed": plan.seed if seed is None else seed})


def desk_of(workload: Workload, plan: ExtractionPlan) -> Desk:
    """A desk at which nothing was asked yet."""
    return Desk(Knowing(workload.told), prompt_named(plan.judging.prompt), {}, None)


def settled(workload: Workload, desk: Desk, plan: ExtractionPlan, order: Order) -> Cost:
    """All propositions of a workload settled at a desk, whose earlier calls count too."""
    signals_of = workload.snapshot.signals_by_entry

    async def settle(unit: Unit) -> list[Row]:
        signals = signals_of.get(unit.entry_id, ())
        ordered = by_oracle(workload.told, unit, signals) if order == "oracle" else signals
        return await judge_proposition(unit, ordered, desk, plan)

    units = frame_of(workload.snapshot, workload.fixture, plan).judged_units
    worked = asyncio.run(work_through(units, settle, workers=1))
    if worked.ended_by:
        raise worked.ended_by
    signal_rows = [row for rows in worked.results if rows for row in rows if row.kind is Kind.SIGNAL]
    recovered = {row.unit for row in signal_rows if row.judgment and row.judgment.label is Label.SUPPORTED}
    assert desk.calls == len(desk.known)
    return Cost(plan.judging.strategy, frozenset(desk.known), frozenset(recovered))


def by_oracle(told: Told, unit: Unit, signals: Sequence[Signal]) -> list[Signal]:
    """The signals, one that says the proposition before all others."""
    ways = told.get(unit.text, frozenset())
    return sorted(signals, key=lambda signal: frozenset({signal.content}) not in ways)


def fixed(workload: Workload, order: Order, strategy: Strategy) -> Cost:
    """The cost of a strategy that was chosen beforehand."""
    plan = plan_of(strategy, order)
    return settled(workload, desk_of(workload, plan), plan, order)


def piloted(workload: Workload, desk: Desk, *, entries: int, seed: int | None = None) -> Strategy:
    """The strategy that the pilot finds cheapest; what it asked is known at the desk then."""
    plan = plan_of(Strategy.BEST_FIRST, "similarity", seed=seed)
    frame = frame_of(workload.snapshot, workload.fixture, plan)
    return pilot(frame, workload.snapshot, Knowing(workload.told), desk, plan, entries=entries)[0].strategy


def costs(workload: Workload, *, entries: int) -> Costs:
    """All costs of a workload, of which each must have recovered the same propositions."""
    orders: tuple[Order, ...] = ("similarity", "oracle")
    desk = desk_of(workload, plan_of(Strategy.BEST_FIRST, "similarity"))
    plan = plan_of(piloted(workload, desk, entries=entries), "similarity")
    found = Costs(
        base=fixed(workload, "key", Strategy.SCREEN_FIRST),
        fixed={(order, strategy): fixed(workload, order, strategy) for order in orders for strategy in Strategy},
        ours=settled(workload, desk, plan, "similarity"),
    )
    assert {cost.recovered for cost in (*found.fixed.values(), found.ours)} == {found.base.recovered}
    assert workload.recovered in (None, len(found.base.recovered))
    return found


def line(workload: Workload, found: Costs) -> str:
    """The figures of a workload."""
    shares = "  ".join(
        " ".join(f"{found.relative(found.fixed[order, strategy]):>6.3f}" for strategy in Strategy)
        for order in ("similarity", "oracle")
    )
    recovered = f"{len(found.base.recovered)} of {len(workload.fixture.propositions)}"
    chosen = f"{found.relative(found.ours):>6.3f} {found.ours.strategy}"
    return f"{workload.name:<27} {recovered:>12} {len(found.base.asked):>5} {shares} {chosen}"


def targets(found: Mapping[str, Costs]) -> Iterator[tuple[str, float, float]]:
    """What is to hold of the planted workloads: in words, the figure, and the most that it may be."""
    plain, confusable, low = (found[name] for name in (PLAIN, CONFUSABLE, LOW))
    own = plain.relative(plain.ours)
    yield f"{PLAIN}: ours", own, 0.30
    yield f"{PLAIN}: ours over the oracle's order", own / plain.cheapest("oracle"), 1.05
    yield f"{CONFUSABLE}: ours", confusable.relative(confusable.ours), 0.45
    yield f"{LOW}: ours over the cheapest fixed strategy", low.relative(low.ours) / low.cheapest("similarity"), 1.03


def reliability(recall: float, *, entries: int, draws: int) -> str:
    """How often pilots of so many entries, drawn again and again, do not choose the cheapest, and what that costs."""
    workload = planted(f"recall {recall:.1f}", recall=recall, confusable=0, duplicates=0)
    asked = {strategy: fixed(workload, "similarity", strategy).asked for strategy in Strategy}
    least = min(map(len, asked.values()))
    wrong, ratios = 0, []
    for seed in range(draws):
        desk = desk_of(workload, plan_of(Strategy.BEST_FIRST, "similarity"))
        chosen = piloted(workload, desk, entries=entries, seed=seed)
        wrong += len(asked[chosen]) > least
        ratios.append(len(asked[chosen] | desk.known.keys()) / least)
    mean, high = np.mean(ratios), np.quantile(ratios, 0.95)
    return f"{workload.name} {wrong / draws:>8.1%} {mean:>8.3f} {high:>8.3f} {max(ratios):>8.3f}"


def main() -> None:
    """Prints a line for each workload, whether the targets hold, and on demand how far a pilot can be relied on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="exported corpora whose texts carry [REF-1A2B3C4D]")
    parser.add_argument("--entries", type=int, default=5, help="of the pilot")
    parser.add_argument("--draws", type=int, default=0, help="pilots at each recall from .1 to .9")
    arguments = parser.parse_args()
    workloads = [
        planted(PLAIN, recall=0.83, confusable=0, duplicates=0),
        planted(CONFUSABLE, recall=0.83, confusable=0.5, duplicates=0),
        planted("15 % duplicates", recall=0.83, confusable=0, duplicates=0.15),
        sample(),
        planted(LOW, recall=0.1, confusable=0, duplicates=0),
        *(workload for folder in arguments.folders for workload in exported(folder)),
    ]
    print(_HEAD)
    found = {}
    for workload in workloads:
        found[workload.name] = costs(workload, entries=arguments.entries)
        print(line(workload, found[workload.name]), flush=True)
    for words, figure, at_most in targets(found):
        print(f"{words}: {figure:.3f}, at most {at_most:.2f}: {'holds' if figure <= at_most else 'does not hold'}")
    if arguments.draws:
        print(f"pilots of {arguments.entries} entries, {arguments.draws} at each recall; calls over the cheapest fixed")
        print("              wrong     mean     95 %  largest")
        for tenth in range(1, 10):
            print(reliability(tenth / 10, entries=arguments.entries, draws=arguments.draws), flush=True)


if __name__ == "__main__":
    main()
