"""Answers on which raters lie far apart go to an adjudicator, most urgent first, and come back without a loss."""

import contextlib
import csv
import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedAdjudication
from eval_pipeline.studies.label_signal.adjudication import SETTLED, WORKSHEET_HEAD, read_adjudications, worksheet
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Rubric
from eval_pipeline.studies.label_signal.track import Track, read_track
from eval_pipeline.studies.label_signal.triage import Adjudicated, Queued, capacity, queue, settled, summary
from tests.stats.laws import LAW
from tests.studies.label_signal.conftest import ITEM_ROWS, RESPONSE_ROWS, jsonl, ratings_of, write_track

NAN = float("nan")

# Spreads of (correct, tone); `correct` weighs 2 and is critical, `tone` weighs 1.
ROWS: list[tuple[Any, ...]] = [
    ("q1", "old", "ann", 1, 2),
    ("q1", "old", "bo", 3, 2),  # (2, 0): 2 * 2 + 4 = 8
    ("q2", "old", "ann", 2, 0),
    ("q2", "old", "bo", 2, 2),  # (0, 2): 2
    ("q2", "new", "ann", 1, 1),
    ("q2", "new", "bo", 2, 2),  # (1, 1): 2 + 1 + 4 = 7
    ("q3", "old", "ann", 2, 1),
    ("q3", "old", "bo", 2, 2),  # (0, 1): not wide enough
    ("q3", "new", "ann", 0, 3),  # one rating has no spread
    ("q4", "new", "ann", 3, 0),
    ("q4", "new", "bo", 3, None),
    ("q4", "new", "cy", 3, 3),  # (0, 3): 3
    ("q1", "new", "ann", 1, 2),
    ("q1", "new", "bo", 2, 1),
    ("q1", "new", "cy", 2, 2),  # (1, 1): 7, as q2 of the new system
]


@pytest.fixture
def rated(small: Track) -> Ratings:
    return ratings_of(small, ROWS)


@pytest.fixture
def queued(rated: Ratings, small: Track, shipped: LabelSignalPlan) -> tuple[Queued, ...]:
    return queue(rated, small.rubric, shipped.triage)


def test_the_queue_by_hand(queued: tuple[Queued, ...]) -> None:
    assert [(one.unit, one.priority) for one in queued] == [
        (("q1", "old"), 8.0),
        (("q1", "new"), 7.0),
        (("q2", "new"), 7.0),
        (("q4", "new"), 3.0),
        (("q2", "old"), 2.0),
    ]
    assert [dict(one.spreads) for one in queued] == [
        {"correct": 2.0},
        {"correct": 1.0, "tone": 1.0},
        {"correct": 1.0, "tone": 1.0},
        {"tone": 3.0},
        {"tone": 2.0},
    ]
    assert [one.critical for one in queued] == [("correct",)] * 3 + [()] * 2


def test_the_bars_of_the_plan_are_met_from_the_bar_on(rated: Ratings, small: Track, shipped: LabelSignalPlan) -> None:
    def units(**changed: Any) -> set[tuple[str, str]]:
        plan = shipped.triage.model_copy(update=changed)
        return {one.unit for one in queue(rated, small.rubric, plan)}

    usual = {("q1", "old"), ("q1", "new"), ("q2", "new"), ("q4", "new"), ("q2", "old")}
    assert units() == usual
    assert units(spread_at_least=3) == usual - {("q2", "old")}
    assert units(spread_at_least=4) == usual - {("q2", "old"), ("q4", "new")}
    assert units(spread_at_least=1) == usual | {("q3", "old")}
    assert units(critical_spread_at_least=2) == usual - {("q1", "new"), ("q2", "new")}


def test_without_a_critical_dimension_only_wide_spreads_count(
    rated: Ratings, small: Track, shipped: LabelSignalPlan
) -> None:
    plain = [one.model_copy(update={"critical": False, "critical_threshold": None}) for one in small.rubric.dimensions]
    found = queue(rated, small.rubric.model_copy(update={"dimensions": tuple(plain)}), shipped.triage)
    assert [(one.unit, one.priority) for one in found] == [
        (("q1", "old"), 4.0),
        (("q4", "new"), 3.0),
        (("q2", "old"), 2.0),
    ]
    assert all(one.critical == () for one in found)


def test_the_queue_does_not_depend_on_the_order_of_the_rows(
    queued: tuple[Queued, ...], small: Track, shipped: LabelSignalPlan
) -> None:
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(ROWS))
        shuffled = ratings_of(small, [ROWS[place] for place in order])
        assert queue(shuffled, small.rubric, shipped.triage) == queued


def test_raters_who_agree_leave_nothing_to_settle(small: Track, shipped: LabelSignalPlan) -> None:
    alike = ratings_of(small, [("q1", "old", rater, 2, 2) for rater in ("ann", "bo", "cy")])
    assert queue(alike, small.rubric, shipped.triage) == ()
    nothing = summary(alike, small, (), ())
    assert (nothing.queued, nothing.queue_rate, nothing.unresolved) == (0, 0.0, 0)
    assert [nothing.resolution_rate, nothing.gap_rate, nothing.exact, nothing.overruled] == [None] * 4
    assert [nothing.within_one, nothing.composite_shift] == [None] * 2


@pytest.mark.parametrize(
    ("waiting", "share", "done"),
    [
        (10, Fraction("0.6"), 6),
        (4, Fraction("0.6"), 2),
        (1, Fraction("0.6"), 0),
        (100, Fraction("0.29"), 29),  # .29 * 100 is 28.999... in binary
        (7, Fraction(1), 7),
        (7, Fraction(0), 0),
        (7, None, 7),
        (0, None, 0),
        (0, Fraction("0.6"), 0),
    ],
)
def test_capacity_is_a_share_of_the_queue_and_none_is_no_bound(waiting: int, share: Fraction | None, done: int) -> None:
    assert capacity(waiting, share) == done


# Medians 1.5 and .5; 2.5 and 1.5; 2 and 2 of three; 1 alone; none.
PAIRS: list[tuple[Any, ...]] = [
    *(("q1", "old", "ann", 1, 0), ("q1", "old", "bo", 2, 1)),
    *(("q2", "old", "ann", 3, 2), ("q2", "old", "bo", 2, 1)),
    *(("q3", "old", "ann", 0, 3), ("q3", "old", "bo", 2, 2), ("q3", "old", "cy", 3, 0)),
    ("q4", "old", "ann", 1, None),
]


def test_a_median_between_levels_is_kept_or_rounded_and_on_a_critical_dimension_lowered(
    small: Track, shipped: LabelSignalPlan, compat: LabelSignalPlan
) -> None:
    ratings = ratings_of(small, PAIRS)
    assert (shipped.triage.ties, compat.triage.ties) == ("kept", "half_even")
    kept = settled(ratings, small.rubric, shipped.triage)
    rounded = settled(ratings, small.rubric, compat.triage)
    npt.assert_array_equal(kept, [[1, 0.5], [2, 1.5], [2, 2], [1, NAN]])
    npt.assert_array_equal(rounded, [[1, 0], [2, 2], [2, 2], [1, NAN]])


def test_a_critical_dimension_where_lower_is_better_settles_at_the_worse_level(
    small: Track, shipped: LabelSignalPlan
) -> None:
    """Ratings of 1 and 2: where more is better the answer gets 1, where less is better 2."""
    dimension = small.rubric.dimensions[0]
    rows = [("q1", "old", "ann", 1, 2), ("q1", "old", "bo", 2, 2)]
    for better, level in (("higher", 1.0), ("lower", 2.0)):
        turned = small.rubric.model_copy(
            update={
                "dimensions": (dimension.model_copy(update={"better": better}), *small.rubric.dimensions[1:]),
            }
        )
        ((correct, _),) = settled(ratings_of(small, rows), turned, shipped.triage)
        assert correct == level


def test_what_all_raters_say_is_settled_so_on_any_levels(
    tmp_path: Path, small: Track, shipped: LabelSignalPlan, compat: LabelSignalPlan
) -> None:
    halves = [one.model_copy(update={"levels": (0, 0.5, 1)}) for one in small.rubric.dimensions]
    rubric = Rubric.model_validate(small.rubric.model_dump() | {"dimensions": tuple(halves)})
    ratings = ratings_of(small, [("q1", "old", rater, 0.5, 0.5) for rater in ("ann", "bo")])
    for plan in (shipped, compat):
        assert settled(ratings, rubric, plan.triage).tolist() == [[0.5, 0.5]]
    apart = ratings_of(small, [("q1", "old", "ann", 0.5, 0.5), ("q1", "old", "bo", 1, 1)])
    assert settled(apart, rubric, shipped.triage).tolist() == [[0.5, 0.75]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=7))
@LAW
def test_final_scores_lie_among_the_ratings(
    small: Track, shipped: LabelSignalPlan, compat: LabelSignalPlan, scores: list[tuple[int, int]]
) -> None:
    ratings = ratings_of(small, [("q1", "old", f"r{place}", *pair) for place, pair in enumerate(scores)])
    for plan in (shipped, compat):
        ((correct, tone),) = settled(ratings, small.rubric, plan.triage)
        assert min(ratings.scores[:, 0]) <= correct <= np.median(ratings.scores[:, 0])
        assert min(ratings.scores[:, 1]) <= tone <= max(ratings.scores[:, 1])
        assert correct == int(correct)
        assert plan is shipped or tone == int(tone)


def resolved(unit: tuple[str, str], gap: bool = False, **final: float) -> Adjudicated:
    return Adjudicated(unit, final, gap, "")


def test_the_summary_by_hand(rated: Ratings, small: Track, queued: tuple[Queued, ...]) -> None:
    found = summary(rated, small, queued, [resolved(("q1", "old"), gap=True, correct=1, tone=2)])
    assert (found.answers, found.queued, found.resolved, found.unresolved) == (7, 5, 1, 4)
    assert (found.queue_rate, found.resolution_rate, found.gap_rate) == (5 / 7, 1 / 5, 1.0)
    # Ratings (1, 2) and (3, 2) against (1, 2): three of four scores met, one off by 2; one rater of two overruled.
    assert (found.exact, found.within_one, found.overruled) == (3 / 4, 3 / 4, 1 / 2)
    # Composites (2 * 1/3 + 2/3) / 3 = 4/9 and (2 + 2/3) / 3 = 8/9, and 4/9 in the end.
    assert found.composite_shift == pytest.approx(4 / 9 - 6 / 9)
    # Ratings (1, 1) and (2, 2) against (1, 1): two of four met, the others off by 1.
    near = summary(rated, small, queued, [resolved(("q2", "new"), correct=1, tone=1)])
    assert (near.exact, near.within_one, near.overruled) == (1 / 2, 1.0, 1 / 2)


def test_the_gap_rate_is_of_what_was_resolved(rated: Ratings, small: Track, queued: tuple[Queued, ...]) -> None:
    gaps = (True, False, False, True, False)
    done = [resolved(one.unit, gap=gap, tone=1) for one, gap in zip(queued, gaps, strict=True)]
    assert summary(rated, small, queued, done).gap_rate == 2 / 5
    assert summary(rated, small, queued, done[:3]).gap_rate == 1 / 3
    assert summary(rated, small, queued, done[1:3]).gap_rate == 0
    assert summary(rated, small, queued, ()).gap_rate is None


def test_what_was_settled_beside_the_queue_does_not_shorten_it(
    rated: Ratings, small: Track, queued: tuple[Queued, ...]
) -> None:
    beside = [resolved(("q3", "old"), correct=2), resolved(("q3", "new"), correct=0)]
    found = summary(rated, small, queued[:1], [*beside, resolved(("q1", "old"), correct=1)])
    assert (found.resolved, found.unresolved, found.resolution_rate) == (3, 0, 1.0)


def test_the_shift_compares_only_what_was_settled(rated: Ratings, small: Track, queued: tuple[Queued, ...]) -> None:
    """Of `correct` alone: 1/3 and 1 before, 1 in the end; `tone` is left as it was and moves nothing."""
    found = summary(rated, small, queued, [resolved(("q1", "old"), correct=3)])
    assert found.composite_shift == pytest.approx(1 - 2 / 3)
    assert (found.exact, found.within_one, found.overruled) == (1 / 2, 1 / 2, 1 / 2)
    unchanged = summary(rated, small, queued, [resolved(("q3", "old"), correct=2)])
    assert unchanged.composite_shift == pytest.approx(0)


def table_of(sheet: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(sheet, newline=""), strict=True))


def test_the_worksheet_shows_the_queue_and_leaves_the_rest_to_be_filled(
    rated: Ratings, small: Track, queued: tuple[Queued, ...]
) -> None:
    sheet = worksheet(rated, small, queued)
    rows = table_of(sheet)
    assert list(rows[0]) == [*WORKSHEET_HEAD, "correct", "tone", *SETTLED]
    assert [(row["item_id"], row["system_id"]) for row in rows] == [one.unit for one in queued]
    assert [row["priority"] for row in rows] == ["8", "7", "7", "3", "2"]
    assert rows[0]["prompt"] == "Question 1?"
    assert rows[0]["answer"] == "Answer of old to 1."
    assert [rows[0]["ratings"], rows[3]["ratings"]] == ["correct 1 3; tone 2 2", "correct 3 3 3; tone 0 3"]
    assert all(row[name] == "" for row in rows for name in ("correct", "tone", "rubric_gap", "reason"))
    assert sheet == worksheet(rated, small, queued)
    assert len(table_of(worksheet(rated, small, ()))) == 0


def of_track_without_texts(folder: Path) -> Track:
    return read_track(write_track(folder, items=None, responses=None))


def test_a_worksheet_of_ratings_alone_has_no_texts(tmp_path: Path, rated: Ratings, queued: tuple[Queued, ...]) -> None:
    rows = table_of(worksheet(rated, of_track_without_texts(tmp_path), queued))
    assert [(row["prompt"], row["answer"]) for row in rows] == [("", "")] * 5


def filled(sheet: str, *cells: dict[str, str], separator: str = ",", end: str = "\r\n") -> str:
    """The worksheet with cells filled in its first rows."""
    rows = table_of(sheet)
    for row, new in zip(rows, cells, strict=False):
        row.update(new)
    sink = io.StringIO()
    writer = csv.DictWriter(sink, list(rows[0]), delimiter=separator, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return sink.getvalue()


def read(folder: Path, name: str, content: str | bytes, ratings: Ratings, track: Track) -> tuple[Adjudicated, ...]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_adjudications(path, ratings, track)


ANSWERS: tuple[dict[str, str], ...] = (
    {"correct": "1", "tone": "2", "rubric_gap": "no", "reason": "ann is right"},
    {"correct": "1.5", "rubric_gap": " Yes", "reason": ""},
    {},
    {"tone": "3", "rubric_gap": "TRUE", "reason": "later"},
)
SETTLED_ANSWERS = (
    Adjudicated(("q1", "old"), {"correct": 1.0, "tone": 2.0}, False, "ann is right"),
    Adjudicated(("q1", "new"), {"correct": 1.5}, True, ""),
    Adjudicated(("q4", "new"), {"tone": 3.0}, True, "later"),
)


@pytest.mark.parametrize(
    ("name", "form", "bom"),
    [
        ("w.csv", {}, False),
        ("W.CSV", {"end": "\n"}, True),
        ("w.csv", {"separator": ";"}, True),
        ("w.csv", {"separator": "\t"}, False),
        ("w.tsv", {"separator": "\t", "end": "\n"}, False),
    ],
)
def test_a_filled_worksheet_comes_back_and_open_rows_stay_open(
    tmp_path: Path, rated: Ratings, small: Track, queued: tuple[Queued, ...], name: str, form: Any, bom: bool
) -> None:
    sheet = filled(worksheet(rated, small, queued), *ANSWERS, **form)
    assert read(tmp_path, name, ("\ufeff" if bom else "") + sheet, rated, small) == SETTLED_ANSWERS


def test_the_unfilled_worksheet_settles_nothing(
    tmp_path: Path, rated: Ratings, small: Track, queued: tuple[Queued, ...]
) -> None:
    assert read(tmp_path, "w.csv", worksheet(rated, small, queued), rated, small) == ()
    assert read(tmp_path, "w.csv", worksheet(rated, small, ()), rated, small) == ()


def test_json_lines_will_do_too(tmp_path: Path, rated: Ratings, small: Track) -> None:
    rows = [
        {"item_id": "q1", "system_id": "old", "correct": 1, "tone": 2, "rubric_gap": False, "reason": "ann is right"},
        {"item_id": "q1", "system_id": "new", "correct": 1.5, "rubric_gap": True, "reason": None},
        {"item_id": "q2", "system_id": "new", "correct": None, "rubric_gap": None},
        {"item_id": "q4", "system_id": "new", "tone": 3, "rubric_gap": "yes", "reason": "later", "priority": 3},
    ]
    assert read(tmp_path, "w.jsonl", jsonl(rows), rated, small) == SETTLED_ANSWERS


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x","y")')


@pytest.mark.parametrize("text", FORMULAS)
def test_nothing_that_a_spreadsheet_would_run_stands_first_in_a_cell(
    tmp_path: Path, shipped: LabelSignalPlan, text: str
) -> None:
    names = {"q1": text, "q2": f"x{text}"}
    items = [row | {"item_id": names[row["item_id"]], "prompt": text} for row in ITEM_ROWS[:2]]
    answers = [row | {"item_id": names[row["item_id"]], "text": text} for row in RESPONSE_ROWS[:4]]
    track = read_track(write_track(tmp_path / "track", items=jsonl(items), responses=jsonl(answers)))
    pairs = [(name, "old", rater, score, 1) for name in names.values() for rater, score in (("a", 1), ("b", 3))]
    ratings = ratings_of(track, pairs)
    queued = queue(ratings, track.rubric, shipped.triage)
    sheet = worksheet(ratings, track, queued)
    rows = table_of(sheet)
    assert {row["item_id"] for row in rows} == {f"'{text}", f"x{text}"}
    assert {row["prompt"] for row in rows} == {row["answer"] for row in rows} == {f"'{text}"}
    assert not [cell for row in rows for cell in row.values() if cell[:1] in tuple("=+-@\t\r")]
    settles = {"correct": "2", "rubric_gap": "no"}
    back = read(tmp_path, "w.csv", filled(sheet, settles, settles), ratings, track)
    assert {one.unit for one in back} == {(text, "old"), (f"x{text}", "old")}
    plainly = [{"item_id": text, "system_id": "old", "correct": 2, "rubric_gap": False}]
    assert read(tmp_path, "w.jsonl", jsonl(plainly), ratings, track)[0].unit == (text, "old")


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=8, max_size=8))
@LAW
def test_whatever_the_texts_hold_the_filled_worksheet_comes_back(
    tmp_path_factory: pytest.TempPathFactory, small: Track, shipped: LabelSignalPlan, texts: list[str]
) -> None:
    answers = tuple(one.model_copy(update={"text": text}) for one, text in zip(small.responses, texts, strict=True))
    items = tuple(one.model_copy(update={"prompt": text}) for one, text in zip(small.items, texts[:4], strict=True))
    track = Track(small.about, small.rubric, items, answers)
    ratings = ratings_of(track, ROWS)
    queued = queue(ratings, track.rubric, shipped.triage)
    sheet = worksheet(ratings, track, queued)
    shown = {(row["item_id"], row["system_id"]): row["answer"] for row in table_of(sheet)}
    for one in answers:
        if (one.item_id, one.system_id) in shown:
            assert shown[one.item_id, one.system_id] in (one.text, f"'{one.text}")
    settles = [{"correct": "1", "rubric_gap": "no", "reason": text} for text in texts[:5]]
    back = read(tmp_path_factory.getbasetemp(), "w.csv", filled(sheet, *settles), ratings, track)
    assert [(one.unit, one.reason) for one in back] == [
        (one.unit, text) for one, text in zip(queued, texts, strict=False)
    ]


def faults_of(folder: Path, name: str, content: str | bytes, ratings: Ratings, track: Track) -> tuple[str, ...]:
    with pytest.raises(MalformedAdjudication, match=f"^adjudication file '{folder / name}' has [0-9]+ faults?: ") as no:
        read(folder, name, content, ratings, track)
    return no.value.faults


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ({"correct": "4"}, "field 'correct': found \"4\", expected a number on the scale"),
        ({"correct": "-0.5"}, "field 'correct': found \"-0.5\", expected a number on the scale"),
        ({"correct": "1,5"}, "field 'correct': found \"1,5\", expected a number on the scale"),
        ({"tone": "good"}, "field 'tone': found \"good\", expected a number on the scale"),
        ({"tone": "nan"}, "field 'tone': found \"nan\", expected a number on the scale"),
        ({"tone": "inf"}, "field 'tone': found \"inf\", expected a number on the scale"),
        ({"rubric_gap": ""}, "field 'rubric_gap': found null, expected yes or no: did the rubric leave it open?"),
        ({"rubric_gap": "perhaps"}, "field 'rubric_gap': found \"perhaps\", expected yes or no"),
        ({"correct": "", "rubric_gap": "yes"}, "field 'rubric_gap': found \"yes\", expected a final score beside it"),
        ({"item_id": "q9"}, 'field \'item_id\': found "q9" of system "old", which nobody rated'),
        ({"item_id": ""}, 'field \'item_id\': found "" of system "old", which nobody rated'),
        ({"item_id": "q4"}, 'field \'item_id\': found "q4" of system "old", which nobody rated'),
        ({"system_id": "new"}, "field 'item_id': found the answer twice, expected it once"),
    ],
    ids=str,
)
def test_each_fault_of_a_filled_worksheet_is_named_by_line_and_field(
    tmp_path: Path, rated: Ratings, small: Track, queued: tuple[Queued, ...], cells: dict[str, str], fault: str
) -> None:
    good = {"correct": "2", "rubric_gap": "no"}
    sheet = worksheet(rated, small, queued)
    content = filled(sheet, good | cells, good)
    (said,) = faults_of(tmp_path, "w.csv", content, rated, small)
    assert said.startswith("line 3, " if "twice" in fault else "line 2, ")
    assert fault in said


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"correct": True}, "field 'correct': found true, expected a number on the scale"),
        ({"correct": [1]}, "field 'correct': found a list, expected a number on the scale"),
        ({"correct": 10**50}, "expected a number on the scale"),
        ({"corect": 1}, "field 'corect': found a field that no rule reads; remove it"),
        ({"rubric_gap": 1}, "field 'rubric_gap': found 1, expected yes or no"),
        ({"rubric_gap": []}, "field 'rubric_gap': found a list, expected yes or no"),
        ({"reason": ["because"]}, "field 'reason': found a list, expected a text"),
        ({"item_id": ["q1"]}, "which nobody rated"),
        ({"item_id": None}, "which nobody rated"),
        ({"correct": None}, "field 'rubric_gap': found false, expected a final score beside it"),
    ],
    ids=str,
)
def test_each_fault_of_a_filled_line_is_named(
    tmp_path: Path, rated: Ratings, small: Track, changed: dict[str, Any], fault: str
) -> None:
    row = {"item_id": "q1", "system_id": "old", "correct": 1, "rubric_gap": False} | changed
    (said,) = faults_of(tmp_path, "w.jsonl", jsonl([row]), rated, small)
    assert said.startswith("line 1, ")
    assert fault in said


def test_a_level_of_names_is_one_of_them(tmp_path: Path, small: Track) -> None:
    named = [
        small.rubric.dimensions[0],
        small.rubric.dimensions[1].model_copy(update={"scale": "nominal", "weight": Fraction(0)}),
    ]
    track = Track(
        small.about, small.rubric.model_copy(update={"dimensions": tuple(named)}), small.items, small.responses
    )
    ratings = ratings_of(track, ROWS)
    row = {"item_id": "q1", "system_id": "old", "tone": 1.5, "rubric_gap": False}
    (said,) = faults_of(tmp_path, "w.jsonl", jsonl([row]), ratings, track)
    assert "field 'tone': found 1.5, expected a number on the scale" in said
    assert read(tmp_path, "w.jsonl", jsonl([row | {"tone": 2}]), ratings, track)[0].final == {"tone": 2.0}


HEAD = "item_id,system_id,correct,tone,rubric_gap,reason\n"


@pytest.mark.parametrize(
    ("name", "content", "faults"),
    [
        (
            "w.csv",
            "",
            ["columns: found no 'item_id', and no 'system_id', and no 'correct', and no 'tone', and no 'rub"],
        ),
        ("w.csv", HEAD.replace("tone", "tune"), ["columns: found no 'tone'; give all those of the worksheet"]),
        (
            "w.csv",
            HEAD.replace("tone", "correct") + "q1,old,1,2,no,\n",
            ["line 1: found column 'correct' twice, expected it once", "columns: found no 'tone'; give all"],
        ),
        ("w.csv", f"{HEAD}q1,old,1\n", ["line 2: found 3 cells, expected 6 as in the first line"]),
        ("w.csv", f"{HEAD}q1,old,1,2,no,a,b\n", ["line 2: found 7 cells, expected 6 as in the first line"]),
        ("w.csv", f'{HEAD}q1,old,1,2,no,"a\nq2,old,1,2,no,b\n', ["line 2: found no CSV (unexpected end of data)"]),
        ("w.csv", b"\xff", ["byte 1: found a byte that is not UTF-8, expected UTF-8"]),
        ("w.jsonl", "", ["found nothing in it, expected a row for each answer"]),
        ("w.jsonl", "{}\n", ['line 1, field \'item_id\': found "" of system "", which nobody rated']),
        ("w.jsonl", "[]\n", ["line 1, column 1: found a list, expected an object"]),
        ("w.jsonl", HEAD, ["line 1, column 1: found invalid JSON"]),
    ],
)
def test_a_file_that_is_no_worksheet_is_refused(
    tmp_path: Path, rated: Ratings, small: Track, name: str, content: str | bytes, faults: list[str]
) -> None:
    found = faults_of(tmp_path, name, content, rated, small)
    assert len(found) == len(faults)
    for said, expected in zip(found, faults, strict=True):
        assert said.startswith(expected)


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.jsonl", "folder.csv"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, rated: Ratings, small: Track, name: str) -> None:
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    with pytest.raises(MalformedAdjudication, match="cannot be read"):
        read_adjudications(tmp_path / name, rated, small)


def test_all_faults_of_a_worksheet_are_told_at_once(tmp_path: Path, rated: Ratings, small: Track) -> None:
    rows = "q1,old,9,,no,\nq9,old,1,1,no,\nq2,old,,,,\nq4,new,1,1,,\n"
    assert [fault.partition(":")[0] for fault in faults_of(tmp_path, "w.csv", HEAD + rows, rated, small)] == [
        "line 2, field 'correct'",
        "line 3, field 'item_id'",
        "line 5, field 'rubric_gap'",
    ]


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-2, 5), st.floats(), st.sampled_from(["q1", "old", "yes", "1", ""])
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
FIELDS = st.dictionaries(
    st.sampled_from(["item_id", "system_id", "correct", "tone", "rubric_gap", "reason", "prompt", "x"]),
    JSON,
    max_size=6,
)
GOOD: dict[str, Any] = {"item_id": "q1", "system_id": "old", "correct": 1, "rubric_gap": False}


def settled_or_refused(folder: Path, name: str, content: bytes, track: Track) -> None:
    with contextlib.suppress(MalformedAdjudication):
        for one in read(folder, name, content, ratings_of(track, ROWS), track):
            assert all(0 <= score <= 3 for score in one.final.values())
            assert isinstance(one.rubric_gap, bool)
            assert isinstance(one.reason, str)


@given(st.lists(FIELDS.map(lambda row: GOOD | row) | FIELDS, min_size=1, max_size=3))
@LAW
def test_whatever_the_fields_hold_the_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, small: Track, rows: list[dict[str, Any]]
) -> None:
    settled_or_refused(tmp_path_factory.getbasetemp(), "any-adjudication.jsonl", jsonl(rows).encode(), small)


@given(
    st.sampled_from(["", HEAD, '"']), st.binary(max_size=60) | st.text(",\n\r\"';q1old2", max_size=40).map(str.encode)
)
@LAW
def test_whatever_bytes_come_in_the_worksheet_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, small: Track, head: str, content: bytes
) -> None:
    for name in ("any-adjudication.csv", "any-adjudication.tsv", "any-adjudication.jsonl"):
        settled_or_refused(tmp_path_factory.getbasetemp(), name, head.encode() + content, small)
