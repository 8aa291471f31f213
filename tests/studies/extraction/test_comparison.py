"""Two runs held against each other, proposition by proposition: what was gained and lost, and whether it is shown."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from eval_pipeline.errors import EvidenceRefused, InputRefused
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Fate, NoLabel
from eval_pipeline.studies.extraction import comparison, recorded
from eval_pipeline.studies.extraction.comparison import Shown, cause_of, paired_document, paired_runs
from eval_pipeline.studies.extraction.plan import Strategy
from eval_pipeline.studies.extraction.recorded import Key, read_judgments
from eval_pipeline.studies.recorded_run import read_run
from eval_pipeline.studies.run_comparison import Difference, RunComparison, compared_runs
from tests.stats.simulate import holds
from tests.studies.extraction.people import erring, with_spans

ALL = (4, 4, 4, 4)


@pytest.fixture(scope="session")
def plan(lenient, amended):
    return amended(lenient, judging={"strategy": Strategy.NO_SCREEN}, bootstrap={"resamples": 100})


@pytest.fixture(scope="session")
def world(counted, world_of):
    """Twenty notes of 16 propositions, three of four recovered in each quarter, each with a span that supports."""
    return world_of(with_spans(counted(f"e{k:02d}", (3, 3, 3, 3), ALL)) for k in range(20))


@pytest.fixture(scope="session")
def sound(findings, world, plan):
    return findings(world, plan)


@pytest.fixture(scope="session")
def worse(findings, world, plan, scripted):
    """By a judge that misses one proposition more in the first quarter of each note."""
    return findings(world, plan, scripted(erring(world, misses={"1.0"}), standing=Standing.UNCALIBRATED))


def paired(first, second, **options):
    one, other = read_run(first), read_run(second)
    return paired_runs(one, other, compared_runs(one, other), **options)


def test_what_was_lost_is_named_and_counted(sound, worse):
    """Of 320 propositions 240 are recovered in the first run, and 20 of these, one a note, not in the second."""
    found = paired(sound, worse)
    assert (found.propositions, found.entries) == (320, 20)
    assert (found.both_recovered, found.both_missed, len(found.gained)) == (220, 80, 0)
    assert found.lost == tuple(Key(f"e{k:02d}", 1, f"e{k:02d} tells 1.0", 1) for k in range(20))
    assert found.left_out == {"only_in_first": 0, "only_in_second": 0, "undecided": 0}
    assert (found.recall.first, found.recall.second) == (240 / 320, 220 / 320)
    assert found.recall.change == pytest.approx(-20 / 320)
    assert (found.uniformity.first, found.uniformity.second) == (0.0, pytest.approx(-1 / 4))
    assert (found.precision.change, found.span_entries) == (0.0, 20)
    assert [one.shown for one in (found.recall, found.uniformity)] == [Shown.WORSE, Shown.BETTER]
    assert found.level == 0.95


def test_turned_round_gains_are_losses(sound, worse):
    there, back = paired(sound, worse), paired(worse, sound)
    assert (there.lost, there.gained) == (back.gained, back.lost)
    assert back.recall.change == -there.recall.change
    assert (back.recall.interval.low, back.recall.interval.high) == pytest.approx(
        (-there.recall.interval.high, -there.recall.interval.low)
    )
    assert back.recall.shown is Shown.BETTER


def test_mcnemar_is_that_of_statsmodels(sound, worse):
    """statsmodels 0.14, mcnemar(exact=True)."""
    table = [[220, 20], [0, 80]]
    assert paired(sound, worse).p_value == pytest.approx(mcnemar(table, exact=True).pvalue)


def test_a_run_beside_itself_shows_no_change_and_has_intervals_all_the_same(sound):
    found = paired(sound, sound)
    assert (found.gained, found.lost, found.p_value) == ((), (), None)
    for change in (found.recall, found.uniformity, found.precision):
        assert (change.change, change.shown) == (0.0, Shown.NEITHER)
        assert change.interval.low <= 0 <= change.interval.high
    assert found.cause.startswith("nothing is different")


def test_only_what_both_hold_and_decided_is_compared(findings, counted, world_of, plan, scripted, sound):
    """The second run has 18 of the notes and one of its own, and cannot read two of the propositions of each."""
    other = world_of(with_spans(counted(f"e{k:02d}", (3, 3, 3, 3), ALL)) for k in [*range(18), 99])
    left_open = scripted(
        lambda question: NoLabel.REFUSED if question.hypothesis.endswith((" 2.0", " 2.1")) else other.says(question)
    )
    found = paired(sound, findings(other, plan, left_open))
    assert (found.entries, found.propositions) == (18, 18 * 14)
    assert found.left_out == {"only_in_first": 32, "only_in_second": 16, "undecided": 36}
    assert (found.gained, found.lost, found.span_entries) == ((), (), 18)


def test_a_number_that_a_run_withholds_is_withheld_here_too(findings, world, plan, amended, scripted, sound):
    """A judge that cannot be read in more than the plan allows."""
    open_ = scripted(
        lambda question: NoLabel.REFUSED if " tells 1." in question.hypothesis else world.says(question),
        standing=Standing.ORACLE,
    )
    found = paired(sound, findings(world, plan, open_), level=0.9)
    assert found.withheld == found.recall.withheld == "the second withholds it (untrustworthy)"
    assert (found.recall.change, found.uniformity.change, found.precision.change) == (None, None, 0.0)
    document = paired_document(found)
    assert (document["lost"], document["gained"], document["p_value"], document["both_missed"]) == (None,) * 4
    assert "tells" not in json.dumps(document)


def test_propositions_of_one_text_are_told_apart_by_their_order():
    rows = {
        unit: [{"entry_id": "e", "quartile": 1, "hypothesis": "same", "kind": "recall_signal", "label": label}]
        for unit, label in ((4, "SUPPORTED"), (7, "NOT_SUPPORTED"))
    }
    assert dict(recorded._fates(rows, Fate.UNDECIDED)) == {
        Key("e", 1, "same", 1): Fate.RECOVERED,
        Key("e", 1, "same", 2): Fate.MISSED,
    }


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("unreadable", [("ask_signals", "undecided"), ("undecided", "not_supported")])
def test_fates_are_those_of_the_run_under_every_rule_of_its_plan(
    run_study, findings, world, plan, amended, scripted, strategy, unreadable
):
    """The screen and single signals are unread now and then; the folder does not name the rules."""
    screen, signal = unreadable
    rules = {"strategy": strategy, "unreadable_screen": screen, "unreadable_signal": signal}
    under = amended(plan, judging=rules, errors={"at_most": Fraction(1)})

    def says(question):
        together = isinstance(question.premise, tuple)
        unread = question.hypothesis.endswith((" 1.0", " 2.3") if together else (" 3.0", " 4.3"))
        return NoLabel.REFUSED if unread else world.says(question)

    study = run_study(world, under, scripted(says))
    folder = findings(world, under, scripted(says))
    found = {(key.entry_id, key.text): fate.value for key, fate in read_judgments(folder).fates.items()}
    assert found == {(row["entry_id"], row["proposition"]): row["fate"] for row in study.fates.to_pylist()}


def copied(folder, to, **files):
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(files.get(path.name.partition(".")[0], path.read_bytes()))
    return to


def test_judgments_and_a_table_that_are_not_of_one_run_are_refused(sound, worse, tmp_path):
    mixed = copied(sound, tmp_path / "mixed", judgments=(worse / "judgments.jsonl").read_bytes())
    with pytest.raises(EvidenceRefused, match=r"are not of one run: the judgments do not make the table"):
        paired(sound, mixed)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"judgments": b'{"kind": "probe"}\n'}, "line 1: found what is no judgment of this study"),
        ({"judgments": b"[]\n"}, "line 1: found what is no judgment of this study"),
        ({"judgments": b"\xff\n"}, "are no text in UTF-8"),
        ({"entry_quartiles": b"PAR1"}, "is not there, or is not what a run wrote"),
        ({"entry_quartiles": b""}, "is not there, or is not what a run wrote"),
    ],
)
def test_files_that_no_run_wrote_are_refused_by_name(sound, tmp_path, files, message):
    with pytest.raises(EvidenceRefused, match=message):
        paired(sound, copied(sound, tmp_path / "broken", **files))


@pytest.mark.parametrize("name", ["judgments.jsonl", "entry_quartiles.parquet"])
def test_a_folder_that_lacks_a_file_is_refused(sound, tmp_path, name):
    lacking = copied(sound, tmp_path / "lacking")
    (lacking / name).unlink()
    with pytest.raises(EvidenceRefused, match=name):
        paired(sound, lacking)


def test_runs_with_other_levels_are_compared_only_at_one_that_is_said(findings, world, plan, amended, sound):
    narrower = findings(world, amended(plan, bootstrap={"level": Fraction(9, 10)}))
    with pytest.raises(InputRefused, match=r"found 0\.95 and 0\.9 for the intervals of the two runs, expected one"):
        paired(sound, narrower)
    assert paired(sound, narrower, level=0.99).recall.interval.level == 0.99


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ((), "the judge's own unsteadiness"),
        (("version of numpy",), "of what else is different"),
        (("seal of the plan", "bar of pooled_recall"), "a change is the plan's"),
        (("judge fingerprint",), "the judge's, and not the extraction's"),
        (("corpus",), "the extraction's, or the corpus's"),
        (("corpus", "judge kind"), "nobody can say which"),
    ],
)
def test_whose_a_change_is_follows_from_what_is_different(changed, words):
    found = RunComparison("extraction", tuple(Difference(name, "a", "b") for name in changed), ())
    assert words in cause_of(found)


def simulated(rng, entries):
    """One fixture in two runs, in the shape of the table: propositions of an entry are alike, and so are both runs."""
    trials = rng.integers(2, 6, (entries, 4))
    counts = np.zeros((3, entries, 4), dtype=np.int64)
    ease = rng.beta(8, 2, entries)[:, None, None]
    late = np.array([0, 0, 0, 0.1])[:, None]
    asked = np.arange(5) < trials[:, :, None]
    luck = rng.random((entries, 4, 5))
    again = np.where(rng.random(luck.shape) < 0.7, luck, rng.random(luck.shape))
    before, now = luck < ease - late, again < 0.95 * ease - 1.5 * late
    for place, found in enumerate((before, now & ~before, before & ~now)):
        counts[place] = (found & asked).sum(axis=2)
    return comparison._Table(*counts, trials)


def test_the_intervals_of_changes_hold_the_truth_as_often_as_they_say():
    """400 pairs of runs over 60 entries; the truth is that of one pair of 100,000."""
    rng, held = np.random.default_rng(17), [0, 0]
    changes = (comparison._recall_change, comparison._uniformity_change)
    truths = [make(simulated(rng, 100_000), 0.95, None).change for make in changes]
    for _ in range(400):
        table = simulated(rng, 60)
        for place, make in enumerate(changes):
            held[place] += holds(make(table, 0.95, None).interval, truths[place])
    for count in held:
        assert binomtest(count, 400, 0.95, alternative="less").pvalue > 0.01


def test_other_signals_are_held_against_each_other_entry_by_entry(findings, counted, world_of, plan, sound):
    """The second corpus has other signals, of which 4 of 20 do not follow from their span."""
    other = world_of(with_spans(counted(f"e{k:02d}", (3, 3, 3, 2), ALL), supported=k >= 4) for k in range(20))
    found = paired(sound, findings(other, plan))
    assert (found.precision.first, found.precision.second) == (1.0, 16 / 20)
    assert found.precision.interval.low < -0.2 < found.precision.interval.high
    assert found.span_entries == 20
