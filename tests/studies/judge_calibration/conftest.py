"""The plans, the composition that the first version of this calibration was measured with, and a judge over HTTP."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from eval_pipeline.plan import read_plan
from eval_pipeline.studies.judge_calibration.gold import GoldSet
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from tests.studies.judge_calibration.made_up import ROOT, composed


@pytest.fixture(scope="session")
def canonical() -> GoldSet:
    """The 25 tuples of the first version of this calibration, by their number."""
    return composed(
        {"SUPPORTED": 5, "UNSUPPORTED": 8, "AMBIGUOUS": 3, "RETRIEVAL_FAILED": 1},
        {"VIOLATED": 5, "NOT_VIOLATED": 3},
        partial=5,
    )


@pytest.fixture(scope="session")
def compat() -> CalibrationPlan:
    return read_plan(ROOT / "data" / "plans" / "judge-calibration_compat.toml", CalibrationPlan)


@pytest.fixture(scope="session")
def shipped() -> CalibrationPlan:
    return read_plan(ROOT / "data" / "plans" / "judge-calibration.toml", CalibrationPlan)


@dataclass
class ClaimsEndpoint:
    """A chat endpoint on the loopback.

    `says` gives the content of an answer to a turn, by the system text and it, or the HTTP status of a refusal. Each
    answer costs `tokens`, all of them of the prompt.
    """

    says: Callable[[str, dict[str, Any]], str | int]
    url: str = ""
    tokens: int = 40
    turns: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


@pytest.fixture
def endpoint_of(monkeypatch) -> Iterator[Callable[..., ClaimsEndpoint]]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    servers = []

    def started(says) -> ClaimsEndpoint:
        endpoint = ClaimsEndpoint(says)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                system, user = (message["content"] for message in body["messages"])
                endpoint.turns.append((system, json.loads(user)))
                said = endpoint.says(*endpoint.turns[-1])
                message = {"role": "assistant", "content": said}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                data = json.dumps({"choices": [choice], "usage": {"total_tokens": endpoint.tokens}}).encode()
                self.send_response(said if isinstance(said, int) else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                """Nothing: the tests read `turns`."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
        return endpoint

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()
