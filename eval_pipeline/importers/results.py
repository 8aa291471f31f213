"""What a log of another tool comes to: who scored what on which item, and what stayed without a score."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Self

import pyarrow as pa

from eval_pipeline.canonical import content_hash, text_hash
from eval_pipeline.errors import MalformedLog

_SHOWN = 80  # letters of a text that names an item
_TEXT: pa.DataType = pa.string()
_WHOLE: pa.DataType = pa.int64()
_REAL: pa.DataType = pa.float64()
_COLUMNS = pa.schema(
    [
        ("system", _TEXT),
        ("metric", _TEXT),
        ("item", _TEXT),
        ("repeat", _WHOLE),
        ("score", _REAL),
        ("undecided", _TEXT),
    ]
)


class Undecided(StrEnum):
    """Why there is no score."""

    ERRORED = "errored"
    REFUSED = "refused"
    UNSCORED = "unscored"
    MISSING = "missing"
    INVALIDATED = "invalidated"
    NO_CLAIMS = "no_claims"


@dataclass(frozen=True, slots=True)
class Row:
    """A score from 0 to 1 of a system on an item, or why there is none.

    `repeat` numbers the scores of an item: its epochs, its repetitions, or the claims of its response. They go
    together, so an item is a cluster.
    """

    system: str
    metric: str
    item: str
    repeat: int
    score: float | None
    undecided: Undecided | None


Scored = float | Undecided


@dataclass(frozen=True, slots=True)
class Headline:
    """A number that the log itself states of a metric, in the unit of a score; `rounded` is how far off it may be."""

    system: str
    metric: str
    name: str
    value: float
    rounded: float


@dataclass(frozen=True, slots=True)
class Log:
    """What one file holds. `subject` is what was asked, and must be one in all files; None where a log does not say."""

    file: str
    hash: str
    subject: str | None
    rows: tuple[Row, ...]
    headlines: tuple[Headline, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read, and the sha256 of its bytes."""

    file: str
    hash: str


@dataclass(frozen=True, slots=True)
class Results:
    """The results of all files, in the order of systems, metrics, items and repeats.

    `subject` is what was asked, where the logs say so.
    """

    kind: str
    subject: str | None
    rows: tuple[Row, ...]
    headlines: tuple[Headline, ...]
    notes: tuple[str, ...]
    sources: tuple[Source, ...]

    @property
    def hash(self) -> str:
        """The hash of all scores, whatever their order was in the files."""
        return content_hash([list(asdict(row).values()) for row in self.rows])

    def to_table(self) -> pa.Table:
        """A row a score; what else is known stands in the table's metadata."""
        columns = {name: [getattr(row, name) for row in self.rows] for name in _COLUMNS.names}
        about = {
            "kind": self.kind,
            "subject": self.subject,
            "headlines": [asdict(one) for one in self.headlines],
            "notes": list(self.notes),
            "sources": [asdict(one) for one in self.sources],
        }
        return pa.table(columns, schema=_COLUMNS.with_metadata({"imported": json.dumps(about)}))

    @classmethod
    def from_table(cls, table: pa.Table) -> Self:
        """What `to_table` wrote."""
        about = json.loads((table.schema.metadata or {})[b"imported"])
        rows = (
            Row(**fields | {"undecided": fields["undecided"] and Undecided(fields["undecided"])})
            for fields in table.to_pylist()
        )
        return cls(
            about["kind"],
            about["subject"],
            tuple(rows),
            tuple(Headline(**one) for one in about["headlines"]),
            tuple(about["notes"]),
            tuple(Source(**one) for one in about["sources"]),
        )


def row_of(system: str, metric: str, item: str, repeat: int, scored: Scored) -> Row:
    """The row of a score, or of the reason that there is none."""
    if isinstance(scored, Undecided):
        return Row(system, metric, item, repeat, None, scored)
    return Row(system, metric, item, repeat, scored, None)


def item_named(text: str) -> str:
    """A name for an item that is known by its text: the text where it is short, else its beginning and its hash."""
    folded = " ".join(text.split())
    return folded if len(folded) <= _SHOWN and folded == text else f"{folded[:_SHOWN]} [{text_hash(text)[:12]}]"


def joined(kind: str, logs: Sequence[Log]) -> Results:
    """The results of several files of one kind; of a system that two files name, the file's name sets it apart.

    Raises: MalformedLog: two files are the same, or were asked different things.
    """
    _require_comparable(logs)
    files_of = Counter(system for log in logs for system in {row.system for row in log.rows})
    rows: list[Row] = []
    headlines: list[Headline] = []
    for log in logs:
        named = {system: f"{system} ({log.file})" if files_of[system] > 1 else system for system in files_of}
        rows += [replace(row, system=named[row.system]) for row in log.rows]
        headlines += [replace(one, system=named.get(one.system, one.system)) for one in log.headlines]
    return Results(
        kind,
        logs[0].subject,
        tuple(sorted(rows, key=lambda row: (row.system, row.metric, row.item, row.repeat))),
        tuple(sorted(headlines, key=lambda one: (one.system, one.metric, one.name))),
        tuple(f"{log.file}: {note}" for log in logs for note in log.notes),
        tuple(Source(log.file, log.hash) for log in logs),
    )


def _require_comparable(logs: Sequence[Log]) -> None:
    first = logs[0]
    for place, log in enumerate(logs[1:], 1):
        for other in logs[:place]:
            if log.hash == other.hash or log.file == other.file:
                raise MalformedLog(
                    f"log {log.file!r}", [f"found the same file or name as {other.file!r}; name each file once"]
                )
        if log.subject != first.subject:
            raise MalformedLog(
                f"log {log.file!r}",
                [
                    f"found task {log.subject!r}, expected {first.subject!r} as in {first.file!r}; import each task by"
                    " itself"
                ],
            )
