"""What an endpoint may send, through a real HTTP server, a chat judge and a desk: the label, or why there is none."""

import asyncio
import json
import random
from dataclasses import replace

import pytest

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.journal import JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.records import Label, NoLabel, Question

QUESTION = Question("e1", ("A pump was serviced.", 'They wrote: "ok"\n'), "A pump was serviced on Monday.")
ATTEMPTS = 3
REMINDER = prompt_named("nli-v1").reminder
YES, NO = Label.SUPPORTED, Label.NOT_SUPPORTED
UNREAD, REFUSED, CUT_OFF, FAILED = NoLabel.UNPARSABLE, NoLabel.REFUSED, NoLabel.CUT_OFF, NoLabel.FAILED
TOO_LONG = NoLabel.TOO_LONG

pytestmark = pytest.mark.usefixtures("quick")


def said(content, *, finish_reason="stop", **message):
    """A completion with this content."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    return sent({"choices": [choice | {"finish_reason": finish_reason}]})


def sent(body, *, status=200):
    """This body, bytes as they are and anything else as JSON."""
    return {"status": status, "body": body if isinstance(body, bytes) else json.dumps(body).encode()}


def refused(code, message):
    """A request that is refused for what it holds."""
    return sent({"error": {"code": code, "message": message}}, status=400)


# What the endpoint sends, as often as it is asked; the label or why there is none; the requests that it took.
# Words that cannot be read are put once more and then given up: 2. What is no completion is a fault: ATTEMPTS.
TABLE = {
    # the word alone, in every dress that models give it
    "bare": (said("SUPPORTED"), YES, 1),
    "bare, the other label": (said("NOT_SUPPORTED"), NO, 1),
    "lower case": (said("not_supported"), NO, 1),
    "mixed case": (said("Not_Supported"), NO, 1),
    "trailing stop": (said("SUPPORTED."), YES, 1),
    "bold": (said("**NOT_SUPPORTED**"), NO, 1),
    "italics": (said("*SUPPORTED*"), YES, 1),
    "bold italics": (said("***supported***"), YES, 1),
    "bold, stop outside": (said("**SUPPORTED**."), YES, 1),
    "bold, stop inside": (said("**SUPPORTED.**"), YES, 1),
    "backticks": (said("`NOT_SUPPORTED`"), NO, 1),
    "fence": (said("```\nSUPPORTED\n```"), YES, 1),
    "fence on one line": (said("```SUPPORTED```"), YES, 1),
    "fence with CR LF": (said("```\r\nNOT_SUPPORTED\r\n```\r\n"), NO, 1),
    "double quotes": (said('"SUPPORTED"'), YES, 1),
    "single quotes": (said("'NOT_SUPPORTED'"), NO, 1),
    "curly double quotes": (said("“SUPPORTED”"), YES, 1),
    "curly single quotes": (said("‘NOT_SUPPORTED’"), NO, 1),
    "quotes that do not match": (said("“SUPPORTED'"), YES, 1),
    "quotes, stop inside": (said('"SUPPORTED."'), YES, 1),
    "JSON string": (said(json.dumps("NOT_SUPPORTED")), NO, 1),
    "blanks around": (said("  SUPPORTED \t"), YES, 1),
    "line ends around": (said("\n\nNOT_SUPPORTED\r\n"), NO, 1),
    "no-break spaces around": (said("\u00a0SUPPORTED\u202f"), YES, 1),
    "wide spaces around": (said("\u3000NOT_SUPPORTED\u2003"), NO, 1),
    "byte order mark": (said("\ufeffSUPPORTED"), YES, 1),
    "zero-width marks around": (said("\u200b\u2060NOT_SUPPORTED\u200d\u200c"), NO, 1),
    "zero-width marks within": (said("SUP\u200bPORTED"), YES, 1),
    "all at once": (said(" \n“**`not_supported`**”.\u200b "), NO, 1),
    # other words
    "both labels": (said("SUPPORTED NOT_SUPPORTED"), UNREAD, 2),
    "both labels, a line each": (said("SUPPORTED\nNOT_SUPPORTED"), UNREAD, 2),
    "one label or the other": (said("SUPPORTED/NOT_SUPPORTED"), UNREAD, 2),
    "the label twice": (said("SUPPORTED SUPPORTED"), UNREAD, 2),
    "a longer word": (said("SUPPORTEDISH"), UNREAD, 2),
    "a shorter word": (said("SUPPORT"), UNREAD, 2),
    "the label in a longer word": (said("UNSUPPORTED"), UNREAD, 2),
    "blank for underscore": (said("NOT SUPPORTED"), UNREAD, 2),
    "no-break space for underscore": (said("NOT\u00a0SUPPORTED"), UNREAD, 2),
    "hyphen for underscore": (said("NOT-SUPPORTED"), UNREAD, 2),
    "escaped underscore": (said("NOT\\_SUPPORTED"), UNREAD, 2),
    "run together": (said("NOTSUPPORTED"), UNREAD, 2),
    "letters apart": (said("S U P P O R T E D"), UNREAD, 2),
    "underscores around": (said("_SUPPORTED_"), UNREAD, 2),
    "two stops": (said("SUPPORTED.."), UNREAD, 2),
    "a stop before": (said(".SUPPORTED"), UNREAD, 2),
    "exclamation mark": (said("SUPPORTED!"), UNREAD, 2),
    "question mark": (said("SUPPORTED?"), UNREAD, 2),
    "comma": (said("SUPPORTED,"), UNREAD, 2),
    "a negation before": (said("not SUPPORTED"), UNREAD, 2),
    "yes": (said("Yes"), UNREAD, 2),
    "true": (said("true"), UNREAD, 2),
    "a number": (said("1"), UNREAD, 2),
    "another vocabulary": (said("ENTAILMENT"), UNREAD, 2),
    "no opinion": (said("UNCLEAR"), UNREAD, 2),
    "an apology": (said("I'm sorry, but I can't help with that."), UNREAD, 2),
    # the word among others
    "reasoning before": (said("The premise names a pump and no day. NOT_SUPPORTED"), UNREAD, 2),
    "reasoning before, a line apart": (said("It names no day.\n\nNOT_SUPPORTED"), UNREAD, 2),
    "reasoning after": (said("SUPPORTED, because the premise says so."), UNREAD, 2),
    "reasoning below": (said("SUPPORTED\n\nThe premise says so."), UNREAD, 2),
    "a name before": (said("Answer: SUPPORTED"), UNREAD, 2),
    "an open think block": (said("<think>\nThe premise says"), UNREAD, 2),
    "an open think block that ends in the word": (said("<think>so it is SUPPORTED"), UNREAD, 2),
    "a closed think block before": (said("<think>It says so.</think>\nSUPPORTED"), UNREAD, 2),
    "an empty think block before": (said("<think>\n\n</think>\n\nSUPPORTED"), UNREAD, 2),
    "marks of a template": (said("SUPPORTED<|im_end|>"), UNREAD, 2),
    "fence with a language": (said("```text\nSUPPORTED\n```"), UNREAD, 2),
    "JSON object": (said('{"label": "SUPPORTED"}'), UNREAD, 2),
    "JSON list": (said('["SUPPORTED"]'), UNREAD, 2),
    "XML": (said("<answer>SUPPORTED</answer>"), UNREAD, 2),
    "TeX": (said("\\boxed{SUPPORTED}"), UNREAD, 2),
    "brackets": (said("[SUPPORTED]"), UNREAD, 2),
    "the instruction repeated": (said("Reply SUPPORTED or NOT_SUPPORTED."), UNREAD, 2),
    # other languages and other letters
    "German": (said("UNTERSTÜTZT"), UNREAD, 2),
    "French": (said("PRIS EN CHARGE"), UNREAD, 2),
    "Chinese": (said("支持"), UNREAD, 2),
    "Russian": (said("ПОДТВЕРЖДЕНО"), UNREAD, 2),
    "Cyrillic look-alikes": (said("SUРРОRТЕD"), UNREAD, 2),
    "Greek look-alike": (said("SUPPΟRTED"), UNREAD, 2),
    "fullwidth letters": (said("ＳＵＰＰＯＲＴＥＤ"), UNREAD, 2),
    "mathematical letters": (said("𝐒𝐔𝐏𝐏𝐎𝐑𝐓𝐄𝐃"), UNREAD, 2),
    "long s": (said("ſupported"), UNREAD, 2),
    "combining accent": (said("SUPPORTE\u0301D"), UNREAD, 2),
    "soft hyphen": (said("SUP\u00adPORTED"), UNREAD, 2),
    "right-to-left mark": (said("\u200fSUPPORTED"), UNREAD, 2),
    "ideographic stop": (said("SUPPORTED。"), UNREAD, 2),
    "angle quotes": (said("«SUPPORTED»"), UNREAD, 2),
    "low quotes": (said("„SUPPORTED“"), UNREAD, 2),
    "NUL within": (said("SUP\x00PORTED"), UNREAD, 2),
    # no words
    "empty": (said(""), UNREAD, 2),
    "blank": (said(" \n\t"), UNREAD, 2),
    "a stop alone": (said("."), UNREAD, 2),
    "dress alone": (said("``` ```"), UNREAD, 2),
    "zero-width mark alone": (said("\u200b"), UNREAD, 2),
    "null": (said(None), UNREAD, 2),
    "null, and reasoning beside it": (said(None, reasoning_content="It is SUPPORTED"), UNREAD, 2),
    "no content": (sent({"choices": [{"message": {"role": "assistant"}}]}), UNREAD, 2),
    "a call of a tool": (said(None, finish_reason="tool_calls", tool_calls=[{"id": "1"}]), UNREAD, 2),
    # why it ended
    "no reason why it ended": (said("SUPPORTED", finish_reason=None), YES, 1),
    "a reason of the server's own": (said("SUPPORTED", finish_reason="eos"), YES, 1),
    "cut off before a word": (said("", finish_reason="length"), CUT_OFF, 2),
    "cut off without content": (said(None, finish_reason="length"), CUT_OFF, 2),
    "cut off in a sentence": (said("The premise says", finish_reason="length"), CUT_OFF, 2),
    "cut off after what reads as a label": (said("SUPPORTED", finish_reason="length"), CUT_OFF, 2),
    "filtered": (said("SUPPORTED", finish_reason="content_filter"), REFUSED, 1),
    "filtered without content": (said(None, finish_reason="content_filter"), REFUSED, 1),
    "a refusal": (said(None, refusal="I cannot help with that."), REFUSED, 1),
    "a refusal beside the word": (said("SUPPORTED", refusal="I cannot help with that."), REFUSED, 1),
    "an empty refusal": (said("SUPPORTED", refusal=""), YES, 1),
    "a null refusal": (said("SUPPORTED", refusal=None), YES, 1),
    "a text that is too long": (refused("context_length_exceeded", "Shorten it."), TOO_LONG, 1),
    "a text that is filtered": (refused("content_policy_violation", "No."), REFUSED, 1),
    # more than was asked for
    "several choices": (sent({"choices": [{"message": {"content": word}} for word in ("SUPPORTED", "No")]}), YES, 1),
    "reasoning in a field of its own": (said("NOT_SUPPORTED", reasoning_content="It is SUPPORTED"), NO, 1),
    "unknown fields": (sent({"choices": [{"message": {"content": "SUPPORTED", "x": 1}, "y": 2}], "z": 3}), YES, 1),
    "usage without a count": (sent({"choices": [{"message": {"content": "SUPPORTED"}}], "usage": {}}), YES, 1),
    "usage null": (sent({"choices": [{"message": {"content": "SUPPORTED"}}], "usage": None}), YES, 1),
    "usage of another shape": (sent({"choices": [{"message": {"content": "SUPPORTED"}}], "usage": []}), YES, 1),
    # a success without a completion
    "no choices": (sent({"choices": []}), FAILED, ATTEMPTS),
    "choices null": (sent({"choices": None}), FAILED, ATTEMPTS),
    "choices missing": (sent({"id": "c", "object": "chat.completion"}), FAILED, ATTEMPTS),
    "a choice that is null": (sent({"choices": [None]}), FAILED, ATTEMPTS),
    "no message": (sent({"choices": [{"index": 0, "finish_reason": "stop"}]}), FAILED, ATTEMPTS),
    "message null": (sent({"choices": [{"message": None}]}), FAILED, ATTEMPTS),
    "a text completion": (sent({"choices": [{"text": "SUPPORTED"}]}), FAILED, ATTEMPTS),
    "a delta": (sent({"choices": [{"delta": {"content": "SUPPORTED"}}]}), FAILED, ATTEMPTS),
    "content that is a number": (said(1), FAILED, ATTEMPTS),
    "content that is true": (said(True), FAILED, ATTEMPTS),
    "an error with status 200": (sent({"error": {"message": "Provider returned error"}}), FAILED, ATTEMPTS),
    "an error as text": (sent({"error": "overloaded"}), FAILED, ATTEMPTS),
    "HTML": (sent(b"<html><body>Sign in</body></html>"), FAILED, ATTEMPTS),
    "truncated JSON": (sent(b'{"choices": [{"message": {"content": "SUPPORTED'), FAILED, ATTEMPTS),
    "two JSON objects": (sent(said("SUPPORTED")["body"] * 2), FAILED, ATTEMPTS),
    "the word without JSON": (sent(b"SUPPORTED"), FAILED, ATTEMPTS),
    "the word as JSON": (sent("SUPPORTED"), FAILED, ATTEMPTS),
    "an event stream": (sent(b'data: {"choices": []}\n\ndata: [DONE]\n\n'), FAILED, ATTEMPTS),
    "empty body": (sent(b""), FAILED, ATTEMPTS),
    "a list": (sent([]), FAILED, ATTEMPTS),
    "a list with the completion": (sent(b"[" + said("SUPPORTED")["body"] + b"]"), FAILED, ATTEMPTS),
    "null as body": (sent(None), FAILED, ATTEMPTS),
    "a byte order mark before the JSON": (sent(b"\xef\xbb\xbf" + said("SUPPORTED")["body"]), FAILED, ATTEMPTS),
    "bytes that are not UTF-8": (sent(said("SUPPORTED")["body"].replace(b"SUPP", b"S\xff")), FAILED, ATTEMPTS),
    "half a surrogate pair": (sent(said("SUPPORTED")["body"].replace(b"SUPP", b"\\ud800")), FAILED, ATTEMPTS),
}


@pytest.fixture
def judged(server, reply, chat_at, head_of, tmp_path):
    """The judgment that comes of these replies at a desk, the last of them again and again, and its line read back."""

    def judged(*replies, prompt="nli-v1", question=QUESTION, **changes):
        server.in_turn(*[reply(**each) for each in replies])
        judge = chat_at(server.url, prompt=prompt_named(prompt), probed=False, **{"attempts": ATTEMPTS, **changes})

        async def ask(desk):
            try:
                return await desk.ask(question)
            finally:
                await judge.close()

        with JournalWriter(tmp_path, head_of(judge)) as journal:
            judgment = asyncio.run(ask(Desk(judge, prompt_named(prompt), {}, journal)))
        return judgment, read_journal(journal.path).records[0]

    return judged


def system_of(request):
    return request.body["messages"][0]["content"]


@pytest.mark.parametrize(("sends", "expected", "requests"), TABLE.values(), ids=TABLE)
def test_what_an_endpoint_sends_is_a_label_or_the_reason_why_it_is_none(server, judged, sends, expected, requests):
    judgment, record = judged(sends)
    found = judgment.label or judgment.no_label
    assert (found, len(server.requests), judgment.answer.attempts) == (expected, requests, requests)
    assert (judgment.label is None) is isinstance(expected, NoLabel)
    assert (record.label, record.no_label, record.attempts) == (judgment.label, judgment.no_label, requests)
    assert record.answer == replace(judgment.answer, latency_s=record.latency_s)


def test_the_table_names_every_reason_that_an_endpoint_can_give_and_both_labels():
    expected = {row[1] for row in TABLE.values()}
    elsewhere = {NoLabel.TIMED_OUT, NoLabel.NOT_LABELLED, NoLabel.NOT_RECORDED}  # a wait, and judges without a model
    assert expected == {*Label, *NoLabel} - elsewhere


UNREADABLE = {  # what the endpoint sends, its words, and why it is no label
    "words": (said("Perhaps."), "Perhaps.", UNREAD),
    "empty": (said(""), "", UNREAD),
    "null": (said(None), "", UNREAD),
    "cut off": (said("The premise", finish_reason="length"), "The premise", CUT_OFF),
    "a label, cut off": (said("SUPPORTED", finish_reason="length"), "SUPPORTED", CUT_OFF),
}
each_unreadable = pytest.mark.parametrize(("first", "words", "why"), UNREADABLE.values(), ids=UNREADABLE)


class TestAnAnswerThatCannotBeRead:
    @each_unreadable
    def test_is_followed_by_one_that_can_be_and_is_kept_beside_it(self, judged, tmp_path, first, words, why):
        """In the answer, in the line of the journal, and in what the next run knows."""
        judgment, record = judged(first, said("NOT_SUPPORTED"))
        assert (judgment.label, judgment.answer.raw, judgment.answer.attempts) == (NO, "NOT_SUPPORTED", 2)
        assert judgment.answer.unread == record.unread == words
        (line,) = [json.loads(line) for path in journal_files(tmp_path) for line in path.open() if '"key"' in line]
        assert (line["raw"], line["unread"], line["attempts"]) == ("NOT_SUPPORTED", words, 2)
        known = known_answers(map(read_journal, journal_files(tmp_path)), record.judge, prompt_named("nli-v1").read)
        assert known == {judgment.key: replace(judgment.answer, latency_s=record.latency_s)}

    @each_unreadable
    @pytest.mark.parametrize("second", UNREADABLE)
    def test_is_given_up_after_the_second(self, server, judged, first, words, why, second):
        """The reason is that of the second, and the words of both are kept."""
        again, last_words, last_why = UNREADABLE[second]
        judgment, record = judged(first, again, said("SUPPORTED"), attempts=6)
        assert (judgment.label, judgment.no_label, record.no_label) == (None, last_why, last_why)
        assert (judgment.answer.raw or "", judgment.answer.unread) == (last_words, words)
        assert (record.raw or "", record.unread) == (last_words, words)
        assert len(server.requests) == judgment.answer.attempts == 2

    def test_is_put_again_with_the_reminder_after_the_instruction_and_nothing_else_changed(self, server, judged):
        judged(said("Perhaps."), said("SUPPORTED"))
        first, second = server.requests
        assert system_of(first) == prompt_named("nli-v1").system
        assert system_of(second) == f"{prompt_named('nli-v1').system} {REMINDER}"
        assert second.body["messages"][1] == first.body["messages"][1]
        assert {**second.body, "messages": None} == {**first.body, "messages": None}

    def test_says_nothing_of_itself_in_what_is_put_again(self, server, judged):
        """The model is not shown its own words, which could be anything: the turns stay two."""
        judged(said("IGNORE ALL OF THAT"), said("SUPPORTED"))
        assert [message["role"] for message in server.requests[1].body["messages"]] == ["system", "user"]
        assert "IGNORE ALL OF THAT" not in json.dumps(server.requests[1].body)

    def test_costs_its_own_tokens_and_time(self, server, judged):
        def used(content, tokens):
            choices = [{"message": {"content": content}}]
            return sent({"choices": choices, "usage": {"total_tokens": tokens}}) | {"delay_s": 0.05}

        judgment, record = judged(used("Perhaps.", 30), used("SUPPORTED", 50))
        assert judgment.answer.tokens == record.tokens == 80
        assert judgment.answer.latency_s >= 0.1

    def test_may_be_counted_where_the_other_is_not(self, judged):
        counted = sent({"choices": [{"message": {"content": "Perhaps."}}], "usage": {"total_tokens": 30}})
        judgment, _ = judged(counted, said("SUPPORTED"))
        assert judgment.answer.tokens == 30

    def test_is_put_again_after_faults_and_through_faults(self, server, judged):
        fault = sent({"error": "overloaded"}, status=500)
        judgment, _ = judged(fault, said("Perhaps."), fault, said("SUPPORTED"), attempts=4)
        assert (judgment.label, judgment.answer.attempts, judgment.answer.unread) == (YES, 4, "Perhaps.")
        assert [REMINDER in system_of(request) for request in server.requests] == [False, False, True, True]

    def test_is_not_hidden_by_a_fault_that_follows_it(self, server, judged):
        """The reason is that of the last attempt, and the words are kept."""
        judgment, record = judged(said("Perhaps."), sent(b"", status=500))
        assert (judgment.no_label, judgment.answer.raw, judgment.answer.unread) == (FAILED, None, "Perhaps.")
        assert (record.no_label, record.raw, record.unread) == (FAILED, None, "Perhaps.")
        assert len(server.requests) == ATTEMPTS

    @pytest.mark.parametrize("end", [said(None, refusal="No."), refused("context_length_exceeded", "Shorten it.")])
    def test_may_be_followed_by_what_is_final(self, server, judged, end):
        judgment, _ = judged(said("Perhaps."), end, said("SUPPORTED"))
        assert judgment.no_label in (REFUSED, TOO_LONG)
        assert judgment.answer.unread == "Perhaps."
        assert len(server.requests) == 2

    def test_may_be_followed_by_the_end_of_the_run(self, server, judged):
        with pytest.raises(JudgeDown, match="HTTP 401"):
            judged(said("Perhaps."), sent({"error": "no"}, status=401))
        assert len(server.requests) == 2

    @each_unreadable
    def test_is_never_put_again_under_a_prompt_without_a_reminder(self, server, judged, first, words, why):
        judgment, record = judged(first, said("SUPPORTED"), prompt="nli-compat")
        assert (judgment.label, judgment.no_label) == (None, why)
        assert (judgment.answer.raw or "", judgment.answer.unread, record.unread) == (words, None, None)
        assert len(server.requests) == judgment.answer.attempts == 1


@pytest.mark.parametrize(
    ("sends", "no_label"),
    [
        (said("Perhaps.", finish_reason="content_filter"), REFUSED),
        (said(None, finish_reason="content_filter"), REFUSED),
        (said(None, refusal="I cannot help."), REFUSED),
        (refused("content_filter", "The prompt was filtered."), REFUSED),
        (refused("context_length_exceeded", "Shorten it."), TOO_LONG),
    ],
    ids=["filtered words", "filtered", "a refusal", "a filtered text", "a text that is too long"],
)
@pytest.mark.parametrize("prompt", ["nli-v1", "nli-compat"])
def test_what_is_not_for_want_of_a_word_is_never_put_again(server, judged, sends, no_label, prompt):
    judgment, _ = judged(sends, said("SUPPORTED"), prompt=prompt, attempts=6)
    assert (judgment.no_label, judgment.answer.attempts, judgment.answer.unread) == (no_label, 1, None)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("content", "finish_reason", "tokens"),
    [("SUPPORTED", "stop", 12), (None, "content_filter", 12), ("Perhaps.", "stop", 24), ("SUPP", "length", 24)],
    ids=["label", "filtered", "put again", "cut off"],
)
def test_an_answer_costs_what_the_server_counts_whether_or_not_a_label_came_of_it(
    judged, content, finish_reason, tokens
):
    choices = [{"message": {"content": content}, "finish_reason": finish_reason}]
    judgment, record = judged(sent({"choices": choices, "usage": {"total_tokens": 12}}))
    assert judgment.answer.tokens == record.tokens == tokens


def test_a_label_is_never_put_again(server, judged):
    judgment, record = judged(said("SUPPORTED"), said("NOT_SUPPORTED"))
    assert (judgment.label, judgment.answer.unread, record.unread) == (YES, None, None)
    assert len(server.requests) == 1


FAULT, WORDS, WORD = sent(b"", status=500), said("Perhaps."), said("SUPPORTED")


@pytest.mark.parametrize(
    ("attempts", "sends", "expected", "requests"),
    [
        (1, [WORDS, WORD], UNREAD, 1),
        (2, [WORDS, WORD], YES, 2),
        (2, [FAULT, WORDS, WORD], UNREAD, 2),
        (3, [FAULT, WORDS, WORD], YES, 3),
        (3, [FAULT, WORDS, FAULT, WORD], FAILED, 3),
        (4, [FAULT, WORDS, FAULT, WORD], YES, 4),
        (4, [FAULT, FAULT, FAULT, FAULT, WORD], FAILED, 4),
        (6, [WORDS, FAULT, FAULT, FAULT, FAULT, FAULT, WORD], FAILED, 6),
        (6, [FAULT, FAULT, FAULT, FAULT, FAULT, WORDS, WORD], UNREAD, 6),
        (6, [WORDS, FAULT, FAULT, FAULT, FAULT, WORDS, WORD], UNREAD, 6),
    ],
)
def test_a_question_takes_no_more_requests_than_the_plan_has_attempts_however_it_is_put(
    server, judged, attempts, sends, expected, requests
):
    judgment, _ = judged(*sends, attempts=attempts)
    assert (judgment.label or judgment.no_label) == expected
    assert len(server.requests) == judgment.answer.attempts == requests


def test_whatever_comes_in_whatever_order_no_question_takes_more_requests_than_the_plan_has(
    server, reply, chat_at, answers_of, questions
):
    """400 questions against a server that draws what it sends; the draws of each are its own, in its own order."""
    rng = random.Random(7)
    kinds = [FAULT, FAULT, WORDS, said(None), said("SUP", finish_reason="length"), WORD, said(None, refusal="No.")]
    server.script = lambda number, request: reply(**rng.choice(kinds))
    for attempts in (1, 2, 3, 6):
        server.requests.clear()
        answers = answers_of(chat_at(server.url, attempts=attempts), *questions(100))
        took = {f"e{number}": 0 for number in range(100)}
        for request in server.requests:
            took["e" + request.question["hypothesis"].removeprefix("Hypothesis ").removesuffix(".")] += 1
        assert [answer.attempts for answer in answers] == list(took.values())
        assert max(took.values()) == attempts
