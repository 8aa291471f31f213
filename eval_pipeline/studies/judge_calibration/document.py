"""The report of a calibration as a document: every key of the contract, and what each number rests on."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval_pipeline.document import plain_claim, plain_interval, plain_number, plain_refusal
from eval_pipeline.records import Verdict
from eval_pipeline.stats.gold_size import errors_allowed
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.concentration import Concentration
from eval_pipeline.studies.judge_calibration.confusion import ErrorRates, Prediction, Rate, standing_of
from eval_pipeline.studies.judge_calibration.gold import GoldSet
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from eval_pipeline.studies.judge_calibration.repeats import Flips


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
        "FNR": plain_number(rates.false_negatives.estimate if rates else None),
        "FPR": plain_number(rates.false_positives.estimate if rates else None),
        "per_class": {} if rates is None else {name: _class(one) for name, one in rates.per_class.items()},
        "partial_support": {
            "miss_rate": plain_number(rates.partial_misses.estimate if rates else None),
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
        "levels": {"intervals": float(plan.intervals.level), "gate": float(gate.level)},
        "claims": [plain_claim(verdict) for verdict in claims],
        "rates": None if rates is None else rates_document(rates, plan),
        "macro": None
        if rates is None
        else {"FNR": plain_number(rates.macro_false_negatives), "FPR": plain_number(rates.macro_false_positives)},
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
                "largest_share": plain_number(one.largest_share),
                "entropy": plain_number(one.entropy),
                "clustered": one.clustered,
            }
            for one in intake
        ],
        "judge": {"kind": predictions.kind, "fingerprints": dict(predictions.fingerprints)},
        "refusal": plain_refusal(predictions.refusal),
        "hashes": {"gold": gold.hash, "plan": seal},
        "plan": plan.name,
        "versions": dict(versions),
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
        "FNR": plain_number(one.false_negatives.estimate),
        "FPR": plain_number(one.false_positives.estimate),
        "n_positive": one.false_negatives.n,
        "n_negative": one.false_positives.n,
        "FNR_interval": plain_interval(one.false_negatives.interval),
        "FPR_interval": plain_interval(one.false_positives.interval),
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "errors": rate.errors,
        "n": rate.n,
        "estimate": plain_number(rate.estimate),
        "interval": plain_interval(rate.interval),
    }


def _flips(flips: Flips) -> dict[str, Any]:
    return {
        "runs": flips.runs,
        "turned": _rate(flips.turned),
        "majority_FNR": plain_number(flips.majority.false_negatives.estimate),
        "majority_FPR": plain_number(flips.majority.false_positives.estimate),
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
