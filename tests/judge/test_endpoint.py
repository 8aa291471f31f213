import dataclasses
import json

import pytest

from eval_pipeline.errors import JudgeUnknown, Refused
from eval_pipeline.judge import chat
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Standing, fingerprint, key, standing_of
from eval_pipeline.judge.spending import Caps, Prices
from eval_pipeline.records import Question

NOWHERE = "http://127.0.0.1:9/v1"
QUESTION = Question("e1", ('He said: "}\n', "It isn't."), "A {hypothesis}.")
NLI = prompt_named("nli-v1")

ANOTHER_VALUE = {  # of each field, and not the one that the tests' endpoint has
    "base_url": "http://127.0.0.1:8/v1",
    "model": "n",
    "revision": "r2",
    "max_tokens": 9,
    "extra": {"seed": 7},
    "api_key": "sk-other",
    "in_flight": 64,
    "attempt_timeout_s": 7.0,
    "total_timeout_s": 7.0,
    "prices": Prices(0.15, 0.6),
}
FIELDS = {field.name: field for field in dataclasses.fields(Endpoint)}


def test_every_field_is_declared_to_be_part_of_the_identity_or_not():
    """Whoever adds a field says whether the labels depend on it, here and there."""
    undeclared = [name for name, field in FIELDS.items() if not isinstance(field.metadata.get("identity"), bool)]
    assert undeclared == []
    assert set(FIELDS) == set(ANOTHER_VALUE)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_makes_another_judge_if_and_only_if_it_is_declared_to(chat_at, name):
    endpoint = {"base_url": NOWHERE, "api_key": "sk-one", "revision": "r1"}
    before, after = chat_at(**endpoint), chat_at(**endpoint | {name: ANOTHER_VALUE[name]})
    changes = FIELDS[name].metadata["identity"]
    assert (fingerprint(after) != fingerprint(before)) is changes
    assert (key(after, QUESTION) != key(before, QUESTION)) is changes


@pytest.mark.parametrize(
    ("extra", "decoding"),
    [
        ({}, {"temperature": 0, "max_tokens": 8}),
        ({"top_p": 0.9, "seed": 7}, {"temperature": 0, "max_tokens": 8, "top_p": 0.9, "seed": 7}),
        ({"temperature": 0.5}, {"temperature": 0.5, "max_tokens": 8}),
        ({"temperature": None}, {"max_tokens": 8}),
        ({"max_tokens": None, "max_completion_tokens": 64}, {"temperature": 0, "max_completion_tokens": 64}),
        ({"top_p": None}, {"temperature": 0, "max_tokens": 8}),
        ({"logprobs": False, "stop": []}, {"temperature": 0, "max_tokens": 8, "logprobs": False, "stop": []}),
        (
            {"provider": {"order": ["a", None]}, "reasoning": {"effort": None}},
            {
                "temperature": 0,
                "max_tokens": 8,
                "provider": {"order": ["a", None]},
                "reasoning": {"effort": None},
            },
        ),
    ],
    ids=["none", "more", "other value", "null", "null and its successor", "null of none of ours", "falsy", "nested"],
)
def test_extra_fields_go_into_the_body_and_into_the_identity(server, completion, chat_at, answers_of, extra, decoding):
    """What is sent is what counts: the body beside model and messages is the decoding of the identity."""
    server.in_turn(completion("SUPPORTED"))
    judge = chat_at(server.url, extra=extra)
    answers_of(judge, QUESTION)
    sent = {name: value for name, value in server.requests[0].body.items() if name not in ("model", "messages")}
    assert sent == judge.identity["decoding"] == decoding


@pytest.mark.parametrize(
    ("extra", "longest"),
    [
        ({}, 8),
        ({"max_tokens": 600}, 600),
        ({"max_tokens": None, "max_completion_tokens": 600}, 600),
        ({"max_completion_tokens": 600}, 600),
        ({"max_completion_tokens": 2}, 8),
        ({"max_tokens": None}, None),
    ],
    ids=["none", "other value", "its successor", "both, more", "both, less", "no limit"],
)
def test_the_longest_answer_is_the_longest_that_the_request_allows(endpoint_at, chat_at, extra, longest):
    """Where it sets no limit, what the house would have set is as good a guess as any."""
    assert endpoint_at(NOWHERE, extra=extra).longest_answer == longest
    assert chat_at(NOWHERE, extra=extra).longest_answer == (longest or 8)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("value", ["600", 0, -1, 1.5, True, [8]], ids=repr)
def test_a_longest_answer_that_is_no_number_of_tokens_is_refused(chat_at, name, value):
    with pytest.raises(JudgeUnknown, match=f"{name}.*expected a whole number of 1 or more, or null"):
        chat_at(NOWHERE, extra={name: value})


def test_settings_that_send_the_same_body_are_the_same_judge(chat_at):
    plain = fingerprint(chat_at(NOWHERE, max_tokens=9))
    assert fingerprint(chat_at(NOWHERE, max_tokens=9, extra={"temperature": 0})) == plain
    assert fingerprint(chat_at(NOWHERE, max_tokens=8, extra={"max_tokens": 9})) == plain
    assert fingerprint(chat_at(NOWHERE, max_tokens=9, extra={"top_p": None})) == plain


def test_the_order_of_the_extra_fields_makes_no_other_judge(chat_at):
    one, other = {"seed": 7, "top_p": 1}, {"top_p": 1, "seed": 7}
    assert fingerprint(chat_at(NOWHERE, extra=one)) == fingerprint(chat_at(NOWHERE, extra=other))


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({"model": "x"}, "model"),
        ({"messages": []}, "messages"),
        ({"stream": True}, "stream"),
        ({"n": 2}, "n"),
        ({"stream": None}, "stream"),
        ({"seed": 7, "n": 1, "model": None}, "model, n"),
    ],
    ids=["model", "messages", "stream", "n", "null", "several"],
)
def test_an_extra_field_that_is_the_houses_is_refused_in_one_sentence(chat_at, extra, named):
    """Before anything is asked, null or not: without these the answer could not be read, or would be another's."""
    with pytest.raises(JudgeUnknown, match=f"extra fields set {named}, which the house sets; take it out") as refused:
        chat_at(NOWHERE, extra=extra)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("base_url", ["127.0.0.1:9/v1", "http://127.0.0.1:port/v1", "http://[::1/v1", "ftp://x/v1", ""])
def test_a_base_url_that_is_none_is_refused_in_a_sentence(chat_at, base_url):
    with pytest.raises(Refused) as refused:
        chat_at(base_url)
    assert repr(base_url) in str(refused.value)


@pytest.mark.parametrize(("before", "after"), [("", "/"), ("", "//"), (" ", " \n")], ids=["slash", "slashes", "blanks"])
def test_what_stands_around_the_base_url_does_no_harm(server, completion, chat_at, answers_of, before, after):
    server.in_turn(completion("SUPPORTED"))
    judge = chat_at(f"{before}{server.url}{after}")
    answers_of(judge, QUESTION)
    assert server.requests[0].path == "/v1/chat/completions"
    assert judge.identity == chat_at(server.url).identity


def test_the_key_is_not_shown_with_the_endpoint(endpoint_at):
    assert "sk-secret" not in repr(endpoint_at(NOWHERE, api_key="sk-secret"))


def key_with(chat_at, question=QUESTION, **changes):
    return key(chat_at(NOWHERE, **changes), question)


@pytest.mark.parametrize(
    "changes",
    [
        {"revision": "r1"},
        {"extra": {"temperature": None}},
        {"prompt": prompt_named("nli-compat")},
        {"prompt": dataclasses.replace(NLI, system=NLI.system + " Be brief.")},
        {"prompt": dataclasses.replace(NLI, reminder="Again, please.")},
        {"prompt": dataclasses.replace(NLI, reminder=None)},
        {"prompt": dataclasses.replace(NLI, reading=NLI.reading + "+")},
        {"question": dataclasses.replace(QUESTION, premise=("He said: x", "It isn't."))},
        {"question": dataclasses.replace(QUESTION, premise="\n\n".join(QUESTION.premise))},
        {"question": dataclasses.replace(QUESTION, premise=QUESTION.premise[::-1])},
        {"question": dataclasses.replace(QUESTION, hypothesis="Another.")},
        {"question": dataclasses.replace(QUESTION, repeat=1)},
    ],
    ids=[
        "a revision",
        "no temperature",
        "prompt",
        "words of the prompt",
        "words of the reminder",
        "no reminder",
        "rule that reads",
        "premise",
        "one text for two",
        "order of the texts",
        "hypothesis",
        "repeat",
    ],
)
def test_what_the_answer_depends_on_changes_the_key(chat_at, changes):
    assert key_with(chat_at, **changes) != key_with(chat_at)


@pytest.mark.parametrize(
    "changes",
    [
        {"api_key": "sk-other"},
        {"attempts": 6},
        {"caps": Caps(1, 1, 1.0), "prices": Prices(1.0, 1.0)},
        {"question": dataclasses.replace(QUESTION, entry_id="e2")},
    ],
    ids=["key", "attempts", "caps and prices", "entry"],
)
def test_what_the_answer_does_not_depend_on_does_not_change_the_key(chat_at, changes):
    assert key_with(chat_at, **changes) == key_with(chat_at)


def test_two_repeats_of_a_question_are_two_questions(chat_at):
    keys = {key_with(chat_at, question=dataclasses.replace(QUESTION, repeat=number)) for number in range(3)}
    assert len(keys) == 3


def test_the_times_of_the_client_are_no_part_of_the_key(chat_at, monkeypatch):
    before = key_with(chat_at)
    for name in ("PROBE_ATTEMPTS", "PROBE_TIMEOUT_S", "FIRST_WAIT_S", "LONGEST_WAIT_S"):
        monkeypatch.setattr(chat, name, 7)
    assert key_with(chat_at) == before


def test_the_identity_is_what_the_labels_depend_on(chat_at):
    judge = chat_at(NOWHERE, api_key="sk-secret", revision="r1")
    assert standing_of(judge.identity) is Standing.UNCALIBRATED
    assert judge.identity == {
        "kind": "chat",
        "base_url": NOWHERE,
        "model": "m",
        "revision": "r1",
        "prompt": {"id": "nli-v1", "sha256": NLI.hash},
        "decoding": {"temperature": 0, "max_tokens": 8},
    }
    assert json.loads(json.dumps(judge.identity)) == judge.identity  # as a journal holds it
    assert fingerprint(judge) == fingerprint(chat_at(NOWHERE, api_key="", revision="r1", in_flight=64))
