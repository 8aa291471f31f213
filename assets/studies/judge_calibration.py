"""The calibration of a judge as assets: from the gold set to the verdict on the judge, its checks and its report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets.checks import seal_check, to_check
from assets.metadata import materialized, to_meta
from assets.plans import materialized_plan
from assets.progress import log_progress
from assets.provenance import Chain, provenance_asset, written
from assets.resources import Clock, Home, JudgeEndpoint, Software, StudyInputs
from assets.verdict_history import entered
from eval_pipeline.judge.claims import ALIGNMENT
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.judge.registry import judge_on_meter
from eval_pipeline.judge.spending import Meter
from eval_pipeline.report.judge_calibration import report_files
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.judge_calibration.anytime import anytime
from eval_pipeline.studies.judge_calibration.asking import Predictions, predict_in_journal
from eval_pipeline.studies.judge_calibration.concentration import concentrations
from eval_pipeline.studies.judge_calibration.confusion import error_rates
from eval_pipeline.studies.judge_calibration.document import calibration_document, rates_document
from eval_pipeline.studies.judge_calibration.gold import GoldSet, read_gold
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from eval_pipeline.studies.judge_calibration.repeats import flips
from eval_pipeline.studies.judge_calibration.verdict import (
    DECOMPOSITION,
    FALSE_NEGATIVES,
    FALSE_POSITIVES,
    verdicts,
)

GROUP = "judge_calibration"
PLAN = "judge-calibration"
CODE = "1"  # raised when the meaning of an asset changes, not when its code does


@dg.asset(group_name=GROUP, kinds={"toml"}, code_version=CODE)
def calibration_plan(inputs: StudyInputs) -> dg.MaterializeResult[SealedPlan]:
    """The plan, under its seal, as it stood when the run began."""
    return materialized_plan(inputs, PLAN, CalibrationPlan)


@dg.asset_check(asset=calibration_plan, blocking=True, name="calibration_seal_holds")
def calibration_seal_holds(calibration_plan: SealedPlan) -> dg.AssetCheckResult:
    """The plan hashes to its seal; no judge is asked under one that does not."""
    return seal_check(calibration_plan, CalibrationPlan)


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE)
def gold_set(inputs: StudyInputs) -> dg.MaterializeResult[GoldSet]:
    """The gold tuples, validated rule by rule and hashed; one that breaks a rule stops the run before any call."""
    gold = read_gold(inputs.gold_path)
    about = {
        "alignment": len(gold.alignment),
        "constraint": len(gold.constraint),
        "partial": sum(item.partial for item in gold.tuples),
        "gold_hash": gold.hash,
    }
    return materialized(gold, about, version=gold.hash)


@dg.asset_check(
    asset=gold_set, name="gold_set_is_spread", additional_ins={"calibration_plan": dg.AssetIn("calibration_plan")}
)
def gold_set_is_spread(gold_set: GoldSet, calibration_plan: SealedPlan) -> dg.AssetCheckResult:
    """No value of the named metadata holds so large a share of the tuples that rates speak of it alone."""
    spread = concentrations(gold_set, calibration_plan.open(CalibrationPlan).intake)
    clustered = [one for one in spread if one.clustered]
    return dg.AssetCheckResult(
        passed=not clustered,
        severity=dg.AssetCheckSeverity.WARN,
        description="; ".join(f"{one.field} {one.largest!r}: {float(one.largest_share):.0%}" for one in clustered)
        or None,
        metadata=to_meta({one.field: float(one.largest_share) for one in spread}),
    )


@dg.asset(group_name=GROUP, kinds={"llm", "json"}, code_version=CODE)
def judge_predictions(
    context: dg.AssetExecutionContext,
    gold_set: GoldSet,
    calibration_plan: SealedPlan,
    inputs: StudyInputs,
    endpoint: JudgeEndpoint,
    home: Home,
) -> dg.MaterializeResult[Predictions]:
    """What the judge says of every tuple, and again as often as the plan asks."""
    plan = calibration_plan.open(CalibrationPlan)
    meter = Meter(inputs.caps, endpoint.endpoint(ALIGNMENT).prices)  # one, since a cap is the run's and not a prompt's

    def judge(prompt: Prompt) -> Judge:
        attempts = plan.asking.attempts
        return judge_on_meter(inputs.judge, prompt, endpoint.endpoint(prompt), attempts=attempts, meter=meter)

    predictions = predict_in_journal(
        gold_set,
        judge,
        plan,
        journals=home.journals,
        run=context.run.run_id,
        resume=inputs.resume,
        progress=log_progress("judged"),
    )
    about = {
        "judge": predictions.kind,
        "judgments": len(predictions.judgments),
        "without_label": sum(one.label is None for one in predictions.first),
        "refusal": predictions.refusal and predictions.refusal.detail,
    }
    return materialized(predictions, about)


@dg.asset(group_name=GROUP, kinds={"scipy"}, code_version=CODE, deps=["gold_set"])
def judge_error_rates(
    judge_predictions: Predictions, calibration_plan: SealedPlan
) -> dg.MaterializeResult[dict[str, Any]]:
    """How often the judge errs, with exact intervals; empty where it could not be asked."""
    plan = calibration_plan.open(CalibrationPlan)
    if not judge_predictions.first:
        return materialized({}, {})
    rates = rates_document(error_rates(judge_predictions.first, level=plan.intervals.level), plan)
    return materialized(rates, {name: rate["estimate"] for name, rate in rates.items()})


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE)
def judge_calibration_verdict(
    gold_set: GoldSet, judge_predictions: Predictions, calibration_plan: SealedPlan, software: Software
) -> dg.MaterializeResult[dict[str, Any]]:
    """The verdict on the judge, with its reasons, its numbers and what they rest on."""
    plan = calibration_plan.open(CalibrationPlan)  # once more: blocking ends with the run
    first, level = judge_predictions.first, plan.intervals.level
    rates = error_rates(first, level=level) if first else None
    document = calibration_document(
        verdicts(judge_predictions, rates, plan),
        gold_set,
        judge_predictions,
        rates,
        flips((first, *judge_predictions.repeats), level=level),
        concentrations(gold_set, plan.intake),
        plan,
        seal=calibration_plan.seal,
        versions=software.versions("eval-pipeline", "numpy", "scipy"),
    )
    shown = ("claim", "outcome", "reason", "estimate", "threshold", "detail")
    return materialized(document, {"claims": [{name: claim[name] for name in shown} for claim in document["claims"]]})


_CLAIMS = {
    FALSE_NEGATIVES: "The judge misses less than the planned share of what it should find.",
    FALSE_POSITIVES: "The judge raises false alarms on less than the planned share.",
    DECOMPOSITION: "The judge takes every claim apart that its passage supports in part.",
}


@dg.multi_asset_check(
    specs=[
        dg.AssetCheckSpec(claim, asset="judge_calibration_verdict", description=text) for claim, text in _CLAIMS.items()
    ]
)
def calibration_claims(judge_calibration_verdict: dict[str, Any]) -> Iterator[dg.AssetCheckResult]:
    """The verdict on each claim: only a pass is passed, and only a fail is an error."""
    for claim in judge_calibration_verdict["claims"]:
        yield to_check(claim, asset="judge_calibration_verdict")


@dg.asset(group_name=GROUP, kinds={"html"}, code_version=CODE, deps=["calibration_plan", "gold_set"])
def judge_calibration_report(
    judge_calibration_verdict: dict[str, Any], judge_predictions: Predictions, inputs: StudyInputs, home: Home
) -> dg.MaterializeResult[dict[str, str]]:
    """The findings as files: report.json, report.html, judgments.jsonl."""
    out = Path(inputs.out) if inputs.out else home.out(PLAN)
    return written(out, report_files(judge_calibration_verdict, judge_predictions), {})


@dg.asset(group_name=GROUP, kinds={"json", "html"}, code_version=CODE, deps=["gold_set"])
def judge_calibration_history(
    context: dg.AssetExecutionContext,
    judge_calibration_verdict: dict[str, Any],
    calibration_plan: SealedPlan,
    inputs: StudyInputs,
    home: Home,
    clock: Clock,
) -> dg.MaterializeResult[dict[str, Any]]:
    """The verdict among those before it, entered in the ledger, with intervals that hold at all looks; history.html."""
    return entered(
        judge_calibration_verdict,
        subject="",
        judge=judge_calibration_verdict["judge"]["fingerprints"],
        anytime=anytime(judge_calibration_verdict, calibration_plan.open(CalibrationPlan)),
        run=context.run.run_id,
        home=home,
        clock=clock,
        out=Path(inputs.out) if inputs.out else home.out(PLAN),
    )


CHAIN = Chain(
    study=GROUP,
    folder=PLAN,
    assets=(
        "calibration_plan",
        "gold_set",
        "judge_predictions",
        "judge_error_rates",
        "judge_calibration_verdict",
        "judge_calibration_report",
    ),
    given=frozenset({"calibration_plan", "gold_set"}),
    verdict="judge_calibration_verdict",
)
judge_calibration_provenance = provenance_asset(CHAIN)
