"""Two annotators' decompositions as a part of the verdict document: plain values, None where there is no number."""

from typing import Any

from eval_pipeline.document import plain_interval, plain_number, plain_refusal
from eval_pipeline.records import Verdict
from eval_pipeline.studies.extraction.annotators.agreement import (
    NO_KAPPA_OF_INCLUSION,
    AnnotatorAgreement,
    Measure,
)
from eval_pipeline.studies.extraction.annotators.findings import AnnotatorFindings
from eval_pipeline.studies.extraction.annotators.sensitivity import OnBasis, Sensitivity


def annotators_document(found: AnnotatorFindings) -> dict[str, Any]:
    """The findings on two annotators, as they stand in verdict.json."""
    return {
        "hashes": {"first": found.first_hash, "second": found.second_hash},
        "agreement": _agreement(found.agreement) if found.agreement else None,
        "sensitivity": _sensitivity(found.sensitivity) if found.sensitivity else None,
        "refusal": plain_refusal(found.refusal),
    }


def _agreement(found: AnnotatorAgreement) -> dict[str, Any]:
    return {
        "entries": {
            "of_both": found.entries,
            "of_first_alone": found.entries_of_first_alone,
            "of_second_alone": found.entries_of_second_alone,
        },
        "propositions": {"first": found.first, "second": found.second, "matched": found.matched},
        "inclusion": {
            "positive_agreement": _measure(found.inclusion),
            "at_most": plain_number(found.inclusion_at_most),
            "kappa": {"estimate": None, "undefined": NO_KAPPA_OF_INCLUSION},
        },
        "quartile": {
            "same": found.same_quartile,
            "of": found.matched,
            "share_same": _measure(found.share_same_quartile),
            "krippendorff_alpha_ordinal": _measure(found.alpha),
            "cohen_kappa": _measure(found.kappa),
        },
        "alignment": {"questions": found.questions, "unread": found.unread},
    }


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "estimate": plain_number(measure.estimate),
        "interval": plain_interval(measure.interval),
        "level": measure.interval.level if measure.interval else None,
        "degenerate": measure.degenerate,
        "undefined": measure.undefined,
    }


def _sensitivity(found: Sensitivity) -> dict[str, Any]:
    return {
        "turns": {"pooled_recall": found.recall_turns, "positional_uniformity": found.uniformity_turns},
        "bases": [_on_basis(on) for on in found.bases],
    }


def _on_basis(on: OnBasis) -> dict[str, Any]:
    return {
        "basis": on.basis.value,
        "fixture": on.fixture_hash,
        "propositions": on.propositions,
        "entries": on.entries,
        "judged": on.judged,
        "undecided": on.undecided,
        "pooled_recall": {
            **_said(on.recall),
            "estimate": plain_number(on.recall.estimate),
            "interval": plain_interval(on.recall.interval),
        },
        "positional_uniformity": {**_said(on.uniformity), "upper_bound": plain_number(on.upper_bound)},
    }


def _said(verdict: Verdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome.value,
        "reason": verdict.reason.value if verdict.reason else None,
        "detail": verdict.detail,
    }
