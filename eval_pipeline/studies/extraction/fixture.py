"""The annotators' file: what stands in the entries, claim by claim; read strictly, and refused as a whole."""

import re
from collections.abc import Container
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import FixtureMissing, MalformedFixture
from eval_pipeline.evidence import read_refusal, refusal_text
from eval_pipeline.jsonl import Line, found, read_lines
from eval_pipeline.records import Proposition, Reason, Refusal
from eval_pipeline.tables import records, table_of

_ID = re.compile(r"[A-Za-z0-9_-]+")
_INVISIBLE = re.compile(r"[\s\u200b-\u200d\u2060\ufeff]+")
_FIELDS = ("entry_id", "quartile", "proposition")
_QUARTILES: dict[Any, int] = {1: 1, 2: 2, 3: 3, 4: 4, "1": 1, "2": 2, "3": 3, "4": 4}
_TEXT: pa.DataType = pa.string()
_WHOLE: pa.DataType = pa.int64()
_SCHEMA = pa.schema([("entry_id", _TEXT), ("quartile", _WHOLE), ("text", _TEXT)])


@dataclass(frozen=True)
class Fixture:
    """The propositions in the order of the file; where `refusal` is given there are none."""

    propositions: tuple[Proposition, ...]
    refusal: Refusal | None

    @cached_property
    def hash(self) -> str | None:
        """The sha256 of what was read; None if it was refused."""
        return None if self.refusal else content_hash([asdict(proposition) for proposition in self.propositions])

    def of_entries(self, entries: Container[str]) -> "Fixture":
        """The propositions of some entries; where there are none, as if the file were empty."""
        if self.refusal:
            return self
        own = tuple(proposition for proposition in self.propositions if proposition.entry_id in entries)
        if own:
            return Fixture(own, refusal=None)
        detail = "the propositions file names no entry of the workspace; have its entries annotated"
        return Fixture((), Refusal(Reason.FIXTURE_MISSING, detail))

    def to_table(self) -> pa.Table:
        """The propositions as a table, whose metadata carries a refusal."""
        rows = (asdict(proposition) for proposition in self.propositions)
        return table_of(rows, _SCHEMA.with_metadata({"refusal": refusal_text(self.refusal)}))

    @classmethod
    def from_table(cls, table: pa.Table) -> "Fixture":
        """The fixture that `to_table` wrote."""
        return cls(
            propositions=tuple(Proposition(**row) for row in records(table)),
            refusal=read_refusal(table.schema.metadata[b"refusal"]),
        )


def pinned_fixture(path: Path | None) -> Fixture:
    """The fixture of a file, or the one that says why it could not be read; None if no file was named."""
    if path is None:
        detail = "no propositions file was named; have the entries annotated, and name the file with --propositions"
        return Fixture((), Refusal(Reason.FIXTURE_MISSING, detail))
    try:
        return read_fixture(path)
    except FixtureMissing as refusal:
        return Fixture((), Refusal(Reason.FIXTURE_MISSING, str(refusal)))
    except MalformedFixture as refusal:
        return Fixture((), Refusal(Reason.FIXTURE_MALFORMED, str(refusal)))


def read_fixture(path: Path) -> Fixture:
    """The propositions of a file of {entry_id, quartile, proposition} lines.

    Raises:
        FixtureMissing: there is no such file, or no line in it.
        MalformedFixture: any line breaks the format; all faults are carried.

    """
    what = f"propositions file {str(path)!r}"
    if not path.exists():
        raise FixtureMissing(f"{what} does not exist; have the entries annotated, or name the file with --propositions")
    text = read_lines(path, MalformedFixture, what)
    faults = list(text.faults)
    propositions: list[Proposition] = []
    first_seen: dict[tuple[str, str], int] = {}
    for line in text.lines:
        if wrong := _faults(line):
            faults += wrong
            continue
        fields = line.fields
        proposition = Proposition(fields["entry_id"], _QUARTILES[fields["quartile"]], fields["proposition"])
        same = (proposition.entry_id, without_spacing(proposition.text))
        if same in first_seen:
            faults.append(
                f"line {line.number}, field 'proposition': found {found(proposition.text)} again, which stands on line"
                f" {first_seen[same]} for the same entry, expected it once"
            )
        first_seen.setdefault(same, line.number)
        propositions.append(proposition)
    if faults:
        raise MalformedFixture(what, faults)
    if not propositions:
        raise FixtureMissing(f"{what} is empty; have the entries annotated, or name another file with --propositions")
    return Fixture(tuple(propositions), refusal=None)


def without_spacing(text: str) -> str:
    """A text as it is compared with others: what nobody sees in it is one blank, and none at its ends."""
    return _INVISIBLE.sub(" ", text).strip()


def _faults(line: Line) -> list[str]:
    at, fields = f"line {line.number}, field", line.fields
    faults = [f"{at} {name!r}: found nothing, expected a value" for name in _FIELDS if name not in fields]
    faults += [
        f"{at} {name!r}: found an unknown field, expected only {', '.join(_FIELDS)}"
        for name in fields
        if name not in _FIELDS
    ]
    entry_id = fields.get("entry_id", "")
    if "entry_id" in fields and not (isinstance(entry_id, str) and _ID.fullmatch(entry_id)):
        faults.append(f"{at} 'entry_id': found {found(entry_id)}, expected one or more of A-Z a-z 0-9 _ -")
    quartile = fields.get("quartile")
    if "quartile" in fields and not (type(quartile) in (int, str) and quartile in _QUARTILES):
        faults.append(f"{at} 'quartile': found {found(quartile)}, expected 1, 2, 3 or 4")
    text = fields.get("proposition", "")
    if "proposition" in fields and not (isinstance(text, str) and any(map(str.isalnum, text))):
        faults.append(f"{at} 'proposition': found {found(text)}, expected a sentence")
    return faults
