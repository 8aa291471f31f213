"""Metadata: plain values that Dagster accepts, each of the same meaning as what it shows."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import dagster as dg
import numpy as np
import pytest

from assets.metadata import materialized, to_meta
from eval_pipeline.records import Outcome, Reason


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (Fraction(1, 4), 0.25),
        (Outcome.WARN, "warn"),
        (Reason.UNDERPOWERED, "underpowered"),
        (0, 0),
        (False, False),
        ("", ""),
        ((1, 2), [1, 2]),
    ],
    ids=str,
)
def test_a_value_is_shown_as_plain_python_of_the_same_meaning(value: Any, shown: Any) -> None:
    found = to_meta({"value": value})["value"]
    assert found == shown
    assert type(found) is type(shown)


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf, -math.inf, np.float64("nan")], ids=repr)
def test_what_is_no_number_is_left_out(nothing: float | None) -> None:
    assert to_meta({"value": nothing, "other": 1}) == {"other": 1}


def test_records_become_a_table_in_which_nothing_is_an_empty_cell() -> None:
    rows = [
        {"claim": "a", "estimate": Fraction(1, 2), "outcome": Outcome.PASS, "reason": None},
        {"claim": "b", "estimate": np.float64("nan"), "outcome": Outcome.SKIP, "reason": Decimal("0.1")},
    ]
    table = to_meta({"claims": rows})["claims"]
    assert [record.data for record in table.records] == [
        {"claim": "a", "estimate": 0.5, "outcome": "pass", "reason": ""},
        {"claim": "b", "estimate": "", "outcome": "skip", "reason": "0.1"},
    ]


def test_metadata_that_is_metadata_already_passes_through() -> None:
    text = dg.MetadataValue.md("**a**")
    assert to_meta({"text": text})["text"] is text


def test_a_value_without_a_hash_of_its_own_has_that_of_its_bytes() -> None:
    """`printf '{\\n "value": 3\\n}\\n' | sha256sum`; a dict is written as JSON, indented by one."""
    result = materialized({"value": 3}, {})
    assert result.data_version == dg.DataVersion("577b3ec1dfaedc4cbb9f49e60149de6c5979e7e6f893b044cb90fc7c0164b53c")
    assert materialized({"value": 3}, {}, version="abc").data_version == dg.DataVersion("abc")
