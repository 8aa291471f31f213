"""The human check: a seeded draw that shows people texts and no verdicts, and labels that count where they belong."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import CheckRefused
from eval_pipeline.human_check.sheet import Item, Said, Task
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Reason
from eval_pipeline.report.sheets import sheet_files
from eval_pipeline.studies.extraction.correction.checking import Checkable, drawn_sheet, require_share
from tests.human_check.made_up import cells_of
from tests.stats.laws import LAW
from tests.studies.extraction.people import check_by, erring, ran, truth_of, with_spans

FIFTH = Fraction(1, 5)
DRAWN = {"e01", "e02", "e09"}  # of the eleven entries a fifth, rounded up


@pytest.fixture(scope="session")
def model(scripted):
    """A judge that is no oracle and says this."""
    return lambda says, **about: scripted(says, standing=Standing.UNCALIBRATED, **about)


@pytest.fixture(scope="session")
def world(counted, note, world_of):
    """Eleven notes of 8 propositions and a signal with a span; one of them has no signals, and its 8 are all missed."""
    lossy = [with_spans(counted(f"e{k:02d}", (2, 1, 2, 1), (2, 2, 2, 2)), supported=k != 3) for k in range(10)]
    mute = [(quartile, f"e10 tells {quartile}.{place}") for quartile in (1, 2, 3, 4) for place in range(2)]
    return world_of([*lossy, note("e10", {}, mute)])


@pytest.fixture(scope="session")
def by_entries(lenient, amended):
    return amended(lenient, human_check={"draw": "entries", "share": FIFTH})


@pytest.fixture(scope="session")
def by_verdict(lenient, amended):
    return amended(lenient, human_check={"draw": "judgments", "share": FIFTH})


@pytest.fixture(scope="session")
def run(world, by_entries, model):
    return ran(world, by_entries, model(world.says))


@pytest.fixture(scope="session")
def run_by_verdict(world, by_verdict, model):
    return ran(world, by_verdict, model(world.says))


def entries_of(sheet, every):
    return {one.entry_id for one in every if one.key in sheet.drawn}


def made_up(entries, *, propositions=4):
    """So many entries of propositions, as a judge left them that said yes, no and nothing by turns."""
    return tuple(
        Checkable(
            key=f"k{entry}-{place}",
            unit=entry * propositions + place,
            signal_id=None,
            entry_id=f"e{entry}",
            quartile=place % 4 + 1,
            supported=(True, False, None)[(entry + place) % 3],
            item=Item(Task.PROPOSITION, (f"signal of {entry}",), f"claim {entry}.{place}"),
        )
        for entry in range(entries)
        for place in range(propositions)
    )


def draw(every, plan, share=FIFTH):
    return drawn_sheet(every, plan, share=share, seal="0" * 64, judge="a-judge")


def test_a_proposition_is_shown_with_all_signals_of_its_entry_and_a_span_with_its_signal(run):
    first = next(one for one in run.every if one.entry_id == "e00")
    assert first.item == Item(Task.PROPOSITION, ("what e00 says",), "e00 tells 1.0")
    assert (first.unit, first.quartile, first.supported, first.signal_id) == (0, 1, True, None)
    (span,) = (one for one in run.every if one.signal_id == "e00-s00")
    assert span.item == Item(Task.SPAN, ("word",), "what e00 says")
    assert (span.unit, span.quartile, span.supported) == (None, None, True)


def test_what_the_judge_made_of_it_stands_beside_it_and_is_none_where_it_said_nothing(world, by_entries, model):
    every = ran(world, by_entries, model(erring(world, unread={"1.0", "says"}))).every
    said = {one.key: one.supported for one in every if one.entry_id == "e00"}
    assert list(said.values()) == [None, True, True, False, True, True, True, False, None]
    assert [one.supported for one in every if one.entry_id == "e10"] == [False] * 8


def test_everything_in_the_frame_may_be_asked_about_once(run):
    assert len(run.every) == 11 * 8 + 10
    assert len({one.key for one in run.every}) == len(run.every)
    assert [one.entry_id for one in run.every if one.item is None] == ["e10"] * 8


def test_a_key_names_what_is_asked_whoever_judges(run, world, by_entries, model):
    other = ran(world, by_entries, model(lambda question: "NOT_SUPPORTED", kind="sceptic"))
    assert [one.key for one in run.every] == [one.key for one in other.every]
    assert {one.supported for one in other.every} == {False}


def test_the_same_draw_on_every_run_and_another_under_another_seed(run, by_entries):
    """The draw is kept here, since no machine may draw another."""
    assert run.sheet() == run.sheet()
    assert entries_of(run.sheet(), run.every) == DRAWN
    other = draw(run.every, by_entries.model_copy(update={"seed": 7}))
    assert entries_of(other, run.every) != entries_of(run.sheet(), run.every)


@pytest.mark.parametrize("plan", ["by_entries", "by_verdict"])
def test_the_draw_does_not_hang_on_the_order_in_which_things_stand(plan, request):
    every, rules = made_up(12), request.getfixturevalue(plan)
    assert draw(every[::-1], rules) == draw(every, rules)


@given(entries=st.integers(2, 40), parts=st.integers(20, 100))
@LAW
def test_whole_entries_are_drawn_as_many_as_the_share_rounded_up_and_two_at_least(by_entries, entries, parts):
    every, share = made_up(entries), Fraction(parts, 100)
    sheet = draw(every, by_entries, share)
    drawn = entries_of(sheet, every)
    assert len(drawn) == max(2, ceil(share * entries))
    assert set(sheet.drawn) == {one.key for one in every if one.entry_id in drawn}


@given(entries=st.integers(1, 40), parts=st.integers(20, 100))
@LAW
def test_of_each_verdict_quartile_and_kind_as_many_are_drawn_as_the_share_rounded_up(by_verdict, entries, parts):
    spans = tuple(
        replace(one, unit=None, signal_id=one.key, quartile=None, key=f"s{one.key}") for one in made_up(entries)
    )
    every, share = made_up(entries) + spans, Fraction(parts, 100)
    drawn = set(draw(every, by_verdict, share).drawn)
    strata = {(one.unit is None, one.quartile, one.supported is True) for one in every}
    for stratum in strata:
        there = [one.key for one in every if (one.unit is None, one.quartile, one.supported is True) == stratum]
        assert len(drawn.intersection(there)) == ceil(share * len(there))


def test_a_larger_share_draws_what_a_smaller_one_drew_and_more(run, run_by_verdict):
    for one in (run, run_by_verdict):
        few, many, every = (set(one.sheet(share).drawn) for share in (FIFTH, 2 * FIFTH, Fraction(1)))
        assert few < many < every
        assert len(every) == len(one.every)


@pytest.mark.parametrize(
    ("share", "allowed"),
    [("1/5", True), ("1", True), ("0.2", True), ("0.1999999", False), ("0", False), ("1.01", False)],
)
def test_less_than_the_share_of_the_plan_is_not_drawn_nor_more_than_all(run, by_entries, share, allowed):
    if allowed:
        require_share(Fraction(share), by_entries)
        assert draw(run.every, by_entries, Fraction(share)).drawn
        return
    with pytest.raises(CheckRefused) as refused:
        draw(run.every, by_entries, Fraction(share))
    assert str(refused.value) == f"a share of {Fraction(share)} was asked for; the plan allows 1/5 to 1"


def test_where_nothing_was_judged_there_is_nothing_to_check(by_entries):
    with pytest.raises(
        CheckRefused, match="nothing was judged, so that there is nothing to check; run the study first"
    ):
        draw((), by_entries)


def test_a_sheet_says_what_it_was_drawn_by_and_what_the_plan_asks(run, run_by_verdict, by_entries):
    whole, stratified = run.sheet(), run_by_verdict.sheet()
    assert (whole.draw, whole.judge) == ("entries", None)
    assert (stratified.draw, stratified.judge) == ("judgments", run_by_verdict.judged.fingerprint)
    assert whole.plan != stratified.plan
    assert (whole.rule.raters, whole.rule.kappa_at_least, whole.rule.unsure_at_most) == (1, "3/5", "1/10")
    assert (whole.rule.level, whole.rule.resamples, whole.rule.seed) == ("19/20", 1000, by_entries.seed)


@pytest.mark.parametrize("plan", ["by_entries", "by_verdict"])
def test_what_people_get_is_the_same_whatever_the_judge_said(world, plan, request, model):
    """All is drawn, by two judges of one name that never say the same: no byte and no place tells them apart."""
    rules = request.getfixturevalue(plan)
    opposite = {"SUPPORTED": "NOT_SUPPORTED", "NOT_SUPPORTED": "SUPPORTED"}
    honest = ran(world, rules, model(world.says))
    liar = ran(world, rules, model(lambda question: opposite[world.says(question)]))
    told = [one.supported != other.supported for one, other in zip(honest.every, liar.every, strict=True) if one.item]
    assert all(told)
    assert sheet_files(honest.sheet(Fraction(1))) == sheet_files(liar.sheet(Fraction(1)))


@pytest.mark.parametrize("which", ["run", "run_by_verdict"])
def test_no_verdict_of_the_judge_stands_anywhere_in_what_people_get(which, request):
    run = request.getfixturevalue(which)
    files = sheet_files(run.sheet())
    assert files.keys() == {"sheet.html", "sheet.csv", "sheet.json"}
    words = ("recovered", "missed", "undecided", "verdict", "fate", "supported")
    for name in ("sheet.csv", "sheet.json"):
        assert [word for word in words if word in files[name].decode().lower()] == []
    assert {row[-1] for row in cells_of(files["sheet.csv"])[1:]} == {""}
    for name in ("sheet.csv", "sheet.html"):
        assert run.judged.fingerprint not in files[name].decode()


def test_items_are_not_sorted_by_verdict(run_by_verdict):
    """With all drawn, as many supported ones stand in the first half as chance would put there, and not all of them."""
    supported = {one.item.id: one.supported for one in run_by_verdict.every if one.item and one.unit is not None}
    shown = [supported[item.id] for item in run_by_verdict.sheet(Fraction(1)).items if item.id in supported]
    first = sum(shown[: len(shown) // 2])
    assert (len(shown), sum(shown)) == (80, 60)
    assert 25 <= first <= 35
    changes = sum(one != other for one, other in pairwise(shown))
    assert changes > 20


def test_items_are_not_sorted_by_their_place_in_the_text_either(run):
    shown = [item.hypothesis for item in run.sheet(Fraction(1)).items if item.task is Task.PROPOSITION]
    assert shown != sorted(shown)


def test_the_claims_of_one_premise_stand_together_and_propositions_before_spans(run_by_verdict):
    items = run_by_verdict.sheet(Fraction(1)).items
    premises = [(item.task, item.premise) for item in items]
    changes = sum(one != other for one, other in pairwise(premises))
    assert changes == len(set(premises)) - 1
    assert [item.task for item in items] == [Task.PROPOSITION] * 80 + [Task.SPAN] * 10


def test_the_same_texts_are_asked_once_and_count_for_each_place_where_they_stand(note, world_of, by_entries, model):
    twins = [note(name, {"the signal": ["a claim"]}, [(1, "a claim"), (4, f"{name} alone")]) for name in ("a", "b")]
    run = ran(world_of(twins), by_entries, model(lambda question: "NOT_SUPPORTED"))
    sheet = run.sheet(Fraction(1))
    assert (len(sheet.drawn), len(sheet.items)) == (4, 3)
    labels = run.labels(check_by(sheet, truth_of(run.world)))
    assert labels.propositions == {0: True, 1: False, 2: True, 3: False}


def test_an_entry_without_signals_needs_nobody_and_counts_as_not_supported(run):
    sheet = run.sheet(Fraction(1))
    assert "e10" in entries_of(sheet, run.every)
    assert not [item for item in sheet.items if item.hypothesis.startswith("e10")]
    labels = run.labels(check_by(sheet, lambda item: Said.SUPPORTED))
    assert [labels.propositions[unit] for unit in range(80, 88)] == [False] * 8
    assert {labels.propositions[unit] for unit in range(80)} == {True}


def test_labels_are_those_of_what_was_drawn_and_of_nothing_else(run):
    labels = run.labels(check_by(run.sheet(), truth_of(run.world)))
    drawn = [one for one in run.every if one.entry_id in DRAWN]
    assert labels.refusal is None
    assert labels.propositions.keys() == {one.unit for one in drawn if one.unit is not None}
    assert labels.spans == {"e01-s00": True, "e02-s00": True, "e09-s00": True}
    assert [labels.propositions[unit] for unit in range(8, 16)] == [True, True, True, False, True, True, True, False]


def test_what_people_are_unsure_of_has_no_label(run, by_entries, amended):
    unsure = check_by(run.sheet(), lambda item: Said.UNSURE if item.hypothesis == "e01 tells 1.0" else Said.SUPPORTED)
    labels = run.labels(unsure)
    assert [unit for unit, said in labels.propositions.items() if said is None] == [8]


OUTDATED = (
    " of the 27 propositions and spans of the human check are not in this run as they were drawn; draw it again from"
    " this corpus, and have it filled"
)


def changed(world, **signal_changes):
    """The world with another text, or another span, of the signals of e01."""
    signals = tuple(
        replace(signal, **signal_changes) if signal.entry_id == "e01" else signal for signal in world.snapshot.signals
    )
    return replace(world, snapshot=replace(world.snapshot, signals=signals))


def without(world, entry_id):
    """The world without the propositions of an entry."""
    kept = tuple(one for one in world.fixture.propositions if one.entry_id != entry_id)
    return replace(world, fixture=replace(world.fixture, propositions=kept))


def told_otherwise(world, entry_id):
    """The world with other words in the first proposition of an entry."""
    first, *_ = [one for one in world.fixture.propositions if one.entry_id == entry_id]
    others = tuple(replace(one, text="other words") if one == first else one for one in world.fixture.propositions)
    return replace(world, fixture=replace(world.fixture, propositions=others))


def with_signal(world):
    """The world with one more signal of e01, which people were not shown."""
    extra = replace(world.snapshot.signals[0], id="e01-s99", entry_id="e01", content="more", start=None, end=None)
    signals = tuple(sorted((*world.snapshot.signals, extra), key=lambda signal: signal.id))
    return replace(world, snapshot=replace(world.snapshot, signals=signals))


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        (lambda world: changed(world, content="other words"), 9),  # 8 propositions beside it, and its span
        (lambda world: changed(world, start=5, end=9), 0),  # the same word elsewhere is the same text
        (lambda world: changed(world, start=0, end=7), 1),
        (lambda world: changed(world, start=None, end=None), 1),
        (with_signal, 8),
        (lambda world: told_otherwise(world, "e01"), 1),
        (lambda world: without(world, "e01"), 9),  # and its span is drawn no more
        (lambda world: told_otherwise(world, "e00"), 0),
    ],
    ids=["signal", "same span", "span", "no span", "one more", "proposition", "no entry", "not drawn"],
)
def test_a_check_of_other_texts_than_are_here_now_is_refused(world, run, by_entries, model, change, gone):
    check = check_by(run.sheet(), truth_of(world))
    now = change(world)
    labels = ran(now, by_entries, model(now.says)).labels(check)
    if not gone:
        assert labels.refusal is None
        return
    assert (labels.propositions, labels.spans) == ({}, {})
    assert labels.refusal.reason is Reason.CHECK_OUTDATED
    if "e01" in {one.entry_id for one in now.fixture.propositions}:
        assert labels.refusal.detail == f"{gone}{OUTDATED}"


def test_whole_entries_serve_any_judge(run, world, by_entries, model):
    check = check_by(run.sheet(), truth_of(world))
    other = ran(world, by_entries, model(lambda question: "NOT_SUPPORTED", kind="sceptic"))
    assert other.judged.fingerprint != run.judged.fingerprint
    assert other.labels(check) == run.labels(check)


def test_what_was_drawn_by_the_verdicts_of_one_judge_says_nothing_of_another(run_by_verdict, world, by_verdict, model):
    check = check_by(run_by_verdict.sheet(), truth_of(world))
    assert run_by_verdict.labels(check).refusal is None
    refusal = ran(world, by_verdict, model(world.says, kind="sceptic")).labels(check).refusal
    assert (refusal.reason, refusal.detail) == (
        Reason.CHECK_OUTDATED,
        "the human check was drawn by the verdicts of another judge, and says nothing of this one's; draw it again, or"
        ' draw whole entries (draw = "entries"), which serve any judge',
    )


def test_what_was_drawn_by_verdict_is_not_taken_for_whole_entries_nor_these_for_it(run, run_by_verdict, world):
    """People's labels alone say nothing of recall where they were drawn by verdict."""
    for drawn_in, used_in in ((run, run_by_verdict), (run_by_verdict, run)):
        refusal = used_in.labels(check_by(drawn_in.sheet(Fraction(1)), truth_of(world))).refusal
        assert refusal.reason is Reason.CHECK_OUTDATED
        assert refusal.detail == (
            f'the human check was drawn with draw = "{drawn_in.plan.human_check.draw}", and the plan has draw ='
            f' "{used_in.plan.human_check.draw}"; draw it again under this plan, and have it filled'
        )


def test_entries_that_the_plan_would_not_have_drawn_are_no_check_of_its_run(run, world, by_entries, model):
    """Those of another seed, those that somebody picked, and those of a smaller corpus than this one now is."""
    said = "the entries of the human check are not those that the plan's seed draws from this run"
    other_seed = draw(run.every, by_entries.model_copy(update={"seed": 7}))
    picked = replace(run.sheet(), drawn=tuple(one.key for one in run.every if one.entry_id in ("e00", "e02", "e03")))
    before = ran(without(world, "e09"), by_entries, model(world.says)).sheet(Fraction(3, 10))
    for sheet in (other_seed, replace(picked, items=run.sheet(Fraction(1)).items), before):
        refusal = run.labels(check_by(sheet, truth_of(world))).refusal
        assert refusal.reason is Reason.CHECK_OUTDATED
        assert refusal.detail.startswith(said)


def test_a_corpus_may_grow_by_entries_that_would_not_have_been_drawn(run, world, by_entries, model):
    """Without e07, and then with it: the first three by lot are the same, and three are still a fifth of eleven."""
    before = ran(without(world, "e07"), by_entries, model(world.says))
    sheet = before.sheet(Fraction(3, 10))
    assert entries_of(sheet, before.every) == DRAWN
    assert run.labels(check_by(sheet, truth_of(world))).refusal is None


@pytest.mark.parametrize("plan", ["by_entries", "by_verdict"])
def test_a_check_of_less_than_the_share_of_the_plan_is_no_check_under_it(world, plan, request, model, amended):
    rules = request.getfixturevalue(plan)
    lax = amended(rules, human_check={"share": Fraction(1, 20)})
    check = check_by(ran(world, lax, model(world.says)).sheet(), truth_of(world))
    refusal = ran(world, rules, model(world.says)).labels(check).refusal
    assert refusal.reason is Reason.UNDERPOWERED
    held = "2 of the 11 entries" if plan == "by_entries" else "8 of the 88 propositions"
    assert refusal.detail.startswith(f"the human check holds {held} of this run, and the plan asks for 1/5 of them")


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"raters": 2}, Reason.UNDERPOWERED),
        ({"unsure_at_most": Fraction(0)}, Reason.UNTRUSTWORTHY),
        ({}, None),
    ],
)
def test_labels_must_be_worth_what_the_plan_of_the_run_asks(world, run, by_entries, amended, model, rules, reason):
    """Not what the plan asked under which they were drawn."""
    check = check_by(run.sheet(), lambda item: Said.UNSURE if item.hypothesis == "e01 tells 1.0" else Said.SUPPORTED)
    labels = ran(world, amended(by_entries, human_check=rules), model(world.says)).labels(check)
    assert (labels.refusal and labels.refusal.reason) is reason
    assert bool(labels.propositions) is (reason is None)


def test_people_who_disagree_more_than_the_plan_allows_give_no_labels(world, run):
    """Of two the second says the opposite of everything."""
    opposite = {Said.SUPPORTED: Said.NOT_SUPPORTED, Said.NOT_SUPPORTED: Said.SUPPORTED}
    truth = truth_of(world)
    labels = run.labels(check_by(run.sheet(), truth, lambda item: opposite[truth(item)]))
    assert labels.refusal.reason is Reason.RATERS_DISAGREE
    assert (labels.propositions, labels.spans) == ({}, {})


def test_where_no_proposition_was_annotated_spans_alone_are_drawn(spanned, world_of, by_entries, model):
    world = world_of(spanned(f"s{k}", spans=4, supported=3) for k in range(6))
    run = ran(replace(world, fixture=replace(world.fixture, propositions=())), by_entries, model(world.says))
    sheet = run.sheet()
    assert len(entries_of(sheet, run.every)) == 2
    labels = run.labels(check_by(sheet, truth_of(world)))
    assert (len(labels.spans), sum(bool(said) for said in labels.spans.values())) == (8, 6)
    assert labels.refusal is None
