"""The verdict of the extraction study as assets: its claims with their checks, its report, what both rest on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.checks import to_check
from assets.metadata import materialized
from assets.provenance import Chain, out_of, provenance_asset, written
from assets.resources import Home, Software, StudyInputs
from assets.studies.extraction import CODE, GROUP
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import SealBroken
from eval_pipeline.report import figures
from eval_pipeline.report.extraction import ReportInput, bound_figure, quartile_figure, report_files
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.extraction import bands, guard, recall, uniformity
from eval_pipeline.studies.extraction.annotators.findings import GivenAnnotators
from eval_pipeline.studies.extraction.correction.findings import Correction
from eval_pipeline.studies.extraction.document import verdict_document
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.judge_findings import JudgeFindings
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.losses import losses_by_entry
from eval_pipeline.studies.extraction.obstacles import Evidence
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.verdict import GUARD, RECALL, UNIFORMITY, broken_seal, verdicts


@dg.asset(
    group_name=GROUP,
    kinds={"json"},
    code_version=CODE,
    deps=["gold_set", "human_check", "judge_prompt", "persist_code"],
)
def extraction_verdict(
    corpus: Snapshot,
    proposition_fixture: Fixture,
    frame: Frame,
    nli_judgments: Judged,
    recall_estimate: recall.RecallFindings,
    uniformity_bound: uniformity.UniformityFindings,
    precision_guard: guard.GuardFindings,
    judge_findings: JudgeFindings,
    corrected_recall: Correction,
    band_ledger: bands.BandLedger,
    annotator_agreement: GivenAnnotators,
    sealed_plan: SealedPlan,
    software: Software,
) -> dg.MaterializeResult[dict[str, Any]]:
    """The verdict on each claim, with its reason, its numbers and what they rest on."""
    evidence = Evidence(
        corpus,
        proposition_fixture,
        frame,
        nli_judgments,
        recall_estimate,
        uniformity_bound,
        precision_guard,
        judge_findings,
        corrected_recall,
    )
    try:
        decided = verdicts(evidence, sealed_plan.open(ExtractionPlan))
    except SealBroken as broken:
        decided = broken_seal(broken)
    document = verdict_document(
        decided,
        evidence,
        band_ledger,
        annotator_agreement.found,
        seal=sealed_plan.seal,
        plan_name=sealed_plan.values["name"],
        versions=software.versions("eval-pipeline", "numpy", "scipy", "duckdb", "pyarrow"),
    )
    plot = quartile_figure(document, figures.PAPER)
    metadata = {
        "claims": [{name: claim[name] for name in _SHOWN} for claim in document["claims"]],
        "recall_by_quartile": plot and dg.MetadataValue.md(figures.as_markdown(plot, label="Recall by quartile")),
    }
    return materialized(document, metadata)


_CLAIMS = {
    RECALL: "A single signal of their entry entails at least the planned share of the propositions.",
    UNIFORMITY: "Recall falls by no more than the planned bound from the first quarter of the text to the last.",
    GUARD: "At least the planned share of the signals follow from the span recorded for them.",
}


@dg.multi_asset_check(
    specs=[dg.AssetCheckSpec(claim, asset="extraction_verdict", description=text) for claim, text in _CLAIMS.items()]
)
def claims(extraction_verdict: dict[str, Any]) -> Iterator[dg.AssetCheckResult]:
    """The verdict on each claim: only a pass is passed, and only a fail is an error."""
    for claim in extraction_verdict["claims"]:
        yield to_check(claim)


_SHOWN = ("claim", "outcome", "reason", "estimate", "threshold", "advisory", "detail")


@dg.asset(
    group_name=GROUP,
    kinds={"html"},
    code_version=CODE,
    deps=["gold_set", "human_check", "judge_prompt", "persist_code", "proposition_fixture", "sealed_plan"],
)
def extraction_report(
    context: dg.AssetExecutionContext,
    extraction_verdict: dict[str, Any],
    corpus: Snapshot,
    nli_judgments: Judged,
    proposition_fates: pa.Table,
    entry_quartiles: pa.Table,
    uniformity_bound: uniformity.UniformityFindings,
    precision_guard: guard.GuardFindings,
    inputs: StudyInputs,
    home: Home,
) -> dg.MaterializeResult[dict[str, str]]:
    """The findings as files: verdict.json, report.html, report.md, judgments.jsonl, entry_quartiles.parquet."""
    report = ReportInput(
        document=extraction_verdict,
        source=corpus.source,
        histogram=uniformity_bound.histogram,
        losses=losses_by_entry(proposition_fates, corpus),
        inventions=precision_guard.inventions,
    )
    out = out_of(Path(inputs.out) if inputs.out else home.out(GROUP), context)
    plot = bound_figure(extraction_verdict, uniformity_bound.histogram, figures.PAPER)
    return written(
        out,
        report_files(report, nli_judgments, entry_quartiles),
        {"bound": plot and dg.MetadataValue.md(figures.as_markdown(plot, label="Distribution of the bound"))},
    )


CHAIN = Chain(
    study=GROUP,
    folder=GROUP,
    assets=(
        "sealed_plan",
        "judge_prompt",
        "corpus",
        "proposition_fixture",
        "gold_set",
        "human_check",
        "persist_code",
        "frame",
        "nli_judgments",
        "proposition_fates",
        "entry_quartiles",
        "recall_estimate",
        "uniformity_bound",
        "precision_guard",
        "judge_findings",
        "corrected_recall",
        "band_ledger",
        "annotator_agreement",
        "extraction_verdict",
        "extraction_report",
    ),
    given=frozenset(
        {
            "sealed_plan",
            "corpus",
            "proposition_fixture",
            "gold_set",
            "human_check",
            "persist_code",
            "annotator_agreement",  # its judge is asked about other texts than those of the journal of the findings
        }
    ),
    verdict="extraction_verdict",
)
extraction_provenance = provenance_asset(CHAIN)
