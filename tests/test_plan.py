"""A plan says everything, nothing besides, and each number as it is written; else it is refused by its field's name."""

import copy
import datetime as dt
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from eval_pipeline.errors import PlanRefused
from eval_pipeline.plan import Level, Plan, Share, parse_plan, read_plan
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy

LAW = settings(deadline=None, derandomize=True, max_examples=60)
PLANS = Path(__file__).resolve().parents[1] / "data" / "plans"
TEXT = (PLANS / "extraction.toml").read_text(encoding="utf-8")
VALUES = tomllib.loads(TEXT, parse_float=Decimal)
OPTIONAL = ("design", "dense")
NUMBERS = [
    "claims.recall_at_least",
    "claims.bound_at_most",
    "claims.precision_at_least",
    "design.entries_missing_at_most",
    "design.dense.share",
    "bootstrap.level",
    "bootstrap.one_sided_level",
    "bootstrap.valid_at_least",
    "judging.audited_negatives",
    "judging.canaries",
    "judging.repeats",
    "errors.at_most",
    "errors.calls.probe",
    "errors.calls.canary",
    "errors.calls.screen",
    "errors.calls.signal",
    "errors.calls.guard",
    "guard.level",
    "human_check.share",
    "human_check.kappa_at_least",
    "human_check.unsure_at_most",
]


class SmallPlan(Plan):
    """A plan with one share and one level of its own."""

    share: Share
    level: Level


def leaves(values: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name)


def tables(values: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield (*above, name)
            yield from tables(value, (*above, name))


def table_of(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for name in path:
        values = values[name]
    return values


def without(path: tuple[str, ...]) -> dict[str, Any]:
    values = copy.deepcopy(VALUES)
    del table_of(values, path[:-1])[path[-1]]
    return values


def with_value(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    values = copy.deepcopy(VALUES)
    table_of(values, path[:-1])[path[-1]] = value
    return values


def refusal_of(values: dict[str, Any]) -> str:
    with pytest.raises(PlanRefused) as refusal:
        parse_plan(values, ExtractionPlan, "plan 'p'")
    return str(refusal.value)


def small(**changed: Any) -> SmallPlan:
    values = {
        "name": "small",
        "version": 1,
        "study": "none",
        "seed": 7,
        "protocol": VALUES["protocol"],
        "share": Decimal("0.80"),
        "level": Decimal("0.95"),
    }
    return parse_plan(values | changed, SmallPlan, "plan 'small'")


dotted = ".".join


def test_the_bundled_plan_promises_these_numbers():
    plan = read_plan(PLANS / "extraction.toml", ExtractionPlan)
    assert plan.claims.recall_at_least == Fraction(4, 5)
    assert plan.claims.bound_at_most == Fraction(1, 10)
    assert plan.claims.precision_at_least == Fraction(19, 20)
    assert (plan.design.entries, plan.design.entries_per_workspace, plan.bootstrap.resamples) == (90, 30, 1000)
    assert plan.errors.at_most == Fraction(1, 5)
    assert plan.judging.strategy is Strategy.BEST_FIRST
    assert (plan.judging.attempts, plan.judging.audited_negatives) == (6, Fraction(1, 5))
    assert (plan.judging.canaries, plan.judging.repeats) == (Fraction(1, 50), Fraction(1, 20))
    budgets = plan.errors.calls
    assert (budgets.probe, budgets.screen, budgets.signal, budgets.guard) == (0, *[Fraction(1, 5)] * 3)
    assert plan.scoring.comparison == "exact"


def test_the_plan_of_the_first_version_compares_by_four_decimals_at_the_rank_of_the_floor():
    plan = read_plan(PLANS / "extraction_compat.toml", ExtractionPlan)
    assert (plan.scoring.comparison, plan.bootstrap.ranks, plan.seed) == ("four_decimals", "floor", 4242)
    assert (plan.budget.entries, plan.budget.propositions_per_entry, plan.judging.signals_at_most) == ("all", 10, 8)


def test_the_plan_of_the_first_version_screens_by_key_and_does_not_judge_the_judge():
    plan = read_plan(PLANS / "extraction_compat.toml", ExtractionPlan)
    assert (plan.judging.strategy, plan.judging.screen_order) == (Strategy.SCREEN_FIRST, "key")
    assert {plan.judging.audited_negatives, plan.judging.canaries, plan.judging.repeats} == {0}
    assert set(plan.errors.calls.model_dump().values()) == {"1"}  # no kind of call has a budget of its own


@pytest.mark.parametrize("path", list(leaves(VALUES)), ids=dotted)
def test_a_field_that_is_left_out_is_refused_by_its_name(path):
    assert refusal_of(without(path)) == (
        f"plan 'p' is refused: field {dotted(path)!r}: found nothing, expected a value;"
        " a plan leaves nothing to a default"
    )


@pytest.mark.parametrize("path", [path for path in tables(VALUES) if path != OPTIONAL], ids=dotted)
def test_a_table_that_is_left_out_is_refused_by_its_name(path):
    assert f"field {dotted(path)!r}: found nothing" in refusal_of(without(path))


def test_without_the_table_on_long_entries_there_is_no_rule_on_them():
    assert parse_plan(without(OPTIONAL), ExtractionPlan, "plan 'p'").design.dense is None


@pytest.mark.parametrize("path", [(), *tables(VALUES)], ids=lambda path: dotted(path) or "top")
def test_a_field_that_no_rule_reads_is_refused_by_its_name(path):
    unknown = (*path, "threshhold")
    assert refusal_of(with_value(unknown, 1)) == (
        f"plan 'p' is refused: field {dotted(unknown)!r}: found a field that no rule reads; remove it"
    )


@pytest.mark.parametrize("value", [True, dt.date(2024, 1, 1), {"a": 1}, [[]]], ids=["true", "date", "table", "list"])
@pytest.mark.parametrize("path", list(leaves(VALUES)), ids=dotted)
def test_a_value_of_a_wrong_type_is_refused_by_the_name_of_its_field(path, value):
    assert f"{dotted(path)}" in refusal_of(with_value(path, value)).partition(" is refused: ")[2]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "", 'found "", expected'),
        ("name", 7, "found 7, expected a valid string"),
        ("version", 0, "found 0, expected greater than or equal to 1"),
        ("version", Decimal("1.0"), "found 1.0, expected a valid integer"),
        ("version", "1", 'found "1", expected a valid integer'),
        ("study", "kpi_gates", "found \"kpi_gates\", expected 'extraction'"),
        ("seed", -1, "found -1, expected greater than or equal to 0"),
        ("protocol.question", Decimal("0.5"), "found 0.5, expected a valid string"),
        ("protocol.hypotheses", "one", 'found "one", expected a valid tuple'),
        ("claims.recall_at_least", Decimal("1.01"), "found 1.01, expected less than or equal to 1"),
        ("claims.recall_at_least", Decimal("-0.1"), "found -0.1, expected greater than or equal to 0"),
        ("claims.recall_at_least", "80 %", 'found "80 %", expected a number, or a fraction in quotes such as "1/5"'),
        ("claims.recall_at_least", "4/0", 'found "4/0", expected a number, or a fraction'),
        ("claims.recall_at_least", "", 'found "", expected a number, or a fraction'),
        ("bootstrap.level", 1, "found 1, expected less than 1"),
        ("bootstrap.level", "0/1", 'found "0/1", expected greater than 0'),
        ("bootstrap.resamples", Decimal("1E+3"), "found 1E+3, expected a valid integer"),
        ("bootstrap.resamples", Decimal("Infinity"), "found Infinity, expected a valid integer"),
        ("bootstrap.ranks", "ceil", "found \"ceil\", expected 'symmetric' or 'floor'"),
        ("judging.strategy", "worst_first", 'found "worst_first", expected one of screen_first, best_first, no_screen'),
        ("judging.screen_order", "similarity", "found \"similarity\", expected 'seeded' or 'key'"),
        ("judging.attempts", 0, "found 0, expected greater than or equal to 1"),
        ("judging.attempts", 101, "found 101, expected less than or equal to 100"),
        ("judging.audited_negatives", Decimal("1.1"), "found 1.1, expected less than or equal to 1"),
        ("judging.canaries", Decimal("-0.02"), "found -0.02, expected greater than or equal to 0"),
        ("errors.calls.probe", 2, "found 2, expected less than or equal to 1"),
        ("guard.judged_at_least", 0, "found 0, expected greater than or equal to 1"),
        ("human_check.draw", "spans", "found \"spans\", expected 'entries' or 'judgments'"),
        ("human_check.share", 0, "found 0, expected greater than 0"),
        ("human_check.raters", 3, "found 3, expected less than or equal to 2"),
        ("human_check.kappa_at_least", Decimal("-1.1"), "found -1.1, expected greater than or equal to -1"),
        ("human_check.unsure_at_most", Decimal("1.1"), "found 1.1, expected less than or equal to 1"),
        ("calibration.decides", "people", "found \"people\", expected 'raw', 'human_check' or 'gold'"),
        ("calibration.trust", 2, "found 2, expected less than or equal to 1"),
        ("calibration.trust", "a lot", 'found "a lot", expected a number, or a fraction in quotes such as "1/5"'),
        ("calibration.gold", "no", "found \"no\", expected 'asked' or 'not_asked'"),
    ],
)
def test_what_cannot_be_is_refused_with_what_was_found_and_what_was_expected(field, value, said):
    assert f"field {field!r}: {said}" in refusal_of(with_value(tuple(field.split(".")), value))


def test_a_plan_that_decides_by_a_gold_set_which_nobody_is_asked_about_is_refused():
    values = with_value(("calibration", "decides"), "gold")
    assert parse_plan(values, ExtractionPlan, "plan 'p'").calibration.decides == "gold"
    values["calibration"]["gold"] = "not_asked"
    assert "field 'calibration': found an object, expected gold = \"asked\", since it decides" in refusal_of(values)


@pytest.mark.parametrize("value", [0, -5, Decimal("1.5"), "every", True], ids=str)
@pytest.mark.parametrize("field", ["judging.signals_at_most", "budget.entries", "budget.calls"])
def test_a_cap_is_a_count_or_all(field, value):
    said = refusal_of(with_value(tuple(field.split(".")), value))
    assert field in said
    assert 'expected "all", or a whole number of 1 or more' in said


@pytest.mark.parametrize("field", ["design.entries_per_workspace", "design.bands"])
def test_a_number_of_entries_or_bands_is_not_negative(field):
    assert f"field {field!r}: found -1" in refusal_of(with_value(tuple(field.split(".")), -1))


@pytest.mark.parametrize("written", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("field", NUMBERS)
def test_a_number_that_is_none_is_refused_by_the_name_of_its_field(field, written):
    """TOML can write not-a-number and infinity."""
    number = tomllib.loads(f"x = {written}", parse_float=Decimal)["x"]
    assert f"field {field!r}: found " in refusal_of(with_value(tuple(field.split(".")), number))


def test_the_numbers_of_the_plan_are_all_tried():
    plan = parse_plan(VALUES, ExtractionPlan, "plan 'p'")
    values = {dotted(path): attrgetter(dotted(path))(plan) for path in leaves(VALUES)}
    assert sorted(NUMBERS) == sorted(field for field, value in values.items() if isinstance(value, Fraction))


def test_all_faults_of_a_plan_are_told_at_once():
    values = without(("seed",))
    values["claims"]["recall_at_least"] = Decimal(2)
    values["guard"]["colour"] = "red"
    said = refusal_of(values)
    assert all(f"field {field!r}" in said for field in ("seed", "claims.recall_at_least", "guard.colour"))


@pytest.mark.parametrize(
    ("written", "share"),
    [
        ("0.80", Fraction(4, 5)),
        ("0.8", Fraction(4, 5)),
        ('"4/5"', Fraction(4, 5)),
        ('".80"', Fraction(4, 5)),
        ('"1/5"', Fraction(1, 5)),
        ('"1/3"', Fraction(1, 3)),
        ("8e-1", Fraction(4, 5)),
        ("1", Fraction(1)),
        ("0", Fraction(0)),
        ("0.1234567890123456789", Fraction(1234567890123456789, 10**19)),
    ],
)
def test_a_share_is_exactly_what_is_written(tmp_path, written, share):
    path = tmp_path / "p.toml"
    path.write_text(TEXT.replace("recall_at_least = 0.80", f"recall_at_least = {written}"), encoding="utf-8")
    assert read_plan(path, ExtractionPlan).claims.recall_at_least == share


def test_four_fifths_is_not_the_nearest_float():
    assert small().share == Fraction(4, 5) != Fraction(0.8)


def test_a_float_has_been_rounded_already_and_is_refused():
    with pytest.raises(PlanRefused, match=r"field 'share': found 0.8, expected a number, or a fraction in quotes"):
        small(share=0.8)


@LAW
@given(st.decimals(0, 1, allow_nan=False, places=17))
def test_every_decimal_is_read_as_the_fraction_that_it_writes(decimal):
    read = tomllib.loads(f"x = {decimal:f}", parse_float=Decimal)["x"]
    assert small(share=read).share == Fraction(f"{decimal:f}")


@LAW
@given(st.fractions(0, 1))
def test_every_fraction_in_quotes_is_read_as_itself(fraction):
    assert small(share=str(fraction)).share == fraction


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"name = ", "is not TOML", id="cut-off"),
        pytest.param(b"seed = 1\nseed = 2\n", "is not TOML", id="a-field-twice"),
        pytest.param(b"seed = .80", "is not TOML", id="a-share-without-its-nought"),
        pytest.param(b"\xff", "is not TOML", id="not-utf-8"),
        pytest.param(b"x = " + b"[" * 5_000 + b"]" * 5_000, "is not TOML", id="nested-too-deep"),
        pytest.param(b"seed = " + b"7" * 5_000, "is not TOML", id="too-many-digits"),
        pytest.param(b"", "field 'name': found nothing", id="empty"),
    ],
)
def test_a_file_that_is_no_plan_is_refused_by_its_path(tmp_path, content, said):
    path = tmp_path / "p.toml"
    path.write_bytes(content)
    with pytest.raises(PlanRefused) as refusal:
        read_plan(path, ExtractionPlan)
    assert str(refusal.value).startswith(f"plan {str(path)!r} ")
    assert said in str(refusal.value)


@pytest.mark.parametrize(("name", "why"), [("none.toml", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path, name, why):
    with pytest.raises(PlanRefused, match=rf"cannot be read \({why}\); give a TOML file"):
        read_plan(tmp_path / name, ExtractionPlan)


def test_a_plan_cannot_be_changed_once_it_is_read():
    plan = small()
    with pytest.raises(ValidationError, match="frozen"):
        plan.seed = 8
    with pytest.raises(ValidationError, match="frozen"):
        plan.protocol.question = "another"
