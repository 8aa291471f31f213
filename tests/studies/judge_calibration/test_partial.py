"""Parts are matched by a maximum matching: no order of them, and no whole claim said twice, decides."""

from itertools import permutations

from eval_pipeline.judge.claims import SubClaim
from eval_pipeline.records import Alignment
from eval_pipeline.studies.judge_calibration.gold import ExpectedSubClaim
from eval_pipeline.studies.judge_calibration.partial import covers

YES, NO = Alignment.SUPPORTED, Alignment.UNSUPPORTED


def part(text, verdict):
    return SubClaim(sub_claim_text=text, sub_verdict=verdict)


def expected(verdict, *tokens):
    return ExpectedSubClaim(tokens, verdict)


def test_a_part_that_could_stand_for_two_leaves_the_other_to_the_part_that_can_only_stand_for_it():
    """Taken one after the other, the first part would take the place that the second alone can fill."""
    wanted = (expected(YES, "sales"), expected(YES, "profit"))
    items = (part("sales rose", YES), part("profit rose", YES))
    same_words = (expected(NO, "rose", "sales"), expected(NO, "rose", "costs"))
    for order in permutations(items):
        assert covers(order, wanted)
    assert not covers([part("sales rose", NO), part("sales rose", NO)], same_words)


def test_letters_of_either_case_are_the_same_and_the_verdict_must_be_right():
    wanted = (expected(YES, "Sales", "12%"), expected(NO, "staff"))
    assert covers([part("SALES ROSE 12%", YES), part("The Staff doubled", NO)], wanted)
    assert not covers([part("SALES ROSE 12%", NO), part("The Staff doubled", NO)], wanted)
    assert not covers([part("Sales rose", YES), part("The staff doubled", NO)], wanted)


def test_the_whole_claim_said_twice_covers_no_part():
    wanted = (expected(YES, "sales"), expected(NO, "staff"))
    whole = "sales rose and staff doubled"
    assert not covers([part(whole, YES), part(whole, NO)], wanted)


def test_further_parts_do_no_harm():
    wanted = (expected(YES, "sales"), expected(NO, "staff"))
    assert covers([part("it rained", YES), part("sales rose", YES), part("staff doubled", NO)], wanted)
