"""The report of a calibration as a document: every key of the contract, and what each number rests on."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from eval_pipeline.records import Interval, Number, Verdict
from eval_pipeline.stats.gold_size import errors_allowed
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.concentration import Concentration
from eval_pipeline.studies.judge_calibration.confusion import ErrorRates, Prediction, Rate, standing_of
from eval_pipeline.studies.judge_calibration.gold import GoldSet
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from eval_pipeline.studies.judge_calibration.repeats import Flips

_DECIMALS = 10  # more than any reader needs, and fewer than any two machines differ in


def calibration_document(
    claims: Sequence[Verdict],
    gold: GoldSet,
    predictions: Predictions,
    rates: ErrorRates | None,
    flips: Flips | None,
    intake: Sequence[Concentration],
    plan: CalibrationPlan,
    *,
    seal: str,
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """The document as plain values; None stands where nothing was measured.

    The first eight keys, from `FNR` to `n_constraint`, are those of the contract, with its names.
    """
    gate = plan.gate
    return {
        "FNR": _number(rates.false_negatives.estimate if rates else None),
        "FPR": _number(rates.false_positives.estimate if rates else None),
        "per_class": {} if rates is None else {name: _class(one) for name, one in rates.per_class.items()},
        "partial_support": {
            "miss_rate": _number(rates.partial_misses.estimate if rates else None),
            "n_partial": sum(item.partial for item in gold.tuples),
        },
        "thresholds": {
            "FNR": float(gate.false_negatives_below),
            "FPR": float(gate.false_positives_below),
            "partial_misses": gate.partial_misses,
            "justification": gate.justification,
        },
        "n_total": len(gold.tuples),
        "n_alignment": len(gold.alignment),
        "n_constraint": len(gold.constraint),
        "study": "judge-calibration",
        "claims": [_claim(verdict) for verdict in claims],
        "rates": None if rates is None else rates_document(rates, plan),
        "macro": None
        if rates is None
        else {"FNR": _number(rates.macro_false_negatives), "FPR": _number(rates.macro_false_positives)},
        "confusion": None
        if rates is None
        else [
            {"expected": expected, "answered": answered, "n": count}
            for (expected, answered), count in sorted(
                rates.matrix.items(), key=lambda cell: (cell[0][0], cell[0][1] or "")
            )
        ],
        "repeats": None if flips is None else _flips(flips),
        "tuples": [_outcome(one) for one in predictions.first],
        "intake": [
            {
                "field": one.field,
                "counts": dict(one.counts),
                "unnamed": one.unnamed,
                "largest": one.largest,
                "largest_share": _number(one.largest_share),
                "entropy": _number(one.entropy),
                "clustered": one.clustered,
            }
            for one in intake
        ],
        "judge": {"kind": predictions.kind, "fingerprints": dict(predictions.fingerprints)},
        "refusal": predictions.refusal
        and {"reason": predictions.refusal.reason.value, "detail": predictions.refusal.detail},
        "hashes": {"gold": gold.hash, "plan": seal},
        "plan": plan.name,
        "versions": dict(versions),
    }


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """The document as JSON text, indented, with a line end."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _claim(verdict: Verdict) -> dict[str, Any]:
    return {
        "claim": verdict.claim,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason and verdict.reason.value,
        "detail": verdict.detail,
        "estimate": _number(verdict.estimate),
        "numerator": verdict.numerator,
        "denominator": verdict.denominator,
        "interval": _interval(verdict.interval),
        "threshold": _number(verdict.threshold),
        "advisory": verdict.advisory,
    }


def rates_document(rates: ErrorRates, plan: CalibrationPlan) -> dict[str, Any]:
    """Every rate with its interval; of those of the gate, what is shown and how many errors would still show it."""
    bars = {
        "false_negatives": plan.gate.false_negatives_below,
        "false_positives": plan.gate.false_positives_below,
    }
    others = ("false_clear", "false_flag", "partial_misses", "wrong_rule", "invalid")
    gated = {
        name: _rate(getattr(rates, name))
        | {
            "standing": standing_of(getattr(rates, name), bar, level=plan.gate.level),
            "errors_that_still_show_it": errors_allowed(getattr(rates, name).n, bound=bar, level=plan.gate.level),
        }
        for name, bar in bars.items()
    }
    return gated | {name: _rate(getattr(rates, name)) for name in others}


def _class(one: Any) -> dict[str, Any]:
    return {
        "FNR": _number(one.false_negatives.estimate),
        "FPR": _number(one.false_positives.estimate),
        "n_positive": one.false_negatives.n,
        "n_negative": one.false_positives.n,
        "FNR_interval": _interval(one.false_negatives.interval),
        "FPR_interval": _interval(one.false_positives.interval),
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "errors": rate.errors,
        "n": rate.n,
        "estimate": _number(rate.estimate),
        "interval": _interval(rate.interval),
    }


def _flips(flips: Flips) -> dict[str, Any]:
    return {
        "runs": flips.runs,
        "turned": _rate(flips.turned),
        "majority_FNR": _number(flips.majority.false_negatives.estimate),
        "majority_FPR": _number(flips.majority.false_positives.estimate),
    }


def _outcome(one: Prediction) -> dict[str, Any]:
    return {
        "index": one.item.index,
        "kind": "constraint" if one.item.constraint else "alignment",
        "expected": one.item.expected.value,
        "answered": one.label and one.label.value,
        "no_label": one.no_label and one.no_label.value,
        "right": one.right,
    }


def _interval(interval: Interval | None) -> list[float | None] | None:
    return [_number(interval.low), _number(interval.high)] if interval else None


def _number(value: Number | None) -> float | None:
    if value is None:
        return None
    return round(float(Fraction(value)), _DECIMALS)
