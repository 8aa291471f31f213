"""The frame: what will be judged is drawn before the first call, by the plan and its seed alone."""

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.corpus.snapshot import unread
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Reason, Refusal
from eval_pipeline.studies.extraction.fixture import Fixture, pinned_fixture
from eval_pipeline.studies.extraction.frame import Frame, State, frame_of, word_count
from eval_pipeline.studies.extraction.plan import Strategy

LAW = settings(deadline=None, derandomize=True, max_examples=60)


def framed(world, plan):
    return frame_of(world.snapshot, world.fixture, plan)


def drawn(frame):
    """The propositions that will be judged, as they are known outside the frame."""
    return {(unit.entry_id, unit.text) for unit in frame.judged_units}


def drawn_entries(frame):
    return {unit.entry_id for unit in frame.judged_units}


@pytest.fixture(scope="session")
def many(counted, world_of):
    """60 entries in six equal strata of workspace and band, each with 12 propositions, three of each quartile."""
    strata = [(workspace, band) for workspace in ("north", "south", "west") for band in ("confident", "triage")]
    return world_of(
        counted(f"e{place:02d}", totals=(3, 3, 3, 3), workspace=strata[place % 6][0], band=strata[place % 6][1])
        for place in range(60)
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 1),
        ("a", 1),
        ("a b", 2),
        ("a \n\t b", 2),
        (" a", 2),
        ("a ", 2),
        (" a ", 3),
        (" ", 2),
        ("a\u00a0b", 2),
        ("a\u200bb", 1),
        ("don't-stop", 1),
    ],
)
def test_words_are_counted_as_a_regular_expression_splits(text, words):
    assert word_count(text) == words


@LAW
@given(st.text("ab \t\n\u00a0é", max_size=30))
def test_a_blank_at_either_end_makes_one_more_word(text):
    assert word_count(text) == max(1, len(text.split()) + text[:1].isspace() + text[-1:].isspace())


def test_entries_stand_in_the_order_of_their_ids_and_propositions_in_that_of_the_file(note, world_of, lenient):
    world = world_of([note("b", {}, [(4, "z"), (1, "y")]), note("a", {}, [(2, "x")]), note("B", {}, [(3, "w")])])
    frame = framed(world, lenient)
    assert [(unit.id, unit.entry_id, unit.text) for unit in frame.units] == [
        (0, "B", "w"),
        (1, "a", "x"),
        (2, "b", "z"),
        (3, "b", "y"),
    ]


def test_a_unit_carries_what_the_corpus_knows_of_its_entry(note, world_of, lenient):
    world = world_of([note("a", {}, [(3, "x")], words=1000, workspace="west", band=None)])
    (unit,) = framed(world, lenient).units
    assert (unit.workspace, unit.band, unit.words, unit.quartile, unit.state) == ("west", None, 1000, 3, State.IN)


def test_absent_entries_are_left_out_and_named(counted, world_of, lenient):
    frame = framed(world_of([counted("a"), counted("gone", absent=True)]), lenient)
    assert frame.absent_entries == {"gone"}
    assert frame.entries == {"a", "gone"}
    assert drawn_entries(frame) == {"a"}
    assert Counter(unit.state for unit in frame.units) == {State.IN: 4, State.ABSENT: 4}
    assert not frame.is_cut


def test_absent_entries_stay_in_where_the_plan_counts_them_as_missed(counted, world_of, compat):
    frame = framed(world_of([counted("a"), counted("gone", absent=True)]), compat)
    assert frame.absent_entries == {"gone"}
    assert drawn_entries(frame) == {"a", "gone"}
    assert {unit.words for unit in frame.units if unit.entry_id == "gone"} == {None}


@pytest.mark.parametrize("broken", ["corpus", "fixture"])
def test_the_frame_is_empty_where_corpus_or_fixture_cannot_be_used(counted, spanned, world_of, lenient, broken):
    world = world_of([counted("a"), spanned("s", spans=3, supported=3)])
    if broken == "corpus":
        world = replace(world, snapshot=unread(Reason.CORPUS_UNREACHABLE, "down", source="x"))
    else:
        world = replace(world, fixture=Fixture((), Refusal(Reason.FIXTURE_MALFORMED, "line 1")))
    assert framed(world, lenient) == Frame((), (), (), entries_cut_signals=0, spans_over_budget=0, calls_at_most=0)


def test_without_a_fixture_the_spans_are_judged_all_the_same(spanned, world_of, lenient):
    world = replace(world_of([spanned("s", spans=3, supported=3)]), fixture=pinned_fixture(None))
    frame = framed(world, lenient)
    assert (frame.units, len(frame.spans), frame.calls_at_most) == ((), 3, 3)


def test_the_most_calls_are_a_screen_and_every_signal_for_each_proposition_and_one_for_each_span(
    note, spanned, world_of, lenient
):
    world = world_of(
        [
            note("a", {"s": [], "t": [], "u": []}, [(1, "x"), (2, "y")]),
            note("silent", {}, [(1, "z")]),
            spanned("s", spans=5, supported=5),
        ]
    )
    # Two propositions against three signals cost (1 + 3) 2 = 8; no signals cost nothing; 5 spans.
    assert framed(world, lenient).calls_at_most == 13


def test_a_judge_that_supports_nothing_but_the_screen_costs_exactly_the_most_calls(
    note, world_of, lenient, run_study, scripted
):
    world = world_of([note(f"e{n}", {f"s{k}": [] for k in range(n)}, [(1, "x"), (4, "y")]) for n in range(4)])
    judge = scripted(lambda question: "SUPPORTED" if isinstance(question.premise, tuple) else "NOT_SUPPORTED")
    study = run_study(world, lenient, judge)
    assert len(judge.asked) == study.frame.calls_at_most == 2 * (2 + 3 + 4)


def test_a_cap_on_signals_bounds_the_calls_and_counts_the_entries_that_it_cuts(note, world_of, lenient, amended):
    world = world_of([note(f"e{n}", {f"s{k}": [] for k in range(n)}, [(1, "x")]) for n in (1, 2, 3, 4)])
    frame = framed(world, amended(lenient, judging={"signals_at_most": 2}))
    assert (frame.entries_cut_signals, frame.calls_at_most, frame.is_cut) == (2, 2 + 3 + 3 + 3, True)
    assert not framed(world, lenient).is_cut


budgets = st.fixed_dictionaries(
    {
        "entries": st.one_of(st.just("all"), st.integers(1, 70)),
        "propositions_per_entry": st.one_of(st.just("all"), st.integers(1, 14)),
        "calls": st.one_of(st.just("all"), st.integers(1, 1500)),
        "draw": st.sampled_from(["seeded", "first"]),
    }
)


@LAW
@given(budgets, st.integers(0, 2**31))
def test_a_budget_draws_a_subset_and_is_never_exceeded(many, lenient, amended, budget, seed):
    whole = framed(many, lenient)
    frame = framed(many, amended(lenient, budget=budget, seed=seed))
    assert [replace(unit, state=State.IN) for unit in frame.units] == list(whole.units)
    assert {unit.state for unit in frame.units} <= {State.IN, State.OVER_BUDGET}
    assert frame.is_cut == (len(frame.judged_units) < len(whole.units))
    per_entry = Counter(unit.entry_id for unit in frame.judged_units)
    assert budget["entries"] == "all" or len(per_entry) <= budget["entries"]
    assert budget["propositions_per_entry"] == "all" or all(
        count == min(12, budget["propositions_per_entry"]) for count in per_entry.values()
    )
    assert budget["calls"] == "all" or frame.calls_at_most <= budget["calls"]


beside = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from(list(Strategy)),
        "canaries": st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 3), Fraction(1)]),
        "repeats": st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(2, 7), Fraction(1)]),
    }
)


@LAW
@given(beside, st.integers(1, 3000))
def test_a_budget_of_calls_holds_for_canaries_and_repeats_too(many, lenient, amended, judging, calls):
    frame = framed(many, amended(lenient, judging=judging, budget={"calls": calls}))
    assert frame.calls_at_most <= calls
    canaries, judged = judging["canaries"], len(frame.judged_units)
    assert len(frame.canaries) == ceil(canaries * judged)


@LAW
@given(beside)
def test_a_budget_of_what_the_whole_frame_can_cost_leaves_nothing_out(many, lenient, amended, judging):
    whole = framed(many, amended(lenient, judging=judging))
    is_cut = framed(many, amended(lenient, judging=judging, budget={"calls": whole.calls_at_most})).is_cut
    assert not is_cut


@pytest.mark.parametrize(
    ("strategy", "calls"),
    [(Strategy.SCREEN_FIRST, 2 + 3 + 4), (Strategy.BEST_FIRST, 1 + 3 + 4), (Strategy.NO_SCREEN, 6)],
)
def test_a_screen_is_counted_where_the_strategy_may_come_to_it(note, world_of, lenient, amended, strategy, calls):
    """Entries of no, one, two and three signals, with a proposition each."""
    world = world_of([note(f"e{n}", {f"s{k}": [] for k in range(n)}, [(1, "x")]) for n in range(4)])
    assert framed(world, amended(lenient, judging={"strategy": strategy})).calls_at_most == calls


@pytest.mark.parametrize("strategy", Strategy)
def test_under_each_strategy_the_dearest_judge_costs_exactly_the_most_calls(
    note, world_of, lenient, amended, run_study, scripted, strategy
):
    """Its screens say yes and its signals no; canaries and repeats are asked beside them."""
    world = world_of(
        [note(f"e{n}", {f"e{n} s{k}": [] for k in range(n)}, [(1, f"{n}x"), (4, f"{n}y")]) for n in range(5)]
    )
    measured = {"canaries": Fraction(1, 3), "repeats": Fraction(1, 4), "audited_negatives": Fraction(1)}
    plan = amended(lenient, judging=measured | {"strategy": strategy})
    judge = scripted(
        lambda question: "SUPPORTED" if isinstance(question.premise, tuple) else "NOT_SUPPORTED",
        standing=Standing.UNCALIBRATED,
    )
    study = run_study(world, plan, judge)
    assert len(judge.asked) == study.frame.calls_at_most
    assert study.frame.calls_at_most > framed(world, amended(plan, judging={"repeats": 0, "canaries": 0})).calls_at_most


def test_a_budget_of_calls_holds_for_the_spans_of_the_guard_too(counted, spanned, world_of, lenient, amended):
    world = world_of([counted("a"), spanned("s", spans=20, supported=20)])
    frame = framed(world, amended(lenient, budget={"calls": 12}))
    assert frame.calls_at_most <= 12


def test_spans_are_paid_for_before_any_proposition(counted, spanned, world_of, lenient, amended):
    world = world_of([counted("a"), counted("b"), spanned("s", spans=20, supported=20)])
    # Each entry costs 4 (1 + 1) = 8 calls and the spans half of all: 15 + 8 leaves 7 of 30 calls, 16 + 16 are 32.
    within = {calls: framed(world, amended(lenient, budget={"calls": calls})) for calls in (30, 32)}
    assert [len(drawn_entries(frame)) for frame in within.values()] == [1, 2]


propositions_by_quartile = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any)


@LAW
@given(propositions_by_quartile, st.integers(1, 20), st.integers(0, 2**31))
def test_quartiles_of_an_entry_differ_by_one_at_most_where_there_are_enough(
    counted, world_of, lenient, amended, totals, at_most, seed
):
    world = world_of([counted("e", hits=(0, 0, 0, 0), totals=totals)])
    frame = framed(world, amended(lenient, budget={"propositions_per_entry": at_most}, seed=seed))
    kept = Counter(unit.quartile for unit in frame.judged_units)
    assert kept.total() == min(at_most, sum(totals))
    unfilled = [kept[quartile] for quartile, total in enumerate(totals, 1) if kept[quartile] < total]
    assert all(count >= max(kept.values()) - 1 for count in unfilled)


def test_which_quartile_gets_the_odd_proposition_is_drawn_entry_by_entry(many, lenient, amended):
    """One proposition an entry: all four quartiles come up among 60 entries, none of them in most."""
    frame = framed(many, amended(lenient, budget={"propositions_per_entry": 1}))
    kept = Counter(unit.quartile for unit in frame.judged_units)
    # Binomial(60, 1/4) lies within 5..25 but for one chance in a thousand.
    assert kept.total() == 60
    assert all(5 <= kept[quartile] <= 25 for quartile in (1, 2, 3, 4))


@pytest.mark.parametrize("entries", [6, 7, 17, 30, 59])
def test_equal_strata_of_workspace_and_band_are_drawn_equally(many, lenient, amended, entries):
    frame = framed(many, amended(lenient, budget={"entries": entries}))
    strata = Counter({(unit.entry_id, unit.workspace, unit.band) for unit in frame.judged_units})
    counts = Counter((workspace, band) for _, workspace, band in strata)
    assert counts.total() == entries
    assert len(counts) == 6
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("entries", [10, 20, 33, 50])
def test_unequal_strata_are_drawn_in_proportion(counted, world_of, lenient, amended, entries):
    sizes = {"north": 60, "south": 30, "west": 10}
    world = world_of(
        counted(f"{workspace}{place:02d}", workspace=workspace)
        for workspace, size in sizes.items()
        for place in range(size)
    )
    frame = framed(world, amended(lenient, budget={"entries": entries}))
    counts = Counter(workspace for _, workspace in {(unit.entry_id, unit.workspace) for unit in frame.judged_units})
    assert counts.total() == entries
    assert all(abs(counts[workspace] - Fraction(entries * size, 100)) <= 1 for workspace, size in sizes.items())


@pytest.mark.parametrize("budget", [{"entries": 20}, {"propositions_per_entry": 5}, {"calls": 300}])
def test_one_seed_draws_the_same_and_another_seed_another_part(many, lenient, amended, budget):
    first, again, other = (
        drawn(framed(many, amended(lenient, budget=budget, seed=seed))) for seed in (4242, 4242, 4243)
    )
    assert first == again
    assert first != other


def test_the_draw_does_not_depend_on_the_order_of_the_file(many, lenient, amended):
    plan = amended(lenient, budget={"entries": 20, "propositions_per_entry": 5})
    shuffled = random.Random(7).sample(many.fixture.propositions, len(many.fixture.propositions))
    mixed = replace(many, fixture=Fixture(tuple(shuffled), refusal=None))
    assert drawn(framed(mixed, plan)) == drawn(framed(many, plan))


def test_a_larger_budget_of_entries_draws_all_that_a_smaller_one_does(many, lenient, amended):
    draws = [drawn_entries(framed(many, amended(lenient, budget={"entries": n}))) for n in (5, 20, 40, 60)]
    assert all(smaller < larger for smaller, larger in pairwise(draws))


def test_the_first_version_takes_what_comes_first(many, compat, amended):
    frame = framed(many, amended(compat, budget={"entries": 5}))
    assert drawn_entries(frame) == {"e00", "e01", "e02", "e03", "e04"}
    # Ten of twelve in the order of the file: two of the last quartile are never seen.
    assert Counter(unit.quartile for unit in frame.judged_units) == {1: 15, 2: 15, 3: 15, 4: 5}


def test_drawn_spans_are_a_seeded_subset_in_the_order_of_the_signals(spanned, world_of, lenient, amended):
    world = world_of([spanned("s", spans=60, supported=60)])
    frames = [framed(world, amended(lenient, guard={"spans": 20}, seed=seed)) for seed in (1, 1, 2)]
    ids = [[span.signal_id for span in frame.spans] for frame in frames]
    assert [len(set(drawn_ids)) for drawn_ids in ids] == [20, 20, 20]
    assert all(drawn_ids == sorted(drawn_ids) for drawn_ids in ids)
    assert ids[0] == ids[1] != ids[2]
    assert set(ids[0]) <= {signal.id for signal in world.snapshot.signals}


def test_a_span_is_judged_as_the_premise_of_its_signal(spanned, world_of, lenient):
    world = world_of([spanned("s", spans=2, supported=2, blank=1)])
    (span,) = framed(world, lenient).spans
    assert (span.signal_id, span.entry_id) == ("s-s0001", "s")
    assert (span.premise, span.hypothesis) == ("s told 0001", "s signal 0001")


def test_a_frame_survives_the_way_through_a_table(many, spanned, world_of, lenient, amended):
    spans = world_of([spanned("s", spans=4, supported=4)]).snapshot
    snapshot = replace(
        many.snapshot, entries=many.snapshot.entries + spans.entries, signals=many.snapshot.signals + spans.signals
    )
    plan = amended(lenient, budget={"entries": 20}, judging={"signals_at_most": 1, "canaries": Fraction(1, 50)})
    frame = framed(replace(many, snapshot=snapshot), plan)
    assert frame.spans
    assert frame.canaries
    assert frame.is_cut
    assert Frame.from_table(frame.to_table()) == frame
