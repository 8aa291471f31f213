"""Fifty thousand judgments take little more memory than reading them once does, at any step that has them all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.scale import STEPS, Files, generate, measured

JUDGMENTS = 50_000
CHEAP = ("proposition_fates", "entry_quartiles", "recall_estimate", "uniformity_bound", "precision_guard")
MEASURED = ("judge_findings", "corrected_recall", "extraction_verdict", "extraction_report")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up study, up to the steps that are measured."""
    folder = tmp_path_factory.mktemp("study")
    generate(folder, JUDGMENTS)
    for name in CHEAP:
        STEPS[name](Files(folder))
    return folder


@pytest.fixture(scope="module")
def grown_mb(study: Path) -> Callable[[str], float]:
    """By how many MB a process grows over a step, at its most."""

    def grown(name: str) -> float:
        cost = measured(name, study)
        return cost["peak_mb"] - cost["before_mb"]

    return grown


def test_each_step_takes_far_less_memory_than_the_judgments_as_records_would(grown_mb: Callable[[str], float]) -> None:
    """As records in a tuple the judgments alone take more than that: twice what one read takes."""
    read = grown_mb("read once by pyarrow")
    grown = {name: grown_mb(name) for name in MEASURED}
    assert read > 0
    assert {name: mb for name, mb in grown.items() if mb > 1.75 * read} == {}


def test_the_report_of_the_study_holds_every_judgment_and_shows_a_bounded_number_of_losses(study: Path) -> None:
    with (study / "out" / "judgments.jsonl").open("rb") as lines:
        assert sum(1 for _ in lines) == Files(study).judged.table.num_rows > JUDGMENTS
    assert (study / "out" / "report.html").stat().st_size < 3_000_000
