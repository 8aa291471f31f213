"""The words of the study: truths, votes and labels, each with one meaning wherever it stands."""

from enum import StrEnum


class Truth(StrEnum):
    """Of a claim, whether what it states holds; there is no other polarity in the study."""

    HOLDS = "HOLDS"
    FAILS = "FAILS"


class Vote(StrEnum):
    """What a judge says of a claim, the less severe first; the first two say that it holds, the last that it fails."""

    PASS = "PASS"
    SPEC_COMPLETE = "SPEC-COMPLETE"
    NEEDS_RUNTIME = "NEEDS-RUNTIME"
    INCONCLUSIVE = "INCONCLUSIVE"
    FAIL = "FAIL"

    @property
    def severity(self) -> int:
        """The place among all votes."""
        return list(Vote).index(self)

    @property
    def says(self) -> Truth | None:
        """The truth that the vote claims; None where it leaves that open."""
        if self in (Vote.PASS, Vote.SPEC_COMPLETE):
            return Truth.HOLDS
        return Truth.FAILS if self is Vote.FAIL else None


class Label(StrEnum):
    """What an annotator says of a claim."""

    HOLDS = "HOLDS"
    FAILS = "FAILS"
    INCONCLUSIVE = "INCONCLUSIVE"


class Grounding(StrEnum):
    """Where the truth of a claim comes from: an oracle, two annotators and a third, or labels that were published."""

    SCHEMA = "schema"
    MATH = "math"
    CODE = "code"
    SPEC = "spec"
    ANNOTATORS = "annotators"
    PUBLISHED = "published"


class Ability(StrEnum):
    """What a judge can do: find that a claim holds where it does, and that it fails where it does."""

    SENSITIVITY = "sensitivity"
    SPECIFICITY = "specificity"


class Source(StrEnum):
    """Whose posterior is relied on: that of judge and claim type, that of the judge over all types, or the prior."""

    CELL = "cell"
    JUDGE_GLOBAL = "judge_global"
    PRIOR = "prior"


def ability_shown_by(truth: Truth) -> Ability:
    """What a claim of this truth puts to the test."""
    return Ability.SENSITIVITY if truth is Truth.HOLDS else Ability.SPECIFICITY


def ability_relied_on(vote: Vote) -> Ability:
    """What one relies on who believes a vote: if it says that the claim holds, that the judge finds what holds."""
    return Ability.SENSITIVITY if vote.says is Truth.HOLDS else Ability.SPECIFICITY
