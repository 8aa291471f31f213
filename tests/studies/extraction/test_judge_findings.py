"""What the judgments say of the judge: the misses of its screen as they were made up, and the calls it cost."""

from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import binomtest

from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Interval, NoLabel
from eval_pipeline.studies.extraction.plan import Strategy

HALF = Fraction(1, 2)


def is_screen(question):
    return isinstance(question.premise, tuple)


def name(entry, quartile, place):
    return f"e{entry:03d} tells {quartile}.{place}"


# 100 entries of two signals and three propositions a quartile: of each three the second signal entails the first two.
# The screen misses the first of the three in these entries.
MISSED_IN = {1: 10, 2: 20, 3: 0, 4: 50}


@pytest.fixture(scope="module")
def lossy(note, world_of):
    def lossy_note(entry):
        entailed = [name(entry, quartile, place) for quartile in (1, 2, 3, 4) for place in (0, 1)]
        told = [(quartile, name(entry, quartile, place)) for quartile in (1, 2, 3, 4) for place in (0, 1, 2)]
        return note(f"e{entry:03d}", {f"e{entry:03d} is silent": (), f"e{entry:03d} speaks": entailed}, told)

    return world_of(lossy_note(entry) for entry in range(100))


@pytest.fixture(scope="module")
def half_blind(lossy, scripted):
    """A judge that contradicts itself: its screen misses what it supports when it is asked about the signal alone."""
    missed = {name(entry, quartile, 0) for quartile, entries in MISSED_IN.items() for entry in range(entries)}

    def says(question):
        return "NOT_SUPPORTED" if is_screen(question) and question.hypothesis in missed else lossy.says(question)

    return lambda: scripted(says, in_flight=4)


@pytest.fixture(scope="module")
def audited(lossy, half_blind, lenient, amended, run_study):
    """The study with no, half or all of the screen's negatives audited."""
    shares = (Fraction(0), HALF, Fraction(1))
    return {
        share: run_study(lossy, amended(lenient, judging={"audited_negatives": share}), half_blind())
        for share in shares
    }


def test_a_whole_audit_finds_exactly_what_the_screen_missed_in_each_quartile(audited):
    """The screen turns away 100 unsupported propositions of each quartile, and those that it misses."""
    screen = audited[Fraction(1)].evidence.judge
    found = {audit.quartile: (audit.turned_away, audit.audited, audit.missed) for audit in screen.screen_by_quartile}
    assert found == {quartile: (100 + missed, 100 + missed, missed) for quartile, missed in MISSED_IN.items()}
    assert (screen.screen.turned_away, screen.screen.audited, screen.screen.missed) == (480, 480, 80)
    assert {audit.undecided for audit in (screen.screen, *screen.screen_by_quartile)} == {0}


@pytest.mark.parametrize("share", [HALF, Fraction(1)])
def test_the_miss_rate_and_its_exact_interval_are_those_of_the_counts(audited, share):
    """scipy 1.17.1, binomtest(...).proportion_ci(method="exact"), which solves the tail equations by bisection."""
    found = audited[share].evidence.judge
    written = audited[share].document["findings"]["judge"]
    rows = [written["screen"], *written["screen_by_quartile"]]
    for audit, row in zip((found.screen, *found.screen_by_quartile), rows, strict=True):
        theirs = binomtest(audit.missed, audit.audited).proportion_ci(confidence_level=0.95, method="exact")
        assert audit.interval == Interval(
            pytest.approx(theirs.low, abs=1e-9), pytest.approx(theirs.high, abs=1e-9), 0.95
        )
        assert row["miss_rate"] == pytest.approx(audit.missed / audit.audited, abs=1e-9)
        assert row["interval"] == [pytest.approx(theirs.low, abs=1e-9), pytest.approx(theirs.high, abs=1e-9)]


def test_half_an_audit_finds_the_missed_among_the_propositions_that_it_asked_about(audited):
    """Counted from what the judge was asked about a signal alone after its screen had said no."""
    study = audited[HALF]
    turned_away = {q.hypothesis for q in study.judge.asked if is_screen(q) and study.judge.says(q) == "NOT_SUPPORTED"}
    asked = {q.hypothesis for q in study.judge.asked if not is_screen(q) and q.hypothesis in turned_away}
    missed = [
        text
        for text in asked
        if any(
            study.judge.says(q) == "SUPPORTED" for q in study.judge.asked if not is_screen(q) and q.hypothesis == text
        )
    ]
    by_quartile = (
        Counter(int(text.split()[2][0]) for text in asked),
        Counter(int(text.split()[2][0]) for text in missed),
    )
    found = study.evidence.judge.screen_by_quartile
    assert [(audit.audited, audit.missed) for audit in found] == [
        (by_quartile[0][quartile], by_quartile[1][quartile]) for quartile in (1, 2, 3, 4)
    ]
    assert (study.evidence.judge.screen.audited, study.evidence.judge.screen.missed) == (len(asked), len(missed))


def test_an_audit_changes_no_fate_and_no_number_but_its_own(audited):
    none, half, whole = audited.values()
    assert none.fate_of == half.fate_of == whole.fate_of
    assert Counter(none.fate_of.values()) == {"recovered": 720, "missed": 480}
    documents = [study.document for study in (none, half, whole)]
    for document in documents:
        del document["judgments"], document["findings"]["judge"]
        # The sentence on recall says what the audit found, and nothing else of the claims is other than without one.
        document["claims"][0]["detail"] = document["claims"][0]["detail"].partition("; of ")[0]
    assert documents[0] == documents[1] == documents[2]


def test_the_verdict_on_recall_says_how_many_the_screen_missed_where_it_missed_any(
    audited, lossy, lenient, amended, run_study
):
    none, _, whole = audited.values()
    assert "of 480 audited propositions that the screen turned away, 80 follow from a single" in whole.recall.detail
    assert "audited" not in none.recall.detail
    sighted = run_study(lossy, amended(lenient, judging={"audited_negatives": Fraction(1)}))
    assert (sighted.evidence.judge.screen.audited, sighted.evidence.judge.screen.missed) == (400, 0)
    assert "audited" not in sighted.recall.detail


def drawn(study):
    return {row["unit"] for row in study.judged.rows if row["kind"] == "screen_audit"}


def test_the_audit_draws_its_share_by_the_seed_whoever_the_judge_is(
    audited, lossy, lenient, amended, run_study, scripted
):
    """Of the negatives of an honest screen, which are some of those of the blind one, it draws the same."""
    plan = amended(lenient, judging={"audited_negatives": HALF})
    first = drawn(audited[HALF])
    assert binomtest(len(first), 480, 0.5).pvalue > 0.01
    honest = run_study(lossy, plan, scripted(lossy.says))
    negatives = {
        row["unit"] for row in honest.judged.rows if row["kind"] == "recall_screen" and row["label"] != "SUPPORTED"
    }
    assert len(negatives) == 400
    assert drawn(honest) == first & negatives
    other = drawn(run_study(lossy, amended(plan, seed=4243), scripted(lossy.says)))
    assert (
        binomtest(len(other & drawn(honest)), 400, 0.25).pvalue > 0.01
    )  # as two draws by different lots have in common


def test_a_smaller_share_is_a_part_of_a_larger_one(lossy, lenient, amended, run_study):
    shares = [Fraction(1, 10), Fraction(1, 5), HALF]
    draws = [drawn(run_study(lossy, amended(lenient, judging={"audited_negatives": share}))) for share in shares]
    assert draws[0] < draws[1] < draws[2]


def test_without_an_audit_there_is_no_miss_rate_and_no_interval_instead_of_0(audited):
    study = audited[Fraction(0)]
    written = study.document["findings"]["judge"]
    for row in (written["screen"], *written["screen_by_quartile"]):
        assert (row["audited"], row["miss_rate"], row["interval"]) == (0, None, None)
    assert written["screen"]["turned_away"] == 480
    assert study.evidence.judge.screen.interval is None


def test_an_audited_proposition_of_which_a_signal_gives_no_label_is_undecided_unless_another_supports_it(
    note, world_of, lenient, amended, run_study, scripted
):
    """Of four propositions two have an unread signal, and one of these is supported by the other signal."""
    world = world_of([note("a", {"s": ["w"], "t": []}, [(1, "w"), (1, "x"), (1, "y"), (4, "z")])])

    def says(question):
        if is_screen(question):
            return "NOT_SUPPORTED"
        return (
            NoLabel.TIMED_OUT
            if (question.premise, question.hypothesis) in {("t", "w"), ("t", "x")}
            else world.says(question)
        )

    study = run_study(world, amended(lenient, judging={"audited_negatives": Fraction(1)}), scripted(says))
    audit = study.evidence.judge.screen
    assert (audit.turned_away, audit.audited, audit.missed, audit.undecided) == (4, 4, 1, 1)
    theirs = binomtest(1, 3).proportion_ci(method="exact")
    assert (audit.interval.low, audit.interval.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert study.document["findings"]["judge"]["screen"]["miss_rate"] == pytest.approx(1 / 3, abs=1e-9)


def test_an_unread_signal_that_was_tried_before_the_screen_leaves_an_audit_undecided_too(
    note, world_of, lenient, amended, run_study, scripted
):
    """The nearest signal is asked about first and gives no label: whether the screen was right cannot be said."""
    world = world_of([note("a", {"the pump ran": [], "rain fell": []}, [(1, "the pump ran")])])
    judge = scripted(lambda q: NoLabel.TIMED_OUT if q.premise == "the pump ran" else "NOT_SUPPORTED")
    plan = amended(lenient, judging={"strategy": Strategy.BEST_FIRST, "audited_negatives": Fraction(1)})
    audit = run_study(world, plan, judge).evidence.judge.screen
    assert (audit.turned_away, audit.audited, audit.missed, audit.undecided, audit.interval) == (1, 1, 0, 1, None)


@pytest.mark.parametrize(
    ("strategy", "asked"),
    [
        # Of 12 propositions of an entry of two signals 8 are supported by the second: 12 screens and 2 for each of 8.
        (Strategy.SCREEN_FIRST, 12 + 2 * 8),
        # The first signal 12 times; the screen 12 times; the second for the 8 that the screen lets through.
        (Strategy.BEST_FIRST, 12 + 12 + 8),
        (Strategy.NO_SCREEN, 12 + 12),
    ],
)
def test_the_calls_are_counted_without_what_judges_the_judge(
    lossy, lenient, amended, run_study, scripted, strategy, asked
):
    """100 entries, and 2 signals for each of 12 propositions if every signal were tried."""
    measured = {"audited_negatives": Fraction(1), "canaries": HALF, "repeats": HALF}
    plan = amended(lenient, judging={"strategy": strategy, "signal_order": "key", **measured})
    study = run_study(lossy, plan, scripted(lossy.says, standing=Standing.UNCALIBRATED))
    calls = study.evidence.judge.calls
    assert (calls.asked, calls.exhaustive, calls.saved) == (100 * asked, 2400, 2400 - 100 * asked)
    assert study.document["findings"]["judge"]["calls"] == {
        "asked": calls.asked,
        "exhaustive": calls.exhaustive,
        "saved": calls.saved,
    }
    assert len(study.judge.asked) > calls.asked


def test_signals_beyond_the_cap_are_not_among_the_calls_that_were_saved(note, world_of, lenient, amended, run_study):
    world = world_of([note("a", {"s": [], "t": [], "u": []}, [(1, "x"), (4, "y")])])
    calls = run_study(world, amended(lenient, judging={"signals_at_most": 2})).evidence.judge.calls
    assert (calls.asked, calls.exhaustive, calls.saved) == (2, 4, 2)


def test_the_calls_of_a_judge_that_went_down_are_held_against_those_of_what_it_settled(
    counted, world_of, lenient, run_study, scripted
):
    """Two calls a proposition: after five the third proposition is begun and not settled."""
    world = world_of([counted("a"), counted("b")])
    calls = run_study(world, lenient, scripted(world.says, down_after=5)).evidence.judge.calls
    assert (calls.asked, calls.exhaustive, calls.saved) == (4, 2, -2)


def test_answers_that_were_asked_for_a_second_time_are_counted(
    counted, world_of, lenient, run_study, endpoint, chat_judge
):
    """The reminder brings two of three unread answers to a label; each of the three was put twice."""
    world = world_of([counted("a")])
    unread = {"a tells 1.0": 1, "a tells 2.0": 1, "a tells 3.0": 2}

    def says(request):
        text = request.question.hypothesis
        if isinstance(request.question.premise, tuple) and unread.get(text):
            unread[text] -= 1
            return "Well, it depends."
        return world.says_anywhere(request.question)

    endpoint.says = says
    study = run_study(world, lenient, chat_judge())
    assert study.evidence.judge.reasked == 3
    assert study.document["findings"]["judge"]["reasked"] == 3
    assert study.document["judgments"]["recall_screen"] == {"SUPPORTED": 3, "unparsable": 1}
