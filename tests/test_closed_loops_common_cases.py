"""The cases that all closed loops share: arms, random numbers and seals, through the modules that they share."""

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.arms import Arm, Assignment, arm_of, attempt_limit, fnv1a_32, retry_arm_of
from eval_pipeline.errors import (
    InputRefused,
    LockFromTheFuture,
    LockMalformed,
    LockMissing,
    LockOpen,
    LockUnreadable,
    PartitionDiffers,
    SealBroken,
)
from eval_pipeline.heldout import drawn, lock_bytes, lock_of, partition_hash, read_lock, verified
from eval_pipeline.prng import mulberry32
from tests.studies.fire_rate.test_behaviour_cases import CASES as FIRE_RATE
from tests.studies.judge_reliability.test_behaviour_cases import CASES as JUDGE_RELIABILITY
from tests.studies.kpi_gates.test_behaviour_cases import CASES as KPI_GATES
from tests.studies.retry_limit.test_behaviour_cases import CASES as RETRY_LIMIT
from tests.studies.strategy_feedback.test_behaviour_cases import CASES as STRATEGY_FEEDBACK

TOPICS = ("arms", "prng", "seals")
CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "reference" / "closed_loops_cases.json").read_text())
    if case["topic"] in TOPICS
}
FIRST_VERSION = Assignment(None, Fraction(1, 5))
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
IDS = ("run-1", "run-2", "run-3")
REFUSALS = {
    "error:missing": LockMissing,
    "error:parse": LockUnreadable,
    "error:unsealed": LockOpen,
    "error:schema": LockMalformed,
    "error:future": LockFromTheFuture,
    "error:hash": PartitionDiffers,
}


def numbered(prefix: str, k: int, seed: int) -> list[str]:
    """The ids of the first version, whose last part its generator drew."""
    draw = mulberry32(seed)
    return [f"{prefix}-{number}-{int(draw() * 0xFFFFFFFF):08x}" for number in range(k)]


def claim_lock(breakdown: list[int], total: int, size: int, **fields: Any) -> dict[str, Any]:
    return {
        "schema_version": 2,
        "seed": "seed",
        "partition_hash": partition_hash(IDS),
        "partition_size": size,
        "sealed_at": NOW.isoformat(),
        "breakdown": dict(zip(("schema", "math", "code", "spec"), breakdown, strict=True)),
        "total": total,
        "grounding_version": 1,
        "claim_set_hash": "0" * 64,
    } | fields


def outcome(path: Path, ids: tuple[str, ...]) -> str:
    """What becomes of a lock on its way to the partition: the refusal, or that it was verified."""
    try:
        verified(read_lock(path), ids, now=NOW)
    except SealBroken as refusal:
        return next(word for word, kind in REFUSALS.items() if type(refusal) is kind)
    return "ok"


def lock_named(folder: Path, name: str) -> Path:
    """A lock file of which only what its name says is wrong."""
    good = json.loads(lock_bytes(IDS, seed=1, now=NOW))
    path = folder / f"{name.replace(' ', '-')}.json"
    match name:
        case "not JSON":
            path.write_text("{")
        case "null fields":
            path.write_text(json.dumps(good | {"partition_hash": None, "partition_size": None, "sealed_at": None}))
        case "wrong version":
            path.write_text(json.dumps(good | {"schema_version": 3}))
        case "sealed in the future":
            path.write_bytes(lock_bytes(IDS, seed=1, now=NOW + timedelta(seconds=1)))
        case "ids differ":
            path.write_bytes(lock_bytes(("run-1", "run-2", "run-4"), seed=1, now=NOW))
        case "good":
            path.write_text(json.dumps(good))
        case _:
            assert name == "missing"
    return path


def test_no_case_of_these_topics_is_left_out() -> None:
    assert len(CASES) == 10


@pytest.mark.parametrize("name", CASES)
def test_the_shared_modules_do_what_the_case_says(name: str, tmp_path: Path) -> None:
    given, expected, tolerance = CASES[name]["input"], CASES[name]["expected"], CASES[name]["tolerance"]
    match given:
        case {"ids": ids}:
            assert [fnv1a_32(one) for one in ids] == expected["hash"]
            assert [arm_of(one, FIRST_VERSION) is Arm.CONTROL for one in ids] == expected["control"]
            assert [retry_arm_of(one, salt=None) for one in ids] == (expected["retry_arm"])
        case {"prefix": prefix, "n": n}:
            controls = [k for k in range(n) if arm_of(f"{prefix}{k}", FIRST_VERSION) is Arm.CONTROL]
            assert controls == expected["control"]
        case {"control": control, "calibrated": calibrated}:
            arms = [Arm.CONTROL if one else Arm.TREATMENT for one in control]
            limits = [attempt_limit(arm, limit) for arm, limit in zip(arms, calibrated, strict=True)]
            assert limits == expected["limit"]
        case {"calibrated": calibrated}:
            assert expected["error"] == [True] * len(calibrated)
            for limit in calibrated:
                with pytest.raises(InputRefused, match="expected a whole number of attempts"):
                    attempt_limit(Arm.TREATMENT, limit)
        case {"seeds": seeds}:
            draws = [mulberry32(seed) for seed in seeds]
            found = [[draw() for _ in range(4)] for draw in draws]
            for row, wanted in zip(found, expected["first4"], strict=True):
                assert row == pytest.approx(wanted, abs=tolerance)
        case {"prefix": prefix, "k": k, "seed": seed}:
            ids = numbered(prefix, k, given.get("id_seed", seed))
            assert ids[0] == expected.get("first_id", ids[0])
            held = drawn(ids, size=expected["size"], seed=seed).held_out
            assert (len(held), partition_hash(held)) == (expected["size"], expected["partition_hash"])
        case {"locks": [str(), *_] as names}:
            assert [outcome(lock_named(tmp_path, one), IDS) for one in names] == expected["result"]
        case {"locks": locks}:
            fields = [claim_lock(one["breakdown"], one["total"], one["size"]) for one in locks]
            assert [adds_up(one) for one in fields] == expected["valid"]
        case {"sealed_at": sealed_at, "claim_set_hash": text}:
            assert expected["superset"] == "rejected"
            good = claim_lock([1, 1, 1, 0], 3, 3)
            assert outcome_of(good) == "accepted"
            assert outcome_of(good | {"sealed_at": f"{sealed_at}T00:00:00+00:00"}) == expected["superset"]
            assert outcome_of(good | {"claim_set_hash": text}) == expected["superset"]
            assert outcome_of(good | {"partition_hash": partition_hash(("run-1", "run-2", "run-4"))}) == "rejected"
        case _:
            pytest.fail(f"no rule runs case {name}")


def adds_up(fields: dict[str, Any]) -> bool:
    try:
        lock_of(fields, "lock")
    except LockMalformed:
        with pytest.raises(LockMalformed, match="adds up"):
            lock_of(fields, "lock")
        return False
    return True


def outcome_of(fields: dict[str, Any]) -> str:
    try:
        verified(lock_of(fields, "lock"), IDS, now=NOW)
    except SealBroken:
        return "rejected"
    return "accepted"


def test_every_case_of_the_closed_loops_is_run_by_the_tests_of_some_study() -> None:
    """61 cases; each file holds those of its topics, and says that it leaves none of them out."""
    cases = json.loads((Path(__file__).parent / "reference" / "closed_loops_cases.json").read_text())
    held = [CASES, FIRE_RATE, JUDGE_RELIABILITY, KPI_GATES, RETRY_LIMIT, STRATEGY_FEEDBACK]
    ids = {
        str(one if isinstance(one, str) else one["id"]).removeprefix("closed_loops-") for some in held for one in some
    }
    assert {case["id"].removeprefix("closed_loops-") for case in cases} == ids
    assert len(cases) == 61
