"""All that the calibration part of a log says of the loop: cells, differences, what may be learnt, and the decision."""

from dataclasses import dataclass

from eval_pipeline.loop import Chart
from eval_pipeline.observations import Log
from eval_pipeline.studies.strategy_feedback.adjustments import Adjustment, learnt
from eval_pipeline.studies.strategy_feedback.cells import Cell, Guarded, cells_of, guarded
from eval_pipeline.studies.strategy_feedback.comparison import Comparison, compared, compared_by_strategy
from eval_pipeline.studies.strategy_feedback.decision import Decision, Word, decide
from eval_pipeline.studies.strategy_feedback.executions import executions_of
from eval_pipeline.studies.strategy_feedback.observations import Execution
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan
from eval_pipeline.studies.strategy_feedback.sizes import Sizes, sizes


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found, and in what: `data` is the hash of the observations."""

    data: str
    simulated: bool
    executions: int
    runs: int
    guarded: tuple[Guarded, ...]
    cells: tuple[Cell, ...]
    whole: Comparison
    strategies: tuple[Comparison, ...]
    adjustments: tuple[Adjustment, ...]
    charts: tuple[Chart, ...]
    sizes: Sizes
    decision: Decision


def findings(log: Log[Execution], plan: StrategyFeedbackPlan) -> Findings:
    """What a log says.

    Raises: MalformedObservations: as in `executions_of`.
    """
    executions = executions_of(log, plan)
    recorded = executions.recorded
    whole, moved = compared(recorded, plan), learnt(recorded, plan)
    return Findings(
        data=log.hash,
        simulated=log.simulated,
        executions=len(log.rows),
        runs=len({row.run_id for row in log.rows}),
        guarded=guarded(executions),
        cells=cells_of(executions, plan.design),
        whole=whole,
        strategies=compared_by_strategy(recorded, plan),
        adjustments=moved.adjustments,
        charts=moved.charts,
        sizes=sizes(plan),
        decision=decision_of(whole, plan),
    )


def decision_of(whole: Comparison, plan: StrategyFeedbackPlan) -> Decision:
    """What the difference decides, once there is as much as was planned; before that nothing does."""
    if not whole.enough:
        return Decision(
            Word.MORE_DATA,
            f"the arms are worth {float(whole.effective):.0f} executions each, and {whole.needed} are planned; an"
            " earlier look decides nothing; let the runs go on",
        )
    if whole.difference is None or whole.interval is None:
        return Decision(Word.MORE_DATA, f"{whole.why}; see what the pass rates are made of before any more runs")
    return decide(whole.difference, whole.interval, plan.deciding)
