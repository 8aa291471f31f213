"""The queue of claims whose truth nobody knows yet: what annotators are shown of them, and what their labels add."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from eval_pipeline.errors import InputRefused, MalformedObservations
from eval_pipeline.observations import Log, Observation, read_log
from eval_pipeline.studies.judge_reliability.annotation import settled
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation
from eval_pipeline.studies.judge_reliability.words import Grounding, Label

QUEUE_SCHEMA_VERSION = 1

_Text = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Pending:
    """A claim as an annotator is given it: what no judge said of it, and how sure none was, stands here."""

    schema_version: int
    claim_id: str
    claim_type: str


class AnnotatorLine(Observation):
    """A line of the annotators' file: who, which claim, the label and why; the third of a claim settles a conflict."""

    annotator: _Text
    claim_id: _Text
    label: Annotated[Label, Field(strict=False)]
    rationale: _Text


def pending(log: Log[JudgeObservation]) -> tuple[Pending, ...]:
    """The claims of a log that wait for labels, by their ids; those that were dropped do not."""
    waiting = {
        row.claim_id: row.claim_type
        for row in log.rows
        if row.truth is None and (row.labels is None or not settled(row.labels).dropped)
    }
    return tuple(Pending(QUEUE_SCHEMA_VERSION, claim, waiting[claim]) for claim in sorted(waiting))


def read_labels(path: Path) -> dict[str, tuple[Label, ...]]:
    """The labels of each claim, in the order of the file.

    Raises: MalformedObservations: a line breaks the format, one person labelled a claim twice, a claim has one label
        or more than three, or a third where two agree.
    """
    what = f"labels {str(path)!r}"
    by_claim: dict[str, list[AnnotatorLine]] = {}
    for row in read_log(path, AnnotatorLine).rows:
        by_claim.setdefault(row.claim_id, []).append(row)
    faults = [f"claim {claim!r}, {fault}" for claim, rows in by_claim.items() if (fault := _fault(rows))]
    if faults:
        raise MalformedObservations(what, faults)
    return {claim: tuple(row.label for row in rows) for claim, rows in by_claim.items()}


def with_labels(log: Log[JudgeObservation], labels: Mapping[str, tuple[Label, ...]]) -> Log[JudgeObservation]:
    """The log in which claims that waited have these labels, and the truth that they come to.

    Raises: InputRefused: a claim does not wait for labels.
    """
    waiting = {one.claim_id for one in pending(log)}
    if unknown := sorted(set(labels) - waiting):
        raise InputRefused(f"labels: found claim {unknown[0]!r}, which waits for none; leave it out")
    rows = (
        JudgeObservation(
            **{name: getattr(row, name) for name in JudgeObservation.model_fields}
            | {
                "grounding": Grounding.ANNOTATORS,
                "labels": labels[row.claim_id],
                "truth": settled(labels[row.claim_id]).truth,
            }
        )
        if row.claim_id in labels
        else row
        for row in log.rows
    )
    return Log(tuple(rows), log.simulated)


def _fault(rows: Sequence[AnnotatorLine]) -> str | None:
    people = [row.annotator for row in rows]
    if len(set(people)) < len(people):
        twice = next(one for one in people if people.count(one) > 1)
        return f"field 'annotator': found {twice!r} twice, expected another person for each label"
    try:
        settled([row.label for row in rows])
    except InputRefused as refusal:
        return f"field 'label': {str(refusal).removeprefix('labels: ')}"
    return None
