"""Logs of Inspect, as JSON or as an .eval archive, in the versions 1 and 2 of their format."""

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass

from eval_pipeline.importers.inspect_file import parts_of
from eval_pipeline.importers.inspect_stated import PLAIN_REDUCERS, first_scorer, headlines_of
from eval_pipeline.importers.inspect_values import leaves_of, part_of
from eval_pipeline.importers.place import Place, by_name
from eval_pipeline.importers.results import Headline, Row, Scored, Undecided, row_of


@dataclass(frozen=True, slots=True)
class InspectLog:
    """A log: who was asked what, the scores, and the means that it states itself."""

    subject: str
    rows: tuple[Row, ...]
    headlines: tuple[Headline, ...]
    notes: tuple[str, ...]


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
    parts = parts_of(data, file)
    spec = parts.header.field("eval")
    system = spec.field("model").text()
    samples = [_sample(place, parts.header) for _, place in by_name(parts.samples, _key)]
    planned = _planned(parts.header, {(one.item, one.epoch) for one in samples})
    wanted = only | {metric.rpartition("/")[0] for metric in only}  # what is reduced rests on the epochs themselves
    table = _tabulated(samples, planned, _parts_of_scorers(samples, spec), wanted)
    reduced = _reduced(parts.reductions, table, only)
    rows = [
        row_of(system, metric, item, repeat, scored)
        for metric, cells in (table | reduced).items()
        if not only or metric in only
        for (item, repeat), scored in cells.items()
    ]
    names = {scorer for one in samples for scorer in one.scores}
    stated = headlines_of(parts.header, system, names)
    return InspectLog(
        spec.field("task").text(),
        tuple(rows),
        tuple(one for one in stated if not only or one.metric in only),
        tuple(_notes(parts.header, len(planned))),
    )


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
    values = scores.entries() if scores else {first_scorer(header): only_score} if only_score else {}
    return _Sample(
        _identity(place),
        _epoch(place),
        spoiled,
        {name: score for name, score in values.items() if score.value is not None},
    )


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


def _parts_of_scorers(samples: list[_Sample], spec: Place) -> dict[str, dict[str, None]]:
    """For each scorer, what its parts add to its name; of one that scored no sample, what the log declares."""
    leaves: dict[str, dict[str, None]] = {}
    for one in samples:
        for scorer, score in one.scores.items():
            leaves.setdefault(scorer, {}).update(dict.fromkeys(leaves_of(score)))
    declared = spec.maybe("scorers")
    for one_scorer in declared.items() if declared else []:
        metrics = one_scorer.maybe("metrics")
        parts = metrics.value if metrics and isinstance(metrics.value, dict) else {}
        names = dict.fromkeys(f".{name}" for name in parts if "*" not in name) or {"": None}
        leaves.setdefault(one_scorer.field("name").text(), names)
    return leaves


def _of(sample: _Sample, scorer: str, leaf: str) -> Scored:
    if sample.spoiled:
        return sample.spoiled
    score = sample.scores.get(scorer)
    return Undecided.MISSING if score is None else part_of(score, leaf)


def _reduced(
    reductions: list[Place], of_epochs: Mapping[str, Mapping[tuple[str, int], Scored]], only: frozenset[str]
) -> dict[str, dict[tuple[str, int], Scored]]:
    """For each rule other than the mean by which epochs were reduced, the score of each item.

    Of an item that has an epoch without a score nothing is said: Inspect leaves such an epoch out, or counts it as 0.
    """
    table: dict[str, dict[tuple[str, int], Scored]] = {}
    for reduction in reductions:
        reducer = reduction.maybe("reducer")
        if reducer is None or reducer.value in PLAIN_REDUCERS:
            continue
        scorer, rule = reduction.field("scorer").text(), reducer.text()
        of_item = dict(by_name(reduction.field("samples").items(), lambda one: _identity(one, "sample_id")))
        for leaf in dict.fromkeys(leaf for score in of_item.values() for leaf in leaves_of(score)):
            metric = f"{scorer}{leaf}"
            if metric not in of_epochs or (only and f"{metric}/{rule}" not in only):
                continue
            undecided = {item: one for (item, _), one in of_epochs[metric].items() if isinstance(one, Undecided)}
            items = dict.fromkeys(item for item, _ in of_epochs[metric])
            scored = {item: part_of(score, leaf) for item, score in of_item.items()}
            table[f"{metric}/{rule}"] = {
                (item, 1): undecided[item] if item in undecided else scored.get(item, Undecided.MISSING)
                for item in items
            }
    return table


def _notes(header: Place, planned: int) -> Iterator[str]:
    status = header.maybe("status")
    if status is not None and status.value != "success":
        yield f"Inspect ended with the status {status.text()}"
    if planned:
        yield f"{planned} samples that were to be asked are not in the log"
