"""What a run left, and how the names of its provenance are read: an asset, with `@` and a partition if it has one."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.io_managers import decoded
from assets.provenance import Chain
from eval_pipeline.errors import EvidenceAbsent, NotVerified
from eval_pipeline.provenance import Provenance
from eval_pipeline.store import Store


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a run left: its provenance, where evidence, ledger and locks are, and its findings if they are at hand."""

    provenance: Provenance
    store: Store
    ledger: Path
    locks: Path
    out: Path | None


def asset_of(name: str) -> str:
    """The asset of a name of the provenance, without its partition."""
    return name.partition("@")[0]


def of_asset(asset: str, names: Iterable[str]) -> list[str]:
    """The names of an asset, one for each of its partitions."""
    return [name for name in names if asset_of(name) == asset]


def called(last: str, names: Iterable[str]) -> list[str]:
    """The names of an asset of whatever prefix."""
    return [name for name in names if asset_of(name).rpartition("/")[2] == last]


def in_order(chain: Chain, names: Iterable[str]) -> list[str]:
    """Names of the provenance in the order of the chain."""
    return [name for asset in chain.assets for name in of_asset(asset, names)]


def read_evidence(store: Store, name: str, file: str) -> bytes:
    """The bytes of an asset's file.

    Raises: NotVerified: it is not there, or is not what was written.
    """
    path = f"{asset_of(name)}/{file}"
    try:
        data = store.read(path)
    except EvidenceAbsent:
        raise NotVerified(f"evidence of {name}: {store.place(path)!r} is not there; put it back") from None
    if hashlib.sha256(data).hexdigest() != file.partition(".")[0]:
        raise NotVerified(f"evidence of {name}: {store.place(path)!r} is not what was written; put it back")
    return data


def value_of(provenance: Provenance, evidence: Mapping[str, bytes], name: str, of_type: Any) -> Any:
    """The value that an asset had.

    Raises: EvidenceRefused: its file holds no such value.
    """
    return decoded(provenance.evidence[name], evidence[name], of_type, place=f"of {name}")
