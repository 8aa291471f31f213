"""What follows from the grounds under a plan: the claims that may be published, and what the track is worth."""

from dataclasses import dataclass

from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.claims import Claim, claims_of
from eval_pipeline.studies.label_signal.comparisons import Comparison
from eval_pipeline.studies.label_signal.decision import Evidence, Recommended, recommend
from eval_pipeline.studies.label_signal.plan import Decision, LabelSignalPlan


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The claims of a track, and its recommendation."""

    claims: tuple[Claim, ...]
    recommended: Recommended


def conclude(grounds: Grounds, plan: LabelSignalPlan) -> Conclusion:
    """What the plan makes of the grounds; thresholds may change, and nothing is computed again."""
    policy = plan.policy_of(grounds.depth)
    return Conclusion(
        claims=claims_of(grounds, plan, policy),
        recommended=recommend(evidence_of(grounds, plan.decision), plan.decision, policy),
    )


def evidence_of(grounds: Grounds, plan: Decision) -> Evidence:
    """What the recommendation rests on."""
    effect, mde, pairs = _contrast(grounds.comparisons, plan)
    return Evidence(
        alpha_by_dimension={key: alpha.estimate for key, alpha in grounds.alphas.items()},
        alpha_mean=grounds.alpha_mean,
        gold=grounds.gold_worst if plan.gold == "worst" else grounds.gold_mean,
        gap_rate=grounds.triage.gap_rate,
        flagged=grounds.flagged,
        marginal_gap=grounds.coverage.marginal_gap if grounds.coverage else None,
        effect=effect,
        mde=mde,
        items=pairs,
    )


def _contrast(found: tuple[Comparison, ...], plan: Decision) -> tuple[float | None, float | None, int]:
    """Effect, MDE and number of pairs of the contrast that comes nearest to being detected."""
    usable = [one for one in found if one.effect is not None and one.mde is not None]
    if not usable:
        return None, None, max((one.pairs for one in found), default=0)
    if plan.contrast == "same":
        best = max(usable, key=lambda one: abs(one.effect or 0.0) / (one.mde or 1.0))
        return best.effect, best.mde, best.pairs
    largest = max(usable, key=lambda one: abs(one.effect or 0.0))
    return largest.effect, min(one.mde for one in usable if one.mde is not None), largest.pairs
