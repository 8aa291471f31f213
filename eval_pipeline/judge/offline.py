"""Judges that need no model: words in common, human labels, and a journal that is read again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import MalformedJournal, MalformedLabels
from eval_pipeline.jsonl import found, read_lines
from eval_pipeline.judge import lexical, lexical_claims
from eval_pipeline.judge.journal import journal_files, read_journal
from eval_pipeline.judge.prompt import Task
from eval_pipeline.judge.protocol import PROBE, key
from eval_pipeline.records import Answer, Label, NoLabel, Question

REPLAY = "replay"


def _said(raw: str) -> Answer:
    return Answer(str(raw), None, attempts=1, latency_s=0.0, tokens=None)


def _silent(why: NoLabel) -> Answer:
    return Answer(None, why, attempts=1, latency_s=0.0, tokens=None)


@dataclass(frozen=True)
class Offline:
    """What the judges of this module have in common: nothing to connect to, and nothing that could be down."""

    in_flight = 1

    async def probe(self) -> Answer | None:
        """None: there is nothing that could be down."""
        return None

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True)
class LexicalJudge(Offline):
    """Judges by words in common; see `lexical`, and for claims `lexical_claims`."""

    kind = "lexical"
    task: Task = "entailment"

    @property
    def identity(self) -> Mapping[str, Any]:
        """The revision of the rule, and for claims the task."""
        if self.task == "entailment":
            return {"kind": self.kind, "revision": lexical.REVISION}
        return {"kind": self.kind, "revision": lexical_claims.REVISION, "task": self.task}

    async def answer(self, question: Question) -> Answer:
        """A label, always."""
        premises = question.premise if isinstance(question.premise, tuple) else (question.premise,)
        if self.task == "alignment":
            return _said(lexical_claims.align(question.hypothesis, " ".join(premises)))
        if self.task == "constraint":
            given = dict(question.given)
            return _said(lexical_claims.comply(question.hypothesis, given["rule"], given["constraint_id"]))
        return _said(Label.SUPPORTED if lexical.entails(premises, question.hypothesis) else Label.NOT_SUPPORTED)


class _LabelLine(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")
    entry_id: str
    proposition: str
    supported: bool


@dataclass(frozen=True)
class LabelsJudge(Offline):
    """People's labels, by entry and hypothesis, whatever the premise is; the oracle of the house."""

    kind = "labels"
    labels: Mapping[tuple[str, str], bool]
    labels_hash: str

    @property
    def identity(self) -> Mapping[str, Any]:
        """The hash of the labels."""
        return {"kind": self.kind, "labels": self.labels_hash}

    async def answer(self, question: Question) -> Answer:
        """The label, or `not_labelled`."""
        supported = self.labels.get((question.entry_id, question.hypothesis))
        if supported is None:
            return _silent(NoLabel.NOT_LABELLED)
        return _said(Label.SUPPORTED if supported else Label.NOT_SUPPORTED)


def read_labels(path: Path) -> LabelsJudge:
    """The judge of a file of {entry_id, proposition, supported} lines.

    Raises: MalformedLabels: a line cannot be read, or two lines contradict each other.
    """
    what = f"labels file {str(path)!r}"
    text = read_lines(path, MalformedLabels, what)
    faults = list(text.faults)
    labels: dict[tuple[str, str], bool] = {}
    for line in text.lines:
        try:
            row = _LabelLine.model_validate(line.fields)
        except ValidationError as error:
            fault = error.errors()[0]
            shown = "nothing" if fault["type"] == "missing" else found(fault["input"])
            expected = "true or false" if fault["loc"] == ("supported",) else "text"
            faults.append(f"line {line.number}, field {fault['loc'][0]!r}: found {shown}, expected {expected}")
            continue
        if labels.setdefault((row.entry_id, row.proposition), row.supported) is not row.supported:
            faults.append(
                f"line {line.number}, field 'supported': found {found(row.supported)} for a proposition of entry"
                f" {row.entry_id!r} that an earlier line labels otherwise, expected one label"
            )
    if not faults and not labels:
        faults.append("line 1, field 'supported': found no line, expected at least one label")
    if faults:
        raise MalformedLabels(what, faults)
    return LabelsJudge(labels, content_hash(sorted([*pair, supported] for pair, supported in labels.items())))


@dataclass(frozen=True)
class ReplayJudge(Offline):
    """A recorded judge, asked again without being there; it answers as, and under the name of, the one recorded."""

    kind = REPLAY
    recorded: Mapping[str, Any]
    answers: Mapping[str, Answer]

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of the judge that was recorded."""
        return self.recorded

    async def probe(self) -> Answer | None:
        """What the recorded judge said to the probe, None where it was not asked."""
        return self.answers.get(key(self, PROBE))

    async def answer(self, question: Question) -> Answer:
        """The answer that was recorded, or `not_recorded`."""
        return self.answers.get(key(self, question)) or _silent(NoLabel.NOT_RECORDED)


def read_replay(path: Path) -> ReplayJudge:
    """The judge of a journal file, or of a folder of them.

    A torn last line is what a killed run leaves and is passed over.

    Raises: MalformedJournal: a line cannot be read, there is no judgment, or those of more than one judge.
    """
    what = f"journal {str(path)!r}"
    journals = {file: read_journal(file) for file in (journal_files(path) if path.is_dir() else (path,))}
    records = [record for journal in journals.values() for record in journal.records]
    faults = [f"file {file.name}, {fault}" for file, journal in journals.items() for fault in journal.unreadable]
    judges = {content_hash(record.judge): record for record in records}
    if len(judges) != 1:
        faults.append(
            f"found the judgments of {len(judges)} judges, expected those of exactly one; name its journal alone"
        )
    if faults:
        raise MalformedJournal(what, faults)
    (first,) = judges.values()
    labelled_last = sorted(records, key=lambda record: record.label is not None)
    return ReplayJudge(first.judge, {record.key: record.answer for record in labelled_last})
