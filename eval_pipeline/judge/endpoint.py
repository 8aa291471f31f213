"""Where a model answers, and how it is asked; what of that the labels depend on is said field by field."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from eval_pipeline.errors import JudgeUnknown
from eval_pipeline.judge.spending import Prices

_LABELS_DEPEND = {"identity": True}
_LABELS_DO_NOT = {"identity": False}
_LONGEST = ("max_tokens", "max_completion_tokens")
_LARGEST_PORT = 65535
_OURS = frozenset({"model", "messages", "stream", "n"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint of a chat judge. The key is no part of what the judge is, and is never shown.

    `revision` names the weights behind a model name that may move; "" where the server does not say. `extra` holds more
    fields of the request's body, such as top_p or seed; null takes one of ours out of it.
    """

    base_url: str = field(metadata=_LABELS_DEPEND)
    model: str = field(metadata=_LABELS_DEPEND)
    revision: str = field(metadata=_LABELS_DEPEND)
    max_tokens: int = field(metadata=_LABELS_DEPEND)
    extra: Mapping[str, Any] = field(metadata=_LABELS_DEPEND)
    api_key: str = field(repr=False, metadata=_LABELS_DO_NOT)
    in_flight: int = field(metadata=_LABELS_DO_NOT)
    attempt_timeout_s: float = field(metadata=_LABELS_DO_NOT)
    total_timeout_s: float = field(metadata=_LABELS_DO_NOT)
    prices: Prices | None = field(metadata=_LABELS_DO_NOT)

    @property
    def decoding(self) -> dict[str, Any]:
        """The fields of a request's body beside the model and the messages.

        Raises: JudgeUnknown: `extra` sets one that is not its to set.
        """
        if taken := sorted(_OURS & self.extra.keys()):
            raise JudgeUnknown(f"the judge's extra fields set {', '.join(taken)}, which the house sets; take it out")
        body = {"temperature": 0, "max_tokens": self.max_tokens, **self.extra}
        for name in _LONGEST:
            if body.get(name) is not None and not (type(body[name]) is int and body[name] >= 1):
                raise JudgeUnknown(
                    f"the judge's extra field {name!r} is {body[name]!r}, expected a whole number of 1 or more, or null"
                )
        return {name: value for name, value in body.items() if value is not None}

    @property
    def longest_answer(self) -> int | None:
        """The most tokens that an answer may have, as the request has it; None if it has it not."""
        return max((self.decoding[name] for name in _LONGEST if name in self.decoding), default=None)

    @property
    def identity(self) -> dict[str, Any]:
        """All of it that the labels depend on."""
        return {
            "base_url": self.shown_url,
            "model": self.model,
            "revision": self.revision,
            "decoding": self.decoding,
        }

    @property
    def shown_url(self) -> str:
        """The base URL without a slash at its end.

        Raises: JudgeUnknown: it is no http URL, or has a part in which a secret may stand, which is not shown.
        """
        given = self.base_url.strip()
        try:
            url = httpx.URL(given)
        except (httpx.InvalidURL, UnicodeError):
            url = httpx.URL("")
        if "@" in given or "?" in given or "#" in given:
            raise JudgeUnknown(
                "the judge's base URL has a user, a query or a fragment, where a secret may stand; write"
                " http://host:port/v1, and give the key as the API key"
            )
        if url.scheme not in ("http", "https") or not url.host or " " in given or (url.port or 1) > _LARGEST_PORT:
            raise JudgeUnknown(f"the judge's base URL {given!r} is no http URL; write http://host:port/v1")
        return given.rstrip("/")
