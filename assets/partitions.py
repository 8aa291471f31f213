"""What assets are partitioned by."""

from pathlib import Path
from urllib.parse import quote

import dagster as dg
from dagster._core.definitions.partitions.utils.base import INVALID_PARTITION_SUBSTRINGS

from assets.resources import tracks_folder
from assets.standing import standing_inputs
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.corpus.source import SAMPLE, pinned
from eval_pipeline.studies.label_signal.track import discover

TRACKS = dg.DynamicPartitionsDefinition(name="label_signal_tracks")


@dg.sensor(minimum_interval_seconds=60)
def label_signal_tracks(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Offers each track of the folder as a partition; one that is added there needs no change of code."""
    found = discover(tracks_folder())
    known = set(context.instance.get_dynamic_partitions(str(TRACKS.name)))
    new = [key for key in found.folders if key not in known]
    if not new:
        skipped = "; ".join(found.skipped.values())
        return dg.SkipReason(f"no new track{f'; passed over: {skipped}' if skipped else ''}")
    return dg.SensorResult(dynamic_partitions_requests=[TRACKS.build_add_request(new)])


WORKSPACES_PREFIX = "workspaces"  # of the keys of the chain that is partitioned by them
WORKSPACES = dg.DynamicPartitionsDefinition(name="workspaces")


@dg.sensor(minimum_interval_seconds=600)
def extraction_workspaces_offered(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Offers each workspace of the corpus that the environment names as a partition; to look, it reads the corpus."""
    corpus = standing_corpus()
    if corpus.refusal:
        return dg.SkipReason(corpus.refusal.detail)
    known = set(context.instance.get_dynamic_partitions(str(WORKSPACES.name)))
    new = [workspace for workspace in corpus.workspaces if workspace not in known and can_be_partition(workspace)]
    if not new:
        return dg.SkipReason("no new workspace")
    return dg.SensorResult(dynamic_partitions_requests=[WORKSPACES.build_add_request(new)])


def standing_corpus() -> Snapshot:
    """The corpus that the environment names, or the sample."""
    return pinned(standing_inputs().get("corpus", SAMPLE))


def folder_of(out: Path, partition: str) -> Path:
    """The folder of a partition's findings within that of a study; no name leads out of it."""
    name = quote(partition, safe=" ")
    return out / (name if name.strip(".") else name.replace(".", "%2E"))


def can_be_partition(name: str) -> bool:
    """Whether Dagster takes a name as that of a partition."""
    return not any(part in name for part in INVALID_PARTITION_SUBSTRINGS)


SENSORS = [label_signal_tracks, extraction_workspaces_offered]
