"""A corpus and its fixture cut down to one workspace: what is kept, under which hash, and what is refused."""

from eval_pipeline.corpus.rows import LeftOut, Rows
from eval_pipeline.corpus.snapshot import Snapshot, snapshot_of, unread
from eval_pipeline.records import Entry, Proposition, Reason, Signal
from eval_pipeline.studies.extraction.fixture import Fixture

LEFT_OUT = LeftOut(deleted_entries=2, deleted_signals=0, orphan_signals=0, blank_signals=0)
A, B, NOWHERE = (
    Entry("a", "north", "triage", "rain fell"),
    Entry("b", "south", "triage", "snow fell"),
    Entry("c", None, None, "it was dry"),
)
OF_A, OF_B = Signal("s1", "a", "rain", None, None, None), Signal("s2", "b", "snow", None, None, None)


def snapshot(entries: tuple[Entry, ...], signals: tuple[Signal, ...]) -> Snapshot:
    return snapshot_of(Rows(entries, signals, LEFT_OUT), source="here")


ALL = snapshot((A, B, NOWHERE), (OF_A, OF_B))


def test_a_workspace_of_a_corpus_has_the_hash_of_a_corpus_that_holds_it_alone() -> None:
    north = ALL.of_workspace("north")
    assert (north.entries, north.signals, north.refusal) == ((A,), (OF_A,), None)
    assert north.hash == snapshot((A,), (OF_A,)).hash
    assert north.hash != ALL.hash
    assert (north.source, north.left_out) == ("here, workspace 'north'", LEFT_OUT)


def test_the_workspaces_are_those_of_the_entries_in_order_and_none_is_no_workspace() -> None:
    assert ALL.workspaces == ("north", "south")
    assert snapshot((NOWHERE,), ()).workspaces == ()


def test_a_workspace_that_is_not_there_is_refused_with_those_that_are() -> None:
    west = ALL.of_workspace("west")
    assert west.refusal is not None
    assert (west.refusal.reason, west.hash, west.entries) == (Reason.CORPUS_EMPTY, None, ())
    assert west.refusal.detail == "the corpus has no entry of workspace 'west'; name one that it has: north, south"


def test_a_corpus_that_was_not_read_stays_what_it_is() -> None:
    absent = unread(Reason.CORPUS_UNREACHABLE, "the database does not answer", source="here")
    assert absent.of_workspace("north") is absent


def test_a_fixture_keeps_the_propositions_of_the_entries_in_their_order() -> None:
    one, two, other = (Proposition(entry, 1, text) for entry, text in (("a", "x"), ("a", "y"), ("b", "z")))
    whole = Fixture((one, other, two), refusal=None)
    assert whole.of_entries({"a": A}).propositions == (one, two)
    assert whole.of_entries({"a": A}).hash == Fixture((one, two), refusal=None).hash


def test_a_fixture_without_a_proposition_of_the_entries_is_missing() -> None:
    none = Fixture((Proposition("a", 1, "x"),), refusal=None).of_entries({})
    assert none.refusal is not None
    assert (none.refusal.reason, none.propositions) == (Reason.FIXTURE_MISSING, ())
    assert none.of_entries({"a": A}) is none
