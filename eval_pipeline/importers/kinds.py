"""The tools whose logs can be imported, and the reading of their files."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers.deepeval import read_deepeval
from eval_pipeline.importers.inspect_log import read_inspect
from eval_pipeline.importers.promptfoo import read_promptfoo
from eval_pipeline.importers.ragchecker import read_ragchecker
from eval_pipeline.importers.results import Log, Results, joined

FILE_BYTES = 2**30

Kind = Literal["inspect", "ragchecker", "deepeval", "promptfoo"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def read_logs(kind: str, paths: Sequence[Path], only: frozenset[str]) -> Results:
    """The results that files of one tool hold together.

    Args:
        kind: one of `KINDS`.
        paths: the files; of a tool that does not name what it measured, the name of a file names the system.
        only: the metrics to read; none takes all of them.

    Raises: MalformedLog: a file cannot be read, breaks its format, or holds nothing of what was asked for.

    """
    if kind not in KINDS:
        raise MalformedLog("the import", [f"found the tool {kind!r}, expected one of {', '.join(KINDS)}"])
    if not paths:
        raise MalformedLog("the import", [f"found no file, expected one or more; give a log of {kind}"])
    return joined(kind, [log_of(kind, _bytes_of(path), path.name, only) for path in paths])


def log_of(kind: str, data: bytes, file: str, only: frozenset[str] = frozenset()) -> Log:
    """What the bytes of one file hold.

    Raises: MalformedLog: see `read_logs`.
    """
    subject: str | None = None
    notes: tuple[str, ...] = ()
    if kind == "inspect":
        log = read_inspect(data, file, only)
        rows, headlines, subject, notes = log.rows, log.headlines, log.subject, log.notes
    elif kind == "ragchecker":
        rows, headlines = read_ragchecker(data, file, Path(file).stem, only)
    elif kind == "deepeval":
        rows, headlines = read_deepeval(data, file, Path(file).stem, only)
    else:
        rows, headlines = read_promptfoo(data, file, only)
    if absent := sorted(only - {row.metric for row in rows}):
        raise MalformedLog(
            f"log {file!r}",
            [f"found no metric {', '.join(map(repr, absent))}, expected it; look up how {kind} names it"],
        )
    if not rows:
        raise MalformedLog(f"log {file!r}", [f"found no result in it, expected one or more; run {kind} again"])
    return Log(file, hashlib.sha256(data).hexdigest(), subject, rows, headlines, notes)


def _bytes_of(path: Path) -> bytes:
    what = f"log {path.name!r}"
    try:
        if path.stat().st_size > FILE_BYTES:
            raise MalformedLog(what, [f"found more than {FILE_BYTES} bytes, expected at most so many; split it"])
        return path.read_bytes()
    except OSError as error:
        raise MalformedLog(what, [f"cannot be read ({error.strerror}); give a file that this user may read"]) from None
