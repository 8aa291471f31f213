"""What a track is recommended for: invest, iterate, hold or stop; the first rule that holds decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from eval_pipeline.records import Number
from eval_pipeline.stats.scalars import as_printed, reaches
from eval_pipeline.studies.label_signal.plan import Decision, Policy
from eval_pipeline.studies.label_signal.words import Recommendation

_ROUNDED = 1e-9  # of a tolerated disagreement: that small there is none


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a recommendation rests on; what could not be measured is None.

    `effect` and `mde` are of the contrast that decides, over `items` pairs or items.
    """

    alpha_by_dimension: Mapping[str, float | None]
    alpha_mean: float | None
    gold: float | None
    gap_rate: float | None
    flagged: float | None
    marginal_gap: float | None
    effect: float | None
    mde: float | None
    items: int


@dataclass(frozen=True, slots=True)
class Recommended:
    """The recommendation, which rule gave it and why, what it costs, and what would turn it.

    `indicators` are those of a structural disagreement, None where they cannot be told. `irreducible` is the share of
    the disagreement that raters who know the rubric would still have.
    """

    recommendation: Recommendation
    rule: str
    reason: str
    cost_usd: float | None
    irreducible: float | None
    indicators: Mapping[str, bool | None]
    reversal: tuple[str, ...]


def irreducible_share(alpha: float | None, gold: float | None) -> float | None:
    """The share of the disagreement 1 - alpha that errors on known scores do not explain; None if either is unknown."""
    if alpha is None or gold is None:
        return None
    disagreement = 1 - max(0.0, alpha)
    if disagreement < _ROUNDED:
        return 0.0
    explained = min(disagreement, 1 - gold)
    return min(max((disagreement - explained) / disagreement, 0.0), 1.0)


def recommend(evidence: Evidence, plan: Decision, policy: Policy) -> Recommended:
    """The first of eight rules that holds.

    Structural disagreement is low agreement with two signs or more that more practice would not mend it: no dimension
    is agreed on, the disagreement is irreducible, or the rubric is often blamed. Raters are competent who meet known
    scores; without known scores, nobody can be said to be, and no track is stopped.

    Args:
        evidence: of the track.
        plan: the thresholds of the rules.
        policy: of the track's depth, whose bar of coverage the sixth rule takes.

    """
    irreducible = irreducible_share(evidence.alpha_mean, evidence.gold)
    indicators = _indicators(evidence, irreducible, plan)
    rule, recommendation, reason, cost = _first_rule(evidence, indicators, plan, policy)
    return Recommended(
        recommendation, rule, reason, cost, irreducible, indicators, _reversal(recommendation, rule, indicators, plan)
    )


def _indicators(evidence: Evidence, irreducible: float | None, plan: Decision) -> dict[str, bool | None]:
    alphas = _known(evidence.alpha_by_dimension)
    return {
        "no_dimension_agreed": not reaches(max(alphas), plan.max_dimension_alpha_below) if alphas else None,
        "irreducible": None if irreducible is None else reaches(irreducible, plan.irreducible_at_least),
        "rubric_blamed": None if evidence.gap_rate is None else reaches(evidence.gap_rate, plan.gap_rate_high),
    }


def _known(alphas: Mapping[str, float | None]) -> list[float]:
    return [alpha for alpha in alphas.values() if alpha is not None]


_Found = tuple[str, Recommendation, str, float | None]


def _first_rule(evidence: Evidence, indicators: Mapping[str, bool | None], plan: Decision, policy: Policy) -> _Found:
    mean, alphas = evidence.alpha_mean, _known(evidence.alpha_by_dimension)
    if mean is None:
        reason = "agreement is undefined on every dimension: raters gave but one level, or no answer was rated twice"
        return "agreement_undefined", Recommendation.ITERATE, reason, _cost(plan.recalibration_items, plan)
    signs = sum(bool(sign) for sign in indicators.values())
    structural = not reaches(mean, plan.structural_alpha_below) and signs >= plan.indicators_needed
    pool_bad = evidence.flagged is not None and _above(evidence.flagged, plan.pool_bad_above)
    competent = evidence.gold is not None and reaches(evidence.gold, plan.gold_competent) and not pool_bad
    broken = [alpha for alpha in alphas if not reaches(alpha, plan.broken_alpha_below)]
    sound = [alpha for alpha in alphas if reaches(alpha, plan.sound_alpha_from)]
    bridge = _cost(plan.bridge_items, plan)
    if structural and pool_bad:
        return (
            "pool",
            Recommendation.ITERATE,
            "agreement is low and too many raters are flagged: mend the pool first",
            bridge,
        )
    if structural and competent:
        reason = (
            f"agreement is low ({mean:.2f} on average) among raters who meet known scores, with {signs} of 3 signs that"
            " it is the question and not the practice: stop, and write down what fails and how"
        )
        return "structural", Recommendation.STOP, reason, None
    if evidence.gap_rate is not None and _above(evidence.gap_rate, plan.gap_rate_revise):
        reason = f"adjudicators blame the rubric in {evidence.gap_rate:.0%}: revise it, and rate a bridge sample again"
        return "rubric", Recommendation.ITERATE, reason, bridge
    if broken and sound and len(sound) >= len(broken):
        names = ", ".join(
            key for key, alpha in evidence.alpha_by_dimension.items() if alpha is not None and alpha in broken
        )
        return (
            "broken_dimensions",
            Recommendation.ITERATE,
            f"drop or rebuild {names}; the other dimensions hold",
            bridge,
        )
    if not reaches(mean, plan.recalibrate_alpha_below):
        reason = f"agreement is low ({mean:.2f} on average): calibrate the raters again"
        return "recalibrate", Recommendation.ITERATE, reason, _cost(plan.recalibration_items, plan)
    if evidence.marginal_gap is not None and _above(evidence.marginal_gap, policy.marginal_gap_at_most):
        reason = f"{evidence.marginal_gap:.0%} of the declared levels have too few items: collect them"
        return "coverage", Recommendation.ITERATE, reason, None
    return _by_power(evidence, plan)


def _by_power(evidence: Evidence, plan: Decision) -> _Found:
    """Whether more of the same would show a difference, and what it would cost."""
    effect, mde = evidence.effect, evidence.mde
    if effect is None or mde is None:
        return "sound", Recommendation.INVEST, "raters agree, and there are no two systems to tell apart", None
    if reaches(abs(effect), as_printed(mde, "mde")):
        return "sound", Recommendation.INVEST, "raters agree, and the study detects a difference of this size", None
    if effect == 0:
        word = Recommendation.HOLD if plan.no_effect == "hold" else Recommendation.INVEST
        return "no_effect", word, "there is no difference at all, so that no number of items would show one", None
    needed = ceil(
        as_printed(evidence.items, "items") * (as_printed(mde, "mde") / as_printed(abs(effect), "effect")) ** 2
    )
    if needed > plan.hold_factor * evidence.items:
        beyond = f"beyond {_n(plan.hold_factor)} times what there is"
        return (
            "too_small",
            Recommendation.HOLD,
            f"a difference of {abs(effect):.4f} would take {needed} items, {beyond}",
            None,
        )
    reason = f"a difference of {abs(effect):.4f} takes {needed} items, {needed - evidence.items} more"
    return "underpowered", Recommendation.INVEST, reason, _cost(needed - evidence.items, plan)


def _cost(items: int, plan: Decision) -> float:
    return float(items * plan.ratings_each * plan.usd_per_rating)


def _reversal(
    word: Recommendation, rule: str, indicators: Mapping[str, bool | None], plan: Decision
) -> tuple[str, ...]:
    """What would turn the recommendation, in words that can be checked."""
    if word is Recommendation.STOP:
        return (
            f"mean alpha of {_n(plan.structural_alpha_below)} or more on a revised rubric, with the same raters",
            *_without_signs(indicators, plan),
            "a purpose that needs the raters' positions apart, and not their mean",
        )
    if word is Recommendation.HOLD:
        return (
            "a system whose expected difference exceeds what the study detects",
            "items that tell systems apart better",
        )
    if rule in ("rubric", "broken_dimensions", "recalibrate", "pool"):
        blamed = f"the rubric blamed in less than {_n(plan.gap_rate_revise)}"
        return (f"the bridge sample of {plan.bridge_items} items rated again, with alpha no worse and {blamed}",)
    if rule == "coverage":
        return ("every declared level with enough items",)
    return (f"mean alpha under {_n(plan.recalibrate_alpha_below)}, or drift, on the next batch",)


def _without_signs(indicators: Mapping[str, bool | None], plan: Decision) -> list[str]:
    """What leaves too few signs of a structural disagreement: any one of them gone, or several where more hold."""
    gone = {
        "no_dimension_agreed": f"a dimension with an alpha of {_n(plan.max_dimension_alpha_below)} or more that decides"
        " by itself",
        "irreducible": f"errors on known scores that explain more than {_n(1 - plan.irreducible_at_least)} of the"
        " disagreement",
        "rubric_blamed": f"adjudicators who blame the rubric in less than {_n(plan.gap_rate_high)}",
    }
    held = [gone[name] for name, sign in indicators.items() if sign]
    spare = len(held) - plan.indicators_needed
    return [f"{spare + 1} of these at once: {'; '.join(held)}"] if spare else held


def _above(value: Number, bar: Fraction) -> bool:
    return not reaches(-value, -bar)


def _n(bar: Fraction) -> str:
    return f"{float(bar):g}"
