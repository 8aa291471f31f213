"""Recall: pooled over propositions, its interval over entries, and the range that undecided propositions leave."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap

from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.plan import Strategy
from eval_pipeline.studies.extraction.recall import recall_findings

NO_FRAME = Frame((), (), (), entries_cut_signals=0, spans_over_budget=0, calls_at_most=0)
NO_JUDGMENTS = Judged.of_rows((), judge={}, kind="scripted", fingerprint="", refusal=None).to_table()


def found_in(table, plan):
    return recall_findings(NO_FRAME, table, NO_JUDGMENTS, plan)


def random_rows(rng, entries, *, recall=0.8, between=8.0):
    """Entries of 4 to 12 propositions whose own recalls vary as Beta(between recall, between (1 - recall)) does."""
    judged = rng.integers(1, 4, size=(entries, 4))
    shares = rng.beta(between * recall, between * (1 - recall), size=(entries, 1))
    return list(zip(rng.binomial(judged, shares).tolist(), judged.tolist(), strict=True))


def test_pooled_and_macro_recall_worked_by_hand(quartile_table, lenient):
    found = found_in(quartile_table([((2, 1, 0, 0), (2, 2, 1, 1)), ((1, 0, 0, 0), (1, 0, 0, 1))]), lenient)
    # Pooled (3 + 1) / (6 + 2) = 1/2; macro (3/6 + 1/2) / 2 = 1/2; by quartile 3/3, 1/2, 0/1, 0/2.
    assert (found.pooled.estimate, found.pooled.hits, found.pooled.judged) == (Fraction(1, 2), 4, 8)
    assert found.macro == Fraction(1, 2)
    assert [group.estimate for group in found.by_quartile] == [1, Fraction(1, 2), 0, 0]
    assert [group.entries for group in found.by_quartile] == [2, 1, 1, 2]


def test_macro_recall_gives_each_entry_one_voice(quartile_table, lenient):
    found = found_in(quartile_table([((9, 0, 0, 0), (9, 0, 0, 0)), ((0, 0, 0, 0), (1, 0, 0, 0))]), lenient)
    assert (found.pooled.estimate, found.macro) == (Fraction(9, 10), Fraction(1, 2))


def test_undecided_propositions_leave_a_range_and_not_a_miss(counted, world_of, lenient, run_study, scripted):
    world = world_of([counted("a"), counted("b", hits=(1, 1, 1, 0))])
    judge = scripted(lambda question: "?" if question.hypothesis == "a tells 1.0" else world.says(question))
    found = run_study(world, lenient, judge).evidence.recall
    # Of 8 propositions 6 are recovered, one is missed, one undecided: 6/7, and anywhere from 6/8 to 7/8.
    assert found.pooled.estimate == Fraction(6, 7)
    assert (found.worst_case.low, found.worst_case.high) == (Fraction(6, 8), Fraction(7, 8))
    assert found.by_quartile[0].undecided == 1


def test_the_range_counts_the_propositions_of_entries_of_which_nothing_was_judged(
    counted, world_of, lenient, run_study, scripted
):
    world = world_of([counted("a"), counted("b")])
    judge = scripted(lambda question: "?" if question.entry_id == "a" else world.says(question))
    found = run_study(world, lenient, judge).evidence.recall
    assert (found.judged_entries, found.entries_undecided) == (1, ("a",))
    assert (found.worst_case.low, found.worst_case.high) == (Fraction(1, 2), 1)
    assert (found.macro, found.pooled.entries) == (1, 1)


def test_an_entry_of_which_nothing_was_judged_has_no_part_in_any_interval(
    counted, world_of, lenient, run_study, scripted
):
    """It would be drawn again as a row of nothing, and other entries in its place a little less often."""
    notes = [counted(f"e{place}", hits=(1, place % 2, 1, place % 3 > 0)) for place in range(8)]
    world = world_of([*notes, counted("silent")])
    judge = scripted(lambda question: "?" if question.entry_id == "silent" else world.says(question))
    with_it, without_it = run_study(world, lenient, judge), run_study(world_of(notes), lenient)
    for name in ("by_quartile", "by_workspace", "by_band"):
        here, there = (getattr(study.evidence.recall, name) for study in (with_it, without_it))
        assert [group.interval for group in here] == [group.interval for group in there]
    assert with_it.recall.interval == without_it.recall.interval
    found, alone = with_it.evidence.uniformity, without_it.evidence.uniformity
    assert replace(found, worst_bound=None) == replace(alone, worst_bound=None)
    assert found.worst_bound > alone.worst_bound  # there it has its part: what it hides may be lost at the end


def test_pooled_recall_counts_every_undecided_proposition(counted, world_of, lenient, run_study, scripted):
    """The denominator is fixed before judging: recovered, missed and undecided add up to the frame."""
    world = world_of([counted("a"), counted("b")])
    judge = scripted(lambda question: "?" if question.entry_id == "a" else world.says(question))
    study = run_study(world, lenient, judge)
    pooled = study.evidence.recall.pooled
    assert pooled.judged + pooled.undecided == len(study.frame.judged_units)


@pytest.mark.parametrize(
    ("strategy", "counted_apart"), [(Strategy.SCREEN_FIRST, 1), (Strategy.BEST_FIRST, 1), (Strategy.NO_SCREEN, None)]
)
def test_support_by_several_signals_together_is_a_miss_and_counted_apart_where_a_screen_asks_about_it(
    note, world_of, lenient, amended, run_study, strategy, counted_apart
):
    notes = [note(name, {"A part": [], "B part": []}, [(1, "both parts"), (4, "neither")]) for name in ("a", "b")]
    study = run_study(world_of(notes, together=[("a", "both parts")]), amended(lenient, judging={"strategy": strategy}))
    found = study.evidence.recall
    assert (found.pooled.hits, found.pooled.judged, found.composition_only) == (0, 4, counted_apart)
    assert study.document["findings"]["recall"]["composition_only"] == counted_apart


def test_groups_say_recall_by_workspace_band_and_density(counted, world_of, lenient, shipped, amended, run_study):
    world = world_of(
        [
            counted("a", (1, 0, 0, 0), workspace="north", band="triage", words=999),
            counted("b", (1, 1, 0, 0), workspace="north", band="over-ceiling", words=1000),
            counted("c", (1, 1, 1, 1), workspace=None, band=None, words=1001),
        ]
    )
    plan = amended(lenient, design={"dense": shipped.design.dense})
    found = run_study(world, plan).evidence.recall

    def shares(groups):
        return {group.name: (group.hits, group.judged, group.entries) for group in groups}

    assert shares(found.by_workspace) == {"north": (3, 8, 2), "not recorded": (4, 4, 1)}
    assert shares(found.by_band) == {"triage": (1, 4, 1), "over-ceiling": (2, 4, 1), "not recorded": (4, 4, 1)}
    assert shares(found.by_density) == {"1000 words or more": (6, 8, 2), "under 1000 words": (1, 4, 1)}
    assert found.dense_entries == 2


@pytest.mark.parametrize(("counted_on", "dense"), [("judged", 1), ("fixture", 2)])
def test_long_entries_are_counted_on_what_the_plan_says(
    counted, world_of, lenient, shipped, amended, run_study, scripted, counted_on, dense
):
    """Entry b is long and nothing of it could be judged; entry gone is named by the fixture and absent."""
    world = world_of([counted("a", words=1000), counted("b", words=1200), counted("c"), counted("gone", absent=True)])
    judge = scripted(lambda question: "?" if question.entry_id == "b" else world.says(question))
    rule = shipped.design.dense.model_copy(update={"counted_on": counted_on})
    assert run_study(world, amended(lenient, design={"dense": rule}), judge).evidence.recall.dense_entries == dense


def test_a_plan_without_a_rule_on_long_entries_counts_none(counted, world_of, lenient, run_study):
    found = run_study(world_of([counted("a", words=2000), counted("b")]), lenient).evidence.recall
    assert (found.dense_entries, found.by_density) == (None, ())


def test_entries_without_signals_are_counted(note, counted, world_of, lenient, run_study):
    world = world_of([counted("a"), note("s1", {}, [(1, "x"), (2, "y")]), note("s2", {}, [(1, "z")])])
    found = run_study(world, lenient).evidence.recall
    assert (found.entries_without_signals, found.judged_entries, found.pooled.judged) == (2, 3, 7)


def test_the_interval_agrees_with_scipy(quartile_table, lenient):
    """scipy.stats.bootstrap, paired, percentile: entries drawn with replacement, ratio of sums."""
    rows = random_rows(np.random.default_rng(11), 90)
    interval = found_in(quartile_table(rows), lenient).pooled.interval
    hits, judged = (np.array([sum(row[side]) for row in rows]) for side in (0, 1))
    scipys = bootstrap(
        (hits, judged),
        lambda hits, judged, axis: hits.sum(axis=axis) / judged.sum(axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        confidence_level=0.95,
        n_resamples=9999,
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert float(interval.low) == pytest.approx(scipys.low, abs=0.01)
    assert float(interval.high) == pytest.approx(scipys.high, abs=0.01)


def test_every_partition_of_the_entries_adds_up_to_the_whole(quartile_table, lenient):
    rows = random_rows(np.random.default_rng(5), 40)
    table = quartile_table(rows)
    workspaces = [f"w{place % 3}" for place in range(40) for _ in range(4)]
    table = table.set_column(table.schema.get_field_index("workspace"), "workspace", [workspaces])
    found = found_in(table, lenient)
    for groups in (found.by_quartile, found.by_workspace, found.by_band):
        assert sum(group.hits for group in groups) == found.pooled.hits
        assert sum(group.judged for group in groups) == found.pooled.judged
    assert len(found.by_workspace) == 3


def test_tripling_every_count_leaves_the_estimate_and_its_interval(quartile_table, lenient):
    rows = random_rows(np.random.default_rng(5), 40)
    tripled = [([3 * h for h in hits], [3 * j for j in judged]) for hits, judged in rows]
    one, three = (found_in(quartile_table(table), lenient).pooled for table in (rows, tripled))
    assert (three.estimate, three.interval) == (one.estimate, one.interval)


def test_a_95_percent_interval_holds_the_true_recall_in_95_percent_of_studies(quartile_table, lenient, amended):
    """Coverage over 200 simulated studies of 60 entries agrees with the level that was asked for."""
    rng, plan = np.random.default_rng(3), amended(lenient, bootstrap={"resamples": 400})
    covered = 0
    for _ in range(200):
        interval = found_in(quartile_table(random_rows(rng, 60)), plan).pooled.interval
        covered += interval.low <= 0.8 <= interval.high
    assert binomtest(covered, 200, 0.95).pvalue > 0.01


def test_one_entry_has_an_estimate_and_no_interval(quartile_table, lenient):
    found = found_in(quartile_table([((1, 1, 0, 1), (1, 1, 1, 1))]), lenient)
    assert (found.pooled.estimate, found.pooled.interval, found.pooled.degenerate) == (Fraction(3, 4), None, False)


def test_where_nothing_was_judged_there_is_no_number_at_all(counted, world_of, lenient, run_study, scripted):
    study = run_study(world_of([counted("a"), counted("b")]), lenient, scripted(lambda question: "?"))
    found = study.evidence.recall
    assert (found.pooled.estimate, found.pooled.interval, found.macro) == (None, None, None)
    assert (found.worst_case.low, found.worst_case.high) == (0, 1)


def test_an_empty_frame_has_no_range_either(quartile_table, lenient):
    found = found_in(quartile_table([]), lenient)
    assert (found.pooled.estimate, found.worst_case, found.judged_entries) == (None, None, 0)


def test_a_group_judged_in_too_few_resamples_has_an_estimate_and_no_interval(quartile_table, lenient, amended):
    """Quartile 4 stands in one of 40 entries, and so in 1 - (39/40)^40 = 64 % of resamples; 70 % are asked for."""
    rows = [((1, 1, 1, 1), (1, 1, 1, 1))] + [((1, 1, 1, 0), (1, 1, 1, 0))] * 39
    plan = amended(lenient, bootstrap={"valid_at_least": Fraction(7, 10)})
    last = found_in(quartile_table(rows), plan).by_quartile[3]
    assert (last.estimate, last.interval) == (1, None)


@pytest.mark.parametrize(("last", "degenerate"), [((1, 1, 1, 1), True), ((1, 1, 1, 0), False)])
def test_an_interval_without_width_is_called_degenerate(quartile_table, lenient, last, degenerate):
    rows = [((1, 1, 1, 1), (1, 1, 1, 1))] * 20 + [(last, (1, 1, 1, 1))]
    assert found_in(quartile_table(rows), lenient).pooled.degenerate is degenerate
