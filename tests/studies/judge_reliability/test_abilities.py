"""Abilities are counted with one polarity, looked up along the fallback chain, and pooled over claim types."""

import pytest

from eval_pipeline.arms import Arm
from eval_pipeline.studies.judge_reliability.abilities import abilities_of, reliance
from eval_pipeline.studies.judge_reliability.words import Ability, Source, Vote, ability_relied_on
from tests.studies.judge_reliability.made_up import confusion, judgment

SENSITIVITY, SPECIFICITY = Ability


def counts(found):
    return {(one.claim_type, one.ability): (one.posterior.right, one.posterior.n) for one in found.cells}


def test_each_vote_counts_for_what_it_says():
    """Of claims that hold, PASS and SPEC-COMPLETE are right; of claims that fail, FAIL alone; open votes of neither."""
    assert [ability_relied_on(vote) for vote in Vote] == [SENSITIVITY, SENSITIVITY, *[SPECIFICITY] * 3]


@pytest.mark.parametrize(
    ("vote", "of_holds", "of_fails"),
    [("PASS", 1, 0), ("SPEC-COMPLETE", 1, 0), ("NEEDS-RUNTIME", 0, 0), ("INCONCLUSIVE", 0, 0), ("FAIL", 0, 1)],
)
def test_a_vote_is_right_of_one_truth_at_most(plan, vote, of_holds, of_fails):
    found = counts(abilities_of([judgment("a", vote, "HOLDS"), judgment("b", vote, "FAILS")], plan))
    assert found == {("arithmetic", SENSITIVITY): (of_holds, 1), ("arithmetic", SPECIFICITY): (of_fails, 1)}


def test_judgments_without_a_vote_or_a_truth_are_in_no_ability(plan):
    rows = [judgment("a", "PASS", "HOLDS"), judgment("b", None, "HOLDS"), judgment("c", "PASS", None)]
    assert counts(abilities_of(rows, plan))["arithmetic", SENSITIVITY] == (1, 1)
    assert abilities_of(rows[1:], plan).cells == ()


def rows_of(types, judge="one"):
    return [
        row.model_copy(update={"claim_id": f"{name}{number}"})
        for name, cells in types.items()
        for number, row in enumerate(confusion(*cells, claim_type=name, judge_name=judge))
    ]


def test_the_chain_is_followed_for_each_vote(plan):
    """In `large` both abilities persist; in `thin` the judge's own over all types stand in; of others the prior."""
    found = abilities_of(rows_of({"large": (60, 0, 10, 50), "thin": (3, 2, 1, 1)}), plan)
    maps = reliance(found)
    assert {(one.claim_type, one.source) for one in found.cells} == {
        ("large", Source.CELL),
        ("thin", Source.JUDGE_GLOBAL),
    }
    # Modes: (7 + 60 - 1) / (70 - 2), (7 + 63 - 1) / (75 - 2), (7 + 11 - 1) / (72 - 2).
    assert maps.calibrated("chat/one", "large", SENSITIVITY, Arm.TREATMENT) == pytest.approx(66 / 68)
    assert maps.calibrated("chat/one", "thin", SENSITIVITY, Arm.TREATMENT) == pytest.approx(69 / 73)
    assert maps.calibrated("chat/one", "thin", SPECIFICITY, Arm.TREATMENT) == pytest.approx(17 / 70)
    assert maps.calibrated("chat/one", "new", SENSITIVITY, Arm.TREATMENT) == pytest.approx(69 / 73)
    assert maps.calibrated("chat/nobody", "large", SENSITIVITY, Arm.TREATMENT) == 0.75
    assert maps.calibrated("chat/one", "large", SENSITIVITY, Arm.CONTROL) == 0.75
    for cell in found.cells:
        assert maps.calibrated(cell.judge, cell.claim_type, cell.ability, Arm.TREATMENT) == cell.reliability


def test_the_pooled_estimate_lies_between_a_thin_cell_and_the_others(plan):
    found = abilities_of(rows_of({"a": (90, 10, 0, 0), "b": (85, 15, 0, 0), "thin": (1, 3, 0, 0)}), plan)
    (thin,) = (one for one in found.cells if one.claim_type == "thin" and one.ability is SENSITIVITY)
    assert 1 / 4 < thin.pooled_mean < 0.85
    assert thin.pooled_interval.low < thin.pooled_mean < thin.pooled_interval.high
    maps = reliance(found)
    assert maps.pooled("chat/one", "thin", SENSITIVITY, Arm.TREATMENT) == thin.pooled_mean
    overall = next(one for one in found.overall if one.ability is SENSITIVITY)
    assert maps.pooled("chat/one", "new", SENSITIVITY, Arm.TREATMENT) == overall.pooled_centre
    assert maps.pooled("chat/one", "thin", SENSITIVITY, Arm.CONTROL) == 0.75
    assert maps.pooled("chat/nobody", "thin", SENSITIVITY, Arm.TREATMENT) == 0.75


def test_an_ability_that_no_claim_tried_is_the_prior_s(plan):
    found = abilities_of(confusion(30, 0, 0, 0), plan)
    (blank,) = (one for one in found.cells if one.ability is SPECIFICITY)
    assert (blank.posterior.n, blank.source, blank.reliability) == (0, Source.PRIOR, 0.75)
    assert blank.pooled_mean == pytest.approx(0.7, abs=1e-6)


def test_judges_of_one_name_and_two_kinds_are_two(plan):
    rows = [judgment("a", "PASS", "HOLDS"), judgment("a", "FAIL", "HOLDS", judge_kind="rules")]
    assert {one.judge for one in abilities_of(rows, plan).cells} == {"chat/one", "rules/one"}
