"""The verdict: three claims, each through the same order of questions, of which the first that ends it is the reason."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import SealBroken
from eval_pipeline.gates import at_least, at_most
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Number, Outcome, Reason, Refusal, Verdict
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import Frame, State
from eval_pipeline.studies.extraction.guard import GuardFindings
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.recall import RecallFindings
from eval_pipeline.studies.extraction.uniformity import UniformityFindings

CLAIMS = RECALL, UNIFORMITY, GUARD = "pooled_recall", "positional_uniformity", "precision_guard"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the verdict rests on; it reads nothing else."""

    snapshot: Snapshot
    fixture: Fixture
    frame: Frame
    judged: Judged
    recall: RecallFindings
    uniformity: UniformityFindings
    guard: GuardFindings


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """What stands before a threshold: the outcome of the recall claim, the reason, and whether numbers may be shown."""

    recall_outcome: Outcome
    refusal: Refusal
    advisory: bool


def verdicts(evidence: Evidence, plan: ExtractionPlan) -> tuple[Verdict, Verdict, Verdict]:
    """The verdicts on recall, uniformity and precision, in this order."""
    return _recall(evidence, plan), _uniformity(evidence, plan), _guard(evidence, plan)


def broken_seal(broken: SealBroken) -> tuple[Verdict, Verdict, Verdict]:
    """The verdicts where the plan is not the one that was sealed: no number, and no threshold to hold one against."""
    withheld = (
        Verdict(claim, Outcome.SKIP, Reason.SEAL_BROKEN, str(broken), None, None, None, None, None, advisory=False)
        for claim in (RECALL, UNIFORMITY, GUARD)
    )
    first, second, third = withheld
    return first, second, third


def _obstacle(evidence: Evidence, plan: ExtractionPlan) -> _Obstacle | None:
    """The first thing that keeps recall and uniformity from being decided; the order is part of the rule."""
    fixture, corpus, frame = evidence.fixture.refusal, evidence.snapshot.refusal, evidence.frame
    if fixture and fixture.reason is Reason.FIXTURE_MISSING:
        return _Obstacle(Outcome.SKIP, fixture, advisory=False)
    if corpus:
        return _Obstacle(Outcome.SKIP, corpus, advisory=False)
    if not evidence.snapshot.signals_by_entry:
        return _skip(
            Reason.CORPUS_EMPTY, "the corpus holds no entry with a signal; restore it, or run the extraction first"
        )
    if evidence.judged.refusal:
        return _Obstacle(Outcome.SKIP, evidence.judged.refusal, advisory=False)
    if fixture:
        return _Obstacle(Outcome.FAIL, fixture, advisory=False)
    if frame.absent_entries == frame.entries:
        return _skip(
            Reason.CORPUS_EMPTY,
            f"none of the {len(frame.entries)} entries that the fixture names is in the corpus; restore the corpus that was annotated",
        )
    if len(frame.absent_entries) > plan.design.entries_missing_at_most * len(frame.entries):
        return _Obstacle(Outcome.FAIL, Refusal(Reason.FIXTURE_DRIFT, _drift(frame, plan)), advisory=False)
    return _untrustworthy(evidence, plan) or _underpowered(evidence, plan)


def _skip(reason: Reason, detail: str) -> _Obstacle:
    return _Obstacle(Outcome.SKIP, Refusal(reason, detail), advisory=False)


def _drift(frame: Frame, plan: ExtractionPlan) -> str:
    absent = sorted(frame.absent_entries)
    return (
        f"{len(absent)} of the {len(frame.entries)} entries that the fixture names are not in the corpus"
        f" ({', '.join(absent[:5])}{', ...' if len(absent) > 5 else ''}), more than {plan.design.entries_missing_at_most} of them;"
        " annotate again, or restore the corpus that was annotated"
    )


def _untrustworthy(evidence: Evidence, plan: ExtractionPlan) -> _Obstacle | None:
    pooled, rule = evidence.recall.pooled, plan.errors
    asked = [row for row in evidence.judged.rows if row["kind"] != "recall_no_signals"]
    unread = Counter(row["no_label"] for row in asked if row["no_label"])
    if rule.counted_in == "calls":
        failed, all_of_them, what = sum(unread.values()), len(asked), "calls"
    else:
        undecided = _undecided(evidence)
        failed, all_of_them, what = undecided, pooled.judged + undecided, "propositions"
    if pooled.judged and failed <= rule.at_most * all_of_them:
        return None
    why = ", ".join(f"{count} {name}" for name, count in sorted(unread.items())) or "no answer"
    detail = (
        f"{failed} of {all_of_them} {what} gave no label ({why}), and the plan allows {rule.at_most} of them;"
        f" {_range(evidence)}mend the judge and run again, what was judged is kept"
    )
    outcome = Outcome.FAIL if rule.recall_outcome == "fail" else Outcome.SKIP
    return _Obstacle(outcome, Refusal(Reason.UNTRUSTWORTHY, detail), advisory=False)


def _undecided(evidence: Evidence) -> int:
    """All undecided propositions, those of entries of which nothing was judged included."""
    in_frame = sum(unit.state is State.IN for unit in evidence.frame.units)
    return in_frame - evidence.recall.pooled.judged


def _range(evidence: Evidence) -> str:
    worst = evidence.recall.worst_case
    if worst is None or worst.low is None or worst.high is None:
        return ""
    return f"recall may lie anywhere from {float(worst.low):.4f} to {float(worst.high):.4f}; "


def _underpowered(evidence: Evidence, plan: ExtractionPlan) -> _Obstacle | None:
    lacking = [*_design_lacks(evidence, plan)]
    if evidence.frame.is_cut and plan.budget.when_cut == "underpowered":
        lacking.append(_cut(evidence.frame))
    if not lacking:
        return None
    refusal = Refusal(Reason.UNDERPOWERED, "; ".join(lacking) + "; the numbers stand and do not decide")
    return _Obstacle(Outcome.SKIP, refusal, advisory=True)


def _cut(frame: Frame) -> str:
    over = sum(unit.state is State.OVER_BUDGET for unit in frame.units)
    parts = [f"the budget leaves out {over} of {len(frame.units)} propositions"] if over else []
    if frame.entries_cut_signals:
        parts.append(f"the cap on signals cuts {frame.entries_cut_signals} entries")
    return " and ".join(parts) + ", raise it to judge all"


def _design_lacks(evidence: Evidence, plan: ExtractionPlan) -> list[str]:
    recall, design = evidence.recall, plan.design
    lacks = []
    if recall.judged_entries < design.entries:
        lacks.append(f"{recall.judged_entries} entries were judged and the plan asks for {design.entries}")
    for group in recall.by_workspace:
        if group.entries < design.entries_per_workspace:
            lacks.append(
                f"workspace {group.name!r} has {group.entries} judged entries of {design.entries_per_workspace}"
            )
    if len(recall.by_band) < design.bands:
        lacks.append(f"{len(recall.by_band)} capture bands were judged and the plan asks for {design.bands}")
    if design.dense is not None and recall.dense_entries is not None:
        total = recall.judged_entries if design.dense.counted_on == "judged" else len(evidence.frame.entries)
        needed = design.dense.share * total
        if recall.dense_entries < (floor(needed) if design.dense.share_of_entries == "floor" else needed):
            lacks.append(
                f"{recall.dense_entries} of {total} entries have {design.dense.words} words or more and the plan asks for"
                f" {design.dense.share} of them"
            )
    return lacks


def _recall(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    pooled, threshold = evidence.recall.pooled, plan.claims.recall_at_least
    verdict = Verdict(
        claim=RECALL,
        outcome=Outcome.SKIP,
        reason=None,
        detail="",
        estimate=pooled.estimate,
        numerator=pooled.hits,
        denominator=pooled.judged,
        interval=pooled.interval,
        threshold=threshold,
        advisory=True,
    )
    if obstacle := _obstacle(evidence, plan):
        return _withheld(verdict, obstacle, obstacle.recall_outcome)
    assert pooled.estimate is not None  # an empty denominator is untrustworthy
    low = pooled.interval.low if pooled.interval else None
    firm = (
        "the interval lies above the bar"
        if low is not None and low >= threshold
        else "the interval does not lie above it"
    )
    outcome = at_least(pooled.estimate, threshold, plan.scoring.comparison)
    said = f"{pooled.hits} of {pooled.judged} propositions recovered; the bar is {float(threshold):.2f}, and {firm}"
    return _decided(verdict, outcome, said, evidence, plan)


def _uniformity(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    found, threshold = evidence.uniformity, plan.claims.bound_at_most
    verdict = Verdict(
        claim=UNIFORMITY,
        outcome=Outcome.SKIP,
        reason=None,
        detail="",
        estimate=found.bound.estimate if found.bound else None,
        numerator=None,
        denominator=None,
        interval=found.bound.interval if found.bound else None,
        threshold=threshold,
        advisory=True,
    )
    if obstacle := _obstacle(evidence, plan):
        return _withheld(verdict, obstacle, Outcome.SKIP)
    if found.refusal:
        return _withheld(verdict, _Obstacle(Outcome.SKIP, found.refusal, advisory=False), Outcome.SKIP)
    assert found.bound is not None and found.bound.interval.high is not None
    bound: Number = found.bound.interval.high
    said = (
        f"recall falls by at most {float(bound):.4f} from quartile 1 to quartile 4; the bar is {float(threshold):.2f}"
    )
    if found.degenerate:
        said += "; all resamples agree, so the bound has no width and says less than it seems"
    return _decided(verdict, at_most(bound, threshold, plan.scoring.comparison), said, evidence, plan)


def _guard(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    found, threshold = evidence.guard, plan.claims.precision_at_least
    verdict = Verdict(
        claim=GUARD,
        outcome=Outcome.SKIP,
        reason=None,
        detail="",
        estimate=Fraction(found.supported, found.judged) if found.judged else None,
        numerator=found.supported,
        denominator=found.judged,
        interval=found.interval,
        threshold=threshold,
        advisory=True,
    )
    if obstacle := _guard_obstacle(evidence, plan):
        return _withheld(verdict, obstacle, obstacle.recall_outcome)
    assert verdict.estimate is not None and found.reading is not None
    said = f"{found.supported} of {found.judged} signals follow from their span; the bar is {float(threshold):.2f}: {found.reading.value}"
    return _decided(verdict, at_least(verdict.estimate, threshold, plan.scoring.comparison), said, evidence, plan)


def _guard_obstacle(evidence: Evidence, plan: ExtractionPlan) -> _Obstacle | None:
    found, facts, fixture = evidence.guard, evidence.guard.facts, evidence.fixture.refusal
    if evidence.snapshot.refusal:
        return _Obstacle(Outcome.SKIP, evidence.snapshot.refusal, advisory=False)
    if facts is None or facts.spans == 0:
        return _skip(
            Reason.SPAN_PENDING,
            "no signal records the span it was taken from; have the extraction write provenance.span",
        )
    if evidence.judged.refusal:
        return _Obstacle(Outcome.SKIP, evidence.judged.refusal, advisory=False)
    if fixture and fixture.reason is not Reason.FIXTURE_MISSING:
        return _Obstacle(Outcome.SKIP, fixture, advisory=False)
    broken = sum(facts.faults.values())
    if broken and plan.guard.malformed_spans == "fail":
        kinds = ", ".join(f"{count} {fault.value}" for fault, count in facts.faults.items())
        detail = f"{broken} of {facts.spans} recorded spans cannot be read ({kinds}), the first: {'; '.join(facts.examples)}; correct them"
        return _Obstacle(Outcome.FAIL, Refusal(Reason.SPAN_MALFORMED, detail), advisory=True)
    if plan.errors.counted_in == "propositions" and found.undecided > plan.errors.at_most * found.drawn:
        detail = (
            f"{found.undecided} of {found.drawn} spans gave no label, and the plan allows {plan.errors.at_most} of them;"
            " mend the judge and run again, what was judged is kept"
        )
        return _skip(Reason.UNTRUSTWORTHY, detail)
    if found.judged < plan.guard.judged_at_least:
        detail = f"{found.judged} spans were judged and the plan asks for {plan.guard.judged_at_least}; the numbers stand and do not decide"
        return _Obstacle(Outcome.SKIP, Refusal(Reason.UNDERPOWERED, detail), advisory=True)
    return None


def _withheld(verdict: Verdict, obstacle: _Obstacle, outcome: Outcome) -> Verdict:
    """The verdict with the reason, and with its numbers only where they were measured soundly."""
    refusal = obstacle.refusal
    if obstacle.advisory and verdict.estimate is not None:
        return replace(verdict, outcome=outcome, reason=refusal.reason, detail=refusal.detail)
    return replace(
        verdict,
        outcome=outcome,
        reason=refusal.reason,
        detail=refusal.detail,
        estimate=None,
        numerator=None,
        denominator=None,
        interval=None,
        advisory=False,
    )


def _decided(verdict: Verdict, outcome: Outcome, said: str, evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    """The verdict at its threshold. A judge whose errors were never measured can raise an alarm, and cannot clear."""
    reason = Reason.THRESHOLD_MISSED if outcome is Outcome.FAIL else None
    if evidence.judged.standing is Standing.ORACLE or plan.calibration.uncalibrated_pass == "pass":
        return replace(verdict, outcome=outcome, reason=reason, detail=said, advisory=False)
    if outcome is Outcome.PASS:
        outcome, reason = Outcome.WARN, Reason.UNCALIBRATED
    said += "; the judge's own error rates were never measured"
    return replace(verdict, outcome=outcome, reason=reason, detail=said, advisory=True)
