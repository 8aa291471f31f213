"""The entry-quartile table: what the SQL says is what a plain reading of the rule says."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.records import Kind
from eval_pipeline.studies.extraction.frame import Frame, State, Unit
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.quartiles import (
    counts_of,
    entry_quartiles,
    proposition_fates,
    totals,
)

ANSWERS = ("SUPPORTED", "NOT_SUPPORTED", None)


def frame_table(units):
    """The table of a frame of (entry, quartile, state) triples."""
    return Frame(
        tuple(
            Unit(place, entry_id, None, None, None, quartile, f"p{place}", state)
            for place, (entry_id, quartile, state) in enumerate(units)
        ),
        (),
        (),
        entries_cut_signals=0,
        spans_over_budget=0,
        calls_at_most=0,
    ).to_table()


def judgments_table(judgments):
    """The table of (unit, kind, label) triples; a label of None is an answer that could not be read."""
    rows = [
        {
            "unit": unit,
            "kind": kind.value,
            "entry_id": "",
            "label": label,
            "no_label": None if label or kind is Kind.NO_SIGNALS else "unparsable",
        }
        for unit, kind, label in judgments
    ]
    return Judged.of_rows(rows, judge={}, kind="scripted", fingerprint="", refusal=None).to_table()


def read_plainly(judgments, unreadable_signal):
    """Fate of one proposition, and whether only its signals together support it, from its (kind, label) pairs."""
    screen = [label for kind, label in judgments if kind is Kind.SCREEN]
    signals = [label for kind, label in judgments if kind is Kind.SIGNAL]
    if "SUPPORTED" in signals:
        fate = "recovered"
    elif any(kind is Kind.NO_SIGNALS for kind, _ in judgments) or "NOT_SUPPORTED" in screen:
        fate = "missed"
    elif not signals or (None in signals and unreadable_signal == "undecided"):
        fate = "undecided"
    else:
        fate = "missed"
    return fate, fate == "missed" and "SUPPORTED" in screen


def as_judged(screen, signals):
    """The (kind, label) pairs of a proposition, from the answers that its judging would have got."""
    if screen == "no signals":
        return [(Kind.NO_SIGNALS, None)]
    if screen == "judge down":
        return []
    tried = [] if screen == "NOT_SUPPORTED" else signals
    return [(Kind.SCREEN, screen)] + [(Kind.SIGNAL, label) for label in tried]


propositions = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 4),
        st.sampled_from([State.IN, State.IN, State.IN, State.ABSENT, State.OVER_BUDGET]),
        st.builds(
            as_judged,
            st.sampled_from([*ANSWERS, "no signals", "judge down"]),
            st.lists(st.sampled_from(ANSWERS), max_size=4),
        ),
    ),
    min_size=1,
    max_size=14,
)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(propositions, st.sampled_from(["undecided", "not_supported"]))
def test_the_sql_agrees_with_a_plain_reading_of_the_rule(lenient, amended, drawn, unreadable_signal):
    judged = [place for place, (_, _, state, _) in enumerate(drawn) if state is State.IN]
    fates = proposition_fates(
        frame_table([(entry_id, quartile, state) for entry_id, quartile, state, _ in drawn]),
        judgments_table([(place, kind, label) for place in judged for kind, label in drawn[place][3]]),
        amended(lenient, judging={"unreadable_signal": unreadable_signal}),
    )
    expected = {place: read_plainly(drawn[place][3], unreadable_signal) for place in judged}
    assert {row["unit"]: (row["fate"], row["composition_only"]) for row in fates.to_pylist()} == expected

    cells = Counter()
    for place in judged:
        entry_id, quartile, *_ = drawn[place]
        fate, composed = expected[place]
        cells[entry_id, quartile, "hits"] += fate == "recovered"
        cells[entry_id, quartile, "judged"] += fate != "undecided"
        cells[entry_id, quartile, "undecided"] += fate == "undecided"
        cells[entry_id, quartile, "composition_only"] += composed
    rows = entry_quartiles(fates).to_pylist()
    assert [(row["entry_id"], row["quartile"]) for row in rows] == [
        (entry_id, quartile) for entry_id in sorted({drawn[place][0] for place in judged}) for quartile in (1, 2, 3, 4)
    ]
    for row in rows:
        for name in ("hits", "judged", "undecided", "composition_only"):
            assert row[name] == cells[row["entry_id"], row["quartile"], name]


@pytest.mark.parametrize(
    ("judgments", "fate", "composition_only"),
    [
        ([(Kind.NO_SIGNALS, None)], "missed", False),
        ([(Kind.SCREEN, "NOT_SUPPORTED")], "missed", False),
        ([(Kind.SCREEN, None)], "undecided", False),
        ([], "undecided", False),
        ([(Kind.SCREEN, "SUPPORTED"), (Kind.SIGNAL, "SUPPORTED")], "recovered", False),
        ([(Kind.SCREEN, None), (Kind.SIGNAL, "SUPPORTED")], "recovered", False),
        ([(Kind.SCREEN, "SUPPORTED"), (Kind.SIGNAL, "NOT_SUPPORTED")], "missed", True),
        ([(Kind.SCREEN, None), (Kind.SIGNAL, "NOT_SUPPORTED")], "missed", False),
        ([(Kind.SCREEN, "SUPPORTED"), (Kind.SIGNAL, None), (Kind.SIGNAL, "NOT_SUPPORTED")], "undecided", False),
        ([(Kind.SCREEN, "SUPPORTED"), (Kind.SIGNAL, None), (Kind.SIGNAL, "SUPPORTED")], "recovered", False),
    ],
    ids=[
        "no-signals",
        "screen-no",
        "screen-unread",
        "never-asked",
        "a-signal",
        "screen-unread-a-signal",
        "together-only",
        "screen-unread-no-signal",
        "one-unread",
        "one-unread-one-yes",
    ],
)
def test_each_course_of_a_judging_ends_in_one_fate(lenient, judgments, fate, composition_only):
    rows = [(0, kind, label) for kind, label in judgments]
    (row,) = proposition_fates(frame_table([("a", 1, State.IN)]), judgments_table(rows), lenient).to_pylist()
    assert (row["fate"], row["composition_only"]) == (fate, composition_only)


def test_judgments_of_spans_have_no_part_in_the_table(counted, spanned, world_of, lenient, run_study):
    with_spans = run_study(world_of([counted("a"), spanned("s", spans=3, supported=0)]), lenient)
    alone = run_study(world_of([counted("a")]), lenient)
    assert with_spans.quartiles == alone.quartiles
    assert with_spans.judged.by_kind() == [
        {"kind": "precision_span", "label": "NOT_SUPPORTED", "judgments": 3},
        {"kind": "recall_screen", "label": "SUPPORTED", "judgments": 4},
        {"kind": "recall_signal", "label": "SUPPORTED", "judgments": 4},
    ]


def test_a_table_has_four_rows_an_entry_and_sums_to_its_totals(counted, world_of, lenient, run_study):
    study = run_study(world_of([counted("b", (2, 0, 1, 0), (2, 0, 3, 1)), counted("a", (0, 1, 0, 0))]), lenient)
    cells = [(row["entry_id"], row["hits"], row["judged"]) for row in study.quartiles.to_pylist()]
    assert cells == [
        *(("a", 0, 1), ("a", 1, 1), ("a", 0, 1), ("a", 0, 1)),
        *(("b", 2, 2), ("b", 0, 0), ("b", 1, 3), ("b", 0, 1)),
    ]
    assert totals(study.quartiles) == [
        {"quartile": 1, "hits": 2, "judged": 3, "undecided": 0},
        {"quartile": 2, "hits": 1, "judged": 1, "undecided": 0},
        {"quartile": 3, "hits": 1, "judged": 4, "undecided": 0},
        {"quartile": 4, "hits": 0, "judged": 2, "undecided": 0},
    ]


@pytest.fixture(scope="session")
def one_unread(counted, world_of, scripted, lenient, run_study):
    """Entry a, of which no answer could be read, beside entries b and c that were recovered whole."""
    world = world_of([counted(name, words=words) for name, words in (("a", 5), ("b", 6), ("c", 7))])
    judge = scripted(lambda question: "?" if question.entry_id == "a" else world.says(question))
    return run_study(world, lenient, judge)


@pytest.mark.parametrize(
    ("rule", "drawn"), [("left_out", [False, True, True]), ("drawn", [True, True, True])], ids=["left-out", "drawn"]
)
def test_an_entry_with_everything_undecided_is_drawn_only_where_the_plan_says_so(
    one_unread, lenient, amended, rule, drawn
):
    counts = counts_of(one_unread.quartiles, amended(lenient, scoring={"undecided_entries": rule}))
    assert counts.drawn.tolist() == drawn
    assert [(entry["entry_id"], entry["words"]) for entry in counts.entries] == [("a", 5), ("b", 6), ("c", 7)]
    assert counts.judged.tolist() == counts.hits.tolist() == [[0] * 4, [1] * 4, [1] * 4]
    assert counts.undecided.tolist() == [[1] * 4, [0] * 4, [0] * 4]


def test_an_entry_with_everything_undecided_is_not_judged(one_unread):
    recall = one_unread.evidence.recall
    assert (recall.judged_entries, recall.pooled.entries, recall.entries_undecided) == (2, 2, ("a",))
    assert one_unread.evidence.uniformity.rows == 2
