"""What people said becomes one check: agreement as other programs have it, differences settled, and all frozen."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from eval_pipeline.errors import CheckUnsettled, MalformedCheck, SealBroken
from eval_pipeline.human_check.filled import Filled
from eval_pipeline.human_check.join import HumanCheck, agreement_of, check_bytes, disagreements, joined, read_check
from eval_pipeline.human_check.sheet import Item, Said, Task
from eval_pipeline.records import Reason
from tests.human_check.made_up import LETTERS, RULE, check_of, items_of, person, sheet_of
from tests.stats.laws import LAW

ANY = {"raters": 1, "kappa_at_least": Fraction(-1), "unsure_at_most": Fraction(1)}
FOUND_BY_TEN = "yyyyynnnnu", "yyyynynnnu"  # of 10 items 8 alike; each says y to 5, n to 4 and u to 1


def two_people(first: str, second: str) -> list[Filled]:
    items = items_of(len(first))
    return [person("anna", first, items), person("ben", second, items)]


SAID_BY_TWO = st.integers(2, 40).flatmap(
    lambda n: st.tuples(st.text("ynu", min_size=n, max_size=n), st.text("ynu", min_size=n, max_size=n))
)


def test_kappa_and_alpha_by_hand() -> None:
    """Chance alone makes .5 x .5 + .4 x .4 + .1 x .1 = .42 alike. Alpha counts the 20 labels together, 10 y, 8 n, 2 u:
    of the 20 x 19 = 380 ordered pairs 10 x 8 + 10 x 2 + 8 x 2 = 116, both ways 232, are of different labels."""
    found = agreement_of(two_people(*FOUND_BY_TEN), items_of(10), RULE)
    assert (found.items, found.same) == (10, 8)
    assert found.kappa.estimate == pytest.approx((0.8 - 0.42) / 0.58, abs=1e-14)
    assert found.alpha.estimate == pytest.approx(1 - 0.2 / (232 / 380), abs=1e-14)


@given(SAID_BY_TWO.filter(lambda said: len(set("".join(said))) > 1))
@LAW
def test_two_other_programs_agree(said: tuple[str, str]) -> None:
    """statsmodels 0.15.0, cohens_kappa of to_table; krippendorff 0.9.0, alpha of the nominal level."""
    found = agreement_of(two_people(*said), items_of(len(said[0])), RULE)
    codes = np.array([["ynu".index(letter) for letter in row] for row in said])
    table, _ = to_table(codes.T, 3)
    assert found.kappa.estimate == pytest.approx(cohens_kappa(table, return_results=False), abs=1e-12)
    alpha = krippendorff.alpha(reliability_data=codes, level_of_measurement="nominal", value_domain=[0, 1, 2])
    assert found.alpha.estimate == pytest.approx(alpha, abs=1e-12)
    assert found.same == (codes[0] == codes[1]).sum()


@given(SAID_BY_TWO)
@LAW
def test_agreement_does_not_ask_who_is_first(said: tuple[str, str]) -> None:
    one, other = (
        agreement_of(people, items_of(len(said[0])), RULE) for people in (two_people(*said), two_people(*said[::-1]))
    )
    assert (one.same, one.alpha) == (other.same, other.alpha)
    assert one.kappa.estimate == pytest.approx(other.kappa.estimate, abs=1e-12)


def test_where_both_know_one_label_alone_there_is_no_coefficient_and_it_says_why() -> None:
    found = agreement_of(two_people("yyy", "yyy"), items_of(3), RULE)
    assert (found.same, found.kappa.estimate, found.kappa.interval) == (3, None, None)
    for coefficient in (found.kappa, found.alpha):
        assert coefficient.undefined is not None
        assert "neither 0 nor 1" in coefficient.undefined


def test_items_of_one_premise_are_drawn_together_so_that_one_premise_has_no_interval() -> None:
    """And the interval of ten premises holds the estimate, at the plan's level."""
    together = [Item(Task.PROPOSITION, ("one signal",), f"claim {n}") for n in range(10)]
    people = [person("anna", FOUND_BY_TEN[0], together), person("ben", FOUND_BY_TEN[1], together)]
    alone = agreement_of(people, together, RULE)
    assert (alone.kappa.interval, alone.kappa.undefined) == (None, None)
    found = agreement_of(two_people(*FOUND_BY_TEN), items_of(10), RULE).kappa
    assert found.interval is not None
    assert found.estimate is not None
    assert found.interval.level == 0.95
    assert float(found.interval.low or 0) < found.estimate < float(found.interval.high or 0)
    assert found == agreement_of(two_people(*FOUND_BY_TEN), items_of(10), RULE).kappa


def test_agreement_on_nothing_is_undefined() -> None:
    found = agreement_of([Filled("anna", {}), Filled("ben", {})], [], RULE)
    assert (found.items, found.same, found.kappa.estimate, found.alpha.estimate) == (0, 0, None, None)


def test_one_person_is_believed() -> None:
    check = check_of("ynu")
    assert list(check.labels.values()) == [Said.SUPPORTED, Said.NOT_SUPPORTED, Said.UNSURE]
    assert (check.raters, check.agreement, check.settled, check.unsure) == (("anna",), None, 0, 1)


def test_two_who_differ_are_refused_until_somebody_settles() -> None:
    items = items_of(10)
    people = two_people(*FOUND_BY_TEN)
    assert disagreements(people, items) == [items[4], items[5]]
    with pytest.raises(CheckUnsettled) as refused:
        joined(sheet_of(items), people, None)
    assert str(refused.value) == (
        "2 of 10 items are labelled differently; have somebody settle them on the sheet of disagreements, and join"
        " again with --settled"
    )


def test_what_was_settled_stands_where_they_differ_and_what_they_said_stands_elsewhere() -> None:
    check = check_of(*FOUND_BY_TEN, settled="un")
    assert list(check.labels.values()) == [LETTERS[letter] for letter in "yyyyunnnnu"]
    assert (check.settled, check.unsure, check.raters) == (2, 2, ("anna", "ben"))
    assert check.agreement == agreement_of(two_people(*FOUND_BY_TEN), items_of(10), RULE)  # as before it was settled


def test_two_who_agree_need_nobody_to_settle() -> None:
    check = check_of("yynu", "yynu")
    assert (check.settled, check.agreement and check.agreement.same) == (0, 4)


@given(SAID_BY_TWO, st.data())
@LAW
def test_every_label_is_that_of_both_or_the_settled_one(said: tuple[str, str], data: st.DataObject) -> None:
    apart = [a != b for a, b in zip(*said, strict=True)]
    settled = data.draw(st.text("ynu", min_size=sum(apart), max_size=sum(apart)))
    check, third = check_of(*said, settled=settled), iter(settled)
    expected = [next(third) if differ else letter for letter, differ in zip(said[0], apart, strict=True)]
    assert list(check.labels.values()) == [LETTERS[letter] for letter in expected]


def test_too_few_people_are_refused_and_enough_are_not() -> None:
    refusal = check_of("yn").refusal(**ANY | {"raters": 2})
    assert refusal is not None
    assert (refusal.reason, refusal.detail) == (
        Reason.UNDERPOWERED,
        "1 person filled the human check and the plan asks for 2; have it filled by another",
    )
    assert check_of("yn").refusal(**ANY) is None
    assert check_of("yn", "yn").refusal(**ANY | {"raters": 2}) is None


# By hand: .8 alike where chance alone makes .5; 1; .75 and .5; 0 and .5; .9 and .52; .9 and .515. The plan's number is
# exact, and the coefficient, which is arithmetic of floats, comes out a hair to either side of it.
@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        ("yyyyynnnnn", "yyyynnnnny", Fraction(3, 5)),
        ("yyyyynnnnn", "yyyyynnnnn", Fraction(1)),
        ("yyyynnnn", "yyynnnny", Fraction(1, 2)),
        ("yn", "ny", Fraction(-1)),
        ("yyyyyyyynnnnnnnnnnnn", "yyyyyyynnnnnnnnnnnny", Fraction(19, 24)),
        ("yyyyyyyyynnnnnnnnnnn", "yyyyyyynnnnnnnnnnnnn", Fraction(77, 97)),
    ],
)
def test_people_who_agree_as_much_as_the_plan_asks_are_believed_and_not_a_hair_less(
    first: str, second: str, kappa: Fraction
) -> None:
    apart = sum(a != b for a, b in zip(first, second, strict=True))
    check = check_of(first, second, settled="y" * apart)
    assert check.agreement is not None
    assert check.agreement.kappa.estimate == pytest.approx(float(kappa), abs=1e-14)
    assert check.refusal(**ANY | {"kappa_at_least": kappa}) is None
    refusal = check.refusal(**ANY | {"kappa_at_least": kappa + Fraction(1, 10**9)})
    assert refusal is not None
    assert refusal.reason is Reason.RATERS_DISAGREE


@given(SAID_BY_TWO)
@LAW
def test_kappa_is_held_against_the_bar_as_exact_arithmetic_does(said: tuple[str, str]) -> None:
    n = len(said[0])
    chance = sum(Fraction(said[0].count(letter) * said[1].count(letter), n * n) for letter in "ynu")
    if chance == 1:
        return
    alike = Fraction(sum(a == b for a, b in zip(*said, strict=True)), n)
    kappa = (alike - chance) / (1 - chance)
    check = check_of(*said, settled="y" * sum(a != b for a, b in zip(*said, strict=True)))
    assert check.refusal(**ANY | {"kappa_at_least": kappa}) is None


def test_people_who_agree_less_than_the_plan_asks_are_refused_in_its_numbers() -> None:
    refusal = check_of(*FOUND_BY_TEN, settled="yy").refusal(**ANY | {"kappa_at_least": Fraction(7, 10)})
    assert refusal is not None
    assert refusal.detail == (
        "the people of the human check agree with a kappa of 0.655, and the plan asks for 0.7; make the question"
        " clearer, and have it filled anew"
    )


def test_kappa_is_not_asked_of_one_person_nor_where_there_is_none() -> None:
    strict = ANY | {"kappa_at_least": Fraction(1)}
    assert check_of("yyn").refusal(**strict) is None
    assert check_of("yyy", "yyy").refusal(**strict) is None


@pytest.mark.parametrize(("said", "refused"), [("yyyyyyyyyy", False), ("yyyyyyyyyu", False), ("yyyyyyyyuu", True)])
def test_one_item_in_ten_may_stay_open_and_no_more(said: str, refused: bool) -> None:
    refusal = check_of(said).refusal(**ANY | {"unsure_at_most": Fraction(1, 10)})
    assert (refusal is not None) is refused
    if refusal:
        assert (refusal.reason, refusal.detail) == (
            Reason.UNTRUSTWORTHY,
            "2 of 10 items of the human check have no label, and the plan allows 0.1 of them; have them settled",
        )


def test_who_is_unsure_of_nothing_keeps_the_strictest_rule() -> None:
    assert check_of("yn").refusal(**ANY | {"unsure_at_most": Fraction(0)}) is None
    assert check_of("yu").refusal(**ANY | {"unsure_at_most": Fraction(0)}) is not None


def test_of_several_reasons_too_few_people_come_first_and_open_items_last() -> None:
    check, none_open = check_of(*FOUND_BY_TEN, settled="yy"), {"unsure_at_most": Fraction(0)}
    alike = none_open | {"kappa_at_least": Fraction(1)}
    reasons = [check.refusal(**ANY | rules) for rules in (alike | {"raters": 3}, alike, none_open)]
    assert [refusal and refusal.reason for refusal in reasons] == [
        Reason.UNDERPOWERED,
        Reason.RATERS_DISAGREE,
        Reason.UNTRUSTWORTHY,
    ]


FROZEN = check_of(*FOUND_BY_TEN, settled="yn")
BYTES = check_bytes(FROZEN)


def put(folder: Path, data: bytes) -> Path:
    path = folder / "human_check.json"
    path.write_bytes(data)
    return path


@given(SAID_BY_TWO, st.data())
@LAW
def test_a_check_that_was_frozen_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, said: tuple[str, str], data: st.DataObject
) -> None:
    apart = sum(a != b for a, b in zip(*said, strict=True))
    check = check_of(*said, settled=data.draw(st.text("ynu", min_size=apart, max_size=apart)))
    read = read_check(put(tmp_path_factory.mktemp("check"), check_bytes(check)))
    assert (read, read.hash) == (check, check.hash)
    assert {type(said) for said in read.labels.values()} == {Said}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a JSON document stand, and the lists and objects that hold them."""
    yield at
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*at, key))


def forged(plain: Any, at: tuple[Any, ...]) -> Any:
    """The document with another value in one place: the next number, a longer text, or a part less."""
    if at:
        key, rest = at[0], at[1:]
        items = plain.items() if isinstance(plain, dict) else enumerate(plain)
        changed = {k: forged(v, rest) if k == key else v for k, v in items}
        return changed if isinstance(plain, dict) else list(changed.values())
    if isinstance(plain, (dict, list)):
        return dict(list(plain.items())[1:]) if isinstance(plain, dict) else plain[1:]
    if isinstance(plain, str):
        return "UNSURE" if plain in ("SUPPORTED", "NOT_SUPPORTED") else plain + "0"
    return 1 if plain is None else plain + 1


@pytest.mark.parametrize("at", list(places(json.loads(BYTES))), ids=lambda at: ".".join(map(str, at)) or "all")
def test_a_check_is_refused_if_anything_in_it_was_changed(tmp_path: Path, at: tuple[Any, ...]) -> None:
    path = put(tmp_path, json.dumps(forged(json.loads(BYTES), at)).encode())
    with pytest.raises((SealBroken, MalformedCheck)):
        read_check(path)


@given(st.integers(0, len(BYTES) - 1), st.integers(0, 255))
@LAW
def test_of_a_check_with_another_byte_nothing_is_read_but_what_it_was(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    """A blank more or less says nothing; all else breaks the seal, or the format."""
    path = put(tmp_path_factory.mktemp("check"), BYTES[:place] + bytes([byte]) + BYTES[place + 1 :])
    with contextlib.suppress(SealBroken, MalformedCheck):
        assert read_check(path) == FROZEN


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", '"1/3"'])
def test_a_number_that_is_none_breaks_the_seal_too(tmp_path: Path, number: str) -> None:
    assert FROZEN.agreement is not None
    estimate = json.dumps(FROZEN.agreement.kappa.interval.low)
    assert estimate in BYTES.decode()
    with pytest.raises(SealBroken, match="now hashes to nothing; join the filled sheets again"):
        read_check(put(tmp_path, BYTES.decode().replace(f'"low": {estimate}', f'"low": {number}').encode()))


def test_a_broken_seal_says_both_hashes(tmp_path: Path) -> None:
    other = replace(FROZEN, labels=FROZEN.labels | {items_of(1)[0].id: Said.UNSURE})
    path = put(tmp_path, check_bytes(other).replace(other.hash.encode(), FROZEN.hash.encode()))
    with pytest.raises(SealBroken) as broken:
        read_check(path)
    assert str(broken.value) == (
        f"human check {str(path)!r} was frozen as {FROZEN.hash[:12]} but now hashes to {other.hash[:12]};"
        " join the filled sheets again"
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(FROZEN, raters=("anna", "carl")),
        replace(FROZEN, settled=3),
        replace(FROZEN, agreement=None),
        replace(FROZEN, sheet=replace(FROZEN.sheet, plan="another")),
        replace(FROZEN, labels=dict.fromkeys(FROZEN.labels, Said.SUPPORTED)),
    ],
)
def test_checks_that_differ_have_other_hashes(other: HumanCheck) -> None:
    assert other.hash != FROZEN.hash


def test_a_sheet_is_no_check(tmp_path: Path) -> None:
    with pytest.raises(MalformedCheck, match="field 'check': field required"):
        read_check(put(tmp_path, json.dumps({"draw": "entries"}).encode()))
    with pytest.raises(MalformedCheck, match=r"cannot be read \(No such file or directory\)"):
        read_check(tmp_path / "nowhere.json")
