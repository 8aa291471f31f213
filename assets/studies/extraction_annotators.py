"""Two annotators' decompositions as an asset: how far they agree, and whether the verdict depends on whose is taken."""

from pathlib import Path

import dagster as dg

from assets.metadata import materialized
from assets.progress import log_progress
from assets.resources import Home, JudgeEndpoint, StudyInputs
from assets.studies.extraction import CODE, GROUP
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import InputRefused
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.registry import judge_named
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.extraction.annotators.findings import (
    AnnotatorFindings,
    GivenAnnotators,
    annotators_in_journal,
)
from eval_pipeline.studies.extraction.fixture import pinned_fixture
from eval_pipeline.studies.extraction.plan import ExtractionPlan

_TWO = 2


# After the judgments of the study, whose answers it then knows.
@dg.asset(
    group_name=GROUP,
    kinds={"llm", "python"},
    code_version=CODE,
    deps=["nli_judgments", "gold_set", "judge_prompt", "proposition_fixture"],
)
def annotator_agreement(
    context: dg.AssetExecutionContext,
    corpus: Snapshot,
    sealed_plan: SealedPlan,
    inputs: StudyInputs,
    endpoint: JudgeEndpoint,
    home: Home,
) -> dg.MaterializeResult[GivenAnnotators]:
    """How far two annotators agree on what stands in the notes, and where; empty where none were given."""
    if not inputs.annotators:
        return materialized(GivenAnnotators(None), {})
    if len(inputs.annotators) != _TWO:
        raise InputRefused(f"annotators: found {len(inputs.annotators)} files, expected the files of two annotators")
    plan = sealed_plan.open(ExtractionPlan)
    first, second = (pinned_fixture(Path(path)) for path in inputs.annotators)
    prompt = prompt_named(plan.judging.prompt)
    found: AnnotatorFindings = annotators_in_journal(
        first,
        second,
        corpus,
        judge_named(inputs.judge, prompt, endpoint.endpoint(prompt), attempts=plan.judging.attempts, caps=inputs.caps),
        plan,
        journals=home.journals,
        run=context.run.run_id,
        resume=inputs.resume,
        progress=log_progress("judged for two annotators"),
    )
    agreement, sensitivity = found.agreement, found.sensitivity
    about = {
        "inclusion": agreement and agreement.inclusion.estimate,
        "matched": agreement and agreement.matched,
        "recall_turns": sensitivity and sensitivity.recall_turns,
        "uniformity_turns": sensitivity and sensitivity.uniformity_turns,
        "refusal": found.refusal and found.refusal.detail,
    }
    return materialized(GivenAnnotators(found), about)
