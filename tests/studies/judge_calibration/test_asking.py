"""A judge whose confusion is known is measured to have it; it is asked once, and what it says is kept."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from eval_pipeline.errors import JudgeDown, RunDiffers
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.offline import LexicalJudge, Offline
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.registry import judge_on_meter
from eval_pipeline.judge.spending import CapReached, Caps, Meter, Prices, Spending
from eval_pipeline.records import Alignment, Answer, NoLabel, Reason
from eval_pipeline.studies.judge_calibration import asking
from eval_pipeline.studies.judge_calibration.asking import predict_in_journal, question_of
from eval_pipeline.studies.judge_calibration.confusion import error_rates
from eval_pipeline.studies.judge_calibration.repeats import flips
from tests.studies.judge_calibration.made_up import LEVEL, composed, right_answer

GOLD = composed({"SUPPORTED": 20, "UNSUPPORTED": 20}, {"VIOLATED": 10, "NOT_VIOLATED": 10})


@dataclass(frozen=True)
class Constructed(Offline):
    """Answers every tuple as it is told, as JSON, and the repeats as told for them; counts how often it was asked."""

    answers: dict[str, str]
    prompt: Prompt
    model: str = "m"
    asked: list[str] = field(default_factory=list)
    kind = "constructed"

    @property
    def identity(self):
        prompt = {"id": self.prompt.id, "sha256": self.prompt.hash}
        return {"kind": self.kind, "model": self.model, "prompt": prompt}

    async def answer(self, question):
        self.asked.append(question.entry_id)
        raw = self.answers.get(f"{question.entry_id} again {question.repeat}", self.answers[question.entry_id])
        if raw == "down":
            raise JudgeDown("the judge went away")
        if raw == "cap":
            raise CapReached("requests (7)", Spending(None))
        return Answer(raw, None, attempts=1, latency_s=0.0, tokens=None)


def says(**changed: str) -> dict[str, str]:
    """The right answer to every tuple, but for those whose number is given."""
    right = {f"gold-{item.index}": json.dumps({"judgment": item.expected}) for item in GOLD.tuples}
    return right | {name.replace("_", "-"): raw for name, raw in changed.items()}


def repeated(plan, times):
    return plan.model_copy(update={"asking": plan.asking.model_copy(update={"repeats": times})})


def sat(answers, plan, folder, run="one", *, model="m", resume=False):
    made = []

    def judges(prompt):
        made.append(Constructed(answers, prompt, model))
        return made[-1]

    found = predict_in_journal(
        GOLD, judges, plan, journals=folder, run=run, resume=resume, progress=lambda done, total: None
    )
    return found, [name for judge in made for name in judge.asked]


def test_a_judge_of_known_confusion_is_measured_to_have_it(shipped, tmp_path):
    wrong = json.dumps({"judgment": "SUPPORTED"})
    missed = json.dumps({"judgment": "NOT_VIOLATED"})
    found, _ = sat(says(gold_20=wrong, gold_21=wrong, gold_40=missed), shipped, tmp_path)
    rates = error_rates(found.first, level=LEVEL)
    assert rates.false_clear.estimate == Fraction(2, 20)
    assert rates.false_negatives.estimate == Fraction(3, 50)
    assert rates.false_positives.estimate == Fraction(2, 50)
    assert rates.matrix["UNSUPPORTED", "SUPPORTED"] == 2
    assert len(found.judgments) == 60
    assert set(found.fingerprints) == {"alignment-v1", "constraint-v1"}


def test_what_was_said_is_not_asked_again_and_repeats_are(shipped, tmp_path):
    _, first = sat(says(), shipped, tmp_path, "one")
    _, second = sat(says(), shipped, tmp_path, "two")
    assert (len(first), len(second)) == (60, 0)
    found, third = sat(says(), repeated(shipped, 2), tmp_path, "three")
    assert len(third) == 120
    assert [len(run) for run in found.repeats] == [60, 60]


def test_an_answer_that_is_no_object_of_the_form_counts_as_none(shipped, tmp_path):
    found, _ = sat(says(gold_0="SUPPORTED", gold_59='{"judgment": "MAYBE"}'), shipped, tmp_path)
    rates = error_rates(found.first, level=LEVEL)
    assert (rates.invalid.errors, rates.invalid.n) == (2, 60)
    assert found.first[0].no_label is NoLabel.UNPARSABLE
    assert (rates.false_negatives.n, rates.false_negatives.errors) == (49, 0)


def test_a_judge_that_goes_away_leaves_a_refusal_and_no_predictions(shipped, tmp_path):
    found, _ = sat(says(gold_7="down"), shipped, tmp_path)
    assert found.first == ()
    assert found.refusal.reason is Reason.JUDGE_DOWN
    again, asked = sat(says(), shipped, tmp_path, "two")
    assert len(again.first) == 60
    assert "gold-0" not in asked


@pytest.mark.parametrize(("end", "reason"), [("down", Reason.JUDGE_DOWN), ("cap", Reason.CAP_REACHED)])
@pytest.mark.parametrize("where", ["gold_0", "gold_39", "gold_59"])
def test_wherever_the_asking_ends_there_are_no_predictions_and_a_sentence_says_why(
    shipped, tmp_path, end, reason, where
):
    found, _ = sat(says(**{where: end}), repeated(shipped, 1), tmp_path)
    assert (found.first, found.repeats, found.refusal.reason) == ((), (), reason)
    assert found.refusal.detail
    assert len(found.judgments) < 120


@pytest.mark.parametrize("end", ["down", "cap"])
def test_once_the_judge_cannot_be_asked_it_is_not_asked_under_the_other_prompt(shipped, tmp_path, end):
    found, asked = sat(says(gold_7=end), shipped, tmp_path)
    assert asked == [f"gold-{number}" for number in range(8)]
    assert len(found.judgments) == 7
    assert set(found.fingerprints) == {"alignment-v1", "constraint-v1"}


@pytest.mark.parametrize("where", ["gold-7", "gold-40", "gold-59"])
def test_a_run_is_gone_on_with_under_the_plan_that_it_was_begun_with_and_no_other(shipped, compat, tmp_path, where):
    """Wherever it ended: under the first prompt, before any answer under the second, or at the last question."""
    sat(says() | {where: "down"}, shipped, tmp_path)
    with pytest.raises(RunDiffers, match=r"was begun otherwise: plan\.asking"):
        sat(says(), compat, tmp_path, "two", resume=True)
    found, asked = sat(says(), shipped, tmp_path, "two", resume=True)
    assert (len(found.first), where in asked) == (60, True)
    assert sat(says(), shipped, tmp_path, "three", resume=True)[1] == []


REWORDED = {"alignment": ("ALIGNMENT",), "constraint": ("CONSTRAINT",), "both": ("ALIGNMENT", "CONSTRAINT")}


@pytest.fixture
def reword(monkeypatch):
    """Gives these prompts other words."""

    def reword(*names):
        for name in names:
            prompt = getattr(asking, name)
            monkeypatch.setattr(asking, name, replace(prompt, system=f"{prompt.system} Be brief."))

    return reword


@pytest.mark.parametrize("which", REWORDED)
@pytest.mark.parametrize("breaks", [("gold-7",), ("gold-40",), ("gold-47",), ("gold-59",), ("gold-47", "gold-50")])
def test_a_run_is_not_gone_on_with_under_another_prompt_whichever_it_is_and_wherever_the_run_broke(
    shipped, tmp_path, reword, breaks, which
):
    """Under the first prompt, at the first question under the second, later, and once more when it went on."""
    for number, where in enumerate(breaks):
        sat(says() | {where: "down"}, shipped, tmp_path, f"run {number}", resume=number > 0)
    reword(*REWORDED[which])
    with pytest.raises(RunDiffers) as refused:
        sat(says(), shipped, tmp_path, "last", resume=True)
    said = str(refused.value)
    assert said.count("judge.prompt.sha256 was") == len(REWORDED[which])
    for name in ("ALIGNMENT", "CONSTRAINT"):
        assert (f"under '{name.lower()}-v1'" in said) == (name in REWORDED[which])


@pytest.mark.parametrize("where", ["gold-7", "gold-47"])
@pytest.mark.parametrize("which", [None, *REWORDED])
def test_nor_with_another_model_or_plan_whatever_else_changed(shipped, compat, tmp_path, reword, where, which):
    sat(says() | {where: "down"}, shipped, tmp_path)
    reword(*REWORDED.get(which, ()))
    with pytest.raises(RunDiffers, match=r"judge\.model was 'm' and is 'n';"):
        sat(says(), shipped, tmp_path, "two", model="n", resume=True)
    with pytest.raises(RunDiffers, match=r"plan\.gate\.justification|plan\.asking"):
        sat(says(), compat, tmp_path, "two", resume=True)


def test_there_is_nothing_to_go_on_with_where_nothing_was_asked(shipped, tmp_path):
    with pytest.raises(RunDiffers, match="there is no run to go on with"):
        sat(says(), shipped, tmp_path, resume=True)


def test_a_repeat_may_be_answered_otherwise_and_counts_as_a_turn(shipped, tmp_path):
    wrong = json.dumps({"judgment": "AMBIGUOUS"})
    answers = says() | {"gold-3 again 1": wrong, "gold-4": wrong, "gold-4 again 1": says()["gold-4"]}
    found, _ = sat(answers, repeated(shipped, 2), tmp_path)
    turns = flips([found.first, *found.repeats], level=LEVEL)
    assert (turns.runs, turns.turned.errors, turns.turned.n) == (3, 2, 60)
    # The first run is wrong on tuple 4; so are two of three, and of tuple 3 only one is.
    assert error_rates(found.first, level=LEVEL).false_negatives.errors == 1
    assert turns.majority.false_negatives.errors == 1


def test_the_breakdown_and_the_rule_that_was_named_come_along(shipped, tmp_path):
    parts = [{"sub_claim_text": "a", "sub_verdict": "SUPPORTED"}, {"sub_claim_text": "b", "sub_verdict": "AMBIGUOUS"}]
    found, _ = sat(
        says(
            gold_20=json.dumps({"judgment": "UNSUPPORTED", "sub_claim_breakdown": parts}),
            gold_40=json.dumps({"judgment": "VIOLATED", "violated_constraint_id": "MNC-2"}),
        ),
        shipped,
        tmp_path,
    )
    assert [part.sub_claim_text for part in found.first[20].breakdown] == ["a", "b"]
    assert found.first[40].constraint_id == "MNC-2"
    assert error_rates(found.first, level=LEVEL).wrong_rule.errors == 1


def test_progress_is_told_for_each_prompt_question_by_question(shipped, tmp_path):
    told: list[tuple[int, int]] = []
    predict_in_journal(
        GOLD,
        lambda prompt: LexicalJudge(prompt.task),
        shipped,
        journals=tmp_path,
        run="one",
        resume=False,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(n, 40) for n in range(1, 41)] + [(n, 20) for n in range(1, 21)]


PRICES = Prices(prompt_usd=1.0, completion_usd=1.0)
SMALL = composed({"SUPPORTED": 3, "UNSUPPORTED": 3}, {"VIOLATED": 2, "NOT_VIOLATED": 3}, partial=1)


def over_http(url, plan, folder, run, *, attempts=6, caps=None, in_flight=4):
    meter = Meter(caps or Caps(), PRICES)

    def judges(prompt):
        there = Endpoint(
            base_url=url,
            model="m",
            revision="",
            max_tokens=prompt.max_tokens,
            extra={},
            api_key="",
            in_flight=in_flight,
            attempt_timeout_s=10.0,
            total_timeout_s=30.0,
            prices=PRICES,
        )
        return judge_on_meter("chat", prompt, there, attempts=attempts, meter=meter)

    return predict_in_journal(
        SMALL, judges, plan, journals=folder, run=run, resume=False, progress=lambda done, total: None
    )


def test_a_model_behind_an_endpoint_is_measured_and_an_answer_that_cannot_be_read_is_asked_for_once_more(
    shipped, tmp_path, endpoint_of
):
    def says(system, turn):
        unread = turn["claim"] == "SUPPORTED 1" and "An earlier reply" not in system
        return "It is supported, I think." if unread else right_answer(SMALL, turn)

    endpoint = endpoint_of(says)
    found = over_http(endpoint.url, shipped, tmp_path, "one")
    assert found.refusal is None
    rates = error_rates(found.first, level=LEVEL)
    assert (rates.false_negatives.errors, rates.false_positives.errors, rates.invalid.errors) == (0, 0, 0)
    assert (rates.partial_misses.errors, rates.partial_misses.n, rates.wrong_rule.errors) == (0, 1, 0)
    asked = Counter(turn["claim"] for _, turn in endpoint.turns)
    assert {claim for claim, count in asked.items() if count == 2} == {"SUPPORTED 1", "The probe was sent."}
    assert sum(asked.values()) == 11 + 1 + 2  # each tuple, the one once more, and a probe under either prompt
    shown = next(turn for _, turn in endpoint.turns if turn["claim"] == "VIOLATED 0")
    assert shown["constraints"] == [{"constraint_id": "MNC-1", "rule": "Do not claim a cause.", "scope": "MNC"}]
    endpoint.turns.clear()
    again = over_http(endpoint.url, shipped, tmp_path, "two")
    assert (again.first, endpoint.turns) == (found.first, [])


def test_a_model_that_never_keeps_to_the_form_has_no_label_there_and_is_asked_about_it_in_the_next_run(
    shipped, tmp_path, endpoint_of
):
    endpoint = endpoint_of(lambda _, turn: "SUPPORTED" if turn["claim"] == "SUPPORTED 1" else right_answer(SMALL, turn))
    found = over_http(endpoint.url, shipped, tmp_path, "one")
    rates = error_rates(found.first, level=LEVEL)
    assert (rates.invalid.errors, rates.false_negatives.n) == (1, 7)
    endpoint.turns.clear()
    over_http(endpoint.url, shipped, tmp_path, "two")
    assert {turn["claim"] for _, turn in endpoint.turns} <= {"SUPPORTED 1", "The probe was sent."}


def test_a_cap_on_requests_and_an_endpoint_that_is_not_there_are_refusals(shipped, tmp_path, endpoint_of):
    endpoint = endpoint_of(lambda _, turn: right_answer(SMALL, turn))
    capped = over_http(endpoint.url, shipped, tmp_path, "one", caps=Caps(requests=4))
    assert (capped.first, capped.refusal.reason) == ((), Reason.CAP_REACHED)
    absent = over_http("http://127.0.0.1:9/v1", shipped, tmp_path, "two", attempts=1)
    assert (absent.first, absent.refusal.reason) == ((), Reason.JUDGE_DOWN)
    assert "127.0.0.1:9" in absent.refusal.detail


@pytest.mark.parametrize("in_flight", [1, 4])
@pytest.mark.parametrize("cap", range(1, 13))
def test_a_cap_on_requests_is_the_run_s_and_not_each_prompt_s(shipped, tmp_path, endpoint_of, cap, in_flight):
    """The whole takes 13: 6 and 5 questions, and a probe under either prompt."""
    endpoint = endpoint_of(lambda _, turn: right_answer(SMALL, turn))
    capped = over_http(endpoint.url, shipped, tmp_path, "one", caps=Caps(requests=cap), in_flight=in_flight)
    assert (capped.first, capped.refusal.reason) == ((), Reason.CAP_REACHED)
    assert len(endpoint.turns) == cap
    assert f"the cap of {cap} requests" in capped.refusal.detail
    assert f": {cap} requests, {40 * cap:,} tokens, " in capped.refusal.detail
    assert sum("constraints" in turn for _, turn in endpoint.turns) == max(0, cap - 7)


def test_a_cap_that_just_suffices_for_both_prompts_refuses_nothing(shipped, tmp_path, endpoint_of):
    endpoint = endpoint_of(lambda _, turn: right_answer(SMALL, turn))
    assert over_http(endpoint.url, shipped, tmp_path, "one", caps=Caps(requests=13)).refusal is None
    assert len(endpoint.turns) == 13


@pytest.mark.parametrize("in_flight", [1, 4])
@pytest.mark.parametrize(
    ("caps", "named"), [(Caps(tokens=40_000), "40,000 tokens"), (Caps(usd=0.04), "0.04 USD")], ids=["tokens", "USD"]
)
def test_a_cap_on_tokens_or_money_is_the_run_s_and_leaves_the_second_prompt_what_the_first_has_left(
    shipped, tmp_path, endpoint_of, caps, named, in_flight
):
    """Each request costs 4,000 tokens, .004 USD: the cap pays for ten of the 13, and for all under either prompt."""
    endpoint = endpoint_of(lambda _, turn: right_answer(SMALL, turn))
    endpoint.tokens = 4000
    capped = over_http(endpoint.url, shipped, tmp_path, "one", caps=caps, in_flight=in_flight)
    assert (capped.first, capped.refusal.reason) == ((), Reason.CAP_REACHED)
    assert f"the cap of {named}" in capped.refusal.detail
    assert 7 <= len(endpoint.turns) <= 10
    endpoint.turns.clear()
    again = over_http(endpoint.url, shipped, tmp_path, "two", caps=caps, in_flight=in_flight)
    assert len(again.first) == len(SMALL.tuples)
    assert all("constraints" in turn for _, turn in endpoint.turns)


def test_a_question_shows_the_anchor_or_the_rule_and_never_what_is_expected():
    aligned, ruled = question_of(GOLD.tuples[0]), question_of(GOLD.tuples[40])
    assert dict(aligned.given) == {"anchor_kind": "page", "anchor_value": "3"}
    assert dict(ruled.given) == {"constraint_id": "MNC-1", "rule": "Do not claim a cause.", "scope": "MNC"}
    assert Alignment.SUPPORTED not in aligned.premise
