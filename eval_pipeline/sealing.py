"""A generation of held-out data from its drawing to its use: sealed when its ids are known, checked ever after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from eval_pipeline.arms import fnv1a_32
from eval_pipeline.errors import PartitionUsed
from eval_pipeline.evidence import write_atomically
from eval_pipeline.heldout import (
    Drawn,
    HeldOut,
    drawn,
    drawn_by_stratum,
    lock_bytes,
    partition_hash,
    read_lock,
    verified,
)
from eval_pipeline.ledger import Kind, Line, append, read_ledger
from eval_pipeline.loop import Holding


@dataclass(frozen=True, slots=True)
class Partition:
    """What is calibrated on and what is held out, under a lock; without a lock nothing is held out."""

    study: str
    generation: str
    calibration: tuple[str, ...]
    held_out: tuple[str, ...]
    lock: str | None
    hash: str | None


def drawn_for(units: Mapping[str, Sequence[str]], holding: Holding, *, generation: str) -> Drawn:
    """What a generation holds out of the units of each stratum; each generation draws anew.

    Args:
        units: ids by stratum, one stratum where all are alike.
        holding: the share and the seed of the plan.
        generation: by its name.
    Raises: InputRefused: as in `drawn`.

    """
    ids = sorted(one for stratum in units.values() for one in stratum)
    if not holding.share:
        return Drawn((), tuple(ids))
    if len(units) > 1:
        return drawn_by_stratum(units, share=holding.share, seed=f"{holding.seed}:{generation}")
    size = max(1, round(holding.share * len(ids)))
    return drawn(ids, size=size, seed=fnv1a_32(f"{holding.seed}:{generation}"))


def sealed_partition(
    found: Drawn, *, study: str, generation: str, seed: int, locks: Path, ledger: Path, now: datetime
) -> Partition:
    """What was drawn, under the lock of its generation.

    The lock is written, and its sealing entered into the ledger, the first time; a lock that is gone since is not made
    anew. Whether it is a lock of this partition says `held_out_of`, and nothing is given out before.

    Args:
        found: what was drawn.
        study, generation: what it is for.
        seed: by which it was drawn.
        locks: the folder of the locks.
        ledger: where the sealing is entered.
        now: when.
    Raises: LedgerBroken: the ledger is not what was written.

    """
    if not found.held_out:
        return Partition(study, generation, found.calibration, (), None, None)
    path, digest = locks / f"{study}-{generation}.lock.json", partition_hash(found.held_out)
    if not _lines(ledger, Kind.PARTITION_SEALED, study, generation):
        write_atomically(path, lock_bytes(found.held_out, seed=seed, now=now))
        body = {"study": study, "generation": generation, "partition_hash": digest, "size": len(found.held_out)}
        append(ledger, Kind.PARTITION_SEALED, body, now=now)
    return Partition(study, generation, found.calibration, found.held_out, str(path), digest)


def held_out_of(partition: Partition, *, now: datetime) -> HeldOut | None:
    """The held-out data of a partition, verified anew; None where nothing is held out.

    Raises: SealBroken: the lock is gone, was changed, or is of something else.
    """
    if partition.lock is None:
        return None
    return verified(read_lock(Path(partition.lock)), partition.held_out, now=now)


def require_unused(partition: Partition, *, ledger: Path) -> None:
    """That the held-out data of a generation were not used yet.

    Raises:
        PartitionUsed: they were.
        LedgerBroken: the ledger is not what was written.

    """
    if used := _lines(ledger, Kind.PARTITION_USED, partition.study, partition.generation):
        raise PartitionUsed(
            f"generation {partition.generation!r} of study {partition.study!r} used its held-out data on"
            f" {used[0].at[:10]}; collect new data, and name a new generation"
        )


def _lines(ledger: Path, kind: Kind, study: str, generation: str) -> list[Line]:
    return [
        line
        for line in read_ledger(ledger)
        if line.kind is kind and (line.body.get("study"), line.body.get("generation")) == (study, generation)
    ]
