"""Oracles tell a truth or say why they cannot, and nothing that went wrong in them is read as false."""

import stat
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.studies.judge_reliability.oracles.answer import Answer, Unavailable
from eval_pipeline.studies.judge_reliability.oracles.arithmetic import math_answer
from eval_pipeline.studies.judge_reliability.oracles.code import Tools, code_answer, code_answers, installed_tools
from eval_pipeline.studies.judge_reliability.oracles.schema import schema_answer
from eval_pipeline.studies.judge_reliability.oracles.spec import spec_answer
from eval_pipeline.studies.judge_reliability.words import Truth

TOLERANCE = Fraction(1, 10**9)
HOLDS, FAILS = Truth
UNREADABLE, LARGE = Unavailable.UNREADABLE, Unavailable.BEYOND_ITS_MEANS


def computed(expression, expected):
    answer = math_answer({"expression": expression, "expected": expected}, tolerance=TOLERANCE)
    return answer.truth or answer.unavailable


def test_an_answer_is_a_truth_or_a_reason():
    for fields in ((None, None), (HOLDS, UNREADABLE)):
        with pytest.raises(ValueError, match="a truth, or the reason why there is none"):
            Answer(*fields, "")


@pytest.mark.parametrize(
    ("expression", "expected", "said"),
    [
        ("1e-9", 0, HOLDS),  # as far off as may be
        ("1.0000000001e-9", 0, FAILS),
        ("sqrt(2)", "1.4142135624", HOLDS),
        ("sqrt(2)", "1.414213561", FAILS),
        ("2^3^2", 512, HOLDS),
        ("-7 % 3", 2, HOLDS),
        ("log(8, 2)", 3, HOLDS),
        ("tan(pi / 4)", 1, HOLDS),
        ("sqrt(-1)^2", -1, HOLDS),
        ("floor(-1.5) + ceil(1.2) + abs(-3)", 3, HOLDS),
        ("max(1, 2) - min(1, 2)", 1, HOLDS),
        ("10^400 + 1 - 10^400", 1, HOLDS),
        ("1 / (1 / 0)", 0, FAILS),
        ("0^-1", 0, FAILS),
        ("5 % 0", 0, FAILS),
        ("1 / tan(pi / 2)", 0, FAILS),
        ("log(0)", 0, FAILS),
        ("1 / (sqrt(2)^2 - 2)", 0, FAILS),
        ("(-8)^(1/3)", -2, FAILS),  # the principal root is complex
        ("nan", "nan", FAILS),
        ("combinations(-1, 2)", 1, FAILS),
        ("2 +", 2, UNREADABLE),
        ("x + 1", 2, UNREADABLE),
        ("sqrt(1, 2, 3)", 2, UNREADABLE),
        ("'a' * 3", 2, UNREADABLE),
        ("1 if 2 else 3", 1, UNREADABLE),
        ("9^9^9^9", 1, LARGE),
        ("factorial(3000)", 1, LARGE),
        ("exp(exp(exp(20)))", 1, LARGE),
        ("1+" * 300 + "1", 301, LARGE),
    ],
)
def test_values(expression, expected, said):
    assert computed(expression, expected) == said


@pytest.mark.parametrize(
    "attack",
    [
        "__import__('os').system('touch {}')",
        "(lambda: open('{}', 'w'))()",
        "sqrt.__globals__",
        "[open('{}', 'w') for x in (1,)][0]",
        "eval('1')",
        "exec('1')",
        "abs(open('{}', 'w'))",
    ],
)
def test_nothing_of_an_expression_is_executed(attack, tmp_path):
    assert computed(attack.format(tmp_path / "made"), 1) is UNREADABLE
    assert not list(tmp_path.iterdir())


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(1, 1000))
def test_fractions_are_exact(a, b, c):
    assert computed(f"({a}) + ({b}) / {c}", f"{a * c + b} / {c}") is HOLDS
    assert computed(f"({a}) + ({b}) / {c}", f"({a * c + b} + 0.001) / {c}") is FAILS


@given(st.text(max_size=12))
def test_any_text_gets_an_answer(text):
    assert computed(text, 1) in (HOLDS, FAILS, *Unavailable)


@pytest.mark.parametrize("content", [{}, {"expression": 1, "expected": 1}, {"expression": "1"}, "1 + 1", None])
def test_what_is_no_claim_of_the_oracle_is_unreadable(content):
    for answer in (
        math_answer(content, tolerance=TOLERANCE),
        schema_answer(content),
        spec_answer(content),
        code_answer(content, tools=Tools(None, None), timeout_s=1),
    ):
        assert answer.unavailable is UNREADABLE


@pytest.mark.parametrize(
    ("schema", "instance", "valid", "said"),
    [
        ({"type": "integer"}, 3, True, HOLDS),
        ({"type": "integer"}, "3", True, FAILS),
        ({"type": "integer"}, "3", False, HOLDS),
        (True, 3, True, HOLDS),
        (False, 3, True, FAILS),
        ({"format": "email"}, "no address", True, HOLDS),  # formats are not asserted
        (
            {"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "null"}]},
            [1],
            True,
            FAILS,
        ),
        ({"prefixItems": [{"type": "null"}]}, [1], True, HOLDS),  # draft 7 does not know the word
        ({"type": "nope"}, 1, False, UNREADABLE),
        ({"minimum": "x"}, 1, False, UNREADABLE),
        ({"pattern": "("}, "a", False, UNREADABLE),
        ({"$ref": "#/definitions/absent"}, 1, False, UNREADABLE),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, 1, False, UNREADABLE),
        ({"$ref": "#"}, 1, False, UNREADABLE),
        ([], 1, False, UNREADABLE),
        ("integer", 1, False, UNREADABLE),
    ],
)
def test_schemas(schema, instance, valid, said):
    answer = schema_answer({"schema": schema, "instance": instance, "expected_valid": valid})
    assert (answer.truth or answer.unavailable) == said


def test_no_schema_is_fetched(monkeypatch):
    asked = []
    monkeypatch.setattr("urllib.request.urlopen", asked.append)
    content = {"schema": {"$ref": "http://127.0.0.1:9/schema.json"}, "instance": 1, "expected_valid": True}
    assert schema_answer(content).unavailable is UNREADABLE
    assert asked == []


DOCUMENT = "# A\n\n- REQ-1: must be\n- REQ-12: may be\n\n## B\n\nREQ-1 and REQ-2 are five words\n\n## A ##\n\n1) one\n"


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ({"kind": "section_present", "heading": "b"}, True),
        ({"kind": "section_present", "heading": "C"}, False),
        ({"kind": "sections_in_order", "headings": ["A", "B"]}, True),
        ({"kind": "sections_in_order", "headings": ["B", "A"]}, False),
        ({"kind": "sections_in_order", "headings": ["B", "C"]}, False),
        ({"kind": "section_at_most_words", "heading": "B", "words": 6}, True),
        ({"kind": "section_at_most_words", "heading": "B", "words": 5}, False),
        ({"kind": "section_at_most_words", "heading": "C", "words": 5}, False),
        ({"kind": "items_at_least", "heading": "A", "items": 2}, True),
        ({"kind": "items_at_least", "heading": "A", "items": 3}, False),
        ({"kind": "items_at_least", "heading": "C", "items": 0}, False),
        ({"kind": "every_item_mentions", "heading": "A", "any_of": ["MUST", "may"]}, True),
        ({"kind": "every_item_mentions", "heading": "A", "any_of": ["must"]}, False),
        ({"kind": "every_item_mentions", "heading": "B", "any_of": ["five"]}, False),
        ({"kind": "every_item_mentions", "heading": "A", "any_of": []}, False),
        ({"kind": "text_absent", "text": "six"}, True),
        ({"kind": "text_absent", "text": "Five Words"}, False),
        ({"kind": "ids_unique", "prefix": "REQ"}, True),
        ({"kind": "ids_defined", "prefix": "REQ"}, False),
        ({"kind": "ids_defined", "prefix": "R"}, True),
    ],
)
def test_rules_of_documents(rule, kept):
    for expected, truth in ((kept, HOLDS), (not kept, FAILS)):
        answer = spec_answer({"document": DOCUMENT, "rule": rule, "expected_valid": expected})
        assert answer.truth is truth
        assert "by rules of this house" in answer.evidence


def test_a_rule_that_nobody_knows_is_unreadable():
    content = {"document": "", "rule": {"kind": "reads_well"}, "expected_valid": True}
    assert spec_answer(content).unavailable is UNREADABLE


FINE = {"language": "python", "snippet": "x: int = 1\n", "expected_valid": True}


def checker(tmp_path, body):
    """A program of this body in the checker's place."""
    path = tmp_path / "checker"
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return (str(path),)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("time.sleep(30)", Unavailable.TIMED_OUT),
        ("raise SystemExit(3)", Unavailable.CRASHED),
        ("print('config is wrong'); raise SystemExit(1)", Unavailable.CRASHED),
        ("raise SystemExit(1)", Unavailable.CRASHED),  # faults without a fault
        ("print('{}')", Unavailable.CRASHED),
    ],
)
def test_a_checker_that_goes_wrong_tells_nothing(tmp_path, body, why):
    tools = Tools(checker(tmp_path, body), None)
    answer = code_answer(FINE, tools=tools, timeout_s=1.0 if why is Unavailable.TIMED_OUT else 60)
    assert (answer.truth, answer.unavailable) == (None, why)


def test_a_module_that_does_not_exist_is_a_missing_tool_and_no_fault_of_the_snippet():
    """`python -m` of what is not there ends with 1, as a checker does that found faults."""
    tools = Tools((sys.executable, "-I", "-m", "no_such_checker"), None)
    assert code_answer(FINE, tools=tools, timeout_s=60).unavailable is Unavailable.CRASHED
    assert code_answer(FINE, tools=Tools(None, None), timeout_s=60).unavailable is Unavailable.MISSING_TOOL


def test_many_snippets_are_checked_at_once_and_each_is_answered_for_itself():
    snippets = ["def f(x) :\n    return x\n", "x: int = 'a'\n", "x: int = 1\n", "def (\n", "import absent_module\n"]
    snippets.append("# mypy: ignore-errors\nx: int = 'a'\n")
    contents = [{"language": "python", "snippet": one, "expected_valid": True} for one in snippets]
    answers = code_answers(contents, tools=installed_tools(), timeout_s=60)
    said = [answer.truth or answer.unavailable for answer in answers]
    assert said == [FAILS, FAILS, HOLDS, FAILS, UNREADABLE, UNREADABLE]
    assert "no-untyped-def" in answers[0].evidence


def test_where_a_checker_fails_over_all_each_snippet_is_asked_for_alone(tmp_path):
    """It crashes on the first of both."""
    body = "raise SystemExit(3 if 'claim_0.py' in sys.argv else 0)"
    tools = Tools(checker(tmp_path, body), None)
    answers = code_answers([FINE, FINE], tools=tools, timeout_s=60)
    assert [one.truth or one.unavailable for one in answers] == [Unavailable.CRASHED, HOLDS]


TYPESCRIPT = {"language": "typescript", "snippet": "const a: number = 1;", "expected_valid": True}


@pytest.mark.parametrize(
    ("printed", "status", "said"),
    [
        ("", 0, HOLDS),
        ("claim_0.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.", 2, FAILS),
        ("claim_0.ts(1,7): error TS2322: Wrong.\\n  Because of this.", 1, FAILS),
        ("claim_0.ts(1,7): error TS2307: Cannot find module 'zod'.", 1, UNREADABLE),
        ("error TS5112: tsconfig.json is present but will not be loaded.", 1, Unavailable.MISCONFIGURED),
        ("tsconfig.json(1,35): error TS5023: Unknown compiler option.", 1, Unavailable.MISCONFIGURED),
        ("", 1, Unavailable.CRASHED),
        ("claim_0.ts(1,7): error TS2322: Wrong.", 0, Unavailable.CRASHED),
    ],
)
def test_what_the_compiler_of_typescript_says(tmp_path, printed, status, said):
    tools = Tools(
        None, checker(tmp_path, f"print({printed!r}.replace('\\\\n', '\\n'), end=''); raise SystemExit({status})")
    )
    answer = code_answer(TYPESCRIPT, tools=tools, timeout_s=60)
    assert (answer.truth or answer.unavailable) == said


def test_the_compiler_of_typescript_may_be_absent():
    answer = code_answer(TYPESCRIPT, tools=Tools(("anything",), None), timeout_s=60)
    assert answer.unavailable is Unavailable.MISSING_TOOL
