"""Evidence on disk, addressed by its content: what a run wrote is never written over, and it reads what it wrote."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pyarrow as pa
from pydantic import Field, PrivateAttr

from eval_pipeline.errors import EvidenceAbsent, EvidenceRefused
from eval_pipeline.evidence import json_bytes, read_json, read_table, table_bytes
from eval_pipeline.store import Store, store_at

ALL_PARTITIONS = "all_partitions"


def encoded(value: Any) -> tuple[bytes, str]:
    """A value as bytes, and the suffix of its file: Parquet for what is or gives a table, JSON for all else."""
    if isinstance(value, pa.Table):
        return table_bytes(value), ".parquet"
    if hasattr(value, "to_table"):
        return table_bytes(value.to_table()), ".parquet"
    return json_bytes(value, type(value)), ".json"


def decoded(name: str, data: bytes, of_type: Any, *, place: str) -> Any:
    """The value of a file's bytes.

    Raises: EvidenceRefused: the bytes are those that were named, and hold no such value.
    """
    try:
        if name.endswith(".json"):
            return read_json(data, of_type)
        table = read_table(data)
        return of_type.from_table(table) if hasattr(of_type, "to_table") and of_type is not pa.Table else table
    except (pa.ArrowException, ValueError, KeyError):
        raise EvidenceRefused(
            f"evidence {place!r} holds something else than this asset, though it is named by its hash; materialize the"
            " asset again"
        ) from None


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def lineage(instance: dg.DagsterInstance, run: dg.DagsterRun | None) -> Iterator[str]:
    """The run, the run that it goes on from, and so on: each may have written what the next one reads."""
    while run:
        yield run.run_id
        run = instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None


def _lineage(context: dg.InputContext) -> Iterator[str]:
    return lineage(context.step_context.instance, context.step_context.dagster_run)


class EvidenceIOManager(dg.ConfigurableIOManager):
    """Files under ASSET in the place of the evidence, named by their hash; a pointer for each run, and for the latest.

    A run that reads what it wrote itself follows its own pointer, so that two runs at once do not mix.
    """

    home: str
    location: str = Field(default="", description="s3://bucket/prefix or a folder; '' is the folder of the home.")
    endpoint: str = Field(default="", description="The URL of an S3 server other than that of AWS.")
    _opened: Store | None = PrivateAttr(default=None)

    @property
    def store(self) -> Store:
        """The place of the evidence."""
        if self._opened is None:
            self._opened = store_at(self.location or str(Path(self.home, "evidence")), endpoint=self.endpoint)
        return self._opened

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Writes the file and the pointers."""
        data, suffix = encoded(obj)
        digest = _hash(data)
        name = "/".join([*context.asset_key.path, f"{digest}{suffix}"])
        if _hash(self._found(name) or b"") != digest:  # one that was damaged since is mended
            self.store.write(name, data)
        of = of_partition(context.partition_key) if context.has_partition_key and context.has_asset_partitions else ""
        for pointer in _pointers(context.asset_key, [context.run_id], of):
            self.store.write(pointer, f"{digest}{suffix}".encode())
        context.add_output_metadata(
            {"evidence": dg.MetadataValue.path(self.store.place(name)), "sha256": digest, "bytes": len(data)}
        )

    def load_input(self, context: dg.InputContext) -> Any:
        """Reads the value that this run wrote, or else the latest.

        Of a partitioned asset it is the value of the run's partition; an input that asks for `ALL_PARTITIONS` gets
        those of all partitions that were ever materialized, by their keys.
        """
        of_type = context.dagster_type.typing_type
        if not context.has_asset_partitions:
            return self._read(context, "", of_type)
        if not (context.definition_metadata or {}).get(ALL_PARTITIONS):
            return self._read(context, context.partition_key, of_type)  # of the run, since a check is of no partition
        runs, of_value = list(_lineage(context)), get_args(of_type)[1]
        return {
            key: self._read(context, key, of_value)
            for key in context.asset_partition_keys
            if any(self.store.exists(pointer) for pointer in _pointers(context.asset_key, runs, of_partition(key)))
        }

    def recorded(self, key: dg.AssetKey, runs: Iterable[str], partition: str = "") -> str:
        """The name of the file, within the asset's folder, that these runs wrote last, or else any run.

        Raises: EvidenceRefused: the asset was never materialized, or what points to its file was changed.
        """
        of = of_partition(partition) if partition else ""
        pointers = _pointers(key, runs, of)
        pointer, found = next(((at, found) for at in pointers if (found := self._found(at)) is not None), ("", None))
        if found is None:
            raise EvidenceRefused(f"asset {key.to_user_string()}{of} was never materialized; materialize it first")
        if not _NAME.fullmatch(found):
            raise _changed(self.store.place(pointer))
        return found.decode()

    def partitions_of(self, key: dg.AssetKey) -> list[str]:
        """The partitions of an asset that were ever materialized, in order."""
        latest = "/".join([*key.path, "latest@"])
        return [_partition(name.removeprefix(latest)) for name in self.store.names(latest)]

    def _read(self, context: dg.InputContext, partition: str, of_type: Any) -> Any:
        file = self.recorded(context.asset_key, _lineage(context), partition)
        name = "/".join([*context.asset_key.path, file])
        data = self._found(name) or b""
        if _hash(data) != file.partition(".")[0]:
            raise _changed(self.store.place(name))
        return decoded(name, data, of_type, place=self.store.place(name))

    def _found(self, name: str) -> bytes | None:
        """What is there of that name, if anything: one question to the store where asking first would be two."""
        try:
            return self.store.read(name)
        except EvidenceAbsent:
            return None


_NAME = re.compile(rb"[0-9a-f]{64}\.(json|parquet)")


def _changed(place: str) -> EvidenceRefused:
    return EvidenceRefused(f"evidence {place!r} is not what was written; materialize the asset again")


def of_partition(partition: str) -> str:
    """The end of a pointer's name for a partition, whose key may hold what divides names."""
    return f"@{partition.replace('%', '%25').replace('/', '%2F')}"


def _partition(of: str) -> str:
    """The key whose pointers end so, without their `@`."""
    return of.replace("%2F", "/").replace("%25", "%")


def _pointers(key: dg.AssetKey, runs: Iterable[str], of: str) -> list[str]:
    """Where the file of an asset, and of its partition, is named: by each run, and then by the last one."""
    by_run = ["/".join(["runs", run, *key.path[:-1], f"{key.path[-1]}{of}"]) for run in runs]
    return [*by_run, "/".join([*key.path, f"latest{of}"])]
