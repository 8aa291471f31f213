"""The judgments of a calibration, replayed, are the same calibration; half of them are refused with what is missing."""

import json

import pytest

from eval_pipeline.studies.judge_calibration.gold import gold_of
from tests.studies.judge_calibration.made_up import ROOT, composed_rows, constraint_row, gold_file, right_answer

COMPAT = ROOT / "data" / "plans" / "judge-calibration_compat.toml"
ROWS = composed_rows({"SUPPORTED": 4, "UNSUPPORTED": 4}, {"VIOLATED": 3, "NOT_VIOLATED": 3}, partial=2)
GOLD = gold_of(ROWS, folder=ROOT)
FINDINGS = ("report.json", "report.html", "judgments.jsonl")


def wavers(system, turn):
    """Right but for one that it cannot read, one that it turns on, and one wrong."""
    if turn["claim"] == "SUPPORTED 1":
        return "It is supported, I think."
    if turn["claim"] in ("SUPPORTED 2", "VIOLATED 1"):
        return json.dumps({"judgment": "NOT_VIOLATED" if "constraints" in turn else "AMBIGUOUS"})
    return right_answer(GOLD, turn)


@pytest.fixture
def calibrate(command, tmp_path):
    """The command on a small gold set; its findings go to a folder of that name."""

    def calibrate(name, judge, *, rows=ROWS, plan=COMPAT, **fields):
        gold = gold_file(tmp_path / "gold.jsonl", rows)
        given = ["--gold", gold, "--judge", judge, "--plan", plan, "--out", tmp_path / name]
        return command("run", "judge-calibration", *given, **{"base_url": "http://127.0.0.1:9"} | fields)

    return calibrate


def replay(tmp_path, name):
    return f"replay:{tmp_path / name / 'judgments.jsonl'}"


def assert_replayed(folder, one, other):
    """The same bytes: a replay answers under the name of the judge that was recorded."""
    first, second = ({name: (folder / run / name).read_bytes() for name in FINDINGS} for run in (one, other))
    assert first == second


def test_the_judgments_on_the_bundled_set_replay_to_the_same_report(command, tmp_path):
    first = command("run", "judge-calibration", "--out", tmp_path / "live")
    again = command("run", "judge-calibration", "--judge", replay(tmp_path, "live"), "--out", tmp_path / "replayed")
    assert (first.status, again.status) == (2, 2)
    assert_replayed(tmp_path, "live", "replayed")


def test_the_judgments_of_a_model_replay_to_the_same_report_without_it(calibrate, endpoint_of, tmp_path):
    """Repeats, answers that cannot be read, and breakdowns included; and so does a replay of the replay."""
    endpoint = endpoint_of(wavers)
    plan = tmp_path / "plan.toml"
    plan.write_text(COMPAT.read_text().replace("repeats = 0", "repeats = 2"))
    live = calibrate("live", "chat", plan=plan, base_url=endpoint.url)
    endpoint.turns.clear()
    replayed = calibrate("replayed", replay(tmp_path, "live"), plan=plan)
    assert (replayed.status, endpoint.turns) == (live.status, [])
    assert json.loads((tmp_path / "live" / "report.json").read_text())["repeats"]["runs"] == 3
    assert_replayed(tmp_path, "live", "replayed")
    calibrate("once more", replay(tmp_path, "replayed"), plan=plan)
    for name in FINDINGS:
        assert (tmp_path / "once more" / name).read_bytes() == (tmp_path / "replayed" / name).read_bytes()


HALVES = {
    "alignment": ("'constraint-v1'", "all claims that are judged by a rule are missing"),
    "constraint": ("'alignment-v1'", "all claims that are judged by their passage are missing"),
}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("judge", ["lexical", "chat"])
def test_a_journal_of_one_prompt_is_refused_with_the_half_that_is_missing(
    calibrate, endpoint_of, tmp_path, judge, half
):
    endpoint = endpoint_of(wavers)
    calibrate("live", judge, base_url=endpoint.url)
    journals = (tmp_path / "home" / "journals").glob("*/*.jsonl")
    (journal,) = [path for path in journals if f'"{half}' in path.read_text().splitlines()[-1]]
    refused = calibrate("replayed", f"replay:{journal}")
    prompt, missing = HALVES[half]
    recorded = half if judge == "lexical" else f"{half}-v1"
    assert refused.status == 1
    (sentence,) = [line for line in refused.err.splitlines() if not line.startswith("judged: ")]
    assert f"was recorded under '{recorded}' and holds nothing under prompt {prompt}" in sentence
    assert sentence.endswith(f"{missing}; name the judgments.jsonl of a whole calibration")
    assert not (tmp_path / "replayed" / "report.json").exists()


def test_nothing_is_missing_where_the_gold_set_asks_nothing_under_the_other_prompt(calibrate, endpoint_of, tmp_path):
    rows = [constraint_row(f"NOT_VIOLATED {number}", "NOT_VIOLATED") for number in range(3)]
    live = calibrate("live", "chat", rows=rows, base_url=endpoint_of(wavers).url)
    replayed = calibrate("replayed", replay(tmp_path, "live"), rows=rows)
    assert replayed.status == live.status == 3  # nothing measures whether it takes claims apart
    found = [json.loads((tmp_path / name / "report.json").read_text()) for name in ("live", "replayed")]
    was, is_now = (report.pop("judge")["fingerprints"]["constraint-v1"] for report in found)
    assert (was, found[0]) == (is_now, found[1])


def test_one_judge_s_passages_and_another_s_rules_are_no_judge(calibrate, endpoint_of, tmp_path):
    endpoint = endpoint_of(wavers)
    for model in ("m", "n"):
        calibrate(model, "chat", base_url=endpoint.url, model=model)
    lines = {model: (tmp_path / model / "judgments.jsonl").read_text().splitlines(keepends=True) for model in "mn"}
    (tmp_path / "mixed.jsonl").write_text("".join([*lines["m"][:8], *lines["n"][8:]]))
    refused = calibrate("replayed", f"replay:{tmp_path / 'mixed.jsonl'}")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "found the judgments of 2 judges, expected those of exactly one" in refused.err
