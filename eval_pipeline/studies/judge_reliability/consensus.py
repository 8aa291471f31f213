"""What a panel of judges says together: by confidence alone, or by Bayes' rule from how far each is relied on."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.judge_reliability.words import Vote

RELIABILITY_SCHEMA_VERSION = 3  # one polarity, modes; versions 1 and 2 were those of the first version's store

_TIED = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class Voice:
    """A vote, how sure its judge was of it, and how far the judge is relied on when it votes so."""

    vote: Vote
    confidence: float
    reliability: float


@dataclass(frozen=True, slots=True)
class Consensus:
    """What the panel says, how sure that is, and how many votes were information at all.

    `reliability_schema_version` says by which reading of abilities the votes were weighed; None where by none.
    """

    vote: Vote
    confidence: float
    informative: int
    reliability_schema_version: int | None


def weighted(votes: Sequence[tuple[Vote, float]]) -> Consensus:
    """The vote with the largest share of all confidence; ties go to the more severe, so that FAIL wins from a half on.

    Where no vote has any confidence each counts alike. No votes at all are INCONCLUSIVE, with a confidence of 0.

    Args: votes: with a confidence in [0, 1].
    Raises: InputRefused: a confidence outside [0, 1].
    """
    if not votes:
        return Consensus(Vote.INCONCLUSIVE, 0.0, 0, None)
    weights = [Fraction(repr(_share(confidence, "confidence"))) for _, confidence in votes]
    if not any(weights):
        weights = [Fraction(1)] * len(votes)
    whole = sum(weights)
    shares = {vote: Fraction(0) for vote in Vote}
    for (vote, _), weight in zip(votes, weights, strict=True):
        shares[vote] += weight / whole
    said = max(shares, key=lambda vote: (shares[vote], vote.severity))
    return Consensus(said, float(shares[said]), len(votes), None)


def bayesian(voices: Sequence[Voice], *, information_above: Fraction) -> Consensus:
    """The likeliest of the five votes, all being as likely before; ties go to the more severe.

    A judge that is relied on by r says what is so with the chance r = reliability x confidence, and each of the other
    four with (1 - r) / 4; judges are taken as independent. A vote with r of `information_above` or less says nothing.
    A panel without a vote that says something is INCONCLUSIVE: it must not fail what it knows nothing of.

    Raises: InputRefused: a reliability or a confidence outside [0, 1].
    """
    if not voices:
        return Consensus(Vote.INCONCLUSIVE, 0.0, 0, RELIABILITY_SCHEMA_VERSION)
    trusted = [(voice.vote, _trust(voice)) for voice in voices]
    heard = [(vote, trust) for vote, trust in trusted if not reaches(-trust, -information_above)]
    if not heard:
        return Consensus(Vote.INCONCLUSIVE, 1 / len(Vote), 0, RELIABILITY_SCHEMA_VERSION)
    likelihood = {one: prod(trust if vote is one else (1 - trust) / 4 for vote, trust in heard) for one in Vote}
    whole, largest = sum(likelihood.values()), max(likelihood.values())
    if not whole:  # judges that are trusted beyond doubt contradict each other, which leaves nothing possible
        return Consensus(Vote.INCONCLUSIVE, 1 / len(Vote), len(heard), RELIABILITY_SCHEMA_VERSION)
    said = max((vote for vote in Vote if likelihood[vote] >= largest * _TIED), key=lambda vote: vote.severity)
    return Consensus(said, likelihood[said] / whole, len(heard), RELIABILITY_SCHEMA_VERSION)


def _trust(voice: Voice) -> float:
    return _share(voice.reliability, "reliability") * _share(voice.confidence, "confidence")


def _share(value: float, name: str) -> float:
    if not 0 <= value <= 1:
        raise InputRefused(f"{name}: found {value:g}, expected a number in [0, 1]")
    return float(value)
