"""A home of its own in which a run is made anew from what was given to it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager, decoded, of_partition
from assets.partitions import folder_of
from assets.provenance import Chain
from assets.recorded import Recorded, asset_of, called, value_of
from assets.resources import Clock, Home, JudgeEndpoint, Software, StudyInputs
from eval_pipeline.evidence import write_atomically
from eval_pipeline.ledger import Kind, Line, write_beginning
from eval_pipeline.provenance import Provenance
from eval_pipeline.report.judge_calibration import journal_of
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.judge_calibration.asking import Predictions

_JUDGED: Mapping[str, Any] = {"nli_judgments": Judged, "judge_predictions": Predictions}  # what is made by replaying it
_END_OF_DAY = "T23:59:59+00:00"


@dataclass(frozen=True, slots=True)
class Bench:
    """A home of its own in which a run is made anew."""

    folder: Path
    chain: Chain
    provenance: Provenance

    @property
    def home(self) -> Home:
        """The home that the run is made anew in."""
        return Home(path=str(self.folder / "home"))

    @property
    def out(self) -> Path:
        """The folder of the findings; those of a partition are in a folder within it."""
        of_one = self.provenance.partition
        return folder_of(self.folder / "out", of_one) if of_one else self.folder / "out"

    @property
    def journal(self) -> Path:
        """The journal that the judge is replayed from."""
        return self.folder / "judgments.jsonl"

    @property
    def manager(self) -> EvidenceIOManager:
        """Where its evidence goes."""
        return EvidenceIOManager(home=self.home.path)

    def file(self, name: str) -> str:
        """The name of the file that was made of an asset."""
        asset, _, partition = name.partition("@")
        return self.manager.recorded(dg.AssetKey.from_user_string(asset), [], partition)

    def read(self, name: str) -> bytes:
        """What was made of an asset."""
        return self.manager.store.read(f"{asset_of(name)}/{self.file(name)}")

    def value(self, name: str, of_type: Any) -> Any:
        """The value that was made of an asset."""
        return decoded(self.file(name), self.read(name), of_type, place=f"of {name}")


def lay_out(
    bench: Bench,
    recorded: Recorded,
    evidence: Mapping[str, bytes],
    taken: frozenset[str],
    lines: tuple[Line, ...],
    documents: Mapping[str, dict[str, Any]],
) -> None:
    """Puts what is taken as it was recorded where the run that is made anew will look for it."""
    store = bench.manager.store
    for name, data in evidence.items():
        if asset_of(name) in taken:
            asset, _, partition = name.partition("@")
            file = bench.provenance.evidence[name]
            store.write(f"{asset}/{file}", data)
            store.write(f"{asset}/latest{of_partition(partition) if partition else ''}", file.encode())
    for last, of_type in _JUDGED.items():
        for name in called(last, evidence):
            judged = value_of(bench.provenance, evidence, name, of_type)
            bench.journal.write_bytes(judged.to_lines() if isinstance(judged, Judged) else journal_of(judged))
    for document in documents.values():
        if generation := document.get("generation"):
            write_beginning(bench.home.ledger, _until_used(lines, document["study"], generation))
            for lock in sorted(recorded.locks.glob(f"{document['study']}-*.json")):
                write_atomically(bench.home.locks / lock.name, lock.read_bytes())


def _until_used(lines: tuple[Line, ...], study: str, generation: str) -> tuple[Line, ...]:
    """The ledger as it was before this generation used its held-out data."""
    used = (place for place, line in enumerate(lines) if is_use(line, study, generation))
    return lines[: next(used, len(lines))]


def make(bench: Bench, made: tuple[str, ...], documents: Mapping[str, dict[str, Any]], *, simulated: bool) -> None:
    """Runs the assets once more, first those of each partition and then those of all.

    Raises: Refused: as the assets do.
    """
    one = next(iter(documents.values()))
    days = sorted(constant["computed_on"] for constant in one.get("constants", ()) if constant.get("computed_on"))
    inputs = {
        **bench.provenance.inputs,
        "judge": f"replay:{bench.journal}",
        "out": str(bench.folder / "out"),
        "ratings": "" if simulated else "recorded",
    }
    definitions = build_defs(
        resource_overrides={
            "home": bench.home,
            "clock": Clock(at=f"{days[-1]}{_END_OF_DAY}" if days else ""),
            "software": Software(recorded=one["versions"]),
            "inputs": StudyInputs.model_validate(inputs),
            "endpoint": JudgeEndpoint(),
            "io_manager": bench.manager,
        }
    )
    job = definitions.resolve_job_def(bench.chain.study)
    partitions = sorted({name.partition("@")[2] for name in bench.provenance.evidence} - {""})
    with dg.DagsterInstance.ephemeral() as instance:
        if isinstance(job.partitions_def, dg.DynamicPartitionsDefinition):
            instance.add_dynamic_partitions(str(job.partitions_def.name), partitions)
        for partition, assets in _batches(made, partitions):
            job.execute_in_process(
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                instance=instance,
                asset_selection=[dg.AssetKey.from_user_string(asset) for asset in assets],
                partition_key=partition,
            )


def _batches(made: tuple[str, ...], partitions: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """Which assets are made together: those of each partition, and at last those that have none."""
    for partition in partitions:
        if assets := [asset_of(name) for name in made if name.endswith(f"@{partition}")]:
            yield partition, assets
    if assets := [name for name in made if "@" not in name]:
        yield partitions[-1] if partitions else None, assets


def is_use(line: Line, study: str, generation: str) -> bool:
    """Whether a line says that a generation used what it held out."""
    about = (line.body.get("study"), line.body.get("generation"))
    return line.kind is Kind.PARTITION_USED and about == (study, generation)
