"""The means that a log of Inspect states itself."""

from collections.abc import Iterator, Mapping, Set
from typing import Any

from eval_pipeline.importers.inspect_values import is_unscored
from eval_pipeline.importers.place import Place
from eval_pipeline.importers.results import Headline

PLAIN_REDUCERS = (None, "mean")
_MEANS = ("accuracy", "mean")


def headlines_of(header: Place, system: str, scorers: Set[str]) -> Iterator[Headline]:
    """The means of a log's results, each of the metric of ours that it is about.

    Args:
        header: of the log.
        system: that was measured.
        scorers: those that samples have scores of; a stated score that is none of them is a part of one.

    """
    results = header.maybe("results")
    for score in _stated(results) if results else []:
        name, reducer = score.field("name").text(), score.maybe("reducer")
        scorer = score.maybe("scorer")
        of = scorer.text() if scorer else name
        metric = name if name == of or of not in scorers else f"{of}.{name}"
        rule = "" if reducer is None or reducer.value in PLAIN_REDUCERS else f"/{reducer.text()}"
        metrics = score.maybe("metrics")
        for key, stated in metrics.entries().items() if metrics else []:
            value = stated.field("value")
            if key.rpartition("/")[2] in _MEANS and not is_unscored(value.value):
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


def first_scorer(header: Place) -> str:
    """The name of the scorer of a log from before a sample had several."""
    results = header.maybe("results")
    scores = results.maybe("scores") if results else None
    scorer = results.maybe("scorer") if results else None
    if scores and scores.items():
        return scores.items()[0].field("name").text()
    return scorer.field("name").text() if scorer else "score"
