"""Provenance as assets: at the end of each chain, what its findings rest on, by its content."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from assets.io_managers import EvidenceIOManager, lineage
from assets.metadata import materialized
from assets.resources import Home, StudyInputs
from eval_pipeline.evidence import write_atomically
from eval_pipeline.provenance import PROVENANCE, Provenance, provenance_bytes

CODE = "1"  # raised when the meaning of an asset changes, not when its code does
_INPUTS = ("check_share", "only_tracks")  # what later assets read of them, beside texts and files


@dataclass(frozen=True, slots=True)
class Chain:
    """The assets from the inputs of a study to its report, in their order.

    Args:
        study: the group, whose name the assets at the end bear.
        folder: the name of the study's folder of findings.
        assets: all that the report rests on, and the report.
        given: those of them that read what lies outside, and are taken as they were recorded.
        partitions: of those assets that have some.

    """

    study: str
    folder: str
    assets: tuple[str, ...]
    given: frozenset[str]
    partitioned: frozenset[str] = frozenset()
    partitions: dg.PartitionsDefinition[str] | None = None

    @property
    def report(self) -> str:
        """The asset that writes the findings; its value is the hash of each file."""
        return f"{self.study}_report"

    @property
    def verdict(self) -> str:
        """The asset whose value is the verdict document."""
        return f"{self.study}_verdict"


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
        dg.AssetDep(name, partition_mapping=dg.AllPartitionMapping()) if name in chain.partitioned else name
        for name in chain.assets
        if name != chain.report
    ]
    return _made(chain, above)


def _made(chain: Chain, above: Sequence[str | dg.AssetDep]) -> dg.AssetsDefinition:
    @dg.asset(
        name=f"{chain.study}_provenance",
        group_name=chain.study,
        kinds={"json"},
        code_version=CODE,
        deps=above,
        ins={"files": dg.AssetIn(chain.report)},
        partitions_def=chain.partitions,
    )
    def provenance(
        context: dg.AssetExecutionContext,
        files: dict[str, str],
        inputs: StudyInputs,
        home: Home,
        io_manager: dg.ResourceParam[EvidenceIOManager],
    ) -> dg.MaterializeResult[dict[str, Any]]:
        """What the findings rest on, by its content, for `eval-pipeline verify`; provenance.json beside them."""
        runs = list(lineage(context.instance, context.run))
        evidence: dict[str, str] = {}
        for name in chain.assets:
            key = dg.AssetKey.from_user_string(name)
            keys = [""] if name not in chain.partitioned else inputs.only_tracks or io_manager.partitions_of(key)
            for partition in keys:
                at = f"{name}@{partition}" if partition else name
                evidence[at] = io_manager.recorded(key, runs, partition)
        found = Provenance(
            study=chain.study,
            partition=context.partition_key if context.has_partition_key and not chain.partitioned else "",
            inputs={name: getattr(inputs, name) for name in _INPUTS},
            evidence=evidence,
            files=files,
        )
        out = Path(inputs.out) if inputs.out else home.out(chain.folder)
        write_atomically(out / PROVENANCE, provenance_bytes(found))
        return materialized(found.model_dump(), {"provenance": dg.MetadataValue.path(str(out / PROVENANCE))})

    return provenance
