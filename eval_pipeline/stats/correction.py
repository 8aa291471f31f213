"""What a share would be without the judge's errors, given how often the judge errs."""

from fractions import Fraction

from eval_pipeline.errors import JudgeTooPoor
from eval_pipeline.records import Number


def rogan_gladen(observed: Number, *, sensitivity: Number, specificity: Number) -> Fraction:
    """The true share behind an observed one: (observed + specificity - 1) / (sensitivity + specificity - 1).

    A value outside [0, 1], which small samples give, is set to the nearer end. The error rates are taken as known: an
    interval must draw them again together with what was observed.

    Args:
        observed: the share that the judge called supported, in [0, 1].
        sensitivity: how often the judge calls supported what is, in [0, 1].
        specificity: how often the judge calls unsupported what is, in [0, 1].

    Raises:
        JudgeTooPoor: sensitivity + specificity <= 1; the judge says nothing of the truth.
        ValueError: an argument outside [0, 1].
    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107(1), 71-76.

    """
    for name, share in (("observed", observed), ("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must lie in [0, 1], found {share}")
    beyond_chance = Fraction(sensitivity) + Fraction(specificity) - 1
    if beyond_chance <= 0:
        raise JudgeTooPoor(
            f"a judge of sensitivity {float(sensitivity):g} and specificity {float(specificity):g} does no better than"
            " chance, so its labels cannot be corrected; measure another judge"
        )
    return min(max((Fraction(observed) + Fraction(specificity) - 1) / beyond_chance, Fraction(0)), Fraction(1))
