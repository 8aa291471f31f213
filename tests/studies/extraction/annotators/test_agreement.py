"""The agreement of two annotators: worked by hand, by other programs, and undefined where nothing can be said."""

from dataclasses import replace
from fractions import Fraction

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap
from statsmodels.stats.inter_rater import cohens_kappa

from eval_pipeline.records import NoLabel
from eval_pipeline.studies.extraction.annotators.agreement import annotator_agreement
from eval_pipeline.studies.extraction.annotators.alignment import aligned_by_text
from tests.stats.laws import LAW
from tests.studies.extraction.annotators.two_annotators import wrote


def agreed(first, second, plan):
    """The agreement of annotators whose propositions are the same if the texts are."""
    return annotator_agreement(aligned_by_text(wrote(*first), wrote(*second)), plan)


def made_up(rng, entries, *, included=0.8, moved=0.2):
    """Two annotators who each include a claim with some chance, and sometimes put it one quarter later."""
    sides = [], []
    for entry in range(entries):
        hard = rng.uniform(-0.15, 0.15)  # entries differ, so that claims of one entry err together
        for claim in range(rng.integers(4, 12)):
            quartile = int(rng.integers(1, 5))
            for side in sides:
                if rng.random() < included + hard:
                    at = min(4, quartile + int(rng.random() < moved))
                    side.append((f"e{entry:03d}", at, f"claim {claim}"))
    return sides


def test_agreement_worked_by_hand(lenient):
    first = [("a", 1, "p"), ("a", 2, "q"), ("a", 4, "r"), ("b", 1, "s")]
    second = [("a", 1, "p"), ("a", 3, "q"), ("b", 1, "s"), ("b", 2, "t")]
    found = agreed(first, second, lenient)
    # In a 2 of 3 and 2 are the same, in b 1 of 1 and 2: 2 (2 + 1) / (4 + 4). Of p, q and s, q alone was moved.
    assert (found.entries, found.first, found.second, found.matched) == (2, 4, 4, 3)
    assert found.inclusion.estimate == found.inclusion_at_most == Fraction(3, 4)
    assert (found.same_quartile, found.share_same_quartile.estimate) == (2, Fraction(2, 3))
    # Of two entries drawn again there are three kinds: a a, a b, b b, with 4/5, 6/8 and 2/3.
    assert (found.inclusion.interval.low, found.inclusion.interval.high) == (Fraction(2, 3), Fraction(4, 5))
    # Cohen: observed 2/3; the first says 1, 2, 1 and the second 1, 3, 1: chance 4/9. (2/3 - 4/9) / (5/9) = 2/5.
    assert found.kappa.estimate == pytest.approx(2 / 5)
    # Ordinal alpha, of 1 four times, 2 and 3: d12 = (5 - 2.5)^2, d13 = (6 - 2.5)^2, and d23 = (2 - 1)^2 was observed.
    assert found.alpha.estimate == pytest.approx(1 - (6 - 1) * 1 / (4 * 6.25 + 4 * 12.25 + 1))
    assert found.inclusion.undefined is found.share_same_quartile.undefined is None


def test_alpha_is_that_of_the_krippendorff_package_and_kappa_that_of_statsmodels(lenient):
    """krippendorff 0.8, alpha(level_of_measurement="ordinal"); statsmodels 0.14, cohens_kappa of the 4 x 4 table."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        first, second = made_up(rng, 15, moved=rng.uniform(0.1, 0.9))
        found = agreed(first, second, lenient)
        places = ({(entry, text): quartile for entry, quartile, text in side} for side in (first, second))
        one, other = places
        both = sorted(one.keys() & other.keys())
        ratings = np.array([[side[key] for key in both] for side in (one, other)])
        assert found.matched == len(both)
        theirs = krippendorff.alpha(reliability_data=ratings, level_of_measurement="ordinal")
        assert found.alpha.estimate == pytest.approx(theirs, abs=1e-12)
        table = np.zeros((4, 4))
        np.add.at(table, (ratings[0] - 1, ratings[1] - 1), 1)
        assert found.kappa.estimate == pytest.approx(cohens_kappa(table).kappa, abs=1e-12)


def test_the_intervals_of_the_shares_are_those_of_scipy(lenient):
    """scipy.stats.bootstrap, paired over entries, percentile, 9,999 resamples."""
    first, second = made_up(np.random.default_rng(5), 90)
    found = agreed(first, second, lenient)
    entries = sorted({entry for entry, _, _ in first})
    one, other = ({(entry, text): quartile for entry, quartile, text in side} for side in (first, second))
    both = one.keys() & other.keys()
    matched = np.array([sum(key[0] == entry for key in both) for entry in entries])
    written = np.array([sum(key[0] == entry for key in (*one, *other)) for entry in entries])
    alike = np.array([sum(key[0] == entry and one[key] == other[key] for key in both) for entry in entries])
    for ours, successes, trials in [
        (found.inclusion, 2 * matched, written),
        (found.share_same_quartile, alike, matched),
    ]:
        theirs = bootstrap(
            (successes, trials),
            lambda s, t, axis: s.sum(axis) / t.sum(axis),
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=9999,
            rng=np.random.default_rng(1),
        ).confidence_interval
        assert float(ours.estimate) == pytest.approx(successes.sum() / trials.sum())
        assert float(ours.interval.low) == pytest.approx(theirs.low, abs=0.01)
        assert float(ours.interval.high) == pytest.approx(theirs.high, abs=0.01)


PROPOSITIONS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(1, 4), st.sampled_from(["p", "q", "r", "s", "t"])),
    unique_by=lambda of: (of[0], of[2]),
    max_size=20,
)


@LAW
@given(PROPOSITIONS, PROPOSITIONS)
def test_who_is_the_first_changes_nothing(lenient, one, other):
    there, back = agreed(one, other, lenient), agreed(other, one, lenient)
    assert back == replace(
        there,
        first=there.second,
        second=there.first,
        entries_of_first_alone=there.entries_of_second_alone,
        entries_of_second_alone=there.entries_of_first_alone,
    )


@LAW
@given(PROPOSITIONS.filter(bool))
def test_an_annotator_agrees_with_themselves(lenient, one):
    found = agreed(one, one, lenient)
    assert found.inclusion.estimate == found.share_same_quartile.estimate == 1
    assert (found.matched, found.same_quartile) == (len(one), len(one))
    if found.entries >= 2:
        for measure in (found.inclusion, found.share_same_quartile):
            assert (measure.interval.low, measure.interval.high, measure.degenerate) == (1, 1, True)
    varied = len({quartile for _, quartile, _ in one}) > 1
    assert (found.alpha.estimate, found.kappa.estimate) == ((1, 1) if varied else (None, None))


def test_an_entry_of_one_annotator_alone_is_counted_and_is_no_disagreement(lenient):
    both = [("a", 1, "p"), ("b", 2, "q")]
    found = agreed([*both, ("c", 1, "r"), ("d", 1, "s")], [*both, ("e", 1, "t")], lenient)
    assert (found.entries, found.entries_of_first_alone, found.entries_of_second_alone) == (2, 2, 1)
    assert (found.first, found.second, found.inclusion.estimate) == (2, 2, 1)


def test_annotators_of_different_entries_say_nothing_of_agreement(lenient):
    found = agreed([("a", 1, "p")], [("b", 1, "p")], lenient)
    assert (found.inclusion.estimate, found.inclusion.interval, found.inclusion_at_most) == (None, None, None)
    assert found.inclusion.undefined == "no entry was taken apart by both annotators"
    assert found.share_same_quartile.undefined == "no proposition was written by both annotators"
    assert found.alpha.undefined.startswith("0 propositions were matched")


def test_of_one_entry_there_is_an_estimate_and_no_interval(lenient):
    found = agreed([("a", 1, "p"), ("a", 2, "q")], [("a", 1, "p"), ("a", 3, "q")], lenient)
    for measure, estimate in [(found.inclusion, 1), (found.share_same_quartile, Fraction(1, 2))]:
        assert (measure.estimate, measure.interval) == (estimate, None)
        assert "needs at least 2 clusters and was given 1" in measure.undefined
    assert found.alpha.estimate is not None
    assert found.alpha.interval is None
    assert "needs at least 2 clusters" in found.alpha.undefined


def test_nothing_in_common_is_an_inclusion_of_zero_and_no_quartile(lenient):
    found = agreed([("a", 1, "p"), ("b", 1, "q")], [("a", 1, "x"), ("b", 1, "y")], lenient)
    assert (found.inclusion.estimate, found.matched) == (0, 0)
    assert found.share_same_quartile.estimate is None
    assert found.kappa.undefined == "0 propositions were matched, and agreement beyond chance needs at least 2"


def test_one_match_says_nothing_beyond_chance(lenient):
    found = agreed([("a", 1, "p"), ("b", 1, "q")], [("a", 2, "p"), ("b", 1, "y")], lenient)
    assert (found.matched, found.share_same_quartile.estimate) == (1, 0)
    for measure in (found.alpha, found.kappa):
        assert (measure.estimate, measure.undefined.split(",")[0]) == (None, "1 propositions were matched")


def test_quartiles_that_are_all_one_leave_agreement_beyond_chance_undefined(lenient):
    same = [("a", 2, "p"), ("b", 2, "q"), ("c", 2, "r")]
    found = agreed(same, same, lenient)
    assert found.share_same_quartile.estimate == 1
    for measure in (found.alpha, found.kappa):
        assert (measure.estimate, measure.interval) == (None, None)
        assert "are of one category" in measure.undefined


def test_a_coefficient_that_few_resamples_have_stands_without_an_interval(lenient, amended):
    """Quartiles vary in one of 6 entries, and it is missing from a third of the resamples."""
    first = [(f"e{k}", 1, "p") for k in range(5)] + [("f", 1, "p"), ("f", 4, "q")]
    second = [(f"e{k}", 1, "p") for k in range(5)] + [("f", 1, "p"), ("f", 4, "q")]
    plan = amended(lenient, bootstrap={"valid_at_least": Fraction(9, 10)})
    found = agreed(first, second, plan)
    assert (found.alpha.estimate, found.alpha.interval) == (1, None)
    assert "ratings of more than one category" in found.alpha.undefined
    assert agreed(first, second, lenient).alpha.interval is not None


def test_what_gave_no_label_is_counted_and_raises_the_most_that_inclusion_could_be(lenient):
    entries = aligned_by_text(
        wrote(("a", 1, "p"), ("a", 1, "q"), ("b", 1, "r")), wrote(("a", 1, "p"), ("a", 1, "x"), ("b", 1, "r"))
    )
    open_pair = replace(entries[0], matches_at_most=2, questions=3, unread=(NoLabel.REFUSED,))
    found = annotator_agreement([open_pair, entries[1]], lenient)
    assert (found.questions, found.unread) == (3, 1)
    assert (found.inclusion.estimate, found.inclusion_at_most) == (Fraction(2, 3), 1)
