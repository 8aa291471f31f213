"""The losses: what was missed or left undecided, entry by entry, with the signal that came nearest."""

from dataclasses import replace

from eval_pipeline.corpus.snapshot import unread
from eval_pipeline.records import Fate, Reason
from eval_pipeline.studies.extraction.losses import losses_by_entry


def losses(world, study):
    return losses_by_entry(study.fates, world.snapshot)


def test_entries_that_lost_most_come_first_and_those_that_lost_nothing_not_at_all(
    counted, world_of, lenient, run_study
):
    world = world_of(
        [
            counted("a", (1, 1, 1, 0)),
            counted("whole"),
            counted("c", (0, 0, 1, 0)),
            counted("b", (1, 0, 1, 1)),
        ]
    )
    found = losses(world, run_study(world, lenient))
    assert [(entry.entry_id, len(entry.losses), entry.propositions) for entry in found] == [
        ("c", 3, 4),
        ("a", 1, 4),
        ("b", 1, 4),
    ]
    assert [(loss.quartile, loss.proposition) for loss in found[0].losses] == [
        (1, "c tells 1.0"),
        (2, "c tells 2.0"),
        (4, "c tells 4.0"),
    ]


def test_a_loss_names_the_signal_with_the_most_words_in_common(note, world_of, lenient, run_study):
    signals = {"rain fell": [], "the pump was old": [], "the north pump leaked oil": []}
    world = world_of([note("a", signals, [(2, "the north pump leaked water")])])
    ((loss,),) = (entry.losses for entry in losses(world, run_study(world, lenient)))
    assert (loss.nearest.id, loss.nearest.content) == ("a-s02", "the north pump leaked oil")
    assert (loss.fate, loss.composition_only) == (Fate.MISSED, False)


def test_of_signals_equally_near_the_first_is_named(note, world_of, lenient, run_study):
    world = world_of([note("a", {"rain": [], "snow": []}, [(1, "the pump leaked")])])
    ((loss,),) = (entry.losses for entry in losses(world, run_study(world, lenient)))
    assert loss.nearest.id == "a-s00"


def test_a_loss_says_whether_it_is_undecided_or_only_told_by_several(note, world_of, lenient, run_study, scripted):
    world = world_of([note("a", {"A": [], "B": []}, [(1, "both"), (4, "unread")])], together=[("a", "both")])
    judge = scripted(lambda question: "?" if question.hypothesis == "unread" else world.says(question))
    ((both, unread_one),) = (entry.losses for entry in losses(world, run_study(world, lenient, judge)))
    assert (both.fate, both.composition_only) == (Fate.MISSED, True)
    assert (unread_one.fate, unread_one.composition_only) == (Fate.UNDECIDED, False)


def test_an_entry_without_signals_has_nothing_that_came_near(note, world_of, lenient, run_study):
    world = world_of([note("a", {}, [(1, "x")], words=3, workspace="west", band="triage")])
    (entry,) = losses(world, run_study(world, lenient))
    assert [loss.nearest for loss in entry.losses] == [None]
    assert (entry.workspace, entry.band, entry.words, entry.content) == ("west", "triage", 3, "word word word")


def test_an_absent_entry_that_counts_as_missed_has_no_content(counted, world_of, compat, run_study):
    world = world_of([counted("a"), counted("gone", absent=True)])
    (entry,) = losses(world, run_study(world, compat))
    assert (entry.entry_id, entry.content, entry.words, len(entry.losses)) == ("gone", None, None, 4)


def test_where_nothing_was_judged_there_are_no_losses(counted, world_of, lenient, run_study):
    world = replace(world_of([counted("a")]), snapshot=unread(Reason.CORPUS_UNREACHABLE, "down", source="x"))
    assert list(losses(world, run_study(world, lenient))) == []
