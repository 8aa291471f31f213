"""The checks between evidence and a claim: each by itself, all of them run, and the worst decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.scalars import as_printed, reaches
from eval_pipeline.studies.label_signal.plan import Claims, Depth, Policy
from eval_pipeline.studies.label_signal.words import CheckName, DepthName, Standing, worst


@dataclass(frozen=True, slots=True)
class Check:
    """What one check says of a claim, and the sentence that says why."""

    name: CheckName
    standing: Standing
    detail: str


def reliability(what: str, estimate: Number | None, interval: Interval | None, policy: Policy) -> Check:
    """Whether raters agree well enough; an interval that holds a bar is said, and changes nothing."""
    if estimate is None:
        return Check("reliability", Standing.BLOCK, f"the reliability of {what} cannot be computed")
    shown = f"the reliability of {what} is {float(estimate):.3f}"
    if not reaches(estimate, policy.reliability_floor):
        standing, rest = Standing.BLOCK, f"under the floor of {_n(policy.reliability_floor)}"
    elif not reaches(estimate, policy.reliability_pass):
        standing, rest = Standing.WARN, f"under {_n(policy.reliability_pass)}"
    else:
        firm = "firm" if reaches(estimate, policy.reliability_firm) else "tentative"
        standing, rest = Standing.PASS, f"{firm}, {_n(policy.reliability_pass)} or more"
    bars = (policy.reliability_floor, policy.reliability_pass)
    return Check("reliability", standing, f"{shown}, {rest}{_straddled(interval, bars)}")


def _straddled(interval: Interval | None, bars: Sequence[Fraction]) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return "; no interval could be computed"
    held = [bar for bar in bars if interval.low < bar <= interval.high]
    where = f"{float(interval.low):.3f} to {float(interval.high):.3f}"
    return f"; uncertain: its interval, {where}, holds {_n(held[0])}" if held else f" ({where})"


def precision(half_width: Number | None, policy: Policy) -> Check:
    """Whether a mean is known closely enough."""
    if half_width is None:
        return Check("precision", Standing.BLOCK, "the interval of the mean cannot be computed")
    close = not _above(half_width, policy.half_width_at_most)
    detail = f"the half width is {float(half_width):.4f}, the bar {_n(policy.half_width_at_most)}"
    return Check("precision", Standing.PASS if close else Standing.WARN, detail)


def effect_vs_mde(effect: Number | None, mde: Number | None, policy: Policy) -> Check:
    """Whether a difference is as large as what the study could detect."""
    if policy.effect_vs_mde == "waived":
        return Check("effect_vs_mde", Standing.PASS, "the depth waives the smallest detectable difference")
    if effect is None or mde is None:
        return Check("effect_vs_mde", Standing.BLOCK, "the smallest detectable difference cannot be computed")
    bar = Fraction(mde) * policy.mde_margin
    large = reaches(abs(float(effect)), bar)
    smallest = f"the smallest that could be detected, {float(bar):.4f}"
    detail = f"the difference reaches {smallest}" if large else f"the difference lies below {smallest}"
    return Check("effect_vs_mde", Standing.PASS if large else Standing.BLOCK, detail)


def interval_excludes_zero(interval: Interval | None) -> Check:
    """Whether zero lies strictly outside of the interval of a difference."""
    if interval is None or interval.low is None or interval.high is None:
        return Check("interval_excludes_zero", Standing.BLOCK, "the interval of the difference cannot be computed")
    outside = interval.low > 0 or interval.high < 0
    detail = f"the interval of the difference {'leaves out' if outside else 'holds or touches'} zero"
    return Check("interval_excludes_zero", Standing.PASS if outside else Standing.BLOCK, detail)


def multiplicity(p_adjusted: float | None, alpha: Fraction) -> Check:
    """Whether the difference stands when all comparisons of the track are counted."""
    if p_adjusted is None:
        return Check("multiplicity", Standing.BLOCK, "the p-value of the difference cannot be computed")
    stands = as_printed(p_adjusted, "p_adjusted") <= alpha
    detail = f"p is {p_adjusted:.4f} over all comparisons of the track, alpha {_n(alpha)}"
    return Check("multiplicity", Standing.PASS if stands else Standing.BLOCK, detail)


def coverage(gap: Number | None, balance: Number | None, absent: Sequence[str], policy: Policy) -> Check:
    """Whether the declared design is covered: no level absent, then few thin, then none far smaller than another."""
    if gap is None or balance is None:
        return Check("coverage", Standing.NOT_APPLICABLE, "the track declares no design that could be covered")
    if absent:
        return Check("coverage", Standing.BLOCK, f"no item of {', '.join(absent)}")
    if _above(gap, policy.marginal_gap_at_most):
        detail = (
            f"{float(gap):.0%} of the declared levels have too few items, the bar is {_n(policy.marginal_gap_at_most)}"
        )
        return Check("coverage", Standing.WARN, detail)
    if not reaches(balance, policy.balance_at_least):
        detail = f"a level has {float(balance):.2f} of the items of another, the bar is {_n(policy.balance_at_least)}"
        return Check("coverage", Standing.WARN, detail)
    return Check("coverage", Standing.PASS, "every declared level is there, and enough of them have enough items")


def replication(mean: Number, policy: Policy) -> Check:
    """Whether answers were rated often enough."""
    enough = reaches(mean, policy.replication_at_least)
    detail = (
        f"an answer has {float(mean):.2f} ratings in the harmonic mean, the bar is {_n(policy.replication_at_least)}"
    )
    return Check("replication", Standing.PASS if enough else Standing.BLOCK, detail)


def annotator_pool(flagged: Number, policy: Policy) -> Check:
    """Whether few enough of the raters are flagged."""
    detail = f"{float(flagged):.1%} of the raters are flagged, the bar is {_n(policy.flagged_at_most)}"
    if not _above(flagged, policy.flagged_at_most):
        return Check("annotator_pool", Standing.PASS, detail)
    most = _above(flagged, policy.flagged_block_above)
    return Check("annotator_pool", Standing.BLOCK if most else Standing.WARN, detail)


def drift(detected: bool | None, detail: str, policy: Policy) -> Check:
    """Whether scores moved over the batches; None where nothing tells when a rating was given."""
    if detected is None:
        return Check("drift", Standing.NOT_APPLICABLE, detail)
    if not detected:
        return Check("drift", Standing.PASS, detail)
    return Check("drift", Standing.WARN if policy.drift == "warn" else Standing.BLOCK, detail)


def rubric_specification(gap_rate: Number | None, policy: Policy) -> Check:
    """Whether adjudicators seldom blame the rubric; None where nothing was adjudicated."""
    if gap_rate is None:
        return Check("rubric_specification", Standing.NOT_APPLICABLE, "nothing was adjudicated")
    often = _above(gap_rate, policy.gap_rate_at_most)
    detail = f"adjudicators blame the rubric in {float(gap_rate):.1%}, the bar is {_n(policy.gap_rate_at_most)}"
    return Check("rubric_specification", Standing.BLOCK if often else Standing.PASS, detail)


def gold_calibration(worst_exact: Number | None, policy: Policy) -> Check:
    """Whether even the worst rater meets known scores; None where none are known."""
    if worst_exact is None:
        return Check("gold_calibration", Standing.NOT_APPLICABLE, "no right scores are known")
    detail = (
        f"the worst rater meets {float(worst_exact):.1%} of the known scores, the bar is {_n(policy.gold_at_least)}"
    )
    if reaches(worst_exact, policy.gold_at_least):
        return Check("gold_calibration", Standing.PASS, detail)
    low = not reaches(worst_exact, policy.gold_block_below)
    return Check("gold_calibration", Standing.BLOCK if low else Standing.WARN, detail)


def depth_contract(kind: str, depth: str, depths: Mapping[DepthName, Depth]) -> Check:
    """Whether a track of this depth may claim that; an unknown kind asks for production, an unknown depth has least."""
    known = {one for each in depths.values() for one in each.kinds}
    allowed = next((own.kinds for name, own in depths.items() if name == depth), depths["exploratory"].kinds)
    may = kind in allowed if kind in known else depth == "production"
    detail = f"a track of depth {depth} {'may' if may else 'may not'} make a {kind.replace('_', ' ')} claim"
    return Check("depth_contract", Standing.PASS if may else Standing.BLOCK, detail)


def standing_of(checks: Sequence[Check], claims: Claims) -> Standing:
    """The worst of the checks; a claim without checks has shown nothing, and one that none applies to neither."""
    applying: list[Standing] = [check.standing for check in checks if check.standing is not Standing.NOT_APPLICABLE]
    if not applying:
        return Standing.PASS if claims.unchecked == "pass" else Standing.BLOCK
    return worst(applying)


def _above(value: Number, bar: Fraction) -> bool:
    """Whether a number lies above a bar by more than arithmetic loses."""
    return not reaches(-value, -bar)


def _n(bar: Fraction) -> str:
    return f"{float(bar):g}"
