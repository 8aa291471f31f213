"""Files of one tool together: systems are told apart, and what cannot be compared is refused."""

import pytest

from eval_pipeline.errors import MalformedLog
from eval_pipeline.evidence import read_table, table_bytes
from eval_pipeline.importers import kinds
from eval_pipeline.importers.kinds import read_logs
from eval_pipeline.importers.results import Results, item_named
from tests.importers.logs import as_bytes, inspect_log, inspect_sample, inspect_score

SAMPLES = [inspect_sample(1, match="C"), inspect_sample(2, match="N")]


@pytest.fixture
def written(tmp_path):
    """A file of a log, by the name that it is given."""

    def write(name, log):
        (tmp_path / name).write_bytes(as_bytes(log))
        return tmp_path / name

    return write


def fault(*arguments):
    with pytest.raises(MalformedLog) as refusal:
        read_logs(*arguments)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_two_models_are_two_systems(written):
    paths = [written(f"{name}.json", inspect_log(SAMPLES, model=name)) for name in ("large", "small")]
    assert {row.system for row in read_logs("inspect", paths, frozenset()).rows} == {"large", "small"}


def test_two_runs_of_one_model_are_told_apart_by_their_files(written):
    log = inspect_log(SAMPLES)
    log["results"]["scores"] = [inspect_score("match", 0.5)]
    paths = [written("a.json", log), written("b.json", log | {"stats": {"again": True}})]
    found = read_logs("inspect", paths, frozenset())
    assert {row.system for row in found.rows} == {"acme/small (a.json)", "acme/small (b.json)"}
    assert [one.system for one in found.headlines] == ["acme/small (a.json)", "acme/small (b.json)"]


def test_the_same_file_twice_is_refused(written):
    paths = [written("a.json", inspect_log(SAMPLES)), written("b.json", inspect_log(SAMPLES))]
    assert "log 'b.json' has 1 fault: found the same file or name as 'a.json'; name each file once" in fault(
        "inspect", paths, frozenset()
    )


def test_logs_of_two_tasks_are_not_compared(written):
    other = inspect_log(SAMPLES, model="large")
    other["eval"]["task"] = "rivers"
    paths = [written("a.json", inspect_log(SAMPLES)), written("b.json", other)]
    assert "found task 'rivers', expected 'lakes' as in 'a.json'; import each task by itself" in fault(
        "inspect", paths, frozenset()
    )


def test_a_metric_that_no_log_has_is_refused(written):
    assert "log 'a.json' has 1 fault: found no metric 'tone', expected it; look up how inspect names it" in fault(
        "inspect", [written("a.json", inspect_log(SAMPLES))], frozenset({"match", "tone"})
    )


def test_what_cannot_be_read_is_refused(tmp_path, written, monkeypatch):
    assert "found the tool 'ragas', expected one of inspect, ragchecker, deepeval, promptfoo" in fault(
        "ragas", [tmp_path / "a"], frozenset()
    )
    assert "found no file, expected one or more; give a log of inspect" in fault("inspect", [], frozenset())
    assert "cannot be read (No such file or directory)" in fault("inspect", [tmp_path / "none"], frozenset())
    monkeypatch.setattr(kinds, "FILE_BYTES", 100)
    assert "found more than 100 bytes, expected at most so many" in fault(
        "inspect", [written("a.json", inspect_log(SAMPLES))], frozenset()
    )


def test_results_are_what_they_were_when_they_come_back_from_a_file(tmp_path, written):
    log = inspect_log(SAMPLES, status="error")
    log["results"]["scores"] = [inspect_score("match", 0.5)]
    found = read_logs("inspect", [written("a.json", log)], frozenset())
    (tmp_path / "results.parquet").write_bytes(table_bytes(found.to_table()))
    assert Results.from_table(read_table(tmp_path / "results.parquet")) == found


def test_long_texts_are_told_apart_by_their_hash():
    assert item_named("short") == "short"
    first, second = item_named("x" * 500 + "a"), item_named("x" * 500 + "b")
    assert first != second
    assert len(first) < 100
    assert item_named("two\nlines") != item_named("two lines")
