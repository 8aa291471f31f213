"""Logs of Inspect, as JSON or as an .eval archive, in the versions 1 and 2 of their format."""

import math
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers.archive import open_archive
from eval_pipeline.importers.place import Place, by_name, parse_log
from eval_pipeline.importers.results import Headline, Row, Scored, Undecided, row_of

VERSIONS = (1, 2)
_ARCHIVE = b"PK\x03\x04"
_CREDITS = {"C": 1.0, "I": 0.0, "P": 0.5, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MEANS = ("accuracy", "mean")
_PLAIN_REDUCERS = (None, "mean")


@dataclass(frozen=True, slots=True)
class InspectLog:
    """A log: who was asked what, the scores, and the means that it states itself."""

    subject: str
    rows: tuple[Row, ...]
    headlines: tuple[Headline, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Parts:
    header: Place
    samples: list[Place]
    reductions: list[Place]


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample of one epoch: `spoiled` says why none of its scores counts; `scores` are those of each scorer."""

    item: str
    epoch: int
    spoiled: Undecided | None
    scores: dict[str, Place]


def read_inspect(data: bytes, file: str, only: frozenset[str]) -> InspectLog:
    """The log of a file; `only` names the metrics to read, none all of them.

    Each score of a scorer is a row of the metric that has its name; of a score with parts, each part is a metric of
    its own, such as `judge.tone`. What epochs were reduced to by another rule than the mean is a metric beside it, such
    as `match/mode`.

    Raises: MalformedLog: it breaks its format, or holds a sample twice or a number that is no score.
    """
    parts = _parts(data, file)
    spec = parts.header.field("eval")
    system = spec.field("model").text()
    samples = [_sample(place, parts.header) for _, place in by_name(parts.samples, _key)]
    planned = _planned(parts.header, {(one.item, one.epoch) for one in samples})
    wanted = only | {metric.rpartition("/")[0] for metric in only}  # what is reduced rests on the epochs themselves
    table = _tabulated(samples, planned, _leaves_of(samples, spec), wanted)
    reduced = _reduced(parts.reductions, table, only)
    rows = [
        row_of(system, metric, item, repeat, scored)
        for metric, cells in (table | reduced).items()
        if not only or metric in only
        for (item, repeat), scored in cells.items()
    ]
    names = {scorer for one in samples for scorer in one.scores}
    headlines = tuple(_headlines(parts.header, system, names))
    return InspectLog(spec.field("task").text(), tuple(rows), headlines, tuple(_notes(parts.header, len(planned))))


def _parts(data: bytes, file: str) -> _Parts:
    if not data.startswith(_ARCHIVE):
        log = parse_log(data, file)
        _require_version(log)
        samples, reductions = log.maybe("samples"), log.maybe("reductions")
        if samples is None:
            raise log.refusal("a log with its samples", "run Inspect without --no-log-samples")
        return _Parts(log, samples.items(), reductions.items() if reductions else [])
    archive = open_archive(data, file)

    def member(name: str) -> Place:
        return parse_log(archive.read(name), f"{file}, {name}")

    start = next((name for name in ("header.json", "_journal/start.json") if name in archive.members), None)
    if start is None:
        raise MalformedLog(f"log {file!r}", ["found no header.json in it, expected one; give a log of Inspect"])
    header = member(start)
    _require_version(header)
    samples_of = [name for name in archive.members if _is_sample(name)]
    reductions_of = member("reductions.json").items() if "reductions.json" in archive.members else []
    return _Parts(header, [member(name) for name in samples_of], reductions_of)


def _is_sample(name: str) -> bool:
    """A sample in one piece is a file; one that is kept in pieces is a folder, whose sample.json holds its scores."""
    folders = name.split("/")
    return folders[0] == "samples" and (
        (len(folders) == 2 and name.endswith(".json")) or (len(folders) == 3 and folders[2] == "sample.json")
    )


def _require_version(header: Place) -> None:
    version = header.maybe("version")
    if version is not None and version.value not in VERSIONS:
        raise version.refusal("version 1 or 2 of the format", "write the log with a release of Inspect that has it")


def _key(place: Place) -> str:
    return f"sample {_identity(place)!r} of epoch {_epoch(place)}"


def _identity(place: Place, name: str = "id") -> str:
    found = place.field(name)
    if isinstance(found.value, int) and not isinstance(found.value, bool):
        return str(found.value)
    return found.text()


def _epoch(place: Place) -> int:
    return place.field("epoch").whole(at_least=1)


def _sample(place: Place, header: Place) -> _Sample:
    spoiled = None
    if place.maybe("invalidation"):
        spoiled = Undecided.INVALIDATED
    elif place.maybe("error"):
        spoiled = Undecided.ERRORED
    scores, only_score = place.maybe("scores"), place.maybe("score")
    values = scores.entries() if scores else {_first_scorer(header): only_score} if only_score else {}
    return _Sample(
        _identity(place),
        _epoch(place),
        spoiled,
        {name: score for name, score in values.items() if score.value is not None},
    )


def _first_scorer(header: Place) -> str:
    """The name of the scorer of a log from before a sample had several."""
    results = header.maybe("results")
    scores = results.maybe("scores") if results else None
    scorer = results.maybe("scorer") if results else None
    if scores and scores.items():
        return scores.items()[0].field("name").text()
    return scorer.field("name").text() if scorer else "score"


def _planned(header: Place, present: set[tuple[str, int]]) -> list[tuple[str, int]]:
    """What was to be asked and is not in the log, where the log says so."""
    spec, results = header.field("eval"), header.maybe("results")
    dataset, config = spec.maybe("dataset"), spec.maybe("config")
    identities = dataset.maybe("sample_ids") if dataset else None
    epochs = config.maybe("epochs") if config else None
    if identities is None:
        return []
    names = [str(one.value) for one in identities.items()]
    times = epochs.whole(at_least=1) if epochs else 1
    total = results.maybe("total_samples") if results else None
    if total is not None and total.value != len(names) * times:
        return []  # the ids are those of another selection than the one that was run
    asked = [(name, epoch) for name in names for epoch in range(1, times + 1)]
    return [one for one in asked if one not in present]


def _tabulated(
    samples: list[_Sample],
    planned: list[tuple[str, int]],
    leaves: Mapping[str, Collection[str]],
    only: Set[str],
) -> dict[str, dict[tuple[str, int], Scored]]:
    """For each metric, the score of each sample and epoch."""
    table: dict[str, dict[tuple[str, int], Scored]] = {}
    for scorer, names in leaves.items():
        for leaf in names if len(names) == 1 else [name for name in names if name]:
            metric = f"{scorer}{leaf}"
            if only and metric not in only:
                continue
            cells: dict[tuple[str, int], Scored] = {(one.item, one.epoch): _of(one, scorer, leaf) for one in samples}
            table[metric] = cells | dict.fromkeys(planned, Undecided.MISSING)
    return table


def _leaves_of(samples: list[_Sample], spec: Place) -> dict[str, dict[str, None]]:
    """For each scorer, what its parts add to its name; of one that scored no sample, what the log declares."""
    leaves: dict[str, dict[str, None]] = {}
    for one in samples:
        for scorer, score in one.scores.items():
            leaves.setdefault(scorer, {}).update(dict.fromkeys(_leaves(score)))
    declared = spec.maybe("scorers")
    for one_scorer in declared.items() if declared else []:
        metrics = one_scorer.maybe("metrics")
        parts = metrics.value if metrics and isinstance(metrics.value, dict) else {}
        names = dict.fromkeys(f".{name}" for name in parts if "*" not in name) or {"": None}
        leaves.setdefault(one_scorer.field("name").text(), names)
    return leaves


def _leaves(score: Place) -> list[str]:
    """What the parts of a score add to the name of its scorer; nothing where it is one value."""
    value = score.field("value")
    if isinstance(value.value, dict):
        return [f".{name}" for name in value.value]
    return [f"[{place}]" for place in range(len(value.value))] if isinstance(value.value, list) else [""]


def _of(sample: _Sample, scorer: str, leaf: str) -> Scored:
    if sample.spoiled:
        return sample.spoiled
    score = sample.scores.get(scorer)
    return Undecided.MISSING if score is None else _part(score, leaf)


def _part(score: Place, leaf: str) -> Scored:
    """The value of a score, or of the part of it that `leaf` names."""
    value = score.field("value")
    if _is_unscored(value.value):
        return _why_unscored(score)
    if not leaf:
        return _credit(value)
    if isinstance(value.value, dict):
        parts = {f".{name}": part for name, part in value.entries().items()}
    else:
        parts = {f"[{place}]": part for place, part in enumerate(value.items())}
    part = parts.get(leaf)
    if part is None:
        return Undecided.MISSING
    return Undecided.UNSCORED if _is_unscored(part.value) else _credit(part)


def _is_unscored(value: Any) -> bool:
    """Inspect writes NaN, and before that null, for a sample that its scorer could not score."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _why_unscored(score: Place) -> Undecided:
    reason = score.maybe("reason")
    return Undecided.REFUSED if reason and reason.value in ("refusal", "no_response") else Undecided.UNSCORED


def _credit(value: Place) -> Scored:
    """What Inspect counts a value as; N, no answer or a refusal to, is undecided, where Inspect counts 0."""
    if not isinstance(value.value, str):
        return value.score()
    text = value.value
    if text == "N":
        return Undecided.REFUSED
    credit = _CREDITS.get(text, _CREDITS.get(text.lower()) if text.lower() not in ("c", "i", "p") else None)
    if credit is not None:
        return credit
    try:
        number = float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise value.refusal(
            "C, I, P, N, yes, no, true, false or a number",
            "Inspect counts such a value as 0; let the scorer give one of these, or leave it out with --metric",
        ) from None
    return Place(value.file, value.path, number).score()


def _reduced(
    reductions: list[Place], of_epochs: Mapping[str, Mapping[tuple[str, int], Scored]], only: frozenset[str]
) -> dict[str, dict[tuple[str, int], Scored]]:
    """For each rule other than the mean by which epochs were reduced, the score of each item.

    Of an item that has an epoch without a score nothing is said: Inspect leaves such an epoch out, or counts it as 0.
    """
    table: dict[str, dict[tuple[str, int], Scored]] = {}
    for reduction in reductions:
        reducer = reduction.maybe("reducer")
        if reducer is None or reducer.value in _PLAIN_REDUCERS:
            continue
        scorer, rule = reduction.field("scorer").text(), reducer.text()
        of_item = dict(by_name(reduction.field("samples").items(), lambda one: _identity(one, "sample_id")))
        for leaf in dict.fromkeys(leaf for score in of_item.values() for leaf in _leaves(score)):
            metric = f"{scorer}{leaf}"
            if metric not in of_epochs or (only and f"{metric}/{rule}" not in only):
                continue
            undecided = {item: one for (item, _), one in of_epochs[metric].items() if isinstance(one, Undecided)}
            items = dict.fromkeys(item for item, _ in of_epochs[metric])
            scored = {item: _part(score, leaf) for item, score in of_item.items()}
            table[f"{metric}/{rule}"] = {
                (item, 1): undecided[item] if item in undecided else scored.get(item, Undecided.MISSING)
                for item in items
            }
    return table


def _headlines(header: Place, system: str, scorers: set[str]) -> Iterator[Headline]:
    results = header.maybe("results")
    for score in _stated(results) if results else []:
        name, reducer = score.field("name").text(), score.maybe("reducer")
        scorer = score.maybe("scorer")
        of = scorer.text() if scorer else name
        metric = name if name == of or of not in scorers else f"{of}.{name}"
        rule = "" if reducer is None or reducer.value in _PLAIN_REDUCERS else f"/{reducer.text()}"
        metrics = score.maybe("metrics")
        for key, stated in metrics.entries().items() if metrics else []:
            value = stated.field("value")
            if key.rpartition("/")[2] in _MEANS and not _is_unscored(value.value):
                yield Headline(system, f"{metric}{rule}", f"{metric}{rule} {key}", value.number(), 0.0)


def _stated(results: Place) -> list[Place]:
    """The scores of a log's results; one from before there were several holds one scorer, its metrics beside it."""
    scores, scorer = results.maybe("scores"), results.maybe("scorer")
    if scores:
        return scores.items()
    if not scorer:
        return []
    metrics: Mapping[str, Any] = results.value.get("metrics") or scorer.value.get("metrics") or {}
    return [Place(results.file, results.path, {"name": scorer.field("name").value, "metrics": metrics})]


def _notes(header: Place, planned: int) -> Iterator[str]:
    status = header.maybe("status")
    if status is not None and status.value != "success":
        yield f"Inspect ended with the status {status.text()}"
    if planned:
        yield f"{planned} samples that were to be asked are not in the log"
