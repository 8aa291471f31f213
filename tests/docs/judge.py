"""A judge behind an endpoint on the loopback: by words in common, under each prompt that there is."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def judge_served() -> Iterator[str]:
    """The base URL of the judge, while it answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = _said(json.loads(asked["messages"][-1]["content"]))
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        data = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def _said(asked: dict[str, Any]) -> str:
    if "constraints" in asked:
        return json.dumps({"judgment": "NOT_VIOLATED"})
    if "claim" in asked:
        carried = _share_found(asked["claim"], [asked["excerpt"] or ""]) > 0.5
        return json.dumps({"judgment": "SUPPORTED" if carried else "UNSUPPORTED"})
    premises = [asked["premise"]] if isinstance(asked["premise"], str) else asked["premise"]
    return "SUPPORTED" if _share_found(asked["hypothesis"], premises) > 0.5 else "NOT_SUPPORTED"


def _share_found(claim: str, texts: list[str]) -> float:
    """The largest share of the claim's words that one of the texts holds."""
    wanted = set(claim.lower().split())
    return max((len(wanted & set(text.lower().split())) / len(wanted) for text in texts), default=0.0)
