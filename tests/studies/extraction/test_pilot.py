"""The pilot: it asks once, says what every strategy would ask, and the run need not ask what it asked."""

import asyncio
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.errors import JudgeDown, Refused
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.judge.sitting import desk_in_journal
from eval_pipeline.judge.spending import CapReached, Caps
from eval_pipeline.records import NoLabel
from eval_pipeline.studies.extraction.asking import judge_proposition
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.pilot import pilot
from eval_pipeline.studies.extraction.plan import Strategy

MEASURED = {"audited_negatives": Fraction(1), "canaries": Fraction(1), "repeats": Fraction(1)}


def told(plan):
    """The prompt that the judge is told, and the values of the plan."""
    return prompt_named(plan.judging.prompt), plan.model_dump(mode="json")


@pytest.fixture(scope="session")
def recalled(note, world_of):
    """A world of 20 entries of six signals and eight propositions, of which the nearest signal entails this share."""

    def recalled(share):
        draw, notes = random.Random(7), []
        for entry in range(20):
            claims = [f"e{entry} pump {place} failed in hall {place % 3}" for place in range(8)]
            hits = [claim for claim in claims if draw.random() < share]
            signals = {f"e{entry} pump {place} failed in hall": [claims[place]] for place in range(6)}
            signals = {text: [claim for claim in told if claim in hits] for text, told in signals.items()}
            notes.append(note(f"e{entry:02d}", signals, [(1 + place % 4, claim) for place, claim in enumerate(claims)]))
        return world_of(notes)

    return recalled


@pytest.fixture
def tried(lenient):
    """What a pilot on so many entries comes to."""

    def tried(world, judge, *, entries, plan=lenient):
        frame = frame_of(world.snapshot, world.fixture, plan)
        desk = Desk(judge, prompt_named(plan.judging.prompt), {}, journal=None)
        return pilot(frame, world.snapshot, judge, desk, plan, entries=entries)

    return tried


@pytest.fixture
def alone(lenient, amended, run_study, scripted):
    """What each strategy asks about these entries, run by itself."""

    def alone(world, entries):
        asked = {}
        for strategy in Strategy:
            judge = scripted(world.says)
            run_study(world, amended(lenient, judging={"strategy": strategy}), judge)
            asked[strategy] = sum(question.entry_id in entries for question in judge.asked)
        return asked

    return alone


def by_strategy(found):
    return {one.strategy: one.questions for one in found}


@pytest.mark.parametrize(
    ("share", "cheapest"), [(0.95, Strategy.BEST_FIRST), (0.05, Strategy.SCREEN_FIRST)], ids=["high", "low"]
)
def test_at_a_high_recall_the_nearest_signal_comes_first_at_a_low_one_the_screen(
    recalled, scripted, tried, alone, share, cheapest
):
    """The counts are those of each strategy run by itself."""
    world = recalled(share)
    found = tried(world, scripted(world.says), entries=20)
    assert found[0].strategy is cheapest
    assert [one.questions for one in found] == sorted(one.questions for one in found)
    assert by_strategy(found) == alone(world, {entry.id for entry in world.snapshot.entries})


@pytest.mark.parametrize("share", [0.95, 0.5, 0.05])
@pytest.mark.parametrize("entries", [1, 5])
def test_a_pilot_asks_about_so_many_entries_and_says_what_each_strategy_would_ask_about_them(
    recalled, scripted, tried, alone, entries, share
):
    world = recalled(share)
    judge = scripted(world.says)
    found = tried(world, judge, entries=entries)
    asked = {question.entry_id for question in judge.asked}
    assert len(asked) == entries
    assert by_strategy(found) == alone(world, asked)


SIGNALS = ["pump a", "pump b", "valve a", "valve b", "rain"]
CLAIMS = ["pump a ran", "valve b ran", "rain fell", "a b"]
drawn_entries = st.tuples(
    st.lists(st.sampled_from(SIGNALS), max_size=5, unique=True),
    st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=4, unique=True),
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(drawn_entries, min_size=1, max_size=4),
    st.sets(st.tuples(st.sampled_from(SIGNALS), st.sampled_from(CLAIMS))),
    st.sets(st.sampled_from(CLAIMS)),
    st.sampled_from(["similarity", "key"]),
)
def test_under_a_judge_that_never_contradicts_itself_each_strategy_asks_what_the_pilot_says(
    note, world_of, lenient, amended, piloted, entries, supported, united, order
):
    """By proposition: where the same words stand in two entries they are counted in both."""
    notes = [
        note(
            f"e{number}",
            {text: [claim for claim in claims if (text, claim) in supported] for text in signals},
            [(1 + place % 4, claim) for place, claim in enumerate(claims)],
        )
        for number, (signals, claims) in enumerate(entries)
    ]
    world = world_of(notes, {(f"e{number}", claim) for number in range(len(notes)) for claim in united})
    found, by_itself = piloted(world, amended(lenient, judging={"signal_order": order}))
    assert by_strategy(found) == by_itself


@pytest.fixture(scope="module")
def piloted(amended, scripted):
    """A pilot on all entries, and the questions of each strategy by itself, proposition by proposition."""

    def piloted(world, plan):
        frame = frame_of(world.snapshot, world.fixture, plan)
        judge = scripted(world.says)
        desk = Desk(judge, prompt_named(plan.judging.prompt), {}, journal=None)
        found = pilot(frame, world.snapshot, judge, desk, plan, entries=9)

        async def by_itself(strategy):
            variant, questions = amended(plan, judging={"strategy": strategy}), 0
            for unit in frame.judged_units:
                asking = scripted(world.says)
                desk = Desk(asking, prompt_named(plan.judging.prompt), {}, journal=None)
                await judge_proposition(unit, world.snapshot.signals_by_entry.get(unit.entry_id, ()), desk, variant)
                questions += len(asking.asked)
            return questions

        return found, {strategy: asyncio.run(by_itself(strategy)) for strategy in Strategy}

    return piloted


def test_more_entries_than_there_are_is_all_of_them(recalled, scripted, tried):
    world = recalled(0.5)
    assert tried(world, scripted(world.says), entries=999) == tried(world, scripted(world.says), entries=20)


def test_the_entries_are_drawn_by_the_seed(recalled, lenient, amended, scripted, tried):
    def drawn(seed):
        judge = scripted(world.says)
        tried(world, judge, entries=5, plan=amended(lenient, seed=seed))
        return {question.entry_id for question in judge.asked}

    world = recalled(0.5)
    assert drawn(4242) == drawn(4242)
    assert len({frozenset(drawn(seed)) for seed in range(4242, 4247)}) == 5
    assert set().union(*map(drawn, range(4242, 4262))) == {entry.id for entry in world.snapshot.entries}


@pytest.mark.parametrize("share", [0.95, 0.5, 0.05])
def test_a_pilot_asks_no_question_twice_and_hardly_one_that_the_cheapest_strategy_does_not_need(
    recalled, lenient, amended, run_study, scripted, tried, share
):
    """Those of the first entry at the most: it is settled before anything is known of any strategy."""
    world = recalled(share)
    judge = scripted(world.says)
    cheapest = tried(world, judge, entries=20)[0].strategy
    assert len(judge.asked) == len(set(judge.asked))
    needed = scripted(world.says)
    run_study(world, amended(lenient, judging={"strategy": cheapest}), needed)
    assert len(set(judge.asked) - set(needed.asked)) <= 8
    assert judge.closed


def test_a_pilot_asks_no_canary_no_audit_and_no_repeat(recalled, lenient, amended, scripted, tried):
    """They would be asked under every strategy, and cost the same."""
    world = recalled(0.3)
    with_all, without = (
        scripted(world.says, standing=Standing.UNCALIBRATED),
        scripted(world.says, standing=Standing.UNCALIBRATED),
    )
    assert tried(world, with_all, entries=5, plan=amended(lenient, judging=MEASURED)) == tried(
        world, without, entries=5
    )
    assert with_all.asked == without.asked


@pytest.mark.parametrize("share", [0.95, 0.05])
def test_a_run_under_the_cheapest_strategy_after_a_pilot_asks_only_what_the_pilot_did_not(
    recalled, lenient, amended, sit, endpoint, chat_judge, tmp_path, share
):
    world = recalled(share)
    endpoint.says = lambda request: world.says_anywhere(request.question)
    judge = chat_judge()
    frame = frame_of(world.snapshot, world.fixture, lenient)
    with desk_in_journal(
        judge,
        prompt_named(lenient.judging.prompt),
        lenient.model_dump(mode="json"),
        journals=tmp_path,
        run="pilot-1",
        purpose="pilot",
        resume=False,
    ) as desk:
        cheapest = pilot(frame, world.snapshot, judge, desk, lenient, entries=5)[0]
    piloted = set(endpoint.asked)
    assert len(piloted) == len(endpoint.asked)
    assert len({question.hypothesis for question in piloted}) == 5 * 8
    endpoint.forget()
    plan = amended(lenient, judging={"strategy": cheapest.strategy})
    sit(world, plan, chat_judge(), journals=tmp_path / "without a pilot")
    alone = set(endpoint.asked)
    endpoint.forget()
    sit(world, plan, chat_judge(), journals=tmp_path)
    assert len(endpoint.asked) == len(set(endpoint.asked))
    assert set(endpoint.asked) == alone - piloted
    assert len(piloted - alone) <= 8


def test_a_pilot_of_a_judge_that_goes_down_or_reaches_a_cap_is_ended_and_keeps_what_was_judged(
    recalled, lenient, scripted, tried, endpoint, chat_judge, tmp_path
):
    world = recalled(0.5)
    down = scripted(world.says, down_after=30)
    with pytest.raises(JudgeDown, match="went down"):
        tried(world, down, entries=20)
    assert down.closed
    judge = chat_judge(caps=Caps(requests=30))
    frame = frame_of(world.snapshot, world.fixture, lenient)
    with (
        pytest.raises(CapReached, match="the cap of 30 requests"),
        desk_in_journal(
            judge,
            prompt_named(lenient.judging.prompt),
            lenient.model_dump(mode="json"),
            journals=tmp_path,
            run="pilot-1",
            purpose="pilot",
            resume=False,
        ) as desk,
    ):
        pilot(frame, world.snapshot, judge, desk, lenient, entries=20)
    (journal,) = tmp_path.rglob("*.jsonl")
    assert len(journal.read_text("utf-8").splitlines()) == 1 + 30  # the head, the probe and 29 judgments


def test_a_pilot_of_a_judge_whose_answer_to_the_probe_cannot_be_read_costs_nothing_more(recalled, scripted, tried):
    """As a run of it does; its answers would be no better."""
    world = recalled(0.5)
    judge = scripted(lambda question: NoLabel.UNPARSABLE, probed="The user sends one JSON object")
    with pytest.raises(Refused, match="probe cannot be read"):
        tried(world, judge, entries=20)
    assert judge.asked == []


def test_a_tie_goes_to_the_strategy_that_is_named_first(note, world_of, scripted, tried):
    """Where every nearest signal entails its proposition a screen is never needed, and the two others ask the same."""
    world = world_of([note(f"e{k}", {f"pump {k}": [f"pump {k} ran"]}, [(1, f"pump {k} ran")]) for k in range(3)])
    found = tried(world, scripted(world.says), entries=3)
    assert [(one.strategy, one.questions) for one in found] == [
        ("best_first", 3),
        ("no_screen", 3),
        ("screen_first", 6),
    ]
