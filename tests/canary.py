"""A secret that is looked for in everything that a command leaves, in every form in which it could stand there."""

import base64
import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq

KEY = "canary-c4n4ry/8f1e+2d=%7a&9b"


def forms(secret: str) -> set[bytes]:
    """The secret as it is, in UTF-16, within an address, within JSON, and within base64 wherever it begins there."""
    plain = secret.encode()
    found = {plain, secret.encode("utf-16-le"), quote(secret).encode(), quote(secret, safe="").encode()}
    found |= {json.dumps(secret)[1:-1].encode(), repr(secret)[1:-1].encode(), plain[::-1]}
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + plain)
        found.add(coded[4 if shift else 0 : -4])
    return found


def holding(secret: str, *folders: Path) -> list[str]:
    """The files below these folders in which the secret stands in some form; packed ones are unpacked."""
    wanted = forms(secret)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [
        str(path)
        for path in files
        if any(form in data or form in str(path).encode() for data in _contents(path) for form in wanted)
    ]


def in_arguments(secret: str) -> list[str]:
    """The processes of this machine in whose arguments the secret stands."""
    wanted, found = forms(secret), []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if any(form in data for form in wanted):
                found.append(str(path))
    return found


def _contents(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    yield str(path).encode()
    if data.startswith(b"SQLite format 3"):
        yield from _packed_in(path)
    if path.suffix == ".parquet":
        yield json.dumps(pq.read_table(path).to_pylist(), default=str, ensure_ascii=False).encode()


def _packed_in(database: Path) -> Iterator[bytes]:
    """The packed values of a database, unpacked, as Dagster keeps what a run was configured with."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    if isinstance(value, bytes):
                        with contextlib.suppress(zlib.error):
                            yield zlib.decompress(value)
