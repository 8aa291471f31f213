"""A study's job in this process, in the history that the UI shows."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
from dagster import DagsterEventType, DagsterExecutionInterruptedError, DagsterInstance
from dagster._core.errors import DagsterAssetCheckFailedError
from dagster._core.instance.ref import InstanceRef

from assets.build import build_defs
from assets.history import end_dead_runs, history_kept
from assets.jobs import group_of
from assets.partitions import TRACKS, WORKSPACES, WORKSPACES_PREFIX, can_be_partition
from assets.resources import PROJECT, Home, StudyInputs, home_folder, judge_endpoint
from assets.staleness import stale_assets
from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.source import pinned
from eval_pipeline.errors import InputRefused, Interrupted, OutputRefused, SealBroken
from eval_pipeline.evidence import write_atomically
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.registry import judge_named
from eval_pipeline.records import Refusal
from eval_pipeline.studies.extraction.fixture import pinned_fixture
from eval_pipeline.studies.extraction.pilot import PilotFindings, pilot_in_journal
from eval_pipeline.studies.extraction.plan import ExtractionPlan

WORKSPACE = PROJECT / "workspace.yaml"  # absent where the house was installed from a wheel
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True, slots=True)
class StudyRun:
    """What a run came to: the verdict document, and the folder of its findings."""

    document: dict[str, Any]
    out: Path


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at the inputs found: each stale asset with what changed under it, and inputs that were refused.

    `made` says whether there is a verdict at all that could be stale.
    """

    stale: dict[str, tuple[str, ...]]
    refusals: tuple[Refusal, ...]
    made: bool


def dagster_home() -> Path:
    """DAGSTER_HOME if it is set, or else a folder under the home, with the house's own instance configuration in it."""
    if own := os.environ.get("DAGSTER_HOME"):
        if not (Path(own).is_absolute() and Path(own).is_dir()):
            raise OutputRefused(
                f"DAGSTER_HOME is {own!r}, expected the absolute path of a folder; make it, or unset it"
            )
        return Path(own)
    home = home_folder() / "dagster"
    copy, configuration = home / "dagster.yaml", _configuration().read_bytes()
    if not copy.exists() or copy.read_bytes() != configuration:
        write_atomically(copy, configuration)
    return home


def _configuration() -> Path:
    in_clone = PROJECT / "dagster.yaml"
    return in_clone if in_clone.exists() else bundled("dagster.yaml")


def _instance(home: Path) -> DagsterInstance:
    """The instance with its tables made; of several processes that come to a new home at once, one makes them.

    Runs in it that are called running, and are not, are ended.
    """
    with (home / ".lock").open("w") as lock, history_kept(home):
        fcntl.flock(lock, fcntl.LOCK_EX)
        instance = DagsterInstance.from_ref(InstanceRef.from_dir(str(home)))
        instance.get_runs_count()
        instance.event_log_storage.get_maximum_record_id()
        end_dead_runs(instance)
        return instance


def run_study(study: str, inputs: Mapping[str, Any]) -> StudyRun:
    """Runs the job of a study with these inputs; whatever an asset refuses is raised as it was raised there."""
    with _executed(study, inputs) as result:
        return _study_run(result, dg.AssetKey(f"{study}_report"), dg.AssetKey(f"{study}_verdict"))


def run_workspace(inputs: Mapping[str, Any], workspace: str) -> StudyRun:
    """Runs the extraction study of one workspace of the corpus, as if the others were not there.

    Raises: InputRefused: the corpus has no such workspace, or Dagster takes no such name; what an asset refuses.
    """
    corpus = pinned(inputs["corpus"])
    if not (corpus.refusal or workspace in corpus.workspaces):
        there = ", ".join(corpus.workspaces) or "none"
        raise InputRefused(f"the corpus has no entry of workspace {workspace!r}; name one that it has: {there}")
    if not can_be_partition(workspace):
        raise InputRefused(f"workspace {workspace!r} cannot be a partition, whose names Dagster restricts; run all")
    offer_workspaces([workspace])
    with _executed("extraction_workspaces", inputs, partition=workspace) as result:
        keys = (dg.AssetKey([WORKSPACES_PREFIX, f"extraction_{name}"]) for name in ("report", "verdict"))
        return _study_run(result, *keys)


def _study_run(result: dg.ExecuteInProcessResult, report: dg.AssetKey, verdict: dg.AssetKey) -> StudyRun:
    (written,) = (
        event.materialization.metadata["report"].value
        for event in result.get_asset_materialization_events()
        if event.asset_key == report
    )
    return StudyRun(result.asset_value(verdict), Path(str(written)).parent)


def materialize_sheet(inputs: Mapping[str, Any]) -> None:
    """Runs the job that draws the sheet of the human check; what the judge said is known, or else it is asked."""
    with _executed("human_check_draw", inputs):
        pass


def look_at_inputs(inputs: Mapping[str, Any]) -> Looked:
    """What is stale, and what is other than it was, once the inputs of the extraction study were read again."""
    with _executed("look_at_inputs", inputs) as result, _instance(dagster_home()) as instance:
        read = (result.asset_value(name).refusal for name in ("proposition_fixture", "corpus"))
        return Looked(
            stale=stale_assets(instance, build_defs()),
            refusals=tuple(refusal for refusal in read if refusal),
            made=instance.get_latest_materialization_event(dg.AssetKey("extraction_verdict")) is not None,
        )


def run_tracks(inputs: Mapping[str, Any], tracks: Sequence[str]) -> StudyRun:
    """Runs the label signal of each track by itself; the report of the last run holds them all."""
    offer_tracks(tracks)
    for place, track in enumerate(tracks, 1):
        own = {**inputs, "only_tracks": list(tracks[:place])}
        with _executed("label_signal", own, partition=track) as result:
            document = result.asset_value("label_signal_portfolio")
    return StudyRun(document, Path(inputs["out"]))


def run_loop(study: str, inputs: Mapping[str, Any]) -> StudyRun:
    """Runs a closed loop.

    Raises: SealBroken: a blocking check failed, with what it said; and whatever an asset refuses.
    """
    group = group_of(study)
    with _executed(group, inputs) as result:
        return StudyRun(result.asset_value(f"{group}_verdict"), Path(inputs["out"]))


def offer_tracks(tracks: Sequence[str]) -> None:
    """Makes tracks partitions, so that the user interface offers them before its sensor has looked."""
    _offer(TRACKS, tracks)


def offer_workspaces(workspaces: Sequence[str]) -> None:
    """Makes workspaces partitions, so that the user interface offers them before its sensor has looked."""
    _offer(WORKSPACES, [workspace for workspace in workspaces if can_be_partition(workspace)])


def _offer(partitions: dg.DynamicPartitionsDefinition, keys: Sequence[str]) -> None:
    home = dagster_home()
    with _instance(home) as instance, history_kept(home):
        instance.add_dynamic_partitions(str(partitions.name), list(keys))


@contextlib.contextmanager
def _executed(
    job_name: str, inputs: Mapping[str, Any], *, partition: str | None = None
) -> Iterator[dg.ExecuteInProcessResult]:
    """The result of a job, for one partition where it has some, while its instance is open."""
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")
    home, run = dagster_home(), str(uuid4())
    instance = _instance(home)
    job = build_defs().resolve_job_def(job_name)
    with instance, history_kept(home):
        try:
            result = job.execute_in_process(
                run_config={"resources": {"inputs": {"config": dict(inputs)}}, **_QUIET},
                instance=instance,
                partition_key=partition,
                run_id=run,
            )
        except DagsterAssetCheckFailedError:
            raise SealBroken(_said_by_the_check(instance, run)) from None
        except DagsterExecutionInterruptedError:
            raise Interrupted(
                "the run was interrupted; what was judged is kept, and the same command goes on from there"
            ) from None
        yield result


def _said_by_the_check(instance: DagsterInstance, run: str) -> str:
    """What the blocking check said that ended a run."""
    failed = [
        event.asset_check_evaluation_data
        for entry in instance.all_logs(run)
        if (event := entry.dagster_event) and event.event_type is DagsterEventType.ASSET_CHECK_EVALUATION
        if not event.asset_check_evaluation_data.passed
    ]
    return str(failed[-1].description)


def run_pilot(inputs: StudyInputs, plan: ExtractionPlan, *, entries: int) -> PilotFindings:
    """Every strategy on a few entries; what is judged is kept for the run.

    Raises: PilotRefused: there is nothing to try it on; JudgeDown, JudgeUnknown, CapReached: see `pilot_in_journal`.
    """
    prompt = prompt_named(plan.judging.prompt)
    endpoint = judge_endpoint().process_config_and_initialize().endpoint(prompt)
    return pilot_in_journal(
        pinned(inputs.corpus),
        pinned_fixture(inputs.propositions_path),
        judge_named(inputs.judge, prompt, endpoint, attempts=plan.judging.attempts, caps=inputs.caps),
        plan,
        entries=entries,
        journals=Home(path=str(home_folder())).journals,
        run=f"pilot-{uuid4()}",
    )
