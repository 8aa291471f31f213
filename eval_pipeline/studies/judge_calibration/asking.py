"""The judge before the gold set: each tuple as a question, each answer as a prediction, and again for the repeats."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.claims import ALIGNMENT, CONSTRAINT, read_alignment, read_compliance
from eval_pipeline.judge.desk import Desk, refusal_of, work_through
from eval_pipeline.judge.journal import record_fields
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.protocol import Judge, fingerprint
from eval_pipeline.judge.resume import require_same_run
from eval_pipeline.judge.sitting import desk_in_journal, head_of
from eval_pipeline.judge.spending import CapReached
from eval_pipeline.records import Alignment, Compliance, Judgment, Question, Refusal
from eval_pipeline.studies.judge_calibration.confusion import Prediction
from eval_pipeline.studies.judge_calibration.gold import GoldSet, GoldTuple
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan

Progress = Callable[[int, int], None]
Judges = Callable[[Prompt], Judge]


@dataclass(frozen=True, slots=True)
class Predictions:
    """What the judge said of each tuple, in their order, and of each once more as often as the plan asks.

    `fingerprints` are the judge's under each prompt; `judgments` are the lines of the journal. A refusal says why a
    prediction is missing; the judgments are then those that came before it.
    """

    first: tuple[Prediction, ...]
    repeats: tuple[tuple[Prediction, ...], ...]
    kind: str
    fingerprints: Mapping[str, str]
    judgments: tuple[Mapping[str, Any], ...]
    refusal: Refusal | None


def question_of(item: GoldTuple) -> Question:
    """What the judge is asked of a tuple: the claim and its passage, with the anchor or with the rule."""
    if item.constraint is None:
        given = {"anchor_kind": item.anchor_kind, "anchor_value": item.anchor_value}
    else:
        rule = item.constraint
        given = {"constraint_id": rule.id, "rule": rule.rule, "scope": rule.scope}
    return Question(f"gold-{item.index}", item.excerpt or "", item.claim, given=tuple(given.items()))


def prediction_of(item: GoldTuple, judgment: Judgment) -> Prediction:
    """What a judgment says of a tuple."""
    raw = judgment.answer.raw or ""
    if judgment.label is None:
        return Prediction(item, None, judgment.no_label, None, None)
    if item.constraint is None:
        aligned = read_alignment(raw)
        return Prediction(item, Alignment(judgment.label), None, aligned.sub_claim_breakdown if aligned else None, None)
    ruled = read_compliance(raw)
    return Prediction(item, Compliance(judgment.label), None, None, ruled.violated_constraint_id if ruled else None)


def predict_in_journal(
    gold: GoldSet,
    judges: Judges,
    plan: CalibrationPlan,
    *,
    journals: Path,
    run: str,
    resume: bool,
    progress: Progress,
) -> Predictions:
    """Asks the judge about every tuple, and keeps what it says.

    A judge that cannot be asked, or a cap that is reached, leaves a refusal in place of predictions, and nothing more
    is asked, under the other prompt either.

    Args:
        gold: the gold set.
        judges: the judge under each of the prompts; on one meter, since a cap is the run's.
        plan: how it is asked.
        journals: the folder of all journals.
        run: names the journals.
        resume: whether this is to go on with the last run, and with no other.
        progress: is told how many of how many questions were put.

    Raises: RunDiffers: it is to go on with the last run, and was begun otherwise.

    """
    asked: dict[tuple[int, int], Prediction] = {}
    rows: list[Mapping[str, Any]] = []
    refusal = None
    times = range(plan.asking.repeats + 1)
    values = plan.model_dump(mode="json")
    rounds = ((ALIGNMENT, gold.alignment), (CONSTRAINT, gold.constraint))
    seated = [judges(prompt) for prompt, _ in rounds]
    if resume:
        require_same_run(journals, head_of(seated[0], seated[1:], values, run=run, purpose="run"))
    for (prompt, items), judge in zip(rounds, seated, strict=True):
        tasks = [(item, repeat) for repeat in times for item in items]
        others = [other for other in seated if other is not judge]
        with desk_in_journal(
            judge, prompt, values, journals=journals, run=run, purpose="run", resume=False, others=others
        ) as desk:
            worked, refusal = asyncio.run(_ask(tasks, judge, desk, progress))
        for (item, repeat), judgment in zip(tasks, worked, strict=False):
            if judgment is not None:
                asked[item.index, repeat] = prediction_of(item, judgment)
                rows.append(record_fields(judgment, judge))
        if refusal:
            break
    complete = [repeat for repeat in times if all((item.index, repeat) in asked for item in gold.tuples)]
    runs = [tuple(asked[item.index, repeat] for item in gold.tuples) for repeat in complete] if not refusal else []
    return Predictions(
        first=runs[0] if runs else (),
        repeats=tuple(runs[1:]),
        kind=str(seated[0].identity["kind"]),  # a replay answers under the name of the judge that was recorded
        fingerprints={prompt.id: fingerprint(judge) for (prompt, _), judge in zip(rounds, seated, strict=True)},
        judgments=tuple(rows),
        refusal=refusal,
    )


async def _ask(
    tasks: list[tuple[GoldTuple, int]], judge: Judge, desk: Desk, progress: Progress
) -> tuple[tuple[Judgment | None, ...], Refusal | None]:
    done = 0

    async def work(task: tuple[GoldTuple, int]) -> Judgment:
        nonlocal done
        item, repeat = task
        judgment = await desk.ask(replace(question_of(item), repeat=repeat))
        done += 1
        progress(done, len(tasks))
        return judgment

    try:
        worked = await work_through(tasks, work, workers=judge.in_flight)
    finally:
        await judge.close()
    if isinstance(worked.ended_by, (JudgeDown, CapReached)):
        return worked.results, refusal_of(worked.ended_by)
    worked.require_end()
    return worked.results, None
