"""What an oracle says: the truth of a claim, or why it cannot tell; the one is never read as the other."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from eval_pipeline.plan import faults_of
from eval_pipeline.studies.judge_reliability.words import Truth


class Unavailable(StrEnum):
    """Why an oracle cannot tell."""

    MISSING_TOOL = "missing_tool"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    MISCONFIGURED = "misconfigured"
    UNREADABLE = "unreadable"
    BEYOND_ITS_MEANS = "beyond_its_means"


@dataclass(frozen=True, slots=True)
class Answer:
    """A truth or the reason why there is none, of which exactly one is there, and what either rests on."""

    truth: Truth | None
    unavailable: Unavailable | None
    evidence: str

    def __post_init__(self) -> None:
        """One of both."""
        if (self.truth is None) is (self.unavailable is None):
            raise ValueError("an answer is a truth, or the reason why there is none")


class Content(BaseModel):
    """What a claim is about, as its oracle reads it; its fields are all there, and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


_Content = TypeVar("_Content", bound=Content)


def told(truth: bool, evidence: str) -> Answer:
    """The answer of an oracle that can tell whether the claim holds."""
    return Answer(Truth.HOLDS if truth else Truth.FAILS, None, evidence)


def untold(why: Unavailable, evidence: str) -> Answer:
    """The answer of an oracle that cannot tell."""
    return Answer(None, why, evidence)


def content_of(content: Any, model: type[_Content]) -> _Content | Answer:
    """What the claim is about, or that it cannot be read."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        return untold(Unavailable.UNREADABLE, "; ".join(faults_of(error, missing="add it")))
