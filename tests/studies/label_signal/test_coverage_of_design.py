"""Whether the items cover the declared design: adequate, thin and absent levels, and what was never declared."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.studies.label_signal.coverage import coverage, covered
from eval_pipeline.studies.label_signal.track import Item
from tests.stats.laws import LAW

DESIGN = {"difficulty": ("easy", "hard"), "domain": ("law", "health", "money")}


def items(*cells):
    """So many items of each (difficulty, domain); None leaves the factor out."""
    made = []
    for (difficulty, domain), count in cells:
        strata = {"difficulty": difficulty, "domain": domain}
        made += [
            Item(item_id=f"q{len(made) + n}", strata={key: value for key, value in strata.items() if value})
            for n in range(count)
        ]
    return made


def found(*cells, design=DESIGN, adequate=4):
    return coverage(design, items(*cells), adequate=adequate)


def test_levels_with_enough_items_are_adequate_fewer_are_thin_and_none_is_absent():
    """Easy 9, hard 3; law 8, health 4, money 0: two of five levels fall short of 4."""
    one = found((("easy", "law"), 5), (("easy", "health"), 4), (("hard", "law"), 3))
    assert one.counts == {"difficulty": {"easy": 9, "hard": 3}, "domain": {"law": 8, "health": 4, "money": 0}}
    assert (one.adequate, one.thin, one.absent) == (3, ("difficulty=hard",), ("domain=money",))
    assert one.marginal_gap == pytest.approx(2 / 5)
    # 3 / 9 of difficulty and 0 / 8 of domain
    assert one.balance == 0


@pytest.mark.parametrize(("count", "adequate", "thin"), [(3, 0, 1), (4, 1, 0), (5, 1, 0)])
def test_a_level_is_adequate_from_the_planned_number_of_items_on(count, adequate, thin):
    one = found((("easy", None), count), design={"difficulty": ("easy",)})
    assert (one.adequate, len(one.thin), one.absent) == (adequate, thin, ())


def test_the_balance_is_that_of_the_worst_factor():
    """Difficulty 6 to 12; domain 3 to 9 to 6."""
    one = found((("easy", "law"), 3), (("easy", "health"), 3), (("hard", "health"), 6), (("hard", "money"), 6))
    assert one.balance == pytest.approx(3 / 9)
    assert one.marginal_gap == pytest.approx(1 / 5)


def test_a_level_that_was_not_declared_is_told_and_not_credited():
    one = found((("easy", "law"), 4), (("hard", "sport"), 6), (("hard", "art"), 6))
    assert one.undeclared == ("domain=art", "domain=sport")
    assert one.counts["domain"] == {"law": 4, "health": 0, "money": 0}
    assert one.absent == ("domain=health", "domain=money")
    assert one.marginal_gap == pytest.approx(2 / 5)


def test_cells_of_the_full_design_are_counted_if_all_of_their_levels_are_declared():
    """Six cells, of which two have items; those of sport, and of items without a domain, are in none."""
    one = found((("easy", "law"), 4), (("hard", "law"), 1), (("hard", "sport"), 5), (("easy", None), 2))
    assert (one.cells, one.empty_cells) == (6, 4)
    assert one.counts["difficulty"] == {"easy": 6, "hard": 6}


def test_a_factor_that_no_item_names_is_absent_throughout():
    one = found((("easy", None), 5), (("hard", None), 5))
    assert one.absent == ("domain=law", "domain=health", "domain=money")
    assert (one.balance, one.empty_cells) == (0, 6)


def test_a_track_without_items_lacks_everything_and_one_without_a_design_nothing():
    one = found()
    assert (one.adequate, one.marginal_gap, one.balance, len(one.absent)) == (0, 1, 0, 5)
    assert found((("easy", "law"), 5), design={}) is None
    assert found((("easy", "law"), 5), design={"difficulty": ()}) is None


def test_a_factor_without_levels_is_in_nothing():
    one = coverage(
        {"difficulty": ("easy", "hard"), "none": ()}, items((("easy", None), 4), (("hard", None), 4)), adequate=4
    )
    assert (one.adequate, one.marginal_gap, one.balance) == (2, 0, 1)


LEVELS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 12), min_size=1)


@LAW
@given(st.dictionaries(st.sampled_from(["x", "y", "z"]), LEVELS, min_size=1), st.integers(1, 8))
def test_every_declared_level_is_one_of_adequate_thin_and_absent(declared, adequate):
    one = covered(declared, adequate=adequate, undeclared=(), filled=0)
    counts = [n for levels in declared.values() for n in levels.values()]
    kinds = Counter("absent" if n == 0 else "thin" if n < adequate else "adequate" for n in counts)
    assert (one.adequate, len(one.thin), len(one.absent)) == (kinds["adequate"], kinds["thin"], kinds["absent"])
    assert one.marginal_gap == pytest.approx((kinds["thin"] + kinds["absent"]) / len(counts))
    assert 0 <= one.balance <= 1
    assert (one.balance == 0) is (0 in counts)


@LAW
@given(LEVELS, st.data())
def test_one_more_item_never_widens_the_gap(levels, data):
    level = data.draw(st.sampled_from(sorted(levels)))
    before, after = (
        covered({"x": one}, adequate=4, undeclared=(), filled=0)
        for one in (levels, levels | {level: levels[level] + 1})
    )
    assert after.marginal_gap <= before.marginal_gap
    assert set(after.absent) <= set(before.absent)
