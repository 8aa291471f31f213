"""Whether the verdict turns with the annotator: four bases, each judged as the study judges its own propositions."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.canonical import content_hash
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Proposition, Reason, Refusal
from eval_pipeline.studies.extraction.annotators.alignment import aligned_by_text
from eval_pipeline.studies.extraction.annotators.sensitivity import Basis, fixture_on, sensitivity
from tests.stats.laws import LAW
from tests.studies.extraction.annotators.two_annotators import align, desk_of, in_silence, same_claim, wrote

UNION, INTERSECTION, FIRST, SECOND = Basis


def texts(basis, entries):
    return [proposition.text for proposition in fixture_on(basis, entries).propositions]


def judged(entries, world, judge, plan):
    """The claims on every basis, or the refusal."""
    return asyncio.run(sensitivity(entries, world.snapshot, judge, desk_of(judge), plan, in_silence))


@pytest.fixture(scope="session")
def deciding(lenient, amended):
    """The lenient plan, under which a judge that is no oracle can pass."""
    return amended(lenient, calibration={"uncalibrated_pass": "pass"})


@pytest.fixture
def model(scripted):
    """A judge that is no oracle and knows what of a world is true."""

    def model(world, **about):
        return scripted(
            lambda question: world.says(question) if isinstance(question.premise, tuple) else _true(world, question),
            standing=Standing.UNCALIBRATED,
            **about,
        )

    def _true(world, question):
        return "SUPPORTED" if same_claim(question) == "SUPPORTED" else world.says(question)

    return model


def test_what_both_wrote_stands_once_in_the_words_and_the_quartile_of_the_first():
    first = wrote(("b", 1, "Both."), ("a", 4, "mine"), ("a", 1, "Both."))
    second = wrote(("a", 2, "both."), ("a", 1, "yours"), ("b", 3, "BOTH."), ("c", 1, "theirs"))
    entries = aligned_by_text(first, second)
    both, mine, yours = Proposition("a", 1, "Both."), Proposition("a", 4, "mine"), Proposition("a", 1, "yours")
    of_b, of_c = Proposition("b", 1, "Both."), Proposition("c", 1, "theirs")
    assert fixture_on(UNION, entries).propositions == (both, yours, mine, of_b, of_c)
    assert fixture_on(INTERSECTION, entries).propositions == (both, of_b)
    assert fixture_on(FIRST, entries).propositions == (both, mine, of_b)
    assert texts(SECOND, entries) == ["yours", "both.", "BOTH.", "theirs"]


def test_within_an_entry_they_stand_by_quartile_and_then_as_in_the_file():
    first = wrote(("a", 3, "u"), ("a", 1, "v"), ("a", 3, "w"))
    second = wrote(("a", 1, "x"), ("a", 3, "y"), ("a", 1, "z"))
    assert texts(UNION, aligned_by_text(first, second)) == ["v", "x", "z", "u", "w", "y"]


PROPOSITIONS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.sampled_from(["p", "q", "r", "P", "Q", "s t", "s  T"])),
    unique_by=lambda of: (of[0], " ".join(of[2].split())),
    min_size=1,
    max_size=12,
)


@LAW
@given(PROPOSITIONS, PROPOSITIONS)
def test_swapping_the_annotators_swaps_the_bases_of_each_alone_and_leaves_how_much_both_wrote(one, other):
    there, back = (aligned_by_text(wrote(*a), wrote(*b)) for a, b in ((one, other), (other, one)))
    assert fixture_on(FIRST, there) == fixture_on(SECOND, back)
    assert fixture_on(SECOND, there).hash == fixture_on(FIRST, back).hash
    for basis in (UNION, INTERSECTION):
        assert len(texts(basis, there)) == len(texts(basis, back))


@LAW
@given(PROPOSITIONS, PROPOSITIONS)
def test_the_bases_count_as_sets_do_and_name_nothing_twice(one, other):
    entries = aligned_by_text(wrote(*one), wrote(*other))
    sizes = {basis: len(texts(basis, entries)) for basis in Basis}
    assert sizes[UNION] + sizes[INTERSECTION] == sizes[FIRST] + sizes[SECOND]
    for basis in Basis:
        named = [(of.entry_id, " ".join(of.text.split())) for of in fixture_on(basis, entries).propositions]
        assert len(set(named)) == len(named)


@LAW
@given(PROPOSITIONS)
def test_an_annotator_beside_themselves_gives_one_and_the_same_basis(one):
    entries = aligned_by_text(wrote(*one), wrote(*one))
    assert len({fixture_on(basis, entries).hash for basis in Basis}) == 1


def test_a_basis_has_the_hash_of_what_stands_in_it():
    entries = aligned_by_text(wrote(("a", 1, "p"), ("a", 1, "q")), wrote(("a", 1, "p")))
    row = {"entry_id": "a", "quartile": 1}
    assert fixture_on(INTERSECTION, entries).hash == content_hash([row | {"text": "p"}])
    assert fixture_on(UNION, entries).hash == content_hash([row | {"text": "p"}, row | {"text": "q"}])


def test_a_basis_that_holds_nothing_says_so():
    entries = aligned_by_text(wrote(("a", 1, "p")), wrote(("a", 1, "q")))
    found = fixture_on(INTERSECTION, entries)
    assert (found.propositions, found.hash) == ((), None)
    assert found.refusal == Refusal(Reason.FIXTURE_MISSING, "no proposition stands in the intersection")


@pytest.fixture(scope="session")
def split(note, world_of):
    """Ten entries of which both annotators take four facts that a signal tells, and the second one that none tells.

    They share no words but the name of the claim; the fact that was lost stands at the end.
    """
    first, second, notes = [], [], []
    for k in range(10):
        told = [f"e{k} fact {quartile}" for quartile in range(1, 5)]
        first += [(f"e{k}", quartile, f"{fact}: I say") for quartile, fact in enumerate(told, 1)]
        second += [(f"e{k}", quartile, f"{fact}: you tell") for quartile, fact in enumerate(told, 1)]
        second.append((f"e{k}", 4, f"e{k} lost: you tell"))
        entailed = [f"{fact}: {how}" for fact in told for how in ("I say", "you tell")]
        notes.append(note(f"e{k}", {f"signal of e{k}": entailed}, []))
    return world_of(notes), wrote(*first), wrote(*second)


def test_a_verdict_that_turns_with_the_annotator_worked_by_hand(split, deciding, model):
    world, first, second = split
    judge = model(world)
    entries = align(first, second, judge)
    assert [len(entry.matches) for entry in entries] == [4] * 10
    found = judged(entries, world, judge, deciding)
    # Of each entry both wrote 4 facts, all recovered; the second wrote 1 more in quartile 4, and it is missed:
    # recall 4/5, which is just enough, and recall in quartile 4 is 1/2, half less than in quartile 1.
    rows = {on.basis: on for on in found.bases}
    assert list(rows) == list(Basis)
    assert {basis: (on.propositions, on.entries, on.judged, on.undecided) for basis, on in rows.items()} == {
        UNION: (50, 10, 50, 0),
        INTERSECTION: (40, 10, 40, 0),
        FIRST: (40, 10, 40, 0),
        SECOND: (50, 10, 50, 0),
    }
    assert {basis: (on.recall.outcome.value, float(on.recall.estimate)) for basis, on in rows.items()} == {
        UNION: ("pass", 0.8),
        INTERSECTION: ("pass", 1),
        FIRST: ("pass", 1),
        SECOND: ("pass", 0.8),
    }
    assert {basis: (on.uniformity.outcome.value, float(on.upper_bound)) for basis, on in rows.items()} == {
        UNION: ("fail", 0.5),
        INTERSECTION: ("pass", 0),
        FIRST: ("pass", 0),
        SECOND: ("fail", 0.5),
    }
    assert (found.recall_turns, found.uniformity_turns) == (False, True)


def test_recall_turns_where_what_one_alone_wrote_was_lost(counted, world_of, deciding, model):
    """Of 4 propositions an entry 3 are recovered, 3/4; the second annotator left the lost one out."""
    world = world_of(counted(f"e{k}", (1, 1, 0, 1)) for k in range(5))
    second = [p for p in world.fixture.propositions if p.quartile != 3]
    entries = aligned_by_text(world.fixture, wrote(*((p.entry_id, p.quartile, p.text) for p in second)))
    found = judged(entries, world, model(world), deciding)
    assert [on.recall.outcome.value for on in found.bases] == ["fail", "pass", "fail", "pass"]
    assert (found.recall_turns, found.uniformity_turns) == (True, False)


def test_a_basis_that_is_the_study_s_own_fixture_has_the_study_s_own_verdict(
    counted, spanned, world_of, deciding, model, run_study
):
    notes = [counted(f"e{k}", (2, 1, 2, 1), (2, 2, 2, 2)) for k in range(6)]
    world = world_of([*notes, spanned("s", spans=3, supported=2)])
    entries = aligned_by_text(world.fixture, world.fixture)
    study = run_study(world, deciding, model(world))
    found = judged(entries, world, model(world), deciding)
    assert [(on.recall, on.uniformity) for on in found.bases] == [(study.recall, study.uniformity)] * 4
    assert {on.fixture_hash for on in found.bases} == {world.fixture.hash}
    assert (found.recall_turns, found.uniformity_turns) == (False, False)


def test_what_is_known_is_not_asked_again(split, deciding, model):
    """40 propositions of the first and 50 of the second hold all that stands on any basis."""
    world, first, second = split
    judge = model(world)
    judged(align(first, second, judge), world, judge, deciding)
    assert len(judge.asked) == len(set(judge.asked))


def test_an_empty_basis_skips_its_claims_and_the_others_stand(counted, world_of, deciding, model):
    world = world_of(counted(f"e{k}") for k in range(3))
    other = wrote(("e0", 1, "something else"))
    found = judged(aligned_by_text(world.fixture, other), world, model(world), deciding)
    rows = {on.basis: on for on in found.bases}
    none = rows[INTERSECTION]
    assert (none.propositions, none.entries, none.fixture_hash, none.upper_bound) == (0, 0, None, None)
    assert (none.recall.outcome, none.recall.reason) == ("skip", Reason.FIXTURE_MISSING)
    assert (none.recall.estimate, none.uniformity.outcome) == (None, "skip")
    assert rows[FIRST].recall.outcome == "pass"
    assert (found.recall_turns, found.uniformity_turns) == (True, True)


@pytest.mark.parametrize("down_after", [0, 3, 9, 11])
def test_a_judge_that_goes_down_on_any_basis_leaves_no_claim_on_the_others(split, deciding, model, down_after):
    world, first, second = split
    refusal = judged(aligned_by_text(first, second), world, model(world, down_after=down_after), deciding)
    assert (refusal.reason, refusal.detail) == (Reason.JUDGE_DOWN, "the scripted judge went down; start it")


def test_numbers_that_may_not_be_stated_are_none(split, deciding, amended, model):
    world, first, second = split
    plan = amended(deciding, design={"entries": 11})
    found = judged(aligned_by_text(first, second), world, model(world), plan)
    assert {on.recall.reason for on in found.bases if on.propositions} == {Reason.UNDERPOWERED}
    assert (found.recall_turns, found.uniformity_turns) == (False, False)
