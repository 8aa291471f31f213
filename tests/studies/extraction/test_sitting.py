"""A sitting: what a judge said is asked for once, of that judge alone; a run that was ended goes on where it was."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from eval_pipeline.document import document_bytes
from eval_pipeline.errors import RunDiffers
from eval_pipeline.judge.offline import LexicalJudge, read_replay
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.judge.sitting import desk_in_journal
from eval_pipeline.judge.spending import Caps, Prices
from eval_pipeline.records import NoLabel, Proposition, Reason
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.pilot import pilot
from eval_pipeline.studies.extraction.plan import Strategy

MEASURED = {"audited_negatives": Fraction(1, 2), "canaries": Fraction(1, 4), "repeats": Fraction(1, 4)}


def told(plan):
    """The prompt that the judge is told, and the values of the plan."""
    return prompt_named(plan.judging.prompt), plan.model_dump(mode="json")


@pytest.fixture(scope="session")
def world(counted, spanned, world_of):
    """48 propositions in six notes, a quarter of them not recovered, and 12 spans."""
    notes = [counted(f"e{place}", (2, 2, 1, 1), (2, 2, 2, 2)) for place in range(6)]
    return world_of([*notes, spanned("s", spans=12, supported=11)])


@pytest.fixture(scope="session")
def measured(lenient, amended):
    """The lenient plan with an audit, canaries and repeats."""
    return amended(lenient, judging=MEASURED, guard={"judged_at_least": 2})


def files(study):
    """The findings as they are written down."""
    return document_bytes(study.document), study.judged.to_lines()


def test_a_judge_that_supports_all_and_one_that_supports_nothing_share_a_store_and_no_answer(
    world, lenient, amended, run_study, endpoint, chat_judge, tmp_path
):
    """Two models at one endpoint; back at the first nothing is asked and its verdict is as it was."""
    endpoint.says = lambda request: "SUPPORTED" if request.model == "a" else "NOT_SUPPORTED"

    def judged_by(model):
        endpoint.forget()
        return run_study(world, lenient, chat_judge(model=model), journals=tmp_path), len(endpoint.asked)

    (first, asked_a), (other, asked_b), (again, asked_again) = judged_by("a"), judged_by("b"), judged_by("a")
    assert [study.recall.estimate for study in (first, other, again)] == [1, 0, 1]
    assert [study.guard.numerator for study in (first, other, again)] == [12, 0, 12]
    # 48 screens, 48 signals and 12 spans; under the judge that supports nothing a screen settles each proposition.
    assert (asked_a, asked_b, asked_again) == (108, 60, 0)
    assert files(again) == files(first)


@pytest.mark.parametrize(
    "change",
    [{"model": "other"}, {"revision": "2"}, {"max_tokens": 9}, {"extra": {"seed": 1}}, {"prompt": "nli-compat"}],
    ids=lambda change: next(iter(change)),
)
def test_a_judge_that_differs_in_anything_its_answers_depend_on_is_asked_everything_anew(
    world, lenient, amended, sit, endpoint, chat_judge, tmp_path, change
):
    plan = amended(lenient, judging={"prompt": change.get("prompt", "nli-v1")})
    sit(world, lenient, chat_judge(), journals=tmp_path)
    asked = len(endpoint.asked)
    endpoint.forget()
    sit(world, plan, chat_judge(**change), journals=tmp_path)
    assert len(endpoint.asked) == asked


@pytest.mark.parametrize(
    "change",
    [{"in_flight": 9}, {"attempts": 2}, {"prices": Prices(1.0, 1.0)}, {"attempt_timeout_s": 3.0}, {"caps": Caps(9999)}],
    ids=lambda change: next(iter(change)),
)
def test_a_judge_that_differs_in_nothing_its_answers_depend_on_is_asked_nothing(
    world, lenient, sit, endpoint, chat_judge, tmp_path, change
):
    sit(world, lenient, chat_judge(), journals=tmp_path)
    endpoint.forget()
    sit(world, lenient, chat_judge(**change), journals=tmp_path)
    assert endpoint.asked == []


def edited(world, place, text):
    propositions = list(world.fixture.propositions)
    propositions[place] = replace(propositions[place], text=text)
    return replace(world, fixture=Fixture(tuple(propositions), refusal=None))


@pytest.mark.parametrize("strategy", Strategy)
def test_an_edited_proposition_is_judged_anew_and_no_other(
    world, lenient, amended, run_study, endpoint, chat_judge, tmp_path, strategy
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    plan = amended(lenient, judging={"strategy": strategy})
    before = run_study(world, plan, chat_judge(), journals=tmp_path)
    endpoint.forget()
    after = run_study(edited(world, 5, "e0 tells otherwise"), plan, chat_judge(), journals=tmp_path)
    assert {question.hypothesis for question in endpoint.asked} == {"e0 tells otherwise"}
    assert len(endpoint.asked) == 1  # of one signal there is one question, the screen or the signal
    assert after.fate_of.items() - before.fate_of.items() == {("e0 tells otherwise", "missed")}


def test_an_edited_proposition_changes_no_canary_and_no_audit_but_its_own(
    world, measured, run_study, endpoint, chat_judge, tmp_path
):
    """Only repeats, which are drawn from all judgments, may be of another proposition; they were asked before."""
    endpoint.says = lambda request: world.says_anywhere(request.question)
    run_study(world, measured, chat_judge(), journals=tmp_path)
    known = set(endpoint.asked)
    endpoint.forget()
    run_study(edited(world, 5, "e0 tells otherwise"), measured, chat_judge(), journals=tmp_path)
    new = [question for question in endpoint.asked if question not in known]
    assert {question.hypothesis for question in new} == {"e0 tells otherwise"}
    assert len(endpoint.asked) - len(new) <= 3


def test_a_second_run_asks_nothing_and_comes_to_the_same_bytes(
    world, measured, run_study, endpoint, chat_judge, tmp_path
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    first = run_study(world, measured, chat_judge(), journals=tmp_path)
    assert {row["kind"] for row in first.judged.rows} == {
        "probe", "canary", "recall_screen", "recall_signal", "screen_audit", "precision_span", "repeat",
    }  # fmt: skip
    endpoint.forget()
    second = run_study(world, measured, chat_judge(), journals=tmp_path)
    assert endpoint.requests == []  # not even the probe: the judge need not be there
    assert files(second) == files(first)


def test_a_scripted_judge_with_a_journal_is_asked_nothing_again_however_it_would_answer(
    world, measured, run_study, scripted, tmp_path
):
    first = run_study(world, measured, scripted(world.says, standing=Standing.UNCALIBRATED), journals=tmp_path)
    turned = scripted(lambda question: "SUPPORTED", standing=Standing.UNCALIBRATED)
    second = run_study(world, measured, turned, journals=tmp_path)
    assert turned.asked == []
    assert second.judged == first.judged


def test_the_judgments_of_a_run_with_probe_canaries_audit_and_repeats_replay_to_the_same_bytes(
    world, measured, run_study, endpoint, chat_judge, tmp_path
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    study = run_study(world, measured, chat_judge())
    path = tmp_path / "judgments.jsonl"
    path.write_bytes(study.judged.to_lines())
    endpoint.forget()
    replayed = run_study(world, measured, read_replay(path))
    assert endpoint.requests == []
    assert replayed.judged.to_lines() == study.judged.to_lines()
    assert document_bytes(replayed.document).decode() == document_bytes(study.document).decode()


def test_a_replay_of_a_run_that_was_void_is_void_for_the_same_reason(world, measured, run_study, scripted, tmp_path):
    obeys = scripted(lambda question: "SUPPORTED", standing=Standing.UNCALIBRATED)
    study = run_study(world, measured, obeys)
    path = tmp_path / "judgments.jsonl"
    path.write_bytes(study.judged.to_lines())
    replayed = run_study(world, measured, read_replay(path))
    assert study.recall.reason is Reason.UNTRUSTWORTHY
    assert (replayed.recall, replayed.guard) == (study.recall, study.guard)


def capped(caps, world, plan, run_study, endpoint, chat_judge, journals):
    """The study under caps, and how many requests it sent."""
    endpoint.forget()
    study = run_study(world, plan, chat_judge(caps=caps), journals=journals)
    return study, len(endpoint.requests)


def test_a_cap_on_requests_skips_every_claim_and_says_what_was_spent(
    world, measured, run_study, endpoint, chat_judge, tmp_path
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    study, requests = capped(Caps(requests=60), world, measured, run_study, endpoint, chat_judge, tmp_path)
    assert requests == 60
    assert study.outcomes == ("skip", "skip", "skip")
    for verdict in (study.recall, study.uniformity, study.guard):
        assert (verdict.reason, verdict.estimate) == (Reason.CAP_REACHED, None)
        assert verdict.detail.startswith("the cap of 60 requests leaves no room for one more request: 60 requests, ")
        assert "what was judged is kept; raise the cap and run again" in verdict.detail
    assert study.evidence.recall.pooled.judged > 0  # what was judged stands, and is not stated
    assert study.document["quartiles"][0]["estimate"] is None


@pytest.mark.parametrize("in_flight", [1, 7])
@pytest.mark.parametrize("caps", [(2, 20, 90), (13, 14, 90)], ids=str)
def test_runs_under_higher_and_higher_caps_ask_only_the_rest_and_end_as_one_without_a_cap(
    world, measured, run_study, endpoint, chat_judge, tmp_path, caps, in_flight
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    whole = run_study(world, measured, chat_judge(in_flight=in_flight))
    total = Counter(endpoint.asked)
    asked = Counter()
    for cap in caps:
        endpoint.forget()
        judge = chat_judge(caps=Caps(requests=cap), in_flight=in_flight)
        study = run_study(world, measured, judge, journals=tmp_path)
        assert study.recall.reason is Reason.CAP_REACHED
        assert len(endpoint.requests) == cap
        asked += Counter(endpoint.asked)
        assert all(asked[question] <= total[question] for question in asked)
    endpoint.forget()
    last = run_study(world, measured, chat_judge(in_flight=in_flight), journals=tmp_path)
    assert asked + Counter(endpoint.asked) == total
    assert files(last) == files(whole)


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        (Caps(tokens=2_000), "the cap of 2,000 tokens leaves no room"),
        (Caps(usd=0.002), "the cap of 0.002 USD leaves no room"),
    ],
    ids=["tokens", "usd"],
)
def test_a_cap_on_tokens_or_money_is_never_gone_over(
    world, measured, run_study, endpoint, chat_judge, tmp_path, caps, said
):
    """At 101 tokens a request by the server's count, 1 USD a million."""
    endpoint.says, endpoint.tokens = (lambda request: world.says_anywhere(request.question)), (100, 1)
    judge = chat_judge(caps=caps, prices=Prices(1.0, 1.0))
    study = run_study(world, measured, judge, journals=tmp_path)
    assert study.recall.reason is Reason.CAP_REACHED
    assert study.recall.detail.startswith(said)
    assert judge.spending.tokens == 101 * len(endpoint.requests) <= 2_000
    assert judge.spending.tokens > 1_500  # what one more request may cost, estimated, is all that is left


@pytest.mark.parametrize("in_flight", [1, 16])
def test_a_server_that_counts_more_tokens_than_were_expected_uses_up_the_cap_and_no_more(
    world, measured, run_study, endpoint, chat_judge, in_flight
):
    """The probe costs what was expected and every question about twice as much, however many are in flight together.

    What one more may cost is all that is left of the cap.
    """

    def says(request):
        endpoint.tokens = (100, 1) if request.is_probe else (400, 1)
        return world.says_anywhere(request.question)

    endpoint.says, endpoint.takes_s = says, 0.01
    judge = chat_judge(caps=Caps(tokens=30_000), in_flight=in_flight)
    study = run_study(world, measured, judge)
    assert study.recall.reason is Reason.CAP_REACHED
    assert judge.spending.tokens == 101 + 401 * len(endpoint.asked) <= 30_000
    assert judge.spending.tokens > 30_000 - 3 * 401


def test_what_was_judged_under_a_cap_is_kept_and_not_lost_with_the_refusal(
    world, lenient, sit, endpoint, chat_judge, tmp_path
):
    judged = sit(world, lenient, chat_judge(caps=Caps(requests=31), in_flight=1), journals=tmp_path)
    # The probe and 15 propositions of a screen and a signal each.
    assert Counter(row["kind"] for row in judged.rows) == {"probe": 1, "recall_screen": 15, "recall_signal": 15}
    assert Judged.from_table(judged.to_table()) == judged


def said_by(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "eval_pipeline"]


def test_what_it_may_cost_is_said_before_the_first_request_and_what_it_did_cost_at_the_end(
    world, measured, sit, endpoint, chat_judge, caplog
):
    endpoint.says, endpoint.tokens = (lambda request: world.says_anywhere(request.question)), (50, 2)
    with caplog.at_level("INFO", logger="eval_pipeline"):
        sit(world, measured, chat_judge(prices=Prices(1.0, 10.0)))
    forecast, asked, spent = said_by(caplog)
    assert caplog.records[0].created < endpoint.requests[0].at
    assert forecast.startswith("at most ")
    questions = len(endpoint.asked)
    assert asked == f"asked {questions} questions; 0 answers were known"
    requests = questions + 1
    usd = requests * (50 + 2 * 10) / 1e6
    assert spent == f"spent: {requests:,} requests, {52 * requests:,} tokens, {usd:.4f} USD"


def test_a_judge_without_a_price_is_not_forecast_in_money_and_one_without_an_endpoint_not_at_all(
    world, measured, sit, endpoint, chat_judge, scripted, caplog
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    with caplog.at_level("INFO", logger="eval_pipeline"):
        sit(world, measured, chat_judge())
        sit(world, measured, scripted(world.says))
    assert [line for line in said_by(caplog) if "USD" in line] == []
    assert sum(line.startswith("at most ") for line in said_by(caplog)) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "other"}, "judge.model was 'm' and is 'other'"),
        ({"max_tokens": 16}, "judge.decoding.max_tokens was 8 and is 16"),
        ({"extra": {"seed": 7}}, "judge.decoding.seed was nothing and is 7"),
        ({"claims": {"recall_at_least": Fraction(3, 4)}}, "plan.claims.recall_at_least was '4/5' and is '3/4'"),
        ({"seed": 4243}, "plan.seed was 4242 and is 4243"),
        ({"judging": {"prompt": "nli-compat"}}, "judge.prompt.id was 'nli-v1' and is 'nli-compat'"),
    ],
    ids=["model", "max_tokens", "extra", "bar", "seed", "prompt"],
)
def test_a_resumed_run_that_differs_is_refused_before_the_first_request_with_what_differs(
    world, measured, amended, sit, endpoint, chat_judge, tmp_path, change, said
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    sit(world, measured, chat_judge(caps=Caps(requests=20)), journals=tmp_path)
    of_plan = {name: value for name, value in change.items() if name in type(measured).model_fields}
    plan = amended(measured, **of_plan)
    judge = chat_judge(prompt=plan.judging.prompt, **{n: v for n, v in change.items() if n not in of_plan})
    journals = sorted(tmp_path.rglob("*.jsonl"))
    endpoint.forget()
    with pytest.raises(RunDiffers) as refusal:
        sit(world, plan, judge, journals=tmp_path, resume=True)
    clauses = str(refusal.value).partition(" was begun otherwise: ")[2].partition("; put back ")[0].split("; ")
    assert said in clauses
    # A prompt differs in its id, in its hash and in the plan; whatever else differs, differs in one field.
    assert len(clauses) == (3 if "prompt" in said else 1)
    assert endpoint.requests == []
    assert sorted(tmp_path.rglob("*.jsonl")) == journals


def test_a_resumed_run_that_is_the_same_goes_on_and_what_changes_no_answer_may_differ(
    world, measured, run_study, sit, endpoint, chat_judge, tmp_path
):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    whole = run_study(world, measured, chat_judge())
    total = Counter(endpoint.asked)
    endpoint.forget()
    sit(world, measured, chat_judge(caps=Caps(requests=50)), journals=tmp_path)
    resumed = sit(world, measured, chat_judge(in_flight=9, prices=Prices(1.0, 2.0)), journals=tmp_path, resume=True)
    assert Counter(endpoint.asked) == total
    assert resumed == whole.judged


def test_a_run_can_be_resumed_more_than_once_and_after_it_was_done(world, lenient, sit, endpoint, chat_judge, tmp_path):
    whole = None
    for cap in (10, 30, 200, 200):
        whole = sit(world, lenient, chat_judge(caps=Caps(requests=cap)), journals=tmp_path, resume=cap != 10)
    assert whole.refusal is None
    assert len(endpoint.asked) == len(set(endpoint.asked)) == 108


def test_without_a_run_there_is_nothing_to_resume(world, lenient, sit, endpoint, chat_judge, tmp_path):
    with pytest.raises(RunDiffers, match=r"there is no run to go on with in .*; begin one, without --resume"):
        sit(world, lenient, chat_judge(), journals=tmp_path, resume=True)
    assert endpoint.requests == []


def test_a_run_that_was_killed_before_its_first_answer_leaves_the_run_before_it_to_be_resumed(
    world, lenient, sit, endpoint, chat_judge, tmp_path
):
    """Such a run leaves an empty journal; one that is newer is no reason to forget which run was the last."""
    sit(world, lenient, chat_judge(caps=Caps(requests=10)), journals=tmp_path)
    (journal,) = tmp_path.rglob("*.jsonl")
    journal.with_name("zzz.jsonl").touch()
    sit(world, lenient, chat_judge(), journals=tmp_path, resume=True)
    with pytest.raises(RunDiffers, match=r"judge\.model was 'm' and is 'other'"):
        sit(world, lenient, chat_judge(model="other"), journals=tmp_path, resume=True)


def test_the_run_that_wrote_last_is_the_one_to_be_resumed(world, lenient, amended, sit, endpoint, chat_judge, tmp_path):
    """Of two plans under one judge, and of two judges; whatever the names of their journals."""
    other = amended(lenient, seed=7)
    sit(world, other, chat_judge(caps=Caps(requests=10)), journals=tmp_path, run="z")
    sit(world, lenient, chat_judge(caps=Caps(requests=20)), journals=tmp_path, run="a")
    with pytest.raises(RunDiffers, match=r"/a\.jsonl', was begun otherwise: plan\.seed was 4242 and is 7"):
        sit(world, other, chat_judge(), journals=tmp_path, resume=True)
    sit(world, lenient, chat_judge(caps=Caps(requests=30)), journals=tmp_path, run="m", resume=True)
    sit(world, lenient, chat_judge(model="other", caps=Caps(requests=10)), journals=tmp_path, run="b")
    with pytest.raises(RunDiffers, match=r"/b\.jsonl', was begun otherwise: judge\.model was 'other' and is 'm'"):
        sit(world, lenient, chat_judge(), journals=tmp_path, resume=True)


def test_a_pilot_is_no_run_to_be_resumed(world, lenient, amended, sit, endpoint, chat_judge, tmp_path):
    """It was tried under another plan, and after the run."""
    endpoint.says = lambda request: world.says_anywhere(request.question)
    sit(world, lenient, chat_judge(caps=Caps(requests=10)), journals=tmp_path)
    judge, plan = chat_judge(), amended(lenient, seed=7)
    frame = frame_of(world.snapshot, world.fixture, plan)
    with desk_in_journal(
        judge,
        prompt_named(plan.judging.prompt),
        plan.model_dump(mode="json"),
        journals=tmp_path,
        run="pilot-1",
        purpose="pilot",
        resume=False,
    ) as desk:
        pilot(frame, world.snapshot, judge, desk, plan, entries=2)
    sit(world, lenient, chat_judge(), journals=tmp_path, resume=True)
    with pytest.raises(RunDiffers, match=r"plan\.seed was 4242 and is 7"):
        sit(world, plan, chat_judge(), journals=tmp_path, resume=True)


def test_each_run_names_itself_its_judge_and_its_plan_at_the_head_of_its_own_journal(
    world, lenient, sit, endpoint, chat_judge, tmp_path
):
    sit(world, lenient, chat_judge(caps=Caps(requests=10)), journals=tmp_path, run="one")
    sit(world, lenient, chat_judge(), journals=tmp_path, run="two")
    journals = sorted(tmp_path.rglob("*.jsonl"))
    assert [path.name for path in journals] == ["one.jsonl", "two.jsonl"]
    for path in journals:
        head = json.loads(path.read_text("utf-8").splitlines()[0])
        assert (head["run"], head["judge"]["model"], head["plan"]["seed"]) == (path.stem, "m", 4242)
        assert head["plan"] == lenient.model_dump(mode="json")


def test_what_gave_no_label_is_asked_again_and_what_gave_one_is_not(world, lenient, run_study, scripted, tmp_path):
    silent = {proposition.text for proposition in world.fixture.propositions[:7]}
    first = scripted(lambda q: NoLabel.TIMED_OUT if q.hypothesis in silent else world.says(q))
    run_study(world, lenient, first, journals=tmp_path)
    second = scripted(world.says)
    study = run_study(world, lenient, second, journals=tmp_path)
    assert {question.hypothesis for question in second.asked} == silent
    assert study.judged == run_study(world, lenient).judged


def test_a_replay_knows_nothing_but_its_journal_and_leaves_none(counted, world_of, lenient, sit, tmp_path):
    """Not even where the judge that was recorded left a fuller one: what is replayed must not depend on the machine."""
    world, journals = world_of([counted("a"), counted("b")]), tmp_path / "journals"
    whole = sit(world, lenient, LexicalJudge(), journals=journals, run="live")
    (journal,) = journals.rglob("*.jsonl")
    part = tmp_path / "part.jsonl"
    part.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:3]))  # the head and two judgments
    replayed = sit(world, lenient, read_replay(part), journals=journals, run="replayed")
    assert [row["label"] for row in whole.rows if row["no_label"]] == []
    assert sum(row["no_label"] is None for row in replayed.rows) == 2
    assert {row["no_label"] for row in replayed.rows} == {None, "not_recorded"}
    assert list(journals.rglob("*.jsonl")) == [journal]


def test_lines_that_a_killed_run_left_torn_are_counted_aloud_and_asked_again(
    counted, world_of, lenient, sit, tmp_path, caplog
):
    world = world_of([counted("a"), counted("b")])

    def judged(run):
        with caplog.at_level("INFO", logger="eval_pipeline"):
            sit(world, lenient, LexicalJudge(), journals=tmp_path, run=run)
        said, _ = [record.getMessage() for record in caplog.records], caplog.clear()
        return said

    (asked,) = judged("one")
    (journal,) = tmp_path.rglob("*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-20])
    count = int(asked.split()[1])
    assert judged("two") == [
        "1 lines of earlier journals cannot be read; what they said is asked again",
        f"asked 1 questions; {count - 1} answers were known",
    ]


def test_a_journal_cut_off_at_any_line_is_gone_on_with_from_there(world, measured, run_study, scripted, sit, tmp_path):
    """What a killed run leaves is a first part of its lines, and half a line at the end."""
    judge = scripted(world.says, standing=Standing.UNCALIBRATED)
    whole = run_study(world, measured, judge, journals=tmp_path / "whole")
    (journal,) = (tmp_path / "whole").rglob("*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    folder = tmp_path / "cut" / journal.parent.name
    folder.mkdir(parents=True)
    for kept in (0, 1, 2, 13, len(lines) // 2, len(lines) - 1):
        for left in folder.iterdir():
            left.unlink()
        (folder / "killed.jsonl").write_bytes(b"".join(lines[:kept]) + lines[kept][:40])
        again = scripted(world.says, standing=Standing.UNCALIBRATED)
        study = run_study(world, measured, again, journals=tmp_path / "cut")
        assert len(again.asked) == len(judge.asked) - max(0, kept - 1)
        assert files(study) == files(whole)


def test_a_proposition_that_is_added_is_asked_about_alone(world, lenient, amended, run_study, scripted, tmp_path):
    """All that stand after it in the frame change their place; which of them are audited does not depend on that."""
    plan = amended(lenient, judging={"audited_negatives": Fraction(1, 2)})
    first = scripted(world.says)
    before = run_study(world, plan, first, journals=tmp_path)
    assert 0 < before.evidence.judge.screen.audited < before.evidence.judge.screen.turned_away
    more = (Proposition("e0", 1, "e0 tells more"), *world.fixture.propositions)
    judge = scripted(world.says)
    run_study(replace(world, fixture=Fixture(more, refusal=None)), plan, judge, journals=tmp_path)
    assert {question.hypothesis for question in judge.asked} == {"e0 tells more"}


def test_the_frame_is_judged_in_its_order_at_one_call_at_a_time(world, lenient, sit, endpoint, chat_judge):
    endpoint.says = lambda request: world.says_anywhere(request.question)
    judged = sit(world, lenient, chat_judge(in_flight=1))
    times = [request.at for request in endpoint.requests]
    assert all(sooner <= later for sooner, later in pairwise(times))
    assert [request.question.hypothesis for request in endpoint.requests] == [row["hypothesis"] for row in judged.rows]
