"""A small OpenAI-compatible chat endpoint on loopback, fast enough to be no part of what judging.py measures.

Every answer comes after the same latency: SUPPORTED if at least four in five words of the hypothesis stand in the
premise. Prints its base URL when it listens, and ends when its standard input does.
"""

import argparse
import asyncio
import json
import sys

SHARE_IN_COMMON = 0.8
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 411: "Length Required"}


def verdict(premise: str | list[str], hypothesis: str) -> str:
    """The answer to a question, by words in common."""
    found = set((premise if isinstance(premise, str) else " ".join(premise)).lower().split())
    words = hypothesis.lower().split()
    return "SUPPORTED" if sum(word in found for word in words) >= SHARE_IN_COMMON * len(words) else "NOT_SUPPORTED"


def completion(request: bytes) -> bytes:
    """The body of an answer to the body of a request.

    Raises: ValueError, KeyError, IndexError, TypeError: the request holds no question.
    """
    asked = json.loads(request)
    question = json.loads(asked["messages"][-1]["content"])
    message = {"role": "assistant", "content": verdict(question["premise"], question["hypothesis"])}
    prompt_tokens = len(request) // 4
    return json.dumps(
        {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 2, "total_tokens": prompt_tokens + 2},
        }
    ).encode()


class Connection(asyncio.Protocol):
    """One keep-alive connection, whose requests hold a Content-Length and come one after the other."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._loop = asyncio.get_running_loop()
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answers each request that is whole."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head, start = self._received[:end].lower(), end + 4
            _, named, after = head.partition(b"\r\ncontent-length:")
            if not named and head.startswith(b"post "):
                self._answer(411, b"{}")
            length = int(after.partition(b"\r\n")[0]) if named else 0
            if len(self._received) < start + length:
                return
            body, self._received = self._received[start : start + length], self._received[start + length :]
            if named:
                self._serve(head, body)

    def _serve(self, head: bytes, body: bytes) -> None:
        if b"/chat/completions http/" not in head:
            self._answer(404, b"{}")
            return
        try:
            answer = completion(body)
        except (ValueError, KeyError, IndexError, TypeError):
            self._answer(400, b"{}")
            return
        self._loop.call_later(self._latency_s, self._answer, 200, answer)

    def _answer(self, status: int, body: bytes) -> None:
        head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self._transport.write(head.encode() + b"\r\n\r\n" + body)


async def serve(latency_s: float, port: int) -> None:
    """Serves until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency_s), "127.0.0.1", port, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    async with server:
        await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Reads the latency and the port from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--port", type=int, default=0, help="0 takes one that is free")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.latency_ms / 1000, arguments.port))


if __name__ == "__main__":
    main()
