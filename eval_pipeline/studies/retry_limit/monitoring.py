"""Whether first attempts keep failing as often as they did: a control chart over the runs of a log."""

from collections.abc import Sequence

from eval_pipeline.loop import Chart, Signal
from eval_pipeline.stats.control_charts import special_causes, xmr_limits
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
        return Chart(NAME, "xmr", points, None, (), (), (), rules.baseline, why)
    limits = xmr_limits(points[: rules.baseline])
    signals = tuple(
        Signal(cause.index, "beyond_limits" if cause.rule == "outside_3sigma" else "run_of_eight")
        for cause in special_causes(points, limits=limits)
    )
    return Chart(
        name=NAME,
        kind="xmr",
        points=points,
        centre=limits.centre,
        lower=(limits.lower,) * len(points),
        upper=(limits.upper,) * len(points),
        signals=signals,
        baseline=rules.baseline,
    )


def _share(runs: Sequence[Sequence[bool]]) -> float:
    return sum(map(sum, runs)) / sum(map(len, runs))
