"""The matching of two lists: the largest there is, of these the nearest, as trying them all finds it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from eval_pipeline.studies.extraction.annotators.matching import Match, best_matching, nearness
from tests.stats.laws import LAW
from tests.studies.extraction.annotators.two_annotators import every_matching, worth

TABLES = st.tuples(st.integers(0, 4), st.integers(0, 4)).flatmap(
    lambda shape: st.tuples(
        st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]),
        st.lists(st.integers(0, 5), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]),
    ).map(lambda cells: tuple(np.array(row, dtype=np.int64).reshape(shape) for row in cells))
)


@LAW
@given(TABLES)
def test_no_matching_has_more_pairs_and_none_as_large_is_nearer(table):
    possible, near = table[0].astype(bool), table[1]
    found = [(match.first, match.second) for match in best_matching(possible, near)]
    assert all(possible[pair] for pair in found)
    assert len({row for row, _ in found}) == len({column for _, column in found}) == len(found)
    assert worth(found, near) == max(worth(pairs, near) for pairs in every_matching(possible))


def test_it_is_as_large_as_scipys_bipartite_matching():
    """scipy.sparse.csgraph.maximum_bipartite_matching, on 200 random graphs of up to 30 a side."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        possible = rng.random(rng.integers(1, 31, size=2)) < rng.uniform(0, 0.3)
        theirs = maximum_bipartite_matching(csr_array(possible.astype(int)), perm_type="column")
        assert len(best_matching(possible, rng.integers(0, 1000, size=possible.shape))) == (theirs >= 0).sum()


def test_one_pair_more_outweighs_any_nearness():
    near = np.array([[1000, 0], [0, 0]])
    crossing = np.array([[True, True], [True, False]])  # the nearest pair would leave the other two alone
    assert best_matching(crossing, near) == (Match(0, 1), Match(1, 0))


def test_words_in_common_count_first_and_places_break_ties():
    texts = ["the pump failed", "the valve leaked", "the pump failed"]
    near = nearness(texts, texts)
    whole = np.ones((3, 3), dtype=bool)
    # Either "the pump failed" could go with either; in their order they are less apart.
    assert best_matching(whole, near) == (Match(0, 0), Match(1, 1), Match(2, 2))
    assert near[0, 0] > near[0, 2] > near[0, 1]


def test_nearness_worked_by_hand():
    """Two of the three stems of one text stand in the other, and two of its two in the first: 500 (2/3 + 1)."""
    near = nearness(["the red pump failed"], ["a pump failed", "rain fell"])
    # Pairs 1, longest 2: words (1 + 1 * 4) + 4 - (distance in place) squared.
    assert near.tolist() == [[833 * 5 + 4 - 0, 0 * 5 + 4 - 1]]


def test_nearness_does_not_depend_on_which_list_is_the_first():
    one, other = ["the red pump failed", "rain fell", "x"], ["a pump failed", "rain"]
    assert np.array_equal(nearness(one, other), nearness(other, one).T)


@pytest.mark.parametrize("texts", [([], []), ([], ["x"]), (["x"], [])])
def test_nothing_is_matched_with_nothing(texts):
    near = nearness(*texts)
    assert near.shape == (len(texts[0]), len(texts[1]))
    assert best_matching(np.ones(near.shape, dtype=bool), near) == ()


def test_the_sums_are_whole_numbers_that_a_float_holds_for_three_hundred_propositions_a_side():
    texts = [f"word{place} again" for place in range(300)]
    near = nearness(texts, texts)
    one_more = 1 + 300 * int(near.max())
    assert 300 * (one_more + int(near.max())) < 2**53
    assert best_matching(np.ones(near.shape, dtype=bool), near) == tuple(Match(k, k) for k in range(300))
