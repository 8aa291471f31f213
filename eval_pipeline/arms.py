"""Which runs a loop treats and which it leaves alone, by the hash of the run's id: the same on every machine."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256

from eval_pipeline.errors import InputRefused

CONTROL_ATTEMPTS = 3

_OFFSET, _PRIME = 2166136261, 16777619
_SALT_FREE_CONTROLS = 5


class Arm(StrEnum):
    """What a run is for: to be compared with, or to be treated."""

    CONTROL = "control"
    TREATMENT = "treatment"


class RetryArm(StrEnum):
    """Whether a retry is told what was wrong with the attempt before."""

    WITH_PRIOR_VIOLATIONS = "with_prior_violations"
    WITHOUT_PRIOR_VIOLATIONS = "without_prior_violations"


@dataclass(frozen=True, slots=True)
class Assignment:
    """The rule of a loop; a salt of its own keeps its arms apart from those of other loops.

    Without a salt it is the rule of the first version, by which all loops share their controls and confound each other:
    the FNV-1a hash leaves no rest when divided by 5, whatever the share.
    """

    salt: str | None
    control_share: Fraction


def fnv1a_32(text: str) -> int:
    """The 32-bit FNV-1a hash over UTF-16 code units, as a program that counts texts in them computes it.

    Over bytes, as the hash is defined, it gives the same for ASCII and something else beyond.

    Source: Fowler, Noll, Vo & Eastlake, The FNV Non-Cryptographic Hash Algorithm (RFC 9923).
    """
    data = text.encode("utf-16-le", errors="surrogatepass")
    value = _OFFSET
    for low, high in zip(data[::2], data[1::2], strict=True):
        value = (value ^ (low | high << 8)) * _PRIME % 2**32
    return value


def arm_of(run_id: str, rule: Assignment) -> Arm:
    """The arm of a run."""
    if rule.salt is None:
        control = fnv1a_32(run_id) % _SALT_FREE_CONTROLS == 0
    else:
        digest = sha256(f"{rule.salt}:{run_id}".encode("utf-8", errors="surrogatepass")).hexdigest()
        control = int(digest, 16) < rule.control_share * 2**256
    return Arm.CONTROL if control else Arm.TREATMENT


def retry_arm_of(run_id: str, *, salt: str | None) -> RetryArm:
    """The half of the retry experiment that a run is in: by the top bit of its hash.

    Args: salt: of the loop; None for the rule of the first version.
    """
    if salt is None:
        without = fnv1a_32(run_id) >> 31 == 0
    else:
        without = int(sha256(f"{salt}:retry:{run_id}".encode()).hexdigest(), 16) < 2**255
    return RetryArm.WITHOUT_PRIOR_VIOLATIONS if without else RetryArm.WITH_PRIOR_VIOLATIONS


def attempt_limit(arm: Arm, calibrated: int) -> int:
    """How often a run may try: what was calibrated, and in the control arm what stood before.

    Raises: InputRefused: the calibrated limit is no whole number of 1 or more.
    """
    if isinstance(calibrated, bool) or not isinstance(calibrated, int) or calibrated < 1:
        raise InputRefused(f"calibrated: found {calibrated!r}, expected a whole number of attempts, 1 or more")
    return CONTROL_ATTEMPTS if arm is Arm.CONTROL else calibrated
