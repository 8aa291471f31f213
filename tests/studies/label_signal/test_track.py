"""A track is whole before anything is made of it: each fault of its folder, by its file; and the four bundled ones."""

import contextlib
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedTrack
from eval_pipeline.studies.label_signal.coverage import coverage
from eval_pipeline.studies.label_signal.track import Track, discover, read_track
from tests.stats.laws import LAW
from tests.studies.label_signal.conftest import (
    ITEM_ROWS,
    RESPONSE_ROWS,
    RUBRIC_TOML,
    TRACK_TOML,
    jsonl,
    write_track,
)


def faults_of(folder: Path, **files: str | bytes | None) -> tuple[str, ...]:
    with pytest.raises(MalformedTrack, match=f"^track folder '{folder}'.* has [0-9]+ faults?: ") as refusal:
        read_track(write_track(folder, **files))
    return refusal.value.faults


def with_item(place: int, **changed: Any) -> str:
    return jsonl([row | changed if at == place else row for at, row in enumerate(ITEM_ROWS)])


def with_response(place: int, **changed: Any) -> str:
    return jsonl([row | changed if at == place else row for at, row in enumerate(RESPONSE_ROWS)])


def test_a_track_is_read_as_it_stands(small: Track) -> None:
    assert (small.key, small.about.depth, small.about.systems) == ("small", "production", ("old", "new"))
    assert small.rubric.keys == ("correct", "tone")
    assert [item.item_id for item in small.items] == ["q1", "q2", "q3", "q4"]
    assert [(one.item_id, one.system_id) for one in small.responses[:2]] == [("q1", "old"), ("q1", "new")]
    assert [one.planted_failure for one in small.responses].count(None) == 6
    assert small.responses[0].gold_scores == {"correct": 3, "tone": 2}
    assert small.about.design.pair_by == "item"
    assert not small.effects_missing


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('key = "small"\n', "", "track.toml, field 'key': found nothing, expected a value; add it"),
        ('key = "small"', 'key = ""', "field 'key': found \"\", expected a name of letters"),
        ('"production"', '"deep"', "field 'depth': found \"deep\", expected 'exploratory', 'pilot' or 'production'"),
        ('reference = "old"', 'reference = "oldest"', "expected a reference among the systems, and 'oldest' is none"),
        ('["old", "new"]', '["old", "old"]', "expected systems of different names"),
        ('["old", "new"]', "[]", "expected a reference among the systems"),
        ('["old", "new"]', '["old", 3]', "field 'systems.1': found 3, expected a valid string"),
        ('code = "T-02"', 'code = "T-01"', "expected failure codes of different names"),
        ("target_items = 4", "target_items = 0", "field 'target_items': found 0, expected greater than or equal to 1"),
        ("replication = 3", "replication = 2.5", "field 'replication': found 2.5, expected a valid integer"),
        ("gold_rate = 0.25", "gold_rate = 1.5", "field 'gold_rate': found 1.5, expected less than or equal to 1"),
        ("gold_rate = 0.25", "gold_rate = nan", "field 'gold_rate': found NaN, expected a number"),
        ("gold_rate = 0.25", "gold_rate = 1979-05-27", "field 'gold_rate': found datetime.date(1979, 5, 27), expected"),
        (
            "gold_rate = 0.25",
            "gold_rate = 0.25\ncolour = 3",
            "field 'colour': found a field that no rule reads; remove it",
        ),
        ("{ correct = 2 }", "{ correct = 1.5 }", "field 'failure_codes.0.penalties.correct': found 1.5, expected a"),
        (
            "{ tone = 2 }",
            "{ tune = 2 }",
            "field \"failure_codes 'T-02'.penalties\": found dimension 'tune', which the rubric does not hold",
        ),
        (
            "noise = { correct = 0.3, tone = 0.5 }",
            "noise = { correct = 0.3 }",
            "track.toml, field 'simulation.noise': found none for dimension 'tone', expected one for each",
        ),
        (
            "noise = { correct = 0.3,",
            "noise = { correct = 0.3, tune = 1,",
            "field 'simulation.noise': found dimension 'tune', which the rubric does not hold",
        ),
        (
            'contested = ["tone"]',
            'contested = ["tune"]',
            "field 'simulation.contested': found dimension 'tune', which the rubric does not hold",
        ),
        ("tone = 0.5", "tone = -0.5", "field 'simulation.noise.tone': found -0.5, expected greater than or equal to 0"),
        ('title = "Small"', "title = ", "track.toml: found no TOML (Invalid value"),
    ],
)
def test_each_fault_of_track_toml_is_named(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert TRACK_TOML.count(old) == 1
    (said,) = faults_of(tmp_path, track=TRACK_TOML.replace(old, new))
    assert said.startswith("track.toml")
    assert fault in said


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('key = "small-rubric"\n', "", "rubric.toml, field 'key': found nothing, expected a value; add it"),
        ("revision = 1", "revision = 0", "field 'revision': found 0"),
        ('key = "tone"', 'key = "correct"', "dimensions of different keys, and 'correct' stands twice"),
        ('key = "tone"', 'key = "batch"', "no column of a ratings file or worksheet, and 'batch' is one"),
        ("critical_threshold = 0\n", "", "field 'dimensions.0': found an object, expected a critical_threshold of"),
        ("weight = 2", "weight = -2", "field 'dimensions.0.weight': found -2, expected greater than or equal to 0"),
        (
            "weight = 2",
            "weight = 1e400",
            "field 'dimensions.0.weight': found 1E+400, expected a number that is neither",
        ),
        (
            "weight = 2",
            'weight = "1/0"',
            "field 'dimensions.0.weight': found \"1/0\", expected a number, or a fraction",
        ),
        ("weight = 2", "weigth = 2", "field 'dimensions.0.weigth': found a field that no rule reads; remove it"),
    ],
)
def test_each_fault_of_rubric_toml_is_named(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert RUBRIC_TOML.count(old) == 1
    (said,) = faults_of(tmp_path, rubric=RUBRIC_TOML.replace(old, new), items=None, responses=None) or ("",)
    assert said.startswith("rubric.toml")
    assert fault in said


@pytest.mark.parametrize("level", ["nan", "inf", "1e300", "1" + "0" * 400])
def test_levels_are_numbers_that_a_table_can_hold(tmp_path: Path, level: str) -> None:
    faults = faults_of(tmp_path, rubric=RUBRIC_TOML.replace("[0, 1, 2, 3]", f"[0, 1, 2, {level}]"))
    assert [fault.partition(": ")[0] for fault in faults] == [
        "rubric.toml, field 'dimensions.0.levels.3'",
        "rubric.toml, field 'dimensions.1.levels.3'",
    ]


def test_levels_may_have_a_fraction(tmp_path: Path) -> None:
    rubric = RUBRIC_TOML.replace("[0, 1, 2, 3]", "[0, 0.5, 1]")
    track = read_track(write_track(tmp_path, rubric=rubric, items=None, responses=None))
    assert track.rubric.dimensions[0].levels == (0, 0.5, 1)
    assert len(track.hash) == 64


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        (
            {"items": jsonl(ITEM_ROWS + ITEM_ROWS[:1])},
            "items.jsonl, item 5, field 'item_id': found 'q1' twice, expected it",
        ),
        ({"items": with_item(1, strata={})}, "items.jsonl, item 'q2', field 'strata': found no 'difficulty', expected"),
        ({"items": with_item(2, difficulty=1.2)}, "items.jsonl, line 3, field 'difficulty': found 1.2, expected less"),
        ({"items": with_item(2, item_id="")}, "items.jsonl, line 3, field 'item_id': found \"\", expected"),
        ({"items": with_item(2, item_id=7)}, "items.jsonl, line 3, field 'item_id': found 7, expected a valid string"),
        ({"items": with_item(2, promt="?")}, "items.jsonl, line 3, field 'promt': found a field that no rule reads"),
        ({"items": jsonl(ITEM_ROWS[1:])}, "responses.jsonl, item 'q1' of system 'old', field 'item_id': found an item"),
        ({"items": ""}, "items.jsonl: found nothing in it, expected an object a line"),
        ({"items": "\n\n"}, "items.jsonl: found nothing in it"),
        ({"items": "{}\n"}, "items.jsonl, line 1, field 'item_id': found nothing, expected a value; add it"),
        ({"items": "[]\n"}, "items.jsonl, line 1, column 1: found a list, expected an object"),
        ({"items": "{\n"}, "items.jsonl, line 1, column 2: found invalid JSON"),
        (
            {"items": b"\xef\xbb\xbf" + jsonl(ITEM_ROWS).encode()},
            "items.jsonl, line 1, before the first field: found a",
        ),
        ({"items": jsonl(ITEM_ROWS).replace("\n", "\r\n")}, "items.jsonl, line 1, after the last field: found a line"),
        ({"items": b'{"item_id": "\xff"}\n'}, "items.jsonl, line 1, byte 14: found a byte that is not UTF-8"),
        ({"items": None}, "items.jsonl has 1 fault: cannot be read (No such file or directory)"),
        ({"responses": None}, "responses.jsonl has 1 fault: cannot be read (No such file or directory)"),
        (
            {"responses": with_response(1, system_id="old")},
            "item 'q1' of system 'old', field 'system_id': found the ans",
        ),
        (
            {"responses": with_response(1, system_id="newer")},
            "field 'system_id': found a system that track.toml does n",
        ),
        (
            {"responses": with_response(1, item_id="q9")},
            "item 'q9' of system 'new', field 'item_id': found an item that",
        ),
        ({"responses": with_response(3, planted_failure="T-9")}, "'planted_failure': found 'T-9', which is no failure"),
        (
            {"responses": with_response(0, gold_scores={"correct": 4})},
            "'gold_scores.correct': found 4, expected a level",
        ),
        (
            {"responses": with_response(0, gold_scores={"tune": 1})},
            "'gold_scores.tune': found 1, expected a level of th",
        ),
        ({"responses": with_response(0, gold_scores={"tone": 1.5})}, "'gold_scores.tone': found 1.5, expected a level"),
        (
            {"responses": with_response(2, text=None)},
            "responses.jsonl, line 3, field 'text': found null, expected a val",
        ),
        (
            {"responses": with_response(2, stance="no")},
            "responses.jsonl, line 3, field 'stance': found \"no\", expected",
        ),
        ({"responses": with_response(2, trace=[{"tool": "t"}])}, "line 3, field 'trace.0.arguments': found nothing"),
        ({"track": None}, "track.toml: cannot be read (No such file or directory); add the file"),
        ({"rubric": None}, "rubric.toml: cannot be read (No such file or directory); add the file"),
        ({"track": b"\xff"}, "track.toml: found no TOML ('utf-8' codec can't decode byte"),
        ({"track": "a = " + "[" * 5_000}, "track.toml: found no TOML (maximum recursion depth exceeded"),
    ],
)
def test_each_fault_of_the_files_is_named(tmp_path: Path, files: dict[str, Any], fault: str) -> None:
    with pytest.raises(MalformedTrack) as refusal:
        read_track(write_track(tmp_path, **files))
    assert fault in str(refusal.value)
    assert len(refusal.value.faults) <= 2


@pytest.mark.parametrize("gold", [{"tone": True}, {"tone": "2"}, {"tone": None}])
def test_gold_scores_are_numbers(tmp_path: Path, gold: dict[str, Any]) -> None:
    faults = faults_of(tmp_path, responses=with_response(0, gold_scores=gold))
    assert all(fault.startswith("responses.jsonl, line 1, field 'gold_scores.tone") for fault in faults)


def test_all_faults_of_the_items_and_answers_are_told_at_once(tmp_path: Path) -> None:
    responses = with_response(1, system_id="newer", planted_failure="T-9", gold_scores={"tone": 9})
    faults = faults_of(tmp_path, items=with_item(3, strata={}), responses=responses)
    assert [fault.rpartition("field ")[2].partition(":")[0] for fault in faults] == [
        "'strata'",
        "'system_id'",
        "'planted_failure'",
        "'gold_scores.tone'",
    ]


@pytest.mark.parametrize("depth", [101, 300, 450, 900, 5_000])
def test_what_is_nested_too_deep_is_refused_wherever_it_stands(tmp_path: Path, depth: int) -> None:
    deep = '{"item_id": "q1", "system_id": "old", "text": "", "trace": [{"tool": "t", "arguments": {}, "result": '
    deep += "[" * depth + "]" * depth + "}]}\n"
    (said,) = faults_of(tmp_path / "responses", responses=deep)
    assert "found JSON nested too deep to read" in said
    faults = faults_of(tmp_path / "track", track=f"{TRACK_TOML}colour = {'[' * depth}{']' * depth}\n")
    assert all(fault.startswith("track.toml") for fault in faults)


def test_what_a_tool_gave_back_is_kept_whatever_it_is(tmp_path: Path) -> None:
    call = {"tool": "find", "arguments": {"ids": [1, {"a": None}]}, "result": [True, 1.5, "x", {"y": []}]}
    track = read_track(write_track(tmp_path, responses=with_response(0, trace=[call])))
    assert track.responses[0].trace[0].model_dump(mode="json") == call
    assert len(track.hash) == 64


def test_items_and_answers_may_both_be_absent(tmp_path: Path, small: Track) -> None:
    track = read_track(write_track(tmp_path, items=None, responses=None))
    assert (track.items, track.responses) == ((), ())
    assert track.rubric.version == small.rubric.version
    assert track.hash != small.hash


@pytest.mark.parametrize(
    "files",
    [
        {"track": TRACK_TOML.replace("Four items.", "Four small items.")},
        {"rubric": RUBRIC_TOML.replace("Is it right?", "Is it true?")},
        {"items": with_item(3, prompt="Another?")},
        {"responses": with_response(7, text="Another.")},
        {"responses": with_response(7, planted_failure="T-01")},
        {"responses": with_response(0, gold_scores={"correct": 2, "tone": 2})},
    ],
    ids=["track", "rubric", "item", "text", "planted", "gold"],
)
def test_the_hash_changes_with_any_file(tmp_path: Path, small: Track, files: dict[str, Any]) -> None:
    assert read_track(write_track(tmp_path, **files)).hash != small.hash


def test_the_hash_knows_neither_the_folder_nor_the_order_of_fields(tmp_path: Path, small: Track) -> None:
    turned = jsonl([dict(reversed(list(row.items()))) for row in ITEM_ROWS])
    assert read_track(write_track(tmp_path / "elsewhere", items=turned)).hash == small.hash


def test_a_track_that_says_nowhere_what_a_failure_costs_is_stamped(tmp_path: Path) -> None:
    without = TRACK_TOML.replace("penalties = { correct = 2 }\n", "").replace("penalties = { tone = 2 }\n", "")
    assert read_track(write_track(tmp_path / "none", track=without)).effects_missing
    one = TRACK_TOML.replace("penalties = { correct = 2 }\n", "")
    assert not read_track(write_track(tmp_path / "one", track=one)).effects_missing


def test_discovery_finds_the_tracks_and_says_why_others_are_passed_over(tmp_path: Path) -> None:
    write_track(tmp_path / "b", track=TRACK_TOML.replace('key = "small"', 'key = "second"'))
    write_track(tmp_path / "a")
    write_track(tmp_path / "_draft")
    write_track(tmp_path / ".hidden")
    write_track(tmp_path / "broken", rubric="levels")
    (tmp_path / "empty").mkdir()
    (tmp_path / "README.md").write_text("Tracks.")
    found = discover(tmp_path)
    assert dict(found.folders) == {"small": tmp_path / "a", "second": tmp_path / "b"}
    assert list(found.folders) == ["small", "second"]
    assert set(found.skipped) == {"broken", "empty"}
    assert "rubric.toml: found no TOML" in found.skipped["broken"]
    assert "track.toml: cannot be read (No such file or directory); add the file" in found.skipped["empty"]


def test_two_tracks_of_one_key_are_refused(tmp_path: Path) -> None:
    write_track(tmp_path / "a")
    write_track(tmp_path / "b")
    with pytest.raises(MalformedTrack, match="found 'small', which 'a' has too; give it another") as refusal:
        discover(tmp_path)
    assert str(refusal.value).startswith(f"track folder '{tmp_path / 'b'}' has 1 fault: track.toml, field 'key'")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        (tmp_path / "file").write_text("")
        with pytest.raises(MalformedTrack, match="found no folder, expected one with a folder for each track"):
            discover(path)
    assert discover(tmp_path).folders == {}


TOML = st.recursive(
    st.one_of(st.integers(-3, 10**20).map(str), st.sampled_from(["true", '""', '"old"', "1.5", "nan", "1979-05-27"])),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
    max_leaves=5,
)
LINES = {
    "track": [line for line in TRACK_TOML.splitlines() if " = " in line],
    "rubric": [line for line in RUBRIC_TOML.splitlines() if " = " in line],
}


@given(st.sampled_from([(name, line) for name, lines in LINES.items() for line in lines]), TOML)
@LAW
def test_whatever_a_field_holds_the_folder_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str, str], value: str
) -> None:
    name, line = place
    text = {"track": TRACK_TOML, "rubric": RUBRIC_TOML}[name]
    changed = text.replace(line, f"{line.partition(' = ')[0]} = {value}", 1)
    folder = write_track(tmp_path_factory.getbasetemp() / "any-field", **{name: changed})
    with contextlib.suppress(MalformedTrack):
        assert len(read_track(folder).hash) == 64


@given(st.sampled_from(["track", "rubric", "items", "responses"]), st.binary(max_size=60))
@LAW
def test_whatever_bytes_come_in_the_folder_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-bytes"
    with pytest.raises(MalformedTrack):
        read_track(write_track(folder, **{name: content}))


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    write_track(tmp_path, items=None)
    (tmp_path / "items.jsonl").mkdir()
    with pytest.raises(MalformedTrack, match=r"items\.jsonl has 1 fault: cannot be read"):
        read_track(tmp_path)


# What comes with the house: items, depth, dimensions (weight; threshold), contested, gold items, thin levels.
BUNDLED: dict[str, Any] = {
    "agentic": (
        48,
        "production",
        {
            "goal_completion": (3, None),
            "tool_selection": (1.5, None),
            "argument_fidelity": (2, 0),
            "error_recovery": (1.25, None),
            "efficiency": (0.75, None),
            "state_tracking": (1, None),
        },
        (),
        7,
        13,
        (),
    ),
    "grounding": (
        40,
        "pilot",
        {
            "claim_support": (2, None),
            "citation_validity": (2, 0),
            "context_faithfulness": (1, None),
            "abstention_appropriateness": (1, None),
            "completeness": (0.75, None),
        },
        ("abstention_appropriateness",),
        6,
        12,
        ("domain=aviation maintenance",),
    ),
    "reasoning": (
        44,
        "pilot",
        {
            "answer_correctness": (1, None),
            "step_validity": (1.5, None),
            "premise_fidelity": (1.5, 0),
            "verification_behavior": (1, None),
            "explanation_faithfulness": (1, None),
        },
        ("explanation_faithfulness",),
        7,
        13,
        (),
    ),
    "refusal": (
        36,
        "exploratory",
        {
            "response_stance": (0, None),
            "calibration": (1, 0),
            "over_refusal_cost": (0, None),
            "explanation_quality": (1, None),
            "tone_respect": (1, None),
        },
        ("calibration", "over_refusal_cost", "tone_respect"),
        5,
        12,
        ("domain=elections and media",),
    ),
}
# Noise of simulated ratings, in the order of the dimensions.
NOISE = {
    "agentic": [0.38, 0.42, 0.28, 0.46, 0.58, 0.44],
    "grounding": [0.40, 0.26, 0.48, 0.62, 0.58],
    "reasoning": [0.12, 0.44, 0.36, 0.52, 0.78],
    "refusal": [0.30, 0.70, 0.74, 0.55, 0.72],
}


def test_four_tracks_come_along(tracks: dict[str, Track]) -> None:
    assert list(tracks) == list(BUNDLED)
    assert sum(len(track.rubric.keys) for track in tracks.values()) == 21


@pytest.mark.parametrize("key", BUNDLED)
def test_a_bundled_track_is_what_was_said_of_it(tracks: dict[str, Track], key: str) -> None:
    track = tracks[key]
    items, depth, dimensions, contested, gold, codes, thin = BUNDLED[key]
    assert (track.about.depth, track.about.systems) == (depth, ("baseline-v1", "candidate-v2", "candidate-v3"))
    assert (track.about.reference, track.about.replication, track.about.gold_rate) == (
        "baseline-v1",
        3,
        Fraction(3, 20),
    )
    assert (len(track.items), len(track.responses), track.about.target_items) == (items, 3 * items, items)
    assert {one.key: (one.weight, one.critical_threshold) for one in track.rubric.dimensions} == dimensions
    assert track.about.simulation is not None
    assert track.about.simulation.contested == contested
    assert [float(track.about.simulation.noise[name]) for name in dimensions] == NOISE[key]
    assert len(track.about.failure_codes) == codes
    assert not track.effects_missing
    assert len({one.item_id for one in track.responses if one.gold_scores}) == gold == round(0.15 * items)
    covered = coverage(track.about.strata, track.items, adequate=4)
    assert covered is not None
    assert (covered.thin, covered.absent, covered.undeclared) == (thin, (), ())


@pytest.mark.parametrize("key", BUNDLED)
def test_the_texts_of_a_bundled_track_are_there_and_distinct(tracks: dict[str, Track], key: str) -> None:
    track = tracks[key]
    prompts = Counter(item.prompt.strip() for item in track.items)
    answers = Counter(one.text.strip() for one in track.responses)
    assert max(prompts.values()) == max(answers.values()) == 1
    assert "" not in prompts | answers
    assert all(item.expected for item in track.items)
    assert all(item.difficulty is not None for item in track.items)
    for dimension in track.rubric.dimensions:
        assert len(dimension.anchors) == len(dimension.levels)
        assert all(one.example and one.counter_example for one in dimension.anchors)


@pytest.mark.parametrize("key", BUNDLED)
def test_the_gold_of_a_bundled_track_is_whole_and_what_is_planted_in_it_shows(
    tracks: dict[str, Track], key: str
) -> None:
    track = tracks[key]
    by_item: dict[str, list[Any]] = {}
    for one in track.responses:
        by_item.setdefault(one.item_id, []).append(one)
    gold = [answers for answers in by_item.values() if any(one.gold_scores for one in answers)]
    assert all(set(one.gold_scores) == set(track.rubric.keys) for answers in gold for one in answers)
    assert all(one.gold_reason for answers in gold for one in answers)
    planted = sum(any(one.planted_failure for one in answers) for answers in gold)
    assert planted == {7: 4, 6: 4, 5: 3}[len(gold)]
    places = [place for place, answers in enumerate(by_item.values()) if answers in gold]
    strides = [after - before for before, after in pairwise(places)]
    assert max(strides) - min(strides) <= 1


@pytest.mark.parametrize("key", BUNDLED)
def test_of_a_bundled_track_every_failure_is_planted_and_most_in_the_older_systems(
    tracks: dict[str, Track], key: str
) -> None:
    track = tracks[key]
    planted = Counter(one.planted_failure for one in track.responses if one.planted_failure)
    assert set(planted) == {code.code for code in track.about.failure_codes}
    by_system = [
        sum(one.system_id == system and one.planted_failure is not None for one in track.responses)
        for system in track.about.systems
    ]
    assert by_system == sorted(by_system, reverse=True)
    rare = [code for code, times in planted.items() if times < 4]
    assert 2 <= len(rare) <= 3


def test_only_the_track_of_tool_use_has_traces_and_only_that_of_refusals_a_stance(tracks: dict[str, Track]) -> None:
    for key, track in tracks.items():
        assert all(bool(one.trace) is (key == "agentic") for one in track.responses)
        assert all((one.stance is not None) is (key == "refusal") for one in track.responses)
