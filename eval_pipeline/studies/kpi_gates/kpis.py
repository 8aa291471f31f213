"""The nine numbers that a run is held to, and what is known of each before any run."""

import re
from enum import StrEnum


class Kpi(StrEnum):
    """What is measured of a run; each has one gate, which fires above its threshold."""

    ITERATION_COUNT = "iteration_count"
    WALL_TIME_MS = "wall_time_ms"
    SECTION_FAIL_COUNT = "section_fail_count"
    DISTRIBUTION_PASS_RATE = "distribution_pass_rate"
    ERROR_COUNT = "error_count"
    SAFETY_CAP_HIT = "safety_cap_hit"
    MEAN_SECTION_ATTEMPTS = "mean_section_attempts"
    STRUCTURAL_ERROR_COUNT = "structural_error_count"
    CORTEX_RECALL_EMPTY_COUNT = "cortex_recall_empty_count"


class MachineClass(StrEnum):
    """Machines whose times may be compared."""

    M_SERIES_HIGH = "m_series_high"
    M_SERIES_MID = "m_series_mid"
    X86_INTEL = "x86_intel"
    X86_AMD = "x86_amd"
    CI_RUNNER = "ci_runner"


SPECIAL_CAUSE = frozenset({Kpi.SAFETY_CAP_HIT, Kpi.STRUCTURAL_ERROR_COUNT})
"""One is too many, so that their thresholds stay 0 whatever earlier runs did."""

REAL_ONLY = frozenset({Kpi.DISTRIBUTION_PASS_RATE, Kpi.CORTEX_RECALL_EMPTY_COUNT})
"""What canned runs say nothing of."""

LARGEST = {Kpi.DISTRIBUTION_PASS_RATE: 1, Kpi.SAFETY_CAP_HIT: 1}
"""The largest value that there can be; a gate there never fires."""

_HIGH_MEMORY_GB = 32


def gate_name(kpi: Kpi) -> str:
    """What the gate of a KPI is called in reports and logs."""
    return f"{kpi.value}_max"


def machine_class(cpu_model: str, memory_gb: float) -> MachineClass:
    """The class of a machine, by its processor and memory; one that is not known is a runner's."""
    if re.match(r"Apple M\d", cpu_model):
        return MachineClass.M_SERIES_HIGH if memory_gb >= _HIGH_MEMORY_GB else MachineClass.M_SERIES_MID
    words = cpu_model.lower()
    if "intel" in words:
        return MachineClass.X86_INTEL
    return MachineClass.X86_AMD if "amd" in words else MachineClass.CI_RUNNER
