"""The verdict where people's labels correct the judge: it binds, says what it rests on, and what stands in its way."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from eval_pipeline.document import document_bytes
from eval_pipeline.human_check.sheet import Said, Task
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Outcome, Reason
from eval_pipeline.studies.extraction.correction.estimates import Estimator
from eval_pipeline.studies.extraction.plan import Strategy
from eval_pipeline.studies.extraction.verdict import verdicts
from tests.studies.extraction.people import asked_gold, check_by, erring, gold_of, ran, truth_of, with_spans

ALL = (5, 5, 5, 5)
FIRSTS = {"1.0", "2.0", "3.0", "4.0"}
LASTS = {"1.4", "2.4", "3.4", "4.4"}
GOLD = gold_of(20, 20)


@pytest.fixture(scope="session")
def model(scripted):
    return lambda says, **about: scripted(says, standing=Standing.UNCALIBRATED, **about)


@pytest.fixture(scope="session")
def plan(lenient, amended):
    return amended(lenient, judging={"strategy": Strategy.NO_SCREEN}, bootstrap={"resamples": 100})


@pytest.fixture(scope="session")
def four_fifths(counted, world_of):
    """Ten notes in each of which 4 of 5 propositions a quarter are recovered: a recall of .8 without a loss."""
    return world_of(counted(f"e{k}", (4, 4, 4, 4), ALL) for k in range(10))


@pytest.fixture(scope="session")
def falling(counted, world_of):
    """Ten notes in which 5 of 5 propositions are recovered in quarters 1 to 3, and 3 of 5 in 4: a loss of .4."""
    return world_of(counted(f"e{k}", (5, 5, 5, 3), ALL) for k in range(10))


@pytest.fixture(scope="session")
def twenty_spans(counted, world_of):
    """Twenty notes with a span each, of which 19 support their signals."""
    return world_of(with_spans(counted(f"e{k:02d}"), supported=k != 1) for k in range(20))


def decided(seen):
    return [(claim.outcome.value, claim.reason) for claim in (seen.recall, seen.uniformity, seen.guard)]


def test_a_recall_that_the_judge_understates_passes_by_what_people_say(four_fifths, plan, model):
    """The judge misses one of 4 in each quarter: .6 by it, .8 in truth, which is the bar."""
    run = ran(four_fifths, plan, model(erring(four_fifths, misses=FIRSTS)))
    raw, seen = run.seen().recall, run.checked().recall
    assert (raw.outcome, raw.reason, raw.estimate, raw.advisory) == (
        "fail",
        Reason.THRESHOLD_MISSED,
        Fraction(3, 5),
        True,
    )
    assert (seen.outcome, seen.reason, seen.advisory) == ("pass", None, False)
    assert seen.estimate == pytest.approx(0.8, abs=1e-12)
    assert (seen.numerator, seen.denominator, seen.interval.level) == (None, None, 0.95)
    assert seen.detail == (
        "corrected for the judge's errors by what people say of 40 propositions in 2 entries, recall is 0.8000; the bar"
        " is 0.80, and the interval holds it; uncorrected it is 0.6000, 120 of 200 propositions"
    )


@pytest.mark.parametrize("misses", [{"1.0"}, {"1.0", "4.0"}, FIRSTS])
def test_a_recall_on_the_bar_passes_however_it_comes_out_of_arithmetic(four_fifths, plan, model, misses):
    """With two missed in each note it comes out as 0.7999999999999999; and no number of labels would tell more."""
    seen = ran(four_fifths, plan, model(erring(four_fifths, misses=misses))).checked()
    assert seen.recall.estimate == pytest.approx(0.8, abs=1e-12)
    assert (seen.recall.outcome, seen.recall.reason) == ("pass", None)
    assert (seen.correction.recall_needs, "to decide" in seen.recall.detail) == (None, False)


def test_a_recall_that_the_judge_overstates_fails_by_what_people_say(four_fifths, plan, amended, model):
    """The judge supports the one that is lost in each quarter: 1 by it, .8 in truth, and the bar is .81."""
    run = ran(four_fifths, amended(plan, claims={"recall_at_least": Fraction(81, 100)}), model(lambda q: "SUPPORTED"))
    raw, seen = run.seen().recall, run.checked().recall
    assert (raw.outcome, raw.reason) == ("warn", Reason.UNCALIBRATED)
    assert (seen.outcome, seen.reason, seen.advisory) == ("fail", Reason.THRESHOLD_MISSED, False)
    assert "recall is 0.8000; the bar is 0.81" in seen.detail
    assert "; uncorrected it is 1.0000, 200 of 200 propositions; to decide, " in seen.detail


@pytest.mark.parametrize(("comparison", "outcome"), [("exact", "fail"), ("four_decimals", "pass")])
def test_the_corrected_recall_is_compared_as_the_plan_compares(four_fifths, plan, amended, model, comparison, outcome):
    """.79996 is below .8, and .8000 to four decimals."""
    evidence = ran(four_fifths, plan, model(four_fifths.says)).checked().evidence
    estimates = tuple(
        replace(one, pooled=replace(one.pooled, estimate=0.79996)) for one in evidence.correction.estimates
    )
    moved = replace(evidence, correction=replace(evidence.correction, estimates=estimates))
    recall, _, _ = verdicts(moved, amended(plan, scoring={"comparison": comparison}))
    assert recall.outcome == outcome


def test_a_loss_that_the_judge_hides_fails_by_what_people_say(falling, plan, model):
    """The judge misses two of five in quarter 1: no loss by it, .4 in truth."""
    run = ran(falling, plan, model(erring(falling, misses={"1.0", "1.1"})))
    raw, seen = run.seen().uniformity, run.checked(Fraction(1)).uniformity
    assert (raw.outcome, raw.reason, raw.estimate) == ("warn", Reason.UNCALIBRATED, 0)
    assert (seen.outcome, seen.reason, seen.advisory) == ("fail", Reason.THRESHOLD_MISSED, False)
    assert seen.estimate == pytest.approx(0.4, abs=1e-12)
    assert seen.interval.low is None
    assert seen.interval.high > 0.4
    assert seen.detail == (
        "corrected for the judge's errors by what people say of 200 propositions in 10 entries, recall falls by at most"
        f" {seen.interval.high:.4f} from quartile 1 to quartile 4, at 95% confidence; the bar is 0.10; uncorrected it"
        " falls by at most 0.0000"
    )


def test_a_loss_that_the_judge_makes_up_passes_by_what_people_say(four_fifths, plan, amended, model):
    """The judge misses three of four in quarter 4: a loss of .6 by it, none in truth."""
    lax = amended(plan, claims={"bound_at_most": Fraction(2, 5)})
    run = ran(four_fifths, lax, model(erring(four_fifths, misses={"4.0", "4.1", "4.2"})))
    raw, seen = run.seen().uniformity, run.checked(Fraction(1)).uniformity
    assert (raw.outcome, raw.estimate) == ("fail", Fraction(3, 5))
    assert (seen.outcome, seen.reason, seen.advisory) == ("pass", None, False)
    assert seen.estimate == pytest.approx(0, abs=1e-12)
    assert seen.detail.endswith("; the bar is 0.40; uncorrected it falls by at most 0.6000")


def test_a_precision_that_the_judge_understates_passes_by_what_people_say(twenty_spans, plan, model):
    """19 of 20 spans support their signals, which is the bar; the judge turns two more away, 17 of 20."""

    def says(question):
        return (
            "NOT_SUPPORTED"
            if question.hypothesis in ("what e02 says", "what e03 says")
            else twenty_spans.says(question)
        )

    run = ran(twenty_spans, plan, model(says))
    raw, seen = run.seen().guard, run.checked(Fraction(1)).guard
    assert (raw.outcome, raw.reason, raw.estimate, raw.advisory) == (
        "fail",
        Reason.THRESHOLD_MISSED,
        Fraction(17, 20),
        True,
    )
    assert (seen.outcome, seen.reason, seen.advisory) == ("pass", None, False)
    assert seen.estimate == pytest.approx(0.95, abs=1e-12)
    assert (seen.numerator, seen.denominator, seen.interval.high) == (None, None, 1.0)
    assert seen.detail == (
        "corrected for the judge's errors by what people say of 20 spans, precision is 0.9500 and, at 95% confidence,"
        f" at least {seen.interval.low:.4f}; the bar is 0.95; uncorrected it is 0.8500"
    )


@pytest.mark.parametrize("broken", [1, 2])
def test_a_perfect_judge_and_its_check_come_to_the_same_at_the_bar(counted, world_of, plan, model, broken):
    """19 of 20 pass and 18 do not, uncorrected and corrected: neither .95 nor .9 is a float."""
    world = world_of(with_spans(counted(f"e{k:02d}"), supported=k >= broken) for k in range(20))
    run = ran(world, plan, model(world.says))
    raw, seen = run.seen().guard, run.checked(Fraction(1)).guard
    assert (raw.outcome, seen.outcome) == (("warn", "pass") if broken == 1 else ("fail", "fail"))


def test_without_checked_spans_precision_is_that_of_a_judge_that_nobody_measured(twenty_spans, plan, amended, model):
    """People were unsure of every span that they were shown, and of nothing else."""
    run = ran(twenty_spans, amended(plan, human_check={"unsure_at_most": Fraction(1)}), model(twenty_spans.says))
    truth = truth_of(twenty_spans)
    seen = run.seen(check_by(run.sheet(), lambda item: Said.UNSURE if item.task is Task.SPAN else truth(item)))
    assert (seen.recall.outcome, seen.recall.advisory) == ("pass", False)
    assert (seen.guard.outcome, seen.guard.reason, seen.guard.advisory) == ("warn", Reason.UNCALIBRATED, True)
    assert seen.guard == run.seen().guard
    assert [claim["estimator"] for claim in seen.document["claims"]] == ["post_stratified", "post_stratified", "raw"]


def test_where_spans_alone_were_labelled_precision_alone_is_corrected(twenty_spans, plan, amended, model):
    """Recall is then that of a judge that nobody measured, though there is a check."""
    run = ran(twenty_spans, amended(plan, human_check={"unsure_at_most": Fraction(1)}), model(twenty_spans.says))
    truth = truth_of(twenty_spans)
    seen = run.seen(
        check_by(run.sheet(Fraction(1)), lambda item: truth(item) if item.task is Task.SPAN else Said.UNSURE)
    )
    assert (seen.recall.outcome, seen.recall.reason, seen.recall.advisory) == ("warn", Reason.UNCALIBRATED, True)
    assert seen.recall.detail.endswith("the judge's own error rates were never measured")
    assert (seen.guard.outcome, seen.guard.advisory) == ("pass", False)
    assert "what people say of 20 spans" in seen.guard.detail
    assert [claim["estimator"] for claim in seen.document["claims"]] == ["raw", "raw", "post_stratified"]


def test_where_no_proposition_was_annotated_precision_is_corrected_by_a_check_of_spans(spanned, world_of, plan, model):
    world = world_of(spanned(f"s{k}", spans=10, supported=9) for k in range(6))
    run = ran(world, plan, model(erring(world, misses={"0000"})))
    seen = run.checked(Fraction(1))
    assert seen.evidence.guard.supported == 48
    assert seen.guard.estimate == pytest.approx(0.9, abs=1e-12)
    assert (seen.guard.outcome, seen.guard.reason, seen.guard.advisory) == ("fail", Reason.THRESHOLD_MISSED, False)
    assert seen.document["claims"][2]["estimator"] == "post_stratified"


def test_uncorrected_a_pass_that_the_correction_would_miss_is_a_warning(four_fifths, plan, amended, model):
    """Under a plan that lets the uncorrected estimate decide; the check still makes it bind."""
    rules = {"calibration": {"decides": "raw"}, "claims": {"recall_at_least": Fraction(9, 10)}}
    run = ran(four_fifths, amended(plan, **rules), model(lambda q: "SUPPORTED"))
    assert decided(run.seen())[0] == ("warn", Reason.UNCALIBRATED)
    seen = run.checked().recall
    assert (seen.outcome, seen.reason, seen.advisory) == ("warn", Reason.JUDGE_ERRORS, False)
    assert (seen.estimate, seen.numerator, seen.denominator) == (1, 200, 200)
    assert seen.detail.endswith("; corrected for the judge's errors the bar is missed")


def test_uncorrected_a_pass_that_the_correction_confirms_is_a_pass(four_fifths, plan, amended, model):
    run = ran(four_fifths, amended(plan, calibration={"decides": "raw"}), model(four_fifths.says))
    seen = run.checked().recall
    assert (seen.outcome, seen.reason, seen.advisory) == ("pass", None, False)
    assert "corrected" not in seen.detail


def test_uncorrected_a_fail_stays_one_whatever_the_correction_says(four_fifths, plan, amended, model):
    run = ran(four_fifths, amended(plan, calibration={"decides": "raw"}), model(erring(four_fifths, misses=FIRSTS)))
    seen = run.checked().recall
    assert (seen.outcome, seen.reason, seen.estimate) == ("fail", Reason.THRESHOLD_MISSED, Fraction(3, 5))
    assert "the bar is missed" not in seen.detail


def test_uncorrected_a_bound_and_a_precision_that_the_correction_would_miss_are_warnings_too(
    counted, world_of, plan, amended, model
):
    """The judge hides a loss of .4 and supports four spans of twenty that do not say what their signals do."""
    world = world_of(with_spans(counted(f"e{k:02d}", (5, 5, 5, 3), ALL), supported=k > 3) for k in range(20))
    hides = erring(world, misses={"1.0", "1.1"})

    def says(question):
        return "SUPPORTED" if question.hypothesis.startswith("what") else hides(question)

    run = ran(world, amended(plan, calibration={"decides": "raw"}), model(says))
    assert decided(run.seen())[1:] == [("warn", Reason.UNCALIBRATED)] * 2
    seen = run.checked(Fraction(1))
    assert decided(seen)[1:] == [("warn", Reason.JUDGE_ERRORS)] * 2
    for claim in (seen.uniformity, seen.guard):
        assert claim.detail.endswith("; corrected for the judge's errors the bar is missed")
        assert not claim.advisory


def others(world):
    """Another person, who says the opposite of what is true."""
    truth = truth_of(world)
    return lambda item: Said.NOT_SUPPORTED if truth(item) is Said.SUPPORTED else Said.SUPPORTED


@pytest.fixture(scope="session")
def sound(twenty_spans, plan, model):
    return ran(twenty_spans, plan, model(twenty_spans.says))


def outdated(run):
    """A check of this run in which another text was shown."""
    check = check_by(run.sheet(), truth_of(run.world))
    first, *rest = check.sheet.items
    items = (replace(first, hypothesis="other words"), *rest)
    return replace(check, sheet=replace(check.sheet, items=items), labels={item.id: Said.SUPPORTED for item in items})


IN_THE_WAY = {
    "raters_disagree": (lambda run: check_by(run.sheet(), truth_of(run.world), others(run.world)), {}),
    "check_outdated": (outdated, {}),
    "underpowered": (lambda run: check_by(run.sheet(), truth_of(run.world)), {"raters": 2}),
    "untrustworthy": (lambda run: check_by(run.sheet(), lambda item: Said.UNSURE), {}),
}


@pytest.mark.parametrize("reason", IN_THE_WAY)
def test_a_check_that_may_not_be_rested_on_stands_before_every_claim(sound, amended, reason):
    """The uncorrected numbers are shown, and do not bind; the sentence of the check is that of each claim."""
    given, rules = IN_THE_WAY[reason]
    run = replace(sound, plan=amended(sound.plan, human_check=rules))
    seen, raw = run.seen(given(run)), run.seen()
    for claim, uncorrected in zip(
        (seen.recall, seen.uniformity, seen.guard), (raw.recall, raw.uniformity, raw.guard), strict=True
    ):
        assert (claim.outcome, claim.reason, claim.advisory) == (Outcome.SKIP, Reason(reason), True)
        assert claim.detail == seen.correction.refusal.detail
        assert (claim.estimate, claim.interval) == (uncorrected.estimate, uncorrected.interval)
    document = seen.document["findings"]["correction"]
    assert document["refusal"] == {"reason": reason, "detail": seen.correction.refusal.detail}
    assert (document["check"], document["decides"], seen.document["hashes"]["human_check"]) == (None, "raw", None)


def test_what_is_wrong_with_the_run_comes_before_what_is_wrong_with_the_check(twenty_spans, plan, amended, model):
    run = ran(twenty_spans, amended(plan, design={"entries": 21}), model(twenty_spans.says))
    seen = run.seen(outdated(run))
    assert seen.recall.reason is Reason.UNDERPOWERED
    assert "20 entries were judged and the plan asks for 21" in seen.recall.detail
    assert seen.guard.reason is Reason.CHECK_OUTDATED


def test_a_judge_no_better_than_chance_on_the_gold_set_that_decides_gives_no_verdict(four_fifths, plan, amended, model):
    wrong = set(range(10)) | set(range(20, 30))
    by_gold = amended(plan, calibration={"decides": "gold"})
    seen = ran(four_fifths, by_gold, model(asked_gold(four_fifths.says, GOLD, wrong=wrong)), GOLD).seen()
    for claim in (seen.recall, seen.uniformity):
        assert (claim.outcome, claim.reason, claim.advisory) == (Outcome.SKIP, Reason.JUDGE_ERRORS, True)
        assert claim.detail.startswith("a judge of sensitivity 0.5 and specificity 0.5 does no better than chance")
    assert seen.recall.estimate == Fraction(4, 5)


def test_by_the_gold_set_recall_is_decided_and_says_so(four_fifths, plan, amended, model):
    """.8 by a judge that misses 4 of 20 and supports 2 of 20: (.8 + .9 - 1) / (.8 + .9 - 1) = 1."""
    by_gold = amended(plan, calibration={"decides": "gold"})
    says = asked_gold(four_fifths.says, GOLD, wrong={0, 1, 2, 3, 20, 21})
    seen = ran(four_fifths, by_gold, model(says), GOLD).seen()
    assert (seen.recall.outcome, seen.recall.estimate, seen.recall.advisory) == ("pass", 1, False)
    assert seen.recall.detail.startswith(
        "corrected for the judge's errors by those on 40 claims of the gold set, recall is 1.0000; the bar is 0.80"
    )
    assert [claim["estimator"] for claim in seen.document["claims"][:2]] == ["ratio_by_gold"] * 2


def test_by_the_gold_set_what_stayed_undecided_could_turn_a_pass(four_fifths, plan, amended, model):
    """One of 20 in each note is undecided: of 19 the judge supports 15, and at the worst 15 of 20 are."""
    by_gold = amended(plan, calibration={"decides": "gold"}, claims={"recall_at_least": Fraction(77, 100)})
    says = asked_gold(erring(four_fifths, unread={"2.0"}), GOLD, wrong=())
    seen = ran(four_fifths, by_gold, model(says), GOLD).seen()
    assert (seen.recall.outcome, seen.recall.reason) == ("warn", Reason.UNDECIDED)
    assert seen.recall.estimate == pytest.approx(15 / 19, abs=1e-12)
    assert seen.recall.detail.endswith("; 10 undecided ones are left out")
    checked = ran(four_fifths, amended(by_gold, calibration={"decides": "human_check"}), model(says), GOLD).checked()
    assert (checked.recall.outcome, "undecided" in checked.recall.detail) == ("pass", False)  # people say what they are


def test_a_quarter_in_which_nothing_was_checked_leaves_uniformity_alone_undecided(counted, world_of, plan, model):
    """Of ten notes e1 and e4 are drawn, in which nothing of quarter 4 was annotated."""
    sizes = {1: (5, 5, 5, 0), 4: (5, 5, 5, 0)}
    world = world_of(counted(f"e{k}", sizes.get(k, ALL), sizes.get(k, ALL)) for k in range(10))
    seen = ran(world, plan, model(world.says)).checked()
    assert (seen.recall.outcome, seen.recall.advisory) == ("pass", False)
    assert (seen.uniformity.outcome, seen.uniformity.reason) == ("skip", Reason.UNDERPOWERED)
    assert seen.uniformity.detail == (
        "quartiles 1 and 4 cannot be corrected for the judge's errors: nothing of a group was checked; check more"
        " judgments"
    )
    assert (seen.uniformity.estimate, seen.uniformity.advisory) == (0, True)


def test_a_check_makes_the_uncorrected_estimate_bind_and_one_without_labels_does_not(four_fifths, plan, amended, model):
    rules = {"calibration": {"decides": "raw"}, "human_check": {"unsure_at_most": Fraction(1)}}
    run = ran(four_fifths, amended(plan, **rules), model(four_fifths.says))
    unsure = run.seen(check_by(run.sheet(), lambda item: Said.UNSURE)).recall
    assert (unsure.outcome, unsure.reason, unsure.advisory) == ("warn", Reason.UNCALIBRATED, True)
    checked = run.checked().recall
    assert (checked.outcome, checked.reason, checked.advisory) == ("pass", None, False)


def test_a_pass_of_a_judge_that_the_gold_set_alone_measured_is_a_warning(four_fifths, plan, model):
    seen = ran(four_fifths, plan, model(asked_gold(four_fifths.says, GOLD, wrong=())), GOLD).seen().recall
    assert (seen.outcome, seen.reason, seen.advisory) == ("warn", Reason.UNCALIBRATED, True)
    assert seen.detail.endswith("; the judge's own error rates were measured on the gold set alone")


@pytest.mark.parametrize(
    ("bar", "said"),
    [
        (Fraction(99, 100), None),
        (Fraction(4, 5), None),
        (Fraction(3, 10), None),
        (Fraction(7, 10), "; to decide, about {0} entries must be labelled in all, if the estimate stays, and 2 are"),
        (
            Fraction(79, 100),
            "; to decide, about {0} entries must be labelled, which is more than there are: measure more entries",
        ),
    ],
    ids=["clear above", "on it", "clear below", "straddling", "close by"],
)
def test_the_labels_needed_stand_in_the_sentence_where_they_would_help(four_fifths, plan, amended, model, bar, said):
    run = ran(four_fifths, amended(plan, claims={"recall_at_least": bar}), model(erring(four_fifths, misses=FIRSTS)))
    seen = run.checked()
    needs = seen.correction.recall_needs
    assert (needs is None) is (said is None)
    if said:
        assert seen.recall.detail.endswith(said.format(needs.needed))
        written = seen.document["findings"]["correction"]["labels_needed"]["pooled_recall"]
        assert written == {
            "unit": "entries",
            "labelled": 2,
            "needed": needs.needed,
            "more_than_there_are": needs.beyond,
        }
    else:
        assert "to decide" not in seen.recall.detail


def test_a_document_says_every_estimate_which_decides_and_what_it_rests_on(twenty_spans, plan, model):
    run = ran(twenty_spans, plan, model(asked_gold(twenty_spans.says, GOLD, wrong={0, 20})), GOLD)
    check = check_by(run.sheet(), truth_of(twenty_spans))
    document = json.loads(document_bytes(run.seen(check).document))
    correction = document["findings"]["correction"]
    assert list(correction) == ["decides", "estimates", "precision", "check", "gold", "refusal", "labels_needed"]
    assert correction["decides"] == "post_stratified"
    assert [one["estimator"] for one in correction["estimates"]] == [one.value for one in Estimator]
    for one in correction["estimates"]:
        assert list(one) == ["estimator", "pooled", "by_quartile", "first_less_last", "upper_bound"]
        assert len(one["by_quartile"]) == 4
        for cell in (one["pooled"], *one["by_quartile"], one["first_less_last"]):
            assert list(cell) == ["estimate", "interval", "withheld"]
            assert (cell["estimate"] is None) is (cell["withheld"] is not None)
    assert correction["precision"]["interval"][1] == 1.0
    assert correction["check"] == {
        "raters": ["anna"],
        "labels": 20,
        "unsure": 0,
        "settled": 0,
        "entries": 4,
        "propositions": 16,
        "spans": 4,
        "agreement": None,
        "people_and_judge": correction["check"]["people_and_judge"],
    }
    assert correction["gold"] == {
        "supported": 20,
        "of_them_missed": 1,
        "not_supported": 20,
        "of_them_supported_by_the_judge": 1,
        "without_label": 0,
        "not_asked": 0,
    }
    assert (correction["refusal"], document["hashes"]["human_check"]) == (None, check.hash)
    assert correction["labels_needed"].keys() == {"pooled_recall", "positional_uniformity"}
    assert [claim["estimator"] for claim in document["claims"]] == ["post_stratified"] * 3


def test_a_document_without_a_check_says_that_there_was_none(sound):
    document = sound.seen().document
    correction = document["findings"]["correction"]
    assert (correction["decides"], correction["check"], correction["precision"], correction["gold"]) == (
        "raw",
        None,
        None,
        None,
    )
    assert [one["estimator"] for one in correction["estimates"]] == ["raw"]
    assert document["hashes"]["human_check"] is None


def test_two_people_are_written_down_with_their_agreement(sound):
    """They differ on one of 20 items, and by hand: 19 y and 1 n beside 18 y, 1 n and 1 u, (.95 - .8575) / .1425."""
    truth = truth_of(sound.world)
    second = check_by(
        sound.sheet(), truth, lambda item: Said.UNSURE if item.hypothesis == "e01 tells 1.0" else truth(item)
    )
    written = sound.seen(second).document["findings"]["correction"]["check"]
    assert (written["raters"], written["settled"]) == (["anna", "ben"], 1)
    agreement = written["agreement"]
    assert (agreement["items"], agreement["same"]) == (20, 19)
    assert agreement["kappa"]["estimate"] == round(0.0925 / 0.1425, 10)
    assert agreement["kappa"]["undefined"] is None


def numbers_in(value):
    """All estimates, intervals and bounds that stand in a part of a document."""
    if isinstance(value, dict):
        found = [value[name] for name in ("estimate", "interval", "upper_bound") if value.get(name) is not None]
        return found + [number for part in value.values() for number in numbers_in(part)]
    return [number for part in value for number in numbers_in(part)] if isinstance(value, list) else []


def test_claims_that_withhold_their_numbers_withhold_the_corrected_ones_too(twenty_spans, plan, model):
    """The judge goes down before the last span is judged, and all could be computed; nothing is stated."""
    run = ran(twenty_spans, plan, model(twenty_spans.says, down_after=99))
    seen = run.checked()
    assert [claim.reason for claim in (seen.recall, seen.uniformity, seen.guard)] == [Reason.JUDGE_DOWN] * 3
    assert seen.correction.of(Estimator.POST_STRATIFIED).pooled.estimate is not None
    assert seen.correction.precision.estimate is not None
    correction = seen.document["findings"]["correction"]
    assert numbers_in(correction["estimates"]) + numbers_in(correction["precision"]) == []
    assert correction["labels_needed"] == {"pooled_recall": None, "positional_uniformity": None}
    assert [claim["estimator"] for claim in seen.document["claims"]] == [None] * 3


def test_uniformity_alone_may_withhold_its_corrected_numbers(counted, world_of, plan, model):
    """Nothing of quarter 4 was annotated anywhere."""
    world = world_of(counted(f"e{k}", (5, 5, 5, 0), (5, 5, 5, 0)) for k in range(10))
    seen = ran(world, plan, model(world.says)).checked()
    assert (seen.recall.outcome, seen.uniformity.reason) == ("pass", Reason.THIN_QUARTILES)
    _, _, corrected, *_ = seen.document["findings"]["correction"]["estimates"]
    assert corrected["estimator"] == "post_stratified"
    assert corrected["pooled"]["estimate"] == 1.0
    assert [cell["estimate"] for cell in corrected["by_quartile"]] == [1.0, 1.0, 1.0, None]
    assert (corrected["first_less_last"]["estimate"], corrected["upper_bound"]) == (None, None)


def test_people_who_are_the_judge_may_be_checked_too(four_fifths, plan, scripted):
    """Their labels bind as they are; a check that agrees leaves them so."""
    seen = ran(four_fifths, plan, scripted(four_fifths.says)).checked().recall
    assert (seen.outcome, seen.advisory) == ("pass", False)
    assert seen.estimate == pytest.approx(0.8, abs=1e-12)
