"""Evidence that was damaged or replaced since it was written: one sentence that names it, and never a wrong value."""

import hashlib
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from assets.io_managers import EvidenceIOManager
from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.evidence import table_bytes

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
ROWS = {"entry": [f"note-{n}" for n in range(50)], "hits": list(range(50))}


@dg.asset
def table() -> pa.Table:
    return pa.table(ROWS)


@dg.asset
def findings() -> dict[str, Any]:
    return {"recall": 0.5, "reason": None}


@dg.asset
def of_table(table: pa.Table) -> int:
    return table.num_rows


@dg.asset
def of_findings(findings: dict[str, Any]) -> float:
    return float(findings["recall"])


class Planted:
    """What does something where it is unpickled."""

    def __reduce__(self) -> Any:
        return (Path(PLANTED).write_text, ("it ran",))


PLANTED = "/tmp/eval_pipeline_was_unpickled"


def materialize(home: Path, *only: str) -> dg.ExecuteInProcessResult:
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [table, findings, of_table, of_findings],
            selection=dg.AssetSelection.assets(*only),
            resources={"io_manager": EvidenceIOManager(home=str(home))},
            run_config=QUIET,
            instance=instance,
        )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("written")
    materialize(home, "table", "findings")
    return home


@pytest.fixture
def home(written: Path, tmp_path: Path) -> Path:
    """A home with evidence that may be damaged."""
    return Path(shutil.copytree(written, tmp_path / "home"))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a byte in the middle flipped": lambda data: flipped(data, len(data) // 2),
    "cut short": lambda data: data[: len(data) // 2],
    "empty": lambda _: b"",
    "another table": lambda _: table_bytes(pa.table({"entry": ["other"], "hits": [1]})),
    "a pickle": lambda _: pickle.dumps(Planted()),
}


def stored(home: Path, asset: str) -> Path:
    (path,) = [path for path in (home / "evidence" / asset).iterdir() if path.suffix]
    return path


@pytest.mark.parametrize("asset", ["table", "findings"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_evidence_that_is_not_what_was_written_is_refused_by_its_name(home: Path, asset: str, damage: str) -> None:
    path = stored(home, asset)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(EvidenceRefused) as refused:
        materialize(home, f"of_{asset}")
    assert str(refused.value) == f"evidence {str(path)!r} is not what was written; materialize the asset again"
    assert not Path(PLANTED).exists()


@pytest.mark.parametrize("asset", ["table", "findings"])
@pytest.mark.parametrize("data", [b"", b"[1]", pickle.dumps(Planted())], ids=["nothing", "a list", "a pickle"])
def test_bytes_that_were_put_there_under_their_own_hash_are_refused_if_they_hold_no_such_value(
    home: Path, asset: str, data: bytes
) -> None:
    """As by who may write both the file and what points to it."""
    path = stored(home, asset)
    forged = path.with_name(f"{hashlib.sha256(data).hexdigest()}{path.suffix}")
    forged.write_bytes(data)
    (path.parent / "latest").write_text(forged.name)
    with pytest.raises(EvidenceRefused) as refused:
        materialize(home, f"of_{asset}")
    assert str(forged) in str(refused.value)
    assert str(refused.value).endswith("materialize the asset again")
    assert not Path(PLANTED).exists()


@pytest.mark.parametrize("suffix", [".pickle", ".json.pickle"])
def test_a_pickle_that_is_pointed_to_is_refused_and_not_loaded(home: Path, suffix: str) -> None:
    data = pickle.dumps(Planted())
    folder = home / "evidence" / "findings"
    planted = folder / f"{hashlib.sha256(data).hexdigest()}{suffix}"
    planted.write_bytes(data)
    (folder / "latest").write_text(planted.name)
    with pytest.raises(EvidenceRefused) as refused:
        materialize(home, "of_findings")
    assert str(folder / "latest") in str(refused.value)
    assert not Path(PLANTED).exists()


@pytest.mark.parametrize("pointer", ["../table/latest", "/etc/hostname", "", "\udcff"])
def test_a_pointer_that_leads_elsewhere_is_refused(home: Path, pointer: str) -> None:
    latest = home / "evidence" / "findings" / "latest"
    latest.write_bytes(pointer.encode("utf-8", "surrogateescape"))
    with pytest.raises(EvidenceRefused) as refused:
        materialize(home, "of_findings")
    assert str(latest) in str(refused.value)


def test_evidence_that_may_not_be_there_any_more_is_named(home: Path) -> None:
    path = stored(home, "table")
    path.unlink()
    with pytest.raises(EvidenceRefused) as refused:
        materialize(home, "of_table")
    assert str(path) in str(refused.value)
