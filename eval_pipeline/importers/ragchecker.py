"""Results of RAGChecker with a label a claim: precision, recall, and what the passages have to do with them."""

from collections.abc import Iterator, Sequence

from eval_pipeline.importers.place import Place, by_name, parse_log
from eval_pipeline.importers.results import Headline, Row, Undecided

_ENTAILED, _OTHERS, _ABSTAINED = "Entailment", ("Neutral", "Contradiction"), "Abstain"
_PERCENT, _ROUNDED = 100, 0.0005  # the tool states per cent with one decimal
METRICS = (
    "precision",
    "recall",
    "claim_recall",
    "context_precision",
    "faithfulness",
    "hallucination",
    "self_knowledge",
)

Label = bool | None  # entailed or not; None where the checker abstained


def read_ragchecker(
    data: bytes, file: str, system: str, only: frozenset[str]
) -> tuple[tuple[Row, ...], tuple[Headline, ...]]:
    """The rows and the stated means of a file; each claim of a response, or each retrieved passage, is a row.

    Raises: MalformedLog: it breaks its format, or holds a query twice.
    """
    log = parse_log(data, file)
    results = by_name(log.field("results").items(), lambda one: f"query {one.field('query_id').text()!r}")
    rows = [
        row
        for _, result in results
        for row in _rows(result, system, result.field("query_id").text())
        if not only or row.metric in only
    ]
    metrics = {row.metric for row in rows}
    return tuple(rows), tuple(one for one in _headlines(log, system) if one.metric in metrics)


def _rows(result: Place, system: str, item: str) -> Iterator[Row]:
    """A row a claim and metric; a response without claims gives one that is undecided, where the tool counts 0."""
    for metric, labels in _labels(result).items():
        if labels is None:
            yield Row(system, metric, item, 1, None, Undecided.MISSING)
        elif not labels:
            yield Row(system, metric, item, 1, None, Undecided.NO_CLAIMS)
        for number, label in enumerate(labels or (), 1):
            if label is None:
                yield Row(system, metric, item, number, None, Undecided.UNSCORED)
            else:
                yield Row(system, metric, item, number, float(label), None)


def _labels(result: Place) -> dict[str, Sequence[Label] | None]:
    """For each metric the label of each claim; None where the tool was not asked for what it rests on."""
    said = _row_of(result, "answer2response", "response_claims")
    wanted = _row_of(result, "response2answer", "gt_answer_claims")
    said_in = _matrix(result, "retrieved2response", "response_claims")
    wanted_in = _matrix(result, "retrieved2answer", "gt_answer_claims")
    grounded = None if said_in is None else [_any(row) for row in said_in]
    both = None if said is None or grounded is None else list(zip(said, grounded, strict=True))
    return {
        "precision": said,
        "recall": wanted,
        "claim_recall": None if wanted_in is None else [_any(row) for row in wanted_in],
        "context_precision": None if wanted_in is None else [_any(column) for column in zip(*wanted_in, strict=True)],
        "faithfulness": grounded,
        "hallucination": None if both is None else [_both(_not(right), _not(found)) for right, found in both],
        "self_knowledge": None if both is None else [_both(right, _not(found)) for right, found in both],
    }


def _row_of(result: Place, name: str, claims: str) -> list[Label] | None:
    labels = result.maybe(name)
    if labels is None:
        return None
    return [_label(one) for one in _one_a_claim(result, labels, claims)]


def _matrix(result: Place, name: str, claims: str) -> list[list[Label]] | None:
    """The labels of each claim by each passage; every claim has as many."""
    labels = result.maybe(name)
    if labels is None:
        return None
    rows = [[_label(one) for one in row.items()] for row in _one_a_claim(result, labels, claims)]
    if len({len(row) for row in rows}) > 1:
        raise labels.refusal("as many labels for one claim as for another, one a passage")
    return rows


def _one_a_claim(result: Place, labels: Place, claims: str) -> list[Place]:
    listed = result.maybe(claims)
    if listed is not None and len(listed.items()) != len(labels.items()):
        raise labels.refusal(f"a label for each of the {len(listed.items())} claims of {claims}")
    return labels.items()


def _label(place: Place) -> Label:
    if place.value is None or place.value == _ABSTAINED:
        return None
    if place.value == _ENTAILED or place.value in _OTHERS:
        return bool(place.value == _ENTAILED)
    raise place.refusal("Entailment, Neutral, Contradiction or Abstain")


def _any(labels: Sequence[Label]) -> Label:
    """Whether one of them is yes; unknown where none is, and one is unknown."""
    return True if True in labels else None if None in labels else False


def _both(one: Label, other: Label) -> Label:
    return False if False in (one, other) else None if None in (one, other) else True


def _not(label: Label) -> Label:
    return None if label is None else not label


def _headlines(log: Place, system: str) -> Iterator[Headline]:
    stated = log.maybe("metrics")
    for group in stated.entries().values() if stated else ():
        for name, value in group.entries().items():
            yield Headline(system, name, f"{name}, in per cent", value.number() / _PERCENT, _ROUNDED)
