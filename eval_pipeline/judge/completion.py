"""What a chat endpoint sent back, read: a completion, an event of the question, or the end of the run."""

import base64
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from eval_pipeline.judge.spending import Tokens
from eval_pipeline.records import NoLabel

AGAIN_STATUS = frozenset({408, 409, 425, 429, *range(500, 600)})
BUSY_STATUS = frozenset({429, 503, 529})
_ABOUT_THE_TEXTS = frozenset({400, 403, 422})
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context size",
    "context window",
    "too many tokens",
    "prompt is too long",
    "maximum number of tokens",
    "must have less than",
    "maximum model length",
    "reduce the length",
)
_FILTERED = ("content_filter", "content_policy_violation")
_NO_QUOTA = ("insufficient_quota", "billing_hard_limit_reached")
_MESSAGE_SHOWN = 200
_SECRET_AT_LEAST, _NOT_SHOWN = 8, "(the key)"
_COUNT_BELOW = 2**31


class UnreadableBody(Exception):
    """A success without a completion in it, as a proxy's login page is."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The model's words, or why there are none; `tokens` is None where the server does not count them."""

    raw: str | None
    no_label: NoLabel | None
    tokens: Tokens | None


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")
    choices: list[_Choice]
    usage: Any = None


def completion_of(body: bytes) -> Completion:
    """The first choice of a success.

    Raises: UnreadableBody: there is none.
    """
    try:
        parsed = _Body.model_validate_json(body)
        choice = parsed.choices[0]
    except (ValidationError, IndexError):
        raise UnreadableBody from None
    return Completion(choice.message.content, _why_no_label(choice), _tokens(parsed.usage))


def event_of(status: int, body: bytes) -> NoLabel | None:
    """What a refusal of the request says of its texts, if it is about them and not about the endpoint."""
    if status == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
        return NoLabel.TOO_LONG
    if status not in _ABOUT_THE_TEXTS:
        return None
    said = text_of(body).lower()
    if any(mark in said for mark in _TOO_LONG):
        return NoLabel.TOO_LONG
    return NoLabel.REFUSED if any(mark in said for mark in _FILTERED) else None


def says_no_quota(body: bytes) -> bool:
    """Whether the account behind the key is used up, which no waiting mends."""
    return any(mark in text_of(body) for mark in _NO_QUOTA)


def message_of(body: bytes, *, secret: str) -> str:
    """What the server says of a fault, shortened; what may repeat the key is not shown."""
    try:
        error = json.loads(body)["error"]
        text = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no message"
    if not isinstance(text, str):
        return "no message"
    if secret:
        for form in (secret, *forms_of(secret)):
            text = text.replace(form, _NOT_SHOWN)
    return " ".join(text.split())[:_MESSAGE_SHOWN] or "no message"


def forms_of(secret: str) -> tuple[str, ...]:
    """How a secret may stand in what a server says: as it is, as in an address, and in base64.

    None of one so short that it may be a word of an answer, as what is given to a server that wants no key is.
    """
    if len(secret) < _SECRET_AT_LEAST:
        return ()
    coded = base64.b64encode(secret.encode()).decode("ascii").rstrip("=")
    return tuple(dict.fromkeys((secret, quote(secret, safe=""), coded)))


def without_secret(completion: Completion, forms: Sequence[str]) -> Completion:
    """The completion with no form of the secret in its words, which are kept and shown."""
    if completion.raw is None or not any(form in completion.raw for form in forms):
        return completion
    raw = completion.raw
    for form in forms:
        raw = raw.replace(form, _NOT_SHOWN)
    return replace(completion, raw=raw)


def text_of(body: bytes) -> str:
    """A body as text, whatever its headers call it."""
    return body.decode("utf-8", "replace")


def retry_after_s(response: httpx.Response) -> float:
    """What the Retry-After header asks for, in seconds or as a date; 0 where it is absent or makes no sense."""
    header = response.headers.get("Retry-After", "")
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _why_no_label(choice: _Choice) -> NoLabel | None:
    if choice.finish_reason == "content_filter" or choice.message.refusal:
        return NoLabel.REFUSED
    if choice.finish_reason == "length":
        return NoLabel.CUT_OFF
    return NoLabel.UNPARSABLE if choice.message.content is None else None


def _tokens(usage: Any) -> Tokens | None:
    """What the server counted; None where it did not, or counted in another way. An answer is not lost for it."""
    counted = usage if isinstance(usage, dict) else {}
    prompt, completion, total = (_count(counted.get(f"{name}_tokens")) for name in ("prompt", "completion", "total"))
    if prompt is None and total is None:
        return None
    all_of_them = total if total is not None else (prompt or 0) + (completion or 0)
    return Tokens(max(0, all_of_them - (completion or 0)), completion or 0)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _COUNT_BELOW else None
