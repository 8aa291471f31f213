"""A report made by the library alone, of a corpus whose every text tries to be more than text."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.source import pinned
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.plan import read_plan
from eval_pipeline.report.extraction import ReportInput
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.extraction.assembly import assembled
from eval_pipeline.studies.extraction.bands import band_ledger
from eval_pipeline.studies.extraction.document import verdict_document
from eval_pipeline.studies.extraction.fixture import pinned_fixture
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.losses import losses_by_entry
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.sitting import judge_in_journal
from eval_pipeline.studies.extraction.verdict import verdicts

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> | `a` \\| **b** [c](http://d.example) \"'& "


def report_on(folder: Path, journals: Path) -> ReportInput:
    """What the report shows of a folder, judged by words in common under the plan that comes with the study.

    But for what is drawn by the hash of a text: all of the screen's negatives are audited, each proposition has a
    canary, and every judgment is asked for again, so that no text is drawn that another would not have been.
    """
    plan = read_plan(bundled("plans") / "extraction.toml", ExtractionPlan)
    everything = {"audited_negatives": Fraction(1), "canaries": Fraction(1), "repeats": Fraction(1)}
    plan = plan.model_copy(update={"judging": plan.judging.model_copy(update=everything)})
    snapshot, fixture = pinned(str(folder)), pinned_fixture(folder / "propositions.jsonl")
    frame = frame_of(snapshot, fixture, plan)
    judged = judge_in_journal(
        frame,
        snapshot,
        LexicalJudge(),
        plan,
        journals=journals,
        run="run",
        resume=False,
        progress=lambda done, total: None,
    )
    found = assembled(snapshot, fixture, frame, judged, plan, code_writes_spans=False)
    fates, evidence = found.fates, found.evidence
    document = verdict_document(
        verdicts(evidence, plan),
        evidence,
        band_ledger(snapshot),
        seal=seal_of(plan),
        plan_name=plan.name,
        versions={"eval-pipeline": "0"},
    )
    losses = losses_by_entry(fates, snapshot)
    return ReportInput(document, snapshot.source, evidence.uniformity.histogram, losses, evidence.guard.inventions)


@pytest.fixture(scope="session")
def hostile() -> str:
    """A text that is HTML, Markdown and a table's cell at once."""
    return HOSTILE


@pytest.fixture(scope="session")
def new_report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ReportInput]:
    """Makes reports on two notes in which every free text holds the text that is given.

    Each note has 8 propositions; the last of them has no signal and is lost. One signal has a span that says
    something else, so it is taken for an invention.
    """

    def make(text: str) -> ReportInput:
        folder = tmp_path_factory.mktemp("corpus")
        tables: dict[str, list[dict[str, Any]]] = {"entries": [], "signals": [], "propositions": []}
        for note in (1, 2):
            key, facts = f"note-{note}", [f"Crew {note} replaced valve {10 * note + fact}." for fact in range(8)]
            content = " ".join([*facts, text])
            tables["entries"].append({"lookup_key": key, "workspace": text, "band": text, "content": content})
            for place, fact in enumerate(facts):
                start = content.index(facts[0] if place == 6 else fact)
                if place < 7:
                    signal = {"lookup_key": f"{note}{place}{text}", "entry_id": key, "content": f"{fact} {text}"}
                    span = {"start": start, "end": len(content) if place < 6 else start + len(fact)}
                    tables["signals"].append(signal | {"provenance": {"span": span}})
                said = {"entry_id": key, "quartile": place // 2 + 1, "proposition": f"{fact} {text}"}
                tables["propositions"].append(said)
        for name, rows in tables.items():
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return report_on(folder, tmp_path_factory.mktemp("journals"))

    return make


@pytest.fixture(scope="session")
def report(new_report: Callable[[str], ReportInput]) -> ReportInput:
    """A report in which nothing tries anything."""
    return new_report("All is well.")


@pytest.fixture(scope="session")
def hostile_report(new_report: Callable[[str], ReportInput], hostile: str) -> ReportInput:
    """A report in which every text is hostile, ids, the source and the plan's name included."""
    made = new_report(hostile)
    losses = tuple(replace(entry, entry_id=hostile) for entry in made.losses)
    return replace(made, source=hostile, losses=losses, document=made.document | {"plan": hostile})
