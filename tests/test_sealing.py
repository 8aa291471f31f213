"""A generation: drawn anew by its name, sealed once, and verified at every look."""

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused, LedgerBroken, LockMissing, PartitionDiffers, PartitionUsed
from eval_pipeline.heldout import Drawn, lock_bytes
from eval_pipeline.ledger import Kind, append, read_ledger
from eval_pipeline.loop import Holding
from eval_pipeline.sealing import Partition, drawn_for, held_out_of, require_unused, sealed_partition

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOLDING = Holding(share=Fraction(1, 5), seed=7)
IDS = [f"run-{number}" for number in range(50)]


def seal(folder: Path, found: Drawn, generation: str = "g1") -> Partition:
    return sealed_partition(
        found,
        study="toy",
        generation=generation,
        seed=7,
        locks=folder / "locks",
        ledger=folder / "ledger.jsonl",
        now=NOW,
    )


def test_a_generation_holds_its_share_out_whatever_order_the_ids_come_in() -> None:
    found = drawn_for({"all": IDS}, HOLDING, generation="g1")
    assert (len(found.held_out), len(found.calibration)) == (10, 40)
    assert drawn_for({"all": IDS[::-1]}, HOLDING, generation="g1") == found


def test_another_generation_or_seed_draws_others() -> None:
    held = {
        drawn_for({"all": IDS}, Holding(share=Fraction(1, 5), seed=seed), generation=name).held_out
        for seed in (7, 8)
        for name in ("g1", "g2", "2026-Q4")
    }
    assert len(held) == 6


def test_strata_are_held_out_each_by_its_share_and_one_at_the_least() -> None:
    strata = {"math": IDS[:30], "code": IDS[30:45], "spec": IDS[45:47]}
    held = drawn_for(strata, HOLDING, generation="g1").held_out
    assert [len(set(held) & set(ids)) for ids in strata.values()] == [6, 3, 1]


def test_a_share_of_nothing_holds_nothing_out_and_needs_no_lock(tmp_path: Path) -> None:
    found = drawn_for({"all": IDS}, Holding(share=Fraction(0), seed=7), generation="g1")
    partition = seal(tmp_path, found)
    assert (partition.held_out, partition.lock, partition.hash) == ((), None, None)
    assert held_out_of(partition, locks=tmp_path / "locks", ledger=tmp_path / "ledger.jsonl", now=NOW) is None
    assert not (tmp_path / "ledger.jsonl").exists()


@given(st.lists(st.text(min_size=1, max_size=5), unique=True, min_size=2, max_size=30), st.text(max_size=5))
def test_every_id_is_on_one_side(ids: list[str], generation: str) -> None:
    found = drawn_for({"all": ids}, HOLDING, generation=generation)
    assert sorted(found.held_out + found.calibration) == sorted(ids)
    assert found.held_out


def test_a_partition_is_sealed_once_and_comes_back_the_same(tmp_path: Path) -> None:
    found = drawn_for({"all": IDS}, HOLDING, generation="g1")
    first = seal(tmp_path, found)
    lock = (tmp_path / "locks" / str(first.lock)).read_bytes()
    assert seal(tmp_path, found) == first
    assert (tmp_path / "locks" / str(first.lock)).read_bytes() == lock
    assert [line.kind for line in read_ledger(tmp_path / "ledger.jsonl")] == [Kind.PARTITION_SEALED]
    held = held_out_of(first, locks=tmp_path / "locks", ledger=tmp_path / "ledger.jsonl", now=NOW)
    assert held is not None
    assert held.hash == first.hash


def test_a_lock_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    partition = seal(tmp_path, drawn_for({"all": IDS}, HOLDING, generation="g1"))
    (tmp_path / "locks" / str(partition.lock)).unlink()
    again = seal(tmp_path, drawn_for({"all": IDS[:-1]}, HOLDING, generation="g1"))
    assert not (tmp_path / "locks" / str(again.lock)).exists()
    with pytest.raises(LockMissing):
        held_out_of(again, locks=tmp_path / "locks", ledger=tmp_path / "ledger.jsonl", now=NOW)


def test_other_runs_under_the_same_generation_are_not_those_that_were_sealed(tmp_path: Path) -> None:
    seal(tmp_path, drawn_for({"all": IDS}, HOLDING, generation="g1"))
    other = seal(tmp_path, drawn_for({"all": [f"{one}x" for one in IDS]}, HOLDING, generation="g1"))
    with pytest.raises(PartitionDiffers):
        held_out_of(other, locks=tmp_path / "locks", ledger=tmp_path / "ledger.jsonl", now=NOW)


def test_a_lock_that_was_rewritten_for_other_runs_is_not_the_one_the_ledger_sealed(tmp_path: Path) -> None:
    first = seal(tmp_path, drawn_for({"all": IDS}, HOLDING, generation="g1"))
    others = drawn_for({"all": [f"{one}x" for one in IDS]}, HOLDING, generation="g1")
    (tmp_path / "locks" / str(first.lock)).write_bytes(lock_bytes(others.held_out, seed=7, now=NOW))
    for partition in (first, seal(tmp_path, others)):
        with pytest.raises(PartitionDiffers, match="and the ledger sealed"):
            held_out_of(partition, locks=tmp_path / "locks", ledger=tmp_path / "ledger.jsonl", now=NOW)


def test_a_lock_without_its_ledger_is_neither_overwritten_nor_believed(tmp_path: Path) -> None:
    first = seal(tmp_path, drawn_for({"all": IDS}, HOLDING, generation="g1"))
    lock, ledger = (tmp_path / "locks" / str(first.lock)).read_bytes(), tmp_path / "ledger.jsonl"
    ledger.unlink()
    ledger.with_name("ledger.jsonl.head").unlink()
    again = seal(tmp_path, drawn_for({"all": IDS[:-1]}, HOLDING, generation="g1"))
    assert (tmp_path / "locks" / str(first.lock)).read_bytes() == lock
    with pytest.raises(LedgerBroken, match="has no sealing of it; put the ledger back,"):
        held_out_of(again, locks=ledger.parent / "locks", ledger=ledger, now=NOW)


@pytest.mark.parametrize("name", ["../g1", "a/b", "", ".", ".g", "g1\n", "g" * 65, "g 1", "\x00"])
def test_a_generation_whose_name_leads_elsewhere_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputRefused, match=r"generation: found .* a letter or a digit first; name it so"):
        seal(tmp_path, drawn_for({"all": IDS}, HOLDING, generation=name), name)
    assert not list(tmp_path.iterdir())


def used(folder: Path, ids: list[str], generation: str) -> Partition:
    partition = seal(folder, drawn_for({"all": ids}, HOLDING, generation=generation), generation)
    held = held_out_of(partition, locks=folder / "locks", ledger=folder / "ledger.jsonl", now=NOW)
    assert held is not None
    held.use(folder / "ledger.jsonl", study="toy", generation=generation, now=NOW)
    return partition


def test_a_generation_is_unused_until_it_is_used(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    first = seal(tmp_path, drawn_for({"all": IDS}, HOLDING, generation="g1"))
    require_unused(first, locks=ledger.parent / "locks", ledger=ledger)
    used(tmp_path, IDS, "g1")
    with pytest.raises(PartitionUsed, match="generation 'g1' of study 'toy' used its held-out data on 2026-11-30"):
        require_unused(first, locks=ledger.parent / "locks", ledger=ledger)


@pytest.mark.parametrize("old", [1, 25, 50])
def test_what_a_used_generation_saw_is_not_held_out_in_another(tmp_path: Path, old: int) -> None:
    """Be it held out or calibrated on; a generation that was sealed and not used saw nothing."""
    ledger = tmp_path / "ledger.jsonl"
    new = [f"new-{number}" for number in range(50)]
    held = drawn_for({"all": new}, HOLDING, generation="g2").held_out
    seal(tmp_path, drawn_for({"all": new}, HOLDING, generation="g0"), "g0")
    used(tmp_path, [f"old-{number}" for number in range(20)], "g1")
    second = seal(tmp_path, drawn_for({"all": new}, HOLDING, generation="g2"), "g2")
    require_unused(second, locks=ledger.parent / "locks", ledger=ledger)
    used(tmp_path, [*IDS, *held[:old]], "g3")
    with pytest.raises(PartitionUsed, match=f"would hold out {min(old, 10)} units that generation 'g3' saw, such as"):
        require_unused(second, locks=ledger.parent / "locks", ledger=ledger)


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("[]"), lambda path: path.write_text("7")])
def test_what_a_generation_saw_cannot_be_forgotten(tmp_path: Path, change: Callable[[Path], object]) -> None:
    used(tmp_path, IDS, "g1")
    second = seal(tmp_path, drawn_for({"all": [f"{one}x" for one in IDS]}, HOLDING, generation="g2"), "g2")
    change(tmp_path / "locks" / "toy-g1.units.json")
    with pytest.raises(PartitionDiffers, match="is not the list of units that generation 'g1' was sealed with"):
        require_unused(second, locks=tmp_path / "locks", ledger=tmp_path / "ledger.jsonl")


def test_a_sealing_that_does_not_name_what_was_seen_is_refused_like_a_lost_list(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    old = {"study": "toy", "generation": "g1", "partition_hash": "0" * 64, "size": 10}
    append(ledger, Kind.PARTITION_SEALED, old, now=NOW)
    append(ledger, Kind.PARTITION_USED, old, now=NOW)
    with pytest.raises(PartitionDiffers, match="is not the list of units that generation 'g1' was sealed with"):
        require_unused(
            seal(tmp_path, drawn_for({"all": IDS}, HOLDING, generation="g2"), "g2"), locks=tmp_path, ledger=ledger
        )
