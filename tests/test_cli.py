"""The contract of the command line: files, exit statuses, refusals in one line, and secrets that stay secret."""

import contextlib
import importlib.util
import io
import json
import os
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
import typer
from psycopg.types.json import Jsonb

from assets import run as job
from eval_pipeline.cli import main as cli
from tests.begun import begin
from tests.history import ON_DISK, kept_in_memory

PROJECT = Path(__file__).resolve().parents[1]
SAMPLE = PROJECT / "data" / "sample"
PLAN = PROJECT / "data" / "plans" / "extraction.toml"
PLAN_VERSION = tomllib.loads(PLAN.read_text("utf-8"))["version"]
TOOLS = PROJECT / ".." / "shared" / "tools"
FINDINGS = {"verdict.json", "report.html", "report.md", "judgments.jsonl", "entry_quartiles.parquet"}
FILES = {*FINDINGS, "history.html", "provenance.json"}
REPRODUCED = ("verdict.json", "entry_quartiles.parquet")
Row = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    status: int
    out: str
    err: str


def call(*arguments: str | Path) -> Said:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    status: Any = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["eval-pipeline", *map(str, arguments)])
        try:
            cli.main()
        except SystemExit as end:
            status = end.code
    return Said(int(status or 0), out.getvalue(), err.getvalue())


def run(*arguments: str | Path) -> Said:
    return call("run", "extraction", *arguments)


def process(*arguments: str | Path, home: Path, cwd: Path, **environment: str) -> Said:
    """The command in a process of its own, with nothing of this environment but what it cannot do without."""
    command = [sys.executable, "-c", "from eval_pipeline.cli.main import main; main()", *map(str, arguments)]
    own = alone(home) | environment
    done = subprocess.run(command, cwd=cwd, env=own, capture_output=True, text=True, check=False)
    return Said(done.returncode, done.stdout, done.stderr)


def alone(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return kept | {"EVAL_PIPELINE_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}


def verdict(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "verdict.json").read_text("utf-8"))
    return found


def claims(out: Path) -> dict[str, dict[str, Any]]:
    return {claim["claim"]: claim for claim in verdict(out)["claims"]}


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_lines(path: Path, rows: list[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


_IN_MEMORY = "event_log_storage: {module: dagster._core.storage.event_log, class: InMemoryEventLogStorage}\n"


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One home for all commands of this process, and an environment that says nothing else.

    Their history is kept in memory, which is faster; a process of its own writes it to disk.
    """
    folder = tmp_path_factory.mktemp("home")
    (folder / "dagster.yaml").write_text((PROJECT / "dagster.yaml").read_text("utf-8") + _IN_MEMORY)
    with kept_in_memory(), pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("EVAL_PIPELINE_", "PG", "DAGSTER_"))]:
            patch.delenv(name)
        patch.setenv("PGPASSWORD", "")  # so that what a command sets is taken back
        patch.delenv("PGPASSWORD")
        patch.setenv("EVAL_PIPELINE_HOME", str(folder))
        patch.setenv("DAGSTER_HOME", str(folder))
        yield folder


@pytest.fixture
def home_with_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That home, where the runs of one test are written down too, with all that they were given."""
    monkeypatch.setattr(job, "_instance", ON_DISK)
    return home


@dataclass(frozen=True)
class SampleRun:
    """A run of the bundled sample, each place that it could write to being a folder of its own."""

    said: Said
    home: Path
    out: Path
    cwd: Path
    scratch: Path
    user: Path


@pytest.fixture(scope="module")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> SampleRun:
    home, out, cwd, scratch, user = (tmp_path_factory.mktemp(name) for name in ("h", "out", "cwd", "scratch", "user"))
    environment = {"HOME": str(user), "TMPDIR": str(scratch), "PYTHONHASHSEED": "1"}
    said = process("run", "extraction", "--out", out, home=home, cwd=cwd, **environment)
    return SampleRun(said, home, out, cwd, scratch, user)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three notes of which nothing was lost and nothing invented, with their labels and a plan that asks for three."""
    folder = tmp_path_factory.mktemp("small")
    tables: dict[str, list[Row]] = {"entries": [], "signals": [], "propositions": [], "labels": []}
    for note in (1, 2, 3):
        key, sentences = f"note-{note}", [f"Crew {note} replaced valve {10 * note + q}." for q in (1, 2, 3, 4)]
        tables["entries"].append({"lookup_key": key, "workspace": "w", "band": "b", "content": " ".join(sentences)})
        for quartile, sentence in enumerate(sentences, 1):
            start = " ".join(sentences).index(sentence)
            row = {"lookup_key": f"signal-{note}{quartile}", "entry_id": key, "content": f"Done: {sentence}"}
            tables["signals"].append(row | {"provenance": {"span": {"start": start, "end": start + len(sentence)}}})
            tables["propositions"].append({"entry_id": key, "quartile": quartile, "proposition": sentence})
            for text in (sentence, row["content"]):
                tables["labels"].append({"entry_id": key, "proposition": text, "supported": True})
    for name, rows in tables.items():
        write_lines(folder / f"{name}.jsonl", rows)
    plan = PLAN.read_text("utf-8")
    for field, asked in (("entries", 3), ("entries_per_workspace", 3), ("bands", 1), ("judged_at_least", 12)):
        plan = re.sub(rf"^{field} = \d+$", f"{field} = {asked}", plan, flags=re.MULTILINE)
    plan = re.sub(r"^\[design\.dense\]\n(.+\n)+", "", plan, flags=re.MULTILINE)
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class SmallRun:
    """A run of that corpus by the judge of words in common."""

    said: Said
    out: Path


@pytest.fixture(scope="module")
def small_run(small: Path, tmp_path_factory: pytest.TempPathFactory) -> SmallRun:
    out = tmp_path_factory.mktemp("out")
    return SmallRun(run("--corpus", small, "--plan", small / "plan.toml", "--out", out), out)


def test_a_run_writes_these_files_and_no_other(sample_run: SampleRun) -> None:
    assert {path.name for path in sample_run.out.iterdir()} == FILES


def test_the_last_lines_name_the_report_and_the_status_and_each_claim_its_reason(sample_run: SampleRun) -> None:
    report, status = sample_run.said.out.splitlines()[-2:]
    assert report == f"report: {sample_run.out / 'report.html'}"
    assert status == "exit status 2: a claim fails"
    for claim in verdict(sample_run.out)["claims"]:
        assert f"{claim['claim']}: {claim['detail']}" in sample_run.said.out.splitlines()


def test_the_table_prints_each_claim_and_outcome_in_full(sample_run: SampleRun) -> None:
    rows = [re.split(r"\s*[│┃]\s*", line)[1:-1] for line in sample_run.said.out.splitlines() if line[:1] == "│"]
    printed = {row[0]: row[1] for row in rows if row[0]}
    assert printed == {name: claim["outcome"] for name, claim in claims(sample_run.out).items()}


@pytest.mark.parametrize("place", ["cwd", "scratch", "user"])
def test_nothing_is_written_outside_the_home_and_the_out_folder(sample_run: SampleRun, place: str) -> None:
    folder: Path = getattr(sample_run, place)
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_the_verdict_keeps_the_keys_and_types_of_its_contract(sample_run: SampleRun) -> None:
    document = verdict(sample_run.out)
    assert document.keys() >= {"claims", "quartiles", "frame", "judge", "hashes", "versions"}
    assert [claim["claim"] for claim in document["claims"]] == [
        "pooled_recall",
        "positional_uniformity",
        "precision_guard",
    ]
    for claim in document["claims"]:
        assert claim["outcome"] in {"pass", "warn", "fail", "skip"}
        assert isinstance(claim["reason"], str | None)
        assert isinstance(claim["detail"], str)
        assert isinstance(claim["advisory"], bool)
        assert claim["estimator"] == "raw"  # nobody checked any of it
        assert isinstance(claim["threshold"], float)
        assert isinstance(claim["estimate"], float | None)
        assert isinstance(claim["numerator"], int | None)
        assert isinstance(claim["denominator"], int | None)
        assert [type(end) for end in claim["interval"]] in ([float, float], [type(None), float])
    for place, row in enumerate(document["quartiles"], 1):
        assert {name: type(row[name]) for name in ("quartile", "hits", "judged", "undecided")} == dict.fromkeys(
            ("quartile", "hits", "judged", "undecided"), int
        )
        assert row["quartile"] == place
    assert isinstance(document["frame"], dict)
    assert isinstance(document["judge"], dict)
    assert document["hashes"].keys() == {"corpus", "fixture", "plan", "human_check"}
    assert document["hashes"].pop("human_check") is None  # none was given
    assert all(re.fullmatch("[0-9a-f]{64}", found) for found in document["hashes"].values())
    assert all(isinstance(version, str) for version in document["versions"].values())


def test_the_quartile_table_sums_to_the_verdict(sample_run: SampleRun) -> None:
    table = pq.read_table(sample_run.out / "entry_quartiles.parquet").to_pylist()
    for row in verdict(sample_run.out)["quartiles"]:
        mine = [entry for entry in table if entry["quartile"] == row["quartile"]]
        assert [sum(entry[name] for entry in mine) for name in ("hits", "judged", "undecided")] == [
            row["hits"],
            row["judged"],
            row["undecided"],
        ]


def test_a_second_run_in_the_same_home_gives_the_same_bytes(
    sample_run: SampleRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(sample_run.home))
    assert run("--out", tmp_path).status == sample_run.said.status
    assert [name for name in FINDINGS if (tmp_path / name).read_bytes() != (sample_run.out / name).read_bytes()] == []


def test_a_fresh_home_and_another_hash_seed_give_the_same_bytes(sample_run: SampleRun, tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    user = {"HOME": str(sample_run.user), "PYTHONHASHSEED": "4242"}
    said = process("run", "extraction", "--out", out, home=home, cwd=tmp_path, **user)
    assert said.status == sample_run.said.status
    assert [name for name in REPRODUCED if (out / name).read_bytes() != (sample_run.out / name).read_bytes()] == []


def test_the_same_corpus_from_postgres_gives_the_same_bytes(
    sample_run: SampleRun,
    postgres: Any,
    password: str,
    tmp_path: Path,
    home_with_runs: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a role that must show its password, which stands nowhere afterwards."""
    monkeypatch.setenv("PGPASSWORD", "")  # what the command sets is taken back after the test
    dsn = postgres.database()
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE raw_sources (lookup_key text, content text, deleted_at timestamptz, source_metadata jsonb);"
            "CREATE TABLE signals"
            " (lookup_key text, entry_id text, content text, provenance jsonb, deleted_at timestamptz)"
        )
        cursor.executemany(
            "INSERT INTO raw_sources VALUES (%s, %s, NULL, %s)",
            [
                (row["lookup_key"], row["content"], Jsonb({"capture": {k: row[k] for k in ("workspace", "band")}}))
                for row in read_lines(SAMPLE / "entries.jsonl")
            ],
        )
        cursor.executemany(
            "INSERT INTO signals VALUES (%s, %s, %s, %s, %s)",
            [
                (row["lookup_key"], row["entry_id"], row["content"], Jsonb(row["provenance"]), row["deleted_at"])
                for row in read_lines(SAMPLE / "signals.jsonl")
            ],
        )
    with_password = postgres.role_with_password(dsn, password)
    said = run("--corpus", with_password, "--propositions", SAMPLE / "propositions.jsonl", "--out", tmp_path)
    assert said.status == sample_run.said.status, said.err
    assert [name for name in REPRODUCED if (tmp_path / name).read_bytes() != (sample_run.out / name).read_bytes()] == []
    assert holding(password, said, home_with_runs, tmp_path) == []


def holding(secret: str, said: Said, *folders: Path) -> list[str]:
    """Where a secret stands: the outputs of a command, and the files of folders."""
    outputs = [name for name, text in (("stdout", said.out), ("stderr", said.err)) if secret in text]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return outputs + [str(path) for path in files if secret.encode() in path.read_bytes()]


def test_what_was_planted_in_the_sample_is_what_its_labels_give_and_a_failed_claim_exits_2(tmp_path: Path) -> None:
    said = run("--judge", f"labels:{SAMPLE / 'labels.jsonl'}", "--out", tmp_path)
    truth = json.loads((SAMPLE / "truth.json").read_text("utf-8"))
    recall = claims(tmp_path)["pooled_recall"]
    assert (recall["numerator"], recall["denominator"]) == (truth["supported"], truth["propositions"])
    assert {str(row["quartile"]): (row["hits"], row["judged"]) for row in verdict(tmp_path)["quartiles"]} == {
        quartile: (counts["supported"], counts["judged"]) for quartile, counts in truth["by_quartile"].items()
    }
    assert claims(tmp_path)["positional_uniformity"]["outcome"] == "fail"
    assert said.status == 2


def test_a_corpus_without_loss_under_labels_passes_and_exits_0(small: Path, tmp_path: Path) -> None:
    judge = f"labels:{small / 'labels.jsonl'}"
    said = run("--corpus", small, "--judge", judge, "--plan", small / "plan.toml", "--out", tmp_path)
    assert {name: claim["outcome"] for name, claim in claims(tmp_path).items()} == {
        "pooled_recall": "pass",
        "positional_uniformity": "pass",
        "precision_guard": "pass",
    }
    assert (said.status, said.err) == (0, "judged: 24 of 24\nasked 24 questions; 0 answers were known\n")


def test_a_judge_whose_errors_were_never_measured_warns_and_exits_0(small_run: SmallRun) -> None:
    assert {(c["outcome"], c["reason"]) for c in claims(small_run.out).values()} == {("warn", "uncalibrated")}
    assert small_run.said.status == 0


def test_an_empty_propositions_file_is_a_skip_with_its_reason_and_exits_3(small: Path, tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty.jsonl", [])
    said = run("--corpus", small, "--propositions", empty, "--out", tmp_path / "out")
    found = claims(tmp_path / "out")
    assert {(found[name]["outcome"], found[name]["reason"]) for name in list(found)[:2]} == {
        ("skip", "fixture_missing")
    }
    assert [found["pooled_recall"][name] for name in ("estimate", "numerator", "denominator", "interval")] == [None] * 4
    assert "is empty; have the entries annotated" in said.out
    assert said.status == 3


def test_a_journal_of_a_run_replays_to_the_same_claims(small: Path, small_run: SmallRun, tmp_path: Path) -> None:
    replayed = f"replay:{small_run.out / 'judgments.jsonl'}"
    said = run("--corpus", small, "--plan", small / "plan.toml", "--judge", replayed, "--out", tmp_path)
    assert said.status == 0
    assert claims(tmp_path) == claims(small_run.out)


def tool(name: str) -> Any:
    """A program of the tools beside the project, as a module."""
    path = TOOLS / f"{name}.py"
    if not path.exists():
        pytest.skip(f"{name}.py is not beside this project")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class ChatRun:
    """A run whose judge sat behind HTTP, how often it was asked, and what it had to find."""

    out: Path
    corpus: Path
    said: Said
    requests: int
    truth: dict[str, Any]


@pytest.fixture(scope="module")
def chat_run(tmp_path_factory: pytest.TempPathFactory) -> ChatRun:
    """A made-up corpus, judged by a server that answers by the keys planted in it; the server is gone afterwards."""
    server_module, folder = tool("fake_nli_server"), tmp_path_factory.mktemp("workload")
    command = [sys.executable, str(TOOLS / "make_workload.py"), "--out", str(folder), "--entries", "8", "--props", "8"]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    (folder / "raw_sources.jsonl").rename(folder / "entries.jsonl")
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch, server_module.serve_in_thread(server_module.Config()) as server:
        patch.setenv("EVAL_PIPELINE_JUDGE_BASE_URL", server.url)
        patch.setenv("EVAL_PIPELINE_JUDGE_MODEL", "keys")
        said = run("--corpus", folder, "--judge", "chat", "--out", out)
        requests = server.stats()["requests"]
    return ChatRun(out, folder, said, requests, json.loads((folder / "truth.json").read_text("utf-8")))


def test_a_judge_behind_http_finds_exactly_the_recall_that_was_planted(chat_run: ChatRun) -> None:
    recall, truth = claims(chat_run.out)["pooled_recall"], chat_run.truth
    assert (recall["numerator"], recall["denominator"]) == (truth["hits"], truth["propositions"])
    assert {str(row["quartile"]): round(row["estimate"], 4) for row in verdict(chat_run.out)["quartiles"]} == truth[
        "recall_by_quartile"
    ]
    assert 0 < chat_run.requests <= truth["calls"] + 1  # the probe


def test_a_replayed_journal_needs_no_server(chat_run: ChatRun, tmp_path: Path) -> None:
    said = run("--corpus", chat_run.corpus, "--judge", f"replay:{chat_run.out / 'judgments.jsonl'}", "--out", tmp_path)
    assert said.status == chat_run.said.status
    assert claims(tmp_path) == claims(chat_run.out)
    assert verdict(tmp_path)["judge"]["fingerprint"] == verdict(chat_run.out)["judge"]["fingerprint"]


def edited_plan(folder: Path, old: str, new: str) -> Path:
    text = PLAN.read_text("utf-8")
    assert old in text
    path = folder / "plan.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def half_a_corpus(folder: Path) -> Path:
    return write_lines(folder / "half" / "entries.jsonl", []).parent


def broken_corpus(folder: Path) -> Path:
    write_lines(folder / "broken" / "entries.jsonl", [{"lookup_key": "a", "content": 3}])
    return write_lines(folder / "broken" / "signals.jsonl", []).parent


def broken_labels(folder: Path) -> Path:
    row = {"entry_id": "a", "proposition": "b", "supported": "yes"}
    return write_lines(folder / "labels.jsonl", [row])


def text_file(folder: Path, text: str) -> Path:
    path = folder / "file"
    path.write_text(text, encoding="utf-8")
    return path


BAD: dict[str, tuple[Callable[[Path], list[str | Path]], str]] = {
    "unknown option": (lambda _: ["--corpse", "x"], "No such option: --corpse"),
    "option without value": (lambda _: ["--judge"], "--judge"),
    "unknown judge": (lambda _: ["--judge", "oracle"], "judge 'oracle' is unknown; expected one of lexical, labels"),
    "labels without a file": (lambda _: ["--judge", "labels"], "judge 'labels' names no file"),
    "labels that are not there": (lambda f: ["--judge", f"labels:{f}/none"], "none' has 1 fault: cannot be read"),
    "labels that are none": (
        lambda f: ["--judge", f"labels:{broken_labels(f)}"],
        "line 1, field 'supported': found \"yes\", expected true or false",
    ),
    "replay of nothing": (lambda f: ["--judge", f"replay:{f}/none"], "none' has 1 fault: cannot be read"),
    "chat without an endpoint": (lambda _: ["--judge", "chat"], "set EVAL_PIPELINE_JUDGE_BASE_URL and"),
    "plan that is not there": (lambda f: ["--plan", f / "none.toml"], "none.toml' is not a file"),
    "plan that is no TOML": (lambda f: ["--plan", text_file(f, "a = = 1")], "is not TOML"),
    "plan without a field": (
        lambda f: ["--plan", edited_plan(f, "resamples = 1000\n", "")],
        "field 'bootstrap.resamples': found nothing, expected a value",
    ),
    "plan with a field too many": (
        lambda f: ["--plan", edited_plan(f, "seed = 4242", "seed = 4242\nsneed = 1")],
        "field 'sneed': found a field that no rule reads",
    ),
    "propositions that are not there": (lambda f: ["--propositions", f / "none"], "--propositions"),
    "persist code that is not there": (lambda f: ["--persist-code", f / "none"], "--persist-code"),
    "human check that is not there": (lambda f: ["--human-check", f / "none"], "--human-check"),
    "human check that is none": (lambda f: ["--human-check", text_file(f, "{}")], "human check"),
    "gold set that is not there": (lambda f: ["--gold", f / "none"], "none' is not there; give a file or a folder"),
    "gold set that breaks a rule": (
        lambda f: ["--gold", text_file(f, '{"tuple_kind": "poem"}')],
        "field 'tuple_kind': found \"poem\", expected 'alignment' or 'constraint'",
    ),
    "corpus that is not there": (
        lambda f: ["--corpus", f / "none"],
        "(No such file or directory); give a folder or a Postgres DSN",
    ),
    "half a corpus": (lambda f: ["--corpus", half_a_corpus(f)], "holds entries.jsonl and no signals.jsonl"),
    "a corpus that breaks its format": (
        lambda f: ["--corpus", broken_corpus(f)],
        "line 1, field 'content': found 3, expected",
    ),
    "out folder that is a file": (lambda f: ["--out", text_file(f, "")], "is not a folder"),
    "out folder without a name": (lambda f: ["--out", ""], "--out '' is not a folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_input_is_one_line_on_stderr_and_exits_1(case: str, tmp_path: Path) -> None:
    arguments, expected = BAD[case]
    given = arguments(tmp_path)
    said = run(*([] if "--out" in given else ["--out", tmp_path / "out"]), *small_unless_named(given, tmp_path), *given)
    assert said.status == 1
    refusals = [line for line in said.err.splitlines() if not line.startswith("judged: ")]
    assert len(refusals) == 1
    assert refusals[0].startswith("eval-pipeline: ")
    assert expected in refusals[0]


@pytest.mark.parametrize("case", [case for case in BAD if "corpus" in case])
def test_a_corpus_that_cannot_be_read_leaves_a_whole_verdict_that_says_why(
    case: str, small: Path, tmp_path: Path
) -> None:
    arguments, _ = BAD[case]
    said = run("--propositions", small / "propositions.jsonl", "--out", tmp_path / "out", *arguments(tmp_path))
    document = verdict(tmp_path / "out")
    refusal = document["refusals"]["corpus"]
    assert said.err == f"eval-pipeline: {refusal['detail']}\n"
    assert {(claim["outcome"], claim["reason"]) for claim in document["claims"]} == {("skip", refusal["reason"])}
    (raw,) = document["findings"]["correction"]["estimates"]
    assert (raw["pooled"]["estimate"], document["findings"]["correction"]["gold"]) == (None, None)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


def test_a_look_at_a_corpus_that_cannot_be_read_says_so_and_exits_1(tmp_path: Path) -> None:
    said = call("look", "--corpus", tmp_path / "nowhere")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith(f"eval-pipeline: corpus folder '{tmp_path / 'nowhere'}' cannot be read")


def test_a_look_at_a_home_without_a_verdict_does_not_say_that_nothing_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("DAGSTER_HOME")
    monkeypatch.setattr(job, "_instance", ON_DISK)
    assert call("look").out == "nothing was made yet; `eval-pipeline run extraction` makes a verdict\n"


def small_unless_named(given: list[str | Path], folder: Path) -> list[str | Path]:
    """A corpus with nothing in it, so that a refusal costs no judging."""
    if "--corpus" in given:
        return []
    write_lines(folder / "nothing" / "entries.jsonl", [])
    write_lines(folder / "nothing" / "signals.jsonl", [])
    return ["--corpus", folder / "nothing"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("EVAL_PIPELINE_JUDGE_MAX_TOKENS", "eight"),
        ("EVAL_PIPELINE_JUDGE_IN_FLIGHT", "0"),
        ("EVAL_PIPELINE_HOME", __file__),
    ],
    ids=["max tokens is a word", "nothing may be in flight", "home is a file"],
)
def test_a_variable_that_cannot_be_is_one_line_on_stderr_and_exits_1(
    variable: str, value: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    said = run("--corpus", small, "--out", tmp_path)
    assert (said.status, len(said.err.splitlines())) == (1, 1)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:{secret}@127.0.0.1:{port}/corpus",
        "postgresql://me@127.0.0.1:{port}/corpus?password={secret}",
        "host=127.0.0.1 port={port} user=me dbname=corpus password={secret}",
        "host=127.0.0.1 port={port} user=me dbname=corpus password='{secret}",
        "postgresql://me:{secret}@127.0.0.1:noport/corpus",
    ],
    ids=["url", "query", "pairs", "pairs that cannot be parsed", "url that cannot be parsed"],
)
def test_the_password_of_an_unreachable_database_stands_nowhere(
    dsn: str, password: str, home_with_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "")  # what the command sets is taken back after the test
    said = run("--corpus", dsn.format(secret=password, port=closed_port()), "--out", tmp_path)
    assert (said.status, len(said.err.splitlines())) == (1, 1)
    assert holding(password, said, home_with_runs, tmp_path) == []


def test_a_password_with_marks_of_its_own_stands_nowhere_in_either_spelling(tmp_path: Path, password: str) -> None:
    """In a process and a home of its own, the history included; nor does that process say more than one line."""
    dsn, home, out = f"postgresql://me:{password}%40x@127.0.0.1:{closed_port()}/c", tmp_path / "home", tmp_path / "out"
    said = process("run", "extraction", "--corpus", dsn, "--out", out, home=home, cwd=tmp_path)
    assert (said.status, said.out, len(said.err.splitlines())) == (1, "", 1)
    assert "connection" in said.err
    assert (home / "dagster").is_dir()
    assert holding(password, said, home, out) == []


def good(number: int) -> dict[str, Any]:
    return {"entry_id": "note-1", "quartile": 1, "proposition": f"Claim {number} holds."}


def line(number: int, **changed: Any) -> bytes:
    return json.dumps({name: value for name, value in (good(number) | changed).items() if value is not None}).encode()


MALFORMED: dict[str, tuple[bytes, str]] = {
    "byte order mark": (b"\xef\xbb\xbf" + line(1), "line 1, before the first field: found a byte order mark"),
    "id outside the alphabet": (line(2, entry_id="note 1"), "line 2, field 'entry_id': found \"note 1\""),
    "quartile 0": (line(3, quartile=0), "line 3, field 'quartile': found 0, expected 1, 2, 3 or 4"),
    "quartile 5": (line(4, quartile=5), "line 4, field 'quartile': found 5, expected 1, 2, 3 or 4"),
    "quartile x": (line(5, quartile="x"), "line 5, field 'quartile': found \"x\", expected 1, 2, 3 or 4"),
    "blank proposition": (line(6, proposition=" \u200b"), "line 6, field 'proposition': found"),
    "duplicate proposition": (line(1), "line 7, field 'proposition': found \"Claim 1 holds.\" again, which stands on"),
    "unknown key": (line(8, kind="a"), "line 8, field 'kind': found an unknown field"),
    "missing key": (line(9, quartile=None), "line 9, field 'quartile': found nothing, expected a value"),
    "invalid JSON": (b'{"entry_id": "note-1", ', "line 10, column 24: found invalid JSON"),
    "CR LF": (line(11) + b"\r", "line 11, after the last field: found a line end of CR LF"),
    "lone surrogate": (line(12, proposition="a \ud800"), "line 12, field 'proposition': found a lone surrogate"),
    "not UTF-8": (line(13).replace(b"Claim", b"Cl\xe4im"), "line 13, byte 57: found a byte that is not UTF-8"),
    "twice the same key": (line(14).replace(b"{", b'{"quartile": 2, '), "line 14, field 'quartile': found it twice"),
}


@dataclass(frozen=True)
class Refused:
    """A propositions file and what was said of it."""

    file: Path
    said: Said


@pytest.fixture(scope="module")
def malformed(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Refused:
    """One file with every fault, one a line: that all are named shows that none hides another."""
    folder = tmp_path_factory.mktemp("malformed")
    file = folder / "propositions.jsonl"
    file.write_bytes(b"\n".join(data for data, _ in MALFORMED.values()) + b"\n")
    return Refused(file, run("--corpus", small, "--propositions", file, "--out", folder / "out"))


@pytest.mark.parametrize("fault", MALFORMED)
def test_a_fault_of_the_propositions_file_is_named_with_its_line_and_field(malformed: Refused, fault: str) -> None:
    assert MALFORMED[fault][1] in malformed.said.err


def test_a_malformed_propositions_file_is_named_once_with_the_count_of_its_faults(malformed: Refused) -> None:
    said = malformed.said
    assert said.status == 1
    assert said.err.startswith(f"eval-pipeline: propositions file {str(malformed.file)!r} has {len(MALFORMED)} faults:")
    assert len(said.err.splitlines()) == 1


def test_of_25_faults_the_first_20_are_named_and_the_rest_counted(small: Path, tmp_path: Path) -> None:
    rows = [good(number) | {"quartile": 9} for number in range(1, 26)]
    said = run("--corpus", small, "--propositions", write_lines(tmp_path / "p", rows), "--out", tmp_path / "out")
    assert re.findall(r"line (\d+), field 'quartile'", said.err) == [str(number) for number in range(1, 21)]
    assert "has 25 faults:" in said.err
    assert said.err.endswith("; and 5 more\n")
    assert (said.status, len(said.err.splitlines())) == (1, 1)


def test_a_plan_s_name_is_printed_as_it_stands(small: Path, tmp_path: Path) -> None:
    """Square brackets are marks of the terminal library, and letters to whoever named the plan."""
    text = (small / "plan.toml").read_text("utf-8").replace('name = "extraction"', 'name = "pilot [/two]"', 1)
    said = run("--corpus", small, "--plan", text_file(tmp_path, text), "--out", tmp_path / "out")
    assert said.status == 0
    assert "pilot [/two]" in said.out


def commands() -> list[tuple[str, ...]]:
    """Every command of the program, by the words that call it."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        children = getattr(command, "commands", None)
        if children is None:
            yield words
        for name, child in (children or {}).items():
            yield from below(child, (*words, name))

    return list(below(typer.main.get_command(cli.app), ()))


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_help_of_each_command_carries_an_example_of_it(words: tuple[str, ...]) -> None:
    said = call(*words, "--help")
    assert said.status == 0
    assert f"Example: eval-pipeline {' '.join(words)} " in said.out


def test_the_plan_command_prints_the_seal_that_a_run_is_held_to(sample_run: SampleRun) -> None:
    assert call("plan").out == f"extraction version {PLAN_VERSION}: {verdict(sample_run.out)['hashes']['plan']}\n"


def test_a_dump_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    said = call("restore", tmp_path / "none.dump", "--into", "postgresql://me@127.0.0.1/corpus")
    assert (said.status, len(said.err.splitlines())) == (1, 1)
    assert "none.dump" in said.err


def test_no_verdict_of_an_earlier_run_stands_where_a_run_broke(small: Path, tmp_path: Path) -> None:
    """Whatever it broke on; each of the three comes after a run that was sound."""
    out = tmp_path / "out"
    given = ["--corpus", small, "--plan", small / "plan.toml", "--out", out]
    assert run(*given).status == 0
    before = (out / "verdict.json").read_bytes()
    for broken in (["--judge", "nope"], ["--plan", "missing.toml"], ["--propositions", "missing.jsonl"]):
        assert run(*given, *broken).status == 1, broken
        assert not (out / "verdict.json").exists(), broken
        assert (out / "verdict.previous.json").read_bytes() == before, broken
        assert run(*given).status == 0, broken
        assert (out / "verdict.json").read_bytes() == before, broken
        assert {path.name for path in out.iterdir()} == FILES, broken


def test_several_runs_that_come_to_a_new_home_at_once_all_end_with_the_same_verdict(
    small: Path, tmp_path: Path
) -> None:
    given, own = ["--corpus", small, "--plan", small / "plan.toml"], alone(tmp_path / "home")
    runs = [
        begin("run", "extraction", *given, "--out", tmp_path / f"out{n}", folder=folder, cwd=tmp_path, environment=own)
        for n, folder in enumerate([tmp_path / f"said{n}" for n in range(3)])
    ]
    assert [run.wait() for run in runs] == [0, 0, 0], [run.said for run in runs]
    assert len({(tmp_path / f"out{number}" / "verdict.json").read_bytes() for number in range(3)}) == 1


@pytest.mark.parametrize("folder", ["relative", "/nowhere/at/all"])
def test_a_dagster_home_that_is_no_folder_is_one_line(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", folder)
    said = run("--corpus", small, "--out", tmp_path / "out")
    assert (said.status, said.err.count("\n")) == (1, 1)
    assert f"DAGSTER_HOME is '{folder}'" in said.err


def test_a_malformed_fixture_is_broken_input_also_over_an_empty_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    fixture = text_file(tmp_path, '{"entry_id": "e", "quartile": 9, "proposition": "P."}\n')
    said = run("--corpus", tmp_path / "corpus", "--propositions", fixture, "--out", tmp_path / "out")
    assert said.status == 1
    assert "line 1, field 'quartile': found 9, expected 1, 2, 3 or 4" in said.err


def test_the_version_is_printed() -> None:
    assert call("--version").out == f"eval-pipeline {version('eval-pipeline')}\n"
