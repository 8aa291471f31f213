"""`eval-pipeline audit`: every number of a document against the results."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from assets.resources import Home, home_folder
from eval_pipeline.audit import Finding, audit
from eval_pipeline.errors import AuditRefused, Refused

_MENDS = {
    "unbound": "bind it with <!-- = /path --> right after it, or exempt it with a reason",
    "mismatch": "mend the number or the path",
    "no_such_path": "the results hold no such path; mend it",
    "withheld": "a claim about it is withheld; do not quote it",
}


def audit_documents(
    documents: Annotated[list[Path], typer.Argument(help="Markdown documents.")],
    results: Annotated[
        list[Path] | None, typer.Option(help="Results of studies; else those of the last runs under the home.")
    ] = None,
) -> None:
    """Trace every number of a document to where it stands in the results, or to the reason that exempts it.

    Exits 0 if all are, and 1 if one is not.
    """
    found = _results(results or sorted(Home(path=str(home_folder())).out("").rglob("*.json")))
    broken = 0
    for path in documents:
        try:
            findings = audit(path.read_text("utf-8"), found)
        except AuditRefused as refusal:
            raise AuditRefused(f"{str(path)!r}, {refusal}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{str(path)!r} cannot be read ({error}); give a Markdown file") from None
        wrong = [one for one in findings if one.standing in _MENDS]
        for one in wrong:
            typer.echo(f"{path}:{one.line}: {_sentence(one)}")
        counts = [sum(one.standing == standing for one in findings) for standing in ("bound", "exempt")]
        typer.echo(f"{path}: {counts[0]} numbers bound, {counts[1]} exempt, {len(wrong)} to mend")
        broken += len(wrong)
    if broken:
        raise typer.Exit(1)


def _sentence(one: Finding) -> str:
    if one.standing == "unbound":
        hint = f" (it may be {one.about})" if one.about else ""
        return f"{one.literal} has no path{hint}; {_MENDS['unbound']}"
    if one.standing == "withheld":
        return f"{one.literal} is bound to {one.about}; {_MENDS['withheld']}"
    if one.standing == "mismatch":
        return f"{one.literal} is bound, but {one.about}; {_MENDS['mismatch']}"
    return f"{one.literal} is bound to {one.about}; {_MENDS['no_such_path']}"


def _results(paths: list[Path]) -> dict[str, Any]:
    """The documents of studies by the study's name; a file that holds none is refused, if it was named."""
    found: dict[str, Any] = {}
    for path in paths:
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise Refused(
                f"results {str(path)!r} cannot be read ({error}); give the JSON document of a study"
            ) from None
        if isinstance(document, dict) and isinstance(document.get("study"), str):
            found.setdefault(document["study"], document)
    if not found:
        raise Refused("no results were found; run a study first, or name its document with --results")
    return found
