"""What the ledger says of a verdict, held against the verdict itself."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval_pipeline.canonical import canonical_bytes
from eval_pipeline.differences import first_difference
from eval_pipeline.errors import NotVerified
from eval_pipeline.history import KEPT, evidence_hash
from eval_pipeline.ledger import Kind, Line


def line_of(ledger: Path, lines: Sequence[Line], name: str, document: Mapping[str, Any]) -> Line:
    """The first line under which a verdict was entered.

    Raises: NotVerified: there is none, or one that names this verdict says something else of it.
    """
    wanted = evidence_hash(document)
    found = [line for line in lines if line.kind is Kind.VERDICT and line.body.get("document") == wanted]
    if not found:
        raise NotVerified(f"ledger {str(ledger)!r} holds no line of {name} with the hash {wanted[:12]}; put it back")
    for line in found:
        if place := _said_otherwise(line, document):
            raise NotVerified(
                f"ledger {str(ledger)!r}, line {line.number}, says something else than {name}: {place}; put it back"
            )
    return found[0]


def _said_otherwise(line: Line, document: Mapping[str, Any]) -> str | None:
    """Where a line differs from the verdict that it names; one from before there were looks holds no claims."""
    wanted = {
        "study": document["study"],
        "plan": document["plan"],
        "seal": document["hashes"]["plan"],
        "hashes": document["hashes"],
        "versions": document["versions"],
        "claims": [_kept(claim) for claim in document["claims"]],
    }
    said = {name: line.body[name] for name in wanted if name in line.body}
    if "claims" in said:
        said["claims"] = [_kept(claim) for claim in said["claims"]]
    there = {name: wanted[name] for name in said}
    return first_difference("line.json", canonical_bytes(said), canonical_bytes(there))


def _kept(claim: Mapping[str, Any]) -> dict[str, Any]:
    """What a line holds of a claim beside the look that it was."""
    return {name: claim.get(name) for name in KEPT}
