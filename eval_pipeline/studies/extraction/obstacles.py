"""What stands before a threshold: the questions that come first, in an order that is part of the rule."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.records import Interval, Kind, NoLabel, Outcome, Reason, Refusal
from eval_pipeline.studies.extraction.correction.findings import Correction
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import Frame, State
from eval_pipeline.studies.extraction.guard import GuardFindings
from eval_pipeline.studies.extraction.judge_findings import JudgeFindings
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.recall import NOT_RECORDED, RecallFindings
from eval_pipeline.studies.extraction.uniformity import UniformityFindings


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
    judge: JudgeFindings
    correction: Correction


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What stands before a threshold: what the claim comes to, the reason, and whether its numbers may be shown."""

    outcome: Outcome
    refusal: Refusal
    advisory: bool


def recall_obstacle(evidence: Evidence, plan: ExtractionPlan) -> Obstacle | None:
    """The first thing that keeps recall and uniformity from being decided; the order is part of the rule.

    A malformed fixture stands behind a judge that is down, but no judge is asked under one: in a run it comes first.
    """
    fixture, corpus, frame = evidence.fixture.refusal, evidence.snapshot.refusal, evidence.frame
    if fixture and fixture.reason is Reason.FIXTURE_MISSING:
        return Obstacle(Outcome.SKIP, fixture, advisory=False)
    if corpus:
        return Obstacle(Outcome.SKIP, corpus, advisory=False)
    if not evidence.snapshot.signals_by_entry:
        return _skip(
            Reason.CORPUS_EMPTY, "the corpus holds no entry with a signal; restore it, or run the extraction first"
        )
    if evidence.judged.refusal:
        return Obstacle(Outcome.SKIP, evidence.judged.refusal, advisory=False)
    if fixture:
        return Obstacle(Outcome.FAIL, fixture, advisory=False)
    if frame.absent_entries == frame.entries:
        return _skip(
            Reason.CORPUS_EMPTY,
            f"none of the {len(frame.entries)} entries that the fixture names is in the corpus;"
            " restore the corpus that was annotated",
        )
    if len(frame.absent_entries) > plan.design.entries_missing_at_most * len(frame.entries):
        return Obstacle(Outcome.FAIL, Refusal(Reason.FIXTURE_DRIFT, _drift(frame, plan)), advisory=False)
    if frame.is_cut and not frame.judged_units:
        return _skip(Reason.UNDERPOWERED, _cut(frame))
    return _untrustworthy(evidence, plan) or _underpowered(evidence, plan) or _uncorrected(evidence)


def _uncorrected(evidence: Evidence) -> Obstacle | None:
    """The obstacle, if a check was given that nothing may rest on, or a judge that errs too often to be corrected."""
    if refusal := evidence.correction.refusal:
        return Obstacle(Outcome.SKIP, refusal, advisory=True)
    corrected = evidence.correction.corrected
    if corrected is not None and corrected.pooled.withheld:
        return Obstacle(Outcome.SKIP, Refusal(Reason.JUDGE_ERRORS, corrected.pooled.withheld), advisory=True)
    return None


def _skip(reason: Reason, detail: str) -> Obstacle:
    return Obstacle(Outcome.SKIP, Refusal(reason, detail), advisory=False)


def _drift(frame: Frame, plan: ExtractionPlan) -> str:
    absent = sorted(frame.absent_entries)
    first = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
    return (
        f"{len(absent)} of the {len(frame.entries)} entries that the fixture names are not in the corpus ({first}),"
        f" more than {plan.design.entries_missing_at_most} of them; annotate again, or restore the annotated corpus"
    )


def _untrustworthy(evidence: Evidence, plan: ExtractionPlan) -> Obstacle | None:
    pooled, rule = evidence.recall.pooled, plan.errors
    together = rule.counted_in == "calls"  # of all kinds, the guard's too, as the first version counted
    counted = (Kind.SCREEN, Kind.SIGNAL, Kind.SPAN) if together else (Kind.SCREEN, Kind.SIGNAL)
    asked, unread = _asked(evidence, counted)
    if together:
        failed, all_of_them, what = unread.total(), asked, "calls"
    else:
        failed, all_of_them, what = pooled.undecided, pooled.judged + pooled.undecided, "propositions"
    if pooled.judged and failed <= rule.at_most * all_of_them:
        return _too_many_unread(evidence, Kind.SCREEN, plan) or _too_many_unread(evidence, Kind.SIGNAL, plan)
    why = ", ".join(f"{count} {name}" for name, count in sorted(unread.items())) or "none came"
    detail = (
        f"{failed} of {all_of_them} {what} gave no label (of the answers: {why}), and the plan allows {rule.at_most} of"
        f" them; recall may lie anywhere {worst_case(evidence)}; mend the judge, or label the rest, and run again"
    )
    outcome = Outcome.FAIL if rule.recall_outcome == "fail" else Outcome.SKIP
    return Obstacle(outcome, Refusal(Reason.UNTRUSTWORTHY, detail), advisory=False)


def _asked(evidence: Evidence, kinds: Sequence[Kind]) -> tuple[int, Counter[str]]:
    """How many judgments of these kinds there are, and how many of them have no label, by the reason."""
    counts = [count for count in evidence.judged.counts() if count.kind in kinds]
    unread: Counter[str] = Counter()
    for count in counts:
        if count.no_label:
            unread[count.no_label] += count.judgments
    return sum(count.judgments for count in counts), unread


def _too_many_unread(evidence: Evidence, kind: Kind, plan: ExtractionPlan) -> Obstacle | None:
    """The obstacle, if more answers to this kind of call gave no label than the plan's budget for it allows."""
    allowed, what, excused = {
        Kind.SCREEN: (plan.errors.calls.screen, "screens", NoLabel.TOO_LONG),
        Kind.SIGNAL: (plan.errors.calls.signal, "questions about single signals", None),
        Kind.SPAN: (plan.errors.calls.guard, "spans", None),
    }[kind]
    asked, unread = _asked(evidence, (kind,))
    asked -= unread.pop(excused, 0) if excused else 0
    if unread.total() <= allowed * asked:
        return None
    why = ", ".join(f"{count} {name}" for name, count in sorted(unread.items()))
    worst = evidence.guard.worst_case if kind is Kind.SPAN else evidence.recall.worst_case
    number = "precision" if kind is Kind.SPAN else "recall"
    return _skip(
        Reason.UNTRUSTWORTHY,
        f"{unread.total()} of {asked} {what} gave no label ({why}), and the plan allows {allowed}; {number} may"
        f" lie anywhere {_range(worst)}; mend the judge and run again, what was judged is kept",
    )


def uniformity_obstacle(evidence: Evidence, plan: ExtractionPlan) -> Obstacle | None:
    """What keeps uniformity alone from being decided: too much at one end is undecided, or too little was judged."""
    rule = plan.errors
    for place, group in ((1, evidence.recall.by_quartile[0]), (4, evidence.recall.by_quartile[3])):
        all_of_them = group.judged + group.undecided
        if rule.counted_in == "propositions" and group.undecided > rule.at_most * all_of_them:
            return _skip(
                Reason.UNTRUSTWORTHY,
                f"{group.undecided} of {all_of_them} propositions of quartile {place} gave no label, and the plan"
                f" allows {rule.at_most} of them; mend the judge and run again, what was judged is kept",
            )
    if refusal := evidence.uniformity.refusal:
        return Obstacle(Outcome.SKIP, refusal, advisory=False)
    corrected = evidence.correction.corrected
    if corrected is not None and corrected.bound.withheld:
        reason = Reason.JUDGE_ERRORS if corrected.bound.too_poor else Reason.UNDERPOWERED
        detail = f"quartiles 1 and 4 cannot be corrected for the judge's errors: {corrected.bound.withheld}"
        return Obstacle(Outcome.SKIP, Refusal(reason, detail), advisory=True)
    return None


def worst_case(evidence: Evidence) -> str:
    """The range that the undecided leave to recall, in words."""
    return _range(evidence.recall.worst_case)


def _range(worst: Interval | None) -> str:
    if worst is None or worst.low is None or worst.high is None:
        return "from 0 to 1"
    return f"from {float(worst.low):.4f} to {float(worst.high):.4f}"


def _underpowered(evidence: Evidence, plan: ExtractionPlan) -> Obstacle | None:
    lacking = list(_design_lacks(evidence, plan))
    if evidence.frame.is_cut and plan.budget.when_cut == "underpowered":
        lacking.append(_cut(evidence.frame))
    if not lacking:
        return None
    refusal = Refusal(Reason.UNDERPOWERED, "; ".join(lacking) + "; the numbers stand and do not decide")
    return Obstacle(Outcome.SKIP, refusal, advisory=True)


def _cut(frame: Frame) -> str:
    over = sum(unit.state is State.OVER_BUDGET for unit in frame.units)
    parts = [f"the budget leaves out {over} of {len(frame.units)} propositions"] if over else []
    if frame.entries_cut_signals:
        parts.append(f"the cap on signals cuts {frame.entries_cut_signals} entries")
    return " and ".join(parts) + ", raise it to judge all"


def _design_lacks(evidence: Evidence, plan: ExtractionPlan) -> Iterator[str]:
    """What the design asks for and was not judged, a clause each."""
    recall, design = evidence.recall, plan.design
    if recall.judged_entries < design.entries:
        yield f"{recall.judged_entries} entries were judged and the plan asks for {design.entries}"
    for group in recall.by_workspace:
        if group.entries < design.entries_per_workspace:
            yield f"workspace {group.name!r} has {group.entries} judged entries of {design.entries_per_workspace}"
    bands = sum(group.entries > 0 and group.name != NOT_RECORDED for group in recall.by_band)
    if bands < design.bands:
        yield f"{bands} capture bands were judged and the plan asks for {design.bands}"
    if design.dense is not None and recall.dense_entries is not None:
        total = recall.judged_entries if design.dense.counted_on == "judged" else len(evidence.frame.entries)
        needed = design.dense.share * total
        if recall.dense_entries < (floor(needed) if design.dense.share_of_entries == "floor" else needed):
            yield (
                f"{recall.dense_entries} of {total} entries have {design.dense.words} words or more and the plan asks"
                f" for {design.dense.share} of them"
            )


def guard_obstacle(evidence: Evidence, plan: ExtractionPlan) -> Obstacle | None:
    """The first thing that keeps precision from being decided; a missing fixture is none, since spans need none."""
    found, facts, fixture = evidence.guard, evidence.guard.facts, evidence.fixture.refusal
    if evidence.snapshot.refusal:
        return Obstacle(Outcome.SKIP, evidence.snapshot.refusal, advisory=False)
    if not evidence.snapshot.signals:
        return _skip(Reason.CORPUS_EMPTY, "the corpus holds no signal; restore it, or run the extraction first")
    if facts is None or facts.spans == 0:
        return _skip(
            Reason.SPAN_PENDING,
            "no signal records the span it was taken from; have the extraction write provenance.span",
        )
    if evidence.judged.refusal:
        return Obstacle(Outcome.SKIP, evidence.judged.refusal, advisory=False)
    if fixture and fixture.reason is not Reason.FIXTURE_MISSING:
        return Obstacle(Outcome.SKIP, fixture, advisory=False)
    broken = sum(facts.faults.values())
    if broken and plan.guard.malformed_spans == "fail":
        kinds = ", ".join(f"{count} {fault.value}" for fault, count in facts.faults.items())
        detail = (
            f"{broken} of {facts.spans} recorded spans cannot be read ({kinds}), the first:"
            f" {'; '.join(facts.examples)}; correct them"
        ) + ("; the offsets look counted from 1, they must be from 0" if facts.look_one_based else "")
        return Obstacle(Outcome.FAIL, Refusal(Reason.SPAN_MALFORMED, detail), advisory=True)
    if obstacle := _too_many_unread(evidence, Kind.SPAN, plan):
        return obstacle
    if evidence.frame.spans_over_budget and plan.budget.when_cut == "underpowered":
        detail = (
            f"the budget leaves out {evidence.frame.spans_over_budget} of the spans that the plan asks for, raise it to"
            " judge all; the numbers stand and do not decide"
        )
        return Obstacle(Outcome.SKIP, Refusal(Reason.UNDERPOWERED, detail), advisory=True)
    if found.judged < plan.guard.judged_at_least:
        detail = (
            f"{found.judged} spans were judged and the plan asks for {plan.guard.judged_at_least};"
            " the numbers stand and do not decide"
        )
        return Obstacle(Outcome.SKIP, Refusal(Reason.UNDERPOWERED, detail), advisory=True)
    if refusal := evidence.correction.refusal:
        return Obstacle(Outcome.SKIP, refusal, advisory=True)
    return None
