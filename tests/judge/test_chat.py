import asyncio
import dataclasses
import gzip
import json
import random
import socket
import time
from email.utils import formatdate

import httpx
import pytest

from eval_pipeline.errors import JudgeDown, Refused
from eval_pipeline.judge import chat
from eval_pipeline.judge.chat import Endpoint
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.journal import JournalWriter
from eval_pipeline.judge.prompt import Prompt, prompt_named, read_one_word
from eval_pipeline.judge.protocol import Standing, fingerprint, key, standing_of
from eval_pipeline.records import NoLabel, Question

KEY = "sk-do-not-tell-0123456789"
QUESTION = Question("e1", ('He said: "}\n', "It isn't."), "A {hypothesis}.")

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def answer_of(server, chat_at, answers_of):
    """The answer to one question at the server of this test."""
    return lambda **changes: answers_of(chat_at(server.url, **changes), QUESTION)[0]


def test_a_question_is_one_request_that_holds_all_and_only_what_the_model_needs(server, completion, answer_of):
    server.in_turn(completion("SUPPORTED", tokens=57))
    answer = answer_of(api_key=KEY, max_tokens=9)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": prompt_named("nli-v1").system},
            {"role": "user", "content": request.body["messages"][1]["content"]},
        ],
        "temperature": 0,
        "max_tokens": 9,
    }
    assert request.question == {"premise": list(QUESTION.premise), "hypothesis": QUESTION.hypothesis}
    assert (answer.raw, answer.no_label, answer.attempts, answer.tokens) == ("SUPPORTED", None, 1, 57)


def test_without_a_key_none_is_sent(server, completion, answer_of):
    server.in_turn(completion("SUPPORTED"))
    answer_of()
    assert "authorization" not in server.requests[0].headers


def test_a_slash_at_the_end_of_the_base_url_does_no_harm(server, completion, chat_at, answers_of):
    server.in_turn(completion("SUPPORTED"))
    answers_of(chat_at(server.url + "/"), QUESTION)
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("words", ["NOT_SUPPORTED", " **Supported**. ", "Perhaps; it depends.", "", "Été “x”\n"])
def test_the_words_of_the_model_are_kept_as_they_stood(server, completion, answer_of, words):
    server.in_turn(completion(words))
    answer = answer_of()
    assert (answer.raw, answer.no_label) == (words, None)


def test_a_server_that_does_not_count_tokens_is_read(server, reply, answer_of):
    server.in_turn(reply(body=b'{"choices": [{"message": {"content": "SUPPORTED"}}]}'))
    answer = answer_of()
    assert (answer.raw, answer.tokens) == ("SUPPORTED", None)


def test_a_compressed_answer_is_read(server, reply, completion, answer_of):
    body = gzip.compress(completion("SUPPORTED").body)
    server.in_turn(reply(body=body, headers={"Content-Encoding": "gzip"}))
    assert answer_of().raw == "SUPPORTED"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 408}, id="408"),
        pytest.param({"status": 429}, id="429"),
        pytest.param({"status": 500}, id="500"),
        pytest.param({"status": 502, "body": b"<html>Bad gateway</html>"}, id="502 as HTML"),
        pytest.param({"status": 503}, id="503"),
        pytest.param({"status": 529}, id="529"),
        pytest.param({"sent": "reset"}, id="reset"),
        pytest.param({"sent": "hung up"}, id="hung up"),
        pytest.param({"sent": "cut", "body": b'{"choices": [{"message": {"content": "SUPPORTED"}}]}'}, id="cut"),
        pytest.param({"sent": "not http"}, id="not HTTP"),
        pytest.param({"sent": "drip", "body": b"{}"}, id="a byte at a time"),
        pytest.param({"delay_s": 0.8}, id="timeout"),
        pytest.param({"body": b"<html>Sign in</html>", "headers": {"Content-Type": "text/html"}}, id="HTML page"),
        pytest.param({"body": b'{"choices": [{"mess'}, id="truncated JSON"),
        pytest.param({"body": b""}, id="empty body"),
        pytest.param({"body": b"[]"}, id="JSON of another shape"),
        pytest.param({"body": b'{"choices": []}'}, id="no choices"),
        pytest.param({"body": b'{"error": {"message": "Provider returned error"}}'}, id="error with status 200"),
        pytest.param({"body": b"not gzip", "headers": {"Content-Encoding": "gzip"}}, id="broken compression"),
    ],
)
class TestAFaultThatMayPass:
    def test_is_asked_again_until_there_is_an_answer(self, server, reply, completion, answer_of, fault):
        server.in_turn(reply(**fault), reply(**fault), completion("SUPPORTED"))
        answer = answer_of()
        assert (answer.raw, answer.no_label, answer.attempts) == ("SUPPORTED", None, 3)
        assert len(server.requests) == 3

    def test_is_no_label_after_the_last_attempt(self, server, reply, answer_of, quick, fault):
        quick.setattr(chat, "ATTEMPTS", 2)
        server.in_turn(reply(**fault))
        answer = answer_of()
        timed_out = "delay_s" in fault or fault.get("sent") == "drip"
        expected = NoLabel.TIMED_OUT if timed_out else NoLabel.FAILED
        assert (answer.raw, answer.no_label, answer.attempts) == (None, expected, 2)
        assert len(server.requests) == 2


def test_a_refused_connection_has_failed_rather_than_timed_out(chat_at, answers_of):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"  # bound, and nobody listens
        (answer,) = answers_of(chat_at(url), QUESTION)
    assert (answer.raw, answer.no_label, answer.attempts) == (None, NoLabel.FAILED, 3)


def test_the_reason_is_that_of_the_last_attempt(server, reply, answer_of):
    server.in_turn(reply(500), reply(delay_s=0.8), reply(503))
    assert answer_of().no_label is NoLabel.FAILED
    server.requests.clear()
    server.in_turn(reply(500), reply(503), reply(delay_s=0.8))
    assert answer_of().no_label is NoLabel.TIMED_OUT


def test_latency_counts_all_attempts(server, reply, completion, answer_of):
    server.in_turn(reply(500, delay_s=0.05), completion("SUPPORTED", delay_s=0.05))
    assert 0.1 <= answer_of().latency_s < 5


def test_the_waits_grow_and_are_random(server, reply, answer_of, quick):
    """The wait before attempt k + 1 is at most FIRST_WAIT_S * 2 ** (k - 1), less a share that is left to chance."""
    seeded = random.Random(0)
    quick.setattr(chat.random, "Random", lambda: seeded)
    quick.setattr(chat, "FIRST_WAIT_S", 0.02)
    quick.setattr(chat, "ATTEMPTS", 6)
    server.in_turn(reply(500))
    answer_of()
    waits = server.waits_s()
    assert len(waits) == 5
    assert max(waits) > 0.04  # with one and the same wait none would be over .02
    assert sum(waits) < 0.02 * (1 + 2 + 4 + 8 + 16) + 1


def test_retry_after_in_seconds_is_waited_for(server, problem, completion, answer_of):
    server.in_turn(problem(429, "slow down", Retry_After="1"), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert 1.0 <= server.waits_s()[0] < 3


def test_retry_after_as_a_date_is_waited_for(server, problem, completion, answer_of):
    """The date is of whole seconds, so 2 s from now may be little more than 1."""
    date = formatdate(time.time() + 2, usegmt=True)
    server.in_turn(problem(429, "slow down", Retry_After=date), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert 0.9 <= server.waits_s()[0] < 4


@pytest.mark.parametrize(
    ("status", "header"),
    [(429, "3600"), (503, formatdate(4102444800, usegmt=True)), (503, "inf")],
    ids=["an hour", "until 2100", "for ever"],
)
def test_retry_after_is_capped(server, problem, completion, answer_of, quick, status, header):
    quick.setattr(chat, "LONGEST_WAIT_S", 0.2)
    server.in_turn(problem(status, "slow down", Retry_After=header), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert 0.2 <= server.waits_s()[0] < 2


@pytest.mark.parametrize(
    "header",
    [
        "",
        "soon",
        "-5",
        "nan",
        "1 2",
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Wed, 99 Oct 2015 07:28:00 GMT",
        "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
    ],
)
def test_a_retry_after_that_makes_no_sense_or_has_passed_is_no_wait(server, problem, completion, answer_of, header):
    server.in_turn(problem(429, "slow down", Retry_After=header), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert server.waits_s()[0] < 1


def test_the_date_of_retry_after_is_read_in_its_zone():
    at = time.time() + 3600
    zoned = formatdate(at, usegmt=False, localtime=False)  # ends in -0000
    for header in (formatdate(at, usegmt=True), zoned):
        wait_s = chat._retry_after_s(httpx.Response(429, headers={"Retry-After": header}))
        assert wait_s == pytest.approx(3600, abs=2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_cannot_pass_stops_at_once_with_one_sentence(server, problem, answer_of, status):
    server.in_turn(problem(status, "The model\n  `m` does not exist"))
    with pytest.raises(JudgeDown) as down:
        answer_of(api_key=KEY)
    assert len(server.requests) == 1
    sentence = str(down.value)
    assert sentence.startswith(f"the judge at {server.url} ")
    assert f"(HTTP {status}: The model `m` does not exist)" in sentence
    assert "\n" not in sentence
    assert "correct its base URL, model or key" in sentence


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>\n<body>Not here</body>\n</html>", b'{"detail": "Not Found"}', b'{"error": "nope"}', b"\xff" * 5000],
    ids=["empty", "HTML", "other JSON", "text as error", "long rubbish"],
)
def test_a_refusal_of_any_shape_is_a_short_sentence(server, reply, answer_of, body):
    server.in_turn(reply(404, body))
    with pytest.raises(JudgeDown, match="HTTP 404") as down:
        answer_of()
    assert len(str(down.value)) < 400
    assert "\n" not in str(down.value)


@pytest.mark.parametrize("status", [402, 403, 429])
@pytest.mark.parametrize("code", ["insufficient_quota", "billing_hard_limit_reached"])
def test_a_quota_that_is_used_up_stops_at_once(server, problem, answer_of, status, code):
    server.in_turn(problem(status, "You exceeded your current quota", code=code, Retry_After="1"))
    with pytest.raises(JudgeDown, match=f"HTTP {status}"):
        answer_of()
    assert len(server.requests) == 1


def test_a_quota_that_is_used_up_is_named(server, problem, answer_of):
    server.in_turn(problem(429, "You exceeded your current quota", code="insufficient_quota"))
    with pytest.raises(JudgeDown, match="the quota is used up"):
        answer_of()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(
            400, {"message": "Please reduce the length.", "code": "context_length_exceeded"}, id="by its code"
        ),
        pytest.param(400, {"message": "This model's maximum context length is 8192 tokens."}, id="by its sentence"),
        pytest.param(413, {"message": "too many tokens"}, id="413"),
        pytest.param(
            400,
            {
                "message": "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
                "type": "exceed_context_size_error",
            },
            id="llama.cpp",
        ),
    ],
)
def test_a_text_that_is_too_long_is_an_event_of_its_question_and_ends_no_run(server, reply, answer_of, status, body):
    server.in_turn(reply(status, json.dumps({"error": body}).encode()))
    answer = answer_of()
    assert (answer.raw, answer.no_label, answer.attempts) == (None, NoLabel.TOO_LONG, 1)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("content", "finish_reason", "no_label"),
    [
        pytest.param("SUPPORTED because the", "length", NoLabel.CUT_OFF, id="cut off in a sentence"),
        pytest.param("", "length", NoLabel.CUT_OFF, id="cut off before a word"),
        pytest.param(None, "length", NoLabel.CUT_OFF, id="cut off without content"),
        pytest.param("SUPPORTED", "length", NoLabel.CUT_OFF, id="cut off after what reads as a label"),
        pytest.param("SUPPORTED", "content_filter", NoLabel.REFUSED, id="filtered"),
        pytest.param(None, "content_filter", NoLabel.REFUSED, id="filtered without content"),
        pytest.param(None, "stop", NoLabel.UNPARSABLE, id="null"),
    ],
)
def test_an_answer_without_words_of_its_own_says_why_and_is_not_asked_again(
    server, completion, answer_of, content, finish_reason, no_label
):
    """A cut-off answer is an event whatever it reads as: what was cut may have taken the label back."""
    server.in_turn(completion(content, finish_reason=finish_reason, tokens=12))
    answer = answer_of()
    assert (answer.raw, answer.no_label, answer.attempts, answer.tokens) == (content, no_label, 1, 12)
    assert len(server.requests) == 1


def test_a_refusal_of_the_model_is_refused(server, reply, answer_of):
    server.in_turn(reply(body=b'{"choices": [{"message": {"content": null, "refusal": "I cannot help."}}]}'))
    assert answer_of().no_label is NoLabel.REFUSED


def probe(judge):
    async def run():
        try:
            await judge.probe()
        finally:
            await judge.close()

    asyncio.run(run())


@pytest.mark.parametrize("content", ["SUPPORTED", "Hello!", "", None])
def test_a_judge_that_gives_any_completion_is_up(server, completion, chat_at, content):
    server.in_turn(completion(content))
    probe(chat_at(server.url))
    assert len(server.requests) == 1


def test_a_judge_that_stumbles_once_is_up(server, reply, completion, chat_at):
    server.in_turn(reply(503), completion("SUPPORTED"))
    probe(chat_at(server.url))
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"sent": "reset"},
        {"sent": "not http"},
        {"delay_s": 0.8},
        {"body": b"<html>Sign in</html>"},
        {"body": b'{"choices": []}'},
    ],
    ids=["500", "reset", "not HTTP", "timeout", "HTML page", "no choices"],
)
def test_a_judge_that_gives_no_completion_is_down(server, reply, chat_at, fault):
    server.in_turn(reply(**fault))
    with pytest.raises(
        JudgeDown, match=f"{server.url} gave no answer to a probe .*; start it, or correct the base URL"
    ):
        probe(chat_at(server.url))
    assert len(server.requests) == chat.PROBE_ATTEMPTS


def test_a_judge_that_refuses_the_key_is_down_with_that_sentence(server, problem, chat_at):
    server.in_turn(problem(401, "No auth credentials found"))
    with pytest.raises(JudgeDown, match="refuses the key"):
        probe(chat_at(server.url))


@pytest.mark.parametrize("base_url", ["127.0.0.1:9/v1", "http://127.0.0.1:port/v1", "http://[::1/v1", "ftp://x/v1"])
def test_a_base_url_that_is_none_is_refused_in_a_sentence(chat_at, base_url):
    with pytest.raises(Refused) as refused:
        probe(chat_at(base_url))
    assert base_url in str(refused.value)


def test_connections_are_reused_and_closed(server, completion, chat_at):
    server.in_turn(completion("SUPPORTED", delay_s=0.005))
    judge = chat_at(server.url, in_flight=3)

    async def run():
        for _ in range(5):
            await asyncio.gather(*[judge.answer(QUESTION) for _ in range(3)])
        await judge.close()

    asyncio.run(run())
    assert len(server.requests) == 15
    assert server.connections == 3
    assert server.open_after(at_most_s=2) == 0


def test_no_more_connections_are_opened_than_may_be_in_flight(server, completion, chat_at):
    server.in_turn(completion("SUPPORTED", delay_s=0.005))
    judge = chat_at(server.url, in_flight=2)

    async def run():
        await asyncio.gather(*[judge.answer(QUESTION) for _ in range(10)])
        await judge.close()

    asyncio.run(run())
    assert server.connections == server.most_in_flight == 2


def test_a_judge_that_was_closed_can_be_asked_again(server, completion, chat_at, answers_of):
    server.in_turn(completion("SUPPORTED"))
    judge = chat_at(server.url)
    assert [answers_of(judge, QUESTION)[0].raw for _ in range(2)] == ["SUPPORTED"] * 2
    assert server.open_after(at_most_s=2) == 0


def test_closing_a_judge_that_was_never_asked_does_nothing(chat_at):
    asyncio.run(chat_at("http://127.0.0.1:9/v1").close())


def test_a_connection_that_the_server_gave_up_meanwhile_costs_one_more_attempt_at_most(
    server, reply, completion, chat_at, answers_of
):
    server.in_turn(completion("SUPPORTED", headers={"Connection": "close"}), completion("NOT_SUPPORTED"))
    answers = answers_of(chat_at(server.url), QUESTION, QUESTION)
    assert [answer.raw for answer in answers] == ["SUPPORTED", "NOT_SUPPORTED"]
    assert answers[1].attempts <= 2


ENDPOINT = Endpoint(base_url="http://127.0.0.1:9/v1", model="m", api_key=KEY, revision="r1", max_tokens=8, in_flight=4)


def key_with(question=QUESTION, prompt=None, **changes):
    return key(chat.ChatJudge(dataclasses.replace(ENDPOINT, **changes), prompt or prompt_named("nli-v1")), question)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "n"},
        {"revision": "r2"},
        {"revision": ""},
        {"base_url": "http://127.0.0.1:8/v1"},
        {"max_tokens": 9},
        {"prompt": prompt_named("nli-compat")},
        {"prompt": Prompt("nli-v1", prompt_named("nli-v1").system + " Be brief.", read_one_word)},
        {"question": dataclasses.replace(QUESTION, premise=("He said: x", "It isn't."))},
        {"question": dataclasses.replace(QUESTION, premise="\n\n".join(QUESTION.premise))},
        {"question": dataclasses.replace(QUESTION, premise=QUESTION.premise[::-1])},
        {"question": dataclasses.replace(QUESTION, hypothesis="Another.")},
    ],
    ids=[
        "model",
        "revision",
        "no revision",
        "base URL",
        "decoding",
        "prompt",
        "words of the prompt",
        "premise",
        "one text for two",
        "order of the texts",
        "hypothesis",
    ],
)
def test_what_the_answer_depends_on_changes_the_key(changes):
    assert key_with(**changes) != key_with()


@pytest.mark.parametrize(
    "changes",
    [
        {"api_key": "sk-other"},
        {"api_key": ""},
        {"in_flight": 64},
        {"question": dataclasses.replace(QUESTION, entry_id="e2")},
    ],
    ids=["key", "no key", "in flight", "entry"],
)
def test_what_the_answer_does_not_depend_on_does_not_change_the_key(changes):
    assert key_with(**changes) == key_with()


def test_the_times_of_the_client_are_no_part_of_the_key(quick):
    before = key_with()
    for name in ("ATTEMPTS", "ATTEMPT_TIMEOUT_S", "FIRST_WAIT_S", "LONGEST_WAIT_S"):
        quick.setattr(chat, name, 7)
    assert key_with() == before


def test_the_identity_is_what_the_labels_depend_on(chat_at):
    judge = chat_at("http://127.0.0.1:9/v1", api_key=KEY, revision="r1")
    assert standing_of(judge.identity) is Standing.UNCALIBRATED
    assert judge.identity == {
        "kind": "chat",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "m",
        "revision": "r1",
        "prompt": {"id": "nli-v1", "sha256": prompt_named("nli-v1").hash},
        "decoding": {"temperature": 0, "max_tokens": 8},
    }
    assert fingerprint(judge) == fingerprint(chat_at("http://127.0.0.1:9/v1", api_key="", revision="r1", in_flight=64))


def test_the_key_of_the_endpoint_is_never_shown(server, completion, chat_at, tmp_path):
    server.in_turn(completion("SUPPORTED"))
    judge = chat_at(server.url, api_key=KEY)

    async def run():
        with JournalWriter(tmp_path, "run") as journal:
            judgment = await Desk(judge, prompt_named("nli-v1"), {}, journal).ask(QUESTION)
            await judge.close()
        return journal.path, judgment

    path, judgment = asyncio.run(run())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = [repr(ENDPOINT), str(ENDPOINT), repr(judge), str(judge.identity), repr(judgment), path.read_text()]
    assert not any(KEY in text for text in shown)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_repeats_the_key_does_not_bring_it_into_the_sentence(server, problem, answer_of, status):
    server.in_turn(problem(status, f"Incorrect API key provided: {KEY}."))
    with pytest.raises(JudgeDown, match=f"HTTP {status}") as down:
        answer_of(api_key=KEY)
    assert KEY not in str(down.value)


@pytest.mark.parametrize("end", ["\n", "é", "\r\nX-Other: 1"], ids=["line end", "not ASCII", "another header"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(server, completion, chat_at, end):
    server.in_turn(completion("SUPPORTED"))
    with pytest.raises(Refused) as refused:
        probe(chat_at(server.url, api_key=KEY + end))
    assert KEY not in str(refused.value)
    assert server.requests == []
