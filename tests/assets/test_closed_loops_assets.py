"""A closed loop as assets: sealed, used once, and stopped by a check that says why wherever somebody tampered."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager
from assets.resources import Clock, Home, Software, StudyInputs
from assets.schedules import all_schedules, observations_variable, quarter_of, week_of
from assets.studies.closed_loops import GENERATED, RECORDED, _found_assets, _found_checks, _given_assets, _given_checks
from eval_pipeline.errors import PartitionUsed
from eval_pipeline.ledger import Kind, read_ledger
from eval_pipeline.sealing import drawn_for
from eval_pipeline.studies.loops import STUDIES
from tests.assets.conftest import QUIET
from tests.toy_loop import PLAN, STUDY, write_log, write_plan

VALUES = {f"run-{number}": float(number % 3) for number in range(20)}


class Bench:
    """A home, a plan and a log, in which the chain of the toy is materialized."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.plan = write_plan(folder / "toy.toml")
        self.log = write_log(folder / "runs.jsonl", VALUES)
        assets = [*_given_assets(STUDY, "toy"), *_found_assets(STUDY, "toy")]
        checks = [*_given_checks(STUDY, "toy"), *_found_checks(STUDY, "toy")]
        self.definitions = [*assets, *checks]

    def run(self, **inputs: Any) -> dg.ExecuteInProcessResult:
        given = {"plan": str(self.plan), "observations": str(self.log), "out": str(self.home / "out")} | inputs
        resources = {
            "home": Home(path=str(self.home)),
            "clock": Clock(),
            "software": Software(),
            "inputs": StudyInputs(**given),
            "io_manager": EvidenceIOManager(home=str(self.home)),
        }
        with dg.DagsterInstance.ephemeral() as instance:
            return dg.materialize(
                self.definitions, resources=resources, instance=instance, raise_on_error=False, run_config=QUIET
            )

    @property
    def lock(self) -> Path:
        return self.home / "locks" / "toy-g1.lock.json"

    @property
    def ledger(self) -> Path:
        return self.home / "ledger.jsonl"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def failed_check(result: dg.ExecuteInProcessResult) -> tuple[str, str]:
    """The blocking check that stopped a run, and what it said; nothing was computed."""
    assert not result.success
    made = {
        str(event.asset_key.to_user_string()) for event in result.get_asset_materialization_events() if event.asset_key
    }
    assert not made & {"toy_findings", "toy_held_out", "toy_verdict", "toy_report"}
    (failed,) = [check for check in result.get_asset_check_evaluations() if not check.passed]
    return failed.check_name, str(failed.description)


def test_the_chain_goes_from_the_plan_to_the_report_and_enters_each_step_into_the_ledger(bench: Bench) -> None:
    result = bench.run()
    assert result.success
    document = result.asset_value("toy_verdict")
    assert (document["decision"]["word"], document["simulated"], document["generation"]) == ("keep", False, "g1")
    assert document["findings"]["runs"] + document["held_out"]["runs"] == len(VALUES)
    assert document["held_out"]["runs"] == 4
    assert [line.kind for line in read_ledger(bench.ledger)] == [
        Kind.PLAN_SEALED,
        Kind.PARTITION_SEALED,
        Kind.PARTITION_USED,
        Kind.VERDICT,
    ]
    assert json.loads((bench.home / "out" / "verdict.json").read_bytes()) == document
    page = (bench.home / "out" / "report.html").read_text("utf-8")
    assert "Generated." not in page
    assert "a heuristic: no script, no date, no N, no data" in page


def test_the_use_is_in_the_ledger_before_held_out_data_are_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that fails on its held-out data has used them all the same."""
    seen: list[Kind] = []

    def fails(*_: Any) -> None:
        seen.extend(line.kind for line in read_ledger(bench.ledger))
        raise ValueError("a fault in the study")

    monkeypatch.setattr(type(STUDY), "held_out", property(lambda self: fails), raising=False)
    assets = [*_given_assets(STUDY, "toy"), *_found_assets(STUDY, "toy")]
    bench.definitions = [*assets, *_given_checks(STUDY, "toy")]
    assert not bench.run().success
    assert seen[-1] is Kind.PARTITION_USED
    monkeypatch.undo()
    assert "used its held-out data" in failed_check(bench.run())[1]


def test_a_generation_that_was_used_is_stopped_by_a_check_that_says_so_and_a_new_one_is_not(bench: Bench) -> None:
    assert bench.run().success
    name, said = failed_check(bench.run())
    today = datetime.now(UTC).date().isoformat()
    assert name == "toy_partition_holds"
    assert said == (
        f"generation 'g1' of study 'toy' used its held-out data on {today}; collect new data, and name a new generation"
    )
    write_log(bench.log, {f"later-{name}": value for name, value in VALUES.items()})
    assert bench.run(generation="g2").success
    uses = [line.body["generation"] for line in read_ledger(bench.ledger) if line.kind is Kind.PARTITION_USED]
    assert uses == ["g1", "g2"]


def test_the_same_data_are_not_held_out_again_under_another_name(bench: Bench) -> None:
    assert bench.run().success
    name, said = failed_check(bench.run(generation="g2"))
    assert name == "toy_partition_holds"
    assert "would hold out 4 units that generation 'g1' saw, such as 'run-" in said


def _swap(bench: Bench) -> None:
    held = drawn_for({"all": list(VALUES)}, PLAN.held_out, generation="g1").held_out[0]
    write_log(bench.log, {("other" if name == held else name): value for name, value in VALUES.items()})


def _edit(bench: Bench, **fields: Any) -> None:
    bench.lock.write_text(json.dumps(json.loads(bench.lock.read_bytes()) | fields))


def _rewrite(bench: Bench, change: Callable[[list[str]], list[str]]) -> None:
    bench.ledger.write_text("".join(f"{row}\n" for row in change(bench.ledger.read_text().splitlines())))


@pytest.mark.parametrize(
    ("tamper", "check", "sentence"),
    [
        (_swap, "toy_partition_holds", "give exactly those that were held out"),
        (lambda bench: bench.lock.unlink(), "toy_partition_holds", "is not there; seal a partition before"),
        (lambda bench: _edit(bench, partition_size=5), "toy_partition_holds", "give exactly those that were held out"),
        (lambda bench: _edit(bench, partition_hash=None), "toy_partition_holds", "nothing was sealed yet"),
        (lambda bench: _edit(bench, schema_version=3), "toy_partition_holds", "found 3, expected 1 or 2"),
        (
            lambda bench: _edit(bench, sealed_at=(datetime.now(UTC) + timedelta(days=1)).isoformat()),
            "toy_partition_holds",
            "a seal comes before the data",
        ),
        (
            lambda bench: write_plan(bench.plan, seed=2),
            "toy_seal_holds",
            "restore the sealed plan, or raise its version",
        ),
        (lambda bench: _rewrite(bench, lambda rows: rows[:1]), "toy_seal_holds", "lines were removed at its end"),
        (lambda bench: _rewrite(bench, lambda rows: rows[1:]), "toy_seal_holds", "line 1: found a line that does not"),
        (
            lambda bench: _rewrite(bench, lambda rows: [rows[0].replace('"toy"', '"boy"'), *rows[1:]]),
            "toy_seal_holds",
            "line 1: found a line that does not follow",
        ),
    ],
    ids=["swapped", "no lock", "edited", "open", "version", "tomorrow", "plan", "cut", "removed", "changed"],
)
def test_whoever_tampers_is_stopped_by_a_blocking_check_with_its_own_sentence(
    bench: Bench, tamper: Callable[[Bench], object], check: str, sentence: str
) -> None:
    """The chain is run up to the sealing first, as by a person who then looks at the data."""
    sealed = [asset for asset in bench.definitions if isinstance(asset, dg.AssetsDefinition)][:3]
    everything, bench.definitions = bench.definitions, [*sealed, *_given_checks(STUDY, "toy")]
    assert bench.run().success
    bench.definitions = everything
    tamper(bench)
    name, said = failed_check(bench.run())
    assert name == check
    assert sentence in said


def test_no_path_leads_past_a_check_that_was_not_run(bench: Bench) -> None:
    """Without its checks the chain refuses a used generation all the same."""
    assert bench.run().success
    bench.definitions = [one for one in bench.definitions if not isinstance(one, dg.AssetChecksDefinition)]
    result = bench.run()
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert failure.step_key == "toy_held_out"
    assert PartitionUsed.__name__ in str(failure.step_failure_data.error)


def test_a_log_that_is_generated_says_so_in_every_place(bench: Bench) -> None:
    result = bench.run(observations="")
    assert result.success
    assert result.asset_value("toy_verdict")["simulated"] is True
    assert "Generated." in (bench.home / "out" / "report.html").read_text("utf-8")
    said = {
        event.asset_key.to_user_string(): event.materialization.metadata["origin"].value
        for event in result.get_asset_materialization_events()
        if event.asset_key and "origin" in event.materialization.metadata
    }
    assert said == dict.fromkeys(("toy_observations", "toy_findings", "toy_verdict"), GENERATED)
    assert RECORDED != GENERATED


def test_a_claim_that_fails_is_an_error_of_its_check(bench: Bench) -> None:
    """Held-out runs of another world."""
    partition = bench.run().asset_value("toy_partition")
    values = {name: 50.0 if name in partition.held_out else 0.0 for name in VALUES}
    other = Bench(bench.home.parent)
    other.home = bench.home.parent / "other"
    write_log(other.log, values)
    result = other.run()
    assert result.success
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "agrees"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert result.asset_value("toy_verdict")["decision"]["word"] == "revert"


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_defs()


def test_every_loop_has_its_group_its_job_and_its_schedule(definitions: dg.Definitions) -> None:
    jobs = {job.name for job in definitions.jobs or ()}
    schedules = {schedule.name: schedule for schedule in definitions.schedules or ()}
    for study in STUDIES:
        group = study.name.replace("-", "_")
        assert group in jobs
        assert schedules[f"{group}_recalibration"].cron_schedule in ("0 6 * * 1", "0 6 1 1,4,7,10 *")
        assert schedules[f"{group}_recalibration"].job_name == group


RECALIBRATIONS = [schedule for schedule in all_schedules() if schedule.name.endswith("_recalibration")]


@pytest.mark.parametrize("schedule", RECALIBRATIONS, ids=lambda schedule: schedule.name)
def test_a_schedule_asks_for_a_run_on_a_named_log_once_a_generation_and_never_on_a_generated_one(
    schedule: dg.ScheduleDefinition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = observations_variable(schedule.job_name)
    monkeypatch.delenv(variable, raising=False)

    def tick(day: int) -> Any:
        at = datetime(2026, 11, day, 6, tzinfo=UTC)
        with dg.DagsterInstance.ephemeral() as instance:
            context = dg.build_schedule_context(instance=instance, scheduled_execution_time=at)
            return schedule.evaluate_tick(context)

    assert variable in str(tick(30).skip_message)
    log = tmp_path / "runs.jsonl"
    log.write_text("{}\n")
    monkeypatch.setenv(variable, str(log))
    (request,) = tick(30).run_requests
    given = request.run_config["resources"]["inputs"]["config"]
    assert given["observations"] == str(log)
    assert given["generation"] in ("2026-W49", "2026-Q4")
    assert request.run_key == f"{schedule.job_name}-{given['generation']}"


def test_generations_are_named_by_the_calendar() -> None:
    """The first of January 2027 is a Friday of the last week of 2026."""
    assert week_of(datetime(2027, 1, 1, tzinfo=UTC)) == "2026-W53"
    assert [quarter_of(datetime(2026, month, 1, tzinfo=UTC)) for month in (1, 3, 4, 12)] == [
        "2026-Q1", "2026-Q1", "2026-Q2", "2026-Q4",
    ]  # fmt: skip
