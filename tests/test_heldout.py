"""Held-out partitions: drawn as they were, sealed, verified to the last id, and used once a generation."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import (
    InputRefused,
    LockFromTheFuture,
    LockMalformed,
    LockMissing,
    LockOpen,
    LockUnreadable,
    PartitionDiffers,
    PartitionUsed,
    SealBroken,
)
from eval_pipeline.heldout import (
    ClaimLock,
    HeldOut,
    RunLock,
    drawn,
    drawn_by_stratum,
    lock_bytes,
    lock_of,
    partition_hash,
    read_lock,
    verified,
)
from eval_pipeline.ledger import Kind, read_ledger
from eval_pipeline.prng import mulberry32, shuffled

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
IDS = tuple(f"run-{number}" for number in range(20))


def run_ids() -> list[str]:
    """The hundred ids of the first version, which its own generator drew."""
    draw = mulberry32(263619)
    return [f"phase45-calib-{number}-{int(draw() * 0xFFFFFFFF):08x}" for number in range(100)]


@pytest.mark.parametrize(
    ("seed", "sealed"),
    [
        (263619, "bc68df17288d6ba8014406e583b9ff9d57ddecd4998c33fa45f5c71c2146f82c"),
        (4020704, "4fa909b8a165d926272ffd4f4cb43e12eb7a1f0d62f2a77a4e3fcc85f342b634"),
    ],
)
def test_the_published_partitions_are_drawn_again(seed: int, sealed: str) -> None:
    ids = run_ids()
    assert ids[0] == "phase45-calib-0-aae663ce"
    found = drawn(ids, size=20, seed=seed)
    assert partition_hash(found.held_out) == sealed
    assert sorted(found.held_out + found.calibration) == sorted(ids)
    assert len(found.held_out) == 20


def test_the_published_held_out_claims_are_drawn_again() -> None:
    """50 claims in four strata; three, three, three and one of them were sealed under this hash's beginning."""
    strata = {"math": range(1, 16), "schema": range(16, 31), "code": range(31, 44), "spec": range(44, 51)}
    ids = {name: [f"F3-{number:03d}" for number in numbers] for name, numbers in strata.items()}
    found = drawn_by_stratum(ids, share=Fraction(1, 5), seed="phase4-section-4.1-rng-2025")
    assert sorted(one[3:] for one in found.held_out) == [
        "004", "014", "015", "016", "024", "025", "032", "039", "043", "046",
    ]  # fmt: skip
    assert partition_hash(found.held_out).startswith("cfd81fa1e68395b1")


def test_the_hash_is_over_ids_in_the_order_of_their_utf_16_units() -> None:
    """U+FF5E comes before U+1F600 by code point, and after its first surrogate, U+D83D, by unit."""
    assert partition_hash(["～", "😀"]) == hashlib.sha256("😀\n～".encode()).hexdigest()


@given(st.lists(st.text(min_size=1), unique=True, min_size=2, max_size=12), st.integers(0, 2**32 - 1), st.data())
def test_a_partition_takes_its_size_and_its_hash_knows_no_order(ids: list[str], seed: int, data: Any) -> None:
    size = data.draw(st.integers(1, len(ids) - 1))
    found = drawn(ids, size=size, seed=seed)
    assert (len(found.held_out), set(found.held_out) | set(found.calibration)) == (size, set(ids))
    assert partition_hash(found.held_out) == partition_hash(found.held_out[::-1])


def test_every_place_of_a_shuffle_is_equally_likely() -> None:
    """24 orders of four things in 24,000 shuffles: each some 1,000 times, none further off than 5 standard errors."""
    counts: dict[tuple[int, ...], int] = {}
    draw = mulberry32(7)
    for _ in range(24_000):
        order = tuple(shuffled(range(4), draw))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert all(abs(count - 1000) < 5 * 31 for count in counts.values())


@pytest.mark.parametrize(("size", "ids"), [(0, IDS), (20, IDS), (21, IDS), (1, (*IDS, "run-3"))])
def test_a_partition_that_leaves_nothing_or_holds_an_id_twice_is_refused(size: int, ids: tuple[str, ...]) -> None:
    with pytest.raises(InputRefused):
        drawn(ids, size=size, seed=1)


@pytest.fixture
def lock_file(tmp_path: Path) -> Path:
    path = tmp_path / "heldout.lock.json"
    path.write_bytes(lock_bytes(IDS, seed=5, now=NOW))
    return path


def edited(path: Path, **fields: Any) -> Path:
    path.write_text(json.dumps(json.loads(path.read_bytes()) | fields))
    return path


def test_a_lock_that_was_written_is_read_and_gives_out_what_it_sealed(lock_file: Path, tmp_path: Path) -> None:
    lock = read_lock(lock_file)
    assert isinstance(lock, RunLock)
    held = verified(lock, IDS[::-1], now=NOW)
    ledger = tmp_path / "ledger.jsonl"
    assert held.use(ledger, study="retry-limit", generation="g1", now=NOW) == IDS[::-1]
    (line,) = read_ledger(ledger)
    assert line.kind is Kind.PARTITION_USED
    assert line.body == {"study": "retry-limit", "generation": "g1", "partition_hash": held.hash, "size": 20}


@pytest.mark.parametrize(
    ("tamper", "refusal", "sentence"),
    [
        (lambda path: path.unlink(), LockMissing, "is not there; seal a partition before the data are seen"),
        (lambda path: path.write_text("{"), LockUnreadable, "is no JSON"),
        (lambda path: path.write_text("[1]"), LockUnreadable, "holds no object"),
        (lambda path: edited(path, partition_hash=None), LockOpen, "field 'partition_hash': found null"),
        (lambda path: edited(path, sealed_at=None), LockOpen, "nothing was sealed yet"),
        (
            lambda path: edited(path, schema_version=3),
            LockMalformed,
            "field 'schema_version': found 3, expected 1 or 2",
        ),
        (lambda path: edited(path, partition_hash="AB"), LockMalformed, "field 'partition_hash': found \"AB\""),
        (lambda path: edited(path, partition_size=0), LockMalformed, "field 'partition_size': found 0"),
        (lambda path: edited(path, rng_seed=-1), LockMalformed, "field 'rng_seed': found -1"),
        (lambda path: edited(path, rng_seed=1.5), LockMalformed, "field 'rng_seed'"),
        (lambda path: edited(path, sealed_at="yesterday"), LockMalformed, "field 'sealed_at'"),
        (lambda path: edited(path, sealed_at="2026-11-30T12:00:00"), LockMalformed, "field 'sealed_at'"),
    ],
)
def test_a_lock_that_cannot_be_read_is_refused_with_its_own_sentence(
    lock_file: Path, tamper: Callable[[Path], object], refusal: type[SealBroken], sentence: str
) -> None:
    tamper(lock_file)
    with pytest.raises(refusal, match=sentence.replace("(", r"\(")):
        read_lock(lock_file)


@pytest.mark.parametrize(
    "ids",
    [IDS[:-1], (*IDS, "run-20"), (*IDS[:-1], "run-99"), (*IDS[:-1], IDS[0])],
    ids=["missing", "one more", "swapped", "twice"],
)
def test_other_ids_than_those_that_were_sealed_are_refused(lock_file: Path, ids: tuple[str, ...]) -> None:
    with pytest.raises(PartitionDiffers, match="give exactly those that were held out"):
        verified(read_lock(lock_file), ids, now=NOW)


def test_a_lock_of_tomorrow_is_refused_and_one_of_now_is_not(lock_file: Path) -> None:
    lock = read_lock(edited(lock_file, sealed_at=(NOW + timedelta(days=1)).isoformat()))
    with pytest.raises(LockFromTheFuture, match="a seal comes before the data"):
        verified(lock, IDS, now=NOW)
    assert verified(read_lock(edited(lock_file, sealed_at=NOW.isoformat())), IDS, now=NOW).hash


def claim_lock(breakdown: list[int], total: int, size: int) -> dict[str, Any]:
    return {
        "schema_version": 2,
        "seed": "s",
        "partition_hash": "0" * 64,
        "partition_size": size,
        "sealed_at": "2026-11-30T12:00:00Z",
        "breakdown": dict(zip(("schema", "math", "code", "spec"), breakdown, strict=True)),
        "total": total,
        "grounding_version": 1,
        "claim_set_hash": "1" * 64,
    }


def test_a_lock_of_claims_adds_up_or_is_refused() -> None:
    assert isinstance(lock_of(claim_lock([3, 3, 3, 1], 10, 10), "lock"), ClaimLock)
    for wrong in (([3, 3, 3, 2], 10, 10), ([3, 3, 3, 1], 10, 12), ([3, 3, 3, 1], 9, 10)):
        with pytest.raises(LockMalformed, match="a breakdown that adds up to total and partition_size"):
            lock_of(claim_lock(*wrong), "lock")


def test_a_held_out_partition_cannot_be_had_but_by_verification(lock_file: Path) -> None:
    with pytest.raises(TypeError, match="comes of `verified` alone"):
        HeldOut(True, IDS, read_lock(lock_file))


@pytest.mark.parametrize("again", ["g1", "g2"])
def test_a_partition_is_used_once_whatever_the_generation_is_called(
    lock_file: Path, tmp_path: Path, again: str
) -> None:
    ledger, held = tmp_path / "ledger.jsonl", verified(read_lock(lock_file), IDS, now=NOW)
    held.use(ledger, study="kpi-gates", generation="g1", now=NOW)
    with pytest.raises(PartitionUsed, match=r"generation 'g1' used .* on 2026-11-30; draw and seal new data"):
        held.use(ledger, study="kpi-gates", generation=again, now=NOW)
    assert len(read_ledger(ledger)) == 1


def test_a_generation_uses_one_partition_and_another_study_has_its_own(lock_file: Path, tmp_path: Path) -> None:
    ledger, held = tmp_path / "ledger.jsonl", verified(read_lock(lock_file), IDS, now=NOW)
    held.use(ledger, study="kpi-gates", generation="g1", now=NOW)
    lock_file.write_bytes(lock_bytes(IDS[:10], seed=6, now=NOW))
    other = verified(read_lock(lock_file), IDS[:10], now=NOW)
    with pytest.raises(PartitionUsed):
        other.use(ledger, study="kpi-gates", generation="g1", now=NOW)
    other.use(ledger, study="retry-limit", generation="g1", now=NOW)
    other.use(ledger, study="kpi-gates", generation="g2", now=NOW)
    assert [line.body["study"] for line in read_ledger(ledger)] == ["kpi-gates", "retry-limit", "kpi-gates"]


def test_of_many_that_use_a_partition_at_once_one_does(lock_file: Path, tmp_path: Path) -> None:
    ledger, held = tmp_path / "ledger.jsonl", verified(read_lock(lock_file), IDS, now=NOW)

    def use(number: int) -> bool:
        try:
            return bool(held.use(ledger, study="kpi-gates", generation=f"g{number}", now=NOW))
        except PartitionUsed:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(32))) == 1
    assert len(read_ledger(ledger)) == 1
