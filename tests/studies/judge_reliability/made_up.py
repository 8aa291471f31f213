"""Judgments in few words, and worlds of judges that are planted."""

from collections.abc import Iterable
from typing import Any

from eval_pipeline.observations import Log
from eval_pipeline.plan import parse_plan
from eval_pipeline.seal import sealed
from eval_pipeline.studies.judge_reliability.generator import Planted, PlantedJudge
from eval_pipeline.studies.judge_reliability.observations import JudgeObservation
from eval_pipeline.studies.judge_reliability.plan import JudgeReliabilityPlan
from eval_pipeline.studies.judge_reliability.words import Grounding, Truth, Vote

ONE_TYPE = {"arithmetic": Grounding.MATH}


def judgment(claim: str, verdict: str | None, truth: str | None, **changes: Any) -> JudgeObservation:
    """A judgment of "chat/one" in run r1, of an arithmetic claim, with a confidence of .9."""
    fields: dict[str, Any] = {
        "run_id": "r1",
        "judge_kind": "chat",
        "judge_name": "one",
        "claim_id": claim,
        "claim_type": "arithmetic",
        "grounding": Grounding.MATH,
        "verdict": verdict and Vote(verdict),
        "confidence": None if verdict is None else 0.9,
        "caveat": "parse_error" if verdict is None else None,
        "truth": truth and Truth(truth),
        "labels": None,
    }
    return JudgeObservation(**fields | changes)


def confusion(tp: int, fn: int, tn: int, fp: int, **changes: Any) -> list[JudgeObservation]:
    """Judgments of one judge with so many true and false positives and negatives; a positive claim holds."""
    said = ["PASS"] * tp + ["FAIL"] * fn + ["FAIL"] * tn + ["PASS"] * fp
    true = ["HOLDS"] * (tp + fn) + ["FAILS"] * (tn + fp)
    return [judgment(f"c{n}", a, b, **changes) for n, (a, b) in enumerate(zip(said, true, strict=True))]


def log_of(rows: Iterable[JudgeObservation]) -> Log[JudgeObservation]:
    return Log(tuple(rows), simulated=True)


def changed(plan: JudgeReliabilityPlan, **sections: Any) -> JudgeReliabilityPlan:
    """The plan with other fields; a section is given by the fields of it that change."""
    values = sealed(plan).values
    for name, value in sections.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    return parse_plan(values, JudgeReliabilityPlan, "plan")


def judge(name: str, sensitivity: float, specificity: float, **changes: Any) -> PlantedJudge:
    """A judge that always votes, and never leaves a claim open."""
    shares = {"open_share": 0.0, "no_vote": 0.0, "no_vote_late": 0.0} | changes
    return PlantedJudge("chat", name, sensitivity, specificity, **shares)


def world(*judges: PlantedJudge, claims: int, **changes: Any) -> Planted:
    """A world of arithmetic claims, none of them hard, half of them true."""
    fields: dict[str, Any] = {
        "types": ONE_TYPE,
        "claims_per_run": 5,
        "holds": 0.5,
        "hard": 0.0,
        "conflicts": 0.0,
        "dropped": 0.0,
    }
    return Planted(judges=judges, claims_per_type=claims, **fields | changes)
