"""What is known of a judge's errors, which estimate decides by it, and how many labels would decide."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from zlib import crc32

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.human_check.sheet import Said
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Reason
from eval_pipeline.studies.extraction.correction.estimates import Estimator
from eval_pipeline.studies.extraction.correction.findings import Correction, correction_of
from eval_pipeline.studies.extraction.gold_claims import GoldErrors, gold_claims
from eval_pipeline.studies.extraction.plan import Strategy
from eval_pipeline.studies.judge_calibration.gold import read_gold
from tests.studies.extraction.people import (
    Run,
    asked_gold,
    check_by,
    erring,
    gold_of,
    place_of,
    ran,
    truth_of,
    with_spans,
)

TRUE, ALL = (4, 3, 3, 2), (5, 5, 5, 5)
ERRORS = {"misses": {"1.0", "4.0"}, "invents": {"2.3", "3.3", "4.2"}}
GOLD = gold_of(20, 20)
BARS = [Fraction(n, 20) for n in range(1, 20)]


@pytest.fixture(scope="session")
def model(scripted):
    return lambda says, **about: scripted(says, standing=Standing.UNCALIBRATED, **about)


@pytest.fixture(scope="session")
def plan(lenient, amended):
    """With as few resamples as a plan may ask for; no number here rests on them."""
    return amended(lenient, judging={"strategy": Strategy.NO_SCREEN}, bootstrap={"resamples": 100})


@pytest.fixture(scope="session")
def alike(counted, world_of):
    """Ten notes with spans, in each of which the same is recovered: 12 of 20."""
    return world_of(with_spans(counted(f"e{k}", TRUE, ALL), supported=k != 4) for k in range(10))


@pytest.fixture(scope="session")
def run(alike, plan, model):
    """A judge that errs here, and was asked about the gold set, where it errs on 2 of 20 and on 4 of 20."""
    says = asked_gold(erring(alike, **ERRORS), GOLD, wrong={0, 1, 20, 21, 22, 23})
    return ran(alike, plan, model(says), GOLD)


@pytest.fixture(scope="session")
def check(run, alike):
    return check_by(run.sheet(), truth_of(alike))


def under(run, amended, **changes):
    """The run as it would be decided under other rules."""
    return replace(run, plan=amended(run.plan, **changes))


DECIDES = {
    ("raw", "nothing"): Estimator.RAW,
    ("raw", "check"): Estimator.RAW,
    ("raw", "gold"): Estimator.RAW,
    ("raw", "both"): Estimator.RAW,
    ("human_check", "nothing"): Estimator.RAW,
    ("human_check", "check"): Estimator.POST_STRATIFIED,
    ("human_check", "gold"): Estimator.RAW,
    ("human_check", "both"): Estimator.POST_STRATIFIED,
    ("gold", "nothing"): Estimator.RAW,
    ("gold", "check"): Estimator.RAW,
    ("gold", "gold"): Estimator.RATIO_BY_GOLD,
    ("gold", "both"): Estimator.RATIO_BY_GOLD,
}


@pytest.mark.parametrize(("decides", "evidence"), DECIDES)
def test_the_plan_says_which_estimate_decides_if_there_is_evidence_for_it(run, check, amended, decides, evidence):
    judged = under(run, amended, calibration={"decides": decides})
    judged = judged if evidence in ("gold", "both") else replace(judged, gold=())
    found = judged.seen(check if evidence in ("check", "both") else None).correction
    assert found.decides is DECIDES[decides, evidence]
    assert (found.corrected is None) is (found.decides is Estimator.RAW)
    assert found.corrected is None or found.corrected.estimator is found.decides
    assert (found.check is not None, found.gold is not None) == (
        evidence in ("check", "both"),
        evidence in ("gold", "both"),
    )
    by_people = found.decides_precision is Estimator.POST_STRATIFIED
    assert by_people is (decides == "human_check" and evidence in ("check", "both"))


def test_whatever_decides_all_that_was_estimated_stands_beside_it(run, check, amended):
    """In the same order and with the same numbers; the first is uncorrected."""
    found = [
        under(run, amended, calibration={"decides": decides}).seen(check) for decides in ("raw", "human_check", "gold")
    ]
    estimates = [one.correction.estimates for one in found]
    assert estimates[0] == estimates[1] == estimates[2]
    assert [one.estimator for one in estimates[0]] == list(Estimator)


def test_a_check_is_described_by_what_it_holds_and_how_people_and_judge_part(run, check):
    """Two of ten notes of 20 propositions and a span: of 12 that people support the judge misses 2, and it makes up 3
    of the 8 others. Drawn are e1 and e4, and the span of e4 does not support its signal, as the judge says."""
    facts = run.seen(check).correction.check
    assert facts.hash == check.hash
    assert (facts.raters, facts.items, facts.unsure, facts.settled) == (("anna",), 42, 0, 0)
    assert (facts.entries, facts.propositions, facts.spans, facts.agreement) == (2, 40, 2, None)
    assert [tuple(row.values()) for row in facts.against] == [
        ("proposition", False, False, 10),
        ("proposition", False, True, 6),
        ("proposition", True, False, 4),
        ("proposition", True, True, 20),
        ("span", False, False, 1),
        ("span", True, True, 1),
    ]


def test_two_people_are_described_with_their_agreement(run, alike):
    truth = truth_of(alike)
    second = check_by(
        run.sheet(), truth, lambda item: Said.UNSURE if place_of(item.hypothesis) == "1.0" else truth(item)
    )
    facts = run.seen(second).correction.check
    assert (facts.raters, facts.settled, facts.agreement) == (("anna", "ben"), 2, second.agreement)
    assert (facts.agreement.items, facts.agreement.same) == (42, 40)


def test_what_people_are_unsure_of_counts_as_an_item_and_not_as_a_label(run, alike):
    truth = truth_of(alike)
    unsure = check_by(run.sheet(), lambda item: Said.UNSURE if item.hypothesis == "e1 tells 1.0" else truth(item))
    facts = run.seen(unsure).correction.check
    assert (facts.items, facts.unsure, facts.entries, facts.propositions) == (42, 1, 2, 39)


def test_a_check_that_may_not_be_rested_on_leaves_its_reason_and_no_number(run, check, amended):
    found = under(run, amended, human_check={"raters": 2}).seen(check).correction
    assert found.refusal.reason is Reason.UNDERPOWERED
    assert (found.check, found.precision, found.decides) == (None, None, Estimator.RAW)
    assert [one.estimator for one in found.estimates] == [Estimator.RAW, Estimator.RATIO_BY_GOLD]


def test_the_errors_on_the_gold_set_by_hand(alike, plan, model):
    """Of 20 that are supported two gave no label and the judge missed 3; of 20 others it supported 1."""
    says = asked_gold(erring(alike, **ERRORS), GOLD, wrong={0, 1, 2, 30}, unread={18, 19})
    found = ran(alike, plan, model(says), GOLD).seen().correction.gold
    assert found == GoldErrors(18, 3, 20, 1, unread=2, unasked=0)
    assert found.labelled == 38


def test_a_judge_that_was_not_asked_about_the_gold_set_has_no_errors_there(alike, plan, run, scripted):
    """People's labels are asked nothing beside the study; and a gold set may be there and not be asked about."""
    oracle = ran(alike, plan, scripted(alike.says), GOLD).seen()
    assert (oracle.correction.gold, len(oracle.correction.estimates)) == (None, 1)
    assert oracle.document["findings"]["correction"]["gold"] is None
    unasked = replace(run, judged=ran(alike, plan, scripted(alike.says, standing=Standing.UNCALIBRATED)).judged)
    assert unasked.seen().correction.gold is None
    assert unasked.seen().recall.detail.endswith("the judge's own error rates were never measured")


def test_what_ends_the_judging_within_the_gold_set_leaves_what_was_asked(alike, plan, model):
    """200 propositions, 10 spans and 7 of 40 gold claims; the study itself is whole."""
    says = asked_gold(alike.says, GOLD, wrong={1})
    seen = ran(alike, plan, model(says, down_after=217), GOLD).seen()
    assert seen.correction.gold == GoldErrors(7, 1, 0, 0, unread=0, unasked=33)
    assert seen.evidence.judged.refusal is None
    assert seen.correction.of(Estimator.RATIO_BY_GOLD).pooled.withheld is not None
    assert seen.correction.decides is Estimator.RAW


@pytest.mark.parametrize(("down_after", "decides"), [(235, Estimator.RAW), (250, Estimator.RATIO_BY_GOLD)])
def test_a_gold_set_that_was_asked_in_part_decides_nothing(alike, plan, amended, model, down_after, decides):
    """Of 20 and 20 claims 25 are asked, of either kind some, so that there is an estimate; or all are."""
    says = asked_gold(alike.says, GOLD, wrong={1, 22})
    by_gold = amended(plan, calibration={"decides": "gold"})
    found = ran(alike, by_gold, model(says, down_after=down_after), GOLD).seen().correction
    assert found.of(Estimator.RATIO_BY_GOLD).pooled.estimate is not None
    assert (found.gold.unasked, found.decides) == (250 - down_after, decides)


def test_a_gold_set_of_which_no_answer_could_be_read_measured_nothing(alike, plan, model):
    seen = ran(alike, plan, model(asked_gold(alike.says, GOLD, wrong=(), unread=range(40))), GOLD).seen()
    assert (seen.correction.gold.unread, seen.correction.gold.labelled) == (40, 0)
    assert seen.recall.detail.endswith("the judge's own error rates were never measured")


def test_of_the_gold_set_only_claims_with_a_passage_are_asked(bundled_gold):
    claims = gold_claims(bundled_gold)
    asked = [item for item in bundled_gold.alignment if item.excerpt and item.expected != "RETRIEVAL_FAILED"]
    assert len(claims) == len(asked) > 100
    assert [claim.supported for claim in claims] == [item.expected == "SUPPORTED" for item in asked]
    assert len({claim.entry_id for claim in claims}) == len(claims)


@pytest.fixture(scope="session")
def bundled_gold():
    return read_gold(bundled("gold"))


def test_a_judge_no_better_than_chance_on_the_gold_set_decides_by_saying_nothing(alike, plan, amended, model):
    says = asked_gold(erring(alike, **ERRORS), GOLD, wrong=set(range(10)) | set(range(20, 30)))
    judged = ran(alike, amended(plan, calibration={"decides": "gold"}), model(says), GOLD)
    found = judged.seen().correction
    assert (found.decides, found.corrected.pooled.too_poor) == (Estimator.RATIO_BY_GOLD, True)
    assert found.corrected.pooled.estimate is None


def test_a_gold_set_that_does_not_measure_both_errors_decides_nothing(alike, plan, amended, model):
    gold = gold_of(5, 0)
    judged = ran(
        alike, amended(plan, calibration={"decides": "gold"}), model(asked_gold(alike.says, gold, wrong=())), gold
    )
    assert judged.seen().correction.decides is Estimator.RAW


@pytest.fixture(scope="session")
def wide(counted, world_of, plan, model):
    """Twenty notes of which more or less is lost, and a judge that errs on some: four of them are checked."""
    world = world_of(counted(f"e{k:02d}", (4, k % 5, 3, (k + 2) % 4), (4, 4, 4, 4)) for k in range(20))
    return ran(world, plan, model(erring(world, misses={"1.0", "4.1"}, invents={"2.3"})))


@pytest.fixture(scope="session")
def noisy(counted, world_of, plan, model):
    """Seven notes of which people would find 3 of 5 in each quarter; the judge turns a third of it, by lot."""
    world = world_of(counted(f"e{k}", (3, 3, 3, 3), ALL) for k in range(7))
    turned = {"SUPPORTED": "NOT_SUPPORTED", "NOT_SUPPORTED": "SUPPORTED"}

    def says(question):
        return world.says(question) if crc32(question.hypothesis.encode()) % 3 else turned[world.says(question)]

    return ran(world, plan, model(says))


@dataclass(frozen=True)
class Straddling:
    """The corrections of a checked run under bars from .05 to .95, of recall and of the bound alike."""

    run: Run
    by_bar: dict[Fraction, Correction]


@pytest.fixture(scope="session", params=["wide-entries", "wide-judgments", "noisy-entries", "noisy-judgments"])
def straddling(request, amended):
    which, draw = request.param.split("-")
    run = under(request.getfixturevalue(which), amended, human_check={"draw": draw})
    check, evidence = check_by(run.sheet(), truth_of(run.world)), run.seen().evidence

    def correction(bar):
        plan = amended(run.plan, claims={"recall_at_least": bar, "bound_at_most": bar})
        fixed = (run.every, None, None, evidence.recall, evidence.uniformity, check, ())
        return correction_of(*fixed, plan, judge=run.judged.fingerprint)

    return Straddling(run, {bar: correction(bar) for bar in BARS})


def reach_of(cell, bar):
    """How far an interval goes from its estimate to the side on which the bar lies, as it is seen from `bar`."""
    return cell.estimate - cell.low if bar == "below" else cell.high - cell.estimate


def test_labels_are_asked_for_where_the_interval_straddles_the_bar_and_nowhere_else(straddling):
    asked = []
    for bar, found in straddling.by_bar.items():
        pooled, bound = found.corrected.pooled, found.corrected.bound
        assert (found.recall_needs is not None) == (pooled.low < bar <= pooled.high)
        assert (found.uniformity_needs is not None) == (bound.estimate < bar < bound.high)
        asked.append(found.recall_needs is not None)
    assert 0 < sum(asked) < len(asked)


def test_more_labels_are_needed_than_there_are_or_the_interval_would_stand_clear(straddling):
    run = straddling.run
    by_entry = run.plan.human_check.draw == "entries"
    unit, there = ("entries", len(run.frame.entries)) if by_entry else ("propositions", len(run.frame.units))
    for found in straddling.by_bar.values():
        for needs in filter(None, (found.recall_needs, found.uniformity_needs)):
            assert (needs.unit, needs.labelled) == (unit, getattr(found.check, unit))
            assert needs.needed > needs.labelled
            assert needs.beyond is (needs.needed > there)


def test_a_judge_that_only_adds_its_noise_does_not_make_labels_superfluous(noisy, amended):
    """Where the bar lies between what labels alone reach and what they correct, labels alone would be enough now."""
    check = check_by(noisy.sheet(), truth_of(noisy.world))
    found = noisy.seen(check).correction
    alone, corrected = found.of(Estimator.PEOPLE_ALONE).pooled, found.corrected.pooled
    reaches = reach_of(alone, "above"), reach_of(corrected, "above")
    assert reaches[0] < reaches[1]
    bar = Fraction(corrected.estimate + sum(reaches) / 2).limit_denominator(1000)
    needs = under(noisy, amended, claims={"recall_at_least": bar}).seen(check).correction.recall_needs
    assert needs.needed > needs.labelled == 2


def test_where_nobody_saw_what_the_judge_turned_down_recall_is_not_corrected(counted, world_of, plan, amended, model):
    """Of two checked notes people support all, as the judge does: of what it turned away elsewhere nothing is known."""
    world = world_of(counted(f"e{k}", [4] * 4 if k in (1, 4) else [2] * 4, (4, 4, 4, 4)) for k in range(10))
    run = ran(world, amended(plan, claims={"recall_at_least": Fraction(97, 100)}), model(world.says))
    found = run.checked().correction
    assert found.of(Estimator.PEOPLE_ALONE).pooled.estimate == 1
    assert "called not supported was checked" in found.of(Estimator.POST_STRATIFIED).pooled.withheld
    assert (found.decides, found.corrected, found.recall_needs) == (Estimator.RAW, None, None)


def test_the_labels_needed_by_hand(straddling):
    """Of judgments, each label being worth the same: a reach of r falls to d with (r / d) squared times as many.

    Of m entries of K labels alone reach a / sqrt(m), and the judge takes away the same part R of what it could take:
    r^2 = a^2 / m (1 - R (1 - m / K)), which falls with m. The fewest are tried out one by one.
    """
    tried = 0
    for bar, found in straddling.by_bar.items():
        needs, pooled, every = found.recall_needs, found.corrected.pooled, len(straddling.run.frame.entries)
        if needs is None or needs.beyond:
            continue
        side, distance = "below" if pooled.estimate >= bar else "above", abs(pooled.estimate - bar)
        reach = reach_of(pooled, side)
        tried += 1
        if needs.unit == "propositions":
            assert needs.needed == math.ceil(needs.labelled * (reach / distance) ** 2)
            continue
        alone = max(reach, reach_of(found.of(Estimator.PEOPLE_ALONE).pooled, side))
        part = min((1 - (reach / alone) ** 2) / (1 - needs.labelled / every), 1)
        squares = [alone**2 * needs.labelled / m * (1 - part * (1 - m / every)) for m in range(1, every + 1)]
        assert squares[needs.labelled - 1] == pytest.approx(reach**2)
        assert needs.needed == next(m for m, square in enumerate(squares, 1) if square <= distance**2)
    assert tried > 0


def test_no_labels_are_asked_for_where_they_do_not_decide(wide, run, check, amended):
    """Without a check, where the uncorrected estimate decides, and where that by the gold set does."""
    bar = {"recall_at_least": Fraction(13, 20)}
    unchecked = under(wide, amended, claims=bar)
    assert unchecked.seen().correction.recall_needs is None
    raw = under(unchecked, amended, calibration={"decides": "raw"})
    assert raw.seen(check_by(raw.sheet(), truth_of(raw.world))).correction.recall_needs is None
    by_gold = under(run, amended, claims=bar, calibration={"decides": "gold"}).seen(check).correction
    assert by_gold.corrected.pooled.low < 0.65 <= by_gold.corrected.pooled.high
    assert (by_gold.recall_needs, by_gold.uniformity_needs) == (None, None)


def test_an_estimate_on_the_bar_is_settled_by_no_number_of_labels(run, check, amended):
    found = under(run, amended, claims={"recall_at_least": Fraction(3, 5)}).seen(check).correction
    assert found.corrected.pooled.estimate == pytest.approx(0.6, abs=1e-12)
    assert found.corrected.pooled.low < 0.6 < found.corrected.pooled.high
    assert found.recall_needs is None
