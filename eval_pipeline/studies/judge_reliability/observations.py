"""The log of judgments: a line for each judge and claim, with the claim's truth where it is known."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from eval_pipeline.errors import InputRefused, MalformedObservations
from eval_pipeline.observations import Log, Observation, read_log
from eval_pipeline.studies.judge_reliability.annotation import settled
from eval_pipeline.studies.judge_reliability.words import Grounding, Label, Truth, Vote

PARSE_ERROR, NOT_INVOKED = "parse_error", "judge_invocation_failed"
NO_VOTE = (PARSE_ERROR, NOT_INVOKED)

_OF_THE_CLAIM = ("run_id", "claim_type", "grounding", "truth", "labels")

_Text = Annotated[str, Field(min_length=1)]
_Word = Field(strict=False)  # words are texts in a file


class JudgeObservation(Observation):
    """One judgment: who, of which claim, in which run, what was said of it, and what is true.

    `verdict` and `confidence` are there unless the caveat says that no verdict could be read, or that the judge could
    not be asked. `truth` is None while it is not known. `labels` are those of annotators, in their order, and of no
    other grounding.
    """

    run_id: _Text
    judge_kind: _Text
    judge_name: _Text
    claim_id: _Text
    claim_type: _Text
    grounding: Annotated[Grounding, _Word]
    verdict: Annotated[Vote, _Word] | None
    confidence: Annotated[float, Field(ge=0, le=1)] | None
    caveat: _Text | None
    truth: Annotated[Truth, _Word] | None
    labels: tuple[Annotated[Label, _Word], ...] | None

    @model_validator(mode="after")
    def _one_thing_or_the_other(self) -> Self:
        without = self.caveat in NO_VOTE
        if (self.verdict is None) is not without or (self.confidence is None) is not without:
            raise ValueError(
                "verdict and confidence to be null" if without else "a verdict and its confidence, or why there is none"
            )
        if (self.labels is None) is (self.grounding is Grounding.ANNOTATORS):
            raise ValueError("the labels of annotators, and of no other grounding")
        if self.labels is not None:
            try:
                truth = settled(self.labels).truth
            except InputRefused as refusal:
                raise ValueError(str(refusal)) from None
            if truth != self.truth:
                raise ValueError(f"the truth that the labels come to, {truth or 'null'}")
        return self

    @property
    def judge(self) -> str:
        """Kind and name, by which a judge is known."""
        return f"{self.judge_kind}/{self.judge_name}"


def read(path: Path) -> Log[JudgeObservation]:
    """The log of a file.

    Raises: MalformedObservations: a line breaks the format, or lines contradict each other.
    """
    log = read_log(path, JudgeObservation)
    if faults := contradictions(log.rows):
        raise MalformedObservations(f"observations {str(path)!r}", faults)
    return log


def contradictions(rows: Iterable[JudgeObservation]) -> list[str]:
    """A clause for each observation that repeats a judgment, or says something else of a claim than one before it.

    Repeated judgments of one claim err together, and counted as if they were independent they would feign certainty.
    """
    claims: dict[str, tuple[int, JudgeObservation]] = {}
    judged: dict[tuple[str, str], int] = {}
    faults = []
    for number, row in enumerate(rows, 1):
        first, known = claims.setdefault(row.claim_id, (number, row))
        for field in _OF_THE_CLAIM:
            here, there = getattr(row, field), getattr(known, field)
            if here != there:
                faults.append(
                    f"observation {number}, field {field!r}: found {_shown(here)}, expected {_shown(there)} as in"
                    f" observation {first} of claim {row.claim_id!r}; give each claim one run, type and truth"
                )
        before = judged.setdefault((row.claim_id, row.judge), number)
        if before != number:
            faults.append(
                f"observation {number}, field 'claim_id': found claim {row.claim_id!r} judged by {row.judge!r} again,"
                f" expected it once, as in observation {before}; keep the first"
            )
    return faults


def _shown(value: Any) -> str:
    return "null" if value is None else repr(list(map(str, value)) if isinstance(value, tuple) else str(value))
