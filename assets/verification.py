"""A run once more, offline: from its inputs to its findings, each step held against what was recorded of it."""

import hashlib
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.entered_lines import line_of
from assets.provenance import Chain
from assets.recorded import Recorded, asset_of, called, in_order, of_asset, read_evidence, value_of
from assets.remaking import Bench, is_use, lay_out, make
from assets.resources import Software
from assets.studies import (
    closed_loops,
    extraction_verdict,
    extraction_workspaces,
    imported,
    judge_calibration,
    label_signal,
)
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.differences import first_difference
from eval_pipeline.errors import NotVerified, Refused
from eval_pipeline.ledger import Kind, Line, read_ledger
from eval_pipeline.provenance import PROVENANCE, Provenance, provenance_bytes
from eval_pipeline.report.page import drawn_by
from eval_pipeline.seal import SealedPlan
from eval_pipeline.sealing import Partition
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
        extraction_verdict.CHAIN,
        extraction_workspaces.CHAIN,
        judge_calibration.CHAIN,
        label_signal.CHAIN,
        imported.CHAIN,
        *(closed_loops.chain_of(study) for study in STUDIES),
    )
}
_PAGES = (".html", ".md")


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
    evidence = {name: read_evidence(recorded.store, name, file) for name, file in provenance.evidence.items()}
    lines = read_ledger(recorded.ledger)
    documents = {
        name: value_of(provenance, evidence, name, dict[str, Any]) for name in of_asset(chain.verdict, evidence)
    }
    _require_entered(recorded.ledger, lines, chain, provenance, evidence)
    taken = _taken(chain, provenance, evidence)
    with tempfile.TemporaryDirectory(prefix="eval_pipeline_verify_") as folder:
        bench = Bench(Path(folder), chain, provenance)
        lay_out(bench, recorded, evidence, taken, lines, documents)
        made = tuple(name for name in in_order(chain, evidence) if asset_of(name) not in taken)
        try:
            make(bench, made, documents, simulated="label_sensitivity" in taken)
        except Refused as refusal:
            raise NotVerified(f"{chain.study} cannot be made anew: {refusal}") from None
        (report,) = of_asset(chain.report, evidence)
        try:
            _require_same_evidence(bench, evidence, [name for name in made if name != report], documents)
        except NotVerified as differs:
            raise NotVerified(f"{differs}{_made_with(documents)}") from None
        files = {name: (bench.out / name).read_bytes() for name in bench.value(report, dict[str, str])}
    pages = _drawn_otherwise(provenance, files)
    _require_same_files(recorded, files, but=pages)
    _require_recorded_hashes(provenance, value_of(provenance, evidence, report, dict[str, str]), files, but=pages)
    return Verified(
        study=chain.study,
        made=made,
        taken=tuple(name for name in in_order(chain, evidence) if name not in made),
        files=tuple(files),
        lines=tuple(line_of(recorded.ledger, lines, name, document).number for name, document in documents.items()),
        pages=pages,
        other_versions=_other_versions(documents),
    )


def _require_whole(chain: Chain, provenance: Provenance) -> None:
    """That the provenance names a file of every asset of its chain, and of no other."""
    found = {asset_of(name) for name in provenance.evidence}
    if missing := [name for name in chain.assets if name not in found]:
        raise NotVerified(f"{PROVENANCE}, /evidence: found nothing of {missing[0]!r}; put it back as the run wrote it")
    if more := sorted(found - set(chain.assets)):
        raise NotVerified(f"{PROVENANCE}, /evidence: found {more[0]!r}, which {chain.study} has not; put it back")


def _taken(chain: Chain, provenance: Provenance, evidence: Mapping[str, bytes]) -> frozenset[str]:
    """The assets that cannot be made from the rest: the inputs, judgments that ended early, worlds of other tracks."""
    more = {asset_of(name) for name in called("nli_judgments", evidence) if _ended_early(provenance, evidence, name)}
    for name in called("judge_predictions", evidence):
        predictions = value_of(provenance, evidence, name, Predictions)
        if predictions.refusal or not predictions.judgments:
            more.add(asset_of(name))
    ratings = [value_of(provenance, evidence, name, Ratings) for name in called("ratings", evidence)]
    if any(one.source == "simulated" for one in ratings):
        more.add("label_sensitivity")
    return chain.given | more


def _ended_early(provenance: Provenance, evidence: Mapping[str, bytes], name: str) -> bool:
    """Whether the judgments cannot be had by asking their journal, since some were never asked for."""

    def given(last: str, of_type: Any) -> Any:
        return value_of(provenance, evidence, called(last, evidence)[0], of_type)

    plan = given("sealed_plan", SealedPlan).open(ExtractionPlan)
    gold = gold_claims(given("gold_set", GoldSet)) if plan.calibration.gold == "asked" else ()
    judged = value_of(provenance, evidence, name, Judged)
    return ended_early(judged, gold, given("frame", Frame), given("corpus", Snapshot))


def _require_entered(
    ledger: Path, lines: tuple[Line, ...], chain: Chain, provenance: Provenance, evidence: Mapping[str, bytes]
) -> None:
    """That the ledger sealed no other plan under the name of this one, and saw the use of what was held out."""
    name_of_plan = in_order(chain, evidence)[0]
    plan = value_of(provenance, evidence, name_of_plan, SealedPlan)
    for line in lines:
        named = (line.body.get("name"), line.body.get("version")) == (plan.values["name"], plan.values["version"])
        if line.kind is Kind.PLAN_SEALED and named and line.body["seal"] != plan.seal:
            raise NotVerified(
                f"{name_of_plan}: the plan hashes to {plan.seal[:12]}, and line {line.number} of ledger"
                f" {str(ledger)!r} sealed {line.body['seal'][:12]} under its name and version; put the plan back"
            )
    for name in called(f"{chain.study}_partition", evidence):
        partition = value_of(provenance, evidence, name, Partition)
        if partition.lock and not any(is_use(line, partition.study, partition.generation) for line in lines):
            raise NotVerified(
                f"ledger {str(ledger)!r} holds no use of what generation {partition.generation!r} of"
                f" {partition.study} held out; put it back"
            )


def _require_same_evidence(
    bench: Bench, evidence: Mapping[str, bytes], made: Iterable[str], documents: Mapping[str, dict[str, Any]]
) -> None:
    """That each asset that was made anew is what was recorded, in the order of the chain."""
    for name in made:
        file = bench.provenance.evidence[name]
        if bench.file(name) != file:
            _require_same_inputs(bench, documents)
            place = first_difference(file, evidence[name], bench.read(name))
            raise NotVerified(f"{name} is not what its inputs give: {place}")


def _require_same_inputs(bench: Bench, documents: Mapping[str, dict[str, Any]]) -> None:
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
