"""Held-out partitions: drawn by a seed, sealed in a lock, given out by its verification alone, and used once."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from eval_pipeline.arms import fnv1a_32
from eval_pipeline.errors import (
    InputRefused,
    LockFromTheFuture,
    LockMalformed,
    LockMissing,
    LockOpen,
    LockUnreadable,
    PartitionDiffers,
    PartitionUsed,
)
from eval_pipeline.ledger import Kind, Line, append
from eval_pipeline.plan import faults_of
from eval_pipeline.prng import mulberry32, shuffled

_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_STRATA = ("code", "math", "schema", "spec")  # in the order in which a grounded set is drawn
_VERIFIED = object()


class _Lock(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class RunLock(_Lock):
    """Version 1: runs that were drawn with a numeric seed."""

    schema_version: Literal[1]
    rng_seed: Annotated[int, Field(ge=0, strict=True)]
    partition_hash: _Hash
    partition_size: Annotated[int, Field(gt=0, strict=True)]
    sealed_at: AwareDatetime


class ClaimLock(_Lock):
    """Version 2: grounded claims, drawn by stratum with the hash of a text as seed."""

    schema_version: Literal[2]
    seed: str
    partition_hash: _Hash
    partition_size: Annotated[int, Field(gt=0, strict=True)]
    sealed_at: AwareDatetime
    breakdown: dict[Literal["schema", "math", "code", "spec"], Annotated[int, Field(ge=0, strict=True)]]
    total: int
    grounding_version: Literal[1]
    claim_set_hash: _Hash

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not sum(self.breakdown.values()) == self.total == self.partition_size:
            raise ValueError("a breakdown that adds up to total and partition_size")
        return self


Lock = RunLock | ClaimLock


class HeldOut:
    """A partition that its lock was verified to be of; there is no other way to one, and it is given out once."""

    def __init__(self, token: object, ids: tuple[str, ...], lock: Lock) -> None:
        if token is not _VERIFIED:
            raise TypeError("a held-out partition comes of `verified` alone")
        self._ids, self.lock = ids, lock

    @property
    def hash(self) -> str:
        """The hash under which it was sealed."""
        return self.lock.partition_hash

    def use(self, ledger: Path, *, study: str, generation: str, now: datetime) -> tuple[str, ...]:
        """The ids, once their use stands in the ledger.

        Args:
            ledger: where the use is written before anything is read.
            study: that uses them.
            generation: of the calibration; a new one needs a new partition.
            now: when, with its time zone.

        Raises:
            PartitionUsed: the partition was used already, or the generation has used one.
            LedgerBroken: the ledger is not what was written.

        """

        def unused(lines: tuple[Line, ...]) -> None:
            for line in lines:
                if line.kind is not Kind.PARTITION_USED or line.body["study"] != study:
                    continue
                if line.body["partition_hash"] == self.hash or line.body["generation"] == generation:
                    raise PartitionUsed(
                        f"the held-out partition {self.hash[:12]} of study {study!r} cannot be used: generation"
                        f" {line.body['generation']!r} used {line.body['partition_hash'][:12]} on {line.at[:10]}; draw"
                        " and seal new data under a new generation"
                    )

        body = {"study": study, "generation": generation, "partition_hash": self.hash, "size": len(self._ids)}
        append(ledger, Kind.PARTITION_USED, body, now=now, require=unused)
        return self._ids


@dataclass(frozen=True, slots=True)
class Drawn:
    """A partition before it is sealed: what is held out, and what is left to calibrate on, in the order given."""

    held_out: tuple[str, ...]
    calibration: tuple[str, ...]


def partition_hash(ids: Iterable[str]) -> str:
    """The sha256 of the ids in the order of their UTF-16 code units, one a line."""
    ordered = sorted(ids, key=lambda one: one.encode("utf-16-be", errors="surrogatepass"))
    return sha256("\n".join(ordered).encode("utf-8", errors="surrogatepass")).hexdigest()


def drawn(ids: Sequence[str], *, size: int, seed: int) -> Drawn:
    """The first of the ids in random order.

    Raises: InputRefused: an id stands twice, or as many are to be held out as there are, or none.
    """
    _require_distinct(ids)
    if not 0 < size < len(ids):
        raise InputRefused(
            f"size: found {size} of {len(ids)} ids to hold out, expected at least one and not all; give more"
        )
    held = set(shuffled(ids, mulberry32(seed))[:size])
    return Drawn(tuple(one for one in ids if one in held), tuple(one for one in ids if one not in held))


def drawn_by_stratum(strata: Mapping[str, Sequence[str]], *, share: Fraction, seed: str) -> Drawn:
    """The share of each stratum, rounded half up and one at the least, by one stream of numbers over all strata.

    Args:
        strata: ids by stratum; the strata of grounded claims go in the order code, math, schema, spec, others by name.
        share: to hold out.
        seed: a text, whose FNV-1a hash seeds the stream.
    Raises: InputRefused: an id stands twice.

    """
    _require_distinct([one for ids in strata.values() for one in ids])
    draw = mulberry32(fnv1a_32(seed))
    order = [*(name for name in _STRATA if name in strata), *sorted(set(strata) - set(_STRATA))]
    held: list[str] = []
    rest: list[str] = []
    for name in order:
        mixed = shuffled(sorted(strata[name]), draw)
        size = max(1, math.floor(share * len(mixed) + Fraction(1, 2)))
        held += mixed[:size]
        rest += mixed[size:]
    return Drawn(tuple(held), tuple(rest))


def read_lock(path: Path) -> Lock:
    """The lock of a file, of version 1 or 2.

    Raises:
        LockMissing: there is no file.
        LockUnreadable: it is no JSON object.
        LockOpen: a field of it is null: nothing was sealed.
        LockMalformed: another version, or a field that cannot be.

    """
    what = f"lock {str(path)!r}"
    try:
        fields = json.loads(path.read_bytes())
    except OSError:
        raise LockMissing(f"{what} is not there; seal a partition before the data are seen") from None
    except ValueError as error:
        raise LockUnreadable(f"{what} is no JSON ({error}); put it back as it was sealed") from None
    if not isinstance(fields, dict):
        raise LockUnreadable(f"{what} holds no object; put it back as it was sealed")
    return lock_of(fields, what)


def lock_of(fields: Mapping[str, Any], what: str) -> Lock:
    """The lock of plain values.

    Raises: LockOpen, LockMalformed: as in `read_lock`.
    """
    sealed = ("partition_hash", "partition_size", "sealed_at", "rng_seed", "seed", "claim_set_hash")
    if empty := [name for name in sealed if name in fields and fields[name] is None]:
        raise LockOpen(f"{what}, field {empty[0]!r}: found null; nothing was sealed yet, draw a partition and seal it")
    version = fields.get("schema_version")
    if version not in (1, 2):
        raise LockMalformed(f"{what}, field 'schema_version': found {version!r}, expected 1 or 2")
    try:
        return RunLock.model_validate(fields) if version == 1 else ClaimLock.model_validate(fields)
    except ValidationError as error:
        faults = "; ".join(faults_of(error, missing="seal it again"))
        raise LockMalformed(f"{what} is no lock of version {version}: {faults}") from None


def verified(lock: Lock, ids: Sequence[str], *, now: datetime) -> HeldOut:
    """The partition of these ids, if they are exactly those that were sealed, and not later than now.

    Raises:
        LockFromTheFuture: the lock is dated later than now.
        PartitionDiffers: an id is missing, is one too many, or is another; or their number is.

    """
    if lock.sealed_at > now:
        raise LockFromTheFuture(
            f"the lock was sealed at {lock.sealed_at.isoformat()}, and it is {now.astimezone(UTC).isoformat()};"
            " a seal comes before the data"
        )
    found = partition_hash(ids)
    if len(ids) != lock.partition_size or len(set(ids)) != len(ids) or found != lock.partition_hash:
        raise PartitionDiffers(
            f"{len(ids)} ids hash to {found[:12]}, and {lock.partition_size} were sealed as {lock.partition_hash[:12]};"
            " give exactly those that were held out"
        )
    return HeldOut(_VERIFIED, tuple(ids), lock)


def lock_bytes(ids: Sequence[str], *, seed: int, now: datetime) -> bytes:
    """The lock of version 1 of a partition, as it is written."""
    fields = {
        "schema_version": 1,
        "rng_seed": seed,
        "partition_hash": partition_hash(ids),
        "partition_size": len(ids),
        "sealed_at": now.astimezone(UTC).isoformat(timespec="seconds"),
    }
    return (json.dumps(fields, indent=2) + "\n").encode()


def _require_distinct(ids: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        twice = next(one for one in ids if list(ids).count(one) > 1)
        raise InputRefused(f"ids: found {twice!r} twice, expected each once")
