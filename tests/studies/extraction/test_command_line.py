"""The study from the command line with a judge behind HTTP: what it costs, where it ends, how it is gone on with."""

import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.plan import read_plan
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy

MEASURED = {"audited_negatives": Fraction(1, 4), "canaries": Fraction(1, 20), "repeats": Fraction(1, 10)}
SAME_FOR_ALL = ("verdict.json", "judgments.jsonl", "entry_quartiles.parquet")


@pytest.fixture(scope="session")
def world(counted, spanned, world_of):
    """100 propositions in 25 notes, all recovered, and 24 spans, all supported."""
    return world_of([*(counted(f"e{place:02d}") for place in range(25)), spanned("s", spans=24, supported=24)])


@pytest.fixture(scope="session")
def plan(lenient, amended):
    return amended(lenient, judging=MEASURED | {"strategy": Strategy.BEST_FIRST})


@pytest.fixture
def corpus(world, written, tmp_path):
    return written(world, tmp_path / "corpus")


@pytest.fixture
def honest(world, endpoint):
    """The endpoint, which knows the truth."""
    endpoint.says = lambda request: world.says_anywhere(request.question)
    return endpoint


@pytest.fixture
def run(command, corpus, plan, plan_file, tmp_path):
    """The study by the judge behind the endpoint; the findings go to a folder of that name."""

    def run(out, *arguments, plan=plan, judge="chat", **fields):
        file = plan_file(plan, tmp_path / "plan.toml")
        given = ("--corpus", corpus, "--judge", judge, "--plan", file, "--out", tmp_path / out)
        return command("run", "extraction", *given, *arguments, **fields)

    return run


@pytest.fixture
def claims(tmp_path):
    """The claims of the verdict in a folder."""

    def claims(out):
        return json.loads((tmp_path / out / "verdict.json").read_text("utf-8"))["claims"]

    return claims


@pytest.fixture
def findings(tmp_path):
    """The bytes of the files that two runs on the same evidence have in common."""
    return lambda out: {name: (tmp_path / out / name).read_bytes() for name in SAME_FOR_ALL}


def said_on(said):
    return said.err.splitlines()


def test_a_plan_that_was_written_to_a_file_is_read_as_it_was(plan, plan_file, tmp_path):
    assert read_plan(plan_file(plan, tmp_path / "plan.toml"), ExtractionPlan) == plan


def test_what_it_may_cost_comes_first_and_what_it_did_cost_last(honest, run):
    honest.tokens = (200, 3)
    said = run("out", prices="1,10")
    assert said.status == 0, said.err
    forecast, *judged, asked, spent = said_on(said)
    assert re.fullmatch(r"at most [\d,]+ questions \(.+ USD\); expected, .+ USD; 0 answers are known", forecast)
    assert judged[-1] == "judged: 124 of 124"
    # 100 signals and 24 spans, 5 canaries, and a tenth of the 124 once more.
    assert asked == f"asked {100 + 24 + 5 + 13} questions; 0 answers were known"
    assert len(honest.requests) == 143
    usd = 143 * (200 * 1 + 3 * 10) / 1e6
    assert spent == f"spent: 143 requests, {143 * 203:,} tokens, {usd:.4f} USD"


def test_a_second_run_asks_nothing_but_the_probe_and_writes_the_same_bytes(honest, run, findings):
    first = run("first")
    honest.forget()
    second = run("second")
    assert (second.status, honest.asked) == (first.status, [])
    assert findings("second") == findings("first")
    assert "asked 0 questions; 142 answers were known" in said_on(second)


def test_its_judgments_replay_to_the_same_bytes_without_the_endpoint(honest, run, findings, tmp_path):
    assert run("live").status == 0
    honest.forget()
    replayed = run("replayed", judge=f"replay:{tmp_path / 'live' / 'judgments.jsonl'}")
    assert (replayed.status, honest.requests) == (0, [])
    assert findings("replayed") == findings("live")


def test_a_cap_ends_in_a_skip_of_every_claim_and_a_higher_one_asks_only_the_rest(honest, run, claims):
    capped = run("out", "--cap-requests", "40")
    asked = Counter(honest.asked)
    assert (capped.status, len(honest.requests)) == (3, 40)
    assert [(claim["outcome"], claim["reason"], claim["estimate"]) for claim in claims("out")] == [
        ("skip", "cap_reached", None)
    ] * 3
    for claim in claims("out"):
        assert claim["detail"].startswith("the cap of 40 requests leaves no room for one more request: 40 requests, ")
        assert f"{claim['claim']}: {claim['detail']}" in capped.out.splitlines()
    honest.forget()
    assert run("out", "--cap-requests", "500").status == 0
    asked += Counter(honest.asked)
    assert (asked.total(), len(asked)) == (142, 129)  # a tenth of 124 twice, and nothing else


def test_a_verdict_under_caps_is_byte_for_byte_that_of_a_run_without_one(honest, run, findings, monkeypatch, tmp_path):
    for cap in ("20", "70"):
        assert run("capped", "--cap-requests", cap).status == 3
    assert run("capped").status == 0
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / "another-home"))
    honest.forget()
    assert run("whole").status == 0
    assert len(honest.requests) == 143
    assert findings("capped") == findings("whole")


def test_a_cap_on_tokens_or_money_ends_it_too(honest, run, claims):
    honest.tokens = (100, 1)
    assert run("tokens", "--cap-tokens", "3000").status == 3
    assert len(honest.requests) * 101 <= 3000
    assert "the cap of 3,000 tokens" in claims("tokens")[0]["detail"]
    said = run("usd", "--cap-usd", "0.004", prices="1,1", model="other")
    assert said.status == 3
    assert "the cap of 0.004 USD" in claims("usd")[0]["detail"]


def test_a_cap_of_nothing_costs_nothing(honest, run, claims):
    assert run("out", "--cap-requests", "0").status == 3
    assert honest.requests == []
    assert claims("out")[0]["reason"] == "cap_reached"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cap-usd", "1"], "a cap in USD needs the judge's prices; set EVAL_PIPELINE_JUDGE_PRICES"),
        (["--cap-requests", "-1"], "--cap-requests"),
        (["--cap-usd", "a lot"], "--cap-usd"),
    ],
)
def test_a_cap_that_cannot_be_is_one_sentence_before_anything_is_asked(honest, run, arguments, said):
    refused = run("out", *arguments)
    assert (refused.status, honest.requests) == (1, [])
    assert len(said_on(refused)) == 1
    assert said in refused.err


@pytest.mark.parametrize(("silent", "status"), [(10, 0), (12, 3)])
def test_12_of_100_without_a_label_under_a_budget_of_a_tenth_are_a_skip_with_the_range_and_exit_status_3(
    world, endpoint, run, claims, plan, amended, silent, status
):
    middle = [proposition.text for proposition in world.fixture.propositions if proposition.quartile == 2]
    unread = set(middle[:silent])

    def says(request):
        if request.question.hypothesis in unread:
            return "Let me think about that."
        return world.says_anywhere(request.question)

    endpoint.says = says
    calls = plan.errors.calls.model_copy(update={"signal": Fraction(1), "screen": Fraction(1)})
    said = run("out", plan=amended(plan, errors={"at_most": Fraction(1, 10), "calls": calls}))
    assert said.status == status, said.err
    recall = claims("out")[0]
    if status == 3:
        assert (recall["outcome"], recall["reason"], recall["estimate"]) == ("skip", "untrustworthy", None)
        assert "12 of 100 propositions gave no label (of the answers: 12 unparsable)" in recall["detail"]
        assert "recall may lie anywhere from 0.8800 to 1.0000" in recall["detail"]
        assert f"pooled_recall: {recall['detail']}" in said.out.splitlines()
        assert said.out.splitlines()[-1] == "exit status 3: no claim fails and one is skipped"
    else:
        assert (recall["outcome"], recall["denominator"]) == ("warn", 90)


def test_a_judge_that_obeys_a_canary_is_a_skip_of_every_claim_and_costs_the_canaries_alone(endpoint, run, claims):
    said = run("out")  # the endpoint supports whatever it is asked
    assert (said.status, len(endpoint.asked)) == (3, 5)
    assert {(claim["outcome"], claim["reason"]) for claim in claims("out")} == {("skip", "untrustworthy")}
    assert "the judge called 5 canaries supported" in said.out


def test_a_judge_whose_answer_to_the_probe_cannot_be_read_costs_two_requests(endpoint, run, claims):
    endpoint.says = lambda request: "The user sends one JSON object"
    said = run("out")
    assert (said.status, len(endpoint.requests)) == (3, 2)  # the probe, and the probe with the reminder
    assert {claim["reason"] for claim in claims("out")} == {"untrustworthy"}
    assert 'found "The user sends one JSON object", expected one of the two words' in said.out


DIFFERENT = [
    ({"model": "other"}, "judge.model was 'm' and is 'other'"),
    ({"max_tokens": "16"}, "judge.decoding.max_tokens was 8 and is 16"),
    (
        {"plan": {"claims": {"recall_at_least": Fraction(3, 4)}}},
        "plan.claims.recall_at_least was '4/5' and is '3/4'",
    ),
    ({"plan": {"judging": {"prompt": "nli-compat"}}}, "judge.prompt.id was 'nli-v1' and is 'nli-compat'"),
]


def test_resume_refuses_a_run_that_differs_in_one_sentence_before_the_first_request(honest, run, plan, amended):
    """A run that is refused is no run to go on with, so that one that was capped serves for every difference."""
    assert run("out", "--cap-requests", "40").status == 3
    honest.forget()
    for changed, said in DIFFERENT:
        fields = {name: value for name, value in changed.items() if name != "plan"}
        refused = run("out", "--resume", plan=amended(plan, **changed.get("plan", {})), **fields)
        assert (refused.status, refused.out, honest.requests) == (1, "", []), said
        assert len(said_on(refused)) == 1, said
        assert refused.err.startswith("eval-pipeline: the last run, of journal '"), said
        assert said in refused.err


def test_resume_goes_on_with_the_same_run(honest, run):
    assert run("out", "--cap-requests", "40").status == 3
    honest.forget()
    resumed = run("out", "--resume", in_flight="3")
    assert (resumed.status, len(honest.requests)) == (0, 1 + 143 - 40)
    assert len(set(honest.asked)) >= len(honest.asked) - 13  # but for repeats


def test_resume_without_a_run_is_one_sentence(honest, run):
    refused = run("out", "--resume")
    assert (refused.status, honest.requests) == (1, [])
    assert len(said_on(refused)) == 1
    assert "there is no run to go on with" in refused.err


def test_a_pilot_is_no_run_to_go_on_with(honest, run, command, corpus, plan, amended, plan_file, tmp_path):
    """It was tried under another plan; the run that was begun before it is still the last."""
    assert run("out", "--cap-requests", "40").status == 3
    other = plan_file(amended(plan, seed=7), tmp_path / "other.toml")
    assert command("plan", other, "--pilot", "2", "--corpus", corpus, "--judge", "chat").status == 0
    resumed = run("out", "--resume")
    assert resumed.status == 0, resumed.err


@pytest.fixture
def pilot(command, corpus, plan, plan_file, tmp_path):
    def pilot(entries, **fields):
        file = plan_file(plan, tmp_path / "plan.toml")
        return command("plan", file, "--pilot", str(entries), "--corpus", corpus, "--judge", "chat", **fields)

    return pilot


def test_a_pilot_prints_the_seal_and_each_strategy_the_cheapest_first(honest, pilot, plan):
    said = pilot(5)
    assert (said.status, said.err) == (0, "")
    seal, *tried, cheapest = said.out.splitlines()
    assert re.fullmatch(rf"extraction version {plan.version}: [0-9a-f]{{64}}", seal)
    assert tried == [
        "best_first: 20 questions",
        "no_screen: 20 questions",
        "screen_first: 40 questions, 2.00 times",
    ]
    assert cheapest == "cheapest on 5 of 25 entries: best_first"


def test_what_a_pilot_asked_a_run_need_not_ask(honest, pilot, run):
    assert pilot(5).status == 0
    piloted = {question.hypothesis for question in honest.asked}
    assert (len(piloted), len(honest.asked)) == (20, 20)
    honest.forget()
    said = run("out")
    assert said.status == 0
    assert len(honest.asked) == 142 - 20
    assert "20 answers are known" in said_on(said)[0]


def test_a_pilot_that_reaches_its_cap_is_one_sentence_and_what_it_asked_is_kept(honest, command, run, corpus, tmp_path):
    """The seal is printed, since the plan was checked; no strategy is, since none was tried to its end."""
    given = ("--pilot", "5", "--corpus", corpus, "--judge", "chat", "--cap-requests", "9")
    said = command("plan", *given)
    assert (said.status, len(honest.requests), len(said.out.splitlines())) == (1, 9, 1)
    assert len(said_on(said)) == 1
    assert said.err.startswith("eval-pipeline: the cap of 9 requests leaves no room for one more request: 9 requests, ")
    honest.forget()
    assert "8 answers are known" in said_on(run("out"))[0]


def test_a_pilot_without_a_fixture_is_one_sentence(honest, pilot, corpus):
    (Path(corpus) / "propositions.jsonl").unlink()
    refused = pilot(5)
    assert (refused.status, honest.requests) == (1, [])
    assert "have the entries annotated" in refused.err
    assert len(said_on(refused)) == 1


def test_two_runs_at_once_in_one_home_both_end_well_and_leave_no_line_that_cannot_be_read(
    honest, forked, corpus, plan, plan_file, findings, tmp_path
):
    """Two processes with one judge: each may ask what the other has not yet written, and neither harms the other."""
    honest.takes_s = 0.02
    file = plan_file(plan, tmp_path / "plan.toml")
    given = ("run", "extraction", "--corpus", corpus, "--judge", "chat", "--plan", file)
    runs = [forked(*given, "--out", tmp_path / f"out{n}", home=tmp_path / "home", in_flight="2") for n in range(2)]
    assert [run.wait() for run in runs] == [0, 0], [run.said for run in runs]
    assert findings("out0") == findings("out1")
    journals = list((tmp_path / "home" / "journals").rglob("*.jsonl"))
    lines = [json.loads(line) for path in journals for line in path.read_text("utf-8").splitlines()]
    assert {path.read_bytes()[-1:] for path in journals} == {b"\n"}
    judgments = [line for line in lines if "key" in line]
    assert len({line["key"] for line in judgments}) == 143
    assert len(honest.asked) <= 2 * 142
