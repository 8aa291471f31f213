"""The verdicts on a fire rate: that it lies below the margin, that every context was run, that it did not move."""

from fractions import Fraction

from eval_pipeline.records import Interval, Number, Outcome, Reason, Verdict
from eval_pipeline.studies.fire_rate.findings import Findings
from eval_pipeline.studies.fire_rate.looks import Course, Decision, LookTaken
from eval_pipeline.studies.fire_rate.plan import FireRatePlan

BELOW, COVERED, STEADY = "rate_below_margin", "contexts_covered", "rate_steady"
CLAIMS = {
    BELOW: "The true share of runs whose plan was changed under them lies below the margin, as one of the looks shows.",
    COVERED: "Every context has the runs that the plan asks of it at the look that decides.",
    STEADY: "No batch of runs calls for a cause on the control chart.",
}

_REASONS = {
    Decision.NEXT_LOOK: Reason.UNDERPOWERED,
    Decision.UNDERPOWERED: Reason.UNDERPOWERED,
    Decision.UNCOVERED: Reason.UNCOVERED,
}


def verdicts(found: Findings, plan: FireRatePlan) -> tuple[Verdict, ...]:
    """The verdicts on each claim, in the order of `CLAIMS`."""
    return _below(found, plan), _covered(found.course, plan), _steady(found, plan)


def reason_of(found: Findings, plan: FireRatePlan) -> str:
    """Why the decision is what it is, and what to do now: one or two sentences."""
    course, margin = found.course, _margin(plan)
    counts = f"{_fires(course.fires)} in {course.runs} runs"
    match course.decision:
        case Decision.UNREACHED:
            return (
                f"{counts}: look {course.look} shows the rate to lie below {margin}, and no run of the log reached the"
                f" fallback. Before it is deleted: {'; '.join(plan.deletion_needs)}."
            )
        case Decision.RARE:
            return (
                f"{counts}: look {course.look} shows the rate to lie below {margin}, and {found.fires} of the log's"
                f" {found.runs} runs reached the fallback. It is rare, not unreached: see to these runs before it goes."
            )
        case Decision.INVESTIGATE:
            return f"{counts}: {_why_not(course, plan)}. Keep it, and find out what changes the plans of these runs."
        case _:
            return f"{counts}: {_waits_for(course, plan)}."


def _below(found: Findings, plan: FireRatePlan) -> Verdict:
    course, margin = found.course, plan.test.margin
    if reason := _REASONS.get(course.decision):
        detail = f"{_fires(course.fires)} in {course.runs} runs: {_waits_for(course, plan)}"
        return Verdict.withheld(BELOW, reason, detail)
    last = course.looks[-1] if course.looks else None
    if course.decision is Decision.INVESTIGATE:
        detail = f"{_fires(course.fires)} in {course.runs} runs: {_why_not(course, plan)}"
        interval = found.anytime if course.stopped or last is None else last.interval
        return _said(BELOW, Outcome.FAIL, Reason.THRESHOLD_MISSED, course, interval, margin, detail)
    assert last is not None
    return _said(BELOW, Outcome.PASS, None, course, last.interval, margin, _shown(last, plan))


def _covered(course: Course, plan: FireRatePlan) -> Verdict:
    floor = plan.test.looks[course.look - 1].floor
    if course.stopped or course.decision in (Decision.NEXT_LOOK, Decision.UNDERPOWERED):
        detail = f"look {course.look}, at which each context must have {floor} runs, was not reached"
        return Verdict.withheld(COVERED, Reason.UNDERPOWERED, detail)
    met, of = len(plan.contexts) - len(course.short), len(plan.contexts)
    share = Fraction(met, of)
    if course.short:
        detail = f"{met} of {of} contexts have the {floor} runs of look {course.look}; {_add(course)}"
        return Verdict(COVERED, Outcome.FAIL, Reason.UNCOVERED, detail, share, met, of, None, Fraction(1), False)
    detail = f"all {of} contexts have the {floor} runs of look {course.look}, or more"
    return Verdict(COVERED, Outcome.PASS, None, detail, share, met, of, None, Fraction(1), False)


def _steady(found: Findings, plan: FireRatePlan) -> Verdict:
    """The verdict of the chart; a chart that cannot tell a change from a single fire decides nothing."""
    chart, rule = found.batches.chart, plan.batches
    match found.batches.standing:
        case "too_few":
            detail = f"{len(chart.points)} batches of {rule.runs} runs, and {rule.baseline} make the limits; run more"
            return Verdict.withheld(STEADY, Reason.UNDERPOWERED, detail)
        case "no_variation":
            detail = f"{chart.why}; the chart tells nothing, and the looks decide"
            return Verdict.withheld(STEADY, Reason.NOT_MEASURED, detail)
        case "single_fires":
            detail = (
                f"the limits of the first {rule.baseline} batches let no single fire pass, so that a signal only says"
                " that there was one; the looks decide"
            )
            return Verdict.withheld(STEADY, Reason.NOT_MEASURED, detail)
        case "empty_batches":
            detail = (
                f"most of the first {rule.baseline} batches hold no fire, so that eight in a row without one are no"
                " sign of a change; the looks decide"
            )
            return Verdict.withheld(STEADY, Reason.NOT_MEASURED, detail)
    signals, points = len({signal.place for signal in chart.signals}), len(chart.points)
    detail = f"{signals} of {points} batches call for a cause"
    outcome, reason = (Outcome.WARN, Reason.DRIFT) if signals else (Outcome.PASS, None)
    return Verdict(STEADY, outcome, reason, detail, Fraction(signals, points), signals, points, None, None, False)


def _shown(look: LookTaken, plan: FireRatePlan) -> str:
    return (
        f"{_fires(look.fires)} in {look.runs} runs: look {look.number} shows the rate to lie below {_margin(plan)}, by"
        f" the exact one-sided test at {float(look.alpha):g} (p = {look.p_value:.2g})"
    )


def _why_not(course: Course, plan: FireRatePlan) -> str:
    if course.stopped:
        stop_at = plan.test.looks[course.look - 1].stop_at
        return f"from {stop_at} fires on nothing more is run, and look {course.look} is not waited for"
    allowed = course.looks[-1].allowed
    return f"look {course.look} shows the rate to lie below {_margin(plan)} with {allowed} fires at the most"


def _waits_for(course: Course, plan: FireRatePlan) -> str:
    """What a course that decided nothing waits for."""
    look = plan.test.looks[course.look - 1]
    if course.decision is Decision.UNCOVERED:
        return f"look {course.look} waits for contexts with fewer than {look.floor} runs; {_add(course)}"
    so_far = f"look {course.looks[-1].number} leaves it open, and " if course.looks else ""
    return f"{so_far}look {course.look} is due at {look.runs} runs; run {look.runs - course.runs} more"


def _add(course: Course) -> str:
    lacking = ", ".join(f"{one.missing} of {one.context}" for one in course.short)
    return f"run {lacking}"


def _margin(plan: FireRatePlan) -> str:
    return f"{float(100 * plan.test.margin):g} %"


def _fires(count: int) -> str:
    return f"{count} fire" if count == 1 else f"{count} fires"


def _said(
    claim: str, outcome: Outcome, reason: Reason | None, course: Course, interval: Interval, bar: Fraction, detail: str
) -> Verdict:
    estimate: Number = Fraction(course.fires, course.runs)
    return Verdict(claim, outcome, reason, detail, estimate, course.fires, course.runs, interval, bar, advisory=False)
