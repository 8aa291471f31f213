"""A run of any study as its findings hold it, as far as another run can be held against it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.evidence import first_fault
from eval_pipeline.records import Outcome

DOCUMENTS = ("verdict.json", "report.json", "results.json")
_NAMED = ("thresholds", "levels", "policy", "settled", "generation", "simulated")
_NAME_IT = "name the folder of a run's findings, or the document in it"


class _Recorded(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class RecordedClaim(_Recorded):
    """The verdict on a claim; None where a number is withheld."""

    claim: str
    outcome: Outcome
    reason: str | None
    detail: str
    estimate: float | None
    interval: tuple[float | None, float | None] | None
    threshold: float | None
    level: float | None = None


class _Document(_Recorded):
    study: str
    plan: str
    hashes: dict[str, str | None]
    versions: dict[str, str] = {}
    judge: dict[str, Any] | None = None
    claims: tuple[RecordedClaim, ...] = ()
    tracks: dict[str, "_Document"] = {}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run of a study.

    `settings` is all that its numbers rest on, by name: plan and seal, hashes of inputs, judge, versions of the code,
    the bars of its claims, and whatever fields of the plan its document names. `folder` holds what else it wrote.
    """

    folder: Path
    study: str
    claims: Mapping[str, RecordedClaim]
    settings: Mapping[str, str]


def read_run(path: Path) -> RecordedRun:
    """The run of a findings folder, or of the verdict document in one.

    Raises: EvidenceRefused: there is no such document, or it is none of a study.
    """
    file = _document_in(path) if path.is_dir() else path
    try:
        data = file.read_bytes()
        document = _Document.model_validate_json(data)
    except OSError as error:
        raise EvidenceRefused(f"run {str(file)!r} cannot be read ({error.strerror}); {_NAME_IT}") from None
    except ValidationError as error:
        raise EvidenceRefused(f"{str(file)!r} is no verdict document ({first_fault(error)}); {_NAME_IT}") from None
    whole = _Everything.model_validate_json(data).model_extra or {}
    claims = {one.claim: one for one in document.claims}
    settings = dict(_settings(document, whole))
    for track, part in document.tracks.items():
        claims |= {f"{track}, {one.claim}": one for one in part.claims}
        settings |= {f"{track}, {name}": value for name, value in _settings(part, whole["tracks"][track])}
    return RecordedRun(file.parent, document.study, claims, settings)


class _Everything(BaseModel):
    model_config = ConfigDict(extra="allow")


def _document_in(folder: Path) -> Path:
    for name in DOCUMENTS:
        if (folder / name).exists():
            return folder / name
    raise EvidenceRefused(f"folder {str(folder)!r} holds none of {', '.join(DOCUMENTS)}; {_NAME_IT}")


def _settings(document: _Document, whole: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "plan", document.plan
    for name, value in document.hashes.items():
        yield ("seal of the plan" if name == "plan" else name), value or "none"
    yield from _leaves("judge", document.judge or {})
    yield from _leaves("version of", document.versions)
    for claim in document.claims:
        if claim.threshold is not None:
            yield f"bar of {claim.claim}", f"{claim.threshold:g}"
    for name in _NAMED:
        if name in whole:
            yield from _leaves(name, whole[name])


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The single values of something, each by where it stands."""
    if isinstance(value, Mapping):
        for inner, item in value.items():
            yield from _leaves(f"{name} {inner}", item)
    elif isinstance(value, list):
        for place, item in enumerate(value, 1):
            yield from _leaves(f"{name} {place}", item)
    else:
        yield name, "none" if value is None else str(value)
