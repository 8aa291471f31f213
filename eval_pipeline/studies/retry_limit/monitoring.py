"""Whether first attempts keep failing as often as they did: a control chart over the runs of a log."""

from collections.abc import Sequence

from eval_pipeline.loop import Chart, without_limits, xmr_chart
from eval_pipeline.stats.control_charts import xmr_limits
from eval_pipeline.studies.retry_limit.plan import Charting
from eval_pipeline.studies.retry_limit.sections import Section

NAME = "first_failures"


def first_failures(sections: Sequence[Section], rules: Charting) -> Chart:
    """The share of first failures in each batch of runs, in the order of the log, the last batch only if it is whole.

    An XmR chart takes its limits from how batches differ, so that runs that are better or worse as a whole do not show
    as signals, as they would on a P chart.
    """
    runs: dict[str, list[bool]] = {}
    for one in sections:
        runs.setdefault(one.run, []).append(one.failed_first)
    failed = list(runs.values())
    starts = range(0, len(failed) - rules.runs_per_point + 1, rules.runs_per_point)
    points = tuple(_share(failed[start : start + rules.runs_per_point]) for start in starts)
    if len(points) < rules.baseline:
        why = f"{len(points)} batches of {rules.runs_per_point} runs, and {rules.baseline} make the limits"
        return without_limits(NAME, "xmr", points, baseline=rules.baseline, why=why)
    limits = xmr_limits(points[: rules.baseline])
    return xmr_chart(NAME, points, limits=limits, baseline=rules.baseline)


def _share(runs: Sequence[Sequence[bool]]) -> float:
    return sum(map(sum, runs)) / sum(map(len, runs))
