"""Keys and passwords stand nowhere: not in files, not on the terminal, not in the history, not in arguments."""

import base64
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from eval_pipeline.judge.completion import Completion, forms_of, message_of, without_secret
from tests.canary import KEY, forms, holding, in_arguments
from tests.faults.conftest import Place, sentence

PASSWORD, WEBHOOK = "canary-p4ssw0rd@#/8e1d", "canary-w3bh00k-77aa"
SECRETS = {
    "EVAL_PIPELINE_JUDGE_API_KEY": KEY,
    "PGPASSWORD": PASSWORD,
    "EVAL_PIPELINE_WEBHOOK_URL": f"http://127.0.0.1:9/hooks/{WEBHOOK}",
}
ECHO = f"{KEY} {quote(KEY, safe='')} {base64.b64encode(KEY.encode()).decode()}"


class Model(http.server.ThreadingHTTPServer):
    """A model that answers, refuses the key, or tells it to all; it notes whether it got the key."""

    mode = "good"
    daemon_threads = True
    got_key = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Answering(http.server.BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got_key = self.server.got_key or self.headers["Authorization"] == f"Bearer {KEY}"
        status, body = 200, self.said("NOT_SUPPORTED")
        if self.server.mode == "refuses the key":
            status, body = 401, {"error": {"message": f"Incorrect API key provided: {ECHO}", "code": KEY}}
        elif self.server.mode == "fails with the key":
            status, body = 500, {"error": ECHO}
        elif self.server.mode == "answers with the key":
            body = self.said(f"Authorized by {ECHO}")
        elif self.server.mode == "slow":
            time.sleep(0.1)
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("X-Echo", KEY)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def said(self, text: str) -> dict[str, Any]:
        return {"model": KEY, "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def home(place: Place) -> Path:
    """One home for all commands, with its history on disk."""
    return place.folder / "secrets"


def chat(place: Place, home: Path, out: Path, model: Model, **environment: str) -> Any:
    judge = {"EVAL_PIPELINE_JUDGE_BASE_URL": model.url, "EVAL_PIPELINE_JUDGE_MODEL": f"m-{model.mode}"}
    return place.extraction(home, out, "--judge", "chat", **SECRETS | judge | environment)


def secrets_in(*folders: Path) -> list[str]:
    return [file for secret in (KEY, PASSWORD, WEBHOOK) for file in holding(secret, *folders)]


@pytest.mark.parametrize("mode", ["good", "answers with the key", "refuses the key", "fails with the key"])
def test_no_secret_is_left_by_a_run_whatever_the_model_says(
    mode: str, place: Place, home: Path, new_folder: Callable[[str], Path], model: Model
) -> None:
    model.mode = mode
    out = new_folder("out")
    run = chat(place, home, out, model, EVAL_PIPELINE_JUDGE_TOTAL_TIMEOUT_S="2")
    assert run.wait() in (0, 2, 3), run.said
    assert model.got_key
    assert secrets_in(home, out, run.folder) == []
    told = {
        "answers with the key": "Authorized by (the key)",
        "refuses the key": "Incorrect API key provided: (the key)",
    }
    files = (out / "judgments.jsonl").read_text("utf-8") + (out / "verdict.json").read_text("utf-8")
    assert told.get(mode, "") in files


def test_no_secret_is_left_by_a_run_that_was_killed_nor_stands_in_its_arguments(
    place: Place, home: Path, new_folder: Callable[[str], Path], model: Model
) -> None:
    model.mode = "slow"
    out = new_folder("out")
    before = set(home.glob("journals/*/*.jsonl"))
    run = chat(place, home, out, model, EVAL_PIPELINE_JUDGE_IN_FLIGHT="1")
    deadline = time.monotonic() + 60
    while not (new := set(home.glob("journals/*/*.jsonl")) - before) or new.pop().read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline, run.said
        time.sleep(0.02)
    assert [in_arguments(secret) for secret in (KEY, PASSWORD, WEBHOOK)] == [[], [], []]
    run.kill()
    assert secrets_in(home, out, run.folder) == []


@pytest.mark.parametrize("form", ["postgresql://me:{}@127.0.0.1:9/corpus", "host=127.0.0.1 port=9 user=me password={}"])
def test_a_database_that_does_not_answer_is_named_without_its_password(
    form: str, place: Place, home: Path, new_folder: Callable[[str], Path]
) -> None:
    password, out = "canary-0nly-h3re", new_folder("out")
    given = ["--corpus", form.format(password), "--propositions", place.corpus / "propositions.jsonl"]
    run = place.begin("run", "extraction", *given, "--out", out, home=home)
    assert "127.0.0.1" in sentence(run)
    assert holding(password, home, out, run.folder) == []


@pytest.mark.parametrize("secret", ["", "x", "EMPTY", "sk-none"])
def test_a_key_that_is_none_takes_nothing_out_of_an_answer(secret: str) -> None:
    """As a local server is given one, which wants none; an answer may well hold these letters."""
    completion = Completion(f"EXEMPT {secret} x", None, None)
    assert without_secret(completion, forms_of(secret)) == completion


def test_no_form_of_a_key_is_left_in_an_answer_or_in_a_message() -> None:
    answer = without_secret(Completion(f"a {ECHO} b", None, None), forms_of(KEY))
    assert answer.raw is not None
    assert answer.raw.rstrip("= b").count("(the key)") == 3
    assert not any(form.decode("latin-1") in answer.raw for form in forms(KEY))
    message = message_of(json.dumps({"error": {"message": ECHO}}).encode(), secret=KEY)
    assert not any(form.decode("latin-1") in message for form in forms(KEY))
