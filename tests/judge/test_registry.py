import json

import pytest

from eval_pipeline.errors import JudgeUnknown, MalformedJournal, MalformedLabels
from eval_pipeline.judge.chat import Endpoint
from eval_pipeline.judge.journal import record_fields
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import key
from eval_pipeline.judge.registry import judge_named
from eval_pipeline.records import Answer, Judgment, Label, Question

NOWHERE = Endpoint(base_url="", model="", api_key="", revision="", max_tokens=8, in_flight=4)
SOMEWHERE = Endpoint(
    base_url="http://127.0.0.1:9/v1", model="m", api_key="sk-secret", revision="r1", max_tokens=8, in_flight=4
)


def named(name, endpoint=NOWHERE):
    return judge_named(name, prompt_named("nli-v1"), endpoint)


def test_lexical_needs_no_file_and_no_endpoint():
    assert named("lexical") == LexicalJudge()


def test_labels_are_read_from_the_file_that_is_named(tmp_path):
    path = tmp_path / "labels:of monday.jsonl"
    path.write_text(json.dumps({"entry_id": "e1", "proposition": "Cats purr.", "supported": True}) + "\n")
    assert named(f"labels:{path}").labels == {("e1", "Cats purr."): True}


def test_a_replay_is_read_from_the_journal_that_is_named(tmp_path):
    question = Question("e1", "P.", "H.")
    answer = Answer("SUPPORTED", None, 1, 0.0, None)
    judgment = Judgment(key(LexicalJudge(), question), question, answer, Label.SUPPORTED, None)
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(record_fields(judgment, LexicalJudge())) + "\n")
    for name in (f"replay:{path}", f"replay:{tmp_path}"):
        assert named(name).identity == LexicalJudge().identity
        assert named(name).answers == {judgment.key: answer}


def test_chat_asks_the_endpoint_with_the_plans_prompt():
    judge = named("chat", SOMEWHERE)
    assert judge.kind == "chat"
    assert judge.in_flight == 4
    assert judge.identity["base_url"] == "http://127.0.0.1:9/v1"
    assert judge.identity["prompt"]["id"] == "nli-v1"


@pytest.mark.parametrize("name", ["", "gpt", "LEXICAL", "lexical:x", "chat:gpt", ":", " lexical", "labels.jsonl"])
def test_a_judge_that_does_not_exist_is_refused_with_those_that_do(name):
    with pytest.raises(JudgeUnknown) as refused:
        named(name, SOMEWHERE)
    assert repr(name) in str(refused.value)
    for kind in ("lexical", "labels:FILE", "replay:JOURNAL", "chat"):
        assert kind in str(refused.value)


@pytest.mark.parametrize("kind", ["labels", "replay"])
@pytest.mark.parametrize("end", ["", ":"])
def test_a_kind_that_needs_a_file_says_so(kind, end):
    with pytest.raises(JudgeUnknown, match=f"write {kind}:FILE"):
        named(kind + end)


@pytest.mark.parametrize(("kind", "refusal"), [("labels", MalformedLabels), ("replay", MalformedJournal)])
def test_a_file_that_is_not_there_is_refused(tmp_path, kind, refusal):
    with pytest.raises(refusal, match="absent"):
        named(f"{kind}:{tmp_path / 'absent.jsonl'}")


@pytest.mark.parametrize(
    ("base_url", "model", "named_variables", "unnamed"),
    [
        ("", "", ["EVAL_PIPELINE_JUDGE_BASE_URL", "EVAL_PIPELINE_JUDGE_MODEL"], []),
        ("http://127.0.0.1:9/v1", "", ["EVAL_PIPELINE_JUDGE_MODEL"], ["EVAL_PIPELINE_JUDGE_BASE_URL"]),
        ("", "m", ["EVAL_PIPELINE_JUDGE_BASE_URL"], ["EVAL_PIPELINE_JUDGE_MODEL"]),
    ],
    ids=["both", "model", "base URL"],
)
def test_chat_without_an_endpoint_names_what_is_to_be_set(base_url, model, named_variables, unnamed):
    endpoint = Endpoint(base_url=base_url, model=model, api_key="sk-secret", revision="", max_tokens=8, in_flight=4)
    with pytest.raises(JudgeUnknown) as refused:
        named("chat", endpoint)
    assert all(variable in str(refused.value) for variable in named_variables)
    assert not any(variable in str(refused.value) for variable in unnamed)
    assert "sk-secret" not in str(refused.value)


def test_a_replay_under_another_prompt_than_the_recorded_one_is_refused(tmp_path):
    question = Question("e1", "P.", "H.")
    judge = named("chat", SOMEWHERE)
    judgment = Judgment(key(judge, question), question, Answer("SUPPORTED", None, 1, 0.0, 9), Label.SUPPORTED, None)
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(record_fields(judgment, judge)) + "\n")
    assert named(f"replay:{path}").identity == judge.identity
    with pytest.raises(JudgeUnknown, match="'nli-v1' and the plan has 'nli-compat'"):
        judge_named(f"replay:{path}", prompt_named("nli-compat"), NOWHERE)


@pytest.mark.parametrize(
    ("base_url", "api_key", "said"),
    [
        ("ftp://127.0.0.1/v1", "", "is no http URL"),
        ("localhost:8080", "", "is no http URL"),
        ("http:///v1", "", "is no http URL"),
        ("http://127.0.0.1:no/v1", "", "is no http URL"),
        ("http://127.0.0.1/v1?key=SECRET", "", "a user, a query or a fragment"),
        ("http://127.0.0.1/v1?", "", "a user, a query or a fragment"),
        ("http://127.0.0.1/v1#", "", "a user, a query or a fragment"),
        ("http://u:SECRET@127.0.0.1/v1", "sk-k", "a user, a query or a fragment"),
        ("http://u:SECRET@127.0.0.1:port/v1", "", "a user, a query or a fragment"),
        ("ftp://u:SECRET@127.0.0.1/v1", "", "a user, a query or a fragment"),
        ("u:SECRET@127.0.0.1/v1", "", "a user, a query or a fragment"),
    ],
)
def test_a_base_url_that_cannot_be_one_is_refused_before_anything_is_asked(base_url, api_key, said):
    with pytest.raises(JudgeUnknown, match=said) as refused:
        named("chat", Endpoint(base_url, "m", api_key, "", 8, 4))
    assert "SECRET" not in str(refused.value)


def test_a_slash_at_the_end_of_a_base_url_makes_no_other_judge():
    with_slash = Endpoint("http://127.0.0.1:9/v1/", "m", "sk-secret", "r1", 8, 4)
    assert named("chat", with_slash).identity == named("chat", SOMEWHERE).identity
