"""Judges that need no model: words in common, human labels, and a journal that is read again."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import JudgeUnknown, MalformedJournal, MalformedLabels
from eval_pipeline.jsonl import found, read_lines
from eval_pipeline.judge import lexical, lexical_claims
from eval_pipeline.judge.journal import Record, journal_files, read_journal
from eval_pipeline.judge.prompt import Prompt, Task
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


class LabelLine(BaseModel):
    """A line of a labels file; what else stands in it is passed over."""

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
            row = LabelLine.model_validate(line.fields)
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

    @property
    def prompt_id(self) -> str:
        """The prompt that it was recorded under; the task of a judge that needs no prompt, such as words in common."""
        return str(_prompt_of(self.recorded).get("id"))

    def was_under(self, prompt: Prompt) -> bool:
        """Whether it was recorded under that prompt, word for word; without one, for its task."""
        here = {"id": prompt.id, "sha256": prompt.hash} if "prompt" in self.recorded else {"id": prompt.task}
        return here == _prompt_of(self.recorded)

    async def probe(self) -> Answer | None:
        """What the recorded judge said to the probe, None where it was not asked."""
        return self.answers.get(key(self, PROBE))

    async def answer(self, question: Question) -> Answer:
        """The answer that was recorded, or `not_recorded`."""
        return self.answers.get(key(self, question)) or _silent(NoLabel.NOT_RECORDED)


@dataclass(frozen=True)
class UnrecordedJudge(Offline):
    """A replay under a prompt that was not recorded: it has no answers, and `refusal` says what is missing.

    It refuses when it is asked and not before, since a gold set may have nothing to ask under one of its prompts.
    """

    kind = REPLAY
    prompt: Prompt
    refusal: str

    @property
    def identity(self) -> Mapping[str, Any]:
        """The prompt; no judge is known."""
        return {"kind": self.kind, "prompt": {"id": self.prompt.id, "sha256": self.prompt.hash}}

    async def answer(self, question: Question) -> Answer:  # noqa: ARG002  # whatever it is
        """Nothing. Raises JudgeUnknown."""
        raise JudgeUnknown(self.refusal)


def read_replay(path: Path) -> ReplayJudge:
    """The judge of a journal file, or of a folder of them, that was recorded under one prompt.

    Raises: MalformedJournal: as in `read_replays`, or it was recorded under several prompts.
    """
    replays = read_replays(path)
    if len(replays) > 1:
        raise MalformedJournal(f"journal {str(path)!r}", [_not_one(len(replays))])
    return replays[0]


def read_replays(path: Path) -> tuple[ReplayJudge, ...]:
    """The judge of a journal file, or of a folder of them, once for each prompt that it was recorded under.

    A torn last line is what a killed run leaves and is passed over.

    Raises: MalformedJournal: a line cannot be read, there is no judgment, or those of more than one judge.
    """
    journals = {file: read_journal(file) for file in (journal_files(path) if path.is_dir() else (path,))}
    faults = [f"file {file.name}, {fault}" for file, journal in journals.items() for fault in journal.unreadable]
    said: dict[str, list[Record]] = {}
    for journal in journals.values():
        for record in journal.records:
            said.setdefault(content_hash(record.judge), []).append(record)
    if (count := _judges([records[0].judge for records in said.values()])) != 1:
        faults.append(_not_one(count))
    if faults:
        raise MalformedJournal(f"journal {str(path)!r}", faults)
    return tuple(_replay(records) for records in said.values())


def _replay(records: Sequence[Record]) -> ReplayJudge:
    labelled_last = sorted(records, key=lambda record: record.label is not None)
    return ReplayJudge(records[0].judge, {record.key: record.answer for record in labelled_last})


def _judges(identities: Sequence[Mapping[str, Any]]) -> int:
    """How many judges have these identities; one has an identity under each prompt, alike in all that is its own."""
    under_a_prompt = Counter(content_hash(_prompt_of(identity)) for identity in identities)
    return max([len({content_hash(_apart_from_prompt(one)) for one in identities}), *under_a_prompt.values()])


def _prompt_of(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    prompt = identity.get("prompt", {"id": identity.get("task", "entailment")})
    return prompt if isinstance(prompt, dict) else {"id": prompt}


def _apart_from_prompt(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    """The identity without its prompt and its task, and without how long an answer may be, which the prompt says."""
    rest = {name: value for name, value in identity.items() if name not in ("prompt", "task")}
    decoding = rest.get("decoding")
    if isinstance(decoding, dict):
        rest["decoding"] = {name: value for name, value in decoding.items() if name != "max_tokens"}
    return rest


def _not_one(judges: int) -> str:
    return f"found the judgments of {judges} judges, expected those of exactly one; name its journal alone"
