"""The class of a machine, at its edges."""

import pytest

from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass, gate_name, machine_class


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        ("Apple M3", 32, MachineClass.M_SERIES_HIGH),
        ("Apple M3", 31.9, MachineClass.M_SERIES_MID),
        ("Apple Mystery", 64, MachineClass.CI_RUNNER),
        ("An Apple M1", 64, MachineClass.CI_RUNNER),
        ("intel core", 8, MachineClass.X86_INTEL),
        ("amd ryzen", 8, MachineClass.X86_AMD),
    ],
)
def test_a_machine_is_of_the_class_of_its_processor_and_memory(cpu, memory, expected):
    assert machine_class(cpu, memory) is expected


def test_there_are_nine_gates_each_with_the_name_of_its_kpi():
    assert len({gate_name(kpi) for kpi in Kpi}) == 9
    assert gate_name(Kpi.ERROR_COUNT) == "error_count_max"
