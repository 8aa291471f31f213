"""The schemas say what the readers enforce: of the files that come with the house, and of rows made to break a rule."""

import json
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from eval_pipeline.bundled import bundled
from eval_pipeline.cli.main import app
from eval_pipeline.cli.reference import reference
from eval_pipeline.corpus.folder import read_folder
from eval_pipeline.errors import Refused
from eval_pipeline.human_check.filled import read_filled
from eval_pipeline.judge.offline import read_labels
from eval_pipeline.observations import read_log
from eval_pipeline.plan import read_plan
from eval_pipeline.schemas.catalogue import NAMES, schema_named, schema_text
from eval_pipeline.studies.extraction.fixture import read_fixture
from eval_pipeline.studies.judge_calibration.gold import read_gold
from eval_pipeline.studies.label_signal.adjudication import read_adjudications
from eval_pipeline.studies.label_signal.ratings_file import read_ratings
from eval_pipeline.studies.label_signal.track import read_track
from eval_pipeline.studies.loops import STUDIES
from tests.studies.judge_calibration.made_up import PARTS, alignment_row, constraint_row

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
Rows = list[dict[str, Any]]


@cache
def validator(name: str) -> Draft202012Validator:
    schema = schema_named(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def valid(name: str, value: Any) -> bool:
    return bool(validator(name).is_valid(value))


def lines_of(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def written(path: Path, rows: Rows) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_the_pages_of_the_reference_are_what_is_generated_now() -> None:
    assert (REFERENCE / "cli.md").read_text("utf-8") == reference(app), "run make docs"
    assert {path.stem for path in (REFERENCE / "schemas").glob("*.json")} == set(NAMES), "run make docs"
    for name in NAMES:
        assert (REFERENCE / "schemas" / f"{name}.json").read_text("utf-8") == schema_text(name), "run make docs"


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_and_takes_neither_nothing_nor_anything(name: str) -> None:
    assert not valid(name, {})
    assert not valid(name, [])
    assert schema_named(name)["title"]
    assert schema_named(name)["description"]


BUNDLED = {
    "entry": "sample/entries.jsonl",
    "signal": "sample/signals.jsonl",
    "proposition": "sample/propositions.jsonl",
    "label": "sample/labels.jsonl",
    "grounded-claim": "claims/claims.jsonl",
    "item": "tracks/agentic/items.jsonl",
    "response": "tracks/agentic/responses.jsonl",
}


@pytest.mark.parametrize("name", BUNDLED)
def test_the_files_that_come_with_the_house_keep_to_their_schema_and_break_it_without_a_field(name: str) -> None:
    rows = lines_of(bundled(BUNDLED[name]))[:200]
    assert rows
    for row in rows:
        validator(name).validate(row)
    for field in schema_named(name)["required"]:
        assert not valid(name, {key: value for key, value in rows[0].items() if key != field})
        assert not valid(name, rows[0] | {field: 0.5})


def test_the_gold_set_and_the_tracks_keep_to_their_schemas() -> None:
    for path in sorted(bundled("gold").glob("*.jsonl")):
        for row in lines_of(path):
            validator("gold-tuple").validate(row)
    for folder in bundled("tracks").iterdir():
        for name in ("track", "rubric"):
            validator(name).validate(tomllib.loads((folder / f"{name}.toml").read_text("utf-8")))


@pytest.mark.parametrize("path", sorted(bundled("plans").glob("*.toml")), ids=lambda path: path.stem)
def test_the_plans_keep_to_their_schemas_and_a_field_that_is_gone_or_unknown_breaks_them(path: Path) -> None:
    name = f"plan-{path.stem.removesuffix('_compat')}"
    plan = tomllib.loads(path.read_text("utf-8"))
    validator(name).validate(plan)
    assert not valid(name, {key: value for key, value in plan.items() if key != "protocol"})
    assert not valid(name, plan | {"a_field_of_no_rule": 1})
    assert not valid(name, plan | {"seed": -1})


def test_an_exact_number_of_a_plan_keeps_its_bounds_in_the_schema() -> None:
    plan = tomllib.loads((bundled("plans") / "extraction.toml").read_text("utf-8"))
    for share, is_one in (
        (0.8, True),
        ("4/5", True),
        ("0.8", True),
        (1.2, False),
        ("four fifths", False),
        (None, False),
    ):
        claims = plan["claims"] | {"recall_at_least": share}
        assert valid("plan-extraction", plan | {"claims": claims}) is is_one, share
    for cap, is_one in (("all", True), (3, True), (0, False), ("some", False)):
        assert valid("plan-extraction", plan | {"budget": plan["budget"] | {"calls": cap}}) is is_one, cap


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_log_keeps_to_the_schema_of_its_study_and_schema_and_reader_refuse_the_same_lines(
    study: Any, tmp_path: Path
) -> None:
    name = f"observation-{study.name}"
    rows = study.generate(read_plan(bundled("plans") / f"{study.name}.toml", study.plan)).rows
    plain = [json.loads(row.model_dump_json()) for row in rows[:40]]
    for row in plain:
        validator(name).validate(row)
    first = plain[0]
    required = schema_named(name)["required"]
    broken = [{key: value for key, value in first.items() if key != field} for field in required]
    broken += [first | {field: {"an": "object"}} for field in required if field not in ("kpis", "machine")]
    broken += [first | {"a_field_of_no_rule": 1}, first | {"run_id": ""}, first | {"run_id": 7}]
    for row in broken:
        assert not valid(name, row), row
        assert not accepted(lambda path: read_log(path, study.row), [row], tmp_path), row


def accepted(read: Callable[[Path], object], rows: Rows, folder: Path) -> bool:
    """Whether a reader takes a file of these rows."""
    try:
        read(written(folder / "rows.jsonl", rows))
    except Refused:
        return False
    return True


GOOD_PROPOSITION = {"entry_id": "note-1", "quartile": 1, "proposition": "The pump was replaced."}
PROPOSITIONS: list[tuple[dict[str, Any], bool]] = [
    (GOOD_PROPOSITION, True),
    (GOOD_PROPOSITION | {"quartile": "4"}, True),
    (GOOD_PROPOSITION | {"proposition": "Насос заменили."}, True),
    (GOOD_PROPOSITION | {"entry_id": "note 1"}, False),
    (GOOD_PROPOSITION | {"entry_id": ""}, False),
    (GOOD_PROPOSITION | {"entry_id": 1}, False),
    (GOOD_PROPOSITION | {"quartile": 0}, False),
    (GOOD_PROPOSITION | {"quartile": 5}, False),
    (GOOD_PROPOSITION | {"quartile": None}, False),
    (GOOD_PROPOSITION | {"quartile": True}, False),
    (GOOD_PROPOSITION | {"quartile": "first"}, False),
    (GOOD_PROPOSITION | {"proposition": " ... "}, False),
    (GOOD_PROPOSITION | {"proposition": ""}, False),
    (GOOD_PROPOSITION | {"proposition": ["a", "b"]}, False),
    (GOOD_PROPOSITION | {"text": "more"}, False),
    ({"entry_id": "note-1", "quartile": 1}, False),
    ({"entry_id": "note-1", "proposition": "The pump was replaced."}, False),
    ({"quartile": 1, "proposition": "The pump was replaced."}, False),
]


@pytest.mark.parametrize(("row", "good"), PROPOSITIONS)
def test_schema_and_reader_agree_on_propositions(row: dict[str, Any], good: bool, tmp_path: Path) -> None:
    assert valid("proposition", row) is accepted(read_fixture, [row], tmp_path) is good


ENTRY = {"lookup_key": "a", "content": "A note."}
SIGNAL = {"lookup_key": "s", "entry_id": "a", "content": "A statement."}
LABEL = {"entry_id": "a", "proposition": "It rained.", "supported": True}
TABLES: list[tuple[str, dict[str, Any], bool]] = [
    ("entry", ENTRY, True),
    ("entry", ENTRY | {"workspace": None, "band": "b", "deleted_at": None, "a_column_of_ours": 3}, True),
    ("entry", ENTRY | {"lookup_key": ""}, False),
    ("entry", ENTRY | {"content": None}, False),
    ("entry", ENTRY | {"workspace": 3}, False),
    ("entry", {"content": "A note."}, False),
    ("signal", SIGNAL, True),
    ("signal", SIGNAL | {"provenance": {"span": {"start": 0, "end": 3}}}, True),
    ("signal", SIGNAL | {"provenance": {"span": "later"}}, True),
    ("signal", SIGNAL | {"provenance": "model"}, False),
    ("signal", SIGNAL | {"entry_id": ""}, False),
    ("signal", {"lookup_key": "s", "content": "A statement."}, False),
    ("label", LABEL, True),
    ("label", LABEL | {"premise": "whatever"}, True),
    ("label", LABEL | {"supported": "yes"}, False),
    ("label", LABEL | {"supported": 1}, False),
    ("label", {"entry_id": "a", "supported": True}, False),
]


@pytest.mark.parametrize(("name", "row", "good"), TABLES)
def test_schema_and_reader_agree_on_the_rows_of_a_corpus_and_on_labels(
    name: str, row: dict[str, Any], good: bool, tmp_path: Path
) -> None:
    assert valid(name, row) is good
    if name == "label":
        assert accepted(read_labels, [row], tmp_path) is good
        return
    tables = {"entry": "entries.jsonl", "signal": "signals.jsonl"}
    for table in tables.values():
        (tmp_path / table).write_text("")
    written(tmp_path / tables[name], [row])
    assert accepted(lambda _: read_folder(tmp_path), [], tmp_path) is good


CLEAN = [constraint_row(f"Claim {number}.", "NOT_VIOLATED") for number in range(3)]
COMPOUND = "Sales rose 12% and the staff doubled."
PARTIAL = {"expected_prompt_verdict": "PARTIAL", "expected_sub_claims": PARTS}
OF_A_MANIFEST = {"constraint_under_test_rule_text": "", "manifest_fixture_path": "rules.json"}
GOLD: list[tuple[dict[str, Any], bool]] = [
    (alignment_row("A.", "SUPPORTED"), True),
    (alignment_row("A.", "RETRIEVAL_FAILED", ref_text_excerpt=None), True),
    (alignment_row("A.", "SUPPORTED", metadata={"domain": "law"}), True),
    (alignment_row("A.", "SUPPORTED", expected_sub_claims=[]), True),
    (alignment_row(COMPOUND, "UNSUPPORTED", **PARTIAL), True),
    (constraint_row("A.", "VIOLATED"), True),
    (constraint_row("A.", "VIOLATED", **OF_A_MANIFEST), True),
    (alignment_row("A.", "SUPPORTED", tuple_kind="other"), False),
    (alignment_row("A.", "VIOLATED"), False),
    (alignment_row("A.", "SUPPORTED", constraint_under_test_id=None), False),
    (alignment_row("A.", "SUPPORTED", manifest_fixture_path=""), False),
    (alignment_row("  ", "SUPPORTED"), False),
    (alignment_row("A.", "SUPPORTED", comment="?"), False),
    (alignment_row("A.", "SUPPORTED", ref_text_excerpt=3), False),
    (alignment_row("A.", "SUPPORTED", anchor=None), False),
    (alignment_row("A.", "SUPPORTED", anchor={"kind": "line", "value": "1"}), False),
    (alignment_row("A.", "SUPPORTED", anchor={"kind": "page", "value": 1}), False),
    (alignment_row("A.", "SUPPORTED", metadata={"year": 3}), False),
    (alignment_row("A.", "SUPPORTED", expected_prompt_verdict="WHOLE"), False),
    (alignment_row(COMPOUND, "UNSUPPORTED", expected_prompt_verdict="PARTIAL"), False),
    (alignment_row(COMPOUND, "AMBIGUOUS", **PARTIAL), False),
    (alignment_row(COMPOUND, "UNSUPPORTED", expected_sub_claims=PARTS), False),
    (alignment_row(COMPOUND, "UNSUPPORTED", **PARTIAL | {"expected_sub_claims": PARTS[:1]}), False),
    (
        alignment_row(COMPOUND, "UNSUPPORTED", **PARTIAL | {"expected_sub_claims": [PARTS[0], {"key_tokens": []}]}),
        False,
    ),
    (constraint_row("A.", "SUPPORTED"), False),
    (constraint_row("A.", "VIOLATED", constraint_under_test_rule_text=""), False),
    (constraint_row("A.", "VIOLATED", constraint_under_test_rule_text=" "), False),
    (constraint_row("A.", "VIOLATED", constraint_under_test_id="RULE-1"), False),
    (constraint_row("A.", "VIOLATED", constraint_under_test_id=None), False),
]


@pytest.mark.parametrize(("row", "good"), GOLD)
def test_schema_and_reader_agree_on_gold_tuples(row: dict[str, Any], good: bool, tmp_path: Path) -> None:
    rules = [{"constraint_id": row.get("constraint_under_test_id"), "rule": "Say nothing of the weather."}]
    (tmp_path / "rules.json").write_text(json.dumps({"rules": rules}))
    assert all(valid("gold-tuple", one) for one in CLEAN)
    assert valid("gold-tuple", row) is good
    assert accepted(read_gold, [*CLEAN, row], tmp_path) is good


RATED = {"system_id": "baseline-v1", "rater_id": "anna"}
LONG = RATED | {"dimension": "goal_completion", "value": 3}
RATINGS: list[tuple[dict[str, Any], bool]] = [
    (LONG, True),
    (RATED | {"goal_completion": 3}, True),
    (LONG | {"value": "3"}, True),
    (LONG | {"batch": "first", "duration_s": 12.5, "source": "people", "failure_codes": []}, True),
    (LONG | {"order": 7, "failure_codes": "", "a_column_of_ours": "x"}, True),
    ({"system": "baseline-v1", "rater_id": "anna", "dimension": "goal_completion", "value": 3}, True),
    (LONG | {"rater_id": 7}, True),
    (LONG | {"rater_id": " "}, False),
    (LONG | {"rater_id": None}, False),
    (LONG | {"value": "good"}, False),
    (LONG | {"value": None}, False),
    (LONG | {"duration_s": -1}, False),
    (LONG | {"duration_s": "long"}, False),
    (LONG | {"order": "first"}, False),
    (LONG | {"source": "robots"}, False),
    (LONG | {"failure_codes": 3}, False),
    ({"system_id": "baseline-v1", "dimension": "goal_completion", "value": 3}, False),
    ({"rater_id": "anna", "dimension": "goal_completion", "value": 3}, False),
]


@pytest.mark.parametrize(("row", "good"), RATINGS)
def test_schema_and_reader_agree_on_ratings(row: dict[str, Any], good: bool, tmp_path: Path) -> None:
    track = read_track(bundled("tracks") / "agentic")
    rated = {"item_id": track.items[0].item_id} | row
    assert valid("rating", rated) is good
    assert accepted(lambda path: read_ratings(path, track), [rated], tmp_path) is good


ADJUDICATIONS: list[tuple[dict[str, Any], bool]] = [
    ({"goal_completion": 3, "rubric_gap": "no", "reason": "as rated"}, True),
    ({"goal_completion": 3, "rubric_gap": True}, True),
    ({"reason": None}, True),
    ({"goal_completion": 3, "rubric_gap": "perhaps"}, False),
    ({"goal_completion": 3, "rubric_gap": "no", "reason": 3}, False),
    ({"system_id": None, "goal_completion": 3, "rubric_gap": "no"}, False),
]


@pytest.mark.parametrize(("row", "good"), ADJUDICATIONS)
def test_schema_and_reader_agree_on_adjudications(row: dict[str, Any], good: bool, tmp_path: Path) -> None:
    track = read_track(bundled("tracks") / "agentic")
    item = track.items[0].item_id
    ratings = read_ratings(written(tmp_path / "ratings.jsonl", [{"item_id": item} | LONG]), track)
    settled = {"item_id": item, "system_id": "baseline-v1"} | row
    assert valid("adjudication", settled) is good
    assert accepted(lambda path: read_adjudications(path, ratings, track), [settled], tmp_path) is good


SHEET, ITEM = f"s{'a' * 16}", f"i{'b' * 16}"


@pytest.mark.parametrize(
    ("row", "good"),
    [
        ({"sheet": SHEET, "item": ITEM, "label": "SUPPORTED"}, True),
        ({"sheet": SHEET, "item": ITEM, "label": "UNSURE"}, True),
        ({"sheet": SHEET, "item": ITEM, "label": ""}, False),
        ({"sheet": SHEET, "item": ITEM, "label": "TRUE"}, False),
        ({"sheet": "another", "item": ITEM, "label": "SUPPORTED"}, False),
        ({"sheet": SHEET, "item": "another", "label": "SUPPORTED"}, False),
        ({"sheet": SHEET, "item": ITEM}, False),
    ],
)
def test_schema_and_reader_agree_on_filled_sheets(row: dict[str, str], good: bool, tmp_path: Path) -> None:
    path = tmp_path / "anna.csv"
    path.write_text(f"{','.join(row)}\n{','.join(row.values())}\n", "utf-8")
    read = accepted(lambda _: read_filled(path, sheet_id=SHEET, items=frozenset({ITEM})), [], tmp_path)
    assert valid("filled-sheet", row) is read is good
