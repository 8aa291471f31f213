"""What assets are partitioned by."""

import dagster as dg

from assets.resources import tracks_folder
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


SENSORS = [label_signal_tracks]
