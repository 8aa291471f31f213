"""What runs that were never looked at say of the decision: it is made on the others, and replayed on these."""

from dataclasses import dataclass

from eval_pipeline.observations import Log
from eval_pipeline.studies.strategy_feedback.comparison import Comparison, compared
from eval_pipeline.studies.strategy_feedback.decision import (
    Decision,
    HeldOutStanding,
    Word,
    after_held_out,
    standing_of,
)
from eval_pipeline.studies.strategy_feedback.executions import executions_of
from eval_pipeline.studies.strategy_feedback.findings import Findings
from eval_pipeline.studies.strategy_feedback.observations import Execution
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan


@dataclass(frozen=True, slots=True)
class Replay:
    """The same difference on held-out runs, how it stands to the decision, and the decision after it.

    `standing` is None where the held-out runs give no interval, or where nothing was decided that they could speak to.
    """

    whole: Comparison
    standing: HeldOutStanding | None
    decision: Decision


def held_out(found: Findings, log: Log[Execution], plan: StrategyFeedbackPlan) -> Replay:
    """What held-out runs say of what was found in the others.

    Raises: MalformedObservations: as in `executions_of`.
    """
    whole = compared(executions_of(log, plan).recorded, plan)
    if whole.interval is None or found.decision.word is Word.MORE_DATA:
        return Replay(whole, None, found.decision)
    standing = standing_of(found.decision.word, whole.interval)
    return Replay(whole, standing, after_held_out(found.decision, standing, whole.interval))
