"""Closed loops as assets: for each study the same chain, from its sealed plan to its verdict, charts and report."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from assets.checks import to_check
from assets.jobs import group_of
from assets.metadata import materialized
from assets.plans import materialized_plan
from assets.provenance import Chain, provenance_asset, written
from assets.resources import Clock, Home, Software, StudyInputs
from assets.verdict_history import GENERATED as GENERATED_HISTORY
from assets.verdict_history import entered
from eval_pipeline.errors import SealBroken
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.ledger import register_plan
from eval_pipeline.loop import dated
from eval_pipeline.observations import Log
from eval_pipeline.report.closed_loop import chart_figure, report_files
from eval_pipeline.report.figures import as_markdown
from eval_pipeline.seal import SealedPlan
from eval_pipeline.sealing import Partition, drawn_for, held_out_of, require_unused, sealed_partition
from eval_pipeline.studies.loop_study import LoopStudy
from eval_pipeline.studies.loops import STUDIES

CODE = "1"  # raised when the meaning of an asset changes, not when its code does
GENERATED = "nobody ran this: the log was generated with a known truth"
RECORDED = "recorded"

Loop = LoopStudy[Any, Any, Any, Any]


def _log_of(values: Mapping[str, Any], study: Loop) -> Log[Any]:
    rows = read_json(json.dumps(values["rows"]).encode(), tuple[study.row, ...])  # type: ignore[name-defined]
    return Log(rows, values["simulated"])


def _part(log: Log[Any], ids: tuple[str, ...], study: Loop) -> Log[Any]:
    """The observations of some units, in their order."""
    wanted = frozenset(ids)
    return Log(tuple(row for row in log.rows if study.unit(row) in wanted), log.simulated)


def _origin(log: Log[Any]) -> str:
    return GENERATED if log.simulated else RECORDED


def _given_assets(study: Loop, group: str) -> list[dg.AssetsDefinition]:
    """The plan, the log, and what of it is held out."""

    @dg.asset(name=f"{group}_plan", group_name=group, kinds={"toml"}, code_version=CODE)
    def plan(inputs: StudyInputs) -> dg.MaterializeResult[SealedPlan]:
        """The plan, under its seal, as it stood when the run began."""
        return materialized_plan(inputs, study.name, study.plan)

    @dg.asset(
        name=f"{group}_observations",
        group_name=group,
        kinds={"json"},
        code_version=CODE,
        ins={"sealed_plan": dg.AssetIn(f"{group}_plan")},
    )
    def observations(sealed_plan: SealedPlan, inputs: StudyInputs) -> dg.MaterializeResult[dict[str, Any]]:
        """What runs did: a log, or one that is generated with a known truth, which says so."""
        opened = sealed_plan.open(study.plan)
        log = study.read(Path(inputs.observations)) if inputs.observations else study.generate(opened)
        if study.require:
            study.require(log, opened)
        values = {"rows": [row.model_dump(mode="json") for row in log.rows], "simulated": log.simulated}
        about = {"observations": len(log.rows), "origin": _origin(log), "hash": log.hash}
        return materialized(values, about, version=log.hash)

    @dg.asset(
        name=f"{group}_partition",
        group_name=group,
        kinds={"json"},
        code_version=CODE,
        ins={"sealed_plan": dg.AssetIn(f"{group}_plan"), "log": dg.AssetIn(f"{group}_observations")},
    )
    def partition(
        sealed_plan: SealedPlan, log: dict[str, Any], inputs: StudyInputs, home: Home, clock: Clock
    ) -> dg.MaterializeResult[Partition]:
        """Which units are held out, under a lock that was written before anything was computed."""
        opened = sealed_plan.open(study.plan)
        generation = inputs.generation or opened.generation
        units: dict[str, dict[str, None]] = {}
        for row in _log_of(log, study).rows:
            units.setdefault(study.stratum(row) if study.stratum else "all", {})[study.unit(row)] = None
        found = sealed_partition(
            drawn_for({name: list(ids) for name, ids in units.items()}, opened.held_out, generation=generation),
            study=study.name,
            generation=generation,
            seed=opened.held_out.seed,
            locks=home.locks,
            ledger=home.ledger,
            now=clock.now(),
        )
        about = {
            "generation": generation,
            "calibration": len(found.calibration),
            "held_out": len(found.held_out),
            "partition_hash": found.hash,
        }
        return materialized(found, about)

    return [plan, observations, partition]


def _given_checks(study: Loop, group: str) -> list[dg.AssetChecksDefinition]:
    """Nothing is computed under a broken seal, or on a generation that was used."""

    @dg.asset_check(
        asset=f"{group}_plan",
        name=f"{group}_seal_holds",
        blocking=True,
    )
    def seal_holds(sealed_plan: SealedPlan, home: Home, clock: Clock) -> dg.AssetCheckResult:
        """The plan hashes to its seal, and is the one that the ledger holds under its name and version."""
        try:
            sealed_plan.open(study.plan)
            line = register_plan(home.ledger, sealed_plan, now=clock.now())
        except SealBroken as broken:
            return dg.AssetCheckResult(passed=False, description=str(broken), metadata={"seal": sealed_plan.seal})
        return dg.AssetCheckResult(passed=True, metadata={"seal": sealed_plan.seal, "sealed_at": line.at})

    @dg.asset_check(
        asset=f"{group}_partition",
        name=f"{group}_partition_holds",
        blocking=True,
    )
    def partition_holds(found: Partition, home: Home, clock: Clock) -> dg.AssetCheckResult:
        """What is held out is exactly what was sealed, not later than now, and was not used in this generation."""
        try:
            held_out_of(found, locks=home.locks, ledger=home.ledger, now=clock.now())
            require_unused(found, locks=home.locks, ledger=home.ledger)
        except SealBroken as broken:
            return dg.AssetCheckResult(passed=False, description=str(broken), metadata={"generation": found.generation})
        return dg.AssetCheckResult(passed=True, metadata={"generation": found.generation})

    return [seal_holds, partition_holds]


def _found_assets(study: Loop, group: str) -> list[dg.AssetsDefinition]:
    """What the calibration part shows, what held-out data say of it, and the verdict."""
    given = {
        "sealed_plan": dg.AssetIn(f"{group}_plan"),
        "log": dg.AssetIn(f"{group}_observations"),
        "partition": dg.AssetIn(f"{group}_partition"),
    }

    @dg.asset(name=f"{group}_findings", group_name=group, kinds={"scipy"}, code_version=CODE, ins=given)
    def findings(
        sealed_plan: SealedPlan, log: dict[str, Any], partition: Partition
    ) -> dg.MaterializeResult[dict[str, Any]]:
        """What the calibration part of the log shows."""
        part = _part(_log_of(log, study), partition.calibration, study)
        found = study.findings(part, sealed_plan.open(study.plan))
        return materialized(
            _encoded(found, study.findings_type), {"observations": len(part.rows), "origin": _origin(part)}
        )

    @dg.asset(
        name=f"{group}_held_out",
        group_name=group,
        kinds={"scipy"},
        code_version=CODE,
        ins=given | {"found": dg.AssetIn(f"{group}_findings")},
    )
    def held_out(
        sealed_plan: SealedPlan,
        log: dict[str, Any],
        partition: Partition,
        found: dict[str, Any],
        home: Home,
        clock: Clock,
    ) -> dg.MaterializeResult[dict[str, Any]]:
        """What held-out data say of it; their use is in the ledger before they are read."""
        held = held_out_of(partition, locks=home.locks, ledger=home.ledger, now=clock.now())
        if held is None:
            return materialized({"value": None}, {"held_out": "the plan holds nothing out"})
        require_unused(partition, locks=home.locks, ledger=home.ledger)
        opened = sealed_plan.open(study.plan)
        ids = held.use(home.ledger, study=study.name, generation=partition.generation, now=clock.now())
        part = _part(_log_of(log, study), ids, study)
        said = study.held_out(_decoded(found, study.findings_type), part, opened)
        about = {"held_out": len(part.rows), "generation": partition.generation}
        return materialized(_encoded(said, study.held_out_type), about)

    @dg.asset(
        name=f"{group}_verdict",
        group_name=group,
        kinds={"json"},
        code_version=CODE,
        ins=given | {"found": dg.AssetIn(f"{group}_findings"), "said": dg.AssetIn(f"{group}_held_out")},
    )
    def verdict(
        sealed_plan: SealedPlan,
        log: dict[str, Any],
        partition: Partition,
        found: dict[str, Any],
        said: dict[str, Any],
        clock: Clock,
        software: Software,
    ) -> dg.MaterializeResult[dict[str, Any]]:
        """The claims with their outcomes, the decision, and the constants that it makes."""
        opened = sealed_plan.open(study.plan)  # once more: blocking ends with the run
        whole = _log_of(log, study)
        document = study.document(_decoded(found, study.findings_type), _decoded(said, study.held_out_type), opened) | {
            "generation": partition.generation,
            "simulated": whole.simulated,
            "plan": opened.name,
            "hashes": {"plan": sealed_plan.seal, "observations": whole.hash, "partition": partition.hash},
            "versions": software.versions("eval-pipeline", "numpy", "scipy"),
        }
        if not whole.simulated:  # what a generator made up calibrates nothing
            document["constants"] = dated(document["constants"], clock.now().date())
        shown = ("claim", "outcome", "reason", "estimate", "threshold", "detail")
        about = {
            "origin": _origin(whole),
            "decision": document["decision"]["word"],
            "why": document["decision"]["reason"],
            "claims": [{name: claim[name] for name in shown} for claim in document["claims"]],
        }
        return materialized(document, about)

    @dg.asset(
        name=f"{group}_charts",
        group_name=group,
        kinds={"matplotlib"},
        code_version=CODE,
        deps=[f"{group}_plan", f"{group}_observations"],  # for staleness, as in the extraction study
        ins={"document": dg.AssetIn(f"{group}_verdict")},
    )
    def charts(document: dict[str, Any]) -> dg.MaterializeResult[dict[str, Any]]:
        """The control charts: what calls for a cause, and what does not."""
        drawn = {chart["name"]: chart for chart in document["charts"]}
        plots = {
            f"chart_{name}": dg.MetadataValue.md(as_markdown(chart_figure(chart), label=name))
            for name, chart in drawn.items()
            if chart["centre"] is not None
        }
        signals = {f"signals_{name}": len(chart["signals"]) for name, chart in drawn.items()}
        return materialized(drawn, plots | signals)

    @dg.asset(
        name=f"{group}_report",
        group_name=group,
        kinds={"html"},
        code_version=CODE,
        deps=[f"{group}_plan", f"{group}_observations"],  # for staleness, as in the extraction study
        ins={"document": dg.AssetIn(f"{group}_verdict")},
    )
    def report(document: dict[str, Any], inputs: StudyInputs, home: Home) -> dg.MaterializeResult[dict[str, str]]:
        """The findings as files: verdict.json, report.html."""
        out = Path(inputs.out) if inputs.out else home.out(study.name)
        return written(out, report_files(document), {})

    @dg.asset(
        name=f"{group}_history",
        group_name=group,
        kinds={"json", "html"},
        code_version=CODE,
        deps=[f"{group}_observations"],
        ins={"sealed_plan": dg.AssetIn(f"{group}_plan"), "document": dg.AssetIn(f"{group}_verdict")},
    )
    def history(
        context: dg.AssetExecutionContext,
        sealed_plan: SealedPlan,
        document: dict[str, Any],
        inputs: StudyInputs,
        home: Home,
        clock: Clock,
    ) -> dg.MaterializeResult[dict[str, Any]]:
        """The verdict among those before it, entered in the ledger; what was generated has a history of its own."""
        return entered(
            document,
            subject=GENERATED_HISTORY if document["simulated"] else "",
            judge=None,
            anytime=study.anytime(document, sealed_plan.open(study.plan)) if study.anytime else None,
            run=context.run.run_id,
            home=home,
            clock=clock,
            out=Path(inputs.out) if inputs.out else home.out(study.name),
            generation=document["generation"],
        )

    return [findings, held_out, verdict, charts, report, history]


def _found_checks(study: Loop, group: str) -> list[dg.AssetChecksDefinition]:
    @dg.multi_asset_check(
        name=f"{group}_claims",
        specs=[
            dg.AssetCheckSpec(claim, asset=f"{group}_verdict", description=text) for claim, text in study.claims.items()
        ],
        ins={"document": dg.AssetIn(f"{group}_verdict")},
    )
    def claims(document: dict[str, Any]) -> Iterator[dg.AssetCheckResult]:
        """The verdict on each claim: only a pass is passed, and only a fail is an error."""
        for claim in document["claims"]:
            yield to_check(claim, asset=f"{group}_verdict")

    @dg.asset_check(asset=f"{group}_charts", name=f"{group}_stable")
    def stable(drawn: dict[str, Any]) -> dg.AssetCheckResult:
        """No chart calls for a cause; constants change on nothing else."""
        signals = [f"{name}: {len(chart['signals'])}" for name, chart in drawn.items() if chart["signals"]]
        return dg.AssetCheckResult(
            passed=not signals,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"signals on {', '.join(signals)}" if signals else None,
        )

    return [claims, stable]


def chain_of(study: Loop) -> Chain:
    """The chain of a loop, which is the same for all."""
    group = group_of(study.name)
    steps = ("plan", "observations", "partition", "findings", "held_out", "verdict", "charts", "report")
    return Chain(
        study=group,
        folder=study.name,
        assets=tuple(f"{group}_{step}" for step in steps),
        given=frozenset(f"{group}_{step}" for step in steps[:3]),
        verdict=f"{group}_verdict",
    )


def _encoded(value: Any, of_type: Any) -> dict[str, Any]:
    return {"value": json.loads(json_bytes(value, of_type))}


def _decoded(values: Mapping[str, Any], of_type: Any) -> Any:
    return None if values["value"] is None else read_json(json.dumps(values["value"]).encode(), of_type)


LOOP_ASSETS: list[dg.AssetsDefinition] = [
    asset for study in STUDIES for make in (_given_assets, _found_assets) for asset in make(study, group_of(study.name))
] + [provenance_asset(chain_of(study)) for study in STUDIES]
LOOP_CHECKS: list[dg.AssetChecksDefinition] = [
    check for study in STUDIES for make in (_given_checks, _found_checks) for check in make(study, group_of(study.name))
]
