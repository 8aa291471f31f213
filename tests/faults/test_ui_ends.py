"""The user interface, whatever ends it: nothing it started is left, its port is free, and no run is on for ever."""

import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance, DagsterRunStatus

from eval_pipeline.cli import guard
from tests.faults.conftest import Place, write_corpus

SOON_S = 20.0
# It starts two others, one of which will not end when it is asked to, and says who they are.
STUBBORN = """
import signal, subprocess, sys, time
sleep = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
others = [subprocess.Popen([sys.executable, "-c", sleep], stdout=subprocess.PIPE) for _ in range(2)]
for other in others:
    other.stdout.read(1)
open(sys.argv[1], "w").write(" ".join(str(one.pid) for one in others))
time.sleep(600)
"""
# What `eval-pipeline ui` does, about another program.
PARENT = "import os, sys; from eval_pipeline.cli.guard import run_guarded; print(run_guarded(sys.argv[1:], os.environ))"


def wait_until(holds: Callable[[], Any], what: str, *, within_s: float = SOON_S) -> Any:
    deadline = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


def is_there(pid: int) -> bool:
    """Whether a process is there, and not only its exit status, which nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("ended", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_a_guarded_program_started_ends_with_the_command_whatever_ended_that(
    ended: signal.Signals, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    command = [sys.executable, "-c", PARENT, sys.executable, "-c", STUBBORN, str(said)]
    parent = subprocess.Popen(command, start_new_session=True)
    pids = wait_until(lambda: said.exists() and said.read_text().split(), "nothing was started")
    assert all(is_there(int(pid)) for pid in pids)
    parent.send_signal(ended)
    assert parent.wait(SOON_S) == (-signal.SIGKILL if ended is signal.SIGKILL else 0)
    wait_until(
        lambda: not any(is_there(int(pid)) for pid in pids), "a process is left", within_s=guard.PATIENCE_S + SOON_S
    )


def test_a_guarded_program_that_ends_by_itself_takes_what_it_started_with_it(tmp_path: Path) -> None:
    said = tmp_path / "said"
    program = STUBBORN.rpartition("time.sleep(600)")[0] + "sys.exit(7)"
    command = [sys.executable, "-c", PARENT, sys.executable, "-c", program, str(said)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "7\n"
    assert not any(is_there(int(pid)) for pid in said.read_text().split())


class Slow(http.server.BaseHTTPRequestHandler):
    """A model that takes its time, so that a run is surely on."""

    wait_s = 0.15

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.wait_s)
        body = json.dumps({"choices": [{"message": {"content": "NOT_SUPPORTED"}, "finish_reason": "stop"}]}).encode()
        with contextlib.suppress(ConnectionError):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def slow_model() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def free_port() -> int:
    """A port that the system does not give to outgoing connections."""
    for port in range(21000 + os.getpid() % 9000, 32768):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


def processes_of(home: Path) -> list[int]:
    """Every process with that home in its environment, but for this one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"EVAL_PIPELINE_HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid() and is_there(pid)]


def listening(pids: list[int]) -> set[str]:
    """The addresses on which these processes listen, as the system tells them: in hexadecimal, least byte first."""
    sockets = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                sockets.add(str(descriptor.readlink()))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and f"socket:[{parts[9]}]" in sockets:
                found.add(parts[1])
    return found


def asked(url: str, query: str, **variables: Any) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer).get("data")
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


LOADED = "{ repositoriesOrError { __typename ... on RepositoryConnection { nodes { name } } } }"
LAUNCH = """
mutation Launch($selector: JobOrPipelineSelector!, $config: RunConfigData) {
  launchRun(executionParams: {selector: $selector, runConfigData: $config}) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""


def begun_ui(home: Path, log: Path, **environment: str) -> tuple["subprocess.Popen[bytes]", str]:
    """The user interface, once it has loaded the studies; and its address."""
    port = free_port()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    own = kept | {"EVAL_PIPELINE_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    program = "from eval_pipeline.cli.main import main; main()"
    with log.open("wb") as said:
        ui = subprocess.Popen(
            [sys.executable, "-c", program, "ui", "--port", str(port)], stdout=said, stderr=said, env=own
        )
    url = f"http://127.0.0.1:{port}"

    def loaded() -> Any:
        assert ui.poll() is None, log.read_text()
        return ((asked(url, LOADED) or {}).get("repositoriesOrError") or {}).get("nodes")

    wait_until(loaded, "the user interface did not come up", within_s=120)
    return ui, url


def test_with_its_web_server_killed_and_a_run_on_it_ends_whole_and_leaves_no_run_that_is_on_for_ever(
    place: Place, new_folder: Callable[[str], Path], slow_model: str
) -> None:
    """It listens on loopback alone while it lives; afterwards the journal of the run spares the next one its calls."""
    home, out, log = new_folder("ui"), new_folder("out"), new_folder("log") / "log"
    corpus = home / "corpus"
    write_corpus(corpus, notes=12)
    judge = {"EVAL_PIPELINE_JUDGE_BASE_URL": slow_model, "EVAL_PIPELINE_JUDGE_MODEL": "slow"}
    ui, url = begun_ui(home, log, **judge, EVAL_PIPELINE_JUDGE_IN_FLIGHT="1")
    try:
        addresses = listening(processes_of(home))
        assert f"0100007F:{int(url.rpartition(':')[2]):04X}" in addresses
        assert all(address.startswith("0100007F:") for address in addresses)
        inputs = {"corpus": str(corpus), "plan": str(place.folder / "plan.toml"), "judge": "chat", "out": str(out)}
        names = {"repositoryName": "__repository__", "repositoryLocationName": "eval_pipeline", "jobName": "extraction"}
        config = {"resources": {"inputs": {"config": inputs}}}
        run_id = asked(url, LAUNCH, selector=names, config=config)["launchRun"]["run"]["runId"]
        journals = wait_until(lambda: list((home / "journals").glob("*/*.jsonl")), "no run is on", within_s=90)
        wait_until(lambda: journals[0].read_bytes().count(b"\n") > 8, "nothing is judged", within_s=60)
        (web_server,) = [
            pid for pid in processes_of(home) if b"dagster_webserver" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        os.kill(web_server, signal.SIGKILL)
        assert ui.wait(60) == 1
    finally:
        ui.kill()
        ui.wait(SOON_S)
    assert "eval-pipeline: the user interface has ended by itself (exit status " in log.read_text().splitlines()[-1]
    wait_until(lambda: not processes_of(home), "a process is left", within_s=guard.PATIENCE_S + SOON_S)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", int(url.rpartition(":")[2])))
    given = ["--corpus", corpus, "--plan", place.folder / "plan.toml", "--judge", "chat", "--out", out]
    again = place.begin("run", "extraction", *given, home=home, **judge, EVAL_PIPELINE_JUDGE_IN_FLIGHT="64")
    assert again.wait() in (0, 2, 3), again.said
    assert int(again.said[1].partition(" answers were known")[0].rpartition(" ")[2]) >= 8
    with DagsterInstance.from_config(str(home / "dagster")) as instance:
        assert [run.run_id for run in instance.get_runs() if not run.is_finished] == []
        ended = instance.get_run_by_id(run_id)
        assert ended is not None
        assert ended.status in (DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)


def test_a_port_that_is_taken_is_one_sentence(place: Place, new_folder: Callable[[str], Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = place.begin("ui", "--port", str(port), home=new_folder("ui"))
        assert run.wait() == 1
    assert run.said[1] == (
        f"eval-pipeline: nothing can listen on 127.0.0.1:{port} (Address already in use); name another address or port"
        " with --host and --port\n"
    )
