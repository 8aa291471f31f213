"""The ledger: what was sealed, used and concluded, in lines that are only appended, each chained to the last."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from eval_pipeline.canonical import canonical_bytes, content_hash
from eval_pipeline.errors import ClockSetBack, LedgerBroken, OutputRefused, PlanChanged
from eval_pipeline.evidence import write_atomically
from eval_pipeline.seal import SealedPlan

_FIRST = "0" * 64
_WAITED = timedelta(minutes=1)  # longer than anybody waits for the lock between looking at the clock and writing
_FIELDS = frozenset({"number", "kind", "at", "body", "previous", "hash"})


class Kind(StrEnum):
    """What a line of the ledger is about."""

    PLAN_SEALED = "plan_sealed"
    PARTITION_SEALED = "partition_sealed"
    PARTITION_USED = "partition_used"
    VERDICT = "verdict"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number from 1 on, when it was written, what it says, and the hash that chains it to the last."""

    number: int
    kind: Kind
    at: str
    body: Mapping[str, Any]
    previous: str
    hash: str


def read_ledger(path: Path) -> tuple[Line, ...]:
    """All lines, each held against the chain, and the last against the head that stands beside the file.

    The head tells when lines were cut off at the end, as long as it was not cut too; a verdict that names the hash of
    its line tells even then. A last line that was only half written belongs to nothing that was concluded, and counts
    as not written.

    Raises: LedgerBroken: a line is gone, was changed, or cannot be read.
    """
    if not path.exists():
        if _head_path(path).exists():
            raise LedgerBroken(f"ledger {str(path)!r} is gone, and its head is still there; put the file back")
        return ()
    rows = path.read_bytes().split(b"\n")
    lines: list[Line] = []
    for number, row in enumerate(rows, 1):
        if not row and number == len(rows):
            break
        line = _parsed(path, number, row, torn=number == len(rows))
        if line is None:
            break
        previous = lines[-1].hash if lines else _FIRST
        if line.number != number or line.previous != previous or line.hash != _hash(line):
            raise LedgerBroken(
                f"ledger {str(path)!r}, line {number}: found a line that does not follow the one before it; a line was"
                " changed or removed; put the file back as it was"
            )
        lines.append(line)
    _require_head(path, lines)
    return tuple(lines)


def append(
    path: Path,
    kind: Kind,
    body: Mapping[str, Any],
    *,
    now: datetime,
    require: Callable[[tuple[Line, ...]], None] | None = None,
) -> Line:
    """Writes one line at the end, and returns it once it is on the disk.

    Args:
        path: of the ledger, which is made if need be.
        kind: what it is about.
        body: plain values.
        now: when, with its time zone.
        require: raises where the lines that are there forbid it; nobody writes between its look and the new line.

    Raises:
        LedgerBroken: as in `read_ledger`.
        ClockSetBack: the last line was written later than now.
        OutputRefused: the disk is full, or this user may not write.

    """
    with _locked(path):
        lines = read_ledger(path)
        if require:
            require(lines)
        return _appended(path, lines, kind, body, now)


def append_made(
    path: Path, kind: Kind, made: Callable[[tuple[Line, ...]], Mapping[str, Any]], *, now: datetime
) -> Line:
    """Writes one line at the end whose body is made of the lines that are there; nobody writes between the two.

    Raises: LedgerBroken: as in `read_ledger`.
    """
    with _locked(path):
        lines = read_ledger(path)
        return _appended(path, lines, kind, made(lines), now)


def register_plan(path: Path, plan: SealedPlan, *, now: datetime) -> Line:
    """The line under which a plan was sealed; the first time it is written.

    Raises:
        PlanChanged: another plan was sealed under this name and version.
        LedgerBroken, ClockSetBack: as in `append`.

    """
    with _locked(path):
        lines = read_ledger(path)
        name, version = plan.values["name"], plan.values["version"]
        for line in lines:
            if line.kind is Kind.PLAN_SEALED and (line.body["name"], line.body["version"]) == (name, version):
                if line.body["seal"] != plan.seal:
                    raise PlanChanged(
                        f"plan {name!r} version {version} was sealed as {line.body['seal'][:12]} on {line.at[:10]} and"
                        f" now hashes to {plan.seal[:12]}; restore the sealed plan, or raise its version"
                    )
                return line
        return _appended(path, lines, Kind.PLAN_SEALED, {"name": name, "version": version, "seal": plan.seal}, now)


def write_beginning(path: Path, lines: tuple[Line, ...]) -> None:
    """Writes the first lines of a ledger as a ledger of its own, for a run that is done once more from there.

    Raises: OutputRefused: it cannot be written.
    """
    write_atomically(path, b"".join(map(_bytes, lines)))
    if lines:
        write_atomically(_head_path(path), canonical_bytes({"lines": lines[-1].number, "hash": lines[-1].hash}))


def _appended(path: Path, lines: tuple[Line, ...], kind: Kind, body: Mapping[str, Any], now: datetime) -> Line:
    """The new line, written after the others; the caller holds the lock.

    Raises: ClockSetBack: the last line is dated later than now, by more than anybody waits for the lock.
    """
    at = _dated(path, lines[-1], now) if lines else now.astimezone(UTC).isoformat(timespec="seconds")
    line = Line(len(lines) + 1, kind, at, dict(body), lines[-1].hash if lines else _FIRST, "")
    line = Line(line.number, kind, at, line.body, line.previous, _hash(line))
    whole = sum(len(_bytes(one)) for one in lines)
    head = canonical_bytes({"lines": line.number, "hash": line.hash})
    try:
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.truncate(whole)  # what was only half written
            file.seek(whole)
            file.write(_bytes(line))
            file.flush()
            os.fsync(file.fileno())
            try:
                write_atomically(_head_path(path), head)
            except BaseException:
                file.truncate(whole)  # who is refused must find nothing written
                raise
    except OSError as error:
        raise OutputRefused(
            f"ledger {str(path)!r} cannot be written ({error.strerror}); make room, or permit it, and run again"
        ) from None
    return line


def _dated(path: Path, last: Line, now: datetime) -> str:
    """When a line after the last one was written; who waited for the lock is dated with whom it waited for."""
    before, at = datetime.fromisoformat(last.at), now.astimezone(UTC).replace(microsecond=0)
    if before - at > _WAITED:
        raise ClockSetBack(
            f"ledger {str(path)!r}, line {last.number}, field 'at': found {last.at}, and the clock says"
            f" {at.isoformat()}, while lines may only follow each other in time; set the clock right, or wait until it"
            " has come that far"
        )
    return max(before, at).astimezone(UTC).isoformat(timespec="seconds")


def _parsed(path: Path, number: int, row: bytes, *, torn: bool) -> Line | None:
    try:
        fields = json.loads(row)
        if set(fields) != _FIELDS or datetime.fromisoformat(fields["at"]).tzinfo is None:
            raise ValueError
        return Line(**(fields | {"kind": Kind(fields["kind"])}))
    except (ValueError, TypeError):
        if torn:
            return None
        raise LedgerBroken(
            f"ledger {str(path)!r}, line {number}: found what is no line of a ledger; put the file back as it was"
        ) from None


def _require_head(path: Path, lines: list[Line]) -> None:
    if not _head_path(path).exists():
        return
    try:
        head = json.loads(_head_path(path).read_bytes())
        count, last = head["lines"], head["hash"]
    except (ValueError, KeyError, TypeError):
        raise LedgerBroken(f"the head of ledger {str(path)!r} cannot be read; put it back as it was") from None
    if len(lines) < count:
        raise LedgerBroken(
            f"ledger {str(path)!r} has {len(lines)} lines and had {count}; lines were removed at its end; put them back"
        )
    if lines[count - 1].hash != last:
        raise LedgerBroken(f"ledger {str(path)!r}, line {count}: found another line than its head names; put it back")


def _hash(line: Line) -> str:
    return content_hash([line.number, line.kind.value, line.at, line.body, line.previous])


def _bytes(line: Line) -> bytes:
    fields = {"number": line.number, "kind": line.kind.value, "at": line.at, "body": line.body}
    return canonical_bytes(fields | {"previous": line.previous, "hash": line.hash}) + b"\n"


def _head_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.head")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(f"{path.name}.lock").open("w")
    except OSError as error:
        raise OutputRefused(
            f"ledger {str(path)!r} cannot be locked ({error.strerror}); make room, or permit it, and run again"
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
