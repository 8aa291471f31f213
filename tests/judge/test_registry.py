import json
from dataclasses import replace

import pytest

from eval_pipeline.errors import JudgeUnknown, MalformedJournal, MalformedLabels
from eval_pipeline.judge import chat
from eval_pipeline.judge.claims import ALIGNMENT, CONSTRAINT
from eval_pipeline.judge.journal import record_fields
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import key
from eval_pipeline.judge.registry import judge_named, judge_on_meter
from eval_pipeline.judge.spending import CapReached, Caps, Meter, Prices
from eval_pipeline.records import Answer, Judgment, Label, Question

NO_CAPS = Caps()
URL = "http://127.0.0.1:9/v1"


def journal_of(folder, *judges):
    """A file with one judgment of each of these judges."""
    question, answer = Question("e1", "P.", "H."), Answer("SUPPORTED", None, 1, 0.0, 9)
    lines = [
        json.dumps(record_fields(Judgment(key(judge, question), question, answer, Label.SUPPORTED, None), judge)) + "\n"
        for judge in judges
    ]
    path = folder / "judgments.jsonl"
    path.write_text("".join(lines))
    return path


@pytest.fixture
def named(endpoint_at):
    """The judge of that name; without an endpoint, unless fields of one are given."""

    def named(name, *, prompt="nli-v1", attempts=3, caps=NO_CAPS, **endpoint):
        at = endpoint_at(**{"base_url": "", "model": "", **endpoint})
        return judge_named(name, prompt_named(prompt), at, attempts=attempts, caps=caps)

    return named


@pytest.fixture
def somewhere():
    """The fields of an endpoint that could be one."""
    return {"base_url": URL, "model": "m", "api_key": "sk-secret", "revision": "r1"}


def test_lexical_needs_no_file_and_no_endpoint(named):
    assert named("lexical") == LexicalJudge()


def test_labels_are_read_from_the_file_that_is_named(named, tmp_path):
    path = tmp_path / "labels:of monday.jsonl"
    path.write_text(json.dumps({"entry_id": "e1", "proposition": "Cats purr.", "supported": True}) + "\n")
    assert named(f"labels:{path}").labels == {("e1", "Cats purr."): True}


def test_a_replay_is_read_from_the_journal_that_is_named(named, tmp_path):
    question = Question("e1", "P.", "H.")
    answer = Answer("SUPPORTED", None, 1, 0.0, None)
    judgment = Judgment(key(LexicalJudge(), question), question, answer, Label.SUPPORTED, None)
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(record_fields(judgment, LexicalJudge())) + "\n")
    for name in (f"replay:{path}", f"replay:{tmp_path}"):
        assert named(name).identity == LexicalJudge().identity
        assert named(name).answers == {judgment.key: answer}


def test_chat_asks_the_endpoint_with_the_plans_prompt(named, somewhere):
    judge = named("chat", **somewhere)
    assert judge.kind == "chat"
    assert judge.in_flight == 4
    assert judge.identity["base_url"] == URL
    assert judge.identity["prompt"]["id"] == "nli-v1"


@pytest.mark.parametrize("name", ["", "gpt", "LEXICAL", "lexical:x", "chat:gpt", ":", " lexical", "labels.jsonl"])
def test_a_judge_that_does_not_exist_is_refused_with_those_that_do(named, somewhere, name):
    with pytest.raises(JudgeUnknown) as refused:
        named(name, **somewhere)
    assert repr(name) in str(refused.value)
    for kind in ("lexical", "labels:FILE", "replay:JOURNAL", "chat"):
        assert kind in str(refused.value)


@pytest.mark.parametrize("kind", ["labels", "replay"])
@pytest.mark.parametrize("end", ["", ":"])
def test_a_kind_that_needs_a_file_says_so(named, kind, end):
    with pytest.raises(JudgeUnknown, match=f"write {kind}:FILE"):
        named(kind + end)


@pytest.mark.parametrize(("kind", "refusal"), [("labels", MalformedLabels), ("replay", MalformedJournal)])
def test_a_file_that_is_not_there_is_refused(named, tmp_path, kind, refusal):
    with pytest.raises(refusal, match="absent"):
        named(f"{kind}:{tmp_path / 'absent.jsonl'}")


@pytest.mark.parametrize(
    ("base_url", "model", "named_variables", "unnamed"),
    [
        ("", "", ["EVAL_PIPELINE_JUDGE_BASE_URL", "EVAL_PIPELINE_JUDGE_MODEL"], []),
        (URL, "", ["EVAL_PIPELINE_JUDGE_MODEL"], ["EVAL_PIPELINE_JUDGE_BASE_URL"]),
        ("", "m", ["EVAL_PIPELINE_JUDGE_BASE_URL"], ["EVAL_PIPELINE_JUDGE_MODEL"]),
    ],
    ids=["both", "model", "base URL"],
)
def test_chat_without_an_endpoint_names_what_is_to_be_set(named, base_url, model, named_variables, unnamed):
    with pytest.raises(JudgeUnknown) as refused:
        named("chat", base_url=base_url, model=model, api_key="sk-secret")
    assert all(variable in str(refused.value) for variable in named_variables)
    assert not any(variable in str(refused.value) for variable in unnamed)
    assert "sk-secret" not in str(refused.value)


def test_a_replay_under_another_prompt_than_the_recorded_one_is_refused(named, somewhere, tmp_path):
    question = Question("e1", "P.", "H.")
    judge = named("chat", **somewhere)
    judgment = Judgment(key(judge, question), question, Answer("SUPPORTED", None, 1, 0.0, 9), Label.SUPPORTED, None)
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(record_fields(judgment, judge)) + "\n")
    assert named(f"replay:{path}").identity == judge.identity
    with pytest.raises(JudgeUnknown, match="'nli-v1' and the plan has 'nli-compat'"):
        named(f"replay:{path}", prompt="nli-compat")


def test_of_a_journal_under_several_prompts_a_prompt_of_claims_finds_its_own(somewhere, endpoint_at, tmp_path):
    judges = [
        judge_named("chat", prompt, endpoint_at(**somewhere), attempts=3, caps=NO_CAPS)
        for prompt in (ALIGNMENT, CONSTRAINT)
    ]
    path = journal_of(tmp_path, *judges)
    for prompt, judge in zip((ALIGNMENT, CONSTRAINT), judges, strict=True):
        found = judge_named(f"replay:{path}", prompt, endpoint_at(""), attempts=3, caps=NO_CAPS)
        assert found.identity == judge.identity
        assert len(found.answers) == 1


@pytest.mark.parametrize(
    ("recorded", "asked", "missing"),
    [
        (ALIGNMENT, CONSTRAINT, "all claims that are judged by a rule"),
        (CONSTRAINT, ALIGNMENT, "all claims that are judged by their passage"),
        (replace(ALIGNMENT, system="Judge."), ALIGNMENT, "all claims that are judged by their passage"),
    ],
    ids=["rules", "passages", "the prompt as it was"],
)
def test_a_journal_without_the_prompt_of_a_claim_says_which_claims_are_missing_when_one_is_asked_about(
    somewhere, endpoint_at, answers_of, tmp_path, recorded, asked, missing
):
    judge = judge_named("chat", recorded, endpoint_at(**somewhere), attempts=3, caps=NO_CAPS)
    path = journal_of(tmp_path, judge)
    replay = judge_named(f"replay:{path}", asked, endpoint_at(""), attempts=3, caps=NO_CAPS)
    with pytest.raises(JudgeUnknown) as refused:
        answers_of(replay, Question("e1", "P.", "H."))
    assert str(refused.value) == (
        f"journal {str(path)!r} was recorded under {recorded.id!r} and holds nothing under prompt {asked.id!r}, as it"
        f" stands here, so that {missing} are missing; name the judgments.jsonl of a whole calibration"
    )


def test_a_judge_of_claims_that_needs_no_prompt_is_no_judge_of_entailment(named, tmp_path):
    with pytest.raises(JudgeUnknown, match="recorded under prompt 'alignment' and the plan has 'nli-v1'"):
        named(f"replay:{journal_of(tmp_path, LexicalJudge('alignment'))}")


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
def test_a_base_url_that_cannot_be_one_is_refused_before_anything_is_asked(named, base_url, api_key, said):
    with pytest.raises(JudgeUnknown, match=said) as refused:
        named("chat", base_url=base_url, model="m", api_key=api_key)
    assert "SECRET" not in str(refused.value)


def test_a_slash_at_the_end_of_a_base_url_makes_no_other_judge(named, somewhere):
    with_slash = somewhere | {"base_url": URL + "/"}
    assert named("chat", **with_slash).identity == named("chat", **somewhere).identity


def test_a_cap_on_money_without_prices_is_refused(named, somewhere):
    """Else it would be a cap that never holds anything back."""
    with pytest.raises(JudgeUnknown, match="set EVAL_PIPELINE_JUDGE_PRICES"):
        named("chat", caps=Caps(usd=1.0), **somewhere)
    assert named("chat", caps=Caps(usd=1.0), prices=Prices(0.0, 0.0), **somewhere).spending.usd == 0
    assert named("chat", caps=Caps(requests=1, tokens=1), **somewhere).spending.usd is None


@pytest.mark.parametrize("caps", [Caps(tokens=1000), Caps(usd=1.0)], ids=["tokens", "USD"])
def test_a_cap_on_what_has_no_end_is_refused(named, somewhere, caps):
    """Without a longest answer one request could cost any number of tokens; a cap on requests needs none."""
    endless = somewhere | {"extra": {"max_tokens": None}, "prices": Prices(1.0, 1.0)}
    with pytest.raises(JudgeUnknown, match="needs the longest answer; leave max_tokens in the request"):
        named("chat", caps=caps, **endless)
    assert named("chat", caps=Caps(requests=1), **endless).in_flight == 4
    named("chat", caps=caps, **endless | {"extra": {"max_tokens": None, "max_completion_tokens": 9}})


def test_chat_sends_as_many_requests_for_a_question_as_it_is_given(
    named, somewhere, server, reply, answers_of, monkeypatch
):
    monkeypatch.setattr(chat, "FIRST_WAIT_S", 0.001)
    server.in_turn(reply(500))
    answers_of(named("chat", attempts=2, **somewhere | {"base_url": server.url}), Question("e1", "P.", "H."))
    assert len(server.requests) == 2


def test_chat_spends_no_more_than_it_is_given(named, somewhere, server, completion, answers_of, questions):
    server.in_turn(completion("SUPPORTED"))
    with pytest.raises(CapReached):
        answers_of(named("chat", caps=Caps(requests=2), **somewhere | {"base_url": server.url}), *questions(3))
    assert len(server.requests) == 2


class TestJudgesOnOneMeter:
    """Such as one under two prompts, or two in one step of a run."""

    @pytest.fixture
    def on(self, endpoint_at, somewhere, server):
        """Two judges at the server on that meter, under two prompts."""

        def on(meter, **endpoint):
            at = endpoint_at(**somewhere | {"base_url": server.url} | endpoint)
            return [
                judge_on_meter("chat", prompt_named(prompt), at, attempts=3, meter=meter)
                for prompt in ("nli-v1", "nli-compat")
            ]

        return on

    def test_spend_no_more_together_than_one_may(self, on, server, completion, answers_of, questions):
        server.in_turn(completion("SUPPORTED"))
        first, second = on(Meter(Caps(requests=3), None))
        answers_of(first, *questions(2))
        with pytest.raises(CapReached, match=r"3 requests leaves .* 3 requests, 120 tokens were spent"):
            answers_of(second, *questions(3))
        assert len(server.requests) == 3
        assert first.spending is second.spending

    def test_of_what_one_has_spent_the_other_is_refused_at_once(self, on, server, completion, answers_of, questions):
        server.in_turn(completion("SUPPORTED"))
        first, second = on(Meter(Caps(requests=2), None))
        answers_of(first, *questions(2))
        with pytest.raises(CapReached):
            answers_of(second, *questions(1))
        assert len(server.requests) == 2

    def test_are_held_under_a_cap_on_money_at_the_prices_of_the_meter(self, on):
        with pytest.raises(JudgeUnknown, match="set EVAL_PIPELINE_JUDGE_PRICES"):
            on(Meter(Caps(usd=1.0), None))
        assert on(Meter(Caps(usd=1.0), Prices(1.0, 2.0)))[1].spending.usd == 0

    def test_are_refused_a_cap_on_what_has_no_end(self, on):
        with pytest.raises(JudgeUnknown, match="needs the longest answer"):
            on(Meter(Caps(tokens=1), None), extra={"max_tokens": None})

    def test_may_be_offline_and_spend_nothing(self, endpoint_at):
        meter = Meter(Caps(requests=0), None)
        judge = judge_on_meter("lexical", prompt_named("nli-v1"), endpoint_at(""), attempts=3, meter=meter)
        assert judge == LexicalJudge()


@pytest.mark.parametrize("extra", [{"model": "other"}, {"stream": True}])
def test_extra_fields_that_are_not_to_be_set_are_refused_before_anything_is_asked(named, somewhere, extra):
    with pytest.raises(JudgeUnknown, match="which the house sets"):
        named("chat", extra=extra, **somewhere)
