"""The floor: encoded bytes over one connection a worker; no library, no task, and no JSON in the timed section."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import SplitResult, urlsplit

from job import AskAll, Body, Job, take, word_of


class _Round:
    """The requests that are still to be sent, and the bodies of those that came back."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        self.queue: Iterator[tuple[int, bytes]] = iter(enumerate(requests))
        self.bodies = [b""] * len(requests)
        self.waited_for = len(requests)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Connection(asyncio.Protocol):
    """Sends the next request when an answer is whole."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def begin(self, work: _Round) -> None:
        self._work = work
        self._next()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, ended, body = self._received.partition(b"\r\n\r\n")
        if not ended:
            return
        length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._received = b""
        self._work.bodies[self._place] = body
        self._work.waited_for -= 1
        if not self._work.waited_for:
            self._work.done.set_result(None)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._work.done.done():
            self._work.done.set_exception(exc or ConnectionError("the server closed a connection"))

    def close(self) -> None:
        self._transport.close()

    def _next(self) -> None:
        following = next(self._work.queue, None)
        if following:
            self._place, request = following
            self._transport.write(request)


def _encoded(body: Body, url: SplitResult) -> bytes:
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    head = f"POST {url.path}/chat/completions HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def _read(body: str) -> str:
    return word_of(json.loads(body))


@asynccontextmanager
async def client(job: Job) -> AsyncIterator[AskAll]:
    """A connection a worker; all requests are encoded before the first is sent."""
    loop = asyncio.get_running_loop()
    url = urlsplit(job.url)
    encoded = {id(body): _encoded(body, url) for body in (*job.warm_up, *job.timed)}
    connections = [
        (await loop.create_connection(_Connection, url.hostname or "", url.port or 80))[1] for _ in range(job.in_flight)
    ]

    async def ask_all(bodies: Sequence[Body]) -> list[str]:
        work = _Round([encoded[id(body)] for body in bodies])
        for connection in connections:
            connection.begin(work)
        await work.done
        return [body.decode() for body in work.bodies]

    yield ask_all
    for connection in connections:
        connection.close()


if __name__ == "__main__":
    take(client, "", _read)
