"""The judge behind an OpenAI-compatible chat endpoint; the only place of the house that talks to a model."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import HttpxAiohttpClient
from pydantic import BaseModel, ConfigDict, ValidationError

from eval_pipeline.errors import JudgeDown, JudgeUnknown
from eval_pipeline.judge.prompt import Prompt, user_turn
from eval_pipeline.records import Answer, NoLabel, Question

ATTEMPTS = 6
ATTEMPT_TIMEOUT_S = 120.0
PROBE_ATTEMPTS = 4
PROBE_TIMEOUT_S = 60.0
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0

_FINAL_STATUS = {
    400: "refuses the request",
    401: "refuses the key",
    403: "forbids the model to this key",
    404: "is not there",
}
_AGAIN_STATUS = frozenset({408, 409, 425, 429, *range(500, 600)})
_TOO_LONG = ("context_length_exceeded", "context length", "context size", "too many tokens")
_FILTERED = ("content_filter", "content_policy_violation")
_NO_QUOTA = ("insufficient_quota", "billing_hard_limit_reached")
_PROBE = Question(entry_id="probe", premise="The probe was sent.", hypothesis="The probe was sent.")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model answers and how it is asked. The key is no part of what the judge is, and is never shown.

    `revision` names the weights behind a model name that may move; "" where the server does not say.
    """

    base_url: str
    model: str
    api_key: str = field(repr=False)
    revision: str
    max_tokens: int
    in_flight: int


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    total_tokens: int | None = None


class _Completion(BaseModel):
    model_config = ConfigDict(extra="ignore")
    choices: list[_Choice]
    usage: _Usage | None = None


class ChatJudge:
    """Asks with temperature 0, and again after a fault that may pass; what cannot pass ends the run."""

    kind = "chat"

    def __init__(self, endpoint: Endpoint, prompt: Prompt) -> None:
        self._endpoint = endpoint
        self._prompt = prompt
        self._jitter = random.Random()  # noqa: S311  # spreads the retries of all processes; no result depends on it
        self._client: httpx.AsyncClient | None = None
        self._last_fault = ""
        self._shown_url = _plain_url(endpoint.base_url)

    @property
    def in_flight(self) -> int:
        """As the endpoint was configured."""
        return self._endpoint.in_flight

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that the labels depend on, and not the key, the time limits or the number in flight."""
        return {
            "kind": self.kind,
            "base_url": self._shown_url,
            "model": self._endpoint.model,
            "revision": self._endpoint.revision,
            "prompt": {"id": self._prompt.id, "sha256": self._prompt.hash},
            "decoding": {"temperature": 0, "max_tokens": self._endpoint.max_tokens},
        }

    async def probe(self) -> None:
        """One small question; any answer that can be read as a completion will do."""
        answer = await self._ask(_PROBE, attempts=PROBE_ATTEMPTS, timeout_s=PROBE_TIMEOUT_S)
        if answer.no_label in (NoLabel.FAILED, NoLabel.TIMED_OUT):
            raise JudgeDown(
                f"the judge at {self._shown_url} gave no answer to a probe (last: {self._last_fault}); start it, or"
                " correct the base URL"
            )

    async def answer(self, question: Question) -> Answer:
        """The model's words, or why there are none after the last attempt."""
        return await self._ask(question, attempts=ATTEMPTS, timeout_s=ATTEMPT_TIMEOUT_S)

    async def close(self) -> None:
        """Closes the connections."""
        if self._client:
            await self._client.aclose()
            self._client = None

    async def _ask(self, question: Question, *, attempts: int, timeout_s: float) -> Answer:
        started = time.monotonic()
        last = NoLabel.FAILED
        for attempt in range(1, attempts + 1):
            wait_s = 0.0
            try:
                async with asyncio.timeout(timeout_s):
                    response = await self._post(question)
                if response.status_code not in _AGAIN_STATUS:
                    return self._read(response, attempt, time.monotonic() - started)
                self._stop_without_quota(response)
                last, wait_s = NoLabel.FAILED, _retry_after_s(response)
                self._last_fault = f"HTTP {response.status_code}"
            except TimeoutError:
                last, self._last_fault = NoLabel.TIMED_OUT, f"nothing within {timeout_s:g} s"
            except _UnreadableBody:
                last, self._last_fault = NoLabel.FAILED, "a success without a completion in it"
            except (httpx.RequestError, aiohttp.ClientError, UnicodeError):
                last, self._last_fault = NoLabel.FAILED, "no connection, or one that broke"
            if attempt < attempts:
                backoff_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (attempt - 1)) * self._jitter.random()
                # What was asked for, and then some: those who were sent away together must not come back together.
                await asyncio.sleep(min(wait_s, LONGEST_WAIT_S) + backoff_s)
        return Answer(None, last, attempts, time.monotonic() - started, None)

    async def _post(self, question: Question) -> httpx.Response:
        if self._client is None:
            self._client = self._connected()
        return await self._client.post(
            f"{self._shown_url}/chat/completions",
            timeout=None,  # the whole attempt has one limit, and a server that drips bytes does not get round it
            json={
                "model": self._endpoint.model,
                "messages": [
                    {"role": "system", "content": self._prompt.system},
                    {"role": "user", "content": user_turn(question)},
                ],
                "temperature": 0,
                "max_tokens": self._endpoint.max_tokens,
            },
        )

    def _connected(self) -> httpx.AsyncClient:
        key = self._endpoint.api_key
        if not (key.isascii() and key.isprintable()):
            raise JudgeDown(
                "the judge's API key holds a line end or another mark that no header can hold; set it again"
            )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_connections=self.in_flight, max_keepalive_connections=self.in_flight)
        return HttpxAiohttpClient(headers=headers, limits=limits)

    def _read(self, response: httpx.Response, attempt: int, latency_s: float) -> Answer:
        """The answer in a response that asking again would not change.

        Raises: JudgeDown: the endpoint refuses to serve; _UnreadableBody: success, but no completion in it.
        """
        body = response.text
        if response.status_code != httpx.codes.OK:
            if any(mark in body.lower() for mark in _TOO_LONG):
                return Answer(None, NoLabel.TOO_LONG, attempt, latency_s, None)
            if any(mark in body.lower() for mark in _FILTERED):
                return Answer(None, NoLabel.REFUSED, attempt, latency_s, None)
            raise JudgeDown(
                f"the judge at {self._shown_url} {_FINAL_STATUS.get(response.status_code, 'cannot serve this')}"
                f" (HTTP {response.status_code}: {self._message(body)}); correct its base URL, model or key"
            )
        try:
            completion = _Completion.model_validate_json(body)
            choice = completion.choices[0]
        except (ValidationError, IndexError):
            raise _UnreadableBody from None
        tokens = completion.usage.total_tokens if completion.usage else None
        return Answer(choice.message.content, _why_no_label(choice), attempt, latency_s, tokens)

    def _message(self, body: str) -> str:
        """What the server says of the fault, shortened; a server may repeat the key, and it is taken out again."""
        try:
            error = json.loads(body)["error"]
            text = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError):
            text = body
        if self._endpoint.api_key:
            text = text.replace(self._endpoint.api_key, "(the key)")
        return " ".join(text.split())[:200] or "no message"

    def _stop_without_quota(self, response: httpx.Response) -> None:
        if any(mark in response.text for mark in _NO_QUOTA):
            raise JudgeDown(
                f"the judge at {self._shown_url} says that the quota is used up (HTTP {response.status_code});"
                " raise it and run again, what was judged is kept"
            )


def _plain_url(base_url: str) -> str:
    """The base URL without a slash at its end.

    Raises: JudgeUnknown: it is no http URL, or has a part in which a secret may stand; what may be one is not shown.
    """
    given = base_url.strip()
    try:
        url = httpx.URL(given)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if "@" in given or "?" in given or "#" in given:
        raise JudgeUnknown(
            "the judge's base URL has a user, a query or a fragment, where a secret may stand; write http://host:port/v1,"
            " and give the key as the API key"
        )
    if url.scheme not in ("http", "https") or not url.host:
        raise JudgeUnknown(f"the judge's base URL {given!r} is no http URL; write http://host:port/v1")
    return given.rstrip("/")


class _UnreadableBody(Exception):
    """A success without a completion in it, as a proxy's login page is."""


def _why_no_label(choice: _Choice) -> NoLabel | None:
    if choice.finish_reason == "content_filter" or choice.message.refusal:
        return NoLabel.REFUSED
    if choice.finish_reason == "length":
        return NoLabel.CUT_OFF
    return NoLabel.UNPARSABLE if choice.message.content is None else None


def _retry_after_s(response: httpx.Response) -> float:
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
