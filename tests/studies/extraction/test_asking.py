"""The asking: each strategy asks what settles a proposition, in its order, and all come to what asking all comes to."""

import asyncio
import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, spearmanr

from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Entry, NoLabel, Proposition, Question, Signal
from eval_pipeline.studies.extraction.asking import in_order, together
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.judge_findings import judge_findings
from eval_pipeline.studies.extraction.judging import judge_frame
from eval_pipeline.studies.extraction.plan import Strategy
from eval_pipeline.studies.extraction.quartiles import proposition_fates

LAW = settings(deadline=None, derandomize=True, max_examples=60)
# By words in common with "the pump was heard" (pump, heard): s2 holds both, s0 and s3 one, s1 none.
SIGNALS = ("the pump was old", "rain fell", "someone heard the pump", "the pump was new")
CLAIM = "the pump was heard"
S0, S1, S2, S3 = SIGNALS


def is_screen(question):
    return isinstance(question.premise, tuple)


def script(*, screen="NOT_SUPPORTED", **signals):
    """Says this to the screen and, by the number of the signal, that; NOT_SUPPORTED to every other."""
    said = {SIGNALS[int(name[1:])]: label for name, label in signals.items()}
    return lambda question: screen if is_screen(question) else said.get(question.premise, "NOT_SUPPORTED")


@pytest.fixture
def settle(note, world_of, lenient, amended, run_study, scripted):
    """What is asked to settle the claim under a strategy, the screen as "screen", and what becomes of the claim."""

    def settle(strategy, says, *, signals=SIGNALS, **judging):
        world = world_of([note("a", dict.fromkeys(signals, ()), [(1, CLAIM)])])
        judge = scripted(says)
        study = run_study(world, amended(lenient, judging={"strategy": strategy, **judging}), judge)
        asked = ["screen" if is_screen(question) else question.premise for question in judge.asked]
        return asked, study.fate_of[CLAIM]

    return settle


@pytest.mark.parametrize(
    ("strategy", "says", "asked", "fate"),
    [
        (Strategy.SCREEN_FIRST, script(), ["screen"], "missed"),
        (Strategy.SCREEN_FIRST, script(screen="SUPPORTED", s2="SUPPORTED"), ["screen", S2], "recovered"),
        (Strategy.SCREEN_FIRST, script(screen="SUPPORTED", s1="SUPPORTED"), ["screen", S2, S0, S3, S1], "recovered"),
        (Strategy.SCREEN_FIRST, script(screen="SUPPORTED"), ["screen", S2, S0, S3, S1], "missed"),
        (Strategy.BEST_FIRST, script(s2="SUPPORTED"), [S2], "recovered"),
        (Strategy.BEST_FIRST, script(), [S2, "screen"], "missed"),
        (Strategy.BEST_FIRST, script(screen="SUPPORTED", s3="SUPPORTED"), [S2, "screen", S0, S3], "recovered"),
        (Strategy.BEST_FIRST, script(screen="SUPPORTED"), [S2, "screen", S0, S3, S1], "missed"),
        (Strategy.NO_SCREEN, script(s2="SUPPORTED"), [S2], "recovered"),
        (Strategy.NO_SCREEN, script(s3="SUPPORTED"), [S2, S0, S3], "recovered"),
        (Strategy.NO_SCREEN, script(screen="SUPPORTED"), [S2, S0, S3, S1], "missed"),
    ],
)
def test_a_strategy_asks_these_in_this_order_and_no_more(settle, strategy, says, asked, fate):
    assert settle(strategy, says) == (asked, fate)


@pytest.mark.parametrize("strategy", Strategy)
def test_in_the_order_of_the_keys_the_first_signal_takes_the_place_of_the_nearest(settle, strategy):
    asked, _ = settle(strategy, script(screen="SUPPORTED"), signal_order="key")
    assert [one for one in asked if one != "screen"] == list(SIGNALS)
    assert asked.index("screen") == {"screen_first": 0, "best_first": 1}[strategy] if "screen" in asked else True
    assert ("screen" in asked) is (strategy is not Strategy.NO_SCREEN)


@pytest.mark.parametrize("says", ["SUPPORTED", "NOT_SUPPORTED"])
@pytest.mark.parametrize(
    ("strategy", "before"), [(Strategy.SCREEN_FIRST, ["screen"]), (Strategy.BEST_FIRST, []), (Strategy.NO_SCREEN, [])]
)
def test_of_one_signal_there_is_no_screen_but_where_it_comes_first(settle, strategy, before, says):
    asked, fate = settle(strategy, script(screen="SUPPORTED", s0=says), signals=[S0])
    assert (asked, fate) == ([*before, S0], "recovered" if says == "SUPPORTED" else "missed")


@pytest.mark.parametrize("strategy", Strategy)
def test_without_signals_nothing_is_asked_and_the_proposition_is_missed(settle, strategy):
    assert settle(strategy, script(screen="SUPPORTED"), signals=[]) == ([], "missed")


@pytest.mark.parametrize(
    ("strategy", "cap", "asked"),
    [
        (Strategy.SCREEN_FIRST, 2, ["screen", S0, S1]),
        (Strategy.BEST_FIRST, 2, [S0, "screen", S1]),
        (Strategy.BEST_FIRST, 1, [S0]),
        (Strategy.NO_SCREEN, 3, [S2, S0, S1]),
    ],
)
def test_a_cap_leaves_the_first_by_key_which_are_tried_by_likeness(settle, strategy, cap, asked):
    assert settle(strategy, script(screen="SUPPORTED"), signals_at_most=cap)[0] == asked


UNREAD = [NoLabel.UNPARSABLE, NoLabel.REFUSED, NoLabel.TIMED_OUT, NoLabel.TOO_LONG, "I should say so"]


@pytest.mark.parametrize("why", UNREAD)
@pytest.mark.parametrize(
    ("strategy", "asked"),
    [(Strategy.SCREEN_FIRST, ["screen", S2, S0, S3, S1]), (Strategy.BEST_FIRST, [S2, "screen", S0, S3, S1])],
)
def test_after_a_screen_that_gives_no_label_the_signals_decide(settle, strategy, asked, why):
    """Too long for the model among the reasons: what does not fit together is asked about one by one."""
    assert settle(strategy, script(screen=why)) == (asked, "missed")
    assert settle(strategy, script(screen=why, s1="SUPPORTED")) == (asked, "recovered")
    assert settle(strategy, script(screen=why, s1=NoLabel.TIMED_OUT)) == (asked, "undecided")


@pytest.mark.parametrize("why", UNREAD)
@pytest.mark.parametrize(
    ("strategy", "asked"), [(Strategy.SCREEN_FIRST, ["screen"]), (Strategy.BEST_FIRST, [S2, "screen"])]
)
def test_a_screen_that_gives_no_label_ends_it_undecided_where_the_plan_says_so(settle, strategy, asked, why):
    says = script(screen=why, s0="SUPPORTED")
    assert settle(strategy, says, unreadable_screen="undecided") == (asked, "undecided")


def test_signals_of_one_text_are_one_question_and_need_no_screen(note, world_of, lenient, amended, run_study, scripted):
    world = world_of([note("a", {"s": (), "t": ()}, [(1, CLAIM)])])
    same = tuple(replace(signal, content="s") for signal in world.snapshot.signals)
    world = replace(world, snapshot=replace(world.snapshot, signals=same))
    judge = scripted(script())
    study = run_study(world, amended(lenient, judging={"strategy": Strategy.BEST_FIRST}), judge)
    assert [question.premise for question in judge.asked] == ["s"]
    assert study.fate_of == {CLAIM: "missed"}


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("number", range(4))
def test_a_single_signal_that_is_too_long_leaves_the_proposition_undecided_and_never_missed(settle, strategy, number):
    says = {f"s{number}": NoLabel.TOO_LONG}
    assert settle(strategy, script(screen="SUPPORTED", **says))[1] == "undecided"
    assert settle(strategy, script(screen="SUPPORTED", **says | {f"s{3 - number}": "SUPPORTED"}))[1] == "recovered"


def test_an_unread_nearest_signal_is_never_a_miss_though_the_screen_says_no(settle):
    says = script(s2=NoLabel.TIMED_OUT)
    assert settle(Strategy.BEST_FIRST, says) == ([S2, "screen"], "undecided")


@pytest.mark.parametrize(
    ("strategy", "asked"),
    [(Strategy.SCREEN_FIRST, ["screen", S2, S0, S3, S1]), (Strategy.BEST_FIRST, [S2, "screen", S0, S3, S1])],
)
def test_an_audit_asks_the_signals_that_are_left_after_a_no_until_one_supports(settle, strategy, asked):
    audited = {"audited_negatives": Fraction(1)}
    assert settle(strategy, script(), **audited) == (asked, "missed")
    assert settle(strategy, script(s3="SUPPORTED"), **audited) == (asked[:-1], "missed")


# Few texts, so that the same signal and the same proposition stand twice, in one entry and in several.
signal_texts = st.sampled_from(["pump a", "pump b", "valve a", "valve b", "rain", "pump valve rain"])
claim_texts = st.sampled_from(["pump a ran", "valve b ran", "rain fell", "pump valve", "a b"])
entries = st.tuples(st.lists(signal_texts, max_size=5), st.lists(claim_texts, min_size=1, max_size=4, unique=True))


@st.composite
def worlds(draw):
    """A snapshot, a fixture, and what a judge that never contradicts itself says of any texts."""
    drawn = draw(st.lists(entries, min_size=1, max_size=4))
    notes, signals, propositions = [], [], []
    for number, (texts, claims) in enumerate(drawn):
        entry_id = f"e{number}"
        notes.append(Entry(entry_id, "north", "triage", "word"))
        signals += [
            Signal(f"{entry_id}-s{place}", entry_id, text, None, None, None) for place, text in enumerate(texts)
        ]
        propositions += [Proposition(entry_id, 1 + place % 4, claim) for place, claim in enumerate(claims)]
    alone = draw(st.sets(st.tuples(signal_texts, claim_texts), max_size=12))
    united = draw(st.sets(st.tuples(st.frozensets(signal_texts, min_size=2, max_size=3), claim_texts), max_size=6))

    def says(question):
        premises = set(question.premise if is_screen(question) else (question.premise,))
        singly = any((premise, question.hypothesis) in alone for premise in premises)
        together = any(texts <= premises for texts, claim in united if claim == question.hypothesis)
        return "SUPPORTED" if singly or together else "NOT_SUPPORTED"

    snapshot = Snapshot(tuple(notes), tuple(signals), LeftOut(0, 0, 0, 0), "drawn", refusal=None)
    return snapshot, Fixture(tuple(propositions), refusal=None), says


plans = st.fixed_dictionaries(
    {
        "signal_order": st.sampled_from(["similarity", "key"]),
        "screen_order": st.sampled_from(["seeded", "key"]),
        "audited_negatives": st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]),
    }
)


strategies = st.sampled_from(list(Strategy))


def judged_at_a_desk(world, plan, judge):
    """The frame, the judgments and the desk; no journal is kept, so that many worlds can be judged."""
    snapshot, fixture, _ = world
    frame = frame_of(snapshot, fixture, plan)
    desk = Desk(judge, prompt_named(plan.judging.prompt), {}, journal=None)
    judged = asyncio.run(judge_frame(frame, snapshot, judge, desk, plan, lambda done, of: None))
    return frame, judged.to_table(), desk


def questions_of(unit, snapshot):
    """The question about each signal alone."""
    return [Question(unit.entry_id, s.content, unit.text) for s in snapshot.signals_by_entry.get(unit.entry_id, ())]


def different(questions, standing):
    """So many of them are different to the judge: people label by entry, and a model sees the texts alone."""
    return len({q if standing is Standing.ORACLE else (q.premise, q.hypothesis) for q in questions})


@LAW
@given(worlds(), plans, strategies, st.sampled_from(list(Standing)), st.integers(1, 5))
def test_under_a_judge_that_never_contradicts_itself_a_strategy_comes_to_what_asking_all_comes_to(
    lenient, amended, scripted, world, judging, strategy, standing, in_flight
):
    """And it asks no question twice, and no more of them than the frame allows for."""
    snapshot, _, says = world
    plan = amended(lenient, judging=judging | {"strategy": strategy})
    judge = scripted(says, standing=standing, in_flight=in_flight)
    frame, judgments, desk = judged_at_a_desk(world, plan, judge)
    fates = proposition_fates(frame.to_table(), judgments, plan).to_pylist()
    assert {row["unit"]: row["fate"] for row in fates} == {
        unit.id: "recovered" if any(says(q) == "SUPPORTED" for q in questions_of(unit, snapshot)) else "missed"
        for unit in frame.units
    }
    assert different(judge.asked, standing) == len(judge.asked) == desk.calls <= frame.calls_at_most


@pytest.mark.parametrize("standing", Standing)
@LAW
@given(worlds(), plans, strategies)
def test_the_questions_asked_and_those_saved_are_those_that_trying_every_signal_would_ask(
    lenient, amended, scripted, standing, world, judging, strategy
):
    """Both counted here: what was asked to settle the propositions, and every signal for every proposition."""
    snapshot, _, says = world
    plan = amended(lenient, judging=judging | {"strategy": strategy, "audited_negatives": Fraction(0)})
    judge = scripted(says, standing=standing)
    frame, judgments, _ = judged_at_a_desk(world, plan, judge)
    calls = judge_findings(snapshot, frame, judgments, plan).calls
    every = [question for unit in frame.units for question in questions_of(unit, snapshot)]
    assert (calls.asked, calls.exhaustive) == (len(judge.asked), different(every, standing))
    assert calls.asked + calls.saved == calls.exhaustive


@pytest.fixture(scope="module")
def many_entries(note, world_of):
    """200 entries of eight signals, with three propositions each."""
    notes = [
        note(f"e{n:03d}", {f"e{n} says {k}": () for k in range(8)}, [(1, "x"), (2, "y"), (4, "z")]) for n in range(200)
    ]
    return world_of(notes)


def screens(world, plan):
    """The place in the text of each signal of a screen, in the order of the screen; a row an entry."""
    return [
        [int(text.rpartition(" ")[2]) for text in together(signals, plan)]
        for signals in world.snapshot.signals_by_entry.values()
    ]


def test_all_propositions_of_an_entry_see_the_signals_of_the_screen_in_one_order(
    many_entries, lenient, run_study, scripted
):
    judge = scripted(lambda question: "NOT_SUPPORTED")
    run_study(many_entries, lenient, judge)
    orders = {}
    for question in judge.asked:
        orders.setdefault(question.entry_id, []).append(question.premise)
    assert {len(seen) for seen in orders.values()} == {3}
    assert {len(set(seen)) for seen in orders.values()} == {1}


def test_a_place_in_the_screen_says_nothing_of_the_place_in_the_text(many_entries, lenient):
    rows = screens(many_entries, lenient)
    assert all(sorted(row) == list(range(8)) for row in rows)
    pairs = [(place, signal) for row in rows for place, signal in enumerate(row)]
    assert spearmanr(*zip(*pairs, strict=True)).pvalue > 0.01
    for place in range(8):  # each of the eight signals is as likely as another at each place
        counts = [sum(row[place] == signal for row in rows) for signal in range(8)]
        assert chisquare(counts).pvalue > 0.001
    neighbours = [b - a for row in rows for a, b in itertools.pairwise(row)]
    # Of two neighbours of a random order the later signal stands second in half of the cases.
    assert abs(sum(step > 0 for step in neighbours) / len(neighbours) - 0.5) < 0.05


def test_another_seed_gives_another_order_and_the_plan_may_ask_for_that_of_the_keys(many_entries, lenient, amended):
    first, again, other = (screens(many_entries, amended(lenient, seed=seed)) for seed in (4242, 4242, 4243))
    assert first == again
    assert sum(a == b for a, b in zip(first, other, strict=True)) <= 2  # one chance in 8! for each of 200
    by_key = screens(many_entries, amended(lenient, judging={"screen_order": "key"}))
    assert by_key == [list(range(8))] * 200


def test_the_order_of_the_screen_is_not_that_in_which_signals_are_tried(many_entries, lenient):
    """With nothing in common the signals are tried by their keys, whatever the screen shows first."""
    frame = frame_of(many_entries.snapshot, many_entries.fixture, lenient)
    for unit in frame.units[:30]:
        signals = many_entries.snapshot.signals_by_entry[unit.entry_id]
        assert in_order(unit, signals, lenient) == list(signals)
