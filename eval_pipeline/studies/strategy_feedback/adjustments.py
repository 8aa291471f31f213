"""What the loop may learn: how far a strategy's expected gain is to be corrected, if its chart calls for it."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from eval_pipeline.arms import Arm
from eval_pipeline.loop import Chart
from eval_pipeline.studies.strategy_feedback.charts import batch_means, gain_chart
from eval_pipeline.studies.strategy_feedback.executions import Executions, gain_of
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan, Updates


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The correction of a strategy's expected gain in a context and tier, as a share of what is expected.

    `mean_gain` is over the recorded `executions` of control runs, which the loop did not steer: so it does not learn
    from what it brought about itself. `proposed` differs from `in_force` only where `moved`; `why` says what decided.
    """

    strategy: str
    context: str
    tier: str
    executions: int
    mean_gain: Fraction | None
    expected: Fraction
    in_force: Fraction
    proposed: Fraction
    signals: int
    why: str

    @property
    def moved(self) -> bool:
        """Whether another value is proposed than is in force."""
        return self.proposed != self.in_force

    @property
    def name(self) -> str:
        """Of the strategy and where it is used."""
        return f"{self.strategy} / {self.context} / {self.tier}"


@dataclass(frozen=True, slots=True)
class Learnt:
    """Every adjustment, with the chart that let it move or stay."""

    adjustments: tuple[Adjustment, ...]
    charts: tuple[Chart, ...]


def learnt(executions: Executions, plan: StrategyFeedbackPlan) -> Learnt:
    """The adjustment of each strategy, context and tier, from the executions of control runs in their order.

    Args:
        executions: those that are recorded.
        plan: what is expected, what is in force, and when it may move.

    """
    design, adjustments, charts = plan.design, [], []
    free = executions.where(~executions.treated)
    places = product(enumerate(design.strategies), enumerate(design.contexts), enumerate(design.tiers))
    for (s, strategy), (c, context), (t, tier) in places:
        own = free.where((free.strategy == s) & (free.context == c) & (free.tier == t))
        gains = [gain_of(*pair) for pair in zip(own.confidence.tolist(), own.reference.tolist(), strict=True)]
        chart = gain_chart(
            f"gain of {strategy} / {context} / {tier}",
            batch_means(gains, batch=plan.updates.batch),
            baseline=plan.updates.baseline_batches,
            target=expected_gain(strategy, Arm.TREATMENT, plan),
        )
        adjustments.append(_adjusted((strategy, context, tier), gains, chart, plan))
        charts.append(chart)
    return Learnt(tuple(adjustments), tuple(charts))


def expected_gain(strategy: str, arm: Arm, plan: StrategyFeedbackPlan) -> Fraction:
    """What a selector goes by: the gain as adjusted where the loop is on, and where it is off no history at all."""
    expected = plan.expected[strategy]
    return expected.gain * (1 + expected.adjustment) if arm is Arm.TREATMENT else expected.gain


def adjustment_of(mean_gain: Fraction, expected: Fraction, updates: Updates) -> Fraction:
    """(mean gain - expected) / expected, held within the clamp."""
    return max(-updates.clamp, min((mean_gain - expected) / expected, updates.clamp))


def _adjusted(
    names: tuple[str, str, str], gains: list[Fraction], chart: Chart, plan: StrategyFeedbackPlan
) -> Adjustment:
    updates, expected = plan.updates, plan.expected[names[0]]
    mean = sum(gains, Fraction(0)) / len(gains) if gains else None
    proposed = expected.adjustment
    if mean is None or len(gains) < updates.executions:
        why = f"{len(gains)} executions are recorded, and an update takes {updates.executions}"
    elif chart.stable is None:
        why = chart.why or "there are no limits"
    elif chart.stable:
        why = "nothing on the chart speaks against the value in force"
    else:
        proposed = adjustment_of(mean, expected.gain, updates)
        why = f"{len(chart.signals)} signals, the first at batch {chart.signals[0].place + 1}: {chart.signals[0].rule}"
    return Adjustment(*names, len(gains), mean, expected.gain, expected.adjustment, proposed, len(chart.signals), why)
