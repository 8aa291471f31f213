"""`eval-pipeline run label-signal`: from a folder of tracks to the report, on simulated raters and on people's."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.studies.label_signal.conftest import RESPONSE_ROWS, TRACK_TOML, jsonl, write_track

WITHHELD = 3


def ratings_csv(path: Path, raters: int = 3, **extra: str) -> Path:
    """Each of so many raters rates every answer; the new system is two levels better, and they agree but for one."""
    rows = [
        {
            "item_id": response["item_id"],
            "system_id": response["system_id"],
            "rater_id": f"r{rater}",
            "correct": {"old": 1, "new": 3}[response["system_id"]],
            "tone": 2 if rater else 1 + (response["system_id"] == "new"),
            **extra,
        }
        for response in RESPONSE_ROWS
        for rater in range(raters)
    ]
    sink = io.StringIO()
    writer = csv.DictWriter(sink, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(sink.getvalue())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_track(tmp_path / "tracks" / "small", track=f"{TRACK_TOML}offsets = [-0.4, 0]\n")
    return tmp_path / "tracks"


def results(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "results.json").read_bytes())
    return found


def test_a_folder_of_tracks_is_studied_with_simulated_raters_who_are_called_so_everywhere(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    write_track(folder / "broken", track="key = 3")
    write_track(folder / "_draft", track="not even TOML")
    said = command("run", "label-signal", "--tracks", folder, "--out", tmp_path / "out")
    assert said.status == WITHHELD, said.err
    assert "simulated raters: nobody rated this" in said.out
    assert "passed over: broken: track folder" in said.err
    assert "_draft" not in said.err
    document = results(tmp_path / "out")
    small = document["tracks"]["small"]
    assert list(document["tracks"]) == ["small"]
    assert list(document["skipped_tracks"]) == ["broken"]
    assert document["simulated"] is small["simulated"] is True
    assert small["limitations"][0].startswith("Nobody rated this")
    assert "Simulated raters." in (tmp_path / "out" / "report.html").read_text("utf-8")
    (row, *_) = csv.DictReader(io.StringIO((tmp_path / "out" / "adjudication-small.csv").read_text("utf-8-sig")))
    assert row["raters"] == "simulated"
    assert small["sensitivity"]["runs"] == 49


def test_people_s_ratings_are_called_people_s_and_each_of_them_is_left_out_in_turn(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    ratings = ratings_csv(tmp_path / "people.csv", comment="by hand")
    said = command("run", "label-signal", "--tracks", folder, "--ratings", ratings, "--out", tmp_path / "out")
    assert said.status == WITHHELD, said.err
    assert "simulated" not in said.out
    small = results(tmp_path / "out")["tracks"]["small"]
    assert small["simulated"] is False
    assert small["unread_columns"] == ["comment"]
    assert small["systems"]["new"]["mean"] - small["systems"]["old"]["mean"] > 0.4
    assert [one["name"] for one in small["sensitivity"]["outcomes"]] == [
        "all raters",
        "without r0",
        "without r1",
        "without r2",
    ]
    checks = {check["check"]: check for claim in small["claims"] for check in claim["checks"]}
    assert checks["drift"]["standing"] == "not_applicable"
    assert checks["rubric_specification"]["standing"] == "not_applicable"
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Simulated raters." not in page


def test_a_worksheet_comes_out_and_goes_in_again_filled(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    ratings = ratings_csv(tmp_path / "people.csv")
    text = ratings.read_text().replace("q2,old,r0,1,1", "q2,old,r0,3,1")  # a spread of 2 on the critical dimension
    ratings.write_text(text)
    given = ["run", "label-signal", "--tracks", folder, "--ratings", ratings]
    command(*given, "--out", tmp_path / "before")
    sheet = list(csv.DictReader(io.StringIO((tmp_path / "before" / "adjudication-small.csv").read_text("utf-8-sig"))))
    assert [(row["item_id"], row["system_id"], row["raters"]) for row in sheet] == [("q2", "old", "people")]
    sheet[0] |= {"correct": "1", "tone": "2", "rubric_gap": "yes", "reason": "the question names two figures"}
    filled = tmp_path / "filled.csv"
    with filled.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)
    said = command(*given, "--adjudication", filled, "--out", tmp_path / "after")
    assert said.status == WITHHELD, said.err
    before, after = (results(tmp_path / name)["tracks"]["small"] for name in ("before", "after"))
    assert (before["triage"]["gap_rate"], after["triage"]["gap_rate"]) == (None, 1.0)
    assert after["triage"]["adjudicator"] == "people"
    assert before["agreement"] == after["agreement"]  # reliability is of the ratings, whatever was adjudicated
    assert any("adjudicators blame the rubric in 100.0%" in claim["detail"] for claim in after["claims"])


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda text: text.replace("rater_id", "person"), "found no 'rater_id'; add it to every row"),
        (
            lambda text: text.replace("r1,1,2", "r1,7,2", 1),
            "line 3, field 'correct': found \"7\" for dimension 'correct'",
        ),
        (lambda text: text + text.splitlines()[1] + "\n", "found a second score of rater 'r0' for item 'q1'"),
        (lambda text: text.splitlines()[0] + "\n", "found no ratings in it"),
        (lambda text: text.replace("q1,old", "q9,old"), "which the track does not hold"),
    ],
    ids=["missing column", "off the scale", "twice", "empty", "unknown item"],
)
def test_a_stranger_s_file_that_breaks_its_format_is_one_sentence_and_leaves_nothing_behind(
    command: Callable[..., Any], folder: Path, tmp_path: Path, made: Callable[[str], str], sentence: str
) -> None:
    ratings = ratings_csv(tmp_path / "people.csv")
    ratings.write_text(made(ratings.read_text()))
    said = command("run", "label-signal", "--tracks", folder, "--ratings", ratings, "--out", tmp_path / "out")
    assert said.status == 1
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out" / "results.json").exists()


def test_one_rater_and_all_equal_ratings_get_their_named_reason(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    alone = ratings_csv(tmp_path / "alone.csv", raters=1)
    said = command("run", "label-signal", "--tracks", folder, "--ratings", alone, "--out", tmp_path / "one")
    assert said.status == WITHHELD, said.err
    small = results(tmp_path / "one")["tracks"]["small"]
    assert small["agreement"]["tone"]["alpha"]["estimate"] is None
    assert "no unit was rated twice" in small["agreement"]["tone"]["alpha"]["why"]
    assert all(claim["outcome"] == "skip" for claim in small["claims"])

    equal = ratings_csv(tmp_path / "equal.csv")
    lines = equal.read_text().splitlines()
    equal.write_text("\n".join([lines[0], *(",".join([*line.split(",")[:3], "2", "2"]) for line in lines[1:])]) + "\n")
    said = command("run", "label-signal", "--tracks", folder, "--ratings", equal, "--out", tmp_path / "equal")
    assert said.status == WITHHELD, said.err
    small = results(tmp_path / "equal")["tracks"]["small"]
    assert "all ratings that count are of one category" in small["agreement"]["tone"]["alpha"]["why"]
    assert small["comparisons"]["new - old"]["effect"] == 0
    assert small["comparisons"]["new - old"]["mde"] is None
    ranking = next(claim for claim in small["claims"] if claim["kind"] == "ranking")
    assert "the smallest detectable difference cannot be computed" in ranking["detail"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--track", "large"], "--track 'large' cannot be run: the folder holds other, small"),
        (["--ratings", "{file}"], "is of one track; say which with --track: other, small"),
        (["--track", "small", "--ratings", "absent.csv"], "--ratings 'absent.csv' is not a file"),
        (["--track", "rated"], "no answers or no [simulation]"),
        (["--track", "small", "--plan", "{file}"], "is not TOML"),
        (["--tracks", "nowhere"], "found no folder, expected one with a folder for each track"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(
    command: Callable[..., Any], folder: Path, tmp_path: Path, options: list[str], sentence: str
) -> None:
    small = (folder / "small" / "track.toml").read_text()
    write_track(folder / "other", track=small.replace('key = "small"', 'key = "other"'))
    if "rated" in options:
        bare = small.partition("[simulation]")[0].replace('key = "small"', 'key = "rated"')
        write_track(folder / "rated", track=bare, items=None, responses=None)
    file = ratings_csv(tmp_path / "people.csv")
    given = [option.replace("{file}", str(file)) for option in options]
    tracks = [] if "--tracks" in options else ["--tracks", str(folder)]
    said = command("run", "label-signal", *tracks, *given, "--out", tmp_path / "out")
    assert said.status == 1
    assert sentence in said.err
    assert said.err.count("\n") == 1


def test_a_track_that_nobody_rated_and_nothing_can_simulate_is_passed_over_beside_others(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    bare = (folder / "small" / "track.toml").read_text().partition("[simulation]")[0]
    write_track(folder / "rated", track=bare.replace('key = "small"', 'key = "rated"'), items=None, responses=None)
    said = command("run", "label-signal", "--tracks", folder, "--out", tmp_path / "out")
    assert said.status == WITHHELD
    assert "passed over: rated: it has no answers or no [simulation]" in said.err
    assert list(results(tmp_path / "out")["tracks"]) == ["small"]


def test_a_document_is_audited_against_the_results_of_the_last_run(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    command("run", "label-signal", "--tracks", folder, "--out", tmp_path / "out")
    claims = results(tmp_path / "out")["ledger"]["claims"]
    document = tmp_path / "said.md"
    document.write_text(f"There are {claims}<!-- = /label-signal/ledger/claims --> claims.\n")
    given = ["audit", document, "--results", tmp_path / "out" / "results.json"]
    said = command(*given)
    assert (said.status, said.out) == (0, f"{document}: 1 numbers bound, 0 exempt, 0 to mend\n")
    document.write_text(f"There are {claims + 1}<!-- = /label-signal/ledger/claims --> claims of {claims}.\n")
    said = command(*given)
    assert said.status == 1
    assert f"{document}:1: {claims + 1} is bound, but /label-signal/ledger/claims is {claims}" in said.out
    assert f"{document}:1: {claims} has no path" in said.out
    document.write_text("<!-- audit: exempt -->\n")
    said = command(*given)
    assert said.status == 1
    assert "line 1: found an exemption without a reason" in said.err


def test_a_rubric_that_changed_makes_another_version_and_refuses_ratings_of_the_last(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    ratings = ratings_csv(tmp_path / "people.csv", rubric_version="small-rubric@r1+000000000000")
    said = command("run", "label-signal", "--tracks", folder, "--ratings", ratings, "--out", tmp_path / "out")
    assert said.status == 1
    assert "ratings of two versions are not pooled" in said.err


def test_two_runs_write_the_same_bytes(command: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    (folder / "small" / "responses.jsonl").write_text(jsonl(RESPONSE_ROWS))
    for name in ("first", "second"):
        command("run", "label-signal", "--tracks", folder, "--out", tmp_path / name)
    for file in ("results.json", "report.html", "adjudication-small.csv"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


def rated(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(jsonl(rows))
    return path


def whole_rows(raters: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "item_id": response["item_id"],
            "system_id": response["system_id"],
            "rater_id": f"r{rater}",
            "correct": {"old": 1, "new": 3}[response["system_id"]] - (rater == 0),
            "tone": 1 + rater % 2,
        }
        for response in RESPONSE_ROWS
        for rater in range(raters)
    ]


def test_a_system_is_not_better_for_what_was_not_asked_of_it(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    """The critical dimension is left out on the new system's answers: it has no composite, and nothing is claimed."""
    rows = [row | ({"correct": None} if row["system_id"] == "new" else {}) for row in whole_rows()]
    file = rated(tmp_path / "holes.jsonl", rows)
    said = command("run", "label-signal", "--tracks", folder, "--ratings", file, "--out", tmp_path / "out")
    assert said.status == WITHHELD, said.err
    small = results(tmp_path / "out")["tracks"]["small"]
    assert list(small["systems"]) == ["old"]
    assert small["comparisons"] == {} or small["comparisons"]["new - old"]["effect"] is None
    assert "12 of 24 ratings leave a dimension out that has a weight, and have no composite." in small["limitations"]


def test_a_dimension_or_a_system_that_nobody_rated_is_named(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    rows = [{k: v for k, v in row.items() if k != "tone"} for row in whole_rows() if row["system_id"] == "old"]
    file = rated(tmp_path / "part.jsonl", rows)
    command("run", "label-signal", "--tracks", folder, "--ratings", file, "--out", tmp_path / "out")
    limits = results(tmp_path / "out")["tracks"]["small"]["limitations"]
    assert "Nobody rated tone; composites rest on the other dimensions." in limits
    assert "Nobody rated new." in limits


def test_the_design_is_covered_by_what_was_rated_and_not_by_what_the_track_holds(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    file = rated(tmp_path / "easy.jsonl", [row for row in whole_rows() if row["item_id"] in ("q1", "q2")])
    command("run", "label-signal", "--tracks", folder, "--ratings", file, "--out", tmp_path / "out")
    claims = results(tmp_path / "out")["tracks"]["small"]["claims"]
    coverage = {check["detail"] for claim in claims for check in claim["checks"] if check["check"] == "coverage"}
    assert coverage == {"no item of difficulty=hard"}


def test_one_answer_that_many_rated_does_not_stand_in_for_the_others(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    """Sixty ratings of one answer and one of each of the seven others: 8 / (7 + 1/60) = 1.14 of each."""
    once = whole_rows(1)
    many = [once[0] | {"rater_id": f"m{rater}"} for rater in range(59)]
    file = rated(tmp_path / "many.jsonl", once + many)
    command("run", "label-signal", "--tracks", folder, "--ratings", file, "--out", tmp_path / "out")
    small = results(tmp_path / "out")["tracks"]["small"]
    assert small["counts"]["replication"] == pytest.approx(8 / (7 + 1 / 60))
    assert all(claim["outcome"] == "skip" for claim in small["claims"])


def test_a_batch_for_each_rating_tells_nothing_of_drift_and_is_no_pass(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    rows = [row | {"order": place} for place, row in enumerate(whole_rows())]
    file = rated(tmp_path / "order.jsonl", rows)
    command("run", "label-signal", "--tracks", folder, "--ratings", file, "--out", tmp_path / "out")
    small = results(tmp_path / "out")["tracks"]["small"]
    assert small["drift"]["why"] == "there are 24 batches for 24 ratings; name fewer, such as the days"
    standings = {c["standing"] for claim in small["claims"] for c in claim["checks"] if c["check"] == "drift"}
    assert standings == {"not_applicable"}


@pytest.mark.parametrize("other", ["R1", "r1 ", " r1", "r1\u00a0"])
def test_one_person_under_two_spellings_is_not_two_raters(
    command: Callable[..., Any], folder: Path, tmp_path: Path, other: str
) -> None:
    rows = [row | ({"rater_id": other} if row["rater_id"] == "r2" else {}) for row in whole_rows()]
    file = rated(tmp_path / "names.jsonl", rows)
    said = command("run", "label-signal", "--tracks", folder, "--ratings", file, "--out", tmp_path / "out")
    assert said.status == 1
    assert "spell each rater one way" in said.err or "found a second score of rater 'r1'" in said.err


def test_a_decimal_comma_is_named(command: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    rows = whole_rows()
    file = rated(tmp_path / "comma.jsonl", [rows[0] | {"tone": "2,0"}, *rows[1:]])
    said = command("run", "label-signal", "--tracks", folder, "--ratings", file, "--out", tmp_path / "out")
    assert "expected one of 0, 1, 2, 3; write a point for the comma" in said.err


def test_no_document_may_quote_what_a_claim_is_withheld_about(
    command: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    command("run", "label-signal", "--tracks", folder, "--out", tmp_path / "out")
    document = results(tmp_path / "out")
    assert any(path.endswith("comparisons/new - old/effect") for path in document["withheld"])
    effect = document["tracks"]["small"]["comparisons"]["new - old"]["effect"]
    quoting = tmp_path / "quoting.md"
    quoting.write_text(f"It is {effect:.4f}<!-- = /label-signal/tracks/small/comparisons/new - old/effect -->.\n")
    said = command("audit", quoting, "--results", tmp_path / "out" / "results.json")
    assert said.status == 1
    assert "a claim about it is withheld; do not quote it" in said.out
    for claim in document["tracks"]["small"]["claims"]:
        if claim["kind"] == "ranking" and claim["outcome"] == "skip":
            assert f"{abs(effect):.4f}" not in claim["detail"]
