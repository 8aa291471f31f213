"""The precision guard: exact inference over the drawn spans, and the order of what keeps it from deciding."""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.stats import binom, binomtest

from eval_pipeline.corpus.snapshot import unread
from eval_pipeline.records import NoLabel, Reason, Refusal, Signal
from eval_pipeline.studies.extraction.fixture import Fixture, pinned_fixture
from eval_pipeline.studies.extraction.guard import Reading, guard_findings
from eval_pipeline.studies.extraction.spans import SpanStatus


@pytest.fixture(scope="session")
def guarded(counted, spanned, world_of, lenient, run_study):
    """The study of two good notes and of so many spans, of which so many are supported."""

    def run(spans, supported, *, plan=lenient, blank=0, judge=None):
        return run_study(
            world_of([counted("a"), counted("b"), spanned("s", spans=spans, supported=supported, blank=blank)]),
            plan,
            judge,
        )

    return run


def with_signal(world, start, end, fault=None):
    """The world with one more signal of note s, whose span is as given."""
    more = Signal("s-z", "s", "one more", start, end, fault)
    return replace(world, snapshot=replace(world.snapshot, signals=(*world.snapshot.signals, more)))


def test_all_of_twenty_worked_by_hand(guarded):
    found = guarded(20, 20).evidence.guard
    # The bound p solves p^20 = .05, so p = .05^(1/20) = .8609; so few or fewer than 20 of 20 is certain.
    assert float(found.interval.low) == pytest.approx(0.05 ** (1 / 20), abs=1e-12)
    assert (found.interval.high, found.interval.level, found.p_value) == (1.0, 0.95, 1.0)


@pytest.mark.parametrize(("spans", "supported"), [(20, 19), (20, 18), (20, 1), (20, 0), (60, 51), (200, 197)])
def test_bound_and_p_value_agree_with_scipys_exact_test(guarded, spans, supported):
    """scipy.stats.binomtest, alternative less, and its one-sided Clopper-Pearson interval."""
    found = guarded(spans, supported).evidence.guard
    exact = binomtest(supported, spans, 0.95, alternative="greater").proportion_ci(0.95, method="exact")
    assert (found.judged, found.supported) == (spans, supported)
    assert found.interval.low == pytest.approx(exact.low, abs=1e-9)
    assert found.p_value == pytest.approx(binomtest(supported, spans, 0.95, alternative="less").pvalue, abs=1e-12)


def test_the_bound_lies_below_the_true_precision_at_least_as_often_as_the_level(guarded, lenient):
    """Coverage by enumeration: all 21 outcomes of 20 spans, weighted by their chances."""
    study = guarded(20, 20)
    spans = study.judged.to_table().filter(pc.field("kind") == "precision_span")
    place = spans.schema.get_field_index("label")

    def low_where(supported):
        labels = pa.array(["SUPPORTED"] * supported + ["NOT_SUPPORTED"] * (20 - supported))
        judgments = spans.set_column(place, "label", labels)
        found = guard_findings(study.evidence.snapshot, study.frame, judgments, lenient, code_writes_spans=True)
        assert (found.supported, found.judged) == (supported, 20)
        return found.interval.low

    lows = [low_where(supported) for supported in range(21)]
    for precision in (0.5, 0.8, 0.9, 0.95, 0.99):
        held = sum(binom.pmf(k, 20, precision) for k, low in enumerate(lows) if low <= precision)
        assert held >= 0.95


@pytest.mark.parametrize(
    ("spans", "supported", "reading"),
    [
        # .05^(1/58) = .9497 and .05^(1/59) = .9505, on either side of the bar.
        (59, 59, Reading.SHOWN_SAFE),
        (58, 58, Reading.NOT_SHOWN_HARMFUL),
        (20, 20, Reading.NOT_SHOWN_HARMFUL),
        (20, 19, Reading.NOT_SHOWN_HARMFUL),
        # Where precision is .95, P(X <= 24 of 28) = .0491 and P(X <= 36 of 41) = .0525.
        (41, 36, Reading.NOT_SHOWN_HARMFUL),
        (28, 24, Reading.SHOWN_HARMFUL),
        (200, 150, Reading.SHOWN_HARMFUL),
    ],
)
def test_a_share_is_read_by_what_the_exact_tests_show(guarded, spans, supported, reading):
    assert guarded(spans, supported).evidence.guard.reading is reading


@pytest.mark.parametrize(
    ("supported", "outcome", "estimate"),
    [(20, "pass", 1), (19, "pass", Fraction(19, 20)), (18, "fail", Fraction(9, 10))],
)
def test_the_bar_is_held_against_the_share_itself(guarded, supported, outcome, estimate):
    verdict = guarded(20, supported).guard
    assert (verdict.outcome, verdict.estimate, verdict.advisory) == (outcome, estimate, False)
    assert (verdict.numerator, verdict.denominator) == (supported, 20)


def test_inventions_name_the_signal_and_the_span_that_does_not_support_it(guarded):
    (invention,) = guarded(3, 2).evidence.guard.inventions
    assert (invention.signal_id, invention.entry_id) == ("s-s0002", "s")
    assert (invention.signal, invention.span) == ("s signal 0002", "s told 0002")


@pytest.mark.parametrize(
    ("spans", "code", "status"),
    [
        (0, False, SpanStatus.PENDING_CAVEAT),
        (0, True, SpanStatus.PENDING_CORPUS),
        (20, False, SpanStatus.ACTIVE_CAVEAT_CHANGED),
        (20, True, SpanStatus.ACTIVE),
        (None, True, SpanStatus.UNKNOWN),
    ],
)
def test_the_status_puts_rows_and_code_together(counted, spanned, world_of, lenient, run_study, spans, code, status):
    world = world_of([counted("a"), spanned("s", spans=spans or 0, supported=0)])
    if spans is None:
        world = replace(world, snapshot=unread(Reason.CORPUS_UNREACHABLE, "down", source="x"))
    assert run_study(world, lenient, code_writes_spans=code).evidence.guard.status is status


def test_an_answer_that_cannot_be_read_is_neither_support_nor_invention(
    counted, spanned, world_of, lenient, run_study, scripted
):
    world = world_of([counted("a"), counted("b"), spanned("s", spans=25, supported=25)])
    judge = scripted(lambda q: NoLabel.TIMED_OUT if q.hypothesis == "s signal 0003" else world.says(q))
    found = run_study(world, lenient, judge).evidence.guard
    assert (found.drawn, found.judged, found.supported, found.undecided) == (25, 24, 24, 1)
    assert found.inventions == ()


OBSTACLES = ["corpus_unreachable", "span_pending", "judge_down", "fixture_malformed", "span_malformed", "untrustworthy"]


def gives_no_label(question):
    return NoLabel.FAILED


def obstructed(world, names):
    """The world, and the judge's manners, where all of these stand in the way at once."""
    says, live = world.says, True
    for name in names:
        if name == "span_malformed":
            world = with_signal(world, 5, 2)
        elif name == "untrustworthy":
            says = gives_no_label
        elif name == "judge_down":
            live = False
        elif name == "fixture_malformed":
            world = replace(world, fixture=Fixture((), Refusal(Reason.FIXTURE_MALFORMED, "line 1")))
    if "span_pending" in names:
        bare = tuple(replace(signal, start=None, end=None, span_fault=None) for signal in world.snapshot.signals)
        world = replace(world, snapshot=replace(world.snapshot, signals=bare))
    if "corpus_unreachable" in names:
        world = replace(world, snapshot=unread(Reason.CORPUS_UNREACHABLE, "down", source="x"))
    return world, says, live


PAIRS = [
    (first, second)
    for place, first in enumerate(OBSTACLES)
    for second in [*OBSTACLES[place + 1 :], "nothing else"]
    # A malformed fixture leaves nothing to ask, so that no judge can be found down.
    if (first, second) != ("judge_down", "fixture_malformed")
]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{first}-before-{second}" for first, second in PAIRS])
def test_the_first_obstacle_in_the_order_is_the_reason(
    counted, spanned, world_of, lenient, run_study, scripted, first, second
):
    world = world_of([counted("a"), counted("b"), spanned("s", spans=19, supported=19)])  # 19: underpowered as well
    world, says, live = obstructed(world, {first, second})
    verdict = run_study(world, lenient, scripted(says, live=live)).guard
    assert verdict.reason.value == first
    assert verdict.outcome == ("fail" if first == "span_malformed" else "skip")


def test_too_few_judged_spans_leave_the_numbers_standing_without_deciding(guarded):
    verdict = guarded(19, 10).guard
    assert (verdict.outcome, verdict.reason, verdict.advisory) == ("skip", Reason.UNDERPOWERED, True)
    assert (verdict.estimate, verdict.numerator, verdict.denominator) == (Fraction(10, 19), 10, 19)
    assert "19 spans were judged and the plan asks for 20" in verdict.detail


@pytest.mark.parametrize("undecided", [5, 6])
def test_one_span_in_five_may_stay_undecided_and_no_more(
    counted, spanned, world_of, lenient, run_study, scripted, undecided
):
    world = world_of([counted("a"), counted("b"), spanned("s", spans=25, supported=25)])
    unread_ones = {f"s signal {place:04d}" for place in range(undecided)}
    judge = scripted(lambda q: NoLabel.FAILED if q.hypothesis in unread_ones else world.says(q))
    verdict = run_study(world, lenient, judge).guard
    assert (verdict.outcome, verdict.reason) == (
        ("warn", Reason.UNDECIDED) if undecided == 5 else ("skip", Reason.UNTRUSTWORTHY)
    )
    assert (verdict.estimate is None) == (undecided == 6)
    if undecided == 5:  # 20 of 25 at the least, and the bar is .95
        assert "5 undecided ones leave precision anywhere from 0.8000 to 1.0000" in verdict.detail


@pytest.mark.parametrize(
    ("start", "end", "fault", "kind"),
    [
        (5, 2, None, "reversed"),
        (0, 10**6, None, "out_of_range"),
        (-1, 4, None, "negative"),
        (6, 7, None, "blank"),
        (None, None, "recorded as [0,5]", "not_a_span"),
    ],
)
def test_one_malformed_span_fails_the_guard_and_is_named_by_its_kind(
    counted, spanned, world_of, lenient, run_study, start, end, fault, kind
):
    world = with_signal(world_of([counted("a"), counted("b"), spanned("s", spans=20, supported=20)]), start, end, fault)
    verdict = run_study(world, lenient).guard
    assert (verdict.outcome, verdict.reason, verdict.advisory) == ("fail", Reason.SPAN_MALFORMED, True)
    assert f"1 of 21 recorded spans cannot be read (1 {kind})" in verdict.detail
    assert "signal 's-z'" in verdict.detail
    assert (verdict.numerator, verdict.denominator) == (20, 20)


def test_malformed_spans_are_passed_over_where_the_plan_says_so(
    counted, spanned, world_of, lenient, amended, run_study
):
    world = with_signal(world_of([counted("a"), counted("b"), spanned("s", spans=20, supported=20)]), 5, 2)
    assert run_study(world, amended(lenient, guard={"malformed_spans": "left_out"})).guard.outcome == "pass"


def test_the_first_version_draws_its_twenty_before_it_looks_whether_they_are_blank(guarded, compat):
    """One blank premise among the first 20 of 25 made the guard underpowered: none was drawn in its place."""
    verdict = guarded(25, 24, plan=compat, blank=1).guard
    assert (verdict.outcome, verdict.reason, verdict.denominator) == ("skip", Reason.UNDERPOWERED, 19)


def test_the_guard_is_decided_without_a_fixture(spanned, world_of, lenient, run_study):
    world = replace(world_of([spanned("s", spans=20, supported=20)]), fixture=pinned_fixture(None))
    study = run_study(world, lenient)
    assert study.outcomes == ("skip", "skip", "pass")
    assert study.recall.reason is Reason.FIXTURE_MISSING


def test_an_undecided_fixture_has_no_say_in_the_guard(guarded, scripted):
    """Recall is untrustworthy, as no proposition could be judged; every span could, and the guard passes."""
    judge = scripted(lambda question: "SUPPORTED" if question.hypothesis.startswith("s signal") else "?")
    study = guarded(20, 20, judge=judge)
    assert study.outcomes == ("skip", "skip", "pass")
