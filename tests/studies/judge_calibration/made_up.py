"""Gold sets of a few tuples, and judges who say what they are told to."""

import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from eval_pipeline.judge.claims import SubClaim
from eval_pipeline.records import Alignment, Compliance
from eval_pipeline.studies.judge_calibration.confusion import Prediction
from eval_pipeline.studies.judge_calibration.gold import GoldSet, GoldTuple, gold_of

ROOT = Path(__file__).resolve().parents[3]
LEVEL = Fraction(95, 100)
PARTS = [
    {"key_tokens": ["rose", "12%"], "sub_verdict": "SUPPORTED"},
    {"key_tokens": ["staff", "doubled"], "sub_verdict": "UNSUPPORTED"},
]


def alignment_row(claim: str, label: str, **changed: Any) -> dict[str, Any]:
    return {
        "tuple_kind": "alignment",
        "claim_text": claim,
        "ref_text_excerpt": "A passage.",
        "anchor": {"kind": "page", "value": "3"},
        "expected_judgment": label,
    } | changed


def constraint_row(claim: str, label: str, **changed: Any) -> dict[str, Any]:
    return {
        "tuple_kind": "constraint",
        "claim_text": claim,
        "ref_text_excerpt": None,
        "anchor": {"kind": "none", "value": ""},
        "expected_judgment": label,
        "constraint_under_test_id": "MNC-1",
        "constraint_under_test_rule_text": "Do not claim a cause.",
    } | changed


def composed_rows(alignment: dict[str, int], constraint: dict[str, int], partial: int = 0) -> list[dict[str, Any]]:
    """So many rows of each label; the last `partial` of UNSUPPORTED are supported in part."""
    rows = []
    for label, count in alignment.items():
        for number in range(count):
            if label == "UNSUPPORTED" and number >= count - partial:
                claim = f"Sales {number} rose 12% and the staff doubled."
                rows.append(alignment_row(claim, label, expected_prompt_verdict="PARTIAL", expected_sub_claims=PARTS))
            else:
                rows.append(alignment_row(f"{label} {number}", label))
    return rows + [constraint_row(f"{label} {n}", label) for label, count in constraint.items() for n in range(count)]


def composed(alignment: dict[str, int], constraint: dict[str, int], partial: int = 0) -> GoldSet:
    """The gold set of so many tuples of each label."""
    return gold_of(composed_rows(alignment, constraint, partial), folder=ROOT)


def gold_file(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """A file of these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def right_breakdown() -> tuple[SubClaim, ...]:
    return (
        SubClaim(sub_claim_text="Sales rose 12%", sub_verdict=Alignment.SUPPORTED),
        SubClaim(sub_claim_text="The staff doubled", sub_verdict=Alignment.UNSUPPORTED),
    )


def predicted(
    gold: GoldSet, says: Callable[[GoldTuple], Alignment | Compliance | None], *, takes_apart: bool = True
) -> list[Prediction]:
    """What a judge says of each tuple; the parts of a partial one rightly, if it takes claims apart."""
    return [
        Prediction(
            item,
            says(item),
            None,
            right_breakdown() if item.partial and takes_apart else None,
            item.constraint.id if item.constraint and says(item) is Compliance.VIOLATED else None,
        )
        for item in gold.tuples
    ]


def right_answer(gold: GoldSet, turn: dict[str, Any]) -> str:
    """What a careful model says of a turn, of the probe too; in a code fence, as many write it."""
    item = next((item for item in gold.tuples if item.claim == turn["claim"]), None)
    if "constraints" in turn:
        label = item.expected if item else "NOT_VIOLATED"
        (rule,) = turn["constraints"]
        named = rule["constraint_id"] if label == "VIOLATED" else None
        return json.dumps({"judgment": label, "violated_constraint_id": named, "rationale": "So it is."})
    parts = None
    if item and item.partial:
        halves = zip(turn["claim"].split(" and "), ("SUPPORTED", "UNSUPPORTED"), strict=True)
        parts = [{"sub_claim_text": half, "sub_verdict": verdict} for half, verdict in halves]
    answer = {"judgment": item.expected if item else "SUPPORTED", "sub_claim_breakdown": parts}
    return f"```json\n{json.dumps(answer, indent=1)}\n```"
