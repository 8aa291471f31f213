"""The ledger: lines are only appended, and one that is gone or changed is noticed."""

import json
import multiprocessing
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.errors import LedgerBroken, PlanChanged
from eval_pipeline.ledger import Kind, append, append_made, read_ledger, register_plan
from eval_pipeline.plan import read_plan
from eval_pipeline.seal import SealedPlan, sealed
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Three lines."""
    path = tmp_path / "ledger.jsonl"
    for number in range(3):
        append(path, Kind.VERDICT, {"number": number}, now=NOW)
    return path


def rows(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_lines_come_back_as_they_were_written_each_chained_to_the_last(ledger: Path) -> None:
    lines = read_ledger(ledger)
    assert [line.body["number"] for line in lines] == [0, 1, 2]
    assert [line.number for line in lines] == [1, 2, 3]
    assert [line.previous for line in lines] == ["0" * 64, lines[0].hash, lines[1].hash]
    assert lines[0].at == "2026-11-30T12:00:00+00:00"


def _changed(text: str) -> str:
    fields = json.loads(text)
    fields["body"]["number"] = 7
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        (lambda rows: [rows[0], _changed(rows[1]), rows[2]], "line 2: found a line that does not follow"),
        (lambda rows: [_changed(rows[0]), *rows[1:]], "line 1: found a line that does not follow"),
        (lambda rows: [rows[0], rows[2]], "line 2: found a line that does not follow"),
        (lambda rows: rows[1:], "line 1: found a line that does not follow"),
        (lambda rows: [rows[1], rows[0], rows[2]], "line 1: found a line that does not follow"),
        (lambda rows: rows[:2], "has 2 lines and had 3; lines were removed at its end"),
        (lambda rows: [], "has 0 lines and had 3"),
        (lambda rows: [rows[0], "{}", rows[2]], "line 2: found what is no line of a ledger"),
        (lambda rows: [rows[0], rows[1].replace("verdict", "opinion"), rows[2]], "line 2: found what is no line"),
    ],
)
def test_a_line_that_is_gone_or_changed_is_refused_and_nothing_is_appended(
    ledger: Path, tamper: Callable[[list[str]], list[str]], sentence: str
) -> None:
    found = tamper(rows(ledger))
    ledger.write_text("".join(f"{row}\n" for row in found), "utf-8")
    before = ledger.read_bytes()
    with pytest.raises(LedgerBroken, match=sentence):
        read_ledger(ledger)
    with pytest.raises(LedgerBroken, match=sentence):
        append(ledger, Kind.VERDICT, {}, now=NOW)
    assert ledger.read_bytes() == before


def test_a_ledger_that_is_gone_is_refused_as_long_as_its_head_is_there(ledger: Path) -> None:
    ledger.unlink()
    with pytest.raises(LedgerBroken, match="is gone, and its head is still there"):
        read_ledger(ledger)


@pytest.mark.parametrize("head", ["{", "{}", '{"lines": 2, "hash": "x"}'])
def test_a_head_that_was_changed_is_refused(ledger: Path, head: str) -> None:
    ledger.with_name("ledger.jsonl.head").write_text(head)
    with pytest.raises(LedgerBroken):
        read_ledger(ledger)


def test_a_line_of_which_the_machine_wrote_half_counts_as_not_written(ledger: Path) -> None:
    """The head is written after the line, so the ledger is never shorter than it says."""
    whole = ledger.read_bytes()
    with ledger.open("ab") as file:
        file.write(b'{"number":4,"kind":"ver')
    assert len(read_ledger(ledger)) == 3
    append(ledger, Kind.VERDICT, {"number": 3}, now=NOW)
    assert ledger.read_bytes().startswith(whole)
    assert [line.body["number"] for line in read_ledger(ledger)] == [0, 1, 2, 3]


def test_a_line_whose_head_was_not_written_any_more_stands(ledger: Path) -> None:
    head = ledger.with_name("ledger.jsonl.head")
    before = head.read_bytes()
    append(ledger, Kind.VERDICT, {"number": 3}, now=NOW)
    head.write_bytes(before)
    assert len(read_ledger(ledger)) == 4


def _append_some(path: Path, who: int) -> None:
    for number in range(10):
        append(path, Kind.VERDICT, {"who": who, "number": number}, now=NOW)


def test_processes_that_append_at_once_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    processes = [multiprocessing.get_context("fork").Process(target=_append_some, args=(path, who)) for who in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    lines = read_ledger(path)
    assert len(lines) == 40
    for who in range(4):
        assert [line.body["number"] for line in lines if line.body["who"] == who] == list(range(10))


def _append_what_is_there(path: Path) -> None:
    for _ in range(10):
        append_made(path, Kind.VERDICT, lambda lines: {"after": len(lines)}, now=NOW)


def test_a_line_that_is_made_of_those_before_it_has_seen_all_of_them(tmp_path: Path) -> None:
    """Four processes at once, none of which writes between another's look and its line."""
    path = tmp_path / "ledger.jsonl"
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_append_what_is_there, args=(path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [line.body["after"] for line in read_ledger(path)] == list(range(40))


def plan_with(**changes: object) -> SealedPlan:
    plan = read_plan(bundled("plans/judge-calibration.toml"), CalibrationPlan)
    return sealed(plan.model_copy(update=changes))


def test_a_plan_is_registered_once_and_a_changed_one_needs_another_version(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    first = register_plan(path, plan_with(), now=NOW)
    assert register_plan(path, plan_with(), now=NOW) == first
    with pytest.raises(
        PlanChanged, match=r"was sealed as .* on 2026-11-30 and now hashes to .*; restore the sealed plan"
    ):
        register_plan(path, plan_with(seed=9), now=NOW)
    register_plan(path, plan_with(seed=9, version=2), now=NOW)
    assert [line.body["version"] for line in read_ledger(path)] == [1, 2]
