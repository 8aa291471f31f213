"""A receiver of alerts on loopback, which keeps what it is sent and answers as it is told."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Receiver:
    """What was posted: the bodies in their order, and the key of each; `status` is what the next post is answered."""

    status: int = 200
    taken: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""

    def events(self) -> list[tuple[str, str]]:
        """What was taken, as its event and the check that it is about."""
        return [(body["event"], body["check"]) for body in self.taken]


@contextlib.contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """A receiver while the block is on."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            taken = 200 <= receiver.status < 300
            (receiver.taken if taken else receiver.refused).append(body)
            if taken:
                receiver.keys.append(self.headers["Idempotency-Key"])
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook-4e1f7c"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
