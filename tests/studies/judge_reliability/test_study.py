"""The study as it is run by default: what was planted is found, and the document is whole and always the same."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.arms import Arm
from eval_pipeline.document import document_bytes
from eval_pipeline.errors import InputRefused
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.heldout import drawn_by_stratum
from eval_pipeline.observations import Log, log_bytes
from eval_pipeline.studies.judge_reliability.abilities import reliance
from eval_pipeline.studies.judge_reliability.document import constants, document
from eval_pipeline.studies.judge_reliability.findings import Findings, findings
from eval_pipeline.studies.judge_reliability.generator import DEFAULT, STRONG_ON, TYPES, simulated
from eval_pipeline.studies.judge_reliability.held_out import HeldOut
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation, contradictions
from eval_pipeline.studies.judge_reliability.study import STUDY
from eval_pipeline.studies.judge_reliability.verdict import CLAIMS
from eval_pipeline.studies.judge_reliability.words import Ability, Grounding, Truth
from tests.studies.judge_reliability.made_up import changed, judge, judgment, log_of, world


@dataclass(frozen=True)
class Run:
    log: Log[JudgeObservation]
    found: Findings
    tested: HeldOut
    document: dict


@pytest.fixture(scope="module")
def run(plan):
    """The default log, its claims drawn by grounding, and what came of either part."""
    log = STUDY.generate(plan)
    strata: dict[str, dict[str, None]] = {}
    for row in log.rows:
        strata.setdefault(STUDY.stratum(row), {})[STUDY.unit(row)] = None
    parts = drawn_by_stratum(
        {name: list(ids) for name, ids in strata.items()}, share=plan.held_out.share, seed=str(plan.held_out.seed)
    )
    held = set(parts.held_out)
    rest = Log(tuple(row for row in log.rows if row.claim_id not in held), log.simulated)
    found = STUDY.findings(rest, plan)
    tested = STUDY.held_out(found, Log(tuple(row for row in log.rows if row.claim_id in held), log.simulated), plan)
    return Run(log, found, tested, STUDY.document(found, tested, plan))


def test_the_log_is_what_a_file_of_it_is(run, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes(run.log.rows[:600]))
    assert STUDY.read(path).rows == run.log.rows[:600]
    assert run.log.simulated
    assert contradictions(run.log.rows) == []
    assert {row.grounding for row in run.log.rows} == {*Grounding} - {Grounding.PUBLISHED}


def test_eleven_types_three_judges_and_two_abilities(run):
    assert len(run.found.abilities.cells) == 66
    assert {cell.claim_type for cell in run.found.abilities.cells} == set(TYPES)
    assert run.tested.claims == 924


def test_what_was_planted_is_found(run):
    """An interval at 95 % misses one cell in twenty; claims that are hard for all take a little from each ability."""
    planted = {f"{one.kind}/{one.name}": one for one in DEFAULT.judges}
    held = 0
    for cell in run.found.abilities.cells:
        truth = Truth.HOLDS if cell.ability is Ability.SENSITIVITY else Truth.FAILS
        ability = planted[cell.judge].ability(truth, cell.claim_type) * (1 - DEFAULT.hard / 2)
        held += cell.posterior.interval.low <= ability <= cell.posterior.interval.high
    assert binomtest(held, 66, 0.95).pvalue > 0.01


def test_the_planted_judge_that_stops_answering_is_seen(run):
    chart = next(one for one in run.found.charts if one.name.endswith("reader-small"))
    late = len(chart.points) * 2 / 3
    assert [signal.place for signal in chart.signals if signal.rule == "beyond_limits" and signal.place >= late - 1]


def test_the_calibrated_map_helps_where_judges_are_as_unlike_as_these(run):
    assert run.document["decision"]["word"] == "persist"
    assert run.tested.comparison.recommendation == "calibration_helps"
    assert run.tested.comparison.flipped >= 1
    maps = reliance(run.found.abilities)
    strong, weak = (
        maps.calibrated("rules/checklist", kind, Ability.SPECIFICITY, Arm.TREATMENT)
        for kind in (STRONG_ON[0], "security")
    )
    assert weak < 0.6 < 0.9 < strong


def test_the_document_is_whole_and_plain(run, plan):
    made = run.document
    assert list(made) == [
        "study", "plan", "generation", "simulated", "claims", "decision", "findings", "held_out", "constants", "charts",
        "settled",
    ]  # fmt: skip
    assert json.loads(document_bytes(made)) == made
    assert [one["claim"] for one in made["claims"]] == list(CLAIMS) == list(STUDY.claims)
    assert made["simulated"] is True
    assert len(made["settled"]) == len(plan.settled)
    assert {len(chart["points"]) == len(chart["lower"]) == len(chart["upper"]) for chart in made["charts"]} == {True}


def test_numbers_of_a_generated_log_are_heuristics(run, plan):
    kept = constants(run.found, run.tested, plan)
    assert len(kept) == 1 + sum(cell.posterior.candidate for cell in run.found.abilities.cells)
    assert all(one.heuristic and one.data is None for one in kept)
    assert [one["heuristic"] for one in run.document["constants"]] == [True] * len(kept)


def test_what_is_reverted_leaves_the_prior_alone(run, plan):
    undecided = document(run.found, None, plan)
    assert undecided["decision"]["word"] == "undecided"
    assert [one["value"] for one in undecided["constants"]] == [0.75]
    assert undecided["held_out"] is None


def test_findings_go_to_a_file_and_come_back(run):
    assert read_json(json_bytes(run.found, STUDY.findings_type), STUDY.findings_type) == run.found
    assert read_json(json_bytes(run.tested, STUDY.held_out_type), STUDY.held_out_type) == run.tested


def test_one_seed_gives_one_log_and_another_seed_another(run, plan):
    small = world(judge("a", 0.9, 0.8, open_share=0.2, no_vote=0.1, no_vote_late=0.1), claims=40, types=TYPES)
    logs = [simulated(small, rng=np.random.default_rng(seed), prefix="c").hash for seed in (1, 1, 2)]
    assert logs[0] == logs[1] != logs[2]
    assert STUDY.generate(changed(plan, seed=plan.seed + 1)).rows[:30] != run.log.rows[:30]


def test_a_log_that_contradicts_itself_is_refused(plan):
    rows = [judgment("c", "PASS", "HOLDS"), judgment("c", "PASS", "FAILS", judge_name="two")]
    with pytest.raises(InputRefused, match="observation 2, field 'truth': found 'FAILS', expected 'HOLDS'"):
        findings(log_of(rows), plan)


def test_runs_are_counted_by_arm(run):
    counts = run.found.counts
    share = counts.control_runs / (counts.control_runs + counts.treatment_runs)
    assert 0.12 < share < 0.28
    assert counts.pending == 0  # those that were dropped wait for nothing
    assert run.found.labels.dropped > 0
