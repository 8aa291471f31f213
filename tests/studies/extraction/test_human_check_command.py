"""The human check from the command line: drawn, filled by people, joined, and taken into a run; and what is refused."""

import csv
import json
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.human_check.join import read_check
from eval_pipeline.human_check.sheet import Said, Task, read_sheet
from eval_pipeline.report.sheets import write_sheet
from eval_pipeline.studies.extraction.plan import Strategy
from tests.studies.extraction.people import place_of, ran, truth_of

PLANTED = Fraction(865, 1020)  # of the propositions of the sample, as its truth.json counts them
MISSED = {"1.0", "2.0", "3.0", "4.0"}


@pytest.fixture(scope="module")
def world(counted, world_of):
    """Ten notes of a recall of .8; the judge that stands behind the endpoint misses one of four in each quarter."""
    return world_of(counted(f"e{k}", (4, 4, 4, 4), (5, 5, 5, 5)) for k in range(10))


@pytest.fixture(scope="module")
def plan(lenient, amended):
    rules = {"judging": {"strategy": Strategy.NO_SCREEN}, "calibration": {"gold": "not_asked"}}
    return amended(lenient, **rules, bootstrap={"resamples": 100})


@pytest.fixture
def corpus(world, written, tmp_path):
    return written(world, tmp_path / "corpus")


@pytest.fixture
def strict(world, endpoint):
    """The endpoint, which misses what it misses."""

    def says(request):
        missed = place_of(request.question.hypothesis) in MISSED
        return "NOT_SUPPORTED" if missed else world.says_anywhere(request.question)

    endpoint.says = says
    return endpoint


@pytest.fixture
def call(command, corpus, plan, plan_file, tmp_path):
    """`draw` and `run` on this corpus, with what else is given."""

    def call(what, *arguments, plan=plan, **fields):
        given = ("--corpus", corpus, "--judge", "chat", "--plan", plan_file(plan, tmp_path / "plan.toml"))
        name = {"draw": ("human-check", "draw"), "run": ("run", "extraction")}[what]
        return command(*name, *given, *arguments, **fields)

    return call


@pytest.fixture(scope="module")
def whole_entries(world, plan, scripted):
    """The sheet of two whole notes, the same whoever judges; that the command draws this one too is a test below."""
    return ran(world, plan, scripted(world.says)).sheet()


@pytest.fixture
def drawn(whole_entries, tmp_path):
    """The folder of a sheet."""
    write_sheet(tmp_path / "check", whole_entries)
    return tmp_path / "check"


def fill(folder, name, says):
    """A filled copy of the sheet in a folder, as the form saves it."""
    sheet = read_sheet(folder / "sheet.json")
    lines = [f"{sheet.id},{item.id},{said}" for item in sheet.items if (said := says(item))]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(["sheet,item,label", *lines, ""]))
    return path


def complained(said):
    """The one sentence of a command that was refused."""
    assert said.status == 1
    (line,) = said.err.splitlines()
    assert line.startswith("eval-pipeline: ")
    return line.removeprefix("eval-pipeline: ")


def verdict(folder):
    return json.loads((folder / "verdict.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def planted():
    """What the planted labels of the sample say of an item, by its texts: some claims stand in two notes, and are true
    in one of them. The note is the one that has these signals, or this passage."""

    def rows(name):
        return [json.loads(line) for line in (bundled("sample") / f"{name}.jsonl").read_text("utf-8").splitlines()]

    signals = defaultdict(list)
    for row in sorted(rows("signals"), key=lambda row: row["lookup_key"]):
        signals[row["entry_id"]] += [] if row["deleted_at"] else [row["content"]]
    with_signals = {tuple(contents): entry for entry, contents in signals.items()}
    contents = {row["lookup_key"]: row["content"] for row in rows("entries")}
    supported = {(row["entry_id"], row["proposition"]): row["supported"] for row in rows("labels")}

    def says(item):
        entries = [with_signals.get(item.premise)]
        if item.task is Task.SPAN:
            entries = [entry for entry, content in contents.items() if item.premise[0] in content]
        (label,) = {supported[entry, item.hypothesis] for entry in entries if (entry, item.hypothesis) in supported}
        return Said.SUPPORTED if label else Said.NOT_SUPPORTED

    return says


def test_the_sample_drawn_filled_joined_and_run_comes_back_to_its_planted_recall(command, planted, tmp_path):
    check, out = tmp_path / "check", tmp_path / "out"
    said = command("human-check", "draw", "--out", check)
    sheet = read_sheet(check / "sheet.json")
    assert (said.status, said.out) == (
        0,
        f"sheet {sheet.id}: {len(sheet.items)} items, drawn by entries\n"
        f"to be filled: {check / 'sheet.html'} in a browser, or {check / 'sheet.csv'}\n",
    )
    assert {path.name for path in check.iterdir()} == {"sheet.html", "sheet.csv", "sheet.json"}

    said = command("human-check", "join", fill(check, "anna", planted))
    frozen = read_check(check / "human_check.json")
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"{len(sheet.items)} labels, 0 of them unsure, frozen as {frozen.hash[:12]}: {check / 'human_check.json'}",
        f"go on with: eval-pipeline run extraction ... --human-check {check / 'human_check.json'}",
    ]

    said = command("run", "extraction", "--human-check", check / "human_check.json", "--out", out)
    document = verdict(out)
    recall, uniformity, _ = document["claims"]
    low, high = recall["interval"]
    assert low <= PLANTED <= high
    assert [claim["estimator"] for claim in document["claims"]] == ["post_stratified"] * 3
    assert [claim["advisory"] for claim in document["claims"]] == [False] * 3
    assert document["hashes"]["human_check"] == frozen.hash
    # Recall falls from .93 to .70, by far more than the bar; that is a fail, whatever the others come to.
    assert (uniformity["outcome"], said.status) == ("fail", 2)
    assert "asked 0 questions; 1907 answers were known" in said.err.splitlines()


def test_what_people_say_turns_the_verdict_on_the_corpus_of_a_judge_that_misses(strict, call, world, command, tmp_path):
    """.6 by the judge and .8 in truth. What the draw asked, the run knows; its progress is no part of its answer."""
    folder = tmp_path / "check"
    said = call("draw", "--share", "1/2", "--out", folder)
    assert (said.status, len(said.out.splitlines()), len(strict.asked)) == (0, 2, 200)
    assert "judged: 200 of 200" in said.err.splitlines()
    assert len(read_sheet(folder / "sheet.json").items) == 100
    strict.forget()
    assert command("human-check", "join", fill(folder, "anna", truth_of(world))).status == 0
    said = call("run", "--human-check", folder / "human_check.json", "--out", tmp_path / "out")
    assert strict.asked == []
    document = verdict(tmp_path / "out")
    recall, (raw, *_) = document["claims"][0], document["findings"]["correction"]["estimates"]
    assert (raw["estimator"], raw["pooled"]["estimate"]) == ("raw", 0.6)
    assert (recall["outcome"], recall["estimate"], recall["advisory"]) == ("pass", 0.8, False)
    assert f"pooled_recall: {recall['detail']}" in said.out.splitlines()


def test_the_command_draws_the_sheet_that_the_library_draws(strict, call, drawn, tmp_path):
    assert call("draw", "--out", tmp_path / "again").status == 0
    for path in drawn.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["sheet.json", "sheet.csv", "sheet.html"])
def test_a_sheet_that_lies_there_is_not_overwritten_and_no_judge_is_asked(strict, call, tmp_path, name):
    there = tmp_path / "check" / name
    there.parent.mkdir()
    there.write_text("half filled")
    refused = call("draw", "--out", tmp_path / "check")
    assert complained(refused) == (
        f"{str(there)!r} may be with somebody who fills it; name another folder with --out, or move it away"
    )
    assert (refused.out, strict.requests) == ("", [])
    assert [path.read_text() for path in there.parent.iterdir()] == ["half filled"]


@pytest.mark.parametrize(
    ("share", "said"),
    [
        ("a fifth", "a share of 'a fifth' was asked for; give a number up to 1, such as 0.2 or 1/5"),
        ("1/0", "a share of '1/0' was asked for; give a number up to 1, such as 0.2 or 1/5"),
        ("nan", "a share of 'nan' was asked for; give a number up to 1, such as 0.2 or 1/5"),
        ("2", "a share of '2' was asked for; give a number up to 1, such as 0.2 or 1/5"),
        ("-0.5", "a share of '-0.5' was asked for; give a number up to 1, such as 0.2 or 1/5"),
        ("1e400", "a share of '1e400' was asked for; give a number up to 1, such as 0.2 or 1/5"),
        ("0", "a share of 0 was asked for; the plan allows 1/5 to 1"),
        ("0.1", "a share of 1/10 was asked for; the plan allows 1/5 to 1"),
    ],
)
def test_a_share_that_the_plan_does_not_allow_is_refused_before_any_judge_is_asked(strict, call, tmp_path, share, said):
    refused = call("draw", f"--share={share}", "--out", tmp_path / "check")
    assert complained(refused) == said
    assert (refused.out, strict.requests, (tmp_path / "check").exists()) == ("", [], False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plan", "nowhere.toml"], "--plan 'nowhere.toml' is not a file; give the path of one"),
        (["--propositions", "nowhere.jsonl"], "--propositions 'nowhere.jsonl' is not a file; give the path of one"),
        (["--out", ""], "--out '' is not a folder; name one, it is made if it is not there"),
        (["--out", __file__], f"--out {__file__!r} is not a folder; name one, it is made if it is not there"),
        (
            ["--judge", "oracle"],
            "judge 'oracle' is unknown; expected one of lexical, labels:FILE, replay:JOURNAL, chat",
        ),
    ],
)
def test_a_draw_that_cannot_be_is_one_sentence(strict, command, corpus, arguments, said):
    refused = command("human-check", "draw", "--corpus", corpus, *arguments)
    assert complained(refused) == said
    assert (refused.out, strict.requests) == ("", [])


def test_where_nothing_was_judged_nothing_is_drawn(command, tmp_path):
    refused = command("human-check", "draw", "--corpus", tmp_path, "--out", tmp_path / "check")
    assert complained(refused).startswith("nothing was judged, so that there is nothing to check")
    assert not (tmp_path / "check").exists()


def test_where_no_entry_has_a_signal_there_is_nothing_to_ask_people(
    note, counted, world_of, written, plan, plan_file, command, tmp_path
):
    """The one note that has some is not among the two that are drawn."""
    mute = [note(f"e{k}", {}, [(1, f"e{k} tells 1.0")]) for k in range(9)]
    corpus = written(world_of([*mute, counted("e9")]), tmp_path / "corpus")
    file = plan_file(plan, tmp_path / "plan.toml")
    refused = command("human-check", "draw", "--corpus", corpus, "--plan", file, "--out", tmp_path / "check")
    (sentence,) = [line for line in refused.err.splitlines() if line.startswith("eval-pipeline: ")]
    assert sentence == "eval-pipeline: what was drawn has no signals that people could read; draw a larger share"
    assert refused.status == 1


def unsure_of(world, count):
    """A person who knows the truth, and is unsure of the first so many items."""
    left, truth = [count], truth_of(world)

    def says(item):
        left[0] -= 1
        return Said.UNSURE if left[0] >= 0 else truth(item)

    return says


def test_two_who_agree_are_joined_with_their_agreement_in_words(drawn, world, command):
    """Of 40 items both say y to 32 and n to 8."""
    people = [fill(drawn, name, truth_of(world)) for name in ("anna", "ben")]
    said = command("human-check", "join", *people)
    assert (said.status, said.err) == (0, "")
    agreed, kappa, alpha, frozen, _ = said.out.splitlines()
    assert agreed == "40 of 40 items labelled alike before anything was settled"
    assert kappa == "Cohen's kappa: 1.000, 95% from 1.000 to 1.000"
    assert alpha == "Krippendorff's alpha: 1.000, 95% from 1.000 to 1.000"
    assert frozen.startswith("40 labels, 0 of them unsure, frozen as ")


def test_two_who_know_one_label_alone_have_no_kappa_and_it_says_so(drawn, command):
    people = [fill(drawn, name, lambda item: Said.SUPPORTED) for name in ("anna", "ben")]
    said = command("human-check", "join", *people)
    assert said.status == 0
    assert said.out.splitlines()[1].startswith(
        "Cohen's kappa: cannot be said, all ratings that count are of one category"
    )


def test_two_who_differ_get_a_sheet_of_what_is_to_be_settled_and_join_again(drawn, world, command):
    """The second says the opposite of three; a third says what is true of them."""
    truth, apart = truth_of(world), {"e1 tells 1.0", "e1 tells 2.0", "e4 tells 4.4"}
    turned = {Said.SUPPORTED: Said.NOT_SUPPORTED, Said.NOT_SUPPORTED: Said.SUPPORTED}
    anna = fill(drawn, "anna", truth)
    ben = fill(drawn, "ben", lambda item: turned[truth(item)] if item.hypothesis in apart else truth(item))
    refused = command("human-check", "join", anna, ben)
    assert refused.status == 1
    assert refused.err == (
        "eval-pipeline: 3 of 40 items are labelled differently; have somebody settle them on the sheet of"
        " disagreements, and join again with --settled\n"
    )
    forms = drawn / "disagreements.html", drawn / "disagreements.csv"
    assert refused.out.splitlines()[-1] == f"to be settled: {forms[0]}, or disagreements.csv beside it"
    assert not (drawn / "human_check.json").exists()

    header, *rows = csv.reader(forms[1].read_text("utf-8-sig").splitlines())
    assert {row[header.index("hypothesis")] for row in rows} == apart
    settled = drawn / "carl.csv"
    labels = {item.id: truth(item) for item in read_sheet(drawn / "sheet.json").items}
    with settled.open("w") as file:
        csv.writer(file).writerows([header, *([*row[:-1], labels[row[1]].value] for row in rows)])
    assert command("human-check", "join", anna, ben, "--settled", settled).status == 0
    check = read_check(drawn / "human_check.json")
    assert (check.labels, check.settled, check.agreement.same) == (labels, 3, 37)


def test_what_somebody_settles_in_place_is_not_overwritten(drawn, world, command):
    anna, ben = fill(drawn, "anna", truth_of(world)), fill(drawn, "ben", unsure_of(world, 2))
    assert command("human-check", "join", anna, ben).status == 1
    assert command("human-check", "join", anna, ben).status == 1  # what was written is what would be written
    half = (drawn / "disagreements.csv").read_text() + "half settled"
    (drawn / "disagreements.csv").write_text(half)
    assert complained(command("human-check", "join", anna, ben)) == (
        f"{str(drawn / 'disagreements.csv')!r} may be with somebody who fills it; if it is settled, give it with"
        " --settled, or move it away"
    )
    assert (drawn / "disagreements.csv").read_text() == half


def test_a_frozen_check_is_not_overwritten_by_another_and_the_same_may_be_joined_again(drawn, world, command):
    """In whichever order the two are named."""
    anna, ben = (fill(drawn, name, truth_of(world)) for name in ("anna", "ben"))
    assert command("human-check", "join", anna, ben).status == 0
    frozen = (drawn / "human_check.json").read_bytes()
    assert command("human-check", "join", ben, anna).status == 0
    refused = command("human-check", "join", anna)
    assert complained(refused) == (
        f"{str(drawn / 'human_check.json')!r} holds another check, which is frozen; name another file with --out"
    )
    assert (drawn / "human_check.json").read_bytes() == frozen
    assert command("human-check", "join", anna, "--out", drawn / "by anna" / "check.json").status == 0
    assert read_check(drawn / "by anna" / "check.json").raters == ("anna",)


@pytest.mark.parametrize(
    ("unsure", "raters", "said"),
    [
        (0, 2, "1 person filled the human check and the plan asks for 2; have it filled by another"),
        (5, 1, "5 of 40 items of the human check have no label, and the plan allows 0.1 of them; have them settled"),
        (4, 1, None),
    ],
)
def test_a_check_that_nothing_can_rest_on_is_frozen_and_ends_with_2(
    whole_entries, world, command, tmp_path, unsure, raters, said
):
    folder = tmp_path / "check"
    write_sheet(folder, replace(whole_entries, rule=replace(whole_entries.rule, raters=raters)))
    joined = command("human-check", "join", fill(folder, "anna", unsure_of(world, unsure)))
    assert (joined.status, joined.err) == (2 if said else 0, "")
    last = joined.out.splitlines()[-1]
    assert last == f"blocks: {said}" if said else last.startswith("go on with: eval-pipeline run extraction")
    assert read_check(folder / "human_check.json").unsure == unsure


def test_people_who_agree_no_better_than_chance_end_with_2(drawn, world, command):
    """The second says the opposite of everything; what the first says is settled."""
    truth = truth_of(world)
    turned = {Said.SUPPORTED: Said.NOT_SUPPORTED, Said.NOT_SUPPORTED: Said.SUPPORTED}
    people = [fill(drawn, "anna", truth), fill(drawn, "ben", lambda item: turned[truth(item)])]
    joined = command("human-check", "join", *people, "--settled", fill(drawn, "carl", truth))
    assert joined.status == 2
    assert joined.out.splitlines()[-1].startswith("blocks: the people of the human check agree with a kappa of -")


ANNA, BEN, CARL = (f"{{0}}/{name}.csv" for name in ("anna", "ben", "carl"))
MISUSES = {
    "no such file": (["{0}/none.csv"], "filled sheet '{0}/none.csv' has 1 fault: cannot be read (No such file"),
    "a folder": (["{0}"], "filled sheet '{0}' has 1 fault: cannot be read (Is a directory)"),
    "one person twice": ([ANNA, ANNA], "filled sheets called 'anna' has 1 fault: found two, expected two people"),
    "three people": ([ANNA, BEN, CARL], "3 filled sheets were given; join those of one person or of two"),
    "not filled": (["{0}/sheet.csv"], "filled sheet '{0}/sheet.csv' has 40 faults: line 2, column 'label'"),
    "no sheet": ([ANNA, "--sheet", "{0}/none.json"], "sheet '{0}/none.json' has 1 fault: cannot be read (No such"),
    "not a sheet": ([ANNA, "--sheet", ANNA], "sheet '{0}/anna.csv' has 1 fault: field 'the whole': invalid json"),
    "settled nowhere": ([ANNA, "--settled", "{0}/none.csv"], "filled sheet '{0}/none.csv' has 1 fault: cannot be read"),
    "nothing to settle": ([ANNA, BEN, "--settled", CARL], "filled sheet '{0}/carl.csv' has 40 faults: line 2, column"),
    "over a label": ([ANNA, "--out", BEN], "human check '{0}/ben.csv' has 1 fault: field 'the whole': invalid json"),
    "over a folder": ([ANNA, "--out", "{0}"], "human check '{0}' has 1 fault: cannot be read (Is a directory)"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_join_that_cannot_be_is_one_sentence_and_freezes_nothing(drawn, world, command, misuse):
    for name in ("anna", "ben", "carl"):
        fill(drawn, name, truth_of(world))
    before = {path: path.read_bytes() for path in drawn.iterdir()}
    arguments, said = MISUSES[misuse]
    refused = command("human-check", "join", "--sheet", drawn / "sheet.json", *(one.format(drawn) for one in arguments))
    assert complained(refused).startswith(said.format(drawn))
    assert {path: path.read_bytes() for path in drawn.iterdir()} == before


def test_filled_sheets_that_lie_elsewhere_need_the_sheet_to_be_named(drawn, world, command, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "anna.csv"
    elsewhere.parent.mkdir()
    fill(drawn, "anna", truth_of(world)).rename(elsewhere)
    said = f"{str(elsewhere.parent / 'sheet.json')!r} is not there; name the sheet.json that was drawn with --sheet"
    assert complained(command("human-check", "join", elsewhere)) == said
    assert command("human-check", "join", elsewhere, "--sheet", drawn / "sheet.json").status == 0
    assert read_check(drawn / "human_check.json").raters == ("anna",)


def test_a_sheet_that_was_drawn_into_the_home_is_found_there(whole_entries, world, command, tmp_path):
    home = tmp_path / "home" / "out" / "human_check"
    write_sheet(home, whole_entries)
    elsewhere = fill(home, "anna", truth_of(world)).rename(tmp_path / "anna.csv")
    assert command("human-check", "join", elsewhere).status == 0
    assert (home / "human_check.json").exists()


def test_a_copy_of_another_sheet_is_refused_line_by_line(drawn, whole_entries, world, command, tmp_path):
    write_sheet(tmp_path / "other", replace(whole_entries, plan="another seal"))
    other = fill(tmp_path / "other", "anna", truth_of(world))
    refused = complained(command("human-check", "join", other, "--sheet", drawn / "sheet.json"))
    assert refused.startswith(f"filled sheet {str(other)!r} has 41 faults: line 2, column 'sheet': found ")
    assert refused.endswith("; and 21 more")


@pytest.fixture
def checked(drawn, world, command):
    assert command("human-check", "join", fill(drawn, "anna", truth_of(world))).status == 0
    return drawn / "human_check.json"


def test_a_run_on_other_texts_than_were_checked_skips_every_claim_and_says_so(checked, corpus, call, tmp_path):
    lines = (corpus / "propositions.jsonl").read_text().replace("e1 tells 1.0", "e1 tells something else")
    (corpus / "propositions.jsonl").write_text(lines)
    said = call("run", "--human-check", checked, "--out", tmp_path / "out")
    assert said.status == 3
    assert {claim["reason"] for claim in verdict(tmp_path / "out")["claims"][:2]} == {"check_outdated"}
    assert "1 of the 40 propositions and spans of the human check are not in this run as they were drawn" in said.out


def tamper(path):
    path.write_text(path.read_text().replace('"NOT_SUPPORTED"', '"SUPPORTED"', 1))


def put_the_sheet(path):
    path.write_bytes(path.with_name("sheet.json").read_bytes())


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (tamper, "human check '{0}' was frozen as "),
        (put_the_sheet, "human check '{0}' has 1 fault: field 'check': field required"),
        (Path.unlink, "--human-check '{0}' is not a file; give the path of one"),
    ],
)
def test_a_check_that_is_not_what_was_frozen_ends_a_run_before_any_judge_is_asked(
    checked, strict, call, tmp_path, forge, said
):
    forge(checked)
    refused = call("run", "--human-check", checked, "--out", tmp_path / "out")
    assert complained(refused).startswith(said.format(checked))
    assert (refused.out, strict.requests) == ("", [])
    assert not (tmp_path / "out" / "verdict.json").exists()
