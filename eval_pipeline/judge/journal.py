"""The journal: every judgment on a line of its own, appended, never changed; cache, resume point and record in one."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal, Self, TextIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval_pipeline.errors import InputRefused, MalformedJournal
from eval_pipeline.jsonl import parse_lines
from eval_pipeline.judge.protocol import Judge, key_under
from eval_pipeline.records import Alignment, Answer, Compliance, Judgment, Label, NoLabel, Question

_SYNC_LINES = 64
_SYNC_S = 0.05


class Record(BaseModel):
    """A line of a journal. A file may carry more fields than these; they are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    key: str
    judge: dict[str, Any]
    entry_id: str
    premise: str | tuple[str, ...]
    hypothesis: str
    raw: str | None
    label: Label | Alignment | Compliance | None
    no_label: NoLabel | None
    attempts: int
    tokens: Annotated[int, Field(ge=0, lt=2**40)] | None = None
    latency_s: float = 0.0
    repeat: int = 0
    unread: str | None = None
    given: dict[str, str] = Field(default_factory=dict)

    @property
    def question(self) -> Question:
        """What the judge was asked."""
        return Question(self.entry_id, self.premise, self.hypothesis, self.repeat, tuple(self.given.items()))

    @property
    def answer(self) -> Answer:
        """What the judge said."""
        unparsable = self.raw is not None and self.no_label is NoLabel.UNPARSABLE  # found by the parser, not said
        no_label = None if unparsable else self.no_label
        return Answer(self.raw, no_label, self.attempts, self.latency_s, self.tokens, self.unread)


class Head(BaseModel):
    """The first line of a run's journal: which run wrote it, what for, with which judge, and under which plan.

    `others` are the judges of the run's other journals, where it keeps one under each prompt: what a run was begun with
    can then be read from any of them, also from one that was written when another had no more to be asked.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    run: str
    purpose: Literal["run", "pilot"] = "run"
    judge: dict[str, Any]
    others: tuple[dict[str, Any], ...] = ()
    plan: dict[str, Any]

    @property
    def judges(self) -> tuple[dict[str, Any], ...]:
        """Every judge of the run, that of this journal first."""
        return (self.judge, *self.others)


@dataclass(frozen=True, slots=True)
class Journal:
    """What a file holds: its records, a clause for each line that could not be read, and whether the last is torn.

    A killed run may leave half a line at the end; it is no fault, and what it would have said is asked again. `head` is
    None where the file begins with a judgment, as one that was written as a finding does.
    """

    head: Head | None
    records: tuple[Record, ...]
    unreadable: tuple[str, ...]
    torn: bool


def record_fields(judgment: Judgment, judge: Judge) -> dict[str, Any]:
    """A judgment as a line of a journal holds it, less the time that it took."""
    given = {"given": dict(judgment.question.given)} if judgment.question.given else {}
    return {
        "key": judgment.key,
        "judge": dict(judge.identity),
        "entry_id": judgment.question.entry_id,
        "premise": judgment.question.premise,
        "hypothesis": judgment.question.hypothesis,
        **given,
        "raw": judgment.answer.raw,
        "label": judgment.label,
        "no_label": judgment.no_label,
        "attempts": judgment.answer.attempts,
        "tokens": judgment.answer.tokens,
        "repeat": judgment.question.repeat,
        "unread": judgment.answer.unread,
    }


def journal_files(folder: Path) -> tuple[Path, ...]:
    """The journals of a folder, in the order of their names."""
    return tuple(sorted(folder.glob("*.jsonl")))


def read_journal(path: Path) -> Journal:
    """The records of one file. A line whose key does not follow from its judge and texts is unreadable.

    Raises: MalformedJournal: the file cannot be read at all.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MalformedJournal(
            f"journal {str(path)!r}", [f"cannot be read ({error.strerror}); name a journal"]
        ) from None
    whole = data[: data.rfind(b"\n") + 1]
    text = parse_lines(whole)
    head, records, unreadable = None, [], list(text.faults)
    for line in text.lines:
        if "run" in line.fields and "key" not in line.fields:
            head = _head(line.fields)
            if head is None:
                unreadable.append(f"line {line.number}, field 'run': found no head of a run")
            continue
        if "key" in line.fields and line.fields["key"] is None:
            continue  # of a proposition that no judge was asked about, since its entry has no signals
        try:
            record = Record.model_validate(line.fields)
        except ValidationError as error:
            unreadable.append(f"line {line.number}, field {error.errors()[0]['loc'][0]!r}: found no judgment")
            continue
        if record.key == _key(record):
            records.append(record)
        else:
            unreadable.append(
                f"line {line.number}, field 'key': found a hash of something else, expected that of the line"
            )
    return Journal(head, tuple(records), tuple(unreadable), torn=len(whole) < len(data))


def read_head(path: Path) -> Head | None:
    """The head of one file, or None where it has none that can be read, or went away."""
    try:
        with path.open("rb") as file:
            first = parse_lines(file.readline()).lines
    except FileNotFoundError:
        return None
    return _head(first[0].fields) if first else None


def _head(fields: Mapping[str, Any]) -> Head | None:
    try:
        return Head.model_validate(fields)
    except ValidationError:
        return None


def _key(record: Record) -> str:
    return key_under(record.judge, record.question)


def known_answers(
    journals: Iterable[Journal], judge: Mapping[str, Any], read: Callable[[str], StrEnum | None]
) -> dict[str, Answer]:
    """The answers of this judge that gave a label, and still do, by their keys. What gives none is asked again."""
    return {
        record.key: record.answer
        for journal in journals
        for record in journal.records
        if record.label is not None and record.judge == judge and read(record.raw or "") == record.label
    }


def _new_file(folder: Path, run: str) -> TextIO:
    if Path(run).name != run:
        raise InputRefused(f"journal: found {run!r} as the name of a run, expected the name of a file; name it so")
    for number in count(1):
        name = f"{run}.jsonl" if number == 1 else f"{run}-{number}.jsonl"
        try:
            return (folder / name).open("x", encoding="utf-8", newline="\n")
        except FileExistsError:
            continue
    raise AssertionError("count() has no end")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """A block whose errors of the disk carry the name of the file, which a write or a sync leaves out."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


class JournalWriter:
    """Appends judgments to a file of its own, which must not be there before: one writer a file, many files a folder.

    The file is named after the run, with a number where the run was begun more than once, and begins with its head.
    Each line is flushed, so a killed process loses none; with a line that comes 64 lines or 50 ms after the last time,
    the disk is told to keep them, so a killed machine loses the lines of one burst at the most. A thread of its own
    waits for the disk: whoever appends does not.
    """

    def __init__(self, folder: Path, head: Head) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._head = head
        self._file = _new_file(folder, head.run)
        self.path = Path(self._file.name)
        self._empty = True
        self._unsynced = 0
        self._synced_at = time.monotonic()
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._syncing: Future[None] | None = None

    def append(self, judgment: Judgment, judge: Judge) -> None:
        """Writes one line.

        Raises: OSError: it, or an earlier one, could not be written.
        """
        with _named(self.path):
            if self._empty:
                self._write(self._head.model_dump(mode="json"))
                self._empty = False
            self._write(record_fields(judgment, judge) | {"latency_s": round(judgment.answer.latency_s, 4)})
            self._file.flush()
            self._unsynced += 1
            if self._unsynced >= _SYNC_LINES or time.monotonic() - self._synced_at >= _SYNC_S:
                self._sync()

    def _write(self, fields: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(fields, ensure_ascii=False) + "\n")

    def _sync(self) -> None:
        """Has the disk told, unless it is being told; then the next line sees to what came meanwhile."""
        if self._syncing and not self._syncing.done():
            return
        if self._syncing:
            self._syncing.result()
        self._syncing = self._disk.submit(os.fsync, self._file.fileno())
        self._unsynced, self._synced_at = 0, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._disk.shutdown()
        with _named(self.path):
            with self._file:
                if self._empty:
                    self.path.unlink()
                else:
                    os.fsync(self._file.fileno())
            if self._syncing:
                self._syncing.result()
