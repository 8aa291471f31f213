"""The logs of other tools as assets: from their files to a verdict on each metric, its check and its report."""

from pathlib import Path
from typing import Any

import dagster as dg

from assets.checks import seal_check
from assets.metadata import materialized, to_meta
from assets.plans import materialized_plan
from assets.provenance import Chain, provenance_asset, written
from assets.resources import Clock, Home, Software, StudyInputs
from assets.verdict_history import entered
from eval_pipeline.importers.kinds import read_logs
from eval_pipeline.importers.results import Results
from eval_pipeline.records import Outcome
from eval_pipeline.report.imported import report_files
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.imported.anytime import anytime
from eval_pipeline.studies.imported.document import imported_document
from eval_pipeline.studies.imported.estimates import Findings, findings
from eval_pipeline.studies.imported.plan import ImportedPlan
from eval_pipeline.studies.imported.verdict import verdicts, worst

GROUP = "imported"
CODE = "1"  # raised when the meaning of an asset changes, not when its code does


@dg.asset(group_name=GROUP, kinds={"toml"}, code_version=CODE)
def imported_plan(inputs: StudyInputs) -> dg.MaterializeResult[SealedPlan]:
    """The plan, under its seal, as it stood when the run began."""
    return materialized_plan(inputs, GROUP, ImportedPlan)


@dg.asset_check(asset=imported_plan, blocking=True, name="imported_seal_holds")
def imported_seal_holds(imported_plan: SealedPlan) -> dg.AssetCheckResult:
    """The plan hashes to its seal; no log is judged under one that does not."""
    return seal_check(imported_plan, ImportedPlan)


@dg.asset(group_name=GROUP, kinds={"json", "parquet"}, code_version=CODE)
def imported_results(inputs: StudyInputs) -> dg.MaterializeResult[Results]:
    """The scores of the logs, by system, metric and item; a log that breaks its format stops the run."""
    results = read_logs(
        inputs.imported_kind, [Path(path) for path in inputs.imported], frozenset(inputs.imported_metrics)
    )
    about = {
        "tool": results.kind,
        "dagster/row_count": len(results.rows),
        "undecided": sum(row.undecided is not None for row in results.rows),
        "systems": ", ".join(sorted({row.system for row in results.rows})),
        "metrics": ", ".join(sorted({row.metric for row in results.rows})),
    }
    return materialized(results, about)


@dg.asset(group_name=GROUP, kinds={"scipy"}, code_version=CODE)
def imported_findings(imported_results: Results, imported_plan: SealedPlan) -> dg.MaterializeResult[Findings]:
    """The mean of each metric with its interval, the differences of systems, and the log's own numbers beside ours."""
    found = findings(imported_results, imported_plan.open(ImportedPlan))
    means = [{"system": one.system, "metric": one.metric, "mean": one.mean} for one in found.estimates]
    return materialized(found, {"means": means, "stated_differently": sum(one.differs for one in found.comparisons)})


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE)
def imported_verdict(
    imported_results: Results, imported_findings: Findings, imported_plan: SealedPlan, software: Software
) -> dg.MaterializeResult[dict[str, Any]]:
    """The verdict on each gate of the plan, with its reasons, its numbers and what they rest on."""
    plan = imported_plan.open(ImportedPlan)  # once more: blocking ends with the run
    document = imported_document(
        verdicts(imported_findings, plan),
        imported_findings,
        imported_results,
        plan,
        seal=imported_plan.seal,
        versions=software.versions("eval-pipeline", "numpy", "scipy"),
    )
    shown = ("claim", "outcome", "reason", "estimate", "threshold", "detail")
    return materialized(document, {"claims": [{name: claim[name] for name in shown} for claim in document["claims"]]})


@dg.asset_check(asset=imported_verdict, name="imported_gates")
def imported_gates(imported_verdict: dict[str, Any]) -> dg.AssetCheckResult:
    """All gates of the plan at once, by the worst of them: only a pass is passed, and only a fail is an error."""
    claims = imported_verdict["claims"]
    outcome = worst([Outcome(claim["outcome"]) for claim in claims])
    return dg.AssetCheckResult(
        passed=outcome is Outcome.PASS,
        severity=dg.AssetCheckSeverity.ERROR if outcome is Outcome.FAIL else dg.AssetCheckSeverity.WARN,
        description="; ".join(f"{claim['claim']}: {claim['detail']}" for claim in claims),
        metadata=to_meta({"outcome": outcome, "gates": [_shown(claim) for claim in claims]}),
    )


def _shown(claim: dict[str, Any]) -> dict[str, Any]:
    return {
        "claim": claim["claim"],
        "outcome": claim["outcome"],
        "reason": claim["reason"] or "none",
        "estimate": claim["estimate"],
        "low": claim["interval"] and claim["interval"][0],
        "high": claim["interval"] and claim["interval"][1],
        "threshold": claim["threshold"],
    }


@dg.asset(group_name=GROUP, kinds={"html"}, code_version=CODE, deps=["imported_plan"])
def imported_report(
    imported_verdict: dict[str, Any], imported_results: Results, inputs: StudyInputs, home: Home
) -> dg.MaterializeResult[dict[str, str]]:
    """The findings as files: results.parquet, verdict.json, report.html."""
    out = Path(inputs.out) if inputs.out else home.out(GROUP)
    return written(out, report_files(imported_verdict, imported_results), {})


@dg.asset(group_name=GROUP, kinds={"json", "html"}, code_version=CODE)
def imported_history(
    context: dg.AssetExecutionContext,
    imported_verdict: dict[str, Any],
    imported_results: Results,
    imported_findings: Findings,
    imported_plan: SealedPlan,
    inputs: StudyInputs,
    home: Home,
    clock: Clock,
) -> dg.MaterializeResult[dict[str, Any]]:
    """The verdict among those before it on the same tool and task, entered in the ledger; history.html."""
    plan = imported_plan.open(ImportedPlan)
    task = imported_results.subject
    return entered(
        imported_verdict,
        subject=f"{imported_results.kind}, {task}" if task else imported_results.kind,
        judge=None,
        anytime=anytime(imported_results, imported_findings, plan),
        run=context.run.run_id,
        home=home,
        clock=clock,
        out=Path(inputs.out) if inputs.out else home.out(GROUP),
    )


CHAIN = Chain(
    study=GROUP,
    folder=GROUP,
    assets=("imported_plan", "imported_results", "imported_findings", "imported_verdict", "imported_report"),
    given=frozenset({"imported_plan", "imported_results"}),
    verdict="imported_verdict",
)
imported_provenance = provenance_asset(CHAIN)
