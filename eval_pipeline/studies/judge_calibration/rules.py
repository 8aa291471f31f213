"""The rules that a claim must keep to: the family that an id belongs to, and where a rule's text stands."""

import json
import re
from pathlib import Path

from eval_pipeline.canonical import canonical_bytes
from eval_pipeline.errors import ManifestRefused

_SCOPES = ((re.compile(r"MNC-[0-9]+"), "MNC"), (re.compile(r"NC-C[0-9]{3,}-[0-9]+"), "NC"))


def scope_of(constraint_id: object) -> str | None:
    """MNC for a rule of the manuscript, NC for one of a single claim, None for what is no id of either."""
    if not isinstance(constraint_id, str):
        return None
    return next((scope for pattern, scope in _SCOPES if pattern.fullmatch(constraint_id)), None)


def rule_in_manifest(folder: Path, manifest: object, constraint_id: str) -> str:
    """The text of a rule, looked up by its id in a manifest within the gold set's folder.

    A manifest is a JSON object {"rules": [{"constraint_id": ..., "rule": ...}, ...]}.

    Raises: ManifestRefused: the path leaves the folder, or the file cannot be read, or it does not hold the rule once.
    """
    if not isinstance(manifest, str):
        raise ManifestRefused(f"found {manifest!r}, expected the path of a file in the gold set's folder")
    home = folder.resolve()
    try:
        path = (home / manifest).resolve()
    except (ValueError, RuntimeError):  # a NUL in it, or links that lead in a circle
        raise ManifestRefused(f"found {manifest!r}, which is the path of no file; give the file") from None
    if not path.is_relative_to(home):
        raise ManifestRefused(f"found {manifest!r}, which leads out of the gold set's folder; put the file into it")
    try:
        rules = json.loads(path.read_bytes().decode("utf-8"))["rules"]
        texts = [rule["rule"] for rule in rules if rule["constraint_id"] == constraint_id]
        canonical_bytes(texts)  # a lone surrogate could be neither hashed nor asked about
    except OSError as error:
        raise ManifestRefused(f"found {manifest!r}, which cannot be read ({error.strerror}); give the file") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ManifestRefused(f'found {manifest!r}, which is no object {{"rules": [...]}} of ids and rules') from None
    if len(texts) != 1:
        raise ManifestRefused(
            f"found {manifest!r}, which holds rule {constraint_id!r} {len(texts)} times, expected once"
        )
    (text,) = texts
    if not isinstance(text, str) or not text.strip():
        raise ManifestRefused(f"found {manifest!r}, which holds rule {constraint_id!r} without a text; write it")
    return text
