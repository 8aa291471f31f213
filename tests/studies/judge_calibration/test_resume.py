"""A calibration that broke goes on with --resume, asks only what is missing, and only as it was begun."""

import contextlib
import json
from dataclasses import replace

import pytest

from eval_pipeline.studies.judge_calibration import asking
from eval_pipeline.studies.judge_calibration.gold import gold_of
from tests.studies.judge_calibration.made_up import ROOT, composed_rows, gold_file, right_answer

PLANS = ROOT / "data" / "plans"
ROWS = composed_rows({"SUPPORTED": 4, "UNSUPPORTED": 4}, {"VIOLATED": 3, "NOT_VIOLATED": 3}, partial=2)
GOLD = gold_of(ROWS, folder=ROOT)
CLAIMS = [row["claim_text"] for row in ROWS]


@pytest.fixture
def endpoint(endpoint_of):
    """A judge who is right about every tuple."""
    return endpoint_of(lambda _, turn: right_answer(GOLD, turn))


@pytest.fixture
def calibrate(command, endpoint, tmp_path):
    """The command on a small gold set, one question after the other."""
    gold = gold_file(tmp_path / "gold.jsonl", ROWS)

    def calibrate(*arguments, plan=PLANS / "judge-calibration_compat.toml", **fields):
        given = ["--gold", gold, "--judge", "chat", "--plan", plan, "--out", tmp_path / "out", *arguments]
        return command("run", "judge-calibration", *given, **{"in_flight": "1"} | fields)

    return calibrate


def asked(endpoint):
    """The claims that were asked about since, without the probes."""
    return [turn["claim"] for _, turn in endpoint.turns if turn["claim"] in CLAIMS]


def reasons(tmp_path):
    claims = json.loads((tmp_path / "out" / "report.json").read_text())["claims"]
    return {claim["reason"] for claim in claims}


def goes_away_at(claim):
    """A judge who is right until it is asked about that claim, and from then on refuses the key."""
    gone: list[str] = []

    def says(_, turn):
        gone.extend([claim] if turn["claim"] == claim else [])
        return 401 if gone else right_answer(GOLD, turn)

    return says


@pytest.mark.parametrize("place", [1, 8, 13])
def test_after_the_judge_went_away_only_what_it_did_not_answer_is_asked(calibrate, endpoint, tmp_path, place):
    """Wherever it went: among the passages, at the first rule, among the rules, at the last claim of all."""
    comes_back, endpoint.says = endpoint.says, goes_away_at(CLAIMS[place])
    assert calibrate().status == 3
    assert reasons(tmp_path) == {"judge_down"}
    assert asked(endpoint) == CLAIMS[: place + 1]
    endpoint.says = comes_back
    endpoint.turns.clear()
    assert calibrate("--resume").status == 0
    assert asked(endpoint) == CLAIMS[place:]
    endpoint.turns.clear()
    assert calibrate("--resume").status == 0
    assert endpoint.turns == []


def test_after_a_cap_was_reached_only_what_is_missing_is_asked(calibrate, endpoint, tmp_path):
    assert calibrate("--cap-requests", "5").status == 3
    assert reasons(tmp_path) == {"cap_reached"}
    assert len(endpoint.turns) == 5
    first = asked(endpoint)
    assert first == CLAIMS[:4]  # after the probe
    endpoint.turns.clear()
    assert calibrate("--resume").status == 0
    assert sorted(first + asked(endpoint)) == sorted(CLAIMS)


def test_a_run_that_broke_and_went_on_finds_what_one_that_did_not_break_finds(calibrate, tmp_path, monkeypatch):
    found = []
    for home, breaks in (("one", True), ("two", False)):
        monkeypatch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / home))
        if breaks:
            calibrate("--cap-requests", "5")
        calibrate(*["--resume"] if breaks else [])
        found.append([(tmp_path / "out" / name).read_bytes() for name in ("report.json", "judgments.jsonl")])
    assert found[0] == found[1]


def test_another_judge_or_plan_is_refused_before_anything_is_asked(calibrate, endpoint, tmp_path):
    calibrate("--cap-requests", "5")
    endpoint.turns.clear()
    report = tmp_path / "out" / "report.json"
    withheld = report.read_bytes()
    for fields, said in (
        ({"model": "other"}, "judge.model was 'm' and is 'other'"),
        ({"max_tokens": "99"}, "judge.decoding.max_tokens was"),
        ({"plan": PLANS / "judge-calibration.toml"}, "plan.minimum_tuples was 1 and is 100"),
    ):
        report.write_bytes(withheld)
        refused = calibrate("--resume", **fields)
        assert refused.status == 1, fields
        assert refused.err.count("\n") == 1, fields
        assert refused.err.startswith("eval-pipeline: the last run, of journal "), fields
        assert said in refused.err
        assert endpoint.turns == [], fields
        assert not report.exists(), fields


@pytest.fixture
def reworded(monkeypatch):
    """Gives these prompts other words for a while."""

    @contextlib.contextmanager
    def reworded(*names):
        with monkeypatch.context() as patch:
            for name in names:
                prompt = getattr(asking, name)
                patch.setattr(asking, name, replace(prompt, system=f"{prompt.system} Be brief."))
            yield

    return reworded


def breaks_at(calibrate, endpoint, *places):
    """A run that the judge leaves at the first of these claims; it goes on, and leaves it at the next."""
    for number, place in enumerate(places):
        comes_back, endpoint.says = endpoint.says, goes_away_at(CLAIMS[place])
        assert calibrate(*["--resume"] if number else []).status == 3
        endpoint.says = comes_back
    endpoint.turns.clear()


CHANGED = {
    "alignment": (("ALIGNMENT",), {}, "judge.prompt.sha256 was"),
    "constraint": (("CONSTRAINT",), {}, "judge.prompt.sha256 was"),
    "both": (("ALIGNMENT", "CONSTRAINT"), {}, "judge.prompt.sha256 was"),
    "model": ((), {"model": "other"}, "judge.model was 'm' and is 'other';"),
    "plan": ((), {"plan": PLANS / "judge-calibration.toml"}, "plan.minimum_tuples was 1 and is 100"),
    "prompt and model": (("ALIGNMENT",), {"model": "other"}, "judge.model was 'm' and is 'other';"),
}


@pytest.mark.parametrize("places", [(4,), (10, 12)], ids=["among passages", "among rules, and again"])
def test_a_run_that_broke_anywhere_is_not_gone_on_with_after_any_change(
    calibrate, endpoint, reworded, tmp_path, places
):
    """What changed under the prompt that was asked first too, although the other's journal was written last.

    A run that is refused leaves nothing behind, so that one that broke serves for every change.
    """
    breaks_at(calibrate, endpoint, *places)
    report = tmp_path / "out" / "report.json"
    withheld = report.read_bytes()
    for change, (prompts, fields, said) in CHANGED.items():
        report.write_bytes(withheld)
        with reworded(*prompts):
            refused = calibrate("--resume", **fields)
        assert (refused.status, refused.err.count("\n")) == (1, 1), change
        assert refused.err.startswith("eval-pipeline: the last run, of journal "), change
        assert said in refused.err, change
        for name in ("ALIGNMENT", "CONSTRAINT"):
            assert (f"under '{name.lower()}-v1'" in refused.err) == (name in prompts), change
        assert endpoint.turns == [], change
        assert not report.exists(), change


@pytest.mark.parametrize("places", [(4,), (10, 12)])
def test_with_its_words_put_back_it_goes_on(calibrate, endpoint, monkeypatch, places):
    breaks_at(calibrate, endpoint, *places)
    with monkeypatch.context() as patch:
        patch.setattr(asking, "ALIGNMENT", replace(asking.ALIGNMENT, system="Judge."))
        assert calibrate("--resume").status == 1
    assert calibrate("--resume").status == 0
    assert asked(endpoint) == CLAIMS[places[-1] :]


@pytest.mark.parametrize(
    ("cap", "value", "fields"),
    [
        ("--cap-requests", "10", {}),
        ("--cap-tokens", "40000", {}),
        ("--cap-usd", "0.04", {"prices": "1,1"}),
    ],
)
def test_a_cap_holds_for_both_prompts_together(calibrate, endpoint, tmp_path, cap, value, fields):
    """Each pays for ten of the 16 requests, and so for all under either prompt, of which there are 9 and 7."""
    endpoint.tokens = 4000
    assert calibrate(cap, value, **fields).status == 3
    assert reasons(tmp_path) == {"cap_reached"}
    assert len(endpoint.turns) == 10
    assert calibrate("--resume", **fields).status == 0
    assert len(endpoint.turns) == 16 + 1  # and the probe under the second prompt, which the broken run made too


@pytest.mark.parametrize("says", [None, goes_away_at(CLAIMS[0])], ids=["no run", "a run without an answer"])
def test_where_nothing_was_answered_there_is_no_run_to_go_on_with(calibrate, endpoint, says):
    if says:
        endpoint.says = says
        assert calibrate().status == 3
    refused = calibrate("--resume")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "there is no run to go on with" in refused.err
