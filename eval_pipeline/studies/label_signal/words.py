"""The words of a label signal: what a check says, what may be claimed, and what is recommended."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

CheckName = Literal[
    "reliability",
    "precision",
    "effect_vs_mde",
    "interval_excludes_zero",
    "multiplicity",
    "coverage",
    "replication",
    "annotator_pool",
    "drift",
    "rubric_specification",
    "gold_calibration",
    "depth_contract",
]
ClaimKind = Literal["descriptive", "measurement", "ranking", "release_gate"]
DepthName = Literal["exploratory", "pilot", "production"]


class Standing(StrEnum):
    """What a check says of a claim, from the best to the worst; what does not apply is no pass, and blocks nothing."""

    NOT_APPLICABLE = "not_applicable"
    PASS = "pass"
    WARN = "warn"
    BLOCK = "block"


class Recommendation(StrEnum):
    """What to do with a track."""

    INVEST = "invest"
    ITERATE = "iterate"
    HOLD = "hold"
    STOP = "stop"


def worst(standings: Sequence[Standing]) -> Standing:
    """The worst of several standings.

    Raises: ValueError: there are none.
    """
    order = list(Standing)
    return max(standings, key=order.index)
