"""Claims with the truths that are expected of them, and whether the oracles still say so."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.jsonl import read_lines
from eval_pipeline.plan import faults_of
from eval_pipeline.studies.judge_reliability.oracles.answer import Answer, Content
from eval_pipeline.studies.judge_reliability.oracles.arithmetic import math_answer
from eval_pipeline.studies.judge_reliability.oracles.code import Tools, code_answers
from eval_pipeline.studies.judge_reliability.oracles.schema import schema_answer
from eval_pipeline.studies.judge_reliability.oracles.spec import spec_answer
from eval_pipeline.studies.judge_reliability.words import Grounding, Truth

_ORACLES = (Grounding.SCHEMA, Grounding.MATH, Grounding.CODE, Grounding.SPEC)
_Text = Annotated[str, Field(min_length=1)]


class GroundedClaim(Content):
    """A claim that an oracle can settle: its statement for people and judges, its content for the oracle."""

    claim_id: _Text
    claim_type: _Text
    oracle: Annotated[Grounding, Field(strict=False)]
    statement: _Text
    content: dict[str, Any]
    expected_truth: Annotated[Truth, Field(strict=False)]


@dataclass(frozen=True, slots=True)
class Drift:
    """Claims of which the oracle says another truth than expected, and those of which it could not tell.

    `unavailable` has one sentence for each oracle that could not tell, however many claims it left open.
    """

    confirmed: int
    drifted: tuple[str, ...]
    untold: tuple[str, ...]
    unavailable: Mapping[str, str]


def read_claims(path: Path) -> tuple[GroundedClaim, ...]:
    """The claims of a file in JSON Lines.

    Raises: MalformedObservations: every fault of the file, by line and field.
    """
    what = f"claims {str(path)!r}"
    read = read_lines(path, MalformedObservations, what)
    claims: dict[str, GroundedClaim] = {}
    faults = list(read.faults)
    for line in read.lines:
        try:
            claim = GroundedClaim.model_validate(line.fields)
        except ValidationError as error:
            faults += [f"line {line.number}, {fault}" for fault in faults_of(error, missing="add it")]
            continue
        if claim.oracle not in _ORACLES:
            faults.append(
                f"line {line.number}, field 'oracle': found '{claim.oracle}', expected schema, math, code or spec"
            )
        if claim.claim_id in claims:
            faults.append(f"line {line.number}, field 'claim_id': found {claim.claim_id!r} twice, expected it once")
        claims[claim.claim_id] = claim
    if not claims and not faults:
        faults.append("found nothing in it, expected a claim a line")
    if faults:
        raise MalformedObservations(what, faults)
    return tuple(claims.values())


def answers(
    claims: Sequence[GroundedClaim], *, tools: Tools, tolerance: Fraction, timeout_s: float
) -> dict[str, Answer]:
    """What the oracles say of each claim, by its id, in the order given.

    Args:
        claims: of any oracle.
        tools: of the code oracle.
        tolerance: of the math oracle.
        timeout_s: of one run of a checker.

    """
    one_by_one: dict[Grounding, Callable[[Any], Answer]] = {
        Grounding.SCHEMA: schema_answer,
        Grounding.MATH: lambda content: math_answer(content, tolerance=tolerance),
        Grounding.SPEC: spec_answer,
    }
    code = [claim for claim in claims if claim.oracle is Grounding.CODE]
    checked = code_answers([claim.content for claim in code], tools=tools, timeout_s=timeout_s)
    found = {claim.claim_id: answer for claim, answer in zip(code, checked, strict=True)}
    found |= {
        claim.claim_id: one_by_one[claim.oracle](claim.content)
        for claim in claims
        if claim.oracle is not Grounding.CODE
    }
    return {claim.claim_id: found[claim.claim_id] for claim in claims}


def drift(claims: Sequence[GroundedClaim], found: Mapping[str, Answer]) -> Drift:
    """Where the oracles' answers and the expected truths part."""
    told = [claim for claim in claims if found[claim.claim_id].truth is not None]
    left = [claim for claim in claims if found[claim.claim_id].truth is None]
    drifted = [claim.claim_id for claim in told if found[claim.claim_id].truth is not claim.expected_truth]
    first: dict[str, str] = {}
    for claim in left:
        answer = found[claim.claim_id]
        first.setdefault(claim.oracle.value, f"{answer.unavailable}: {answer.evidence}")
    return Drift(len(told) - len(drifted), tuple(drifted), tuple(claim.claim_id for claim in left), first)
