"""Two commands at the same instant in one home: both end right with equal bytes, or one refuses with a sentence."""

from collections.abc import Callable
from pathlib import Path

from eval_pipeline.ledger import Kind, read_ledger
from tests.faults.conftest import Place, Undisturbed, evidence_in, found_in, left_half_done, sentence


def test_two_runs_at_once_that_write_to_one_folder_leave_whole_files_of_one_verdict(
    place: Place, undisturbed: Undisturbed, new_folder: Callable[[str], Path]
) -> None:
    home, out = new_folder("two"), new_folder("out")
    runs = [place.extraction(home, out, **place.history) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0], [run.said for run in runs]
    assert found_in(out) == undisturbed.found
    assert evidence_in(home) == undisturbed.evidence
    assert left_half_done(home, out) == []


def test_of_two_runs_of_a_closed_loop_at_once_one_uses_the_held_out_data_and_the_other_is_told_so(
    place: Place, new_folder: Callable[[str], Path]
) -> None:
    home, outs = new_folder("two"), [new_folder("out") for _ in range(2)]
    runs = [place.begin("run", "retry-limit", "--out", out, home=home, **place.history) for out in outs]
    statuses = [run.wait() for run in runs]
    assert sorted(status == 1 for status in statuses) == [False, True], [run.said for run in runs]
    refused = runs[statuses.index(1)]
    assert "used" in sentence(refused)
    kinds = [line.kind for line in read_ledger(home / "ledger.jsonl")]
    assert (kinds.count(Kind.PARTITION_SEALED), kinds.count(Kind.PARTITION_USED)) == (1, 1)
    assert left_half_done(home, *outs) == []
