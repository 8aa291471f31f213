import asyncio
import gzip
import json
import socket

import pytest

from eval_pipeline.errors import JudgeDown, Refused
from eval_pipeline.judge import chat
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.journal import JournalWriter, read_journal
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import PROBE
from eval_pipeline.records import Label, NoLabel, Question

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


def time_limit(fault):
    """A short time limit where the fault is to be that nothing came within it."""
    return {"attempt_timeout_s": 0.4} if "delay_s" in fault or fault.get("sent") == "drip" else {}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 408}, id="408"),
        pytest.param({"status": 409}, id="409"),
        pytest.param({"status": 425}, id="425"),
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
        pytest.param({"delay_s": 20}, id="timeout"),
        pytest.param({"body": b"<html>Sign in</html>", "headers": {"Content-Type": "text/html"}}, id="HTML page"),
        pytest.param({"body": b'{"choices": [{"mess'}, id="truncated JSON"),
        pytest.param({"body": b""}, id="empty body"),
        pytest.param({"body": b"[]"}, id="JSON of another shape"),
        pytest.param({"body": b'{"choices": []}'}, id="no choices"),
        pytest.param({"body": b'{"error": {"message": "Provider returned error"}}'}, id="error with status 200"),
        pytest.param({"headers": {"X-Long": "x" * 20_000}}, id="endless header"),
        pytest.param({"headers": {"Transfer-Encoding": "chunked"}, "body": b"zz"}, id="broken chunks"),
        pytest.param({"body": b"not gzip", "headers": {"Content-Encoding": "gzip"}}, id="broken compression"),
    ],
)
class TestAFaultThatMayPass:
    def test_is_asked_again_until_there_is_an_answer(self, server, reply, completion, answer_of, fault):
        server.in_turn(reply(**fault), reply(**fault), completion("SUPPORTED"))
        answer = answer_of(**time_limit(fault))
        assert (answer.raw, answer.no_label, answer.attempts) == ("SUPPORTED", None, 3)
        assert len(server.requests) == 3

    def test_is_no_label_after_the_last_attempt(self, server, reply, answer_of, fault):
        server.in_turn(reply(**fault))
        answer = answer_of(attempts=2, **time_limit(fault))
        expected = NoLabel.TIMED_OUT if time_limit(fault) else NoLabel.FAILED
        assert (answer.raw, answer.no_label, answer.attempts) == (None, expected, 2)
        assert len(server.requests) == 2


def test_a_refused_connection_has_failed_rather_than_timed_out(chat_at, answers_of):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"  # bound, and nobody listens
        (answer,) = answers_of(chat_at(url), QUESTION)
    assert (answer.raw, answer.no_label, answer.attempts) == (None, NoLabel.FAILED, 3)


def test_the_reason_is_that_of_the_last_attempt(server, reply, answer_of):
    server.in_turn(reply(500), reply(delay_s=20), reply(503))
    assert answer_of(attempt_timeout_s=0.4).no_label is NoLabel.FAILED
    server.requests.clear()
    server.in_turn(reply(500), reply(503), reply(delay_s=20))
    assert answer_of(attempt_timeout_s=0.4).no_label is NoLabel.TIMED_OUT


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


def probe(judge):
    async def run():
        try:
            return await judge.probe()
        finally:
            await judge.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("content", "requests"), [("SUPPORTED", 1), ("Hello!", 2), ("", 2), (None, 2)])
def test_a_judge_that_gives_any_completion_is_up(server, completion, chat_at, content, requests):
    """Words that cannot be read are asked for once more, as they are of every question, and are an answer."""
    server.in_turn(completion(content))
    answer = probe(chat_at(server.url))
    assert (answer.raw, answer.attempts) == (content, requests)
    assert len(server.requests) == requests


def test_the_probe_is_a_question_as_any_other(server, completion, chat_at, answers_of):
    """Else it would say nothing of those that follow: the instruction, the settings and the key are the same."""
    server.in_turn(completion("SUPPORTED"))
    answer = probe(chat_at(server.url, api_key=KEY))
    answers_of(chat_at(server.url, api_key=KEY), PROBE)
    probed, asked = server.requests
    assert probed.body == asked.body
    assert probed.headers["authorization"] == asked.headers["authorization"]
    assert (answer.raw, answer.no_label, answer.attempts, answer.tokens) == ("SUPPORTED", None, 1, 40)


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
        {"delay_s": 20},
        {"body": b"<html>Sign in</html>"},
        {"body": b'{"choices": []}'},
    ],
    ids=["500", "reset", "not HTTP", "timeout", "HTML page", "no choices"],
)
@pytest.mark.parametrize(("attempts", "requests"), [(6, 4), (2, 2)], ids=["patient plan", "hasty plan"])
def test_a_judge_that_gives_no_completion_is_down(server, reply, chat_at, quick, fault, attempts, requests):
    """A probe gives up sooner than a question, and never asks more often than the plan allows."""
    quick.setattr(chat, "PROBE_TIMEOUT_S", 0.4 if "delay_s" in fault else 10.0)
    server.in_turn(reply(**fault))
    with pytest.raises(
        JudgeDown, match=f"{server.url} gave no answer to a probe .*; start it, or correct the base URL"
    ):
        probe(chat_at(server.url, attempts=attempts))
    assert len(server.requests) == requests


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        ({"status": 503}, "last: HTTP 503"),
        ({"delay_s": 20}, "last: nothing within 0.4 s"),
        ({"sent": "reset"}, "broke"),
    ],
    ids=["503", "timeout", "reset"],
)
def test_a_judge_that_is_down_says_what_it_did_last(server, reply, chat_at, quick, fault, last):
    quick.setattr(chat, "PROBE_TIMEOUT_S", 0.4)
    server.in_turn(reply(500), reply(**fault))
    with pytest.raises(JudgeDown, match=last):
        probe(chat_at(server.url, attempts=2))


class TestAJudgeThatStopsToAnswer:
    """It ends the run: after two questions in a row without an answer for each in flight, and ten at least."""

    @pytest.mark.parametrize(("in_flight", "questions_in_vain"), [(1, 10), (4, 10), (5, 10), (8, 16)])
    def test_is_down(self, server, reply, chat_at, answers_of, questions, in_flight, questions_in_vain):
        server.in_turn(reply(503))
        with pytest.raises(JudgeDown) as down:
            answers_of(chat_at(server.url, attempts=2, in_flight=in_flight), *questions(50))
        assert len(server.requests) == 2 * questions_in_vain
        assert str(down.value) == (
            f"the judge at {server.url} gave no answer to {questions_in_vain} questions in a row (last: HTTP 503); mend"
            " it and run again, what was judged is kept"
        )

    def test_is_down_for_all_workers_and_what_it_did_answer_is_kept(
        self, server, reply, completion, chat_at, questions, head_of, tmp_path
    ):
        server.script = lambda number, request: completion("SUPPORTED") if number < 20 else reply(500)
        judge = chat_at(server.url, attempts=1, in_flight=8, probed=False)

        async def run(desk):
            try:
                return await work_through(questions(500), desk.ask, workers=8)
            finally:
                await judge.close()

        with JournalWriter(tmp_path, head_of(judge)) as journal:
            worked = asyncio.run(run(Desk(judge, prompt_named("nli-v1"), {}, journal)))
        assert isinstance(worked.ended_by, JudgeDown)
        assert 20 + 16 <= len(server.requests) <= 20 + 16 + 8
        labels = [record.label for record in read_journal(journal.path).records]
        assert labels.count(Label.SUPPORTED) == 20
        assert labels.count(None) >= 15

    def test_is_not_down_while_it_answers_now_and_then(self, server, reply, completion, chat_at, answers_of, questions):
        server.script = lambda number, request: reply(500) if number % 10 else completion("SUPPORTED")
        answers = answers_of(chat_at(server.url, attempts=1), *questions(60))
        assert [answer.raw for answer in answers] == ["SUPPORTED", *[None] * 9] * 6

    @pytest.mark.parametrize(
        ("answer", "no_label"),
        [
            ({"body": b'{"choices": [{"message": {"content": "Perhaps."}}]}'}, None),
            ({"body": b'{"choices": [{"message": {"content": null, "refusal": "No."}}]}'}, NoLabel.REFUSED),
            ({"body": b'{"choices": [{"message": {}, "finish_reason": "length"}]}'}, NoLabel.CUT_OFF),
            ({"status": 400, "body": b'{"error": {"code": "context_length_exceeded"}}'}, NoLabel.TOO_LONG),
        ],
        ids=["unreadable", "refused", "cut off", "too long"],
    )
    def test_is_not_one_that_answers_without_a_label(
        self, server, reply, chat_at, answers_of, questions, answer, no_label
    ):
        server.in_turn(reply(**answer))
        answers = answers_of(chat_at(server.url, attempts=1), *questions(30))
        assert [answer.no_label for answer in answers] == [no_label] * 30


def test_a_judge_that_refuses_the_key_is_down_with_that_sentence(server, problem, chat_at):
    server.in_turn(problem(401, "No auth credentials found"))
    with pytest.raises(JudgeDown, match="refuses the key"):
        probe(chat_at(server.url))


def test_the_key_of_the_endpoint_is_never_shown(server, completion, endpoint_at, chat_at, head_of, tmp_path):
    server.in_turn(completion("SUPPORTED"))
    endpoint, judge = endpoint_at(server.url, api_key=KEY), chat_at(server.url, api_key=KEY)

    async def run():
        with JournalWriter(tmp_path, head_of(judge)) as journal:
            judgment = await Desk(judge, prompt_named("nli-v1"), {}, journal).ask(QUESTION)
            await judge.close()
        return journal.path, judgment

    path, judgment = asyncio.run(run())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = [repr(endpoint), str(endpoint), repr(judge), str(judge.identity), repr(judgment), path.read_text()]
    assert not any(KEY in text for text in shown)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_repeats_the_key_does_not_bring_it_into_the_sentence(server, problem, answer_of, status):
    server.in_turn(problem(status, f"Incorrect API key provided: {KEY}."))
    with pytest.raises(JudgeDown, match=f"HTTP {status}") as down:
        answer_of(api_key=KEY)
    assert KEY not in str(down.value)


@pytest.mark.parametrize(
    "body",
    [
        KEY.encode(),
        f"<html>{KEY}</html>".encode(),
        json.dumps({"detail": f"Incorrect key {KEY}"}).encode(),
        json.dumps([{"error": KEY}]).encode(),
        json.dumps({"error": {"detail": KEY}}).encode(),
        json.dumps({"error": KEY}).encode()[:-1],
        json.dumps({"error": KEY}).encode("utf-16"),
        json.dumps({"error": KEY}).replace("sk-", "\\u0073k-").encode(),
        json.dumps({"error": {"message": {"headers": [f"Bearer {KEY}"]}}}).encode(),
        json.dumps({"error": " " * 190 + KEY}).encode(),
        json.dumps({"error": "x" * 190 + KEY}).encode(),
    ],
    ids=["bare", "HTML", "detail", "list", "no message", "torn", "UTF-16", "escaped", "nested", "blanks", "cut short"],
)
@pytest.mark.parametrize("status", [400, 401])
def test_a_body_of_any_shape_that_repeats_the_key_does_not_show_it(server, reply, answer_of, status, body):
    server.in_turn(reply(status, body))
    with pytest.raises(JudgeDown, match=f"HTTP {status}") as down:
        answer_of(api_key=KEY)
    assert KEY[:8] not in str(down.value)


@pytest.mark.parametrize(
    "body", [b"", b"Not here", b'{"detail": "Not Found"}', b'{"error": {"code": 1}}', b'{"error": ""}']
)
def test_what_is_no_message_of_an_error_is_not_shown(server, reply, answer_of, body):
    server.in_turn(reply(404, body))
    with pytest.raises(JudgeDown, match=r"HTTP 404: no message\)"):
        answer_of()


NESTED = {"lists": b"[" * 100_000, "objects": b'{"error":' * 100_000, "closed": b"[" * 50_000 + b"]" * 50_000}


@pytest.mark.parametrize("body", [b'{"error":' + each for each in NESTED.values()], ids=NESTED)
def test_an_error_that_is_nested_without_end_is_a_sentence_or_a_fault(server, reply, answer_of, body):
    server.in_turn(reply(404, body))
    with pytest.raises(JudgeDown, match="HTTP 404: no message"):
        answer_of()
    for status in (200, 500):
        server.in_turn(reply(status, body))
        assert answer_of(attempts=1).no_label is NoLabel.FAILED


class TestACharsetThatABodyCannotHave:
    """Some names are codecs of Python that make no text."""

    TYPES = pytest.mark.parametrize("charset", ["hex", "rot13", "zlib", "no-such", "utf-16", "idna", '"'])

    @TYPES
    def test_does_no_harm_to_an_answer(self, server, completion, answer_of, charset):
        server.in_turn(completion("SUPPORTED", headers={"Content-Type": f"application/json; charset={charset}"}))
        assert answer_of().raw == "SUPPORTED"

    @TYPES
    @pytest.mark.parametrize(("status", "said"), [(400, "HTTP 400: No."), (429, "quota is used up"), (401, "No.")])
    def test_does_no_harm_to_a_refusal(self, server, reply, answer_of, charset, status, said):
        code = "insufficient_quota" if status == 429 else "no"
        body = json.dumps({"error": {"message": "No.", "code": code}}).encode()
        server.in_turn(reply(status, body, {"Content-Type": f"application/json; charset={charset}"}))
        with pytest.raises(JudgeDown, match=said):
            answer_of()

    @TYPES
    def test_does_no_harm_to_a_fault(self, server, reply, answer_of, charset):
        server.in_turn(reply(500, b"zz", {"Content-Type": f"text/plain; charset={charset}"}))
        assert answer_of(attempts=1).no_label is NoLabel.FAILED


@pytest.mark.parametrize("status", [401, 404])
def test_words_of_length_under_a_status_that_is_not_about_the_texts_end_the_run(server, problem, answer_of, status):
    server.in_turn(problem(status, "This key has no access beyond the context length of 0.", code="no"))
    with pytest.raises(JudgeDown, match=f"HTTP {status}"):
        answer_of()


@pytest.mark.parametrize(("status", "message"), [(400, "too many tokens"), (422, "context size"), (413, "")])
def test_a_text_that_is_too_long_is_known_by_the_status_and_the_words(server, problem, answer_of, status, message):
    server.in_turn(problem(status, message))
    assert answer_of().no_label is NoLabel.TOO_LONG


@pytest.mark.parametrize("end", ["\n", "é", "\r\nX-Other: 1"], ids=["line end", "not ASCII", "another header"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(server, completion, chat_at, end):
    server.in_turn(completion("SUPPORTED"))
    with pytest.raises(Refused) as refused:
        probe(chat_at(server.url, api_key=KEY + end))
    assert KEY not in str(refused.value)
    assert server.requests == []
