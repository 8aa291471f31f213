"""What a run is given: fields of text become the values that the library takes, or are refused by their variable."""

from typing import Any

import pytest

from assets.resources import JudgeEndpoint, StudyInputs
from eval_pipeline.errors import JudgeUnknown
from eval_pipeline.judge.claims import ALIGNMENT
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.spending import Caps, Prices


def given(**fields: str) -> JudgeEndpoint:
    return JudgeEndpoint(base_url="http://127.0.0.1:1/v1", model="m", **fields)


def test_an_endpoint_of_which_only_the_address_is_given_has_the_limits_of_the_readme() -> None:
    there = given().endpoint(prompt_named("nli-v1"))
    assert (there.max_tokens, there.in_flight, there.attempt_timeout_s, there.total_timeout_s) == (8, 16, 120, 600)
    assert (there.revision, there.api_key, there.extra, there.prices) == ("", "", {}, None)


def test_every_field_of_the_endpoint_is_read_from_its_text() -> None:
    fields = {"revision": "r2", "max_tokens": "64", "extra": '{"seed": 7, "temperature": null}', "api_key": "k"}
    there = given(**fields, in_flight="3", timeout_s="5", total_timeout_s="50", prices="0.15,0.60").endpoint(
        prompt_named("nli-v1")
    )
    assert (there.revision, there.max_tokens, there.api_key) == ("r2", 64, "k")
    assert there.extra == {"seed": 7, "temperature": None}
    assert (there.in_flight, there.attempt_timeout_s, there.total_timeout_s) == (3, 5, 50)
    assert there.prices == Prices(0.15, 0.60)


COUNT = "expected a whole number of 1 or more; set it again"
OBJECT = "expected a JSON object; set it again"
PRICES = "such as 0.15,0.60; set it again"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        *[
            (field, value, COUNT)
            for field in ("max_tokens", "in_flight", "timeout_s", "total_timeout_s")
            for value in ("", "0", "-1", "1.5", "eight", "٣", "9" * 5000)
            if (field, value) != ("max_tokens", "")  # which leaves it to the prompt
        ],
        *[
            ("extra", value, OBJECT)
            for value in ("", "seed=1", "[1]", "7", "null", '{"a": ', '{"a": NaN}', '{"a": 1, "a": 2}')
        ],
        *[("prices", value, PRICES) for value in ("1", "1,2,3", "a,b", "1,-2", "nan,1", "1,inf", ",")],
    ],
)
def test_a_field_that_cannot_be_is_refused_by_the_name_of_its_variable(field: str, value: str, expected: str) -> None:
    with pytest.raises(JudgeUnknown) as refusal:
        given(**{field: value}).endpoint(prompt_named("nli-v1"))
    said = str(refusal.value)
    assert said.startswith(f"EVAL_PIPELINE_JUDGE_{field.upper()} is {value!r}, expected ")
    assert said.endswith(expected)


def test_no_price_is_none_and_a_price_of_nothing_is_one() -> None:
    assert given(prices="").endpoint(prompt_named("nli-v1")).prices is None
    assert given(prices="0,0").endpoint(prompt_named("nli-v1")).prices == Prices(0.0, 0.0)


def test_the_key_is_in_no_picture_of_the_endpoint() -> None:
    resource: Any = given(api_key="sk-very-secret")
    assert "sk-very-secret" not in repr(resource)
    assert "sk-very-secret" not in repr(resource.endpoint(prompt_named("nli-v1")))


def test_a_run_has_the_caps_that_it_was_given_and_no_others() -> None:
    assert StudyInputs().caps == Caps(requests=None, tokens=None, usd=None)
    given_caps = StudyInputs(cap_requests=10, cap_tokens=2000, cap_usd=0.5).caps
    assert given_caps == Caps(requests=10, tokens=2000, usd=0.5)
    assert StudyInputs(cap_requests=0).caps.requests == 0
    assert StudyInputs().resume is False


def test_an_answer_may_be_as_long_as_its_prompt_needs_unless_the_endpoint_says_otherwise():
    assert given().endpoint(ALIGNMENT).max_tokens == 1024
    assert given(max_tokens="64").endpoint(ALIGNMENT).max_tokens == 64
