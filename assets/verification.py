"""A run once more, offline: from its inputs to its findings, each step held against what was recorded of it."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from assets.build import build_defs
from assets.entered_lines import line_of
from assets.io_managers import EvidenceIOManager, decoded, of_partition
from assets.partitions import folder_of
from assets.provenance import Chain
from assets.resources import Clock, Home, JudgeEndpoint, Software, StudyInputs
from assets.studies import closed_loops, extraction, extraction_workspaces, imported, judge_calibration, label_signal
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.differences import first_difference
from eval_pipeline.errors import EvidenceAbsent, NotVerified, Refused
from eval_pipeline.evidence import write_atomically
from eval_pipeline.ledger import Kind, Line, read_ledger, write_beginning
from eval_pipeline.provenance import PROVENANCE, Provenance, provenance_bytes
from eval_pipeline.report.judge_calibration import journal_of
from eval_pipeline.report.page import drawn_by
from eval_pipeline.seal import SealedPlan
from eval_pipeline.sealing import Partition
from eval_pipeline.store import Store
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.gold_claims import gold_claims
from eval_pipeline.studies.extraction.judging import Judged, ended_early
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.gold import GoldSet
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.loops import STUDIES

CHAINS = {
    chain.study: chain
    for chain in (
        extraction.CHAIN,
        extraction_workspaces.CHAIN,
        judge_calibration.CHAIN,
        label_signal.CHAIN,
        imported.CHAIN,
        *(closed_loops.chain_of(study) for study in STUDIES),
    )
}
_JUDGED: Mapping[str, Any] = {"nli_judgments": Judged, "judge_predictions": Predictions}  # what is made by replaying it
_PAGES = (".html", ".md")
_END_OF_DAY = "T23:59:59+00:00"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a run left: its provenance, where evidence, ledger and locks are, and its findings if they are at hand."""

    provenance: Provenance
    store: Store
    ledger: Path
    locks: Path
    out: Path | None


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found to be as it was recorded.

    `made` are the assets that were made anew, `taken` those that were taken as they were recorded; `lines` are those of
    the ledger that hold the verdicts. `pages` are as they were written, and were not compared with new ones, since
    another version of the report drew them. `other_versions` are the packages that are installed in another version
    here than the verdict names, with both.
    """

    study: str
    made: tuple[str, ...]
    taken: tuple[str, ...]
    files: tuple[str, ...]
    lines: tuple[int, ...]
    pages: tuple[str, ...]
    other_versions: Mapping[str, tuple[str, str]]


def verify(recorded: Recorded) -> Verified:
    """Makes a run anew from what was given to it, and holds each step, finding, seal and line against what is recorded.

    Raises:
        NotVerified: something differs; the message names the first thing that does, and where.
        LedgerBroken, StoreRefused: what it is recorded in cannot be read.

    """
    provenance = recorded.provenance
    chain = CHAINS.get(provenance.study)
    if chain is None:
        raise NotVerified(f"{PROVENANCE}, /study: found {provenance.study!r}, expected one of {', '.join(CHAINS)}")
    _require_whole(chain, provenance)
    evidence = {name: _read(recorded.store, name, file) for name, file in provenance.evidence.items()}
    lines = read_ledger(recorded.ledger)
    documents = {name: _value(provenance, evidence, name, dict[str, Any]) for name in _of(chain.verdict, evidence)}
    _require_entered(recorded.ledger, lines, chain, provenance, evidence)
    taken = _taken(chain, provenance, evidence)
    with tempfile.TemporaryDirectory(prefix="eval_pipeline_verify_") as folder:
        bench = _Bench(Path(folder), chain, provenance)
        _lay_out(bench, recorded, evidence, taken, lines, documents)
        made = tuple(name for name in _in_order(chain, evidence) if _asset(name) not in taken)
        try:
            _make(bench, made, documents, simulated="label_sensitivity" in taken)
        except Refused as refusal:
            raise NotVerified(f"{chain.study} cannot be made anew: {refusal}") from None
        (report,) = _of(chain.report, evidence)
        try:
            _require_same_evidence(bench, evidence, [name for name in made if name != report], documents)
        except NotVerified as differs:
            raise NotVerified(f"{differs}{_made_with(documents)}") from None
        files = {name: (bench.out / name).read_bytes() for name in bench.value(report, dict[str, str])}
    pages = _drawn_otherwise(provenance, files)
    _require_same_files(recorded, files, but=pages)
    _require_recorded_hashes(provenance, _value(provenance, evidence, report, dict[str, str]), files, but=pages)
    return Verified(
        study=chain.study,
        made=made,
        taken=tuple(name for name in _in_order(chain, evidence) if name not in made),
        files=tuple(files),
        lines=tuple(line_of(recorded.ledger, lines, name, document).number for name, document in documents.items()),
        pages=pages,
        other_versions=_other_versions(documents),
    )


def _asset(name: str) -> str:
    """The asset of a name of the provenance, without its partition."""
    return name.partition("@")[0]


def _of(asset: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if _asset(name) == asset]


def _called(last: str, names: Iterable[str]) -> list[str]:
    """The names of an asset of whatever prefix."""
    return [name for name in names if _asset(name).rpartition("/")[2] == last]


def _in_order(chain: Chain, names: Iterable[str]) -> list[str]:
    """Names of the provenance in the order of the chain."""
    return [name for asset in chain.assets for name in _of(asset, names)]


def _require_whole(chain: Chain, provenance: Provenance) -> None:
    """That the provenance names a file of every asset of its chain, and of no other."""
    found = {_asset(name) for name in provenance.evidence}
    if missing := [name for name in chain.assets if name not in found]:
        raise NotVerified(f"{PROVENANCE}, /evidence: found nothing of {missing[0]!r}; put it back as the run wrote it")
    if more := sorted(found - set(chain.assets)):
        raise NotVerified(f"{PROVENANCE}, /evidence: found {more[0]!r}, which {chain.study} has not; put it back")


def _read(store: Store, name: str, file: str) -> bytes:
    path = f"{_asset(name)}/{file}"
    try:
        data = store.read(path)
    except EvidenceAbsent:
        raise NotVerified(f"evidence of {name}: {store.place(path)!r} is not there; put it back") from None
    if hashlib.sha256(data).hexdigest() != file.partition(".")[0]:
        raise NotVerified(f"evidence of {name}: {store.place(path)!r} is not what was written; put it back")
    return data


def _value(provenance: Provenance, evidence: Mapping[str, bytes], name: str, of_type: Any) -> Any:
    return decoded(provenance.evidence[name], evidence[name], of_type, place=f"of {name}")


def _taken(chain: Chain, provenance: Provenance, evidence: Mapping[str, bytes]) -> frozenset[str]:
    """The assets that cannot be made from the rest: the inputs, judgments that ended early, worlds of other tracks."""
    more = {_asset(name) for name in _called("nli_judgments", evidence) if _ended_early(provenance, evidence, name)}
    for name in _called("judge_predictions", evidence):
        predictions = _value(provenance, evidence, name, Predictions)
        if predictions.refusal or not predictions.judgments:
            more.add(_asset(name))
    ratings = [_value(provenance, evidence, name, Ratings) for name in _called("ratings", evidence)]
    if any(one.source == "simulated" for one in ratings):
        more.add("label_sensitivity")
    return chain.given | more


def _ended_early(provenance: Provenance, evidence: Mapping[str, bytes], name: str) -> bool:
    """Whether the judgments cannot be had by asking their journal, since some were never asked for."""

    def given(last: str, of_type: Any) -> Any:
        return _value(provenance, evidence, _called(last, evidence)[0], of_type)

    plan = given("sealed_plan", SealedPlan).open(ExtractionPlan)
    gold = gold_claims(given("gold_set", GoldSet)) if plan.calibration.gold == "asked" else ()
    judged = _value(provenance, evidence, name, Judged)
    return ended_early(judged, gold, given("frame", Frame), given("corpus", Snapshot))


def _require_entered(
    ledger: Path, lines: tuple[Line, ...], chain: Chain, provenance: Provenance, evidence: Mapping[str, bytes]
) -> None:
    """That the ledger sealed no other plan under the name of this one, and saw the use of what was held out."""
    name_of_plan = _in_order(chain, evidence)[0]
    plan = _value(provenance, evidence, name_of_plan, SealedPlan)
    for line in lines:
        named = (line.body.get("name"), line.body.get("version")) == (plan.values["name"], plan.values["version"])
        if line.kind is Kind.PLAN_SEALED and named and line.body["seal"] != plan.seal:
            raise NotVerified(
                f"{name_of_plan}: the plan hashes to {plan.seal[:12]}, and line {line.number} of ledger"
                f" {str(ledger)!r} sealed {line.body['seal'][:12]} under its name and version; put the plan back"
            )
    for name in _called(f"{chain.study}_partition", evidence):
        partition = _value(provenance, evidence, name, Partition)
        if partition.lock and not any(_is_use(line, partition.study, partition.generation) for line in lines):
            raise NotVerified(
                f"ledger {str(ledger)!r} holds no use of what generation {partition.generation!r} of"
                f" {partition.study} held out; put it back"
            )


def _is_use(line: Line, study: str, generation: str) -> bool:
    about = (line.body.get("study"), line.body.get("generation"))
    return line.kind is Kind.PARTITION_USED and about == (study, generation)


@dataclass(frozen=True, slots=True)
class _Bench:
    """A home of its own in which a run is made anew."""

    folder: Path
    chain: Chain
    provenance: Provenance

    @property
    def home(self) -> Home:
        return Home(path=str(self.folder / "home"))

    @property
    def out(self) -> Path:
        """The folder of the findings; those of a partition are in a folder within it."""
        of_one = self.provenance.partition
        return folder_of(self.folder / "out", of_one) if of_one else self.folder / "out"

    @property
    def journal(self) -> Path:
        return self.folder / "judgments.jsonl"

    @property
    def manager(self) -> EvidenceIOManager:
        return EvidenceIOManager(home=self.home.path)

    def file(self, name: str) -> str:
        """The name of the file that was made of an asset."""
        asset, _, partition = name.partition("@")
        return self.manager.recorded(dg.AssetKey.from_user_string(asset), [], partition)

    def read(self, name: str) -> bytes:
        """What was made of an asset."""
        return self.manager.store.read(f"{_asset(name)}/{self.file(name)}")

    def value(self, name: str, of_type: Any) -> Any:
        """The value that was made of an asset."""
        return decoded(self.file(name), self.read(name), of_type, place=f"of {name}")


def _lay_out(
    bench: _Bench,
    recorded: Recorded,
    evidence: Mapping[str, bytes],
    taken: frozenset[str],
    lines: tuple[Line, ...],
    documents: Mapping[str, dict[str, Any]],
) -> None:
    """Puts what is taken as it was recorded where the run that is made anew will look for it."""
    store = bench.manager.store
    for name, data in evidence.items():
        if _asset(name) in taken:
            asset, _, partition = name.partition("@")
            file = bench.provenance.evidence[name]
            store.write(f"{asset}/{file}", data)
            store.write(f"{asset}/latest{of_partition(partition) if partition else ''}", file.encode())
    for last, of_type in _JUDGED.items():
        for name in _called(last, evidence):
            judged = _value(bench.provenance, evidence, name, of_type)
            bench.journal.write_bytes(judged.to_lines() if isinstance(judged, Judged) else journal_of(judged))
    for document in documents.values():
        if generation := document.get("generation"):
            write_beginning(bench.home.ledger, _until_used(lines, document["study"], generation))
            for lock in sorted(recorded.locks.glob(f"{document['study']}-*.json")):
                write_atomically(bench.home.locks / lock.name, lock.read_bytes())


def _until_used(lines: tuple[Line, ...], study: str, generation: str) -> tuple[Line, ...]:
    """The ledger as it was before this generation used its held-out data."""
    used = (place for place, line in enumerate(lines) if _is_use(line, study, generation))
    return lines[: next(used, len(lines))]


def _make(bench: _Bench, made: tuple[str, ...], documents: Mapping[str, dict[str, Any]], *, simulated: bool) -> None:
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
        if assets := [_asset(name) for name in made if name.endswith(f"@{partition}")]:
            yield partition, assets
    if assets := [name for name in made if "@" not in name]:
        yield partitions[-1] if partitions else None, assets


def _require_same_evidence(
    bench: _Bench, evidence: Mapping[str, bytes], made: Iterable[str], documents: Mapping[str, dict[str, Any]]
) -> None:
    """That each asset that was made anew is what was recorded, in the order of the chain."""
    for name in made:
        file = bench.provenance.evidence[name]
        if bench.file(name) != file:
            _require_same_inputs(bench, documents)
            place = first_difference(file, evidence[name], bench.read(name))
            raise NotVerified(f"{name} is not what its inputs give: {place}")


def _require_same_inputs(bench: _Bench, documents: Mapping[str, dict[str, Any]]) -> None:
    """That the inputs are those that the verdict names; where they are not, nothing made of them can be the same."""
    for name, document in documents.items():
        remade = bench.value(name, dict[str, Any])
        for what, was in document["hashes"].items():
            if remade["hashes"].get(what) != was:
                raise NotVerified(
                    f"{name}, /hashes/{what}: found {was}, and what is recorded as given has"
                    f" {remade['hashes'].get(what)}; put back the {what} that the verdict rests on"
                )


def _drawn_otherwise(provenance: Provenance, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """The pages that another version of the report drew than the one that is here, and draws otherwise.

    They hold no number that the verdict document, which is made anew, has not.
    """
    if provenance.drawn_by == drawn_by():
        return ()
    differ = [name for name, data in files.items() if provenance.files.get(name) != hashlib.sha256(data).hexdigest()]
    return tuple(name for name in differ if name.endswith(_PAGES))


def _require_same_files(recorded: Recorded, files: Mapping[str, bytes], *, but: tuple[str, ...]) -> None:
    """That the findings are what was made anew; the pages that are excepted must be as they were written."""
    if recorded.out is None:
        return
    for name, data in files.items():
        path = recorded.out / name
        if not path.is_file():
            raise NotVerified(f"{str(path)!r} is not there; put it back")
        found = path.read_bytes()
        if name in but and (digest := hashlib.sha256(found).hexdigest()) != recorded.provenance.files.get(name):
            raise NotVerified(
                f"{str(path)!r} is not as it was written: its hash is {digest[:12]}, and it was"
                f" {str(recorded.provenance.files.get(name))[:12]}; put it back"
            )
        if name not in but and (place := first_difference(name, found, data)):
            raise NotVerified(f"{str(path)!r} is not what the run gives: {place}")
    written = (recorded.out / PROVENANCE).read_bytes()
    if place := first_difference(PROVENANCE, written, provenance_bytes(recorded.provenance)):
        raise NotVerified(f"{str(recorded.out / PROVENANCE)!r} is not as it was written: {place}")


def _require_recorded_hashes(
    provenance: Provenance, reported: Mapping[str, str], files: Mapping[str, bytes], *, but: tuple[str, ...]
) -> None:
    """That the provenance and the report's own evidence name the hashes of what was made anew."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    for name in sorted({*hashes, *provenance.files, *reported}):
        wanted = reported.get(name) if name in but else hashes.get(name)
        for place, found in ((PROVENANCE, provenance.files.get(name)), ("the report", reported.get(name))):
            if found != wanted:
                raise NotVerified(f"{place}, /files/{name}: found {found}, expected {wanted}; put it back")


def _made_with(documents: Mapping[str, dict[str, Any]]) -> str:
    """A clause on the versions that are other ones here, which alone may make a difference; empty where none is."""
    other = [f"{name} {was}, here {here}" for name, (was, here) in _other_versions(documents).items()]
    return f"; it was made with {'; '.join(other)}: verify it with the versions that made it" if other else ""


def _other_versions(documents: Mapping[str, dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """The packages of the verdicts that are installed in another version here, with that of the verdict and ours."""
    named = {name: was for document in documents.values() for name, was in document["versions"].items()}
    here = Software().versions(*named)
    return {name: (was, here[name]) for name, was in named.items() if was != here[name]}
