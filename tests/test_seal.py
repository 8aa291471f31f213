"""The seal is of what a plan says and not of how its file is written, and nothing opens under a broken one."""

import copy
import hashlib
import json
import random
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.errors import PlanRefused, SealBroken
from eval_pipeline.plan import Plan, Share, parse_plan, read_plan
from eval_pipeline.seal import SealedPlan, seal_of, sealed
from eval_pipeline.studies.extraction.plan import ExtractionPlan

FILE = Path(__file__).resolve().parents[1] / "data" / "plans" / "extraction.toml"
VALUES = tomllib.loads(FILE.read_text(encoding="utf-8"), parse_float=Decimal)
PLAN = read_plan(FILE, ExtractionPlan)
OTHER_CHOICE = {
    "judging.prompt": "nli-compat",
    "design.entries_missing_at_most": "1/11",
    "design.dense.share": "1/3",
    "design.dense.counted_on": "fixture",
    "design.dense.share_of_entries": "floor",
    "bootstrap.valid_at_least": "2/3",
    "bootstrap.ranks": "floor",
    "judging.strategy": "no_screen",
    "judging.screen_order": "key",
    "judging.signal_order": "key",
    "judging.signals_at_most": 8,
    "judging.unreadable_screen": "undecided",
    "judging.unreadable_signal": "not_supported",
    "judging.audited_negatives": "1/9",
    "judging.canaries": "1/51",
    "judging.repeats": "1/21",
    "budget.entries": 5,
    "budget.propositions_per_entry": 10,
    "budget.draw": "first",
    "budget.when_cut": "decides",
    "errors.counted_in": "calls",
    "errors.at_most": "1/6",
    "errors.recall_outcome": "fail",
    "errors.calls.canary": "1/6",
    "errors.calls.screen": "1/6",
    "errors.calls.signal": "1/6",
    "errors.calls.guard": "1/6",
    "scoring.absent_entries": "missed",
    "scoring.undecided_entries": "drawn",
    "scoring.comparison": "four_decimals",
    "guard.draw": "first",
    "guard.malformed_spans": "left_out",
    "human_check.draw": "judgments",
    "human_check.share": "1/4",
    "human_check.unsure_at_most": "1/9",
    "calibration.decides": "raw",
    "calibration.uncalibrated_pass": "pass",
    "calibration.trust": "1/2",
    "calibration.gold": "not_asked",
}
FieldPath = tuple[str, ...]


class SmallPlan(Plan):
    """A plan with one share of its own."""

    share: Share


def leaves(values: dict[str, Any], above: FieldPath = ()) -> Iterator[FieldPath]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name)


def changed(values: dict[str, Any], path: FieldPath, value: Any) -> dict[str, Any]:
    values = copy.deepcopy(values)
    table = values
    for name in path[:-1]:
        table = table[name]
    table[path[-1]] = value
    return values


def at(values: dict[str, Any], path: FieldPath) -> Any:
    for name in path:
        values = values[name]
    return values


def another(path: FieldPath) -> Any:
    """A value that the field may have, and that it has not in the plan."""
    value = at(VALUES, path)
    if ".".join(path) in OTHER_CHOICE:
        return OTHER_CHOICE[".".join(path)]
    if isinstance(value, int):
        return value + 1
    if isinstance(value, Decimal):
        return value + Decimal("0.0000000000000001")
    return [*value, "One more."] if isinstance(value, list) else f"{value} "


def toml(values: dict[str, Any], shuffler: random.Random, above: FieldPath = ()) -> str:
    """The values as TOML with their fields and tables in another order, with comments and with uneven spaces."""
    fields = [name for name in values if not isinstance(values[name], dict)]
    shuffler.shuffle(fields)
    lines = [f"[{'.'.join(above)}]  # a table\n"] if above else []
    for name in fields:
        value = values[name]
        written = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
        blanks = " " * shuffler.randrange(4)
        lines.append(f"{blanks}{name}{blanks}={blanks}{written}{blanks}# {shuffler.random()}\n\n")
    inner = [name for name in values if isinstance(values[name], dict)]
    shuffler.shuffle(inner)
    return "".join(lines) + "\n".join(toml(values[name], shuffler, (*above, name)) for name in inner)


FREE = [path for path in leaves(VALUES) if path != ("study",)]


@pytest.mark.parametrize("seed", range(5))
def test_order_comments_and_white_space_of_the_file_play_no_part(tmp_path, seed):
    path = tmp_path / "p.toml"
    path.write_text(toml(VALUES, random.Random(seed)), encoding="utf-8")
    assert path.read_bytes() != FILE.read_bytes()
    assert seal_of(read_plan(path, ExtractionPlan)) == seal_of(PLAN)


@pytest.mark.parametrize("written", ["0.8", "0.800", "8e-1", '"4/5"', '"0.8"', '"8/10"'])
def test_a_share_has_one_seal_however_it_is_written(tmp_path, written):
    path = tmp_path / "p.toml"
    text = FILE.read_text(encoding="utf-8")
    path.write_text(text.replace("recall_at_least = 0.80", f"recall_at_least = {written}"), encoding="utf-8")
    assert seal_of(read_plan(path, ExtractionPlan)) == seal_of(PLAN)


@pytest.mark.parametrize("path", FREE, ids=".".join)
def test_whatever_is_changed_changes_the_seal(path):
    """A share by a part in ten million billion, a sentence by a blank at its end."""
    other = parse_plan(changed(VALUES, path, another(path)), ExtractionPlan, "plan 'p'")
    assert seal_of(other) != seal_of(PLAN)


def test_no_two_plans_share_a_seal():
    values = [changed(VALUES, path, another(path)) for path in FREE]
    without_dense = copy.deepcopy(VALUES)
    del without_dense["design"]["dense"]
    seals = {seal_of(parse_plan(each, ExtractionPlan, "plan 'p'")) for each in [VALUES, without_dense, *values]}
    assert len(seals) == len(FREE) + 2


def test_the_order_of_the_hypotheses_is_part_of_what_was_promised():
    path = ("protocol", "hypotheses")
    turned = changed(VALUES, path, at(VALUES, path)[::-1])
    assert seal_of(parse_plan(turned, ExtractionPlan, "plan 'p'")) != seal_of(PLAN)


def small() -> SmallPlan:
    words = ("question", "estimand", "estimator", "sample_size", "decision_rule", "stopping_rule")
    protocol = {name: name for name in words} | {"hypotheses": ["é", "b"]}
    values = {"name": "small", "version": 1, "study": "none", "seed": 7, "protocol": protocol, "share": Decimal("0.80")}
    return parse_plan(values, SmallPlan, "plan 'small'")


def test_the_seal_is_the_sha256_of_these_bytes():
    expected = (
        '{"name":"small","protocol":{"decision_rule":"decision_rule","estimand":"estimand","estimator":"estimator",'
        '"hypotheses":["é","b"],"question":"question","sample_size":"sample_size","stopping_rule":"stopping_rule"},'
        '"seed":7,"share":"4/5","study":"none","version":1}'
    )
    assert seal_of(small()) == hashlib.sha256(expected.encode()).hexdigest()


def test_a_sealed_plan_opens_as_the_plan_that_was_sealed():
    under_seal = sealed(PLAN)
    assert under_seal.seal == seal_of(PLAN)
    assert under_seal.open(ExtractionPlan) == PLAN
    assert seal_of(under_seal.open(ExtractionPlan)) == seal_of(PLAN)


def test_a_sealed_plan_survives_a_file():
    read = SealedPlan.model_validate_json(sealed(PLAN).model_dump_json())
    assert read.open(ExtractionPlan) == PLAN
    assert read.open(ExtractionPlan).claims.recall_at_least == Fraction(4, 5)


def refusal_of(under_seal: SealedPlan) -> str:
    with pytest.raises(SealBroken) as refusal:
        under_seal.open(ExtractionPlan)
    return str(refusal.value)


@pytest.mark.parametrize("path", list(leaves(sealed(PLAN).values)), ids=".".join)
def test_a_changed_value_breaks_the_seal_and_both_hashes_are_named(path):
    whole = sealed(PLAN)
    value = at(whole.values, path)
    tampered = changed(whole.values, path, value + 1 if isinstance(value, int) else [value])
    said = refusal_of(SealedPlan(seal=whole.seal, values=tampered))
    canonical = json.dumps(tampered, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert f"plan {tampered['name']!r} was sealed as {whole.seal[:12]}" in said
    assert f"now hashes to {hashlib.sha256(canonical).hexdigest()[:12]}" in said


@pytest.mark.parametrize("path", list(leaves(sealed(PLAN).values)), ids=".".join)
def test_a_value_taken_out_breaks_the_seal(path):
    tampered = copy.deepcopy(sealed(PLAN).values)
    del at(tampered, path[:-1])[path[-1]]
    assert seal_of(PLAN)[:12] in refusal_of(SealedPlan(seal=seal_of(PLAN), values=tampered))


def test_a_value_put_in_breaks_the_seal():
    tampered = sealed(PLAN).values | {"note": "harmless"}
    assert seal_of(PLAN)[:12] in refusal_of(SealedPlan(seal=seal_of(PLAN), values=tampered))


def test_values_changed_within_the_sealed_plan_break_the_seal():
    under_seal = sealed(PLAN)
    under_seal.values["claims"]["recall_at_least"] = "3/4"
    assert under_seal.seal[:12] in refusal_of(under_seal)


def test_the_same_share_in_other_letters_breaks_the_seal():
    """The seal is of bytes: 8/10 is four fifths, and was not what was sealed."""
    under_seal = sealed(PLAN)
    under_seal.values["claims"]["recall_at_least"] = "8/10"
    assert "now hashes to" in refusal_of(under_seal)


@pytest.mark.parametrize("seal", ["0" * 64, "", seal_of(PLAN)[:12], seal_of(PLAN).upper()])
def test_another_seal_on_the_same_values_is_broken(seal):
    said = refusal_of(SealedPlan(seal=seal, values=sealed(PLAN).values))
    assert f"sealed as {seal[:12]} " in said
    assert seal_of(PLAN)[:12] in said


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_have_no_canonical_bytes_break_the_seal(value):
    under_seal = SealedPlan(seal=seal_of(PLAN), values=changed(sealed(PLAN).values, ("seed",), value))
    assert seal_of(PLAN)[:12] in refusal_of(under_seal)


def test_a_whole_seal_on_another_studys_values_is_refused_as_a_plan():
    with pytest.raises(PlanRefused, match="plan 'small' is refused: field 'study'"):
        sealed(small()).open(ExtractionPlan)
