"""Whether a threshold may move again: only on evidence of its chart, only in a window, and by one rule either way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from eval_pipeline.loop import Chart
from eval_pipeline.stats.control_charts import runs_of_8
from eval_pipeline.stats.percentile import Percentile
from eval_pipeline.stats.scalars import as_printed
from eval_pipeline.studies.kpi_gates.calibration import Gate
from eval_pipeline.studies.kpi_gates.plan import Ratchet, Window
from eval_pipeline.studies.kpi_gates.promotion import WORDS

Direction = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Move:
    """What the runs after the baseline say of a threshold.

    `evidence` is the direction in which the chart shows the KPI to have moved, None where it does not. A move is `due`
    if a window is open too, and the new runs place the threshold at `to`; `why` says what keeps it else. It is made in
    a new generation, whose held-out data may reject it as any calibration.
    """

    gate: str
    evidence: Direction | None
    window: str | None
    due: Direction | None
    to: Fraction | None
    why: str


def window_at(windows: Sequence[Window], now: datetime) -> Window | None:
    """The window that is open at a time; one is open from its first moment until before its last."""
    return next((window for window in windows if window.opens <= now < window.closes), None)


def evidence_of(
    anchor: Percentile | None, chart: Chart, latest: Percentile | None, *, n: int, before: int, rule: Ratchet
) -> Direction | None:
    """The direction in which a KPI has moved since its baseline, if its chart shows that it has.

    Down: the percentile of the new runs lies below the anchor by more than three sigmas of the chart. Up: of the new
    points, 8 one after another lie above the centre. Either way there are as many new runs as the rule asks for.

    Args:
        anchor: the percentile of the baseline.
        chart: of the KPI, in its unit, new points included.
        latest: the percentile of the new runs.
        n: how many new runs there are.
        before: how many points of the chart are of the baseline.
        rule: of the plan.

    """
    if chart.centre is None or anchor is None or latest is None or n < rule.runs_at_least:
        return None
    band = as_printed(chart.upper[0], "upper") - as_printed(chart.centre, "centre")
    if as_printed(latest.estimate, "estimate") < as_printed(anchor.estimate, "anchor") - band:
        return "down"
    later = chart.points[before:]
    eighth = runs_of_8(later, centre=chart.centre) if later else ()
    return "up" if any(later[place] > chart.centre for place in eighth) else None


def move_of(gate: Gate, latest: Gate, chart: Chart, *, before: int, now: datetime, rule: Ratchet) -> Move:
    """Whether a move of the threshold in force is due.

    Args:
        gate: as the baseline calibrated it.
        latest: as the new runs would calibrate it, the threshold in force being its provisional one.
        chart: of the gate's KPI.
        before: how many points of the chart are of the baseline.
        now: when the last run started.
        rule: of the plan.

    """
    evidence = evidence_of(gate.anchor, chart, latest.anchor, n=latest.n, before=before, rule=rule)
    window = window_at(rule.windows, now)
    name = window.name if window else None
    if evidence is None:
        return Move(gate.name, None, name, None, None, "its chart does not show that it has moved")
    if window is None:
        return Move(gate.name, evidence, None, None, None, "no window is open")
    placed = latest.standing.calibrated
    if not latest.standing.promoted or placed is None:
        return Move(
            gate.name, evidence, name, None, None, f"the new runs do not place it: {WORDS[latest.standing.why]}"
        )
    if (placed > gate.in_force) != (evidence == "up"):
        return Move(gate.name, evidence, name, None, None, "the new runs place it on the other side")
    return Move(gate.name, evidence, name, evidence, placed, "its chart shows that it has moved, and a window is open")
