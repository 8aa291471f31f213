"""A gold set that comes from one place is told to: the share of its largest group, and how even the groups are."""

from fractions import Fraction
from math import log

import pytest
from scipy.stats import entropy

from eval_pipeline.bundled import bundled
from eval_pipeline.studies.judge_calibration.concentration import concentrations
from eval_pipeline.studies.judge_calibration.gold import gold_of, read_gold
from eval_pipeline.studies.judge_calibration.plan import Intake
from tests.studies.judge_calibration.made_up import ROOT, constraint_row


def spread(domains, *fields, limit=Fraction(3, 4)):
    """How tuples of these domains, "" for none, spread over the fields."""
    named = [{"domain": domain} if domain else {} for domain in domains]
    rows = [constraint_row(f"{n}.", "NOT_VIOLATED", metadata=metadata) for n, metadata in enumerate(named)]
    return concentrations(gold_of(rows, folder=ROOT), Intake(fields=fields, largest_share_below=limit))


def test_the_shares_and_the_entropy_are_those_worked_by_hand():
    (found,) = spread(["law", "law", "law", "history"], "domain")
    assert (found.field, found.counts, found.unnamed) == ("domain", {"history": 1, "law": 3}, 0)
    assert (found.largest, found.largest_share) == ("law", Fraction(3, 4))
    # (3/4 ln 4/3 + 1/4 ln 4) / ln 2
    assert found.entropy == pytest.approx((0.75 * log(4 / 3) + 0.25 * log(4)) / log(2), abs=1e-12)


@pytest.mark.parametrize("counts", [(5, 3, 2), (1, 1, 1, 1), (9, 1)])
def test_the_entropy_is_that_of_scipy_over_an_even_spread_s(counts):
    """entropy(counts, base=k), scipy.stats."""
    domains = [f"d{group}" for group, count in enumerate(counts) for _ in range(count)]
    assert spread(domains, "domain")[0].entropy == pytest.approx(entropy(counts, base=len(counts)), abs=1e-12)


def test_a_set_is_clustered_from_the_limit_on():
    domains = ["law", "law", "law", "history"]
    assert spread(domains, "domain", limit=Fraction(3, 4))[0].clustered
    assert not spread(domains, "domain", limit=Fraction(751, 1000))[0].clustered


def test_tuples_without_the_field_are_a_group_of_their_own():
    by_domain, by_year = spread(["", "", "law"], "domain", "year")
    assert (by_domain.counts, by_domain.unnamed, by_domain.largest) == ({"law": 1}, 2, "")
    assert by_domain.largest_share == Fraction(2, 3)
    assert (by_year.counts, by_year.unnamed, by_year.largest_share, by_year.clustered) == ({}, 3, 1, True)


def test_one_group_has_no_entropy():
    assert spread(["law"] * 3, "domain")[0].entropy is None


def test_the_bundled_set_is_clustered_in_no_field_that_the_bundled_plan_names(shipped):
    found = concentrations(read_gold(bundled("gold")), shipped.intake)
    assert [one.field for one in found] == ["domain", "challenge"]
    assert not any(one.clustered or one.unnamed for one in found)
