"""Evidence as bytes: tables as Parquet, findings as JSON; the same bytes for the same content, and no half files."""

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from eval_pipeline.errors import OutputRefused
from eval_pipeline.records import Reason, Refusal

# Arrow's own pool keeps what a read no longer needs: a third more memory and twice the time for a million judgments.
pa.set_memory_pool(pa.system_memory_pool())


@cache
def _adapter(of_type: Any) -> TypeAdapter[Any]:
    """How values of a type are written and read, worked out once for each type."""
    return TypeAdapter(of_type)


def table_bytes(table: pa.Table) -> bytes:
    """A table as a Parquet file, its metadata included."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def read_table(file: Path | bytes) -> pa.Table:
    """The table of a Parquet file, or of its bytes."""
    return pq.read_table(pa.BufferReader(file) if isinstance(file, bytes) else file)


def json_bytes(value: Any, of_type: Any) -> bytes:
    """A value as JSON by the type that it was declared with; fractions are kept exactly, as text.

    Raises: ValueError: a number in it is not finite, which no finding may be.
    """
    plain = _adapter(of_type).dump_python(value, mode="json")
    return (json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def read_json(data: bytes, of_type: Any) -> Any:
    """The value that `json_bytes` wrote."""
    return _adapter(of_type).validate_json(data)


def first_fault(error: ValidationError) -> str:
    """The first fault that was found in a document, after the field that it is in, if it is in one."""
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{f'field {where!r}: ' if where else ''}{fault['msg'][:1].lower()}{fault['msg'][1:]}"


def refusal_text(refusal: Refusal | None) -> str:
    """A refusal, or that there is none, as the metadata of a table carries it."""
    return json.dumps(asdict(refusal) if refusal else None)


def read_refusal(text: str | bytes) -> Refusal | None:
    """What `refusal_text` wrote."""
    fields = json.loads(text)
    return Refusal(Reason(fields["reason"]), fields["detail"]) if fields else None


def write_atomically(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Writes the whole file, at once or a part after the other, or leaves what was there.

    Raises: OutputRefused: the folder cannot be made or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).chmod(0o644)
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink()
                raise
    except OSError as error:
        raise OutputRefused(
            f"{str(path)!r} cannot be written ({error.strerror}); make room, or name another folder"
        ) from None
