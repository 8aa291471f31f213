"""What every verdict document is made of: null for what there is not, and bytes that any machine reads."""

from fractions import Fraction

import pytest

from eval_pipeline.document import document_bytes, plain_claim, plain_interval, plain_number, plain_refusal
from eval_pipeline.records import Interval, Outcome, Reason, Refusal, Verdict


def test_a_document_is_indented_utf8_with_a_line_end_and_refuses_what_is_not_json():
    assert document_bytes({"a": "é"}) == '{\n  "a": "é"\n}\n'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        document_bytes({"a": float("nan")})


def test_what_there_is_not_is_null_and_never_a_number():
    assert plain_number(None) is None
    assert plain_interval(None) is None
    assert plain_interval(Interval(None, Fraction(1, 2), 0.95)) == [None, 0.5]
    assert plain_refusal(None) is None


def test_a_number_is_written_with_ten_decimals_whether_it_is_a_fraction_or_a_float():
    assert plain_number(Fraction(1, 3)) == plain_number(1 / 3) == 0.3333333333


def test_a_claim_is_written_with_its_words_and_its_interval_with_what_else_is_said_of_it():
    failed = Verdict(
        claim="recall",
        outcome=Outcome.FAIL,
        reason=Reason.THRESHOLD_MISSED,
        detail="too low",
        estimate=Fraction(1, 2),
        numerator=5,
        denominator=10,
        interval=Interval(0.2, 0.8, 0.95),
        threshold=Fraction(4, 5),
        advisory=True,
    )
    assert list(plain_claim(failed, level=0.95).items()) == [
        ("claim", "recall"),
        ("outcome", "fail"),
        ("reason", "threshold_missed"),
        ("detail", "too low"),
        ("estimate", 0.5),
        ("numerator", 5),
        ("denominator", 10),
        ("interval", [0.2, 0.8]),
        ("level", 0.95),
        ("threshold", 0.8),
        ("advisory", True),
    ]
    assert "level" not in plain_claim(failed)


def test_a_refusal_is_written_with_its_reason_in_one_word():
    assert plain_refusal(Refusal(Reason.JUDGE_DOWN, "gone")) == {"reason": "judge_down", "detail": "gone"}
