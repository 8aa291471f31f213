"""A shell in which a page is run from top to bottom, with our own command line first on its path.

The command is a small program that asks this process for the real one, which is forked where it was imported once.
"""

import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.begun import begin
from tests.docs.pages import Block

_SHIM = """#!{python} -IS
import json, os, socket, sys
asked = {{"arguments": sys.argv[1:], "cwd": os.getcwd(), "environment": dict(os.environ)}}
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    line.sendall(json.dumps(asked).encode() + b"\\n")
    said = json.loads(line.makefile("rb").read())
sys.stdout.write(said["out"])
sys.stdout.flush()
sys.stderr.write(said["err"])
sys.exit(said["status"])
"""
_OWN = (
    "EVAL_PIPELINE_",
    "DAGSTER_",
    "PG",
    "AWS_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http",
    "https",
    "all_proxy",
)


@dataclass
class Call:
    """A command of ours that was run: within which block, and how it ended."""

    block: int
    arguments: tuple[str, ...]
    status: int
    said: str


@dataclass
class Terminal:
    """A folder of its own, where commands are run; `prepare` sees each command of ours before it is run."""

    folder: Path
    environment: Mapping[str, str]
    prepare: Callable[[tuple[str, ...], Path], None]
    calls: list[Call] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, blocks: list[Block]) -> list[str]:
        """Runs the blocks in one shell; what each of them said."""
        said = self.folder.parent / f"said-{self.folder.name}"
        said.mkdir()
        script = "".join(
            f"exec >{said}/{place} 2>&1; export DOCS_BLOCK={place}\n{block.commands}\necho $? >{said}/{place}.status\n"
            for place, block in enumerate(blocks)
        )
        with self._served() as programs:
            environment = {**self._environment(), "PATH": f"{programs}:{os.environ['PATH']}"}
            shell = ["bash", "--norc", "--noprofile", "-c", script]
            subprocess.run(shell, cwd=self.folder, env=environment, check=True, timeout=600, stdin=subprocess.DEVNULL)
        for place, block in enumerate(blocks):
            status = int((said / f"{place}.status").read_text())
            text = (said / str(place)).read_text("utf-8")
            assert status in block.statuses, f"exit status {status} of:\n{block.commands}\n{text}"
        return [(said / str(place)).read_text("utf-8") for place in range(len(blocks))]

    def _environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        return own | {"EVAL_PIPELINE_HOME": str(self.folder / ".home")} | dict(self.environment)

    @contextmanager
    def _served(self) -> Iterator[Path]:
        """The folder of our command, while who asks for it is served."""
        programs = self.folder.parent / f"bin-{self.folder.name}"
        programs.mkdir()
        address = str(programs / "line")
        shim = programs / "eval-pipeline"
        shim.write_text(_SHIM.format(python=sys.executable, address=address))
        shim.chmod(0o755)
        terminal = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(json.dumps(terminal._answer(json.loads(self.rfile.readline()))).encode())

        with socketserver.ThreadingUnixStreamServer(address, Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            yield programs
            server.shutdown()
            thread.join()

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        arguments, environment = tuple(asked["arguments"]), asked["environment"]
        self.prepare(arguments, Path(asked["cwd"]))
        folder = self.folder.parent / f"call-{self.folder.name}-{next(self._numbers)}"
        begun = begin(*arguments, folder=folder, cwd=Path(asked["cwd"]), environment=environment)
        status = begun.wait()
        out, err = begun.said
        self.calls.append(Call(int(environment["DOCS_BLOCK"]), arguments, int(status or 0), out + err))
        return {"out": out, "err": err, "status": status}
