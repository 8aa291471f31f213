"""What the findings of a run rest on, by its content: enough to make them anew elsewhere, and to name what differs."""

import json
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.jsonl import found

PROVENANCE = "provenance.json"
_EVIDENCE = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\.(json|parquet)$")]
_SHA256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _confined(name: str) -> str:
    """The name, if it leads nowhere but below a folder: parts between single slashes, none of them `.` or `..`."""
    if {"", ".", ".."} & set(name.split("/")) or "\\" in name or "\0" in name:
        raise ValueError("expected a name that leads nowhere but below its folder")
    return name


_NAME = Annotated[str, AfterValidator(_confined)]


class Provenance(BaseModel):
    """The study, the inputs that are no data, the file of each asset of its chain, and the hash of each finding.

    An asset's name ends with `@` and the partition, where it has one. `files` are those of the folder of findings, and
    `drawn_by` is the hash of the code and templates that drew the pages among them.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    study: str
    partition: str
    inputs: dict[str, str | list[str]]
    evidence: dict[_NAME, _EVIDENCE]
    files: dict[_NAME, _SHA256]
    drawn_by: _SHA256


def provenance_bytes(provenance: Provenance) -> bytes:
    """The provenance as JSON text, indented, with a line end."""
    return (json.dumps(provenance.model_dump(), indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode("utf-8")


def read_provenance(data: bytes, what: str) -> Provenance:
    """What `provenance_bytes` wrote.

    Raises: EvidenceRefused: it is something else; the message names the field.
    """
    try:
        return Provenance.model_validate_json(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = "/".join(str(part) for part in fault["loc"]) or "the whole"
        shown = "what is no JSON" if isinstance(fault["input"], bytes) else found(fault["input"])
        raise EvidenceRefused(
            f"{what} is no provenance: {place}: found {shown} ({fault['msg']}); put it back as the run wrote it"
        ) from None


def read_provenance_of(folder: Path) -> Provenance:
    """The provenance of a folder of findings.

    Raises: EvidenceRefused: it holds none, or one that cannot be read.
    """
    path = folder / PROVENANCE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EvidenceRefused(
            f"{str(path)!r} cannot be read ({error.strerror}); name the folder of findings of a run"
        ) from None
    return read_provenance(data, repr(str(path)))
