"""Small logs and plans of the feedback loop, written down by hand."""

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.observations import Log
from eval_pipeline.plan import parse_plan
from eval_pipeline.studies.strategy_feedback.comparison import compared
from eval_pipeline.studies.strategy_feedback.findings import decision_of
from eval_pipeline.studies.strategy_feedback.generator import HELPFUL, made_up
from eval_pipeline.studies.strategy_feedback.observations import Execution
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan

__all__ = ["HELPFUL", "changed", "decided", "execution", "log_of", "made_up", "runs_in"]


def changed(plan, **tables):
    """The plan with other values in its tables: `changed(plan, updates={"batch": 2}, power={"n": 5})`."""
    values = plan.model_dump(mode="json")
    for name, value in tables.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    return parse_plan(values, StrategyFeedbackPlan, "plan")


def runs_in(plan, arm, count):
    """Ids of so many runs of an arm."""
    ids = (f"r{number}" for number in range(100_000))
    return [
        one for one, _ in zip((one for one in ids if arm_of(one, plan.arms.rule) is arm), range(count), strict=False)
    ]


def execution(plan, run_id, sequence, **fields):
    """An execution of a run in the arm that it has."""
    plain = {
        "run_id": run_id,
        "context": plan.design.contexts[0],
        "tier": plan.design.tiers[0],
        "strategy": plan.design.strategies[0],
        "arm": arm_of(run_id, plan.arms.rule).value,
        "passes": 3,
        "claims": 4,
        "confidence": 0.7,
        "reference_confidence": 0.6,
        "sequence": sequence,
    }
    return Execution(**plain | fields)


def log_of(plan, rates, **fields):
    """A run an execution, with passes and claims by arm: `{Arm.CONTROL: [(1, 2)], Arm.TREATMENT: [(2, 2)]}`."""
    rows = []
    for arm in Arm:
        for run_id, (passes, claims) in zip(runs_in(plan, arm, len(rates[arm])), rates[arm], strict=True):
            rows.append(execution(plan, run_id, len(rows), passes=passes, claims=claims, **fields))
    return Log(tuple(rows), simulated=False)


def decided(executions, plan):
    """The decision on executions, recorded or not."""
    return decision_of(compared(executions.recorded, plan), plan)
