"""Recall comes back from a judge's planted errors to the truth: in all, by quartile, and from the first to the last.

In the world of most tests every note is alike: 5 propositions a quarter, of which 4, 3, 3 and 2 are recovered, so that
recall is .6 and falls by .4. The judge misses one in quarters 1 and 4 and makes one up in quarters 2, 3 and 4: it says
3, 4, 4 and 2 of 5, a recall of .65 that falls by .2. Whichever notes are checked, they show its errors as they are.
"""

from fractions import Fraction

import numpy as np
import pytest

from eval_pipeline.human_check.sheet import Said
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.studies.extraction.correction.checking import drawn_sheet
from eval_pipeline.studies.extraction.correction.estimates import Estimator, corrected_precision, estimates_by_check
from eval_pipeline.studies.extraction.plan import Strategy
from tests.studies.extraction.people import (
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
RECOVERED = {f"e{k} tells {q}.{place}" for k in range(10) for q, hits in enumerate(TRUE, 1) for place in range(hits)}
BY_PEOPLE = (Estimator.PEOPLE_ALONE, Estimator.POST_STRATIFIED, Estimator.DIFFERENCE, Estimator.RATIO_BY_CHECK)


@pytest.fixture(scope="session")
def model(scripted):
    return lambda says: scripted(says, standing=Standing.UNCALIBRATED)


@pytest.fixture(scope="session")
def lenient(lenient, amended):
    """As few resamples as a plan may ask for."""
    return amended(lenient, bootstrap={"resamples": 100})


@pytest.fixture(scope="session")
def alike(counted, world_of):
    return world_of(counted(f"e{k}", TRUE, ALL) for k in range(10))


@pytest.fixture(scope="session")
def various(counted, world_of):
    """12 notes of which more or less is lost: of 4 propositions a quarter 4 to 0 are recovered."""
    return world_of(counted(f"e{k:02d}", (4, k % 5, 3, (k + 2) % 4), (4, 4, 4, 4)) for k in range(12))


@pytest.fixture(scope="session")
def by_verdict(lenient, amended):
    return amended(lenient, human_check={"draw": "judgments"})


def numbers(estimates):
    """The recall in all, by quartile, and the loss."""
    cells = (estimates.pooled, *estimates.by_quartile, estimates.first_less_last)
    return [cell.estimate for cell in cells]


def test_uncorrected_it_is_what_the_judge_says(alike, lenient, model):
    found = ran(alike, lenient, model(erring(alike, **ERRORS))).seen().correction
    assert [one.estimator for one in found.estimates] == [Estimator.RAW]
    assert numbers(found.estimates[0]) == pytest.approx([0.65, 0.6, 0.8, 0.8, 0.4, 0.2], abs=1e-12)


@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(1, 2)], ids=["2 of 10", "5 of 10"])
@pytest.mark.parametrize("estimator", BY_PEOPLE)
def test_checked_notes_bring_it_back_to_the_truth(alike, lenient, model, share, estimator):
    """The ratio estimator in quarter 1: the judge says 3 of 5; of 4 that are it finds 3, and the 1 that is not it turns
    away, so that it is (3/5 + 1 - 1) / (3/4 + 1 - 1) = 4/5."""
    found = ran(alike, lenient, model(erring(alike, **ERRORS))).checked(share).correction
    assert [one.estimator for one in found.estimates] == [Estimator.RAW, *BY_PEOPLE]
    assert numbers(found.of(estimator)) == pytest.approx([0.6, 0.8, 0.6, 0.6, 0.4, 0.4], abs=1e-12)


@pytest.mark.parametrize("estimator", BY_PEOPLE)
def test_the_bound_lies_above_the_loss_and_every_interval_holds_its_estimate(alike, lenient, amended, model, estimator):
    """Each at the level that the plan has for it."""
    plan = amended(lenient, bootstrap={"level": Fraction(9, 10), "one_sided_level": Fraction(4, 5)})
    one = ran(alike, plan, model(erring(alike, **ERRORS))).checked(Fraction(1, 2)).correction.of(estimator)
    for cell in (one.pooled, *one.by_quartile, one.first_less_last):
        assert cell.low - 1e-9 <= cell.estimate <= cell.high + 1e-9
        assert cell.interval.level == 0.9
    assert (one.bound.estimate, one.bound.low, one.bound.interval.level) == (one.first_less_last.estimate, None, 0.8)
    assert one.bound.estimate - 1e-9 <= one.bound.high <= one.first_less_last.high + 1e-9


def test_the_strata_by_hand(note, world_of, lenient, model):
    """Of 10 notes of 4 propositions the judge calls 26 of 40 supported. The two that are drawn have 4 and 3 of its yes,
    of which 6 are, and 0 and 1 of its no, which is: 26/40 x 6/7 + 14/40 x 1/1."""
    says_yes = {f"e{k}": {1: 4, 4: 3, 0: 3, 2: 3, 3: 3}.get(k, 2) for k in range(10)}

    def says(question):
        quartile = int(place_of(question.hypothesis))
        return "SUPPORTED" if quartile <= says_yes[question.entry_id] else "NOT_SUPPORTED"

    world = world_of(note(f"e{k}", {f"s{k}": []}, [(q, f"e{k} tells {q}") for q in (1, 2, 3, 4)]) for k in range(10))
    run = ran(world, lenient, model(says))
    sheet = run.sheet()
    assert {one.entry_id for one in run.every if one.key in sheet.drawn} == {"e1", "e4"}
    check = check_by(sheet, lambda item: Said.NOT_SUPPORTED if item.hypothesis == "e1 tells 1" else Said.SUPPORTED)
    found = run.seen(check).correction
    assert found.estimates[0].pooled.estimate == pytest.approx(26 / 40, abs=1e-12)
    expected = 26 / 40 * 6 / 7 + 14 / 40
    assert found.of(Estimator.POST_STRATIFIED).pooled.estimate == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("estimator", BY_PEOPLE)
def test_everything_checked_gives_the_recall_of_the_people(various, lenient, model, estimator):
    """Whatever the judge said. By hand: 12 x 4 in quarter 1; 0 to 4 by fives, 21; 12 x 3; and 18: 123 of 192."""
    says = erring(various, misses={"1.0", "1.1", "2.0"}, invents={"3.3", "4.3"})
    one = ran(various, lenient, model(says)).checked(Fraction(1)).correction.of(estimator)
    if estimator is Estimator.RATIO_BY_CHECK:  # nothing in quarter 1 is unsupported, so that it cannot say there
        assert one.pooled.estimate == pytest.approx(123 / 192, abs=1e-12)
        assert one.by_quartile[0].withheld is not None
        return
    assert numbers(one) == pytest.approx([123 / 192, 1, 21 / 48, 36 / 48, 18 / 48, 30 / 48], abs=1e-12)


def test_everything_checked_leaves_the_interval_of_the_people(various, lenient, model):
    says = erring(various, misses={"1.0", "1.1", "2.0"}, invents={"3.3", "4.3"})
    found = ran(various, lenient, model(says)).checked(Fraction(1)).correction
    alone, difference = found.of(Estimator.PEOPLE_ALONE), found.of(Estimator.DIFFERENCE)
    assert (difference.pooled, difference.bound, difference.by_quartile) == (
        alone.pooled,
        alone.bound,
        alone.by_quartile,
    )


@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(1, 2), Fraction(1)])
def test_a_perfect_judge_is_left_as_it_is(various, lenient, model, share):
    found = ran(various, lenient, model(various.says)).checked(share).correction
    raw = numbers(found.estimates[0])
    assert raw[0] == pytest.approx(123 / 192, abs=1e-12)
    assert numbers(found.of(Estimator.POST_STRATIFIED)) == pytest.approx(raw, abs=1e-12)
    assert found.of(Estimator.RATIO_BY_CHECK).pooled.estimate == pytest.approx(raw[0], abs=1e-12)


def test_a_judge_that_says_yes_to_all_is_what_the_people_say(various, lenient, model):
    found = ran(various, lenient, model(lambda question: "SUPPORTED")).checked(Fraction(1, 2)).correction
    assert found.estimates[0].pooled.estimate == 1
    alone, corrected = (numbers(found.of(one)) for one in (Estimator.PEOPLE_ALONE, Estimator.POST_STRATIFIED))
    assert corrected == pytest.approx(alone, abs=1e-12)
    assert found.of(Estimator.RATIO_BY_CHECK).pooled.too_poor


def test_what_the_judge_left_undecided_is_corrected_with_the_rest(alike, lenient, model):
    """The one that it missed in quarter 1 it now cannot say: uncorrected, that is left out, 3 of 4 and 13 of 19."""
    says = erring(alike, misses={"4.0"}, invents=ERRORS["invents"], unread={"1.0"})
    found = ran(alike, lenient, model(says)).checked().correction
    raw = numbers(found.estimates[0])
    assert (raw[0], raw[1]) == (pytest.approx(13 / 19, abs=1e-12), 0.75)
    for estimator in BY_PEOPLE:
        assert numbers(found.of(estimator)) == pytest.approx([0.6, 0.8, 0.6, 0.6, 0.4, 0.4], abs=1e-12)


def test_what_the_screen_turns_away_wrongly_is_corrected_too(note, world_of, lenient, model):
    """Of 2 signals the second supports the first proposition of each quarter, which the judge sees if asked alone."""
    world = world_of(
        note(
            f"e{k}",
            {f"first of e{k}": [], f"second of e{k}": [f"e{k} tells {q}.0" for q in (1, 2, 3, 4)]},
            [(q, f"e{k} tells {q}.{place}") for q in (1, 2, 3, 4) for place in (0, 1)],
        )
        for k in range(10)
    )

    def says(question):
        blind = isinstance(question.premise, tuple) and place_of(question.hypothesis) in {"1.0", "3.0"}
        return "NOT_SUPPORTED" if blind else world.says(question)

    assert lenient.judging.strategy is Strategy.SCREEN_FIRST
    found = ran(world, lenient, model(says)).checked().correction
    assert numbers(found.estimates[0]) == [0.25, 0, 0.5, 0, 0.5, -0.5]
    assert numbers(found.of(Estimator.POST_STRATIFIED)) == pytest.approx([0.5] * 5 + [0], abs=1e-12)


def test_an_entry_without_signals_counts_as_people_would_count_it(counted, note, world_of, lenient, model):
    """Half of ten notes have none: of 5 x 20 propositions 5 x 12 are recovered, and of 5 x 20 none."""
    mute = [
        note(f"m{k}", {}, [(q, f"m{k} tells {q}.{place}") for q in (1, 2, 3, 4) for place in range(5)])
        for k in range(5)
    ]
    world = world_of([*(counted(f"e{k}", TRUE, ALL) for k in range(5)), *mute])
    found = ran(world, lenient, model(erring(world, **ERRORS))).checked(Fraction(1)).correction
    assert found.of(Estimator.POST_STRATIFIED).pooled.estimate == pytest.approx(60 / 200, abs=1e-12)


def test_what_people_are_unsure_of_is_left_out_and_not_taken_for_a_no(alike, lenient, model):
    run = ran(alike, lenient, model(erring(alike, **ERRORS)))
    truth = truth_of(alike)
    unsure = {"2.0", "3.1"}  # among the 12 of 13 that the judge rightly calls supported, and that people do
    sheet = run.sheet()
    labels = run.labels(check_by(sheet, truth)).propositions
    known = {
        one.unit: None if place_of(one.item.hypothesis) in unsure else labels[one.unit]
        for one in run.every
        if one.unit in labels
    }
    _, corrected, *_ = estimates_by_check(run.every, known, lenient)
    # Of 13 that the judge calls supported 10 are, of 11 with a label 8; of 7 others 2 are.
    assert corrected.pooled.estimate == pytest.approx(13 / 20 * 8 / 11 + 7 / 20 * 2 / 7, abs=1e-12)


def test_labels_of_judgments_drawn_by_verdict_correct_alone(alike, by_verdict, model):
    """People's labels alone, the difference and the ratio take whole notes, and are not to be had."""
    run = ran(alike, by_verdict, model(erring(alike, **ERRORS)))
    found = run.checked(Fraction(1)).correction
    assert [one.estimator for one in found.estimates] == [Estimator.RAW, Estimator.POST_STRATIFIED]
    assert numbers(found.estimates[1]) == pytest.approx([0.6, 0.8, 0.6, 0.6, 0.4, 0.4], abs=1e-12)


def test_a_draw_by_verdict_comes_back_to_the_truth_on_average(alike, by_verdict, model):
    """Over 100 seeds, of a fifth of each verdict and quarter; what is drawn of one differs from seed to seed."""
    run = ran(alike, by_verdict, model(erring(alike, **ERRORS)))
    truth = {one.key: one.item.hypothesis in RECOVERED for one in run.every}
    found = []
    for seed in range(100):
        plan = by_verdict.model_copy(update={"seed": seed})
        drawn = set(drawn_sheet(run.every, plan, share=Fraction(1, 5), seal="", judge="").drawn)
        known = {one.unit: truth[one.key] for one in run.every if one.key in drawn}
        found.append(numbers(estimates_by_check(run.every, known, by_verdict)[0]))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / 10
    assert (np.abs(means - [0.6, 0.8, 0.6, 0.6, 0.4, 0.4]) < 4 * errors).all()
    assert (errors > 0).all()


def test_without_propositions_nothing_is_corrected(lenient):
    assert estimates_by_check((), {}, lenient) == ()


@pytest.fixture(scope="session")
def without_screen(lenient, amended):
    return amended(lenient, judging={"strategy": Strategy.NO_SCREEN})


def test_the_ratio_by_a_gold_set_by_hand(alike, without_screen, model):
    """On 20 gold claims that are supported the judge errs twice, and on 20 that are not 4 times: .9 and .8. Of the .65
    that it says here (.65 + .8 - 1) / (.9 + .8 - 1) are, whatever its errors here may be."""
    gold = gold_of(20, 20)
    says = asked_gold(erring(alike, **ERRORS), gold, wrong={0, 1, 20, 21, 22, 23})
    found = ran(alike, without_screen, model(says), gold).seen().correction
    assert [one.estimator for one in found.estimates] == [Estimator.RAW, Estimator.RATIO_BY_GOLD]
    corrected = [(said + 0.8 - 1) / 0.7 for said in (0.65, 0.6, 0.8, 0.8, 0.4)]
    assert numbers(found.estimates[1]) == pytest.approx([*corrected, 0.2 / 0.7], abs=1e-12)


def test_a_judge_whose_errors_here_are_those_on_the_gold_set_is_corrected_to_the_truth(
    counted, world_of, without_screen, model
):
    """Of 5 in each quarter 4 are recovered and 1 is not; the judge misses 1 of the 4, and 1 of 4 gold claims."""
    world, gold = world_of(counted(f"e{k}", (4, 4, 4, 4), ALL) for k in range(8)), gold_of(16, 4)
    says = asked_gold(erring(world, misses={"1.0", "2.0", "3.0", "4.0"}), gold, wrong=range(4))
    found = ran(world, without_screen, model(says), gold).seen().correction
    assert numbers(found.estimates[0]) == pytest.approx([0.6] * 5 + [0], abs=1e-12)
    assert numbers(found.estimates[1]) == pytest.approx([0.8] * 5 + [0], abs=1e-12)


def test_gold_claims_that_gave_no_label_have_no_part_in_it(alike, without_screen, model):
    gold = gold_of(20, 20)
    says = asked_gold(erring(alike, **ERRORS), gold, wrong={0, 20, 21}, unread=set(range(10, 20)))
    found = ran(alike, without_screen, model(says), gold).seen().correction
    assert found.estimates[1].pooled.estimate == pytest.approx((0.65 + 0.9 - 1) / (0.9 + 0.9 - 1), abs=1e-12)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            set(range(10)) | set(range(20, 30)),
            "a judge of sensitivity 0.5 and specificity 0.5 does no better than chance",
        ),
        (set(range(40)), "a judge of sensitivity 0 and specificity 0 does no better than chance"),
    ],
    ids=["chance", "always wrong"],
)
def test_the_ratio_by_gold_refuses_a_judge_no_better_than_chance(alike, without_screen, model, wrong, said):
    gold = gold_of(20, 20)
    found = ran(alike, without_screen, model(asked_gold(alike.says, gold, wrong=wrong)), gold).seen().correction
    by_gold = found.of(Estimator.RATIO_BY_GOLD)
    for cell in (by_gold.pooled, *by_gold.by_quartile, by_gold.first_less_last, by_gold.bound):
        assert (cell.estimate, cell.interval, cell.too_poor) == (None, None, True)
        assert cell.withheld.startswith(said)


@pytest.fixture(scope="session")
def audited(lenient, amended):
    return amended(lenient, judging={"strategy": Strategy.SCREEN_FIRST, "audited_negatives": 1})


@pytest.fixture(scope="session")
def screened(note, world_of):
    """Ten notes of two signals, the second of which supports one of two propositions of each quarter."""
    return world_of(
        note(
            f"e{k}",
            {f"first of e{k}": [], f"second of e{k}": [f"e{k} tells {q}.0" for q in (1, 2, 3, 4)]},
            [(q, f"e{k} tells {q}.{place}") for q in (1, 2, 3, 4) for place in (0, 1)],
        )
        for k in range(10)
    )


def test_what_the_audit_of_the_screen_found_is_part_of_the_ratio_by_gold(screened, audited, model):
    """The screen turns away 1.0 and 3.0, and the audit finds them; on gold the judge never errs. All are corrected."""

    def says(question):
        blind = isinstance(question.premise, tuple) and place_of(question.hypothesis) in {"1.0", "3.0"}
        return "NOT_SUPPORTED" if blind else screened.says(question)

    gold = gold_of(5, 5)
    found = ran(screened, audited, model(asked_gold(says, gold, wrong=())), gold).seen().correction
    assert numbers(found.estimates[0]) == [0.25, 0, 0.5, 0, 0.5, -0.5]
    assert numbers(found.of(Estimator.RATIO_BY_GOLD)) == pytest.approx([0.5] * 5 + [0], abs=1e-12)


def test_an_audit_that_was_not_seen_to_the_end_is_left_out(screened, audited, model):
    """Of the five of each note that the screen turns away the audit finds one supported, 1.0, and knows nothing of
    2.1: it is one of four. Of 8 a note 3 are recovered, and 5 x 1/4 more are."""

    def says(question):
        alone, place = not isinstance(question.premise, tuple), place_of(question.hypothesis)
        if alone and place == "2.1":
            return "Let me think."
        return "NOT_SUPPORTED" if not alone and place == "1.0" else screened.says(question)

    gold = gold_of(5, 5)
    found = ran(screened, audited, model(asked_gold(says, gold, wrong=())), gold).seen().correction
    assert found.estimates[0].pooled.estimate == 3 / 8
    assert found.of(Estimator.RATIO_BY_GOLD).pooled.estimate == pytest.approx((3 + 5 / 4) / 8, abs=1e-12)


@pytest.mark.parametrize("unreadable", ["undecided", "not_supported"])
def test_what_the_screen_turns_away_and_a_signal_leaves_undecided_is_no_part_of_the_ratio_by_gold(
    screened, lenient, amended, model, unreadable
):
    """The signal that is nearest in words is asked about first, and gives no label; then the screen says no."""
    rules = {"strategy": Strategy.BEST_FIRST, "audited_negatives": 1, "unreadable_signal": unreadable}
    plan, gold = amended(lenient, judging=rules, errors={"at_most": 1}), gold_of(5, 5)

    def says(question):
        alone = not isinstance(question.premise, tuple)
        return "Let me think." if alone and place_of(question.hypothesis) in {"1.1", "2.1"} else screened.says(question)

    found = ran(screened, plan, model(asked_gold(says, gold, wrong=())), gold).seen().correction
    # Of 8 a note 4 are recovered; of the other 4 two are undecided and left out, or count as missed.
    expected = 4 / 6 if unreadable == "undecided" else 4 / 8
    assert found.estimates[0].pooled.estimate == pytest.approx(expected, abs=1e-12)
    assert found.of(Estimator.RATIO_BY_GOLD).pooled.estimate == pytest.approx(expected, abs=1e-12)


def test_a_screen_that_nobody_audited_leaves_nothing_to_correct_by_gold(alike, lenient, model):
    gold = gold_of(5, 5)
    found = ran(alike, lenient, model(asked_gold(erring(alike, **ERRORS), gold, wrong=())), gold).seen().correction
    assert found.of(Estimator.RATIO_BY_GOLD).pooled.withheld.startswith("nothing of what was turned away was audited")


def test_without_negatives_in_the_gold_set_the_errors_are_not_known(alike, without_screen, model):
    gold = gold_of(5, 0)
    found = ran(alike, without_screen, model(asked_gold(alike.says, gold, wrong=())), gold).seen().correction
    cell = found.of(Estimator.RATIO_BY_GOLD).pooled
    assert (cell.estimate, cell.too_poor) == (None, False)
    assert "cannot be measured; check more judgments" in cell.withheld


@pytest.fixture(scope="session")
def inventions(counted, world_of):
    """Ten notes of one signal with a span, of which the spans of the first six support their signals."""
    return world_of(with_spans(counted(f"e{k}"), supported=k < 6) for k in range(10))


def test_corrected_precision_by_hand(inventions, lenient, model):
    """The judge supports e2 to e9: of these 8 it errs on 4, and of the 2 others, that are supported, on both. People
    label all: 8/10 x 4/8 + 2/10 x 2/2 = 6/10. Uncorrected it is 8/10."""
    run = ran(inventions, lenient, model(lambda question: said_of_spans(inventions, question)))
    cell = run.checked(Fraction(1)).correction.precision
    assert (run.seen().evidence.guard.supported, run.seen().evidence.guard.judged) == (8, 10)
    assert cell.estimate == pytest.approx(0.6, abs=1e-12)
    assert cell.low < 0.6
    assert (cell.high, cell.interval.level) == (1.0, 0.95)


def said_of_spans(world, question):
    """The truth of propositions; of spans, that those of e0 and e1 do not support their signals and all others do."""
    if not question.hypothesis.startswith("what"):
        return world.says(question)
    return "NOT_SUPPORTED" if question.entry_id in ("e0", "e1") else "SUPPORTED"


def test_spans_that_the_judge_turned_down_and_nobody_saw_count_as_it_has_them(inventions, lenient, model):
    """People see the spans of e1 and e4 and support both, as the judge does; it turns down those of e6 to e9."""
    cell = ran(inventions, lenient, model(inventions.says)).checked().correction.precision
    assert cell.estimate == pytest.approx(6 / 10, abs=1e-12)
    assert cell.low < 6 / 10


def test_spans_of_which_the_judge_said_nothing_have_no_part_in_precision(inventions, lenient, model):
    """All of e0 to e4 that people support is left without a label: of the five others people support one."""

    def says(question):
        silent = question.hypothesis.startswith("what") and question.entry_id < "e5"
        return "Let me think." if silent else inventions.says(question)

    run = ran(inventions, lenient, model(says))
    labels = run.labels(check_by(run.sheet(Fraction(1)), truth_of(inventions)))
    assert corrected_precision(run.every, labels.spans, lenient).estimate == pytest.approx(1 / 5, abs=1e-12)


def test_precision_is_not_corrected_where_no_span_was_judged_or_checked(alike, inventions, lenient, model):
    without = ran(alike, lenient, model(alike.says)).every
    assert corrected_precision(without, {}, lenient).withheld == "no span was judged"
    unchecked = corrected_precision(ran(inventions, lenient, model(inventions.says)).every, {}, lenient)
    assert unchecked.withheld == "nothing of a group was checked; check more judgments"
    assert (unchecked.estimate, unchecked.interval, unchecked.low, unchecked.high) == (None,) * 4
