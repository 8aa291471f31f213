"""Whether a judge still takes compound claims apart: the breakdown that a partially supported claim must get."""

from collections.abc import Sequence

from eval_pipeline.judge.claims import SubClaim
from eval_pipeline.records import Alignment
from eval_pipeline.studies.judge_calibration.gold import ExpectedSubClaim


def is_hit(label: object, breakdown: Sequence[SubClaim] | None, expected: Sequence[ExpectedSubClaim]) -> bool:
    """Whether the claim was called UNSUPPORTED, by a breakdown that is a partial support and covers what is expected.

    A partial support has two parts or more, one SUPPORTED and one UNSUPPORTED or AMBIGUOUS.
    """
    verdicts = [part.sub_verdict for part in breakdown or ()]
    against = {Alignment.UNSUPPORTED, Alignment.AMBIGUOUS} & set(verdicts)
    if label != Alignment.UNSUPPORTED or len(verdicts) < 2 or Alignment.SUPPORTED not in verdicts or not against:
        return False
    return covers(breakdown or (), expected)


def covers(breakdown: Sequence[SubClaim], expected: Sequence[ExpectedSubClaim]) -> bool:
    """Whether each expected part has a part of the breakdown of its own that says it, with the right verdict.

    A part says an expected one if it holds all of its key words and not all of those of another, so that repeating the
    whole claim says none. No part says two, so whichever part says each makes a maximum matching, and no order decides.
    """
    return all(any(_says(part, one, expected) for part in breakdown) for one in expected)


def _says(part: SubClaim, one: ExpectedSubClaim, expected: Sequence[ExpectedSubClaim]) -> bool:
    return (
        part.sub_verdict == one.verdict
        and _holds(part, one)
        and not any(_holds(part, other) for other in expected if other is not one)
    )


def _holds(part: SubClaim, expected: ExpectedSubClaim) -> bool:
    text = part.sub_claim_text.casefold()
    return bool(expected.key_tokens) and all(token.casefold() in text for token in expected.key_tokens)
