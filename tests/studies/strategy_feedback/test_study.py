"""The study gives what it takes to be run: a log of its own, what goes together in it, and a document of it."""

from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.strategy_feedback.study import STUDY
from eval_pipeline.studies.strategy_feedback.verdict import CLAIMS
from tests.studies.strategy_feedback.made_up import changed


def test_a_log_of_its_own_goes_through_it_as_a_file_does(plan, tmp_path):
    few = changed(plan, power={"n": 5})
    log = STUDY.generate(few)
    (tmp_path / "log.jsonl").write_bytes(log_bytes(log.rows))
    read = STUDY.read(tmp_path / "log.jsonl")
    assert (read.rows, read.hash, read.simulated) == (log.rows, log.hash, False)
    written = STUDY.document(STUDY.findings(read, few), None, few)
    assert (written["study"], written["simulated"]) == (STUDY.name, False)
    assert {one["claim"] for one in written["claims"]} == set(STUDY.claims) == set(CLAIMS)


def test_whole_runs_are_held_out_from_either_arm(plan):
    rows = STUDY.generate(changed(plan, power={"n": 5})).rows
    of_run = {}
    for row in rows:
        of_run.setdefault(STUDY.unit(row), set()).add(STUDY.stratum(row))
    assert len(of_run) == len(rows) / plan.design.executions_per_run
    assert {len(arms) for arms in of_run.values()} == {1}
    assert set.union(*of_run.values()) == {"control", "treatment"}
