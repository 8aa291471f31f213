"""A small chat endpoint on the loopback that says what a test tells it to, and small judges that are not models."""

import asyncio
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from eval_pipeline.judge import chat
from eval_pipeline.judge.chat import ChatJudge
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.journal import Head
from eval_pipeline.judge.prompt import Prompt, prompt_named
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.judge.spending import Caps, Meter
from eval_pipeline.records import Answer, NoLabel, Question

DRIP_S = 0.03
NO_CAPS = Caps()
SETTINGS: Mapping[str, Any] = {
    "model": "m",
    "revision": "",
    "max_tokens": 8,
    "extra": {},
    "api_key": "",
    "in_flight": 4,
    "attempt_timeout_s": 10.0,
    "total_timeout_s": 30.0,
    "prices": None,
}


@dataclass(frozen=True)
class Request:
    """What arrived: when, with which headers (names in lower case), and the body as JSON."""

    at: float
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def question(self) -> dict[str, Any]:
        return json.loads(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Reply:
    """What goes back, with these headers beside the usual, or without those that are None.

    `sent` "cut" ends in the middle of the body, "reset" sends nothing, "drip" a byte at a time.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str | None] = field(default_factory=dict)
    delay_s: float = 0.0
    sent: Literal["whole", "cut", "reset", "hung up", "drip", "not http"] = "whole"

    def as_bytes(self) -> bytes:
        head = {"Content-Type": "application/json", "Content-Length": str(len(self.body)), **self.headers}
        shown = [f"{name}: {value}" for name, value in head.items() if value is not None]
        lines = [f"HTTP/1.1 {self.status} Said", *shown]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


class ChatServer:
    """Answers POST {url}/chat/completions by `script`, in a thread of its own, and remembers what it was asked."""

    def __init__(self) -> None:
        self.script: Callable[[int, Request], Reply] = lambda number, request: Reply(500)
        self.requests: list[Request] = []
        self.connections = self.connections_open = 0
        self.in_flight = self.most_in_flight = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls))
        self.host = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self.url = f"{'https' if tls else 'http'}://{self.host}/v1"

    def stop(self) -> None:
        async def end() -> None:
            self._server.close()
            serving = asyncio.all_tasks() - {asyncio.current_task()}
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)

        self._do(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def in_turn(self, *replies: Reply) -> None:
        """Each request gets the next reply, and those after the last get the last."""
        self.script = lambda number, request: replies[min(number, len(replies) - 1)]

    def waits_s(self) -> list[float]:
        """The times between the requests."""
        return [later.at - sooner.at for sooner, later in zip(self.requests, self.requests[1:], strict=False)]

    def open_after(self, *, at_most_s: float) -> int:
        """The connections that are still open when none is, or when the time is over."""
        until = time.monotonic() + at_most_s
        while self.connections_open and time.monotonic() < until:
            time.sleep(0.01)
        return self.connections_open

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(5)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.connections_open += 1
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.connections_open -= 1
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(time.monotonic(), head[0].split(" ")[1], headers, json.loads(body or b"null"))
        self.requests.append(request)
        reply = self.script(len(self.requests) - 1, request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(reply.delay_s)
        finally:
            self.in_flight -= 1
        return await self._send(reply, writer)

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        if reply.sent == "reset":
            linger = struct.pack("ii", 1, 0)  # on, for no time: the peer sees a reset and not an end
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        elif reply.sent == "not http":
            writer.write(b"220 mail.example ESMTP ready\r\n\r\n")
        elif reply.sent == "cut":
            writer.write(reply.as_bytes()[: -len(reply.body) // 2])
        elif reply.sent == "drip":
            for byte in reply.as_bytes():
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(DRIP_S)
        elif reply.sent == "whole":
            writer.write(reply.as_bytes())
            await writer.drain()
        return reply.sent == "whole"


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine stands before a server on the loopback."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server(no_proxy: None) -> Iterator[ChatServer]:
    """A chat endpoint that runs for one test."""
    server = ChatServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def tls_server(no_proxy: None) -> Iterator[Callable[[ssl.SSLContext], ChatServer]]:
    """A chat endpoint behind TLS that runs for one test."""
    server = ChatServer()

    def started(tls: ssl.SSLContext) -> ChatServer:
        server.start(tls)
        return server

    yield started
    server.stop()


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def completion() -> Callable[..., Reply]:
    """A completion with this content, as an endpoint gives it."""

    def completion(
        content: str | None,
        *,
        finish_reason: str = "stop",
        tokens: int = 40,
        usage: Mapping[str, int] | None = None,
        **more: Any,
    ) -> Reply:
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
        used = {"total_tokens": tokens} if usage is None else usage
        body = {"id": "c", "object": "chat.completion", "choices": [choice], "usage": used}
        return Reply(body=json.dumps(body).encode(), **more)

    return completion


@pytest.fixture
def problem() -> Callable[..., Reply]:
    """An error as an endpoint words it."""

    def problem(status: int, message: str, *, code: str | None = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Reply(status, json.dumps({"error": {"message": message, "code": code}}).encode(), named)

    return problem


@pytest.fixture
def endpoint_at() -> Callable[..., Endpoint]:
    """An endpoint as the tests set it, but for these changes."""
    return lambda base_url, **changes: Endpoint(**SETTINGS | {"base_url": base_url} | changes)


@pytest.fixture
def chat_at(endpoint_at: Callable[..., Endpoint]) -> Callable[..., ChatJudge]:
    """A judge behind that endpoint; one that is not `probed` is said to be up, and the server sees questions alone."""

    async def no_probe() -> None:
        return

    def chat_at(
        base_url: str,
        *,
        prompt: Prompt | None = None,
        attempts: int = 3,
        caps: Caps = NO_CAPS,
        probed: bool = True,
        **changes: Any,
    ) -> ChatJudge:
        endpoint = endpoint_at(base_url, **changes)
        meter = Meter(caps, endpoint.prices)
        judge = ChatJudge(endpoint, prompt or prompt_named("nli-v1"), attempts=attempts, meter=meter)
        if not probed:
            judge.probe = no_probe
        return judge

    return chat_at


@pytest.fixture
def answers_of() -> Callable[..., list[Answer]]:
    """What a judge answers to these questions, one after the other; it is closed afterwards."""

    def answers_of(judge: Judge, *questions: Question) -> list[Answer]:
        async def ask() -> list[Answer]:
            try:
                return [await judge.answer(question) for question in questions]
            finally:
                await judge.close()

        return asyncio.run(ask())

    return answers_of


@pytest.fixture
def head_of() -> Callable[..., Head]:
    """What a run of that name, with that judge, writes at the head of its journal."""
    return lambda judge, run="run": Head(run=run, judge=dict(judge.identity), plan={"study": "s", "seed": 1})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The client's waits, shortened so that a test can wait for them."""
    monkeypatch.setattr(chat, "FIRST_WAIT_S", 0.001)
    return monkeypatch


class ScriptedJudge:
    """Answers by a function of the question, after a while; knows what it was asked."""

    in_flight = 4

    def __init__(
        self,
        name: str,
        answer: Callable[[Question], str | NoLabel | Exception],
        *,
        takes_s: float = 0.0,
        kind: str = "scripted",
    ) -> None:
        self.kind = kind
        self.identity = {"kind": kind, "name": name}
        self.asked: list[Question] = []
        self._answer = answer
        self._takes_s = takes_s

    async def probe(self) -> None:
        return

    async def close(self) -> None:
        return

    async def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        await asyncio.sleep(self._takes_s)
        said = self._answer(question)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, NoLabel):
            return Answer(None, said, attempts=2, latency_s=self._takes_s, tokens=None)
        return Answer(said, None, attempts=1, latency_s=self._takes_s, tokens=40)


@pytest.fixture
def scripted() -> Callable[..., ScriptedJudge]:
    """A judge that gives this answer, or what this function makes of the question."""

    def scripted(
        name: str, answer: str | NoLabel | Exception | Callable[[Question], str | NoLabel | Exception], **more: Any
    ) -> ScriptedJudge:
        return ScriptedJudge(name, answer if callable(answer) else lambda question: answer, **more)

    return scripted


@pytest.fixture
def questions() -> Callable[[int], Sequence[Question]]:
    """So many questions, no two of them alike."""
    return lambda count: [Question(f"e{n}", f"Premise {n}.", f"Hypothesis {n}.") for n in range(count)]
