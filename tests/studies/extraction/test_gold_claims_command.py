"""The claims of a gold set, which the judge is asked about last of all: what that costs, and that it takes nothing."""

import json
import re
from collections import Counter

import pytest

from eval_pipeline.studies.extraction.gold_claims import gold_claims
from eval_pipeline.studies.judge_calibration.gold import read_gold

SUPPORTED, NOT_SUPPORTED = 5, 4
ANSWERED = 3  # of the claims, where the judging ends among them
STUDY = (
    1 + 48 + 36 + 20
)  # the probe, a screen for each proposition, the signal of each that it lets pass, and the spans
OUTCOMES = [("fail", "threshold_missed", 0.75), ("fail", "threshold_missed", 1.0), ("warn", "uncalibrated", 1.0)]
SAME_FOR_ALL = ("verdict.json", "judgments.jsonl", "entry_quartiles.parquet", "report.html", "report.md")


@pytest.fixture(scope="session")
def world(counted, spanned, world_of):
    """48 propositions in 12 notes, of which the last quarter is lost, and 20 spans."""
    notes = [counted(f"e{place:02d}", hits=(1, 1, 1, 0)) for place in range(12)]
    return world_of([*notes, spanned("s", spans=20, supported=20)])


@pytest.fixture(scope="session")
def plan(lenient, amended):
    return amended(lenient, calibration={"gold": "asked"})


@pytest.fixture
def gold(tmp_path):
    """A gold set with claims of both kinds, and with what no judge of entailment is asked about."""

    def line(claim, label, **fields):
        anchor = {"kind": "page", "value": "3"}
        passage = f"The passage on {claim}"
        return {"claim_text": claim, "ref_text_excerpt": passage, "anchor": anchor, "expected_judgment": label} | fields

    alignment = [
        *(line(f"sound claim {n}", "SUPPORTED") for n in range(SUPPORTED)),
        *(line(f"false claim {n}", "UNSUPPORTED") for n in range(NOT_SUPPORTED)),
        line("claim without a passage", "RETRIEVAL_FAILED", ref_text_excerpt=None),
    ]
    rule = {"constraint_under_test_id": "MNC-1", "constraint_under_test_rule_text": "Do not claim a cause."}
    constraint = [line(f"claim under a rule {n}", "NOT_VIOLATED", **rule) for n in range(3)]
    lines = [{"tuple_kind": "alignment", **one} for one in alignment]
    lines += [{"tuple_kind": "constraint", **one} for one in constraint]
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return path


@pytest.fixture
def claims(gold):
    return gold_claims(read_gold(gold))


@pytest.fixture
def honest(world, claims, endpoint):
    """The endpoint, which knows the truth, of the gold claims too."""
    sound = {claim.hypothesis for claim in claims if claim.supported}
    endpoint.says = lambda request: (
        "SUPPORTED" if request.question.hypothesis in sound else world.says_anywhere(request.question)
    )
    return endpoint


@pytest.fixture
def corpus(world, written, tmp_path):
    return written(world, tmp_path / "corpus")


@pytest.fixture
def run(command, corpus, gold, plan, plan_file, tmp_path):
    def run(out, *arguments, plan=plan, **fields):
        file = plan_file(plan, tmp_path / "plan.toml")
        given = ("--corpus", corpus, "--judge", "chat", "--plan", file, "--gold", gold, "--out", tmp_path / out)
        return command("run", "extraction", *given, *arguments, **fields)

    return run


@pytest.fixture
def verdict(tmp_path):
    return lambda out: json.loads((tmp_path / out / "verdict.json").read_text("utf-8"))


@pytest.fixture
def findings(tmp_path):
    return lambda out: {name: (tmp_path / out / name).read_bytes() for name in SAME_FOR_ALL}


def outcomes(document):
    return [(claim["outcome"], claim["reason"], claim["estimate"]) for claim in document["claims"]]


def test_each_claim_with_a_passage_is_asked_about_once_and_last_of_all(honest, run, claims, verdict):
    assert (run("out").status, len(honest.requests)) == (2, STUDY + len(claims))
    study, last = honest.asked[: -len(claims)], honest.asked[-len(claims) :]
    asked_last = Counter((question.premise, question.hypothesis) for question in last)
    assert asked_last == Counter((claim.premise, claim.hypothesis) for claim in claims)
    assert {question.hypothesis for question in study}.isdisjoint(claim.hypothesis for claim in claims)
    assert verdict("out")["findings"]["correction"]["gold"] == {
        "supported": SUPPORTED,
        "of_them_missed": 0,
        "not_supported": NOT_SUPPORTED,
        "of_them_supported_by_the_judge": 0,
        "without_label": 0,
        "not_asked": 0,
    }
    assert outcomes(verdict("out")) == OUTCOMES
    for claim in verdict("out")["claims"]:
        assert claim["detail"].endswith("; the judge's own error rates were measured on the gold set alone")


def test_what_it_may_cost_counts_them_and_a_plan_that_does_not_ask_costs_that_much_less(
    honest, run, plan, amended, claims, verdict
):
    asked, requests = run("asked"), len(honest.requests)
    honest.forget()
    without = run("without", model="other", plan=amended(plan, calibration={"gold": "not_asked"}))
    assert requests - len(honest.requests) == len(claims)
    at_most = [int(re.match(r"at most ([\d,]+) questions", said.err)[1]) for said in (asked, without)]
    assert at_most[0] - at_most[1] == len(claims)
    assert verdict("without")["findings"]["correction"]["gold"] is None
    assert outcomes(verdict("without")) == OUTCOMES


def test_a_cap_that_is_reached_among_them_leaves_the_verdict_as_it_is_and_the_reports_say_how_many_were_left(
    honest, run, claims, verdict, findings, monkeypatch, tmp_path
):
    left = len(claims) - ANSWERED
    capped = run("capped", "--cap-requests", str(STUDY + ANSWERED))
    assert (capped.status, len(honest.requests)) == (2, STUDY + ANSWERED)
    found, reports = verdict("capped"), findings("capped")
    honest.forget()
    assert run("capped", "--resume").status == 2
    assert len(honest.asked) == left
    assert {question.hypothesis for question in honest.asked} < {claim.hypothesis for claim in claims}
    monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / "another-home"))
    assert run("whole").status == 2
    assert findings("capped") == findings("whole")
    whole = verdict("whole")
    for part in ("claims", "quartiles", "frame", "refusals"):
        assert found[part] == whole[part]
    for part in ("recall", "uniformity", "guard", "judge"):
        assert found["findings"][part] == whole["findings"][part]
    assert found["findings"]["correction"]["gold"]["not_asked"] == left
    for name in ("report.html", "report.md"):
        assert f"{left} were not come to" in reports[name].decode()
        assert "were not come to" not in findings("whole")[name].decode()


def test_a_judge_that_goes_down_among_them_leaves_the_verdict_as_it_is(honest, run, claims, verdict, fault):
    told, of_claims = honest.says, {claim.hypothesis for claim in claims}

    def says(request):
        come_to = sum(question.hypothesis in of_claims for question in honest.asked)
        return fault(401, "the key has expired") if come_to > ANSWERED else told(request)

    honest.says = says
    assert run("broken", in_flight="1").status == 2
    found = verdict("broken")
    assert (outcomes(found), found["refusals"]["judge"]) == (OUTCOMES, None)
    assert found["findings"]["correction"]["gold"]["not_asked"] == len(claims) - ANSWERED


def test_a_cap_that_leaves_room_for_none_of_them_says_that_the_judge_s_errors_were_never_measured(
    honest, run, claims, verdict
):
    assert run("capped", "--cap-requests", str(STUDY)).status == 2
    found = verdict("capped")
    assert {question.hypothesis for question in honest.asked}.isdisjoint(claim.hypothesis for claim in claims)
    assert (outcomes(found), found["refusals"]["judge"]) == (OUTCOMES, None)
    assert found["findings"]["correction"]["gold"] is None
    for claim in found["claims"]:
        assert claim["detail"].endswith("; the judge's own error rates were never measured")


def test_a_cap_that_ends_the_study_itself_leaves_nothing_for_them(honest, run, claims, verdict):
    assert run("capped", "--cap-requests", str(STUDY - 1)).status == 3
    assert {claim["reason"] for claim in verdict("capped")["claims"]} == {"cap_reached"}
    assert {question.hypothesis for question in honest.asked}.isdisjoint(claim.hypothesis for claim in claims)


def test_where_no_proposition_needs_the_judge_it_is_asked_about_no_claim(honest, run, corpus, verdict):
    """There are spans to be judged, and no recall to be corrected."""
    (corpus / "propositions.jsonl").unlink()
    said = run("out")
    assert (said.status, len(honest.asked)) == (3, 20)
    assert re.match(r"at most 21 questions", said.err)
    assert verdict("out")["claims"][2]["outcome"] == "warn"
    assert verdict("out")["findings"]["correction"]["gold"] is None


@pytest.mark.parametrize("name", ["entries.jsonl", "signals.jsonl", "propositions.jsonl"])
def test_a_broken_input_costs_nothing_and_is_one_sentence_beside_a_whole_verdict(honest, run, corpus, verdict, name):
    (corpus / name).write_text('{"lookup_key": 7}\n', "utf-8")
    said = run("out")
    assert (said.status, honest.requests) == (1, [])
    refusals = verdict("out")["refusals"]
    refusal = refusals["fixture" if name == "propositions.jsonl" else "corpus"]
    assert said.err == f"eval-pipeline: {refusal['detail']}\n"
