"""How often a judge's answer gave no vote, on a P chart of each judge in the order of the log."""

from collections.abc import Iterable

from eval_pipeline.loop import Chart, Signal
from eval_pipeline.stats.control_charts import p_chart, p_chart_centre, runs_of_8
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan


def charts_of(rows: Iterable[JudgeObservation], plan: JudgeReliabilityPlan) -> tuple[Chart, ...]:
    """The chart of each judge, by name; the last point may hold fewer judgments, and has the limits of its own size."""
    failed: dict[str, list[bool]] = {}
    for row in rows:
        failed.setdefault(row.judge, []).append(row.verdict is None)
    return tuple(_chart(judge, failed[judge], plan) for judge in sorted(failed))


def _chart(judge: str, failed: list[bool], plan: JudgeReliabilityPlan) -> Chart:
    size, baseline = plan.parse_failures.judgments_a_point, plan.parse_failures.baseline_points
    lots = [failed[start : start + size] for start in range(0, len(failed), size)]
    failures, judgments = [sum(lot) for lot in lots], [len(lot) for lot in lots]
    name = f"parse failures of {judge}"
    points = tuple(hit / n for hit, n in zip(failures, judgments, strict=True))
    if len(failed) < size * baseline:
        why = f"{len(failed)} judgments make no baseline, for which {size * baseline} are needed"
        return Chart(name, "p", points, None, (), (), (), 0, why)
    centre = p_chart_centre(failures[:baseline], judgments[:baseline])
    chart = p_chart(failures, judgments, centre=centre)
    signals = [Signal(place, "beyond_limits") for place, outside in enumerate(chart.outside.tolist()) if outside]
    signals += [Signal(place, "run_of_eight") for place in runs_of_8(chart.shares, centre=float(centre))]
    return Chart(
        name,
        "p",
        points,
        float(centre),
        tuple(chart.lower.tolist()),
        tuple(chart.upper.tolist()),
        tuple(sorted(signals, key=lambda signal: signal.place)),
        baseline,
    )
