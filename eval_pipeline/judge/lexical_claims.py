"""The offline judge of claims: by words in common, as `lexical` judges entailment; weak, and measured to be so."""

import json
import re

from eval_pipeline.judge.lexical import entails, similarity, tokens
from eval_pipeline.records import Alignment, Compliance

REVISION = "lexical-claims-1"
NEAR = 0.5  # of the words of what a rule forbids, from which on a claim that has them breaks it

_PARTS = re.compile(r"(?:;|,)?\s+(?:and|while|whereas|but)\s+|;\s+")
_HEDGES = frozenset(["may", "might", "could", "perhaps", "possibly", "unclear", "some", "appears", "suggests"])
_FORBIDDING = re.compile(r"\b(?:do|must|may|should|does|is|are) not\b|\bnever\b|\bnot to\b", re.IGNORECASE)
_READABLE = 4  # content words that a passage has at the least


def align(claim: str, excerpt: str) -> str:
    """An answer to a claim and the passage that it cites, as JSON: part by part, where the claim has several."""
    if len(tokens(excerpt)) < _READABLE or not _shares_a_word(claim, excerpt):
        return json.dumps({"judgment": Alignment.RETRIEVAL_FAILED})
    parts = [part.strip(" .") for part in _PARTS.split(claim) if part.strip(" .")]
    verdicts = [_verdict(part, excerpt) for part in parts]
    whole = next(
        (label for label in (Alignment.UNSUPPORTED, Alignment.AMBIGUOUS) if label in verdicts), Alignment.SUPPORTED
    )
    breakdown = [
        {"sub_claim_text": part, "sub_verdict": verdict} for part, verdict in zip(parts, verdicts, strict=True)
    ]
    return json.dumps({"judgment": whole, "sub_claim_breakdown": breakdown if len(parts) > 1 else None})


def comply(claim: str, rule: str, constraint_id: str) -> str:
    """An answer to a claim under a rule, as JSON: broken, if the claim holds most of what stands after the "not"."""
    forbidden = _FORBIDDING.split(rule, maxsplit=1)[-1]
    broken = similarity(claim, forbidden) >= NEAR
    return json.dumps(
        {
            "judgment": Compliance.VIOLATED if broken else Compliance.NOT_VIOLATED,
            "violated_constraint_id": constraint_id if broken else None,
        }
    )


def _verdict(part: str, excerpt: str) -> Alignment:
    if entails([excerpt], part):
        hedged = _HEDGES & set(excerpt.casefold().split())
        return Alignment.AMBIGUOUS if hedged and not _HEDGES & set(part.casefold().split()) else Alignment.SUPPORTED
    return Alignment.UNSUPPORTED


def _shares_a_word(claim: str, excerpt: str) -> bool:
    return bool(tokens(claim) & tokens(excerpt))
