import asyncio
import importlib.util
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from eval_pipeline.judge import chat
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.journal import JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.records import Label, NoLabel, Question

FAKE = Path(__file__).resolve().parents[2] / ".." / "shared" / "tools" / "fake_nli_server.py"
WORDS = "pump valve shaft boxes crate night audit sugar nurse ledger winter copper bakery trial dose".split()
IN_FLIGHT = 16

TRANSPORT = dict.fromkeys(
    ("429", "500", "502", "503", "timeout", "slow", "reset", "truncate", "malformed", "html", "empty", "error200"), 0.03
)
WORDING = dict.fromkeys(("wrong", "verbose", "null"), 0.05)


@pytest.fixture(scope="module")
def fake():
    """The module of the fake server that is handed to all who work on this project."""
    if not FAKE.exists():
        pytest.skip(f"the fake judge server is not there ({FAKE})")
    spec = importlib.util.spec_from_file_location("fake_nli_server", FAKE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def many():
    """250 questions of both kinds: about half of the hypotheses are made of words of their premise."""
    rng = random.Random(7)
    questions = []
    for number in range(250):
        premise = rng.sample(WORDS, 8)
        hypothesis = rng.sample(premise if rng.random() < 0.5 else WORDS, 5)
        questions.append(Question(f"e{number}", f"{number} {' '.join(premise)}", " ".join(hypothesis)))
    return questions


@pytest.fixture(scope="module")
def truth(fake, many):
    """What the server's own rule says, without a server."""
    return [Label.SUPPORTED if fake.supports(q.premise, q.hypothesis) else Label.NOT_SUPPORTED for q in many]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Times that suit a server on the loopback, and no proxy before it."""
    monkeypatch.setattr(chat, "ATTEMPTS", 4)
    monkeypatch.setattr(chat, "ATTEMPT_TIMEOUT_S", 0.5)
    monkeypatch.setattr(chat, "FIRST_WAIT_S", 0.001)
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def judge_all(fake, many, chat_at, tmp_path):
    """The judgments of all questions at a server with these faults, and what the server counted."""

    def judge_all(folder="journals", **config):
        config = {"retry_after": "0", "hang": 2.0, "latency": "fixed:2", **config}
        with fake.serve_in_thread(fake.Config(**config)) as running:
            judge = chat_at(running.url, in_flight=IN_FLIGHT)

            async def run(desk):
                try:
                    return await work_through(many, desk.ask, workers=judge.in_flight)
                finally:
                    await judge.close()

            with JournalWriter(tmp_path / folder, "run") as journal:
                worked = asyncio.run(run(Desk(judge, prompt_named("nli-v1"), {}, journal)))
            assert worked.ended_by is None
            files = journal_files(tmp_path / folder)
            return worked.results, running.stats(), known_answers(map(read_journal, files), judge.identity)

    return judge_all


def test_without_faults_every_label_is_the_servers(judge_all, truth, many):
    judgments, stats, _ = judge_all()
    assert [judgment.label for judgment in judgments] == truth
    assert {judgment.answer.attempts for judgment in judgments} == {1}
    assert stats["requests"] == len(many)
    assert IN_FLIGHT / 2 <= stats["max_inflight"] <= IN_FLIGHT
    assert stats["connections"] == IN_FLIGHT + 1  # that of the count itself


def test_faults_that_pass_change_no_label(judge_all, truth, many):
    """A third of the requests go wrong, the first two of a question at most, and there are four attempts."""
    judgments, stats, _ = judge_all(faults=TRANSPORT, fault_attempts=2)
    assert [judgment.label for judgment in judgments] == truth
    assert set(TRANSPORT) - {"timeout"} <= set(stats["answered"])
    attempts = sum(judgment.answer.attempts for judgment in judgments)
    assert attempts - stats["answered"].get("timeout", 0) <= stats["requests"] <= attempts  # one may end on the way
    assert stats["requests"] > 1.2 * len(many)
    assert stats["max_inflight"] <= IN_FLIGHT + stats["answered"].get("client_gone", 0)


def test_faults_that_last_are_counted_and_change_no_other_label(judge_all, truth, monkeypatch):
    """With two attempts and no end of faults some questions get no answer; none gets another's, or a made-up one."""
    monkeypatch.setattr(chat, "ATTEMPTS", 2)
    judgments, _, known = judge_all(faults=TRANSPORT)
    unlabelled = [judgment for judgment in judgments if judgment.label is None]
    assert [j.label for j in judgments] == [
        None if j.no_label else label for j, label in zip(judgments, truth, strict=True)
    ]
    assert 5 <= len(unlabelled) <= 60  # about .33 ** 2 of 250
    assert {judgment.no_label for judgment in unlabelled} <= {NoLabel.FAILED, NoLabel.TIMED_OUT}
    assert {judgment.answer.attempts for judgment in unlabelled} == {2}
    assert set(known) == {judgment.key for judgment in judgments if judgment.label}


def test_words_that_are_no_label_are_counted_and_not_asked_again(judge_all, truth, many):
    judgments, stats, known = judge_all(faults=WORDING)
    assert [j.label for j in judgments] == [
        None if j.no_label else label for j, label in zip(judgments, truth, strict=True)
    ]
    spoilt = sum(stats["answered"][kind] for kind in WORDING)
    assert Counter(judgment.no_label for judgment in judgments) == {
        None: len(many) - spoilt,
        NoLabel.UNPARSABLE: spoilt,
    }
    assert spoilt > 10
    assert stats["requests"] == len(many)
    assert len(known) == len(many) - spoilt


def test_the_faults_of_one_run_are_those_of_the_next(judge_all):
    """The server draws its faults by request and attempt, so what was judged does not depend on who came first."""
    one, _, _ = judge_all("one", faults=TRANSPORT | {"timeout": 0.0} | WORDING, fault_attempts=2)
    other, _, _ = judge_all("other", faults=TRANSPORT | {"timeout": 0.0} | WORDING, fault_attempts=2)
    assert [(j.label, j.no_label, j.answer.raw) for j in one] == [(j.label, j.no_label, j.answer.raw) for j in other]
