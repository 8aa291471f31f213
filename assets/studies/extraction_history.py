"""The history of the extraction study as an asset: its verdicts over time."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.provenance import out_of
from assets.resources import Clock, Home, StudyInputs
from assets.studies.extraction import GROUP
from assets.verdict_history import entered
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.extraction.anytime import anytime, checked_by_people
from eval_pipeline.studies.extraction.correction.findings import GivenCheck
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.plan import ExtractionPlan

CODE = "1"  # raised when the meaning of the asset changes, not when its code does


@dg.asset(
    group_name=GROUP,
    kinds={"json", "html"},
    code_version=CODE,
    deps=["gold_set", "judge_prompt", "persist_code", "proposition_fixture"],
)
def extraction_history(
    context: dg.AssetExecutionContext,
    extraction_verdict: dict[str, Any],
    corpus: Snapshot,
    frame: Frame,
    nli_judgments: pa.Table,
    proposition_fates: pa.Table,
    entry_quartiles: pa.Table,
    human_check: GivenCheck,
    sealed_plan: SealedPlan,
    inputs: StudyInputs,
    home: Home,
    clock: Clock,
) -> dg.MaterializeResult[dict[str, Any]]:
    """The verdict among those before it, entered in the ledger, with intervals that hold at all looks; history.html."""
    plan, judge = sealed_plan.open(ExtractionPlan), extraction_verdict["judge"]["fingerprint"]
    checked = checked_by_people(human_check.check, frame, corpus, proposition_fates, nli_judgments, plan, judge=judge)
    return entered(
        extraction_verdict,
        subject=context.partition_key if context.has_partition_key else "",
        judge=judge,
        anytime=anytime(extraction_verdict, entry_quartiles, nli_judgments, checked, plan),
        run=context.run.run_id,
        home=home,
        clock=clock,
        out=out_of(Path(inputs.out) if inputs.out else home.out(GROUP), context),
    )
