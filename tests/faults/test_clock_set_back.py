"""A clock that was set back: nothing is dated before what the ledger holds already, and no lock is of tomorrow."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from eval_pipeline.errors import ClockSetBack, LockFromTheFuture
from eval_pipeline.heldout import Drawn
from eval_pipeline.ledger import Kind, append, read_ledger, register_plan
from eval_pipeline.seal import SealedPlan
from eval_pipeline.sealing import held_out_of, sealed_partition

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FOUND = Drawn(held_out=("run-2",), calibration=("run-1", "run-3"))
BACK = [timedelta(minutes=1, seconds=1), timedelta(hours=1), timedelta(days=400)]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.jsonl"
    append(path, Kind.VERDICT, {"decision": "first"}, now=NOW)
    return path


@pytest.mark.parametrize("back", BACK, ids=str)
def test_a_line_that_would_be_dated_before_the_last_is_refused_in_one_sentence_and_not_written(
    ledger: Path, back: timedelta
) -> None:
    before = ledger.read_bytes()
    with pytest.raises(ClockSetBack) as refused:
        append(ledger, Kind.VERDICT, {"decision": "second"}, now=NOW - back)
    assert str(refused.value) == (
        f"ledger {str(ledger)!r}, line 1, field 'at': found 2026-11-30T12:00:00+00:00, and the clock says"
        f" {(NOW - back).isoformat()}, while lines may only follow each other in time; set the clock right, or wait"
        " until it has come that far"
    )
    assert ledger.read_bytes() == before
    append(ledger, Kind.VERDICT, {"decision": "second"}, now=NOW + timedelta(seconds=1))
    assert len(read_ledger(ledger)) == 2


def test_who_waited_for_another_to_write_is_dated_with_it_and_not_before_it(ledger: Path) -> None:
    line = append(ledger, Kind.VERDICT, {"decision": "second"}, now=NOW - timedelta(seconds=59))
    assert line.at == "2026-11-30T12:00:00+00:00"
    assert [one.at for one in read_ledger(ledger)] == [line.at] * 2


def test_a_clock_of_another_zone_is_no_clock_set_back(ledger: Path) -> None:
    east = datetime.fromisoformat("2026-11-30T17:00:30+05:00")
    assert append(ledger, Kind.VERDICT, {}, now=east).at == "2026-11-30T12:00:30+00:00"


def test_no_new_plan_is_sealed_by_a_clock_set_back_and_a_sealed_one_is_still_found(ledger: Path) -> None:
    known, new = (SealedPlan(seal=mark * 64, values={"name": "plan", "version": mark}) for mark in "ab")
    sealed = register_plan(ledger, known, now=NOW)
    assert register_plan(ledger, known, now=NOW - BACK[1]) == sealed
    with pytest.raises(ClockSetBack):
        register_plan(ledger, new, now=NOW - BACK[1])


def test_a_partition_that_was_sealed_later_than_now_is_not_given_out(tmp_path: Path) -> None:
    ledger, locks = tmp_path / "ledger.jsonl", tmp_path / "locks"
    partition = sealed_partition(
        FOUND, study="retry-limit", generation="2026-Q4", seed=1, locks=locks, ledger=ledger, now=NOW
    )
    with pytest.raises(LockFromTheFuture, match="2026-11-30T12:00:00"):
        held_out_of(partition, locks=locks, ledger=ledger, now=NOW - BACK[0])
    assert held_out_of(partition, locks=locks, ledger=ledger, now=NOW) is not None


def test_a_generation_that_a_clock_set_back_could_not_seal_can_be_sealed_once_the_clock_is_right(ledger: Path) -> None:
    locks = ledger.parent / "locks"
    about = {"study": "retry-limit", "generation": "2026-Q4", "seed": 1, "locks": locks, "ledger": ledger}
    with pytest.raises(ClockSetBack):
        sealed_partition(FOUND, now=NOW - BACK[1], **about)
    partition = sealed_partition(FOUND, now=NOW, **about)
    assert held_out_of(partition, locks=locks, ledger=ledger, now=NOW) is not None


def test_a_line_whose_time_is_none_is_no_line(ledger: Path) -> None:
    fields = json.loads(ledger.read_text("utf-8"))
    for at in ("yesterday", "2026-11-30T12:00:00"):
        ledger.write_text(json.dumps(fields | {"at": at}) + "\n", "utf-8")
        with pytest.raises(Exception, match="line 1: found what is no line of a ledger"):
            read_ledger(ledger)
