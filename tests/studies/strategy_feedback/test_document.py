"""The document holds what was promised, its numbers can be worked out again, and it says what is a heuristic."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from scipy.stats import t

from eval_pipeline.document import document_bytes
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.studies.strategy_feedback.decision import Decision, Word
from eval_pipeline.studies.strategy_feedback.document import constants, document
from eval_pipeline.studies.strategy_feedback.findings import Findings, findings
from eval_pipeline.studies.strategy_feedback.held_out import Replay


@pytest.fixture(scope="module")
def written(found, replay, plan):
    return json.loads(document_bytes(document(found, replay, plan)))


def test_it_has_the_keys_of_every_loop(written):
    assert set(written) == {
        "study", "plan", "generation", "simulated", "claims", "decision", "findings", "held_out", "constants", "charts",
        "settled",
    }  # fmt: skip
    assert (written["study"], written["generation"], written["simulated"]) == (
        "strategy-feedback", "strategy-feedback-1", True,
    )  # fmt: skip


def test_the_default_log_ships(written):
    assert written["decision"]["word"] == written["decision"]["before_held_out"] == "ship"
    assert {one["claim"]: one["outcome"] for one in written["claims"]} == {
        "loop_helps": "pass",
        "held_out_agrees": "pass",
        "no_strategy_harmed": "pass",
        "constants_stable": "warn",
    }
    assert written["held_out"]["standing"] == "confirmed"


def test_welchs_interval_can_be_worked_out_again_from_the_sums_that_it_holds(written):
    side = {}
    for arm in ("treatment", "control"):
        rates = [cell["pass_rate"] for cell in written["findings"]["cells"] if cell["arm"] == arm]
        n = sum(one["n"] for one in rates)
        total, squares = (sum(Fraction(one[name]) for one in rates) for name in ("sum", "sum_of_squares"))
        side[arm] = n, total / n, (squares - total**2 / n) / (n - 1) / n
    (n, mean, of_mean), (m, other, of_other) = side["treatment"], side["control"]
    degrees = (of_mean + of_other) ** 2 / (of_mean**2 / (n - 1) + of_other**2 / (m - 1))
    half = t.ppf(0.975, float(degrees)) * float(of_mean + of_other) ** 0.5
    assert written["findings"]["whole"]["beside"]["welch"] == pytest.approx(
        [float(mean - other) - half, float(mean - other) + half], abs=1e-9
    )


def test_the_guard_says_how_many_it_left_out(written, parts):
    for one in written["findings"]["zero_claim_guard"]:
        rows = [row for row in parts[0].rows if row.arm.value == one["arm"]]
        none = sum(row.claims == 0 for row in rows)
        assert (one["executions"], one["without_claims"]) == (len(rows), none)
        assert one["share"] == pytest.approx(none / len(rows))


def test_findings_and_replay_survive_serialisation(found, replay):
    assert read_json(json_bytes(found, Findings), Findings) == found
    assert read_json(json_bytes(replay, Replay), Replay) == replay


def test_the_same_log_gives_the_same_bytes(found, replay, parts, plan):
    assert document_bytes(document(findings(parts[0], plan), replay, plan)) == document_bytes(
        document(found, replay, plan)
    )


def test_without_held_out_runs_there_is_none(found, plan):
    written = document(found, None, plan)
    assert written["held_out"] is None
    assert written["decision"]["word"] == "ship"


def test_a_benefit_below_the_effect_says_what_it_would_take(found, plan):
    little = replace(
        found, whole=replace(found.whole, difference=0.05), decision=Decision(Word.BELOW_EFFECT, "beneficial")
    )
    written = document(little, None, plan)
    # Half the effect takes four times 392.4 executions, 1,570, and 1.15 times as many in runs.
    assert written["decision"]["executions_for_this_effect"] == 1806
    assert document(found, None, plan)["decision"]["executions_for_this_effect"] is None


def test_what_made_up_runs_taught_is_a_heuristic(written):
    assert [one["heuristic"] for one in written["constants"]] == [True] * 4
    assert written["constants"][2]["value"] == -0.3


def test_a_constant_that_moved_on_real_runs_names_its_origin_but_for_the_day(found):
    real = replace(found, simulated=False)
    moved = constants(real, Word.SHIP)[2]
    assert (moved.n, moved.data) == (found.adjustments[2].executions, found.data)
    assert moved.script is not None
    assert moved.heuristic
    stays = next(
        constant for constant, one in zip(constants(real, Word.SHIP), real.adjustments, strict=True) if not one.moved
    )
    assert (stays.script, stays.n, stays.data) == (None, None, None)


def test_a_loop_that_is_reverted_keeps_nothing_that_it_learnt(found):
    assert {one.value for one in constants(found, Word.REVERT)} == {0.0}


def test_every_chart_and_every_settled_point_is_in_it(written, plan):
    assert [chart["kind"] for chart in written["charts"]] == ["xmr"] * 4
    for chart in written["charts"]:
        assert len(chart["points"]) == len(chart["lower"]) == len(chart["upper"])
        assert chart["stable"] is (not chart["signals"])
    assert len(written["settled"]) == len(plan.settled)
    assert set(written["settled"][0]) == {"said", "chosen", "reason"}
