"""Single judgments are counted by cluster and group without loss, and what cannot have been judged is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.stats.judged_clusters import NOT_CHECKED, JudgedClusters, checks, tabulated, with_gold
from tests.stats.laws import LAW

JUDGMENT = st.tuples(st.integers(0, 1), st.sampled_from([1, 0, NOT_CHECKED]), st.integers(0, 4), st.integers(0, 2))
JUDGMENTS = st.lists(JUDGMENT, min_size=1, max_size=40)


def columns(judgments):
    return tuple(np.array(column) for column in zip(*judgments, strict=True))


def one_cell(**counts):
    """A table of one cluster and one group."""
    names = ("supported", "judged", "true_positives", "false_negatives", "true_negatives", "false_positives")
    return JudgedClusters(*(np.array([[counts.get(name, 0)]]) for name in names))


def test_seven_judgments_by_hand():
    """Entry b: a hit, a miss and an alarm, of group 0. Entry a: a rejection of group 1, and three nobody checked."""
    table = tabulated(
        says=[1, 0, 1, 0, 1, 1, 0],
        truth=[1, 1, 0, 0, -1, -1, -1],
        clusters=["b", "b", "b", "a", "a", "a", "a"],
        group=[0, 0, 0, 1, 1, 0, 0],
    )
    assert table.supported.tolist() == [[1, 1], [2, 0]]
    assert table.judged.tolist() == [[2, 2], [3, 0]]
    assert table.true_positives.tolist() == [[0, 0], [1, 0]]
    assert table.false_negatives.tolist() == [[0, 0], [1, 0]]
    assert table.true_negatives.tolist() == [[0, 1], [0, 0]]
    assert table.false_positives.tolist() == [[0, 0], [1, 0]]
    assert table.known_positives.tolist() == [[0, 0], [2, 0]]
    assert table.known_negatives.tolist() == [[0, 1], [1, 0]]
    assert table.checked.tolist() == [[0, 1], [3, 0]]


@LAW
@given(JUDGMENTS)
def test_each_cell_has_the_counts_of_a_groupby_of_pandas(judgments):
    frame = pd.DataFrame(judgments, columns=["says", "truth", "entry", "group"])
    table = tabulated(frame["says"], frame["truth"], frame["entry"], frame["group"])
    says, truth = frame["says"] == 1, frame["truth"]
    rows = {
        "supported": says, "judged": says | ~says, "true_positives": says & (truth == 1),
        "false_negatives": ~says & (truth == 1), "true_negatives": ~says & (truth == 0),
        "false_positives": says & (truth == 0),
    }  # fmt: skip
    cells = pd.DataFrame(rows).groupby([frame["entry"], frame["group"]]).sum()
    entries, groups = sorted(frame["entry"].unique()), range(frame["group"].max() + 1)
    expected = cells.reindex(pd.MultiIndex.from_product([entries, groups]), fill_value=0)
    for name in rows:
        counted = expected[name].to_numpy(dtype=int).reshape(len(entries), len(groups))
        assert getattr(table, name).tolist() == counted.tolist()


@LAW
@given(JUDGMENTS, st.randoms())
def test_the_order_of_judgments_and_the_names_of_clusters_do_not_matter(judgments, random):
    says, truth, clusters, group = columns(judgments)
    table = tabulated(says, truth, clusters, group)
    random.shuffle(order := list(range(len(says))))
    names = np.array([f"entry {cluster}" for cluster in clusters])
    again = tabulated(says[order], truth[order], names[order], group[order])
    assert [count.tolist() for count in again.columns] == [count.tolist() for count in table.columns]


@LAW
@given(JUDGMENTS)
def test_calling_every_judgment_by_its_opposite_swaps_the_errors(judgments):
    says, truth, clusters, group = columns(judgments)
    table = tabulated(says, truth, clusters, group)
    swapped = tabulated(1 - says, np.where(truth == NOT_CHECKED, truth, 1 - truth), clusters, group)
    assert (swapped.supported == table.judged - table.supported).all()
    assert (swapped.true_positives == table.true_negatives).all()
    assert (swapped.false_positives == table.false_negatives).all()
    assert (swapped.known_positives == table.known_negatives).all()


def test_errors_by_group_are_those_checked_and_pooled_ones_stand_in_each_group():
    table = tabulated([1, 1, 0, 0], [1, 1, 1, 0], ["a", "a", "a", "b"], [0, 1, 1, 0])
    assert [count.tolist() for count in checks(table, "by_group")] == [
        [[1, 1], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 0], [0, 0]],
    ]  # fmt: skip
    assert [count.tolist() for count in checks(table, "pooled")] == [
        [[2, 2], [0, 0]], [[1, 1], [0, 0]], [[0, 0], [1, 1]], [[0, 0], [0, 0]],
    ]  # fmt: skip


def test_a_gold_set_stands_below_the_population_and_leaves_it_as_it_is():
    population = one_cell(supported=3, judged=4, true_positives=1)
    gold = one_cell(true_positives=5, false_negatives=2, true_negatives=6, false_positives=1)
    both = with_gold(population, gold)
    assert both.supported.tolist() == [[3], [0]]
    assert both.judged.tolist() == [[4], [0]]
    assert both.true_positives.tolist() == [[1], [5]]
    assert both.false_negatives.tolist() == [[0], [2]]
    assert both.true_negatives.tolist() == [[0], [6]]
    assert both.false_positives.tolist() == [[0], [1]]


def test_a_gold_set_of_another_kind_is_refused():
    with pytest.raises(InputRefused, match="gold: found judgments of the population"):
        with_gold(one_cell(judged=1), one_cell(judged=2, true_negatives=1))
    wide = JudgedClusters(*(np.zeros((1, 2)) for _ in range(6)))
    with pytest.raises(InputRefused, match="gold: found 2 groups, expected 1"):
        with_gold(one_cell(judged=1), wide)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        pytest.param({"supported": 3, "judged": 2}, "more supported than judged", id="supported"),
        pytest.param({"supported": 1, "judged": 1, "true_positives": 2}, "more checked items", id="checked"),
        # In number the checks would do, but not among those that the judge called so.
        pytest.param({"supported": 1, "judged": 5, "true_positives": 2}, "more checked items", id="hits"),
        pytest.param({"supported": 1, "judged": 5, "false_positives": 2}, "more checked items", id="alarms"),
        pytest.param({"supported": 4, "judged": 5, "true_negatives": 2}, "more checked items", id="rejections"),
        pytest.param({"supported": 4, "judged": 5, "false_negatives": 2}, "more checked items", id="misses"),
        pytest.param({"judged": -1}, "judged: found -1", id="negative"),
        pytest.param({"judged": 2.5}, "judged: found 2.5", id="a fraction"),
        pytest.param({"judged": 2, "true_negatives": float("nan")}, "true_negatives: found nan", id="missing"),
    ],
)
def test_counts_that_contradict_one_another_are_refused(counts, message):
    with pytest.raises(InputRefused, match=message):
        one_cell(**counts)


def test_as_many_checked_as_judged_are_taken():
    table = one_cell(supported=3, judged=5, true_positives=2, false_positives=1, true_negatives=1, false_negatives=1)
    assert table.checked.tolist() == table.judged.tolist() == [[5]]


def test_tables_of_unlike_shapes_are_refused():
    with pytest.raises(InputRefused, match="expected one shape"):
        JudgedClusters(*(np.zeros((2, 2)) for _ in range(5)), np.zeros((2, 1)))
    with pytest.raises(InputRefused, match="expected one shape"):
        JudgedClusters(*(np.zeros(2) for _ in range(6)))


@pytest.mark.parametrize(
    ("says", "truth", "clusters", "group", "message"),
    [
        ([1, 2], [1, 0], [0, 0], [0, 0], "says: found 2, expected 0 or 1"),
        ([1, -1], [1, 0], [0, 0], [0, 0], "says: found -1, expected 0 or 1"),
        ([1, 0], [1, 2], [0, 0], [0, 0], "truth: found 2, expected 0, 1 or -1"),
        ([1, 0], [1, -2], [0, 0], [0, 0], "truth: found -2"),
        ([1, 0], [1, 0], ["a", None], [0, 0], "clusters: found a missing value"),
        ([1, 0], [1, 0], [0, 0], [0, -1], "group: found -1"),
        ([1, 0], [1, 0, 1], [0, 0], [0, 0], "2 says, 3 truth"),
        ([1, 0], [1, 0], [0, 0, 1], [0, 0], "3 clusters"),
        ([1, 0], [1, 0], [0, 0], [0], "1 group"),
    ],
)
def test_what_are_no_judgments_is_refused(says, truth, clusters, group, message):
    with pytest.raises(InputRefused, match=message):
        tabulated(says, truth, clusters, group)


def test_no_judgments_are_refused():
    with pytest.raises(TooFewObservations, match="nothing was judged"):
        tabulated([], [], [], [])


def test_judgments_in_a_table_are_refused():
    with pytest.raises(InputRefused, match="says: found 2 dimensions, expected 1"):
        tabulated([[1, 0]], [[1, 0]], [0], [0])


def test_checks_of_a_group_that_was_not_judged_are_refused_in_a_cluster_of_the_population():
    nothing = np.zeros((1, 2), dtype=int)
    with pytest.raises(InputRefused, match="more checked items than judged"):
        JudgedClusters([[2, 0]], [[5, 0]], [[0, 3]], nothing, nothing, nothing)
