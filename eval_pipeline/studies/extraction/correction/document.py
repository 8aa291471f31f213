"""The correction as a part of the verdict document: every estimate side by side, and what is known of the judge."""

from typing import Any

from eval_pipeline.document import plain_interval, plain_number, plain_refusal
from eval_pipeline.human_check.join import Coefficient, RaterAgreement
from eval_pipeline.studies.extraction.correction.estimates import Cell, Estimates
from eval_pipeline.studies.extraction.correction.findings import CheckFacts, Correction, Needed
from eval_pipeline.studies.extraction.gold_claims import GoldErrors
from eval_pipeline.studies.extraction.verdict import GUARD, RECALL, UNIFORMITY


def estimator_of(claim: str, correction: Correction) -> str:
    """By which estimator a claim is decided."""
    return (correction.decides_precision if claim == GUARD else correction.decides).value


def correction_document(correction: Correction, *, recall: bool, uniformity: bool, guard: bool) -> dict[str, Any]:
    """The correction as plain values; a claim that withholds its numbers has none here either."""
    return {
        "decides": correction.decides.value,
        "estimates": [_estimates(one, recall=recall, uniformity=uniformity) for one in correction.estimates],
        "precision": _cell(correction.precision, stated=guard) if correction.precision else None,
        "check": _check(correction.check) if correction.check else None,
        "gold": _gold(correction.gold) if correction.gold else None,
        "refusal": plain_refusal(correction.refusal),
        "labels_needed": {
            RECALL: _needed(correction.recall_needs) if recall else None,
            UNIFORMITY: _needed(correction.uniformity_needs) if uniformity else None,
        },
    }


def _estimates(one: Estimates, *, recall: bool, uniformity: bool) -> dict[str, Any]:
    return {
        "estimator": one.estimator.value,
        "pooled": _cell(one.pooled, stated=recall),
        "by_quartile": [_cell(cell, stated=recall) for cell in one.by_quartile],
        "first_less_last": _cell(one.first_less_last, stated=uniformity),
        "upper_bound": plain_number(one.bound.high) if uniformity else None,
    }


def _cell(cell: Cell, *, stated: bool) -> dict[str, Any]:
    return {
        "estimate": plain_number(cell.estimate) if stated else None,
        "interval": plain_interval(cell.interval) if stated else None,
        "withheld": cell.withheld,
    }


def _check(check: CheckFacts) -> dict[str, Any]:
    return {
        "raters": list(check.raters),
        "labels": check.items,
        "unsure": check.unsure,
        "settled": check.settled,
        "entries": check.entries,
        "propositions": check.propositions,
        "spans": check.spans,
        "agreement": agreement_document(check.agreement) if check.agreement else None,
        "people_and_judge": [dict(row) for row in check.against],
    }


def agreement_document(agreement: RaterAgreement) -> dict[str, Any]:
    """How two people agree, as plain values."""
    return {
        "items": agreement.items,
        "same": agreement.same,
        "kappa": _coefficient(agreement.kappa),
        "alpha": _coefficient(agreement.alpha),
    }


def _coefficient(one: Coefficient) -> dict[str, Any]:
    return {
        "estimate": plain_number(one.estimate),
        "interval": plain_interval(one.interval),
        "undefined": one.undefined,
    }


def _gold(gold: GoldErrors) -> dict[str, Any]:
    return {
        "supported": gold.positives,
        "of_them_missed": gold.false_negatives,
        "not_supported": gold.negatives,
        "of_them_supported_by_the_judge": gold.false_positives,
        "without_label": gold.unread,
        "not_asked": gold.unasked,
    }


def _needed(needed: Needed | None) -> dict[str, Any] | None:
    if needed is None:
        return None
    return {
        "unit": needed.unit,
        "labelled": needed.labelled,
        "needed": needed.needed,
        "more_than_there_are": needed.beyond,
    }
