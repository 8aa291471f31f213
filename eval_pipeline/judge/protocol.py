"""What every judge is to the house: an identity, a standing, and an answer to a question."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from eval_pipeline.canonical import content_hash
from eval_pipeline.records import Answer, Question

SCHEMA = 2  # of the identity and the key; a change of either makes every journal a stranger's
PROBE = Question(entry_id="probe", premise="The probe was sent.", hypothesis="The probe was sent.")


class Standing(StrEnum):
    """Whether a judge's labels may bind a verdict."""

    ORACLE = "oracle"
    UNCALIBRATED = "uncalibrated"


class Judge(Protocol):
    """One judge, ready to be asked."""

    @property
    def kind(self) -> str:
        """What the command line calls it."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that its labels depend on and nothing else, as JSON."""
        ...

    @property
    def in_flight(self) -> int:
        """How many questions it may be asked at the same time."""
        ...

    async def probe(self) -> Answer | None:
        """The judge's words on `PROBE`, None of a judge that cannot be down; raises JudgeDown if it cannot be asked."""
        ...

    async def answer(self, question: Question) -> Answer:
        """The judge's words; raises JudgeDown if asking anything more would be in vain."""
        ...

    async def close(self) -> None:
        """Lets go of connections."""
        ...


def standing_of(identity: Mapping[str, Any]) -> Standing:
    """The standing of a judge of that identity: people's labels bind, and no model's do until it was measured."""
    return Standing.ORACLE if identity.get("kind") == "labels" else Standing.UNCALIBRATED


def seen_by(identity: Mapping[str, Any], question: Question) -> Mapping[str, Any]:
    """What of a question the judge of that identity answers from.

    The texts, and what else it is shown; for people's labels the entry too, since the same words may be labelled
    otherwise elsewhere; and of a repeat, which it is, so that it is asked although the answer is known.
    """
    seen: dict[str, Any] = {"premise": question.premise, "hypothesis": question.hypothesis}
    if standing_of(identity) is Standing.ORACLE:
        seen["entry_id"] = question.entry_id
    if question.repeat:
        seen["repeat"] = question.repeat
    if question.given:
        seen["given"] = dict(question.given)
    return seen


def fingerprint(judge: Judge) -> str:
    """The hash of a judge's identity."""
    return content_hash({"schema": SCHEMA, **judge.identity})


def key(judge: Judge, question: Question) -> str:
    """The hash under which the judge's answer to this question is kept."""
    return key_under(judge.identity, question)


def key_under(identity: Mapping[str, Any], question: Question) -> str:
    """The hash under which the answer of the judge of that identity to this question is kept."""
    return content_hash({"schema": SCHEMA, **identity, **seen_by(identity, question)})
