"""What is known of the extraction judge's errors as assets: the human check, and recall corrected by it."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.checks import refusal_check
from assets.metadata import materialized, to_meta
from assets.resources import Home, StudyInputs
from assets.studies.extraction import CODE, GROUP
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import CheckRefused
from eval_pipeline.human_check.join import read_check
from eval_pipeline.human_check.sheet import Sheet
from eval_pipeline.report.sheets import write_sheet
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.extraction.correction.checking import SampledSheet, checkables, drawn_sheet
from eval_pipeline.studies.extraction.correction.findings import Correction, GivenCheck, correction_of
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.gold_claims import gold_claims
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.recall import RecallFindings
from eval_pipeline.studies.extraction.uniformity import UniformityFindings
from eval_pipeline.studies.judge_calibration.gold import GoldSet


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE)
def human_check(inputs: StudyInputs) -> dg.MaterializeResult[GivenCheck]:
    """The human check that the run was given, as it was frozen; empty where it was given none."""
    given = GivenCheck(read_check(Path(inputs.human_check)) if inputs.human_check else None)
    check = given.check
    about = {"check": check and check.hash, "labels": check and len(check.labels), "raters": check and check.raters}
    return materialized(given, about, version=check.hash if check else None)


@dg.asset(
    group_name=GROUP, kinds={"python"}, code_version=CODE, deps=["gold_set", "judge_prompt", "proposition_fixture"]
)
def human_check_sample(
    corpus: Snapshot,
    frame: Frame,
    proposition_fates: pa.Table,
    nli_judgments: Judged,
    sealed_plan: SealedPlan,
    inputs: StudyInputs,
) -> dg.MaterializeResult[SampledSheet]:
    """What people would be shown of this run: a seeded draw of whole entries, or of judgments by verdict."""
    plan = sealed_plan.open(ExtractionPlan)
    every = checkables(frame, corpus, proposition_fates, nli_judgments.to_table())
    sampled = SampledSheet(
        drawn_sheet(
            every,
            plan,
            share=inputs.share_to_check(plan.human_check.share),
            seal=sealed_plan.seal,
            judge=nli_judgments.fingerprint,
        )
        if every
        else None
    )
    sheet = sampled.sheet
    return materialized(sampled, {"sheet": sheet and sheet.id, "items": sheet and len(sheet.items)})


@dg.asset(
    group_name=GROUP,
    kinds={"html", "csv"},
    code_version=CODE,
    deps=["corpus", "gold_set", "judge_prompt", "proposition_fixture", "sealed_plan"],
)
def human_check_sheet(human_check_sample: SampledSheet, inputs: StudyInputs, home: Home) -> dg.MaterializeResult[None]:
    """The drawn sheet as files: sheet.html and sheet.csv for people, sheet.json to join what they wrote."""
    sheet: Sheet | None = human_check_sample.sheet
    if sheet is None:
        raise CheckRefused("nothing was judged, so that there is nothing to check; see what the run says of its inputs")
    if not sheet.items:
        raise CheckRefused("what was drawn has no signals that people could read; draw a larger share")
    out = Path(inputs.out) if inputs.out else home.out("human_check")
    write_sheet(out, sheet)
    about: dict[str, Any] = {
        "sheet": dg.MetadataValue.path(str(out / "sheet.html")),
        "id": sheet.id,
        "items": len(sheet.items),
    }
    return dg.MaterializeResult(metadata=to_meta(about))


@dg.asset(group_name=GROUP, kinds={"numpy"}, code_version=CODE, deps=["judge_prompt", "proposition_fixture"])
def corrected_recall(
    corpus: Snapshot,
    frame: Frame,
    proposition_fates: pa.Table,
    entry_quartiles: pa.Table,
    nli_judgments: Judged,
    recall_estimate: RecallFindings,
    uniformity_bound: UniformityFindings,
    human_check: GivenCheck,
    gold_set: GoldSet,
    sealed_plan: SealedPlan,
) -> dg.MaterializeResult[Correction]:
    """Recall, by quartile too, and its loss from the first to the last, corrected for the judge's errors."""
    plan = sealed_plan.open(ExtractionPlan)
    judgments = nli_judgments.to_table()
    correction = correction_of(
        checkables(frame, corpus, proposition_fates, judgments),
        entry_quartiles,
        judgments,
        recall_estimate,
        uniformity_bound,
        human_check.check,
        gold_claims(gold_set) if plan.calibration.gold == "asked" else (),
        plan,
        judge=nli_judgments.fingerprint,
    )
    rows = [
        {
            "estimator": one.estimator,
            "recall": one.pooled.estimate,
            "low": one.pooled.low,
            "high": one.pooled.high,
            "quartile_1_less_4": one.first_less_last.estimate,
            "bound": one.bound.high,
            "withheld": one.pooled.withheld,
        }
        for one in correction.estimates
    ]
    return materialized(
        correction,
        {"decides": correction.decides, "estimates": rows, "refusal": correction.refusal and correction.refusal.detail},
    )


@dg.asset_check(asset=corrected_recall, name="human_check_can_be_rested_on")
def human_check_can_be_rested_on(corrected_recall: Correction) -> dg.AssetCheckResult:
    """The human check that was given, if any, is of these texts, and its people agree as much as the plan asks."""
    return refusal_check(corrected_recall.refusal)
