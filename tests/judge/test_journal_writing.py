"""How a journal comes onto the disk: who waits for it, what becomes of its errors, and who else writes beside it."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import wait

import pytest

from eval_pipeline.judge import journal as journal_module
from eval_pipeline.judge.journal import JournalWriter, journal_files, read_journal
from eval_pipeline.judge.protocol import key
from eval_pipeline.records import Answer, Judgment, Label


def judgment(judge, question):
    return Judgment(key(judge, question), question, Answer("SUPPORTED", None, 1, 0.25, 40), Label.SUPPORTED, None)


@pytest.fixture
def judge(scripted):
    return scripted("a", "SUPPORTED")


@pytest.fixture
def head(judge, head_of):
    return head_of(judge)


class Disk:
    """os.fsync, by which the tests see when the disk is told, and which they make slow or faulty."""

    def __init__(self, monkeypatch):
        self.begun, self.ended, self.threads = [], [], set()
        self.takes_s = 0.0
        self.fails_from = None
        self._fsync = os.fsync
        monkeypatch.setattr(journal_module.os, "fsync", self)

    def __call__(self, fd):
        takes_s = self.takes_s
        self.begun.append(time.monotonic())
        self.threads.add(threading.get_ident())
        if self.fails_from is not None and len(self.begun) > self.fails_from:
            raise OSError(5, "Input/output error")
        time.sleep(takes_s)
        self._fsync(fd)
        self.ended.append(time.monotonic())


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


@pytest.mark.parametrize(
    ("every_s", "lines", "syncs"),
    [
        pytest.param(3600.0, 200, 200 // 64 + 1, id="every 64 lines, and at the end"),
        pytest.param(0.0, 5, 5 + 1, id="every line where the time is over, and at the end"),
    ],
)
def test_the_disk_is_told_to_keep_the_lines(tmp_path, head, judge, questions, monkeypatch, disk, every_s, lines, syncs):
    monkeypatch.setattr(journal_module, "_SYNC_S", every_s)
    with JournalWriter(tmp_path, head) as journal:
        for question in questions(lines):
            journal.append(judgment(judge, question), judge)
            if journal._syncing:  # a disk that is done before the next line comes
                journal._syncing.result()
    assert len(disk.ended) == syncs


def test_nobody_waits_for_the_disk_but_the_end(tmp_path, head, judge, questions, monkeypatch, disk):
    """The disk takes .6 s each time and is to be told after each line; the loop runs on, and the end waits."""
    monkeypatch.setattr(journal_module, "_SYNC_S", 0.0)
    disk.takes_s = 0.6
    longest = {"s": 0.0}

    async def ticking():
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            longest["s"] = max(longest["s"], time.monotonic() - before)

    async def run():
        ticks = asyncio.create_task(ticking())
        with JournalWriter(tmp_path, head) as journal:
            for question in questions(100):
                journal.append(judgment(judge, question), judge)
                await asyncio.sleep(0.005)
            ticks.cancel()
            appended_at = time.monotonic()
        return journal.path, appended_at, time.monotonic()

    path, appended_at, closed_at = asyncio.run(run())
    assert longest["s"] < 0.5
    assert disk.begun[-1] > appended_at
    assert len(disk.ended) == len(disk.begun)
    assert disk.ended[-1] <= closed_at
    assert threading.get_ident() in disk.threads  # at the end
    assert len(disk.threads) == 2  # and one thread that waits for the rest
    assert len(read_journal(path).records) == 100


def test_the_file_is_closed_when_the_disk_has_what_it_was_told_and_not_before(
    tmp_path, head, judge, questions, monkeypatch, disk
):
    """A file that is closed cannot be told of any more: the disk would be at a number that names another file."""
    monkeypatch.setattr(journal_module, "_SYNC_S", 0.0)
    disk.takes_s = 0.2
    with JournalWriter(tmp_path, head) as journal:
        journal.append(judgment(judge, questions(1)[0]), judge)
        while not disk.begun:
            time.sleep(0.001)
        disk.takes_s = 0.0  # from here on, so that the one that is under way is the slower one
    assert len(disk.ended) == len(disk.begun) == 2


def test_what_came_while_the_disk_was_busy_is_told_with_the_next_line(
    tmp_path, head, judge, questions, monkeypatch, disk
):
    monkeypatch.setattr(journal_module, "_SYNC_S", 0.0)
    disk.takes_s = 0.1
    with JournalWriter(tmp_path, head) as journal:
        for question in questions(3):
            journal.append(judgment(judge, question), judge)
        assert len(disk.begun) <= 1
        journal._syncing.result()
        journal.append(judgment(judge, questions(4)[3]), judge)
        journal._syncing.result()
        assert len(disk.ended) == 2


def test_a_disk_that_failed_once_is_told_with_every_later_line_and_at_the_end(
    tmp_path, head, judge, questions, monkeypatch, disk
):
    """Whoever passes over the first error meets it again: what came before is not safe because this line is."""
    monkeypatch.setattr(journal_module, "_SYNC_S", 0.0)
    disk.fails_from = 0

    def run():
        with JournalWriter(tmp_path, head) as journal:
            journal.append(judgment(judge, questions(1)[0]), judge)
            wait([journal._syncing])
            disk.fails_from = None
            for question in questions(3)[1:]:
                with pytest.raises(OSError, match="Input/output error"):
                    journal.append(judgment(judge, question), judge)

    with pytest.raises(OSError, match="Input/output error"):
        run()


@pytest.mark.parametrize("fails_from", [0, 1], ids=["in its thread", "at the end"])
def test_a_disk_that_fails_at_the_last_lines_is_told_at_the_end(
    tmp_path, head, judge, questions, monkeypatch, disk, fails_from
):
    monkeypatch.setattr(journal_module, "_SYNC_S", 0.0)
    disk.fails_from = fails_from

    def run():
        with JournalWriter(tmp_path, head) as journal:
            journal.append(judgment(judge, questions(1)[0]), judge)

    with pytest.raises(OSError, match="Input/output error"):
        run()


WRITER = """
import sys
from pathlib import Path
from eval_pipeline.judge.journal import Head, JournalWriter
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.protocol import key
from eval_pipeline.records import Answer, Judgment, Label, Question

folder, name = sys.argv[1:]
judge = LexicalJudge()
head = Head(run="run", judge=dict(judge.identity), plan={"writer": name})
print("ready", flush=True)
sys.stdin.readline()
with JournalWriter(Path(folder), head) as journal:
    for number in range(400):
        question = Question(f"{name}{number}", "A premise. " * 50, f"Hypothesis {number} of {name}.")
        answer = Answer("SUPPORTED", None, 1, 0.0, None)
        journal.append(Judgment(key(judge, question), question, answer, Label.SUPPORTED, None), judge)
"""


def test_two_processes_that_write_into_one_folder_at_once_leave_two_whole_files(tmp_path):
    """They have the same run, so that both want the same name."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "ab"
    ]
    for writer in writers:
        writer.stdout.readline()
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [path.name for path in journal_files(tmp_path)] == ["run-2.jsonl", "run.jsonl"]
    journals = [read_journal(path) for path in journal_files(tmp_path)]
    assert {journal.head.plan["writer"] for journal in journals} == {"a", "b"}
    for journal in journals:
        name = journal.head.plan["writer"]
        assert [record.entry_id for record in journal.records] == [f"{name}{number}" for number in range(400)]
        assert (journal.unreadable, journal.torn) == ((), False)
