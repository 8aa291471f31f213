"""The loader takes of a file what the plan would have promoted itself, and says of all the rest why not."""

import json
from fractions import Fraction

import pytest

from eval_pipeline.canonical import content_hash
from eval_pipeline.studies.kpi_gates.calibration import provisional_gates
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass
from eval_pipeline.studies.kpi_gates.promoted import gate_file, gates_of, load_gates
from tests.studies.kpi_gates.made_up import SHIPPED, calibrated_on, default_findings, planned, population

HIGH = MachineClass.M_SERIES_HIGH
BEFORE = provisional_gates(SHIPPED)


def made(simulated=False, plan=SHIPPED):
    found = default_findings()
    gates = calibrated_on(population())
    return gate_file(gates, plan, observations=found.observations, simulated=simulated, until=found.last)


def resealed(fields, **changes):
    whole = {name: value for name, value in (fields | changes).items() if name != "seal"}
    return whole | {"seal": content_hash(whole)}


def with_gate(**changes):
    """The file with the gate of the iterations alone, changed, and sealed again."""
    (row,) = [one for one in made()["gates"] if one["kpi"] == "iteration_count"]
    return resealed(made(), gates=[row | changes])


def test_promoted_gates_are_laid_over_the_provisional_ones(tmp_path):
    path = tmp_path / "gates.json"
    path.write_text(json.dumps(made()))
    loaded = load_gates(path, SHIPPED)
    promoted = {gate.name: gate for gate in calibrated_on(population()) if gate.standing.promoted}
    assert set(loaded.promoted) == set(promoted)
    for gate in promoted.values():
        assert loaded.gates.of(gate.kpi, gate.machine or HIGH) == gate.standing.calibrated
    assert loaded.gates.of(Kpi.SAFETY_CAP_HIT, HIGH) == 0
    assert loaded.gates.of(Kpi.WALL_TIME_MS, MachineClass.CI_RUNNER) == 500
    held = [one for one in loaded.refused if "found it held, expected it promoted; its provisional" in one]
    assert len(held) == len(loaded.refused)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read \\(No such file or directory\\)"),
        (b"", "is no JSON"),
        (b"{", "is no JSON"),
        (b"[]", "is no file of gates"),
        (b"{}", "field 'schema_version': found nothing, expected a value; make the file again"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_provisional_gates(tmp_path, content, why):
    path = tmp_path / "gates.json"
    if content is not None:
        path.write_bytes(content)
    loaded = load_gates(path, SHIPPED)
    assert (loaded.gates, loaded.promoted) == (BEFORE, ())
    (sentence,) = loaded.refused
    assert sentence.endswith("the provisional gates stand")
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(sentence)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param(lambda: made() | {"generation": "other"}, "was sealed as", id="changed"),
        pytest.param(lambda: made(plan=planned(stop={"violations": 6})), "was made under plan", id="another-plan"),
        pytest.param(lambda: resealed(made(), plan_seal="0" * 64), "was made under plan 000000000000", id="plan-seal"),
        pytest.param(lambda: resealed(made(), kpi_source="0" * 64), "was measured by code 000000000000", id="code"),
        pytest.param(lambda: made(simulated=True), "was calibrated on generated runs", id="generated"),
        pytest.param(lambda: resealed(made(), gates=[]), "promotes no gate", id="empty"),
        pytest.param(lambda: resealed(made(), note=1), "field 'note': found a field that no rule reads", id="extra"),
    ],
)
def test_a_file_that_does_not_hold_leaves_the_provisional_gates(fields, why):
    loaded = gates_of(fields(), SHIPPED, "gates 'g'")
    assert (loaded.gates, loaded.promoted) == (BEFORE, ())
    (sentence,) = loaded.refused
    assert why in sentence
    assert sentence.endswith("the provisional gates stand")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"n": 662}, "found 662 runs, expected 663 or more"),
        ({"level": "0.9"}, "found an interval of level 0.9, expected 0.95"),
        ({"high": None}, "expected one with both ends"),
        ({"low": None}, "expected one with both ends"),
        ({"estimate": 1.0}, "that holds 1"),
        ({"threshold": "60"}, "found threshold 60, expected"),
        ({"threshold": "seventy"}, "field 'threshold': found \"seventy\""),
        ({"threshold": None}, "field 'threshold': found null"),
        ({"status": "hold_provisional"}, "found it held"),
        ({"high": 101.0}, "the interval of the percentile holds the provisional threshold"),
        ({"machine_class": "ci_runner"}, "found machine class ci_runner"),
        ({"kpi": "other"}, "field 'kpi': found \"other\""),
        ({"kpi": "wall_time_ms"}, "found machine class None"),
        ({"n": 0}, "field 'n': found 0"),
        ({"note": ""}, "field 'note'"),
    ],
)
def test_a_gate_whose_numbers_do_not_promote_it_keeps_its_provisional_threshold(change, why):
    loaded = gates_of(with_gate(**change), SHIPPED, "gates 'g'")
    assert (loaded.gates, loaded.promoted) == (BEFORE, ())
    (sentence,) = loaded.refused
    assert sentence.startswith("gates 'g', gate 1")
    assert why in sentence


def test_one_bad_gate_does_not_take_the_others_with_it():
    file = made()
    rows = [dict(row) for row in file["gates"]]
    rows[0]["threshold"] = "much"
    loaded = gates_of(resealed(file, gates=rows), SHIPPED, "gates 'g'")
    assert "iteration_count_max" not in loaded.promoted
    assert loaded.promoted
    assert loaded.gates.of(Kpi.ITERATION_COUNT, HIGH) == Fraction(100)


def test_a_plan_that_does_not_check_the_code_takes_gates_of_any():
    plan = planned(frozen={"check": "skipped"})
    file = resealed(made(plan=plan), kpi_source="0" * 64)
    assert gates_of(file, plan, "gates 'g'").promoted
