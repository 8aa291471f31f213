"""Recorded spans: characters of the entry, checked one by one before any of them is judged."""

import pytest

from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.records import Entry, Signal
from eval_pipeline.studies.extraction.spans import (
    SpanFault,
    SpanStatus,
    fault_of,
    sound_spans,
    span_facts,
    span_status,
    writes_spans,
)

NOTE = Entry("e1", None, None, "naïve 😀 pump\n\n")  # 14 characters; 18 bytes; 15 UTF-16 units


def signal(start, end, fault=None, key="s1"):
    return Signal(key, "e1", "The pump is naive.", start, end, fault)


def corpus(*signals):
    return Snapshot((NOTE,), signals, LeftOut(0, 0, 0, 0), "built for a test", refusal=None)


@pytest.mark.parametrize(
    ("start", "end", "recorded", "fault"),
    [
        (0, 14, None, None),
        (0, 5, None, None),
        (13, 14, None, SpanFault.BLANK),
        (3, 3, None, SpanFault.BLANK),
        (0, 15, None, SpanFault.OUT_OF_RANGE),
        (15, 18, None, SpanFault.OUT_OF_RANGE),
        (5, 2, None, SpanFault.REVERSED),
        (99, 20, None, SpanFault.REVERSED),
        (-1, 5, None, SpanFault.NEGATIVE),
        (5, -1, None, SpanFault.NEGATIVE),
        (None, None, 'recorded as "0-5"', SpanFault.NOT_A_SPAN),
    ],
)
def test_each_fault_of_a_span_has_its_kind(start, end, recorded, fault):
    assert fault_of(signal(start, end, recorded), NOTE) is fault


def test_offsets_count_characters_and_not_bytes_or_utf16_units():
    (span,) = sound_spans(corpus(signal(8, 12)))
    assert span.premise == "pump"


def test_facts_count_the_spans_and_each_kind_of_fault():
    facts = span_facts(
        corpus(
            signal(None, None, key="none"),
            signal(0, 5, key="sound"),
            signal(5, 0, key="r1"),
            signal(6, 0, key="r2"),
            signal(0, 99, key="far"),
            signal(None, None, "recorded as [0,5]", key="list"),
        )
    )
    assert (facts.signals, facts.spans) == (6, 5)
    assert facts.faults == {SpanFault.REVERSED: 2, SpanFault.OUT_OF_RANGE: 1, SpanFault.NOT_A_SPAN: 1}


def test_examples_name_the_signal_the_span_and_the_length_of_the_entry():
    facts = span_facts(corpus(signal(5, 0, key="r1"), signal(None, None, "recorded as [0,5]", key="list")))
    assert facts.examples == (
        "signal 'r1': span [5, 0) of an entry of 14 characters is reversed",
        "signal 'list': span recorded as [0,5] of an entry of 14 characters is not_a_span",
    )


def test_only_the_first_five_faults_are_told_in_words():
    facts = span_facts(corpus(*(signal(5, 0, key=f"r{place}") for place in range(8))))
    assert facts.faults == {SpanFault.REVERSED: 8}
    assert [example.split("'")[1] for example in facts.examples] == ["r0", "r1", "r2", "r3", "r4"]


def test_sound_spans_leave_out_what_is_broken_and_what_is_not_recorded():
    spans = sound_spans(corpus(signal(0, 5, key="a"), signal(5, 0, key="b"), signal(None, None, key="c")))
    assert [(span.signal.id, span.premise) for span in spans] == [("a", "naïve")]


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        ("const row = {\n  span: { start, end },\n}", True),
        ("span: {}", True),
        ("\tspan: null", True),
        ("provenance: { span: { start } }", False),
        ("  // span: later", False),
        ("  spans: []", False),
        ("", False),
    ],
)
def test_code_writes_spans_if_a_line_of_it_begins_with_one(tmp_path, code, writes):
    path = tmp_path / "persist.ts"
    path.write_text(code)
    assert writes_spans(path) is writes


@pytest.mark.parametrize("code_writes_spans", [True, False])
def test_one_row_with_a_span_says_as_much_as_many(code_writes_spans):
    statuses = {span_status(rows, code_writes_spans) for rows in (1, 7, 10**6)}
    assert statuses == {SpanStatus.ACTIVE if code_writes_spans else SpanStatus.ACTIVE_CAVEAT_CHANGED}


def shifted(by):
    """Each word of a text as a span, its offsets this much too high."""
    text = "one two three four five"
    starts = [0, 4, 8, 14, 19]
    spans = zip(starts, text.split(), strict=True)
    words = (Signal(f"s{at}", "e1", word, at + by, at + len(word) + by, None) for at, word in spans)
    entry = Entry("e1", None, None, text + " ")
    return span_facts(Snapshot((entry,), tuple(words), LeftOut(0, 0, 0, 0), "built for a test", refusal=None))


@pytest.mark.parametrize(
    ("by", "cut", "one_lower", "look"),
    # From 0 no word is cut, and one lower each is: all but the first at both ends. From 1 it is the other way round.
    [(0, 0, 5, False), (1, 5, 0, True), (2, 4, 4, False)],
)
def test_spans_counted_from_one_are_told_by_the_words_they_cut(by, cut, one_lower, look):
    facts = shifted(by)
    assert (facts.cut_words, facts.cut_words_one_lower, facts.look_one_based) == (cut, one_lower, look)
