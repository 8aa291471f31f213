"""The plan of calibrated gates: what stands before any run, how often they may stop a good one, and when they move."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.loop import LoopPlan
from eval_pipeline.plan import Count, Exact, Level, Section
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.observations import Commit, Hash, Instant, Name

_NotNegative = Annotated[Exact, Field(ge=0)]
_Positive = Annotated[Exact, Field(gt=0)]


class Frozen(Section):
    """The code that measures KPIs, by its content; runs that other code measured are another baseline.

    `check` may be skipped, and the document then says so.
    """

    kpi_source: Hash
    commit: Commit
    check: Literal["required", "skipped"]


class Provisional(Section):
    """The thresholds that stand until others are shown to be better; a cap that was hit counts as 1."""

    iteration_count: _NotNegative
    wall_time_ms: _NotNegative
    section_fail_count: _NotNegative
    distribution_pass_rate: _NotNegative
    error_count: _NotNegative
    safety_cap_hit: _NotNegative
    mean_section_attempts: _NotNegative
    structural_error_count: _NotNegative
    cortex_recall_empty_count: _NotNegative


class Family(Section):
    """How often all gates together may stop a good run, and how that is shared out among them."""

    alarms_at_most: Level
    method: Literal["bonferroni", "sidak"]


class Estimate(Section):
    """The percentile that is the anchor of later moves, and the coverage of every interval."""

    anchor: Level
    level: Level


class Promotion(Section):
    """What a calibrated threshold must show before it replaces a provisional one.

    It stands at least `headroom` above the percentile that it was calibrated on, which a run may exceed by
    `noise` without being stopped, and not by `shift`.
    """

    change_at_least: _NotNegative
    headroom: _Positive
    noise: _Positive
    shift: _Positive

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.noise < self.headroom < self.shift:
            raise ValueError("a headroom above the noise and below the shift")
        return self


class Charts(Section):
    """A point of a chart is the mean of `batch` runs in time; all batches of the baseline make the limits.

    With fewer than `baseline_batches` there are none.
    """

    batch: Annotated[int, Field(ge=2)]
    baseline_batches: Annotated[int, Field(ge=2)]


class Stop(Section):
    """Calibration ends when one gate was violated so often within so many runs one after another."""

    violations: Count
    within_runs: Count


class Window(Section):
    """When thresholds that were calibrated before may move."""

    name: Name
    opens: Instant
    closes: Instant

    @model_validator(mode="after")
    def _has_length(self) -> Self:
        if self.closes <= self.opens:
            raise ValueError("a window that closes after it opens")
        return self


class Ratchet(Section):
    """How many runs a new baseline has at the least, and the windows in which it may move a threshold."""

    runs_at_least: Count
    windows: Annotated[tuple[Window, ...], Field(min_length=1)]


class Planned(Section):
    """How many runs are planned; those that started before `baseline_until` are calibrated on, the rest watched."""

    runs: Count
    baseline_until: Instant


class KpiGatesPlan(LoopPlan):
    """The whole plan."""

    study: Literal["kpi-gates"]
    frozen: Frozen
    provisional: Provisional
    family: Family
    estimate: Estimate
    promotion: Promotion
    charts: Charts
    stop: Stop
    ratchet: Ratchet
    planned: Planned

    @property
    def thresholds(self) -> dict[Kpi, Exact]:
        """The provisional thresholds by KPI."""
        return {kpi: getattr(self.provisional, kpi.value) for kpi in Kpi}
