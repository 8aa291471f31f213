"""Each expected part needs a part of its own that says it alone: no order, and no whole claim said twice, decides."""

import random
from itertools import permutations

from eval_pipeline.judge.claims import SubClaim
from eval_pipeline.records import Alignment
from eval_pipeline.studies.judge_calibration.gold import ExpectedSubClaim
from eval_pipeline.studies.judge_calibration.partial import covers, is_hit

YES, NO = Alignment.SUPPORTED, Alignment.UNSUPPORTED


def part(text, verdict):
    return SubClaim(sub_claim_text=text, sub_verdict=verdict)


def expected(verdict, *tokens):
    return ExpectedSubClaim(tokens, verdict)


def test_no_order_of_the_parts_or_of_what_is_expected_decides():
    wanted = (expected(YES, "sales"), expected(YES, "profit"), expected(NO, "staff"))
    items = (part("sales rose", YES), part("profit rose", YES), part("staff doubled", NO), part("it rained", YES))
    for order in permutations(items):
        for of in permutations(wanted):
            assert covers(order, of)
            assert not covers(order[:2], of)


def test_one_part_stands_for_one_expected_part_alone():
    wanted = (expected(NO, "rose", "sales"), expected(NO, "rose", "costs"))
    assert covers([part("sales rose", NO), part("costs rose", NO)], wanted)
    assert not covers([part("sales rose", NO), part("sales rose", NO)], wanted)
    assert not covers([], wanted)


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


def test_every_way_of_giving_parts_out_agrees_with_the_matching():
    """Over 300 made-up breakdowns: covered, where some order of parts says all that is expected, each for its own."""
    rng, words, seen = random.Random(7), ["sales", "profit", "staff", "rose"], set()
    for _ in range(300):
        wanted = [expected(rng.choice([YES, NO]), *rng.sample(words, rng.randint(1, 2))) for _ in range(2)]
        items = [part(" ".join(rng.sample(words, rng.randint(1, 3))), rng.choice([YES, NO])) for _ in range(4)]

        def says(item, one, wanted=wanted):
            held = [set(two.key_tokens) <= set(item.sub_claim_text.split()) for two in wanted]
            return item.sub_verdict is one.verdict and sum(held) == 1 and held[wanted.index(one)]

        some_way = any(all(map(says, order, wanted)) for order in permutations(items, 2))
        assert covers(items, wanted) is some_way
        seen.add(some_way)
    assert seen == {True, False}


def test_a_hit_needs_the_label_two_parts_and_one_verdict_of_either_side():
    wanted = (expected(YES, "sales"), expected(NO, "staff"))
    right = [part("sales rose", YES), part("staff doubled", NO)]
    doubtful = (expected(YES, "sales"), expected(Alignment.AMBIGUOUS, "staff"))
    assert is_hit(NO, right, wanted)
    assert is_hit(NO, [right[0], part("staff doubled", Alignment.AMBIGUOUS)], doubtful)
    assert not is_hit(NO, [right[0], part("staff doubled", Alignment.AMBIGUOUS)], wanted)
    for label in (YES, Alignment.AMBIGUOUS, Alignment.RETRIEVAL_FAILED, None):
        assert not is_hit(label, right, wanted)
    for broken in (None, [], right[:1], [right[0], right[0]], [right[1], right[1]]):
        assert not is_hit(NO, broken, ())
    assert not is_hit(NO, [right[0], part("staff doubled", Alignment.RETRIEVAL_FAILED)], ())
