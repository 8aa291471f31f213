"""The extraction study as assets: from the pinned corpus to the verdict, its checks and its report."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.checks import refusal_check, seal_check
from assets.metadata import materialized
from assets.plans import materialized_plan
from assets.progress import log_progress
from assets.resources import Home, JudgeEndpoint, StudyInputs
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.corpus.source import pinned
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.registry import judge_named
from eval_pipeline.seal import SealedPlan
from eval_pipeline.studies.extraction import bands, guard, quartiles, recall, uniformity
from eval_pipeline.studies.extraction.fixture import Fixture, pinned_fixture
from eval_pipeline.studies.extraction.frame import Frame, State, frame_of
from eval_pipeline.studies.extraction.gold_claims import gold_claims
from eval_pipeline.studies.extraction.judge_findings import JudgeFindings
from eval_pipeline.studies.extraction.judge_findings import judge_findings as findings_on_the_judge
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.sitting import judge_in_journal
from eval_pipeline.studies.extraction.spans import writes_spans
from eval_pipeline.studies.judge_calibration.gold import GoldSet

GROUP = "extraction"
CODE = "4"  # raised when the meaning of an asset changes, not when its code does
# Dagster looks for staleness no further up than to what an asset names; so each names, as `deps`, the inputs that it
# rests on through others too.


def _plan(sealed_plan: SealedPlan) -> ExtractionPlan:
    return sealed_plan.open(ExtractionPlan)


@dg.asset(group_name=GROUP, kinds={"toml"}, code_version=CODE)
def sealed_plan(inputs: StudyInputs) -> dg.MaterializeResult[SealedPlan]:
    """The plan, under its seal, as it stood when the run began."""
    return materialized_plan(inputs, GROUP, ExtractionPlan, shown="claims")


@dg.asset_check(asset=sealed_plan, blocking=True, name="seal_holds")
def seal_holds(sealed_plan: SealedPlan) -> dg.AssetCheckResult:
    """The plan hashes to its seal; nothing is judged under one that does not."""
    return seal_check(sealed_plan, ExtractionPlan)


@dg.asset(group_name=GROUP, kinds={"json"}, code_version=CODE)
def judge_prompt(sealed_plan: SealedPlan) -> dg.MaterializeResult[dict[str, Any]]:
    """What the plan has the judge told, word for word, and the rule that its answers are read by."""
    prompt = prompt_named(_plan(sealed_plan).judging.prompt)
    about = {"id": prompt.id, "system": prompt.system, "reminder": prompt.reminder, "reading": prompt.reading}
    return materialized(about, about, version=prompt.hash)


@dg.asset(group_name=GROUP, kinds={"postgres", "parquet"}, code_version=CODE)
def corpus(inputs: StudyInputs) -> dg.MaterializeResult[Snapshot]:
    """The entries and signals, read once from where they live; nothing downstream touches the source again."""
    return materialized_corpus(pinned(inputs.corpus))


def materialized_corpus(snapshot: Snapshot) -> dg.MaterializeResult[Snapshot]:
    """A corpus with what it holds, versioned by its hash."""
    refusal = snapshot.refusal
    return materialized(
        snapshot,
        {
            "source": snapshot.source,
            "entries": len(snapshot.entries),
            "entries_with_signals": len(snapshot.signals_by_entry),
            "signals": len(snapshot.signals),
            "deleted_entries": snapshot.left_out.deleted_entries,
            "deleted_signals": snapshot.left_out.deleted_signals,
            "orphan_signals": snapshot.left_out.orphan_signals,
            "blank_signals": snapshot.left_out.blank_signals,
            "corpus_hash": snapshot.hash,
            "refusal": refusal and refusal.detail,
        },
        version=snapshot.hash,
    )


@dg.asset_check(asset=corpus, name="corpus_is_readable")
def corpus_is_readable(corpus: Snapshot) -> dg.AssetCheckResult:
    """The corpus was reached, and is whole."""
    return refusal_check(corpus.refusal)


@dg.asset(group_name=GROUP, kinds={"json", "parquet"}, code_version=CODE)
def proposition_fixture(inputs: StudyInputs) -> dg.MaterializeResult[Fixture]:
    """The annotators' propositions, validated line by line and hashed."""
    return materialized_fixture(pinned_fixture(inputs.propositions_path))


def materialized_fixture(fixture: Fixture) -> dg.MaterializeResult[Fixture]:
    """A fixture with what it holds, versioned by its hash."""
    refusal = fixture.refusal
    return materialized(
        fixture,
        {
            "propositions": len(fixture.propositions),
            "entries": len({proposition.entry_id for proposition in fixture.propositions}),
            "fixture_hash": fixture.hash,
            "refusal": refusal and refusal.detail,
        },
        version=fixture.hash,
    )


@dg.asset(group_name=GROUP, kinds={"python"}, code_version=CODE)
def persist_code(inputs: StudyInputs) -> dg.MaterializeResult[dict[str, bool]]:
    """Whether the source file that stores signals writes their spans; it does not where none was given."""
    found = {"given": bool(inputs.persist_code), "writes_spans": False}
    if inputs.persist_code:
        found["writes_spans"] = writes_spans(Path(inputs.persist_code))
    return materialized(found, found)


@dg.asset_check(asset=proposition_fixture, name="fixture_is_valid")
def fixture_is_valid(proposition_fixture: Fixture) -> dg.AssetCheckResult:
    """Every line of the annotators' file keeps its format."""
    return refusal_check(proposition_fixture.refusal)


@dg.asset(group_name=GROUP, kinds={"parquet"}, code_version=CODE)
def frame(corpus: Snapshot, proposition_fixture: Fixture, sealed_plan: SealedPlan) -> dg.MaterializeResult[Frame]:
    """The propositions and spans that will be judged, fixed before the first call."""
    drawn = frame_of(corpus, proposition_fixture, _plan(sealed_plan))
    states = [unit.state for unit in drawn.units]
    return materialized(
        drawn,
        {
            "propositions": states.count(State.IN),
            "absent": states.count(State.ABSENT),
            "over_budget": states.count(State.OVER_BUDGET),
            "entries": len(drawn.entries),
            "spans": len(drawn.spans),
            "canaries": len(drawn.canaries),
            "calls_at_most": drawn.calls_at_most,
        },
    )


@dg.asset(group_name=GROUP, kinds={"llm", "parquet"}, code_version=CODE, deps=["judge_prompt", "proposition_fixture"])
def nli_judgments(
    context: dg.AssetExecutionContext,
    frame: Frame,
    corpus: Snapshot,
    gold_set: GoldSet,
    sealed_plan: SealedPlan,
    inputs: StudyInputs,
    endpoint: JudgeEndpoint,
    home: Home,
) -> dg.MaterializeResult[Judged]:
    """Every judgment that the frame asks for: propositions against signals, signals against their spans."""
    plan = _plan(sealed_plan)
    prompt, attempts = prompt_named(plan.judging.prompt), plan.judging.attempts
    judged = judge_in_journal(
        frame,
        corpus,
        judge_named(inputs.judge, prompt, endpoint.endpoint(prompt), attempts=attempts, caps=inputs.caps),
        plan,
        journals=home.journals,
        run=context.run.run_id,
        resume=inputs.resume,
        progress=log_progress("judged"),
        gold=gold_claims(gold_set) if plan.calibration.gold == "asked" else (),
    )
    return materialized(
        judged,
        {
            "judge": judged.kind,
            "standing": judged.standing,
            "fingerprint": judged.fingerprint,
            "judgments": judged.table.num_rows,
            "without_label": judged.table.num_rows - judged.table["no_label"].null_count,
            "refusal": judged.refusal and judged.refusal.detail,
            "by_kind": judged.by_kind(),
        },
    )


@dg.asset(
    group_name=GROUP,
    kinds={"duckdb", "parquet"},
    code_version=CODE,
    deps=["corpus", "gold_set", "judge_prompt", "proposition_fixture"],
)
def proposition_fates(
    frame: pa.Table, nli_judgments: pa.Table, sealed_plan: SealedPlan
) -> dg.MaterializeResult[pa.Table]:
    """What became of each proposition: recovered, missed, or undecided."""
    fates = quartiles.proposition_fates(frame, nli_judgments, _plan(sealed_plan))
    return materialized(fates, {"dagster/row_count": fates.num_rows})


@dg.asset(
    group_name=GROUP,
    kinds={"duckdb", "parquet"},
    code_version=CODE,
    deps=["corpus", "gold_set", "judge_prompt", "proposition_fixture", "sealed_plan"],
)
def entry_quartiles(proposition_fates: pa.Table) -> dg.MaterializeResult[pa.Table]:
    """For each entry and quarter of its text: recovered, judged, undecided."""
    table = quartiles.entry_quartiles(proposition_fates)
    return materialized(table, {"dagster/row_count": table.num_rows, "by_quartile": quartiles.totals(table)})


@dg.asset(
    group_name=GROUP,
    kinds={"numpy"},
    code_version=CODE,
    deps=["corpus", "gold_set", "judge_prompt", "proposition_fixture"],
)
def recall_estimate(
    frame: Frame, entry_quartiles: pa.Table, nli_judgments: pa.Table, sealed_plan: SealedPlan
) -> dg.MaterializeResult[recall.RecallFindings]:
    """Pooled recall with its interval, macro recall, and recall by workspace, band, quartile and density."""
    found = recall.recall_findings(frame, entry_quartiles, nli_judgments, _plan(sealed_plan))
    pooled = found.pooled
    return materialized(
        found,
        {
            "recall": pooled.estimate,
            "low": pooled.interval and pooled.interval.low,
            "high": pooled.interval and pooled.interval.high,
            "hits": pooled.hits,
            "judged": pooled.judged,
            "macro": found.macro,
            "composition_only": found.composition_only,
        },
    )


@dg.asset(
    group_name=GROUP,
    kinds={"numpy"},
    code_version=CODE,
    deps=["corpus", "gold_set", "judge_prompt", "proposition_fixture"],
)
def uniformity_bound(
    entry_quartiles: pa.Table, sealed_plan: SealedPlan
) -> dg.MaterializeResult[uniformity.UniformityFindings]:
    """The one-sided bound on recall in quartile 1 less recall in quartile 4, from whole entries drawn again."""
    found = uniformity.uniformity_findings(entry_quartiles, _plan(sealed_plan))
    return materialized(
        found,
        {
            "difference": found.bound and found.bound.estimate,
            "bound": found.bound and found.bound.interval.high,
            "slope": found.slope and found.slope.estimate,
            "valid": found.valid,
            "resamples": found.resamples,
            "refusal": found.refusal and found.refusal.detail,
        },
    )


@dg.asset(
    group_name=GROUP, kinds={"scipy"}, code_version=CODE, deps=["gold_set", "judge_prompt", "proposition_fixture"]
)
def precision_guard(
    corpus: Snapshot,
    frame: Frame,
    nli_judgments: pa.Table,
    persist_code: dict[str, bool],
    sealed_plan: SealedPlan,
) -> dg.MaterializeResult[guard.GuardFindings]:
    """The share of signals that follow from the span recorded for them, with its exact bound."""
    writes = persist_code["writes_spans"]
    found = guard.guard_findings(corpus, frame, nli_judgments, _plan(sealed_plan), code_writes_spans=writes)
    return materialized(
        found,
        {
            "status": found.status,
            "spans": found.facts and found.facts.spans,
            "broken_spans": found.facts and sum(found.facts.faults.values()),
            "judged": found.judged,
            "supported": found.supported,
            "low": found.interval and found.interval.low,
            "reading": found.reading,
        },
    )


@dg.asset(
    group_name=GROUP, kinds={"scipy"}, code_version=CODE, deps=["gold_set", "judge_prompt", "proposition_fixture"]
)
def judge_findings(
    corpus: Snapshot, frame: Frame, nli_judgments: pa.Table, sealed_plan: SealedPlan
) -> dg.MaterializeResult[JudgeFindings]:
    """What the judgments say of the judge: what its screen misses, whether it repeats itself, what asking it cost."""
    found = findings_on_the_judge(corpus, frame, nli_judgments, _plan(sealed_plan))
    return materialized(
        found,
        {
            "audited": found.screen.audited,
            "missed_by_screen": found.screen.missed,
            "compared": found.flips.compared,
            "turned": found.flips.turned,
            "canaries": found.canaries,
            "questions": found.calls.asked,
            "questions_saved": found.calls.saved,
        },
    )


@dg.asset(group_name=GROUP, kinds={"python"}, code_version=CODE)
def band_ledger(corpus: Snapshot) -> dg.MaterializeResult[bands.BandLedger]:
    """Signals per entry by capture band: what a redesign of the extraction would change the cost of."""
    ledger = bands.band_ledger(corpus)
    return materialized(ledger, {"bands": [asdict(band) for band in ledger.bands]})
