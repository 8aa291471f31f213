"""The verdict: the order of the questions, row by row, and what each outcome says and leaves unsaid."""

from dataclasses import replace
from fractions import Fraction

import pytest

from eval_pipeline.corpus.snapshot import unread
from eval_pipeline.errors import SealBroken
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Interval, NoLabel, Reason, Refusal
from eval_pipeline.studies.extraction.fixture import Fixture, pinned_fixture
from eval_pipeline.studies.extraction.verdict import broken_seal, verdicts


@pytest.fixture(scope="session")
def sound(counted, world_of, lenient, run_study):
    """A study of ten whole notes, which nothing stands in the way of."""
    return run_study(world_of(counted(f"e{place}") for place in range(10)), lenient)


def decided(evidence, plan):
    recall, uniformity, _ = verdicts(evidence, plan)
    return recall, uniformity


def absent(frame, entries):
    """The frame with so many of its entries absent from the corpus."""
    gone = sorted(frame.entries)[:entries]
    units = tuple(replace(unit, words=None) if unit.entry_id in gone else unit for unit in frame.units)
    return replace(frame, units=units)


def without_signals(evidence):
    return replace(evidence, snapshot=replace(evidence.snapshot, signals=()))


def with_fixture(evidence, reason):
    return replace(evidence, fixture=Fixture((), Refusal(reason, "line 1")))


def with_few_judged(evidence, judged):
    pooled = replace(evidence.recall.pooled, judged=judged, hits=judged, undecided=40 - judged)
    return replace(evidence, recall=replace(evidence.recall, pooled=pooled))


# The rows of the order, first to last: the reason, the outcome of recall, and how evidence comes to hold it. Rows that
# are about the same part are made so that the later one holds as well: an unread corpus has no signals, and where all
# entries are absent more than a tenth are.
ROWS = [
    ("fixture_missing", "skip", lambda e: with_fixture(e, Reason.FIXTURE_MISSING)),
    ("corpus_unreachable", "skip", lambda e: replace(e, snapshot=unread(Reason.CORPUS_UNREACHABLE, "down", source=""))),
    ("corpus_empty", "skip", without_signals),
    ("judge_down", "skip", lambda e: replace(e, judged=replace(e.judged, refusal=Refusal(Reason.JUDGE_DOWN, "down")))),
    ("fixture_malformed", "fail", lambda e: with_fixture(e, Reason.FIXTURE_MALFORMED)),
    ("corpus_empty", "skip", lambda e: replace(e, frame=absent(e.frame, 10))),
    ("fixture_drift", "fail", lambda e: replace(e, frame=absent(e.frame, 2))),
    ("untrustworthy", "skip", lambda e: with_few_judged(e, 31)),
    ("underpowered", "skip", lambda e: replace(e, recall=replace(e.recall, judged_entries=1))),
]
ALONE = pytest.mark.parametrize(
    ("reason", "outcome", "put"), ROWS, ids=[f"{n}-{row[0]}" for n, row in enumerate(ROWS, 1)]
)


def test_where_nothing_stands_in_the_way_both_claims_are_decided(sound):
    assert sound.outcomes == ("pass", "pass", "skip")
    assert (sound.recall.reason, sound.uniformity.reason) == (None, None)
    assert sound.guard.reason is Reason.SPAN_PENDING


@ALONE
def test_each_obstacle_alone_is_the_reason_of_both_claims(sound, lenient, reason, outcome, put):
    recall, uniformity = decided(put(sound.evidence), lenient)
    assert (recall.reason.value, recall.outcome.value) == (reason, outcome)
    assert (uniformity.reason.value, uniformity.outcome.value) == (reason, "skip")
    assert recall.detail == uniformity.detail


TWO = [
    (first, second)
    for first in range(len(ROWS))
    for second in range(first + 1, len(ROWS))
    if (ROWS[first][0], ROWS[second][0]) != ("fixture_missing", "fixture_malformed")  # one file is one or the other
]


@pytest.mark.parametrize(
    ("first", "second"), TWO, ids=[f"{ROWS[i][0]}-{i + 1}-before-{ROWS[j][0]}-{j + 1}" for i, j in TWO]
)
def test_of_two_obstacles_at_once_the_earlier_is_the_reason(sound, lenient, first, second):
    both = ROWS[first][2](ROWS[second][2](sound.evidence))
    recall, uniformity = decided(both, lenient)
    assert (recall.reason.value, recall.outcome.value) == ROWS[first][:2]
    assert (uniformity.reason.value, uniformity.outcome.value) == (ROWS[first][0], "skip")


@ALONE
def test_numbers_stand_beside_a_skip_only_where_they_were_measured_soundly(sound, lenient, reason, outcome, put):
    recall, uniformity = decided(put(sound.evidence), lenient)
    measured = reason == "underpowered"
    for verdict in (recall, uniformity):
        assert verdict.advisory is measured
        assert (verdict.estimate is not None) is measured
        assert (verdict.interval is not None) is measured
    assert (recall.numerator, recall.denominator) == ((40, 40) if measured else (None, None))
    assert (recall.threshold, uniformity.threshold) == (Fraction(4, 5), Fraction(1, 10))


def test_the_first_version_fails_recall_where_it_is_untrustworthy(sound, lenient, amended):
    plan = amended(lenient, errors={"recall_outcome": "fail"})
    recall, uniformity = decided(with_few_judged(sound.evidence, 0), plan)
    assert (recall.reason, recall.outcome, uniformity.outcome) == (Reason.UNTRUSTWORTHY, "fail", "skip")


@pytest.mark.parametrize(("gone", "drift"), [(0, False), (1, False), (2, True)])
def test_one_entry_in_ten_may_be_absent_and_no_more(sound, lenient, gone, drift):
    recall, _ = decided(replace(sound.evidence, frame=absent(sound.evidence.frame, gone)), lenient)
    assert (recall.reason is Reason.FIXTURE_DRIFT) is drift
    assert not drift or "2 of the 10 entries" in recall.detail
    assert not drift or "(e0, e1)" in recall.detail


def test_absent_entries_are_left_out_of_recall(counted, world_of, lenient, run_study):
    notes = [counted(f"e{place:02d}") for place in range(18)]
    study = run_study(world_of([*notes, counted("gone1", absent=True), counted("gone2", absent=True)]), lenient)
    assert (study.recall.outcome, study.recall.numerator, study.recall.denominator) == ("pass", 72, 72)
    assert study.evidence.recall.judged_entries == 18


@pytest.mark.parametrize(("undecided", "trusted"), [(8, True), (9, False)])
def test_one_proposition_in_five_may_stay_undecided_and_no_more(
    counted, world_of, lenient, run_study, scripted, undecided, trusted
):
    world = world_of(counted(f"e{place}") for place in range(10))
    silent = {proposition.text for proposition in world.fixture.propositions[:undecided]}
    judge = scripted(lambda question: NoLabel.TIMED_OUT if question.hypothesis in silent else world.says(question))
    recall = run_study(world, lenient, judge).recall
    assert recall.outcome == ("pass" if trusted else "skip")
    if not trusted:
        assert recall.reason is Reason.UNTRUSTWORTHY
        # Of 40 propositions 31 were recovered: recall lies from 31/40 to 1; two calls for each of the 9 timed out.
        assert "9 of 40 propositions gave no label (of the answers: 18 timed_out)" in recall.detail
        assert "from 0.7750 to 1.0000" in recall.detail


def test_an_error_budget_in_calls_counts_the_calls_of_the_guard_too(
    counted, spanned, world_of, lenient, amended, run_study, scripted
):
    """8 propositions are settled by a screen each and 3 spans give no label: 3 of 11 calls, where 2 are allowed."""
    world = world_of([counted("a", (0, 0, 0, 0)), counted("b", (0, 0, 0, 0)), spanned("s", spans=3, supported=3)])
    judge = scripted(lambda question: "?" if question.hypothesis.startswith("s signal") else world.says(question))
    study = run_study(world, amended(lenient, errors={"counted_in": "calls"}), judge)
    assert study.recall.reason is Reason.UNTRUSTWORTHY
    assert "3 of 11 calls gave no label (of the answers: 3 unparsable)" in study.recall.detail
    assert run_study(world, lenient, judge).recall.reason is Reason.THRESHOLD_MISSED


def test_a_judge_that_goes_down_half_way_gives_no_verdict_and_keeps_its_counts(
    counted, world_of, lenient, run_study, scripted
):
    world = world_of(counted(f"e{place}") for place in range(10))
    study = run_study(world, lenient, scripted(world.says, down_after=40))
    assert (study.recall.outcome, study.recall.reason, study.recall.estimate) == ("skip", Reason.JUDGE_DOWN, None)
    assert (study.uniformity.outcome, study.uniformity.reason) == ("skip", Reason.JUDGE_DOWN)
    assert study.evidence.recall.pooled.judged == 20
    assert sum(row["judged"] for row in study.quartiles.to_pylist()) == 20


def test_a_corpus_that_holds_none_of_the_named_entries_is_empty(counted, world_of, lenient, run_study):
    study = run_study(world_of([counted("a"), counted("b")]), lenient)
    elsewhere = replace(world_of([counted("a"), counted("b")]), fixture=world_of([counted("z")]).fixture)
    assert study.recall.outcome == "pass"
    recall = run_study(elsewhere, lenient).recall
    assert (recall.reason, "none of the 1 entries" in recall.detail) == (Reason.CORPUS_EMPTY, True)


def test_one_entry_is_underpowered_for_uniformity_even_where_the_design_asks_for_no_more(
    counted, world_of, lenient, amended, run_study
):
    study = run_study(world_of([counted("a")]), amended(lenient, design={"entries": 1}))
    assert (study.recall.outcome, study.recall.interval) == ("pass", None)
    assert (study.uniformity.outcome, study.uniformity.reason) == ("skip", Reason.UNDERPOWERED)
    assert study.uniformity.estimate is None


def test_thin_quartiles_withhold_uniformity_and_leave_recall_decided(counted, world_of, lenient, run_study):
    study = run_study(world_of(counted(f"e{k}", totals=(1, 1, 1, 0), hits=(1, 1, 1, 0)) for k in range(5)), lenient)
    assert study.outcomes == ("pass", "skip", "skip")
    assert (study.uniformity.reason, study.uniformity.estimate) == (Reason.THIN_QUARTILES, None)


@pytest.mark.parametrize(
    ("hits", "outcomes"),
    [
        ((5, 5, 5, 5), ("pass", "pass")),
        ((5, 5, 5, 3), ("pass", "fail")),
        ((3, 3, 3, 3), ("fail", "pass")),
        ((5, 3, 3, 3), ("fail", "fail")),
        ((4, 4, 4, 4), ("pass", "pass")),
    ],
)
def test_recall_and_uniformity_are_decided_independently(counted, world_of, lenient, run_study, hits, outcomes):
    study = run_study(world_of(counted(f"e{k}", hits, (5, 5, 5, 5)) for k in range(4)), lenient)
    assert study.outcomes[:2] == outcomes
    for verdict in (study.recall, study.uniformity):
        assert verdict.reason is (Reason.THRESHOLD_MISSED if verdict.outcome == "fail" else None)
        assert not verdict.advisory


def test_recall_at_the_bar_passes_and_one_hit_less_fails(sound, lenient):
    def with_recall(hits, judged):
        pooled = replace(sound.evidence.recall.pooled, hits=hits, judged=40, estimate=Fraction(hits, judged))
        return decided(replace(sound.evidence, recall=replace(sound.evidence.recall, pooled=pooled)), lenient)[
            0
        ].outcome

    assert [with_recall(32, 40), with_recall(31, 40)] == ["pass", "fail"]
    assert with_recall(79_996, 100_000) == "fail"


@pytest.mark.parametrize(
    ("bound", "exact", "rounded"),
    [
        (Fraction(1, 10), "pass", "pass"),
        (Fraction(100_004, 10**6), "fail", "pass"),
        (Fraction(1001, 10**4), "fail", "fail"),
    ],
)
def test_the_bound_is_compared_as_it_is_or_rounded_as_the_plan_says(sound, lenient, amended, bound, exact, rounded):
    found = sound.evidence.uniformity
    moved = replace(found, bound=replace(found.bound, interval=Interval(None, bound, 0.95)))
    outcomes = [
        decided(replace(sound.evidence, uniformity=moved), amended(lenient, scoring={"comparison": comparison}))[
            1
        ].outcome
        for comparison in ("exact", "four_decimals")
    ]
    assert outcomes == [exact, rounded]


def test_a_bound_without_width_says_so(sound):
    assert "all resamples agree" in sound.uniformity.detail


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        (Interval(Fraction(81, 100), Fraction(1), 0.95), "the interval lies above it"),
        (Interval(Fraction(79, 100), Fraction(1), 0.95), "the interval holds it"),
        (Interval(Fraction(1, 2), Fraction(79, 100), 0.95), "the interval lies below it"),
        (None, "too little was judged for an interval"),
    ],
)
def test_a_verdict_says_where_the_interval_lies(sound, lenient, interval, said):
    pooled = replace(sound.evidence.recall.pooled, interval=interval)
    recall, _ = decided(replace(sound.evidence, recall=replace(sound.evidence.recall, pooled=pooled)), lenient)
    assert recall.outcome == "pass"
    assert said in recall.detail


@pytest.mark.parametrize(
    ("hits", "outcome", "reason"),
    [((5, 5, 5, 5), "warn", Reason.UNCALIBRATED), ((3, 3, 3, 3), "fail", Reason.THRESHOLD_MISSED)],
)
def test_a_judge_whose_errors_were_never_measured_can_raise_an_alarm_and_not_clear(
    counted, spanned, world_of, lenient, run_study, scripted, hits, outcome, reason
):
    world = world_of(
        [*(counted(f"e{k}", hits, (5, 5, 5, 5)) for k in range(4)), spanned("s", spans=20, supported=4 * hits[0])]
    )
    study = run_study(world, lenient, scripted(world.says, standing=Standing.UNCALIBRATED))
    for verdict in (study.recall, study.guard):
        assert (verdict.outcome, verdict.reason, verdict.advisory) == (outcome, reason, True)
        assert verdict.detail.endswith("the judge's own error rates were never measured")
    assert (study.uniformity.outcome, study.uniformity.reason) == ("warn", Reason.UNCALIBRATED)


def test_an_uncalibrated_pass_is_a_pass_where_the_plan_says_so(
    counted, world_of, lenient, amended, run_study, scripted
):
    world = world_of([counted("a"), counted("b")])
    plan = amended(lenient, calibration={"uncalibrated_pass": "pass"})
    study = run_study(world, plan, scripted(world.says, standing=Standing.UNCALIBRATED))
    assert (study.outcomes[:2], study.recall.advisory) == (("pass", "pass"), False)


@pytest.fixture(scope="session")
def planned(counted, world_of):
    """The world that the shipped plan asks for, and worlds that lack one thing of it each."""

    def world(sizes=(30, 30, 30), *, bands=("confident", "triage"), dense=45):
        places = [(workspace, place) for workspace, size in enumerate(sizes) for place in range(size)]
        return world_of(
            counted(
                f"w{workspace}-{place:02d}",
                workspace=f"workspace {workspace}",
                band=bands[place % len(bands)],
                words=1000 if number < dense else 999,
            )
            for number, (workspace, place) in enumerate(places)
        )

    return world


def test_the_planned_design_is_decided(planned, shipped, run_study):
    assert run_study(planned(), shipped).outcomes == ("pass", "pass", "skip")


@pytest.mark.parametrize(
    ("lacking", "clauses"),
    [
        (
            {"sizes": (30, 30, 29)},
            ["89 entries were judged and the plan asks for 90", "'workspace 2' has 29 judged entries"],
        ),
        ({"sizes": (31, 31, 29), "dense": 46}, ["workspace 'workspace 2' has 29 judged entries of 30"]),
        ({"bands": ("triage",)}, ["1 capture bands were judged and the plan asks for 2"]),
        ({"dense": 44}, ["44 of 90 entries have 1000 words or more and the plan asks for 1/2 of them"]),
    ],
    ids=["entries", "workspace", "bands", "dense"],
)
def test_what_the_design_lacks_is_named_and_nothing_else(planned, shipped, run_study, lacking, clauses):
    study = run_study(planned(**lacking), shipped)
    for verdict in (study.recall, study.uniformity):
        assert (verdict.outcome, verdict.reason, verdict.advisory) == ("skip", Reason.UNDERPOWERED, True)
        assert all(clause in verdict.detail for clause in clauses)
        assert verdict.detail.count("; ") == len(clauses)
    assert (study.recall.estimate, study.recall.interval is None) == (1, False)


def test_a_workspace_of_which_nothing_was_judged_is_lacking_too(planned, shipped, run_study, scripted):
    """100 entries, and of the ten of the third workspace no answer could be read: 90 judged, none of them there."""
    world = planned((45, 45, 10), dense=50)
    judge = scripted(lambda question: "?" if question.entry_id.startswith("w2") else world.says(question))
    recall = run_study(world, shipped, judge).recall
    assert (recall.outcome, recall.reason) == ("skip", Reason.UNDERPOWERED)
    assert "workspace 'workspace 2' has 0 judged entries of 30" in recall.detail


def test_a_band_of_which_nothing_was_judged_does_not_count(counted, world_of, lenient, amended, run_study, scripted):
    """Ten entries, and of the only one of the second band no answer could be read."""
    notes = [counted(f"e{place}", band="triage" if place else "confident") for place in range(10)]
    world, plan = world_of(notes), amended(lenient, design={"bands": 2})
    judge = scripted(lambda question: "?" if question.entry_id == "e0" else world.says(question))
    assert run_study(world, plan).recall.outcome == "pass"
    recall = run_study(world, plan, judge).recall
    assert (recall.outcome, recall.reason) == ("skip", Reason.UNDERPOWERED)
    assert "1 capture bands were judged and the plan asks for 2" in recall.detail


def test_a_decided_recall_says_what_range_the_undecided_leave(counted, world_of, lenient, run_study, scripted):
    world = world_of(counted(f"e{place}") for place in range(10))
    silent = {"e0 tells 1.0", "e1 tells 2.0"}
    judge = scripted(lambda question: "?" if question.hypothesis in silent else world.says(question))
    recall = run_study(world, lenient, judge).recall
    assert recall.outcome == "pass"
    assert "2 undecided ones leave recall anywhere from 0.9500 to 1.0000" in recall.detail
    assert "undecided" not in run_study(world, lenient).recall.detail


@pytest.mark.parametrize(
    ("cut", "clause"),
    [
        ({"budget": {"propositions_per_entry": 3}}, "the budget leaves out 90 of 360 propositions"),
        # 90 entries of 4 propositions with a signal each: 360 calls, and 8 canaries and 18 repeats beside them.
        ({"budget": {"calls": 385}}, "the budget leaves out 4 of 360 propositions"),
        ({"budget": {"entries": 89}}, "the budget leaves out 4 of 360 propositions"),
    ],
    ids=["propositions", "calls", "entries"],
)
def test_a_verdict_on_less_than_all_does_not_bind(planned, shipped, amended, run_study, cut, clause):
    study = run_study(planned(), amended(shipped, **cut))
    assert (study.recall.outcome, study.recall.reason) == ("skip", Reason.UNDERPOWERED)
    assert clause in study.recall.detail
    assert study.recall.estimate == 1


def test_a_cap_that_cuts_signals_does_not_bind_either(note, world_of, lenient, amended, run_study):
    world = world_of(note(name, {"s": ["x"], "t": ["y"]}, [(1, "x"), (4, "y")]) for name in ("a", "b"))
    recall = run_study(world, amended(lenient, judging={"signals_at_most": 1})).recall
    assert (recall.outcome, recall.reason) == ("skip", Reason.UNDERPOWERED)
    assert "the cap on signals cuts 2 entries" in recall.detail


def test_a_budget_that_decides_when_it_cuts_is_decided(counted, world_of, lenient, amended, run_study):
    world = world_of(counted(f"e{k}") for k in range(4))
    study = run_study(world, amended(lenient, budget={"entries": 3, "when_cut": "decides"}))
    assert (study.recall.outcome, study.recall.denominator) == ("pass", 12)


def test_a_missing_fixture_says_what_to_do(counted, world_of, lenient, run_study):
    study = run_study(replace(world_of([counted("a")]), fixture=pinned_fixture(None)), lenient)
    assert (study.recall.reason, study.uniformity.reason) == (Reason.FIXTURE_MISSING,) * 2
    assert "have the entries annotated" in study.recall.detail


def test_a_broken_seal_withholds_every_number_and_every_threshold():
    claims = broken_seal(SealBroken("plan 'x' was sealed as a but now hashes to b; restore it"))
    assert [claim.claim for claim in claims] == ["pooled_recall", "positional_uniformity", "precision_guard"]
    for claim in claims:
        assert (claim.outcome, claim.reason, claim.advisory) == ("skip", Reason.SEAL_BROKEN, False)
        assert (claim.estimate, claim.numerator, claim.denominator, claim.interval, claim.threshold) == (None,) * 5
        assert claim.detail == "plan 'x' was sealed as a but now hashes to b; restore it"


def test_undecided_propositions_at_one_end_of_the_texts_withhold_uniformity_alone(
    counted, world_of, lenient, run_study, scripted
):
    """4 of 40 propositions of quartile 4 give no label, then 12: a fifth of 40 is 8, a fifth of all 160 is 32."""
    world = world_of(counted(f"e{place}", totals=(4, 4, 4, 4), hits=(4, 4, 4, 4)) for place in range(10))

    def silent(entries):
        names = [f"e{place} tells 4." for place in range(entries)]
        return scripted(lambda question: "?" if question.hypothesis.startswith(tuple(names)) else world.says(question))

    few, many = run_study(world, lenient, silent(1)), run_study(world, lenient, silent(3))
    assert (few.recall.outcome, few.uniformity.outcome) == ("pass", "warn")
    assert few.uniformity.reason is Reason.UNDECIDED
    assert few.uniformity.interval.high == 0  # all that was judged was recovered
    assert f"could raise the bound to {float(few.evidence.uniformity.worst_bound):.4f}" in few.uniformity.detail
    assert (many.recall.outcome, many.uniformity.outcome) == ("pass", "skip")
    assert (many.uniformity.reason, many.uniformity.estimate) == (Reason.UNTRUSTWORTHY, None)
    assert "12 of 40 propositions of quartile 4" in many.uniformity.detail


def test_a_pass_that_the_undecided_could_turn_is_a_warning(counted, world_of, lenient, run_study, scripted):
    """2 of 40 are missed. With 3 undecided recall is at least 35/40, above the bar of .80; with 7 it may be 31/40."""
    whole, lossy = (2, 2, 4, 2), (2, 0, 4, 2)
    world = world_of(counted(f"e{k}", totals=whole, hits=lossy if k == 0 else whole) for k in range(4))
    names = [f"e{entry} tells 3.{place}" for entry in range(2) for place in range(4)]

    def silent(propositions):
        unread = set(names[:propositions])
        return scripted(lambda question: "?" if question.hypothesis in unread else world.says(question))

    firm, shaky = run_study(world, lenient, silent(3)).recall, run_study(world, lenient, silent(7)).recall
    assert (firm.outcome, firm.reason, firm.denominator) == ("pass", None, 37)
    assert (shaky.outcome, shaky.reason, shaky.denominator) == ("warn", Reason.UNDECIDED, 33)
    assert "leave recall anywhere from 0.7750 to 0.9500" in shaky.detail


def test_a_budget_that_cuts_the_spans_leaves_precision_undecided(
    counted, spanned, world_of, lenient, amended, run_study
):
    world = world_of([counted("a"), counted("b"), spanned("s", spans=60, supported=60)])
    study = run_study(world, amended(lenient, budget={"calls": 70}))  # 16 are for the propositions
    assert (study.guard.outcome, study.guard.reason, study.guard.advisory) == ("skip", Reason.UNDERPOWERED, True)
    assert "leaves out 25 of the spans" in study.guard.detail
    assert study.evidence.frame.spans_over_budget == 25


def test_a_budget_that_leaves_nothing_is_underpowered_and_no_fault_of_the_judge(
    counted, world_of, lenient, amended, run_study
):
    study = run_study(world_of([counted("a"), counted("b")]), amended(lenient, budget={"calls": 1}))
    assert (study.recall.outcome, study.recall.reason) == ("skip", Reason.UNDERPOWERED)
    assert "leaves out 8 of 8 propositions" in study.recall.detail
