"""The verdict as a document: what is written to verdict.json, byte for byte the same for the same evidence."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from eval_pipeline.document import plain_claim, plain_interval, plain_number, plain_refusal
from eval_pipeline.records import Verdict
from eval_pipeline.studies.extraction.annotators.document import annotators_document
from eval_pipeline.studies.extraction.annotators.findings import AnnotatorFindings
from eval_pipeline.studies.extraction.bands import BandLedger
from eval_pipeline.studies.extraction.correction.document import correction_document, estimator_of
from eval_pipeline.studies.extraction.frame import State
from eval_pipeline.studies.extraction.guard import GuardFindings
from eval_pipeline.studies.extraction.judge_findings import JudgeFindings, ScreenAudit
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.obstacles import Evidence
from eval_pipeline.studies.extraction.recall import Group, RecallFindings
from eval_pipeline.studies.extraction.repeats import Flips
from eval_pipeline.studies.extraction.uniformity import Estimate, UniformityFindings


def verdict_document(
    claims: Sequence[Verdict],
    evidence: Evidence,
    ledger: BandLedger,
    annotators: AnnotatorFindings | None = None,
    *,
    seal: str,
    plan_name: str,
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """The document as plain values; None stands where there is no number."""
    recall, uniformity, guard = (verdict.estimate is not None for verdict in claims)
    return {
        "study": "extraction",
        "claims": [
            plain_claim(
                verdict,
                level=verdict.interval.level if verdict.interval else None,
                estimator=estimator_of(verdict.claim, evidence.correction) if verdict.estimate is not None else None,
            )
            for verdict in claims
        ],
        "quartiles": [
            {
                "quartile": place,
                "hits": group.hits,
                "judged": group.judged,
                "undecided": group.undecided,
                **_estimate(group, stated=recall),
            }
            for place, group in enumerate(evidence.recall.by_quartile, 1)
        ],
        "findings": {
            "recall": _recall(evidence.recall, stated=recall),
            "uniformity": _uniformity(evidence.uniformity, stated=uniformity),
            "guard": _guard(evidence.guard, stated=guard),
            "judge": _judge(evidence.judge),
            "correction": correction_document(evidence.correction, recall=recall, uniformity=uniformity, guard=guard),
            "annotators": annotators_document(annotators) if annotators else None,
            "signals_per_entry": [
                {
                    "band": band.band,
                    "entries": band.entries,
                    "entries_with_signals": band.entries_with_signals,
                    "signals": band.signals,
                    "signals_per_entry": plain_number(band.signals_per_entry),
                }
                for band in ledger.bands
            ],
        },
        "frame": _frame(evidence),
        "judgments": _judgments(evidence.judged),
        "refusals": {
            "corpus": plain_refusal(evidence.snapshot.refusal),
            "fixture": plain_refusal(evidence.fixture.refusal),
            "judge": plain_refusal(evidence.judged.refusal),
        },
        "judge": {
            "kind": evidence.judged.kind,
            "standing": evidence.judged.standing.value,
            "fingerprint": evidence.judged.fingerprint,
            "identity": dict(evidence.judged.judge),
        },
        "hashes": {
            "corpus": evidence.snapshot.hash,
            "fixture": evidence.fixture.hash,
            "plan": seal,
            "human_check": evidence.correction.check.hash if evidence.correction.check else None,
        },
        "plan": plan_name,
        "versions": dict(versions),
    }


def _judgments(judged: Judged) -> dict[str, dict[str, int]]:
    """How many judgments of each kind gave which label, or why none."""
    counts: dict[str, dict[str, int]] = {}
    for row in judged.by_kind():
        counts.setdefault(row["kind"], {})[row["label"]] = row["judgments"]
    return counts


def _estimate(group: Group, *, stated: bool) -> dict[str, Any]:
    """The share and its interval, or nulls where the claim that they belong to is withheld."""
    return {
        "estimate": plain_number(group.estimate) if stated else None,
        "interval": plain_interval(group.interval) if stated else None,
    }


def _group(group: Group, *, stated: bool) -> dict[str, Any]:
    return {
        "name": group.name,
        "entries": group.entries,
        "hits": group.hits,
        "judged": group.judged,
        "undecided": group.undecided,
        **_estimate(group, stated=stated),
    }


def _recall(recall: RecallFindings, *, stated: bool) -> dict[str, Any]:
    return {
        "pooled": _group(recall.pooled, stated=stated),
        "macro": plain_number(recall.macro) if stated else None,
        "worst_case": plain_interval(recall.worst_case),
        "degenerate": recall.pooled.degenerate,
        "composition_only": recall.composition_only,
        "by_workspace": [_group(group, stated=stated) for group in recall.by_workspace],
        "by_band": [_group(group, stated=stated) for group in recall.by_band],
        "by_density": [_group(group, stated=stated) for group in recall.by_density],
    }


def _contrast(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"estimate": plain_number(estimate.estimate), "interval": plain_interval(estimate.interval)}


def _uniformity(found: UniformityFindings, *, stated: bool) -> dict[str, Any]:
    return {
        "first_less_last": _contrast(found.two_sided) if stated else None,
        "upper_bound": plain_number(found.bound.interval.high) if found.bound and stated else None,
        "worst_bound": plain_number(found.worst_bound) if stated else None,
        "slope_per_quartile": _contrast(found.slope) if stated else None,
        "highest_less_lowest": _contrast(found.spread) if stated else None,
        "rows": found.rows,
        "resamples": found.resamples,
        "valid": found.valid,
        "degenerate": found.degenerate,
    }


def _guard(found: GuardFindings, *, stated: bool) -> dict[str, Any]:
    return {
        "status": found.status.value,
        "signals": found.facts.signals if found.facts else None,
        "spans": found.facts.spans if found.facts else None,
        "faults": {fault.value: count for fault, count in found.facts.faults.items()} if found.facts else None,
        "spans_that_cut_a_word": found.facts.cut_words if found.facts else None,
        "spans_that_would_one_lower": found.facts.cut_words_one_lower if found.facts else None,
        "drawn": found.drawn,
        "judged": found.judged,
        "supported": found.supported,
        "undecided": found.undecided,
        "interval": plain_interval(found.interval) if stated else None,
        "worst_case": plain_interval(found.worst_case),
        "p_value": plain_number(found.p_value) if stated else None,
        "reading": found.reading.value if found.reading and stated else None,
    }


def _judge(found: JudgeFindings) -> dict[str, Any]:
    return {
        "screen": {"quartile": None, **_audit(found.screen)},
        "screen_by_quartile": [{"quartile": audit.quartile, **_audit(audit)} for audit in found.screen_by_quartile],
        "repeats": {
            "propositions": _flips(found.flips),
            "spans": _flips(found.span_flips),
            "propositions_that_a_signal_supported": _flips(found.lost_signals),
            "signals_that_their_span_supported": _flips(found.lost_spans),
        },
        "canaries": {"asked": found.canaries, "unread": found.canaries_unread},
        "reasked": found.reasked,
        "calls": {
            "asked": found.calls.asked,
            "exhaustive": found.calls.exhaustive,
            "saved": found.calls.saved,
        },
    }


def _audit(audit: ScreenAudit) -> dict[str, Any]:
    decided = audit.audited - audit.undecided
    return {
        "turned_away": audit.turned_away,
        "audited": audit.audited,
        "missed": audit.missed,
        "undecided": audit.undecided,
        "miss_rate": plain_number(Fraction(audit.missed, decided)) if decided else None,
        "interval": plain_interval(audit.interval),
    }


def _flips(flips: Flips) -> dict[str, Any]:
    return {
        "repeated": flips.repeated,
        "compared": flips.compared,
        "turned": flips.turned,
        "flip_rate": plain_number(Fraction(flips.turned, flips.compared)) if flips.compared else None,
        "interval": plain_interval(flips.interval),
    }


def _frame(evidence: Evidence) -> dict[str, Any]:
    frame, recall, left_out = evidence.frame, evidence.recall, evidence.snapshot.left_out
    states = [unit.state for unit in frame.units]
    return {
        "entries": len(frame.entries),
        "entries_absent": len(frame.absent_entries),
        "entries_judged": recall.judged_entries,
        "entries_undecided": len(recall.entries_undecided),
        "entries_without_signals": recall.entries_without_signals,
        "entries_dense": recall.dense_entries,
        "entries_cut_signals": frame.entries_cut_signals,
        "propositions": len(frame.units),
        "propositions_in": states.count(State.IN),
        "propositions_absent": states.count(State.ABSENT),
        "propositions_over_budget": states.count(State.OVER_BUDGET),
        "spans": len(frame.spans),
        "spans_over_budget": frame.spans_over_budget,
        "canaries": len(frame.canaries),
        "calls_at_most": frame.calls_at_most,
        "left_out": {
            "deleted_entries": left_out.deleted_entries,
            "deleted_signals": left_out.deleted_signals,
            "orphan_signals": left_out.orphan_signals,
            "blank_signals": left_out.blank_signals,
        },
    }
