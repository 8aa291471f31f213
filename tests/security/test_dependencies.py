"""The audit of dependencies: it fails on a vulnerability that is known, and says so where nothing is known."""

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "audit_dependencies.py"
HASH = f"--hash=sha256:{'0' * 64}"


def advisory(name: str) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "999.1"}]}]
    affected = [{"package": {"name": name, "ecosystem": "PyPI"}, "ranges": ranges}]
    return {"id": f"MADE-UP-{name}", "aliases": [], "summary": "made up", "details": "made up", "affected": affected}


@pytest.fixture
def service() -> Iterator[Callable[..., str]]:
    """Starts an advisory service that knows of vulnerabilities in these packages alone."""
    servers = []

    def start(*vulnerable: str) -> str:
        class Advisories(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                name = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["package"]["name"]
                body = json.dumps({"vulns": [advisory(name)]} if name in vulnerable else {}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Advisories))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/v1/query"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.lock"
    lines = [f"{name}=={version(name)} \\\n    {HASH}" for name in ("jinja2", "httpx")]
    absent = f"no-such-package==1.0 ; sys_platform == 'nowhere' \\\n    {HASH}"
    path.write_text("\n".join([*lines, absent, ""]), "utf-8")
    return path


def audit(lock: Path, url: str, *arguments: str) -> tuple[int, str]:
    environment = os.environ | {"EVAL_PIPELINE_ADVISORIES_URL": url}
    command = [sys.executable, str(SCRIPT), str(lock), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_a_known_vulnerability_of_a_locked_package_fails(lock: Path, service: Callable[..., str]) -> None:
    status, said = audit(lock, service("django", "jinja2"))
    assert status == 1
    assert f"jinja2 {version('jinja2')}: MADE-UP-jinja2, mended in 999.1" in said
    assert "django" not in said


def test_packages_of_which_nothing_is_known_pass_and_are_counted(lock: Path, service: Callable[..., str]) -> None:
    assert audit(lock, service("django")) == (0, "2 of 2 locked packages were audited: no known vulnerability\n")


def test_a_service_that_answers_nothing_at_all_is_no_audit(lock: Path, service: Callable[..., str]) -> None:
    status, said = audit(lock, service(), "--strict")
    assert status == 1
    assert said.startswith("NOT AUDITED: of 2 locked packages none was held against known vulnerabilities")
    assert "knows no vulnerability of django 1.2" in said


def test_a_service_that_cannot_be_reached_is_said_and_fails_only_if_that_was_asked_for(lock: Path) -> None:
    for arguments, expected in (((), 0), (("--strict",), 1)):
        status, said = audit(lock, "http://127.0.0.1:9/v1/query", *arguments)
        assert status == expected
        assert said.startswith("NOT AUDITED: of 2 locked packages")
        assert "Connect" in said


def test_what_is_installed_in_another_version_than_the_lock_says_fails_and_is_named(lock: Path) -> None:
    lock.write_text(lock.read_text("utf-8").replace(f"jinja2=={version('jinja2')}", "jinja2==0.0.1"), "utf-8")
    status, said = audit(lock, "http://127.0.0.1:9/v1/query")
    assert status == 1
    assert f"jinja2: found {version('jinja2')}, expected 0.0.1" in said


def test_a_lock_that_pins_nothing_fails(tmp_path: Path) -> None:
    empty = tmp_path / "requirements.lock"
    empty.touch()
    assert audit(empty, "http://127.0.0.1:9/v1/query")[0] == 1
