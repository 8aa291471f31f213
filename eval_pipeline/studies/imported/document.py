"""The verdict on a log as a document: every number, what it rests on, and what the log says itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval_pipeline.document import plain_claim, plain_value
from eval_pipeline.importers.results import Results
from eval_pipeline.records import Verdict
from eval_pipeline.studies.imported.estimates import Comparison, Findings
from eval_pipeline.studies.imported.plan import ImportedPlan

UNDECIDED_SHOWN = 200


def imported_document(
    claims: Sequence[Verdict],
    found: Findings,
    results: Results,
    plan: ImportedPlan,
    *,
    seal: str,
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """The document as plain values; None stands where nothing can be said."""
    undecided = [row for row in results.rows if row.undecided]
    return {
        "study": "imported",
        "tool": results.kind,
        "subject": results.subject,
        "claims": [plain_claim(verdict) for verdict in claims],
        "estimates": plain_value(found.estimates),
        "differences": plain_value(found.differences),
        "stated": [plain_value(one) | {"sentence": sentence_of(one, found)} for one in found.comparisons],
        "undecided": [
            {"system": row.system, "metric": row.metric, "item": row.item, "repeat": row.repeat, "why": row.undecided}
            for row in undecided[:UNDECIDED_SHOWN]
        ],
        "undecided_in_all": len(undecided),
        "notes": list(results.notes),
        "sources": plain_value(results.sources),
        "levels": {"intervals": float(plan.intervals.level)},
        "intake": plain_value(plan.intake.model_dump()),
        "hashes": {"results": results.hash, "plan": seal},
        "plan": plan.name,
        "versions": dict(versions),
    }


def sentence_of(one: Comparison, found: Findings) -> str:
    """What a number that the log states has to do with ours."""
    if one.ours is None:
        return f"the log states {one.stated:.4f}, and no item has a score that counts here"
    if not one.differs:
        return f"the log states {one.stated:.4f}, as we find"
    undecided = next(
        (other.undecided for other in found.estimates if (other.system, other.metric) == (one.system, one.metric)), {}
    )
    return f"the log states {one.stated:.4f} and we find {one.ours:.4f}: {_why(one.as_zero, undecided)}"


def _why(as_zero: Sequence[str] | None, undecided: Mapping[str, int]) -> str:
    """Why the number of a log differs, as far as that can be seen."""
    if as_zero is not None:
        counted = ", ".join(f"{undecided[kind]} {kind.replace('_', ' ')}" for kind in as_zero)
        return f"counting as 0 what is undecided here ({counted}) gives the log's number"
    if undecided:
        counted = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in undecided.items())
        return f"what has no score ({counted}) is undecided here, and what the log makes of it is not seen from it"
    return "every score counts here, so the log's number is of another rule or of other scores; look into it"
