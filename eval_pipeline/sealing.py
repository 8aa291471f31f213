"""A generation of held-out data from its drawing to its use: sealed when its ids are known, checked ever after."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from eval_pipeline.arms import fnv1a_32
from eval_pipeline.errors import InputRefused, LedgerBroken, PartitionDiffers, PartitionUsed
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
from eval_pipeline.loop import GENERATION, Holding


class _SealedBefore(Exception):
    """The generation has its lock, or had one, so that no other is made."""


@dataclass(frozen=True, slots=True)
class Partition:
    """What is calibrated on and what is held out, under a lock, by its name; without a lock nothing is held out."""

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

    The lock is written, and its sealing entered into the ledger, the first time, both or neither, and by one of those
    that come at once; a lock that is gone since is not made anew, and one that is there is not overwritten. Beside it
    stand all units of the generation, so that a later one cannot hold out what was seen. Whether it is a lock of this
    partition says `held_out_of`, and nothing is given out before.

    Args:
        found: what was drawn.
        study, generation: what it is for.
        seed: by which it was drawn.
        locks: the folder of the locks.
        ledger: where the sealing is entered.
        now: when.

    Raises:
        InputRefused: the name of the generation could not name a file.
        LedgerBroken: the ledger is not what was written.
        ClockSetBack: the ledger holds a line of a later time.

    """
    if not re.fullmatch(GENERATION, generation):
        raise InputRefused(
            f"generation: found {generation!r}, expected letters, digits, '-', '_' and '.', 64 at most, a letter"
            " or a digit first; name it so"
        )
    if not found.held_out:
        return Partition(study, generation, found.calibration, (), None, None)
    path, digest = locks / f"{study}-{generation}.lock.json", partition_hash(found.held_out)
    units = sorted((*found.held_out, *found.calibration))
    files = {
        _units_path(locks, study, generation): json.dumps(units).encode(),
        path: lock_bytes(found.held_out, seed=seed, now=now),
    }
    begun: list[Path] = []

    def lock_once(lines: tuple[Line, ...]) -> None:
        if _lines(lines, Kind.PARTITION_SEALED, study, generation) or path.exists():
            raise _SealedBefore
        for file, data in files.items():
            begun.append(file)
            write_atomically(file, data)

    body = {"study": study, "generation": generation, "partition_hash": digest, "size": len(found.held_out)}
    try:
        append(ledger, Kind.PARTITION_SEALED, body | {"units": partition_hash(units)}, now=now, require=lock_once)
    except _SealedBefore:
        pass
    except BaseException:  # a lock of which the ledger knows nothing could never be opened
        for file in begun:
            file.unlink(missing_ok=True)
        raise
    return Partition(study, generation, found.calibration, found.held_out, path.name, digest)


def held_out_of(partition: Partition, *, locks: Path, ledger: Path, now: datetime) -> HeldOut | None:
    """The held-out data of a partition, verified anew; None where nothing is held out.

    Raises: SealBroken: the lock, or the list of units beside it, is gone, was changed, is of something else, or is not
        the one the ledger sealed.
    """
    if partition.lock is None:
        return None
    path = locks / partition.lock
    lock = read_lock(path)
    lines = _lines(read_ledger(ledger), Kind.PARTITION_SEALED, partition.study, partition.generation)
    if not lines:
        raise LedgerBroken(
            f"lock {str(path)!r} is there, and ledger {str(ledger)!r} has no sealing of it; put the ledger back,"
            " or name a new generation"
        )
    if lock.partition_hash != (sealed := lines[0].body["partition_hash"]):
        raise PartitionDiffers(
            f"lock {str(path)!r} is of {lock.partition_hash[:12]}, and the ledger sealed {sealed[:12]}; put the"
            " lock back as it was, and give exactly those that were held out"
        )
    _units(_units_path(locks, partition.study, partition.generation), lines[0])
    return verified(lock, partition.held_out, now=now)


def require_unused(partition: Partition, *, locks: Path, ledger: Path) -> None:
    """That the held-out data of a generation were not used yet, nor seen in another that was.

    A generation without held-out data may be looked at again: its plan says how often.

    Raises:
        PartitionUsed: they were.
        SealBroken: the ledger, or the list of what a generation saw, is not what was written.

    """
    lines = read_ledger(ledger)
    if used := _lines(lines, Kind.PARTITION_USED, partition.study, partition.generation):
        raise PartitionUsed(
            f"generation {partition.generation!r} of study {partition.study!r} used its held-out data on"
            f" {used[0].at[:10]}; collect new data, and name a new generation"
        )
    if partition.lock is None:
        return
    for line in lines:
        if line.kind is not Kind.PARTITION_USED or line.body["study"] != partition.study:
            continue
        other = str(line.body["generation"])
        for sealing in _lines(lines, Kind.PARTITION_SEALED, partition.study, other):
            path = _units_path(locks, partition.study, other)
            if seen := sorted(_units(path, sealing) & set(partition.held_out)):
                raise PartitionUsed(
                    f"generation {partition.generation!r} of study {partition.study!r} would hold out"
                    f" {len(seen)} units that generation {other!r} saw, such as {seen[0]!r}; collect new data"
                )


def _units(path: Path, sealed: Line) -> frozenset[str]:
    """All units of a generation, as they were when it was sealed."""
    try:
        units = json.loads(path.read_bytes())
        whole = partition_hash(units) == sealed.body["units"]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        whole = False
    if not whole:
        raise PartitionDiffers(
            f"{str(path)!r} is not the list of units that generation {sealed.body['generation']!r} was sealed with; put"
            " it back as it was"
        )
    return frozenset(units)


def _units_path(locks: Path, study: str, generation: str) -> Path:
    return locks / f"{study}-{generation}.units.json"


def _lines(lines: Sequence[Line], kind: Kind, study: str, generation: str) -> list[Line]:
    return [
        line
        for line in lines
        if line.kind is kind and (line.body.get("study"), line.body.get("generation")) == (study, generation)
    ]
