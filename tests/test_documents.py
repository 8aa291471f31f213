"""Our own documents: every number has a place in the results of the bundled tracks, or a written reason."""

from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.audit import audit
from eval_pipeline.plan import read_plan
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.label_signal.document import portfolio_document, track_document
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.simulation.world import world_of
from eval_pipeline.studies.label_signal.study import simulated_study
from eval_pipeline.studies.label_signal.track import discover, read_track

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """What the label signal finds in the bundled tracks, but for its sensitivity, which no document quotes."""
    plan = read_plan(ROOT / "data" / "plans" / "label-signal.toml", LabelSignalPlan)
    documents = {}
    for key, folder in discover(ROOT / "data" / "tracks").folders.items():
        track = read_track(folder)
        studied = simulated_study(track, world_of(track, plan.simulation), plan)
        documents[key] = track_document(studied, plan, seal=seal_of(plan), versions={})
    return {"label-signal": portfolio_document(documents, {}, plan=plan.name, seal=seal_of(plan))}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_number_of_a_document_is_traced_or_exempted(path: Path, results: dict[str, Any]) -> None:
    wrong = [one for one in audit(path.read_text("utf-8"), results) if one.standing not in ("bound", "exempt")]
    assert not wrong


def test_the_page_of_the_label_signal_quotes_its_results(results: dict[str, Any]) -> None:
    found = audit((ROOT / "docs" / "label-signal.md").read_text("utf-8"), results)
    assert sum(one.standing == "bound" for one in found) > 30
