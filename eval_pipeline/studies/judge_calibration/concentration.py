"""Whether a gold set is clustered: rates that were measured on one domain say little of another."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log

from eval_pipeline.studies.judge_calibration.gold import GoldSet
from eval_pipeline.studies.judge_calibration.plan import Intake


@dataclass(frozen=True, slots=True)
class Concentration:
    """How the tuples spread over the values of one field of their metadata.

    `entropy` is Shannon's over that of an even spread, in [0, 1]; None where all have one value. `unnamed` tuples lack
    the field and count as a group of their own. `clustered` says that the largest group reaches the plan's limit.
    """

    field: str
    counts: Mapping[str, int]
    unnamed: int
    largest: str
    largest_share: Fraction
    entropy: float | None
    clustered: bool


def concentrations(gold: GoldSet, intake: Intake) -> tuple[Concentration, ...]:
    """The spread over each field that the plan names."""
    return tuple(_concentration(gold, field, intake.largest_share_below) for field in intake.fields)


def _concentration(gold: GoldSet, field: str, limit: Fraction) -> Concentration:
    values = Counter(item.metadata.get(field, "") for item in gold.tuples)
    largest, most = max(values.items(), key=lambda group: (group[1], group[0]))
    share = Fraction(most, values.total())
    shares = [count / values.total() for count in values.values()]
    entropy = -sum(part * log(part) for part in shares) / log(len(shares)) if len(shares) > 1 else None
    named = {value: count for value, count in sorted(values.items()) if value}
    return Concentration(field, named, values[""], largest, share, entropy, share >= limit)
