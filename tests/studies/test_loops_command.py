"""`eval-pipeline run` of the closed loops: a verdict from a log, and a sentence for whoever tampers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.studies import closed_loops
from eval_pipeline.bundled import bundled
from eval_pipeline.cli.run import run
from eval_pipeline.errors import SealBroken
from eval_pipeline.ledger import Kind, read_ledger
from eval_pipeline.observations import log_bytes
from eval_pipeline.plan import read_plan
from eval_pipeline.studies.loops import STUDIES
from eval_pipeline.studies.retry_limit.study import STUDY as RETRY_LIMIT
from eval_pipeline.studies.strategy_feedback.study import STUDY as STRATEGY_FEEDBACK


@contextmanager
def changed(path: Path, content: str) -> Iterator[None]:
    """A file with other content, and as it was after."""
    before = path.read_bytes()
    path.write_text(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def test_a_generation_gives_one_verdict_and_tampering_a_sentence(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One home: a run, the run again, and each way to tamper with a second generation before it is used."""
    home, plan = tmp_path / "home", tmp_path / "plan.toml"
    text = bundled("plans/retry-limit.toml").read_text("utf-8")
    plan.write_text(text)
    rows = RETRY_LIMIT.generate(read_plan(plan, RETRY_LIMIT.plan)).rows
    log = tmp_path / "attempts.jsonl"
    log.write_bytes(log_bytes(rows))
    given = ["run", "retry-limit", "--observations", log, "--plan", plan, "--out", tmp_path / "out"]

    said = command(*given)
    assert said.status == 0, said.err
    assert said.out.startswith("decision: ")
    assert "generated:" not in said.out
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_bytes())
    assert verdict["generation"] == "g1"

    def refused(*options: str) -> str:
        found = command(*given, *options)
        assert found.status == 1
        assert found.err.count("\n") == 1
        assert not (tmp_path / "out" / "verdict.json").exists()
        return str(found.err)

    assert "generation 'g1' of study 'retry-limit' used its held-out data on" in refused()

    # A second generation is sealed, and its verdict prevented by a plan that was edited in between.
    with changed(plan, text.replace("seed = ", "seed = 1", 1)):
        assert "restore the sealed plan, or raise its version" in refused("--generation", "g2")
    ledger = home / "ledger.jsonl"
    lines = ledger.read_text().splitlines()
    with changed(ledger, "".join(f"{line}\n" for line in lines[:-1])):
        assert "lines were removed at its end" in refused("--generation", "g2")
    with changed(ledger, ledger.read_text().replace('"generation":"g1"', '"generation":"g0"', 1)):
        assert "found a line that does not follow the one before it" in refused("--generation", "g2")

    with monkeypatch.context() as patch:  # it is interrupted after the sealing
        patch.setattr(closed_loops, "held_out_of", _interrupted)
        assert "interrupted" in refused("--generation", "g2")
    lock = home / "locks" / "retry-limit-g2.lock.json"
    sealed = json.loads(lock.read_bytes())
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    with changed(lock, json.dumps(sealed | {"sealed_at": tomorrow})):
        assert "a seal comes before the data" in refused("--generation", "g2")
    with changed(lock, json.dumps(sealed | {"partition_size": sealed["partition_size"] + 1})):
        assert "give exactly those that were held out" in refused("--generation", "g2")
    swapped = [row.model_copy(update={"run_id": f"{row.run_id}x"}) if row.run_id < "run-5" else row for row in rows]
    with changed(log, log_bytes(swapped).decode()):
        refused("--generation", "g2")
    assert "units that generation 'g1' saw, such as 'retry-" in refused("--generation", "g2")

    # New data under a new name, and no name that leads elsewhere.
    assert "found '../g3', expected letters, digits" in refused("--generation", "../g3")
    other = text.replace("seed = ", "seed = 1", 1)
    assert other != text
    (tmp_path / "other.toml").write_text(other)
    log.write_bytes(log_bytes(RETRY_LIMIT.generate(read_plan(tmp_path / "other.toml", RETRY_LIMIT.plan)).rows))
    assert command(*given, "--generation", "g3").status == 0


def _interrupted(*_: Any, **__: Any) -> None:
    raise SealBroken("interrupted")


def test_every_loop_is_a_command_that_explains_itself(command: Callable[..., Any]) -> None:
    names = {one.name for one in run.registered_commands}
    for study in STUDIES:
        assert study.name in names
        assert read_plan(bundled("plans") / f"{study.name}.toml", study.plan).name == study.name
    assert command("run", "fire-rate", "--observations", "none.jsonl").err == (
        "eval-pipeline: --observations 'none.jsonl' is not a file; give the path of one\n"
    )


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_log_of_something_else_is_refused_by_line_and_field(
    command: Callable[..., Any], tmp_path: Path, study: Any
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"some": "thing"}\n')
    said = command("run", study.name, "--observations", log, "--out", tmp_path / "out")
    assert said.status == 1
    assert "line 1, field" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("study", [RETRY_LIMIT, STRATEGY_FEEDBACK], ids=lambda study: study.name)
def test_a_run_in_another_arm_is_refused_before_anything_is_sealed_or_used(
    command: Callable[..., Any], tmp_path: Path, study: Any
) -> None:
    """The whole log is held against the plan, be the run held out or not."""
    rows = study.generate(read_plan(bundled("plans") / f"{study.name}.toml", study.plan)).rows
    arms = list(type(rows[0].arm))
    for run_id in list(dict.fromkeys(row.run_id for row in rows))[:2]:
        moved = [
            row.model_copy(update={"arm": arms[1 - arms.index(row.arm)]}) if row.run_id == run_id else row
            for row in rows
        ]
        log = tmp_path / "log.jsonl"
        log.write_bytes(log_bytes(moved))
        said = command("run", study.name, "--observations", log, "--out", tmp_path / "out")
        assert said.status == 1
        assert "by the hash" in said.err
        assert [line.kind for line in read_ledger(tmp_path / "home" / "ledger.jsonl")] in ([], [Kind.PLAN_SEALED])
        assert not (tmp_path / "home" / "locks").exists()
