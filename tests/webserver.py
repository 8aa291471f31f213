"""Dagster's web server as a process of its own: a port for it, and questions to it once it is up."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

READY_S = 90


@dataclass(frozen=True)
class Server:
    """A web server of Dagster."""

    url: str

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The answer to a GraphQL query."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        asked = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
        assert "errors" not in found, found
        data: dict[str, Any] = found["data"]
        return data


def free_port() -> int:
    """A port that the system does not give to outgoing connections."""
    for port in range(20000 + os.getpid() % 10000, 32768):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


# A shell that starts tests in the background has them ignore both signals, and what they start would inherit that.
AS_ALONE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
from eval_pipeline.cli.main import main
main()
"""


_LOADED = "{ repositoriesOrError { __typename ... on RepositoryConnection { nodes { name location { name } } } } }"


def wait_until_loaded(server: Server, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Returns once the definitions are loaded; the test fails with what the server said if they are not in time."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if server.ask(_LOADED)["repositoriesOrError"].get("nodes"):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.2)
    pytest.fail(f"the user interface did not come up:\n{log.read_text(errors='replace')[-3000:]}")
