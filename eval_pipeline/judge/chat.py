"""The judge behind an OpenAI-compatible chat endpoint; the only place of the house that talks to a model."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import httpx

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.completion import (
    AGAIN_STATUS,
    BUSY_STATUS,
    Completion,
    UnreadableBody,
    completion_of,
    event_of,
    forms_of,
    message_of,
    retry_after_s,
    says_no_quota,
    without_secret,
)
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.limit import LiveLimit
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.protocol import PROBE
from eval_pipeline.judge.spending import NOTHING, Meter, Spending, Tokens, estimated
from eval_pipeline.judge.transport import AiohttpTransport
from eval_pipeline.records import Answer, NoLabel, Question

PROBE_ATTEMPTS = 4
PROBE_TIMEOUT_S = 60.0
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
IN_VAIN_AT_LEAST, IN_VAIN_ROUNDS = 10, 2  # so many questions in a row, or rounds of all in flight: the judge is down

_FINAL_STATUS = {
    400: "refuses the request",
    401: "refuses the key",
    403: "forbids the model to this key",
    404: "is not there",
}
_PUT_AGAIN = frozenset({NoLabel.UNPARSABLE, NoLabel.CUT_OFF})
_NO_ANSWER = frozenset({NoLabel.FAILED, NoLabel.TIMED_OUT})


class ChatJudge:
    """Asks again after a fault that may pass, and once more after an answer that cannot be read.

    What cannot pass ends the run, and so does a judge that has stopped to answer. A question is never sent more than
    `attempts` times, whatever befalls it.
    """

    kind = "chat"

    def __init__(self, endpoint: Endpoint, prompt: Prompt, *, attempts: int, meter: Meter) -> None:
        self._endpoint = endpoint
        self._prompt = prompt
        self._attempts = attempts
        self._meter = meter
        self._limit = LiveLimit(endpoint.in_flight)
        self._jitter = random.Random()  # noqa: S311  # spreads the retries of all processes; no result depends on it
        self._transport = AiohttpTransport(connections=endpoint.in_flight)
        self._last_fault = ""
        self._in_vain = 0
        self._shown_url = endpoint.shown_url
        self._url = httpx.URL(f"{self._shown_url}/chat/completions")
        self._longest = endpoint.longest_answer or endpoint.max_tokens
        self._headers = _headers(endpoint.api_key)
        self._secret = forms_of(endpoint.api_key)
        self._body = {"model": endpoint.model, **endpoint.decoding}
        self._identity = {
            "kind": self.kind,
            **endpoint.identity,
            "prompt": {"id": prompt.id, "sha256": prompt.hash},
        }

    @property
    def in_flight(self) -> int:
        """As the endpoint was configured."""
        return self._endpoint.in_flight

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that the labels depend on, and not the key, the time limits or the number in flight."""
        return self._identity

    @property
    def longest_answer(self) -> int:
        """The most tokens that an answer of it may have, as far as that was said."""
        return self._longest

    @property
    def spending(self) -> Spending:
        """What was spent so far, by all judges on its meter."""
        return self._meter.spending

    async def probe(self) -> Answer | None:
        """The answer to one small question; any that can be read as a completion will do."""
        answer = await self._answer(PROBE, self._patience(min(PROBE_ATTEMPTS, self._attempts), PROBE_TIMEOUT_S))
        if answer.no_label in _NO_ANSWER:
            raise JudgeDown(
                f"the judge at {self._shown_url} gave no answer to a probe (last: {self._last_fault}); start it, or"
                " correct the base URL"
            )
        return answer

    async def answer(self, question: Question) -> Answer:
        """The model's words, or why there are none after the last attempt.

        Raises: JudgeDown: the endpoint refuses to serve, or one question after the other came to nothing.
        """
        answer = await self._answer(question, self._patience(self._attempts, self._endpoint.attempt_timeout_s))
        self._in_vain = self._in_vain + 1 if answer.no_label in _NO_ANSWER else 0
        if self._in_vain >= max(IN_VAIN_AT_LEAST, IN_VAIN_ROUNDS * self.in_flight):
            raise JudgeDown(
                f"the judge at {self._shown_url} gave no answer to {self._in_vain} questions in a row (last:"
                f" {self._last_fault}); mend it and run again, what was judged is kept"
            )
        return answer

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()

    def _is_settled(self, answer: Answer) -> bool:
        """Whether putting the question again could add nothing: it has a label, or none for another reason."""
        if answer.no_label is None:
            return self._prompt.read(answer.raw or "") is not None
        return answer.no_label not in _PUT_AGAIN

    def _patience(self, attempts: int, timeout_s: float) -> "_Patience":
        return _Patience(attempts, timeout_s, time.monotonic() + self._endpoint.total_timeout_s)

    async def _answer(self, question: Question, patience: "_Patience") -> Answer:
        first = await self._ask(question, self._prompt.system, patience)
        if self._prompt.reminder is None or self._is_settled(first):
            return first
        left = replace(patience, attempts=patience.attempts - first.attempts)
        if not left.attempts or not left.left_s:
            return first
        second = await self._ask(question, f"{self._prompt.system} {self._prompt.reminder}", left)
        return replace(
            second,
            attempts=first.attempts + second.attempts,
            latency_s=first.latency_s + second.latency_s,
            tokens=_sum(first.tokens, second.tokens),
            unread=first.raw or "",
        )

    async def _ask(self, question: Question, system: str, patience: "_Patience") -> Answer:
        started = time.monotonic()
        turn, last, attempt = self._prompt.turn(question), NoLabel.TIMED_OUT, 0
        expected = estimated(system, turn, completion=self._longest)
        while attempt < patience.attempts and await self._permitted(patience):
            attempt += 1
            wait_s, timeout_s = 0.0, min(patience.timeout_s, patience.left_s)
            try:
                reply = await self._send(system, turn, timeout_s, expected)
                latency_s = time.monotonic() - started
                if isinstance(reply, Completion):
                    tokens = reply.tokens.total if reply.tokens else None
                    return Answer(reply.raw, reply.no_label, attempt, latency_s, tokens)
                if reply.status_code not in AGAIN_STATUS:
                    return Answer(None, self._event_in(reply), attempt, latency_s, None)
                self._stop_without_quota(reply)
                last, wait_s = NoLabel.FAILED, retry_after_s(reply)
                self._last_fault = f"HTTP {reply.status_code}"
            except TimeoutError:
                last, self._last_fault = NoLabel.TIMED_OUT, f"nothing within {timeout_s:g} s"
            except UnreadableBody:
                last, self._last_fault = NoLabel.FAILED, "a success without a completion in it"
            except (httpx.RequestError, aiohttp.ClientError, UnicodeError) as error:
                last, self._last_fault = NoLabel.FAILED, _fault_of(error)
            # What was asked for, and then some: those who were sent away together must not come back together.
            wait_s = min(wait_s, LONGEST_WAIT_S) + self._backoff_s(attempt)
            if attempt == patience.attempts or wait_s >= patience.left_s:
                break
            await asyncio.sleep(wait_s)
        return Answer(None, last, attempt, time.monotonic() - started, None)

    async def _permitted(self, patience: "_Patience") -> bool:
        """Whether a permit to send one more request came before all patience was at its end."""
        if not patience.left_s:
            return False
        if self._limit.take_at_once():
            return True
        try:
            async with asyncio.timeout(patience.left_s):
                await self._limit.take()
        except TimeoutError:
            return False
        return True

    async def _send(self, system: str, turn: str, timeout_s: float, expected: Tokens) -> Completion | httpx.Response:
        """What comes back within the time: a completion, or a response that holds none. Gives the permit back.

        What a request without an answer cost is not known, and counts as what was expected; a refused one is free.

        Raises: UnreadableBody: success, but no completion in it. TimeoutError, aiohttp.ClientError: see `_ask`.
        """
        try:
            aside = await self._meter.set_aside(expected)
        except BaseException:
            self._limit.put_back()
            raise
        used, busy = expected, False
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._post(system, turn)
            if response.status_code == httpx.codes.OK:
                completion = without_secret(completion_of(response.content), self._secret)
                used = completion.tokens or expected
                return completion
            used, busy = NOTHING, response.status_code in BUSY_STATUS
            return response
        except aiohttp.ClientConnectorError:
            used = NOTHING
            raise
        finally:
            self._meter.settle(aside, used)
            self._limit.give_back(busy=busy)

    async def _post(self, system: str, turn: str) -> httpx.Response:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": turn}]
        content = json.dumps({**self._body, "messages": messages}, ensure_ascii=False).encode()
        # Straight to the transport: what the client of httpx does about cookies and redirects costs more than a call.
        return await self._transport.handle_async_request(
            httpx.Request("POST", self._url, headers=self._headers, content=content)
        )

    def _backoff_s(self, attempt: int) -> float:
        return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1)) * self._jitter.random()

    def _event_in(self, response: httpx.Response) -> NoLabel:
        """What a response that asking again would not change says of the question.

        Raises: JudgeDown: it says that the endpoint refuses to serve.
        """
        if event := event_of(response.status_code, response.content):
            return event
        raise JudgeDown(
            f"the judge at {self._shown_url} {_FINAL_STATUS.get(response.status_code, 'cannot serve this')}"
            f" (HTTP {response.status_code}: {message_of(response.content, secret=self._endpoint.api_key)});"
            " correct its base URL, model or key"
        )

    def _stop_without_quota(self, response: httpx.Response) -> None:
        if says_no_quota(response.content):
            raise JudgeDown(
                f"the judge at {self._shown_url} says that the quota is used up (HTTP {response.status_code});"
                " raise it and run again, what was judged is kept"
            )


@dataclass(frozen=True, slots=True)
class _Patience:
    """How often a question may still be sent, how long one attempt may take, and when all of them end."""

    attempts: int
    timeout_s: float
    ending: float

    @property
    def left_s(self) -> float:
        """What is left for all of them."""
        return max(0.0, self.ending - time.monotonic())


def _headers(api_key: str) -> httpx.Headers:
    """What every request carries.

    Raises: JudgeDown: the key cannot be sent; it is not shown.
    """
    if not (api_key.isascii() and api_key.isprintable()):
        raise JudgeDown("the judge's API key holds a line end or another mark that no header can hold; set it again")
    headers = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate", "Content-Type": "application/json"}
    return httpx.Headers(headers | ({"Authorization": f"Bearer {api_key}"} if api_key else {}))


def _fault_of(error: Exception) -> str:
    """What kept a request from its answer, in words that show no secret."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "a certificate that nobody vouches for"
    if isinstance(error, (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError, aiohttp.InvalidURL)):
        return "a proxy of the environment that cannot be used"
    return "no connection, or one that broke"


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)
