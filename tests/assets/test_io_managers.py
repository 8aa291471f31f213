"""Evidence on disk: addressed by content, kept apart by run, and never a pickle."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import dagster as dg
import pyarrow as pa
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager, _lineage, encoded
from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.records import Interval

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dg.asset
def answer(config: dict[str, Any]) -> dict[str, Any]:
    return config


@dg.asset
def doubled(answer: dict[str, Any]) -> dict[str, Any]:
    return {"value": 2 * answer["value"]}


def materialize(
    home: Path, value: int, assets: list[dg.AssetsDefinition], *, only: str | None = None
) -> dg.ExecuteInProcessResult:
    config = {"answer": {"config": {"value": value}}}
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            assets,
            selection=only and dg.AssetSelection.assets(only),
            resources={"io_manager": EvidenceIOManager(home=str(home))},
            run_config={"ops": config if only in (None, "answer") else {}, **QUIET},
            instance=instance,
        )


def stored(home: Path, asset: str) -> list[Path]:
    return sorted((home / "evidence" / asset).glob("*.json"))


def test_a_value_lands_in_a_file_named_by_the_hash_of_its_bytes(tmp_path: Path) -> None:
    """`printf '{\\n "value": 3\\n}\\n' | sha256sum` gives the name."""
    materialize(tmp_path, 3, [answer])
    name = "577b3ec1dfaedc4cbb9f49e60149de6c5979e7e6f893b044cb90fc7c0164b53c.json"
    assert [path.name for path in stored(tmp_path, "answer")] == [name]
    assert (tmp_path / "evidence" / "answer" / "latest").read_text() == name


def test_a_run_reads_what_it_wrote_though_another_run_wrote_in_between(tmp_path: Path) -> None:
    """The second run goes from its first to its last step while the first run is between two of its own."""

    @dg.asset(deps=[answer])
    def meanwhile() -> None:
        materialize(tmp_path, 50, [answer, doubled])

    @dg.asset(deps=[meanwhile], ins={"answer": dg.AssetIn()})
    def tripled(answer: dict[str, Any]) -> dict[str, Any]:
        return {"value": 3 * answer["value"]}

    first = materialize(tmp_path, 7, [answer, meanwhile, tripled])
    assert first.asset_value("tripled") == {"value": 21}
    assert materialize(tmp_path, 0, [answer, doubled], only="doubled").asset_value("doubled") == {"value": 100}


def test_the_same_value_again_leaves_the_file_untouched(tmp_path: Path) -> None:
    materialize(tmp_path, 3, [answer])
    (before,) = stored(tmp_path, "answer")
    stat = before.stat()
    materialize(tmp_path, 3, [answer])
    (after,) = stored(tmp_path, "answer")
    assert (after.stat().st_ino, after.stat().st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)


def test_another_value_is_another_file_and_the_first_stays(tmp_path: Path) -> None:
    materialize(tmp_path, 3, [answer])
    (first,) = stored(tmp_path, "answer")
    data = first.read_bytes()
    materialize(tmp_path, 4, [answer])
    assert len(stored(tmp_path, "answer")) == 2
    assert first.read_bytes() == data


def test_a_run_of_one_asset_reads_the_latest_of_what_is_above_it(tmp_path: Path) -> None:
    materialize(tmp_path, 3, [answer])
    materialize(tmp_path, 4, [answer])
    assert materialize(tmp_path, 0, [answer, doubled], only="doubled").asset_value("doubled") == {"value": 8}


def test_reading_what_was_never_materialized_is_one_failure_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EvidenceRefused) as refused:
        materialize(tmp_path, 0, [answer, doubled], only="doubled")
    assert str(refused.value) == "asset answer was never materialized; materialize it first"


def test_a_table_is_parquet() -> None:
    data, suffix = encoded(pa.table({"a": [1]}))
    assert (suffix, data[:4]) == (".parquet", b"PAR1")


def test_a_record_is_json_and_its_fractions_stay_exact() -> None:
    data, suffix = encoded(Interval(Fraction(1, 3), None, 0.95))
    assert (suffix, json.loads(data)) == (".json", {"low": "1/3", "high": None, "level": 0.95})


def test_a_whole_run_leaves_no_pickle_and_no_half_file(
    bench: Any, small_corpus: Callable[[Path], Path], tmp_path: Path
) -> None:
    bench.run({"corpus": str(small_corpus(tmp_path / "corpus"))})
    files = [path for path in (bench.home / "evidence").rglob("*") if path.is_file()]
    assets = build_defs().resolve_job_def("extraction").asset_layer.executable_asset_keys
    kept = {key.to_user_string() for key in assets}
    assert {path.parent.name for path in files if path.name == "latest"} == kept
    pickled = [path for path in files if path.read_bytes()[:1] == b"\x80" or path.suffix in (".pkl", ".pickle")]
    assert pickled == []
    assert list(bench.home.rglob(".*")) == []
    assert {path.suffix for path in files} == {".parquet", ".json", ""}


def test_evidence_that_was_edited_in_its_place_is_refused(tmp_path: Path) -> None:
    materialize(tmp_path, 3, [answer])
    (path,) = stored(tmp_path, "answer")
    path.write_bytes(path.read_bytes().replace(b"3", b"4"))
    with pytest.raises(EvidenceRefused) as refused:
        materialize(tmp_path, 0, [answer, doubled], only="doubled")
    assert "is not what was written; materialize the asset again" in str(refused.value)


def test_evidence_that_was_damaged_is_mended_by_the_next_run_that_makes_the_same(tmp_path: Path) -> None:
    materialize(tmp_path, 3, [answer])
    (path,) = stored(tmp_path, "answer")
    sound = path.read_bytes()
    path.write_bytes(sound + b"garbage")
    assert materialize(tmp_path, 3, [answer, doubled]).asset_value("doubled") == {"value": 6}
    assert path.read_bytes() == sound


def test_a_run_that_goes_on_from_others_looks_to_the_nearest_of_them_first() -> None:
    """Not to the first of the line alone: what one in between wrote again is what the next one must read."""
    line = ["first", "second", "third", "fourth"]
    runs = {
        run: dg.DagsterRun(job_name="j", run_id=run, parent_run_id=parent, root_run_id=parent and "first")
        for run, parent in zip(line, [None, *line], strict=False)
    }
    steps = {run: SimpleNamespace(dagster_run=runs[run], instance=Kept(runs)) for run in line}
    lineages = [list(_lineage(cast("dg.InputContext", SimpleNamespace(step_context=steps[run])))) for run in line]
    assert lineages == [["first"], ["second", "first"], ["third", "second", "first"], [*reversed(line)]]


class Kept(dict[str, dg.DagsterRun]):
    """The runs that an instance keeps."""

    def get_run_by_id(self, run_id: str) -> dg.DagsterRun | None:
        """The run of that id."""
        return self.get(run_id)
