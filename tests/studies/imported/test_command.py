"""`eval-pipeline import`, end to end for each tool: files, exit statuses, and refusals in one line."""

import json
import re

import pyarrow.parquet as pq
import pytest

from eval_pipeline.bundled import bundled
from tests.importers.logs import (
    archived,
    as_bytes,
    deepeval_case,
    deepeval_run,
    inspect_log,
    inspect_sample,
    inspect_score,
    promptfoo_log,
    promptfoo_result,
    ragchecker_log,
    ragchecker_result,
    zipped,
)

FILES = {"verdict.json", "report.html", "results.parquet", "history.html", "provenance.json"}
E, N = "Entailment", "Neutral"
HOSTILE = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"


def inspect(right, wrong, **fields):
    values = ["C"] * right + ["I"] * wrong
    return inspect_log([inspect_sample(n, match=value) for n, value in enumerate(values)], **fields)


LOGS = {
    "inspect": archived(inspect(20, 0), method=93),
    "ragchecker": as_bytes(ragchecker_log([ragchecker_result(f"q{n}", [E, E, N], [E]) for n in range(25)])),
    "deepeval": as_bytes(
        deepeval_run([deepeval_case(f"c{n}", n, f"question {n}", {"Relevancy": 0.85 + n % 3 / 20}) for n in range(25)])
    ),
    "promptfoo": as_bytes(promptfoo_log([promptfoo_result(n, 0, success=True) for n in range(25)])),
}
GATES = {  # a bar that the log above keeps, and one that it misses or lacks
    "inspect": [("match", "at_least", 0.8), ("judge", "at_least", 0.5)],
    "ragchecker": [("recall", "at_least", 0.8), ("precision", "at_least", 0.9)],
    "deepeval": [("Relevancy", "at_least", 0.8), ("passed", "at_most", 0.1)],
    "promptfoo": [("pass", "at_least", 0.8), ("score", "at_most", 0.5)],
}


@pytest.fixture
def plan(tmp_path):
    """A plan with these gates, as a user writes it: the bundled one, with bars in the place of none."""

    def written(*gates):
        text = (bundled("plans") / "imported.toml").read_text("utf-8").replace("gates = []\n", "")
        text += "".join(f'\n[[gates]]\nmetric = "{metric}"\n{side} = {bar}\n' for metric, side, bar in gates)
        (tmp_path / "bars.toml").write_text(text, "utf-8")
        return tmp_path / "bars.toml"

    return written


@pytest.fixture
def log(tmp_path):
    """A file with this content."""

    def written(name, data):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return written


def verdict(out):
    return json.loads((out / "verdict.json").read_text("utf-8"))


def outcomes(out):
    return {claim["claim"]: claim["outcome"] for claim in verdict(out)["claims"]}


@pytest.mark.parametrize("kind", LOGS)
def test_a_log_of_each_tool_comes_to_its_files_and_its_status(command, log, plan, tmp_path, kind):
    kept, missed = GATES[kind]
    file, out = log(f"run.{'eval' if kind == 'inspect' else 'json'}", LOGS[kind]), tmp_path / "out"
    good = command("import", kind, file, "--plan", plan(kept), "--out", out)
    assert (good.status, good.err) == (0, "")
    assert "exit status 0: every claim passes or warns" in good.out
    assert {path.name for path in out.iterdir()} == FILES
    assert outcomes(out) == {kept[0]: "pass"}
    table = pq.read_table(out / "results.parquet")
    assert table.column_names == ["system", "metric", "item", "repeat", "score", "undecided"]
    assert len(set(table["item"].to_pylist())) == (20 if kind == "inspect" else 25)
    bad = command("import", kind, file, "--plan", plan(kept, missed), "--out", out)
    assert bad.status == (3 if kind == "inspect" else 2)
    assert outcomes(out) == {kept[0]: "pass", missed[0]: "skip" if kind == "inspect" else "fail"}


def test_without_bars_the_numbers_are_shown_and_nothing_passes(command, log, tmp_path):
    said = command("import", "inspect", log("run.json", as_bytes(inspect(17, 3))), "--out", tmp_path / "out")
    assert said.status == 3
    (claim,) = verdict(tmp_path / "out")["claims"]
    assert (claim["outcome"], claim["reason"], claim["estimate"]) == ("skip", "no_bar", 0.85)
    assert claim["interval"] == pytest.approx([0.62107, 0.96793], abs=1e-5)  # Clopper-Pearson for 17 of 20
    assert "0.6211 to 0.9679" in said.out


def test_two_logs_are_compared_item_by_item(command, log, tmp_path):
    first = log("a.json", as_bytes(inspect(20, 0, model="large")))
    second = log("b.json", as_bytes(inspect(10, 10, model="small")))
    command("import", "inspect", first, second, "--out", tmp_path / "out")
    (one,) = verdict(tmp_path / "out")["differences"]
    assert (one["first"], one["second"], one["items"], one["mean"]) == ("large", "small", 20, 0.5)
    assert 0 < one["interval"][0] < 0.5 < one["interval"][1]
    assert one["p_value"] < 0.01
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Two systems on the same items" in page
    assert " at 0x" not in page  # of a value that the page shows as Python would


def test_a_number_that_the_log_states_otherwise_is_said(command, log, tmp_path):
    stated = inspect(10, 9)
    stated["samples"].append(inspect_sample(19, match="N"))
    stated["results"] |= {"total_samples": 20, "scores": [inspect_score("match", 0.5)]}
    said = command("import", "inspect", log("run.json", as_bytes(stated)), "--out", tmp_path / "out")
    sentence = "the log states 0.5000 and we find 0.5263: counting as 0 what is undecided here (1 refused) gives"
    assert f"match accuracy of acme/small: {sentence}" in said.out
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert sentence in page
    assert '<td class="n">19 of 20</td><td class="n">19</td><td class="n">1</td><td class="n">0.5263</td>' in page


def test_the_same_log_gives_the_same_bytes_and_is_one_look(command, log, plan, tmp_path):
    file, bars = log("run.json", as_bytes(inspect(20, 0))), plan(GATES["inspect"][0])
    for name in ("one", "two"):
        command("import", "inspect", file, "--plan", bars, "--out", tmp_path / name)
    for name in FILES - {"history.html"}:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    command("import", "inspect", log("next.json", as_bytes(inspect(19, 1))), "--plan", bars, "--out", tmp_path / "out")
    ledger = [json.loads(line) for line in (tmp_path / "home" / "ledger.jsonl").read_text("utf-8").splitlines()]
    looks = [line["body"]["claims"][0]["look"] for line in ledger if line["kind"] == "verdict"]
    assert looks == [1, 1, 2]
    assert {line["body"]["subject"] for line in ledger if line["kind"] == "verdict"} == {"inspect, lakes"}


def test_texts_of_a_log_stay_text_in_the_report(command, log, tmp_path):
    sample = inspect_sample(HOSTILE, **{HOSTILE: "N"})
    hostile = inspect_log([sample, inspect_sample("b", **{HOSTILE: "C"})], model=HOSTILE, status=HOSTILE)
    hostile["eval"]["task"] = HOSTILE
    hostile["results"]["scores"] = [inspect_score(HOSTILE, 0.5)]
    command("import", "inspect", log("run.json", as_bytes(hostile)), "--out", tmp_path / "out")
    for name in ("report.html", "history.html"):
        page = (tmp_path / "out" / name).read_text("utf-8")
        assert "<script" not in page
        assert "<img" not in re.sub(r'<img src="data:', "", page)
        assert "&lt;script&gt;window.ran" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ragas", "good.json"], "KIND 'ragas' is no tool whose logs can be imported; give one of inspect, ragchecker"),
        (["inspect", "none.json"], "FILE 'none.json' is not a file; give the path of one"),
        (["inspect", "good.json", "--plan", "none.toml"], "--plan 'none.toml' is not a file"),
        (
            ["deepeval", "good.json"],
            "log 'good.json' has 1 fault: at $: found an object, expected an object with the f",
        ),
        (
            ["inspect", "good.json", "--metric", "tone"],
            "found no metric 'tone', expected it; look up how inspect names it",
        ),
        (["inspect", "evil.eval"], "found a member named '../x', expected a path within the archive"),
        (["inspect", "score.json"], "at $.samples[0].scores.match.value: found 12, expected a score from 0 to 1"),
        (["inspect"], "Missing parameter: files"),
    ],
)
def test_what_is_refused_is_one_sentence_and_leaves_no_verdict(command, log, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    log("good.json", as_bytes(inspect(20, 0)))
    log("evil.eval", zipped({"../x": b"{}"}))
    log("score.json", as_bytes(inspect_log([inspect_sample(1, match=12)])))
    found = command("import", *arguments, "--out", tmp_path / "out")
    assert found.status == 1
    assert said in found.err
    assert found.err.startswith("eval-pipeline: ")
    assert found.err.count("\n") == 1
    assert not (tmp_path / "out" / "verdict.json").exists()


def test_a_verdict_of_an_earlier_run_does_not_stand_beside_a_refusal(command, log, tmp_path):
    command("import", "inspect", log("run.json", as_bytes(inspect(20, 0))), "--out", tmp_path / "out")
    command("import", "inspect", log("run.json", b"{"), "--out", tmp_path / "out")
    assert not (tmp_path / "out" / "verdict.json").exists()
    assert (tmp_path / "out" / "verdict.previous.json").exists()
