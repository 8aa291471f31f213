"""Evidence on disk, addressed by its content: what a run wrote is never written over, and it reads what it wrote."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pyarrow as pa

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.evidence import json_bytes, read_json, read_table, table_bytes, write_atomically

ALL_PARTITIONS = "all_partitions"


def encoded(value: Any) -> tuple[bytes, str]:
    """A value as bytes, and the suffix of its file: Parquet for what is or gives a table, JSON for all else."""
    if isinstance(value, pa.Table):
        return table_bytes(value), ".parquet"
    if hasattr(value, "to_table"):
        return table_bytes(value.to_table()), ".parquet"
    return json_bytes(value, type(value)), ".json"


def _decoded(path: Path, of_type: Any) -> Any:
    if path.suffix == ".json":
        return read_json(path.read_bytes(), of_type)
    table = read_table(path)
    return of_type.from_table(table) if hasattr(of_type, "to_table") and of_type is not pa.Table else table


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _lineage(context: dg.InputContext) -> Iterator[str]:
    """The run, the run that it goes on from, and so on: each may have written what the next one reads."""
    run: dg.DagsterRun | None = context.step_context.dagster_run
    while run:
        yield run.run_id
        run = context.step_context.instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None


class EvidenceIOManager(dg.ConfigurableIOManager):
    """Files under home/evidence/ASSET, named by their hash; a pointer for each run, and one for the latest.

    A run that reads what it wrote itself follows its own pointer, so that two runs at once do not mix.
    """

    home: str

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Writes the file and the pointers."""
        data, suffix = encoded(obj)
        digest = hashlib.sha256(data).hexdigest()
        folder = self._folder(context.asset_key)
        path = folder / f"{digest}{suffix}"
        if not path.exists() or _hash(path) != digest:  # one that was damaged since is mended
            write_atomically(path, data)
        of = f"@{context.partition_key}" if context.has_partition_key and context.has_asset_partitions else ""
        for pointer in self._pointers(context.asset_key, [context.run_id], of):
            write_atomically(pointer, path.name.encode())
        context.add_output_metadata(
            {"evidence": dg.MetadataValue.path(str(path)), "sha256": digest, "bytes": len(data)}
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
            return self._read(context, f"@{context.asset_partition_key}", of_type)
        runs, of_value = list(_lineage(context)), get_args(of_type)[1]
        return {
            key: self._read(context, f"@{key}", of_value)
            for key in context.asset_partition_keys
            if any(pointer.exists() for pointer in self._pointers(context.asset_key, runs, f"@{key}"))
        }

    def _read(self, context: dg.InputContext, of: str, of_type: Any) -> Any:
        folder = self._folder(context.asset_key)
        pointers = self._pointers(context.asset_key, _lineage(context), of)
        pointer = next((pointer for pointer in pointers if pointer.exists()), None)
        if pointer is None:
            name = f"{context.asset_key.to_user_string()}{of}"
            raise EvidenceRefused(f"asset {name} was never materialized; materialize it first")
        path = folder / pointer.read_text()
        if not path.exists() or _hash(path) != path.stem:
            raise EvidenceRefused(f"evidence {str(path)!r} is not what was written; materialize the asset again")
        return _decoded(path, of_type)

    def _pointers(self, key: dg.AssetKey, runs: Iterable[str], of: str) -> list[Path]:
        """Where the file of an asset, and of its partition, is named: by each run, and then by the last one."""
        by_run = [Path(self.home, "evidence", "runs", run, *key.path[:-1], f"{key.path[-1]}{of}") for run in runs]
        return [*by_run, self._folder(key) / f"latest{of}"]

    def _folder(self, key: dg.AssetKey) -> Path:
        return Path(self.home, "evidence", *key.path)
