"""A track: its items, the answers of the systems, the failures planted in them, and its rubric, from one folder."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import MalformedTrack
from eval_pipeline.jsonl import read_lines
from eval_pipeline.loop import GENERATION
from eval_pipeline.plan import Count, Exact, Section, Share, faults_of
from eval_pipeline.studies.label_signal.rubric import Rubric
from eval_pipeline.studies.label_signal.words import DepthName

TRACK, RUBRIC, ITEMS, RESPONSES = "track.toml", "rubric.toml", "items.jsonl", "responses.jsonl"

_ADD_IT = "add it"
_Text = Annotated[str, Field(min_length=1)]


def _names_files(value: str) -> str:
    if not re.fullmatch(GENERATION, value):
        raise ValueError("a name of letters, digits, '-', '_' and '.', 64 at most, a letter or a digit first")
    return value


_Name = Annotated[str, AfterValidator(_names_files)]  # documents of the track are called by it
_Parsed = TypeVar("_Parsed", bound=BaseModel)


class FailureCode(Section):
    """A kind of failure; `penalties` are the levels that it costs on each dimension, below 0 where it raises them."""

    code: _Text
    name: _Text
    description: _Text
    penalties: dict[str, int] = Field(default={})


class SimulatedRating(Section):
    """How noisy a simulated rating of each dimension is, and on which of them raters hold lasting positions.

    `offsets` are how much better each system is than its items let expect, in the order of the systems; where they are
    not said, the plan's are taken.
    """

    noise: dict[str, Annotated[Exact, Field(ge=0)]]
    contested: tuple[str, ...]
    offsets: tuple[Exact, ...] | None = None


class Design(Section):
    """How the ratings were collected.

    `pair_by`: systems are compared on the same items, or by the same raters. `drift_within`: under no drift the ratings
    of one answer, or those of one rater, could have been given in any order. `batches` names the field that tells when.
    """

    pair_by: Literal["item", "rater"] = "item"
    drift_within: Literal["response", "rater"] = "response"


class About(Section):
    """track.toml."""

    key: _Name
    title: _Text
    depth: DepthName
    question: _Text
    systems: tuple[_Text, ...]
    reference: _Text
    target_items: Count
    replication: Count
    gold_rate: Share
    known_limitations: tuple[str, ...]
    strata: dict[str, tuple[_Text, ...]] = Field(default={})
    failure_codes: tuple[FailureCode, ...] = ()
    simulation: SimulatedRating | None = None
    design: Design = Design()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.reference not in self.systems:
            raise ValueError(f"a reference among the systems, and {self.reference!r} is none of them")
        for values, what in ((self.systems, "systems"), ([one.code for one in self.failure_codes], "failure codes")):
            if len(set(values)) < len(values):
                raise ValueError(f"{what} of different names")
        return self


class Item(Section):
    """A task, and where it stands in the declared design."""

    item_id: _Text
    strata: dict[str, str] = Field(default={})
    difficulty: Annotated[float, Field(ge=0, le=1)] | None = None
    prompt: str = ""
    context: str = ""
    expected: str = ""


class Call(Section):
    """A call of a tool, and what came back."""

    tool: str
    arguments: dict[str, Any]
    result: Any


class Response(Section):
    """A system's answer; `gold_scores` are those that a rater should have given, where they are known."""

    item_id: _Text
    system_id: _Text
    text: str
    trace: tuple[Call, ...] = ()
    planted_failure: str | None = None
    stance: int | None = None
    gold_scores: dict[str, int | float] | None = None
    gold_reason: str = ""


@dataclass(frozen=True, slots=True)
class Track:
    """What a folder holds, and the hash of all of it; without items and responses, only ratings say what was rated."""

    about: About
    rubric: Rubric
    items: tuple[Item, ...]
    responses: tuple[Response, ...]

    @property
    def key(self) -> str:
        """The name of the track."""
        return self.about.key

    @property
    def hash(self) -> str:
        """The hash of all that the folder holds."""
        parts = [self.about, self.rubric, *self.items, *self.responses]
        return content_hash([part.model_dump(mode="json") for part in parts])

    @property
    def simulable(self) -> bool:
        """Whether simulated raters can stand in where nobody rated."""
        return self.about.simulation is not None and bool(self.responses)

    @property
    def effects_missing(self) -> bool:
        """Whether no failure says what it costs, so that a missing effect must not be taken for a blind rubric."""
        return not any(code.penalties for code in self.about.failure_codes)


@dataclass(frozen=True, slots=True)
class Discovered:
    """The folders of tracks by their keys, and why others were passed over."""

    folders: Mapping[str, Path]
    skipped: Mapping[str, str]


def discover(folder: Path) -> Discovered:
    """The tracks of a folder, in the order of their names; a name that starts with "_" or "." is passed over.

    Raises: MalformedTrack: two tracks have one key, or the folder is not there.
    """
    if not folder.is_dir():
        raise MalformedTrack(f"folder {str(folder)!r}", ["found no folder, expected one with a folder for each track"])
    folders: dict[str, Path] = {}
    skipped: dict[str, str] = {}
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "_."):
        try:
            key = read_track(inner).key
        except MalformedTrack as broken:
            skipped[inner.name] = str(broken)
            continue
        if key in folders:
            raise MalformedTrack(
                f"track folder {str(inner)!r}",
                [f"{TRACK}, field 'key': found {key!r}, which {folders[key].name!r} has too; give it another"],
            )
        folders[key] = inner
    return Discovered(folders, skipped)


def read_track(folder: Path) -> Track:
    """The track of a folder; items.jsonl and responses.jsonl may both be absent.

    Raises: MalformedTrack: a file is missing, breaks its format, or speaks of what another does not hold.
    """
    what = f"track folder {str(folder)!r}"
    about, rubric = _toml(folder / TRACK, About, what), _toml(folder / RUBRIC, Rubric, what)
    present = [(folder / name).exists() for name in (ITEMS, RESPONSES)]
    if not any(present):
        items: tuple[Item, ...] = ()
        responses: tuple[Response, ...] = ()
    else:
        items, responses = _jsonl(folder / ITEMS, Item, what), _jsonl(folder / RESPONSES, Response, what)
    track = Track(about, rubric, items, responses)
    if faults := [*_about_faults(track), *_item_faults(track), *_response_faults(track)]:
        raise MalformedTrack(what, faults)
    return track


def _toml(path: Path, model: type[_Parsed], what: str) -> _Parsed:
    try:
        values = _tuples(tomllib.loads(path.read_bytes().decode("utf-8"), parse_float=_number))
    except OSError as error:
        raise MalformedTrack(what, [f"{path.name}: cannot be read ({error.strerror}); add the file"]) from None
    except (ValueError, RecursionError) as error:
        raise MalformedTrack(what, [f"{path.name}: found no TOML ({error})"]) from None
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise MalformedTrack(what, [f"{path.name}, {fault}" for fault in faults_of(error, missing=_ADD_IT)]) from None


def _number(text: str) -> Any:
    """A decimal as it is written, so that a weight of .1 is a tenth."""
    return Decimal(text)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _jsonl(path: Path, model: type[_Parsed], what: str) -> tuple[_Parsed, ...]:
    read = read_lines(path, MalformedTrack, f"{what}, {path.name}")
    faults = [f"{path.name}, {fault}" for fault in read.faults]
    rows: list[_Parsed] = []
    for line in read.lines:
        try:
            rows.append(model.model_validate(_tuples(line.fields)))
        except ValidationError as error:
            faults += [f"{path.name}, line {line.number}, {fault}" for fault in faults_of(error, missing=_ADD_IT)]
    if not faults and not rows:
        faults.append(f"{path.name}: found nothing in it, expected an object a line")
    if faults:
        raise MalformedTrack(what, faults)
    return tuple(rows)


def _about_faults(track: Track) -> list[str]:
    """What the track says of dimensions that its rubric does not hold."""
    keys, about = set(track.rubric.keys), track.about
    named = [(f"failure_codes {one.code!r}.penalties", set(one.penalties)) for one in about.failure_codes]
    if about.simulation:
        named += [
            ("simulation.noise", set(about.simulation.noise)),
            ("simulation.contested", set(about.simulation.contested)),
        ]
        if missing := sorted(keys - set(about.simulation.noise)):
            return [
                f"{TRACK}, field 'simulation.noise': found none for dimension {missing[0]!r}, expected one for each"
            ]
    return [
        f"{TRACK}, field {field!r}: found dimension {sorted(dims - keys)[0]!r}, which the rubric does not hold"
        for field, dims in named
        if dims - keys
    ]


def _item_faults(track: Track) -> list[str]:
    faults, seen = [], set()
    for number, item in enumerate(track.items, 1):
        if item.item_id in seen:
            faults.append(f"{ITEMS}, item {number}, field 'item_id': found {item.item_id!r} twice, expected it once")
        seen.add(item.item_id)
        faults += [
            f"{ITEMS}, item {item.item_id!r}, field 'strata': found no {factor!r}, expected one of its levels"
            for factor in track.about.strata
            if factor not in item.strata
        ]
    return faults


def _response_faults(track: Track) -> list[str]:
    items, codes = {item.item_id for item in track.items}, {code.code for code in track.about.failure_codes}
    levels = {one.key: set(one.levels) for one in track.rubric.dimensions}
    faults, seen = [], set()
    for response in track.responses:
        pair = (response.item_id, response.system_id)
        where = f"{RESPONSES}, item {response.item_id!r} of system {response.system_id!r}, field"
        if pair in seen:
            faults.append(f"{where} 'system_id': found the answer twice, expected it once")
        seen.add(pair)
        if response.item_id not in items:
            faults.append(f"{where} 'item_id': found an item that {ITEMS} does not hold")
        if response.system_id not in track.about.systems:
            faults.append(f"{where} 'system_id': found a system that {TRACK} does not name")
        if response.planted_failure is not None and response.planted_failure not in codes:
            faults.append(f"{where} 'planted_failure': found {response.planted_failure!r}, which is no failure code")
        for key, score in (response.gold_scores or {}).items():
            if score not in levels.get(key, ()):
                faults.append(f"{where} 'gold_scores.{key}': found {score!r}, expected a level of the rubric")
    return faults
