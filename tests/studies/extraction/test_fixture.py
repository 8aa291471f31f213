"""The annotators' file: read strictly, refused as a whole, hashed by what it says."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.errors import FixtureMissing, MalformedFixture
from eval_pipeline.records import Proposition, Reason
from eval_pipeline.studies.extraction.fixture import Fixture, pinned_fixture, read_fixture

GOOD = {"entry_id": "e1", "quartile": 1, "proposition": "The pump hums."}


def written(folder, *rows):
    """A propositions file of rows: a dict is written as JSON, a text or bytes as it stands."""
    path = folder / "propositions.jsonl"
    raw = [
        row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode() for row in rows
    ]
    path.write_bytes(b"".join(row + b"\n" for row in raw))
    return path


def test_propositions_stand_in_the_order_of_the_file(tmp_path):
    path = written(
        tmp_path,
        {"entry_id": "z", "quartile": 4, "proposition": "Last."},
        {"entry_id": "a_B-9", "quartile": "2", "proposition": " Zwölf Ventile ☃ "},
    )
    assert read_fixture(path).propositions == (
        Proposition("z", 4, "Last."),
        Proposition("a_B-9", 2, " Zwölf Ventile ☃ "),
    )


@pytest.mark.parametrize(
    ("changed", "clause"),
    [
        ({"entry_id": "a b"}, "field 'entry_id': found \"a b\""),
        ({"entry_id": "bad'; x"}, "field 'entry_id': found \"bad'; x\""),
        ({"entry_id": ""}, "field 'entry_id': found \"\""),
        ({"entry_id": "e1\n"}, "field 'entry_id': found \"e1\\n\""),
        ({"entry_id": "é1"}, "field 'entry_id': found \"\\u00e91\""),
        ({"entry_id": 7}, "field 'entry_id': found 7"),
        ({"entry_id": None}, "field 'entry_id': found null"),
        ({"quartile": 0}, "field 'quartile': found 0"),
        ({"quartile": 5}, "field 'quartile': found 5"),
        ({"quartile": "5"}, "field 'quartile': found \"5\""),
        ({"quartile": " 1"}, "field 'quartile': found \" 1\""),
        ({"quartile": 1.0}, "field 'quartile': found 1.0"),
        ({"quartile": True}, "field 'quartile': found true"),
        ({"quartile": [1]}, "field 'quartile': found a list"),
        ({"quartile": None}, "field 'quartile': found null"),
        ({"proposition": ""}, "field 'proposition': found \"\""),
        ({"proposition": " \t\n"}, "field 'proposition': found"),
        ({"proposition": "\u200b\ufeff "}, "field 'proposition': found"),
        ({"proposition": 3}, "field 'proposition': found 3"),
        ({"proposition": None}, "field 'proposition': found null"),
        ({"propositon": "x"}, "field 'propositon': found an unknown field"),
    ],
)
def test_a_field_that_breaks_the_format_is_named_with_its_line(tmp_path, changed, clause):
    path = written(tmp_path, {**GOOD, "proposition": "Sound."}, GOOD | changed)
    with pytest.raises(MalformedFixture) as refused:
        read_fixture(path)
    (fault,) = refused.value.faults
    assert fault.startswith(f"line 2, {clause}")


@pytest.mark.parametrize("field", list(GOOD))
def test_a_field_that_is_not_there_is_named(tmp_path, field):
    path = written(tmp_path, {name: value for name, value in GOOD.items() if name != field})
    with pytest.raises(MalformedFixture) as refused:
        read_fixture(path)
    assert refused.value.faults == (f"line 1, field {field!r}: found nothing, expected a value",)


@pytest.mark.parametrize(
    ("row", "clause"),
    [
        ("{not json", "line 2, column 2: found invalid JSON"),
        ("[1]", "line 2, column 1: found a list"),
        (b'{"entry_id": "\xff"}', "line 2, byte 15: found a byte that is not UTF-8"),
        (
            '{"entry_id": "e", "quartile": 1, "quartile": 2, "proposition": "x"}',
            "line 2, field 'quartile': found it twice",
        ),
        ('{"entry_id": "e", "quartile": NaN, "proposition": "x"}', "line 2, field 'quartile': found NaN"),
        (
            '{"entry_id": "e", "quartile": 1, "proposition": "\\ud800"}',
            "line 2, field 'proposition': found a lone surrogate",
        ),
        (json.dumps(GOOD | {"proposition": "x"}) + "\r", "line 2, after the last field: found a line end of CR LF"),
    ],
    ids=["not-json", "not-an-object", "not-utf8", "field-twice", "nan", "lone-surrogate", "crlf"],
)
def test_a_line_that_cannot_be_read_is_refused_with_its_place(tmp_path, row, clause):
    with pytest.raises(MalformedFixture) as refused:
        read_fixture(written(tmp_path, GOOD, row))
    (fault,) = refused.value.faults
    assert fault.startswith(clause)


def test_all_faults_of_a_file_are_carried_in_its_order(tmp_path):
    path = written(tmp_path, GOOD | {"entry_id": "a b", "quartile": 9}, GOOD, GOOD | {"proposition": ""}, "{")
    with pytest.raises(MalformedFixture) as refused:
        read_fixture(path)
    places = sorted(fault.split(":")[0] for fault in refused.value.faults)
    assert places == [
        "line 1, field 'entry_id'",
        "line 1, field 'quartile'",
        "line 3, field 'proposition'",
        "line 4, column 2",
    ]


@pytest.mark.parametrize("again", ["The pump hums.", " The  pump\thums. ", "The\u200b pump hums.\ufeff"])
def test_a_proposition_that_stands_twice_for_an_entry_is_refused(tmp_path, again):
    with pytest.raises(MalformedFixture, match="which stands on line 1 for the same entry"):
        read_fixture(written(tmp_path, GOOD, GOOD | {"proposition": again, "quartile": 2}))


def test_the_same_proposition_may_stand_for_two_entries(tmp_path):
    assert len(read_fixture(written(tmp_path, GOOD, GOOD | {"entry_id": "e2"})).propositions) == 2


@pytest.mark.parametrize("content", [None, b"", b"\n \n"], ids=["no-file", "empty", "blank-lines"])
def test_a_file_that_holds_nothing_is_missing_and_not_malformed(tmp_path, content):
    path = tmp_path / "propositions.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FixtureMissing, match=r"have the entries annotated"):
        read_fixture(path)
    assert pinned_fixture(path).refusal.reason is Reason.FIXTURE_MISSING


def test_a_file_that_was_not_named_is_missing():
    pinned = pinned_fixture(None)
    assert (pinned.propositions, pinned.refusal.reason) == ((), Reason.FIXTURE_MISSING)
    assert "--propositions" in pinned.refusal.detail


def test_a_malformed_file_is_pinned_without_any_proposition(tmp_path):
    pinned = pinned_fixture(written(tmp_path, GOOD, GOOD | {"quartile": 5}))
    assert (pinned.propositions, pinned.refusal.reason, pinned.hash) == ((), Reason.FIXTURE_MALFORMED, None)
    assert "line 2, field 'quartile'" in pinned.refusal.detail


def test_a_folder_in_place_of_the_file_is_malformed(tmp_path):
    assert pinned_fixture(tmp_path).refusal.reason is Reason.FIXTURE_MALFORMED


def test_the_hash_is_of_what_the_file_says_and_not_of_how_it_is_written(tmp_path):
    plain = read_fixture(written(tmp_path, GOOD)).hash
    other_spelling = '{ "proposition": "The pump\\u0020hums.",  "quartile": "1", "entry_id": "e1" }'
    assert read_fixture(written(tmp_path, "", other_spelling)).hash == plain
    changes = ({"entry_id": "e2"}, {"quartile": 2}, {"proposition": "The pump hums"})
    assert len({read_fixture(written(tmp_path, GOOD | change)).hash for change in changes} | {plain}) == 4


rows_of_a_file = st.lists(
    st.builds(
        Proposition,
        st.text("abZ09_-", min_size=1, max_size=6),
        st.integers(1, 4),
        st.text('xyé☃😀"\\{', min_size=1, max_size=8).map(lambda text: f"x{text}"),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda proposition: (proposition.entry_id, proposition.text),
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(rows_of_a_file)
def test_what_was_written_is_what_is_read(tmp_path_factory, propositions):
    path = written(
        tmp_path_factory.mktemp("fixture"),
        *({"entry_id": p.entry_id, "quartile": p.quartile, "proposition": p.text} for p in propositions),
    )
    assert read_fixture(path).propositions == tuple(propositions)


@pytest.mark.parametrize("rows", [[GOOD], [GOOD | {"quartile": 5}]], ids=["sound", "refused"])
def test_a_fixture_survives_the_way_through_a_table(tmp_path, rows):
    pinned = pinned_fixture(written(tmp_path, *rows))
    assert Fixture.from_table(pinned.to_table()) == pinned
