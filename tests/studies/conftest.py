"""A chat endpoint on the loopback, judges behind it, and the command line in this process or in its own."""

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.cli import main as cli
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import PROBE, Judge
from eval_pipeline.judge.registry import judge_named
from eval_pipeline.judge.spending import Caps
from eval_pipeline.records import Question
from tests.begun import Begun, begin
from tests.history import kept_in_memory

PROJECT = Path(__file__).resolve().parents[2]
MAIN = "from eval_pipeline.cli.main import main; main()"
NO_CAPS = Caps()
NO_ENTRY = ""  # no request says which entry it is about
_IN_MEMORY = "event_log_storage: {module: dagster._core.storage.event_log, class: InMemoryEventLogStorage}\n"


@dataclass(frozen=True)
class Request:
    """What arrived: when, for which model, with how many tokens for the answer, and the question in it."""

    at: float
    model: str
    max_tokens: int
    question: Question

    @property
    def is_probe(self) -> bool:
        return (self.question.premise, self.question.hypothesis) == (PROBE.premise, PROBE.hypothesis)


@dataclass(frozen=True)
class Fault:
    """A refusal of a request, as an endpoint words it."""

    status: int
    message: str


def _supported(request: Request) -> str | Fault:
    return "SUPPORTED"


class ChatEndpoint:
    """Answers what `says` gives, `takes_s` after it was asked, in a thread of its own; keeps what it was asked.

    `tokens` are those of the prompt and of the completion that it counts; None counts none.
    """

    def __init__(self) -> None:
        self.says: Callable[[Request], str | Fault] = _supported
        self.takes_s = 0.0
        self.tokens: tuple[int, int] | None = None
        self.requests: list[Request] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def asked(self) -> list[Question]:
        """The questions without the probe."""
        return [request.question for request in self.requests if not request.is_probe]

    def forget(self) -> None:
        """Forgets what it was asked."""
        self.requests.clear()

    def start(self) -> None:
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

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

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(5)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                await self._serve_one(reader, writer)
        writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        request = _request(json.loads(await reader.readexactly(length)))
        self.requests.append(request)
        said = self.says(request)
        await asyncio.sleep(self.takes_s)
        status, body = (said.status, _error(said)) if isinstance(said, Fault) else (200, self._completion(said))
        data = json.dumps(body).encode()
        writer.write(b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\n" % status)
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        await writer.drain()

    def _completion(self, content: str) -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        if self.tokens is None:
            return {"choices": [choice]}
        prompt, completion = self.tokens
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        return {"choices": [choice], "usage": usage}


def _request(body: dict[str, Any]) -> Request:
    asked = json.loads(body["messages"][-1]["content"])
    premise = asked["premise"] if isinstance(asked["premise"], str) else tuple(asked["premise"])
    question = Question(NO_ENTRY, premise, asked["hypothesis"])
    return Request(time.time(), body["model"], body["max_tokens"], question)


def _error(fault: Fault) -> dict[str, Any]:
    return {"error": {"message": fault.message, "code": None}}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatEndpoint]:
    """A chat endpoint that runs for one test; no proxy of the machine stands before it."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    endpoint = ChatEndpoint()
    endpoint.start()
    yield endpoint
    endpoint.stop()


@pytest.fixture(scope="session")
def fault() -> type[Fault]:
    """The class of a refusal by the endpoint."""
    return Fault


@pytest.fixture
def chat_judge(endpoint: ChatEndpoint) -> Callable[..., Judge]:
    """A judge behind that endpoint."""
    settings: dict[str, Any] = {
        "base_url": endpoint.url,
        "model": "m",
        "revision": "",
        "max_tokens": 8,
        "extra": {},
        "api_key": "",
        "in_flight": 4,
        "attempt_timeout_s": 20.0,
        "total_timeout_s": 60.0,
        "prices": None,
    }

    def judge(*, prompt: str = "nli-v1", attempts: int = 6, caps: Caps = NO_CAPS, **changes: Any) -> Judge:
        there = Endpoint(**settings | changes)
        return judge_named("chat", prompt_named(prompt), there, attempts=attempts, caps=caps)

    return judge


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def dagster_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history for processes of a module; their log of events is kept in memory, which is faster."""
    folder = tmp_path_factory.mktemp("dagster")
    (folder / "dagster.yaml").write_text((PROJECT / "dagster.yaml").read_text("utf-8") + _IN_MEMORY)
    return folder


@pytest.fixture(scope="module")
def history() -> Iterator[None]:
    """A history in memory for the commands of a module that run in this process."""
    with kept_in_memory():
        yield


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, dagster_folder: Path, history: None, tmp_path: Path, endpoint: ChatEndpoint
) -> Callable[..., Said]:
    """The command line in this process, with a home of its own and the endpoint for its judge `chat`.

    Fields of the endpoint are given by name: `command("run", "extraction", model="other")`.
    """
    for name in [name for name in os.environ if name.startswith(("EVAL_PIPELINE_", "PG"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DAGSTER_HOME", str(dagster_folder))

    def call(*arguments: str | Path, **fields: str) -> Said:
        out, err, status = io.StringIO(), io.StringIO(), 0
        with monkeypatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            patch.setattr(sys, "argv", ["eval-pipeline", *map(str, arguments)])
            for name, value in ({"base_url": endpoint.url, "model": "m"} | fields).items():
                patch.setenv(f"EVAL_PIPELINE_JUDGE_{name.upper()}", value)
            try:
                cli.main()
            except SystemExit as end:
                status = int(end.code or 0)
        return Said(status, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def process(endpoint: ChatEndpoint) -> Callable[..., "subprocess.Popen[str]"]:
    """The command line begun in a process of its own, with the endpoint for its judge `chat`.

    Its history is in `history`, or in its home if none is named.
    """

    def started(
        *arguments: str | Path, home: Path, history: Path | None = None, **fields: str
    ) -> "subprocess.Popen[str]":
        home.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-c", MAIN, *map(str, arguments)],
            cwd=home,
            env=_environment(endpoint, home, history, fields),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


@pytest.fixture
def forked(endpoint: ChatEndpoint, tmp_path: Path) -> Iterator[Callable[..., Begun]]:
    """As `process`, but for the time that a new interpreter takes to import it all; none outlives the test."""
    all_begun: list[Begun] = []

    def started(*arguments: str | Path, home: Path, history: Path | None = None, **fields: str) -> Begun:
        home.mkdir(parents=True, exist_ok=True)
        folder, environment = tmp_path / f"said{len(all_begun)}", _environment(endpoint, home, history, fields)
        all_begun.append(begin(*arguments, folder=folder, cwd=home, environment=environment))
        return all_begun[-1]

    yield started
    for begun in all_begun:
        begun.kill()


def _environment(endpoint: ChatEndpoint, home: Path, history: Path | None, fields: dict[str, str]) -> dict[str, str]:
    judge = {"base_url": endpoint.url, "model": "m"} | fields
    own = {f"EVAL_PIPELINE_JUDGE_{name.upper()}": value for name, value in judge.items()}
    own |= {"EVAL_PIPELINE_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]}
    return own | ({"DAGSTER_HOME": str(history)} if history else {})
