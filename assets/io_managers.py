"""Evidence on disk, addressed by its content: what a run wrote is never written over, and it reads what it wrote."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.evidence import json_bytes, read_json, read_table, table_bytes, write_atomically


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
        for pointer in (self._run_pointer(context.asset_key, context.run_id), folder / "latest"):
            write_atomically(pointer, path.name.encode())
        context.add_output_metadata(
            {"evidence": dg.MetadataValue.path(str(path)), "sha256": digest, "bytes": len(data)}
        )

    def load_input(self, context: dg.InputContext) -> Any:
        """Reads the value that this run wrote, or else the latest."""
        folder = self._folder(context.asset_key)
        pointers = [*(self._run_pointer(context.asset_key, run_id) for run_id in _lineage(context)), folder / "latest"]
        pointer = next((pointer for pointer in pointers if pointer.exists()), None)
        if pointer is None:
            raise EvidenceRefused(
                f"asset {context.asset_key.to_user_string()} was never materialized; materialize it first"
            )
        path = folder / pointer.read_text()
        if not path.exists() or _hash(path) != path.stem:
            raise EvidenceRefused(f"evidence {str(path)!r} is not what was written; materialize the asset again")
        return _decoded(path, context.dagster_type.typing_type)

    def _folder(self, key: dg.AssetKey) -> Path:
        return Path(self.home, "evidence", *key.path)

    def _run_pointer(self, key: dg.AssetKey, run_id: str) -> Path:
        return Path(self.home, "evidence", "runs", run_id, *key.path)
