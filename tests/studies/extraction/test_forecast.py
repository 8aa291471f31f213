"""The forecast: what is spent is never more than was said, and what words in common would be asked is what is asked."""

from collections import Counter
from fractions import Fraction

import pytest

from eval_pipeline.judge import chat
from eval_pipeline.judge.lexical import entails
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.sitting import desk_in_journal
from eval_pipeline.judge.spending import Caps, Prices
from eval_pipeline.studies.extraction.forecast import forecast
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.plan import Strategy

MEASURED = {"audited_negatives": Fraction(1, 2), "canaries": Fraction(1, 4), "repeats": Fraction(1, 4)}
NOTHING_BESIDE = {"audited_negatives": Fraction(0), "canaries": Fraction(0), "repeats": Fraction(0)}


def told(plan):
    """The prompt that the judge is told, and the values of the plan."""
    return prompt_named(plan.judging.prompt), plan.model_dump(mode="json")


@pytest.fixture(scope="session")
def world(note, spanned, world_of):
    """Ten notes of none to four signals and four propositions each, of which words in common find some, and spans."""
    notes = []
    for place in range(10):
        signals = [f"crew {place} replaced valve {number}" for number in range(place % 5)]
        claims = [(quartile, f"valve {quartile - 1} was replaced by crew {place}") for quartile in (1, 2, 3, 4)]
        notes.append(note(f"e{place}", dict.fromkeys(signals, ()), claims))
    return world_of([*notes, spanned("s", spans=8, supported=8)])


def lexical(request):
    """What words in common say."""
    premise = request.question.premise
    premises = premise if isinstance(premise, tuple) else (premise,)
    return "SUPPORTED" if entails(premises, request.question.hypothesis) else "NOT_SUPPORTED"


def screens_only(request):
    """The dearest of readable judges: each screen says yes and no signal does."""
    return "SUPPORTED" if isinstance(request.question.premise, tuple) else "NOT_SUPPORTED"


def never_readable(request):
    """Every question is put twice and stays without a label; but for the probe, or nothing would be asked."""
    return "SUPPORTED" if request.is_probe else "The user sends"


@pytest.fixture
def forecast_of(world, tmp_path):
    """What is said before a sitting of a judge in the journals of the test."""

    def forecast_of(judge, plan):
        frame = frame_of(world.snapshot, world.fixture, plan)
        with desk_in_journal(
            judge,
            prompt_named(plan.judging.prompt),
            plan.model_dump(mode="json"),
            journals=tmp_path,
            run="asked-nothing",
            purpose="run",
            resume=False,
        ) as desk:
            return forecast(frame, world.snapshot, judge, plan, desk.known)

    return forecast_of


@pytest.fixture
def spent(world, forecast_of, sit, endpoint, tmp_path):
    """The forecast, and the questions, requests and tokens of the sitting that follows."""

    def spent(judge, plan, says=lexical):
        endpoint.says = says
        endpoint.forget()
        told = forecast_of(judge, plan)
        assert endpoint.requests == []
        sit(world, plan, judge, journals=tmp_path)
        return told, Counter(endpoint.asked).total(), judge.spending

    return spent


@pytest.mark.parametrize("measured", [MEASURED, NOTHING_BESIDE], ids=["measured", "nothing beside"])
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("says", [lexical, screens_only, never_readable])
def test_no_judge_is_asked_or_paid_more_than_was_said(lenient, amended, chat_judge, spent, says, strategy, measured):
    """Tokens as they are estimated, since this endpoint counts none."""
    plan = amended(lenient, judging=measured | {"strategy": strategy})
    told, asked, spending = spent(chat_judge(), plan, says)
    assert asked < told.worst_questions * (2 if says is never_readable else 1)  # the probe is one of them
    assert spending.requests <= told.worst.requests
    assert spending.tokens <= told.worst.tokens


@pytest.mark.parametrize("repeats", [Fraction(0), Fraction(1, 1000)], ids=["no repeats", "one repeat"])
@pytest.mark.parametrize("prompt", ["nli-v1", "nli-compat"])
def test_the_dearest_judge_costs_what_was_said_and_no_more_where_a_question_is_sent_once(
    lenient, amended, chat_judge, spent, prompt, repeats
):
    """One attempt a question, so that the worst is all that can come: the probe is part of it, and so is any repeat."""
    plan = amended(lenient, judging=NOTHING_BESIDE | {"prompt": prompt, "attempts": 1, "repeats": repeats})
    told, asked, spending = spent(chat_judge(prompt=prompt, attempts=1), plan, screens_only)
    assert asked + 1 == told.worst_questions
    assert spending.requests <= told.worst.requests
    assert spending.tokens <= told.worst.tokens


def test_a_judge_that_is_never_readable_costs_what_was_said_with_its_reminders(lenient, amended, chat_judge, spent):
    """Two attempts a question: the second is longer by the reminder."""
    plan = amended(lenient, judging=NOTHING_BESIDE | {"attempts": 2})
    told, asked, spending = spent(chat_judge(attempts=2), plan, never_readable)
    assert asked == 2 * (told.worst_questions - 1)
    assert spending.requests <= told.worst.requests
    assert spending.tokens <= told.worst.tokens


def test_requests_that_come_to_nothing_are_paid_for_in_the_worst_case_too(
    lenient, amended, chat_judge, spent, endpoint, monkeypatch
):
    """Each question times out three times before it is answered: what these cost is not known, and is counted."""
    monkeypatch.setattr(chat, "FIRST_WAIT_S", 0.001)
    tries = Counter()

    def says(request):
        tries[request.question] += 1
        endpoint.takes_s = 0.0 if tries[request.question] > 3 or request.is_probe else 0.3
        return screens_only(request)

    plan = amended(lenient, judging=NOTHING_BESIDE)
    judge = chat_judge(in_flight=16, attempt_timeout_s=0.1)
    told, _, spending = spent(judge, plan, says)
    assert spending.requests > 4 * told.expected.requests
    assert spending.requests <= told.worst.requests
    assert spending.tokens <= told.worst.tokens


@pytest.mark.parametrize("measured", [MEASURED, NOTHING_BESIDE], ids=["measured", "nothing beside"])
@pytest.mark.parametrize("strategy", Strategy)
def test_a_judge_like_words_in_common_is_asked_what_was_expected(
    lenient, amended, chat_judge, spent, strategy, measured
):
    plan = amended(lenient, judging=measured | {"strategy": strategy})
    told, asked, spending = spent(chat_judge(), plan)
    assert (told.expected.requests, told.known) == (asked, 0)
    assert spending.requests == asked + 1  # the probe
    if measured is NOTHING_BESIDE:  # which judgments are repeated depends on the judge's name
        assert 0 < spending.tokens - told.expected.tokens < 300  # the probe's


@pytest.mark.parametrize("measured", [MEASURED, NOTHING_BESIDE], ids=["measured", "nothing beside"])
def test_of_what_is_known_nothing_is_expected_to_be_asked(lenient, amended, chat_judge, spent, forecast_of, measured):
    plan = amended(lenient, judging=measured)
    told, asked, _ = spent(chat_judge(), plan)
    again = forecast_of(chat_judge(), plan)
    assert (again.expected.requests, again.expected.tokens) == (0, 0)
    assert again.known == asked
    assert (again.worst_questions, again.worst) == (told.worst_questions, told.worst)
    assert forecast_of(chat_judge(model="other"), plan).known == 0


def test_after_a_run_that_was_ended_the_rest_is_expected(
    lenient, chat_judge, forecast_of, sit, endpoint, world, tmp_path
):
    endpoint.says = lexical
    whole = forecast_of(chat_judge(), lenient)
    sit(world, lenient, chat_judge(caps=Caps(requests=21)), journals=tmp_path)
    rest = forecast_of(chat_judge(), lenient)
    assert (rest.known, rest.expected.requests) == (20, whole.expected.requests - 20)


def test_money_is_said_where_prices_are_known_and_is_the_price_of_the_tokens(lenient, chat_judge, forecast_of):
    without, with_prices = (forecast_of(chat_judge(prices=prices), lenient) for prices in (None, Prices(2.0, 10.0)))
    assert (without.worst.usd, without.expected.usd) == (None, None)
    assert "USD" not in str(without)
    for told in (with_prices.worst, with_prices.expected):
        assert told.usd == pytest.approx((2.0 * told.prompt_tokens + 10.0 * told.completion_tokens) / 1e6)
        assert f"{told.usd:.4f} USD" in str(with_prices)


def test_longer_answers_are_forecast_to_cost_more_and_prompts_the_same(lenient, chat_judge, forecast_of):
    short, long = (forecast_of(chat_judge(max_tokens=tokens), lenient) for tokens in (8, 80))
    assert long.expected.prompt_tokens == short.expected.prompt_tokens
    assert long.expected.completion_tokens == 10 * short.expected.completion_tokens == 80 * long.expected.requests


def test_the_forecast_is_one_line_with_its_counts(lenient, chat_judge, forecast_of):
    told = forecast_of(chat_judge(), lenient)
    assert str(told) == (
        f"at most {told.worst_questions:,} questions ({told.worst.requests:,} requests, {told.worst.tokens:,} tokens);"
        f" expected, if it judges as words in common do: {told.expected.requests:,} requests,"
        f" {told.expected.tokens:,} tokens; 0 answers are known"
    )
    # Twice an entry of 0 to 4 signals: 8 propositions of n have 1 + n questions each where n > 0; 8 spans; the probe.
    assert told.worst_questions == 8 * (2 + 3 + 4 + 5) + 8 + 1
