"""Provenance as assets: at the end of each chain, what its findings rest on, by its content."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from assets.io_managers import EvidenceIOManager, lineage
from assets.metadata import materialized
from assets.partitions import folder_of
from assets.resources import Home, StudyInputs
from eval_pipeline.evidence import write_atomically
from eval_pipeline.provenance import PROVENANCE, Provenance, provenance_bytes
from eval_pipeline.report.page import drawn_by

CODE = "1"  # raised when the meaning of an asset changes, not when its code does
_INPUTS = ("check_share", "only_tracks")  # what later assets read of them, beside texts and files


@dataclass(frozen=True, slots=True)
class Chain:
    """The assets from the inputs of a study to its report, in their order.

    Args:
        study: the group, and the job.
        folder: the name of the study's folder of findings.
        assets: all that the report rests on, and at last the report, whose value is the hash of each file.
        given: those of them that read what lies outside, and are taken as they were recorded.
        verdict: that of them whose value is the verdict document.
        over_all: those of them that have partitions, of which the report holds all.

    """

    study: str
    folder: str
    assets: tuple[str, ...]
    given: frozenset[str]
    verdict: str
    over_all: frozenset[str] = frozenset()

    @property
    def report(self) -> str:
        """The asset that writes the findings."""
        return self.assets[-1]

    def by(self, prefix: str, *, study: str, but: frozenset[str]) -> "Chain":
        """The same chain under keys with a prefix, as another study; but for some assets, which it shares."""

        def named(asset: str) -> str:
            return asset if asset in but else f"{prefix}/{asset}"

        return Chain(
            study=study,
            folder=self.folder,
            assets=tuple(map(named, self.assets)),
            given=frozenset(map(named, self.given)),
            verdict=named(self.verdict),
        )


def written(
    out: Path, files: Mapping[str, bytes | Iterable[bytes]], about: Mapping[str, Any]
) -> dg.MaterializeResult[dict[str, str]]:
    """The findings, written to their folder; the value is the hash of each file."""
    for name, data in files.items():
        write_atomically(out / name, data)
    hashes = {name: _hash(out / name) for name in sorted(files)}
    return materialized(hashes, {"report": dg.MetadataValue.path(str(out / "report.html")), **about})


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def provenance_asset(chain: Chain) -> dg.AssetsDefinition:
    """The asset that writes provenance.json beside the findings."""
    above = [
        dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping()) if name in chain.over_all else name
        for name in chain.assets
        if name != chain.report
    ]

    @dg.asset(
        name=f"{chain.study}_provenance",
        group_name=chain.study,
        kinds={"json"},
        code_version=CODE,
        deps=above,
        ins={"files": dg.AssetIn(chain.report)},
    )
    def provenance(
        context: dg.AssetExecutionContext,
        files: dict[str, str],
        inputs: StudyInputs,
        home: Home,
        io_manager: dg.ResourceParam[EvidenceIOManager],
    ) -> dg.MaterializeResult[dict[str, Any]]:
        """What the findings rest on, by its content, for `eval-pipeline verify`; provenance.json beside them."""
        found = Provenance(
            study=context.assets_def.group_names_by_key[context.asset_key],
            partition=context.partition_key if _is_partitioned(context, context.asset_key) else "",
            inputs={name: getattr(inputs, name) for name in _INPUTS},
            evidence=_evidence(context, chain, inputs, io_manager),
            files=files,
            drawn_by=drawn_by(),
        )
        out = out_of(Path(inputs.out) if inputs.out else home.out(chain.folder), context)
        write_atomically(out / PROVENANCE, provenance_bytes(found))
        return materialized(found.model_dump(), {"provenance": dg.MetadataValue.path(str(out / PROVENANCE))})

    return provenance


def out_of(out: Path, context: dg.AssetExecutionContext) -> Path:
    """The folder of the findings: that of the study, or within it one for the partition that they are of."""
    return folder_of(out, context.partition_key) if _is_partitioned(context, context.asset_key) else out


def _is_partitioned(context: dg.AssetExecutionContext, key: dg.AssetKey) -> bool:
    return context.job_def.asset_layer.asset_graph.get(key).is_partitioned


def _evidence(
    context: dg.AssetExecutionContext, chain: Chain, inputs: StudyInputs, io_manager: EvidenceIOManager
) -> dict[str, str]:
    """The file of each asset that the findings rest on; the chain may stand under keys with a prefix."""
    runs = list(lineage(context.instance, context.run))
    keys = {key.path[-1]: key for key in context.assets_def.dependency_keys}
    found: dict[str, str] = {}
    for name in chain.assets:
        key = keys[name]
        if not _is_partitioned(context, key):
            partitions = [""]
        elif name in chain.over_all:
            partitions = inputs.only_tracks or io_manager.partitions_of(key)
        else:
            partitions = [context.partition_key]
        for partition in partitions:
            at = f"{key.to_user_string()}@{partition}" if partition else key.to_user_string()
            found[at] = io_manager.recorded(key, runs, partition)
    return found
