"""Every number of a document has a path in the results, or a reason why it has none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.audit import Finding, audit, candidates
from eval_pipeline.errors import AuditRefused

RESULTS: dict[str, Any] = {
    "label-signal": {
        "share": 0.1574,
        "half": 0.125,
        "claims": [{"n": 45}, {"n": -3}],
        "a/b~c": 7,
        "said": "p = 0.0049",
        "open": None,
        "held": True,
        "big": 12345.0,
        "kept back": {"effect": 0.31, "effects": 0.5},
        "withheld": ["/label-signal/kept back/effect"],
    }
}


def found(document: str) -> list[tuple[str, str]]:
    return [(one.literal, one.standing) for one in audit(document, RESULTS)]


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("0.157<!-- = /label-signal/share -->", "bound"),
        ("0.1574 <!-- = /label-signal/share -->", "bound"),
        ("15.7 %<!-- = /label-signal/share -->", "bound"),
        ("15.7%<!-- = /label-signal/share -->", "bound"),
        ("15.7<!-- = /label-signal/share -->", "mismatch"),  # without the sign it is no share
        ("4,500<!-- = /label-signal/claims/0/n -->", "mismatch"),
        ("0<!-- = /label-signal/share -->", "mismatch"),  # one digit of .1574 says nothing
        ("0.2<!-- = /label-signal/share -->", "mismatch"),
        ("0.16<!-- = /label-signal/share -->", "bound"),
        ("45<!-- = /label-signal/claims/-2/n -->", "no_such_path"),
        ("45<!-- = /label-signal/claims/0/n/x -->", "no_such_path"),
        ("0.31<!-- = /label-signal/kept back/effect -->", "withheld"),
        ("0.31<!-- = /label-signal/kept back/effect/deeper -->", "no_such_path"),
        ("0.5<!-- = /label-signal/kept back/effects -->", "bound"),
        ("0.158<!-- = /label-signal/share -->", "mismatch"),
        ("0.157 %<!-- = /label-signal/share -->", "mismatch"),  # a percentage of it would be 15.7 %
        ("0.0787<!-- = /label-signal/share -->", "mismatch"),  # half of it is another number
        ("45<!-- = /label-signal/claims/0/n -->", "bound"),
        ("-3<!-- = /label-signal/claims/1/n -->", "bound"),
        ("3<!-- = /label-signal/claims/1/n -->", "mismatch"),
        ("12,345<!-- = /label-signal/big -->", "bound"),
        ("7<!-- = /label-signal/a~1b~0c -->", "bound"),
        ("45<!-- = /label-signal/claims/2/n -->", "no_such_path"),
        ("45<!-- = /label-signal/nothing -->", "no_such_path"),
        ("45<!-- = /extraction/share -->", "no_such_path"),
        ("1<!-- = /label-signal/held -->", "mismatch"),
        ("0<!-- = /label-signal/open -->", "mismatch"),
        ("0.12<!-- = /label-signal/half -->", "bound"),  # half to even
        ("0.13<!-- = /label-signal/half -->", "bound"),  # half up
        ("0.157", "unbound"),
        ("45", "unbound"),
    ],
)
def test_a_number_holds_only_by_a_path_at_which_it_stands(text: str, standing: str) -> None:
    assert [one.standing for one in audit(f"The value is {text}, as said.", RESULTS)] == [standing]


@pytest.mark.parametrize(
    "text",
    [
        "`x = 45`",
        "```\n45 of 99\n```",
        "~~~python\n45\n~~~",
        "text\n\n    x = 45\n    y = 46\n",
        "[the plan](data/45.toml)",
        "https://example.org/45/99",
        "2026-11-30",
        "ADR 12 and RFC 6901",
        "the 3rd of them",
        "1. first\n2. second",
        "candidate-v3 and Q1",
        "0123",
        "(Krippendorff, 2011)",
        "<!-- 45 -->",
    ],
)
def test_what_is_no_number_of_the_results_is_passed_over(text: str) -> None:
    assert found(text) == []


def test_numbers_are_found_in_tables_headings_and_signed() -> None:
    text = "# 2 things\n| a | 0.5 |\n|---|---|\n| b | −.25 |\n(12 of 45) is 26.7 %, +3.\n"
    assert [literal for literal, _ in found(text)] == ["2", "0.5", "−.25", "12", "45", "26.7 %", "+3"]


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("from 0.91-0.99", ["0.91", "0.99"]),
        ("from 0.91–0.99", ["0.91", "0.99"]),
        ("10/48 of them", ["10", "48"]),
        ("12x, 85pp and 3.5M", ["12", "85", "3.5"]),
        ("(effect 0.9, p 0.001, 2026)", ["0.9", "0.001", "2026"]),
        ("it took\n52. That is", ["52"]),
        ("a -3 and 4 -5", ["-3", "4", "-5"]),
        ("1. first\n2. Second\n\nthen 7", ["7"]),
        ("version 1.13.20 of it", []),
    ],
)
def test_numbers_are_seen_in_ranges_with_units_and_where_a_line_breaks(text: str, literals: list[str]) -> None:
    assert [literal for literal, _ in found(text)] == literals


def test_an_unbound_number_says_where_it_may_come_from_and_on_which_line() -> None:
    (one,) = audit("first line\nthe share is 0.157\n", RESULTS)
    assert one == Finding(2, "0.157", "unbound", "/label-signal/share")


def test_an_exemption_carries_its_reason_to_each_number_within() -> None:
    text = "<!-- audit: exempt, measured by a benchmark -->\n12 and 13\n<!-- audit: end -->\n14\n"
    assert audit(text, RESULTS) == (
        Finding(2, "12", "exempt", "measured by a benchmark"),
        Finding(2, "13", "exempt", "measured by a benchmark"),
        Finding(4, "14", "unbound", ""),
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a\n<!-- audit: exempt -->\n1\n<!-- audit: end -->", "line 2: found an exemption without a reason"),
        ("<!-- audit: exempt,  -->\n1\n<!-- audit: end -->", "line 1: found an exemption without a reason"),
        ("<!-- audit: exempt, x -->\n1\n", "line 1: found an exemption without an end"),
        ("1\n<!-- audit: end -->", "line 2: found an end of an exemption"),
        (
            "<!-- audit: exempt, x -->\n<!-- audit: exempt, y -->\n<!-- audit: end -->",
            "line 2: found an exemption within another",
        ),
    ],
)
def test_an_exemption_that_cannot_be_read_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(AuditRefused, match=sentence):
        audit(text, RESULTS)


def test_candidates_are_found_in_texts_and_names_and_say_what_was_done_to_them() -> None:
    results = {"p = 0.0049": [0.3548], "n": "56 items"}
    assert [(one.path, one.form) for one in candidates("35.5 %", results)] == [("/p = 0.0049/0", "times 100")]
    assert [(one.path, one.form) for one in candidates("28.0", results)] == [("/n", "halved")]
    assert [(one.path, one.form) for one in candidates("0.0049", results)] == [("/p = 0.0049", "as it is")]
    assert candidates("0.36", results) == ()


@given(st.floats(-1e6, 1e6), st.integers(2, 4))
def test_a_number_printed_from_the_results_is_bound_and_its_neighbour_is_not(value: float, places: int) -> None:
    results = {"s": {"x": value}}
    printed = f"{value:.{places}f}"
    (own,) = audit(f"is {printed}<!-- = /s/x -->", results)
    enough = len(printed.lstrip("-").replace(".", "").lstrip("0")) >= 2 or float(printed) == value
    assert own.standing == ("bound" if enough else "mismatch")
    further = f"{value + 3 * 10**-places:.{places}f}"
    (other,) = audit(f"is {further}<!-- = /s/x -->", results)
    assert other.standing == "mismatch"
