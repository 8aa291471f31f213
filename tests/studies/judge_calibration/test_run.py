"""The calibration from the command line: the bundled set offline, a judge over HTTP, and what is broken."""

import json

from tests.studies.judge_calibration.made_up import alignment_row, constraint_row

CONTRACT = {"FNR", "FPR", "per_class", "partial_support", "thresholds", "n_total", "n_alignment", "n_constraint"}


def rows(path, *given):
    path.write_text("".join(json.dumps(row) + "\n" for row in given))
    return path


def test_the_bundled_set_measures_the_offline_judge_without_a_key(command, tmp_path):
    first = command("run", "judge-calibration", "--out", tmp_path / "one")
    assert first.status == 2
    assert "exit status 2: a claim fails" in first.out
    report = json.loads((tmp_path / "one" / "report.json").read_text())
    assert set(report) >= CONTRACT
    assert (report["n_alignment"], report["n_constraint"]) == (132, 64)
    assert report["levels"] == {"intervals": 0.95, "gate": 0.95}
    assert len(report["tuples"]) == len((tmp_path / "one" / "judgments.jsonl").read_text().splitlines()) == 196
    page = (tmp_path / "one" / "report.html").read_text()
    assert "Where the judge was wrong" in page
    command("run", "judge-calibration", "--out", tmp_path / "two")
    for name in ("report.json", "report.html", "judgments.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_gold_set_that_breaks_a_rule_is_one_sentence_and_leaves_no_report(command, tmp_path):
    gold = rows(tmp_path / "mine.jsonl", alignment_row("A.", "VIOLATED"))
    said = command("run", "judge-calibration", "--gold", gold, "--out", tmp_path / "out")
    assert said.status == 1
    assert said.err.startswith("eval-pipeline: gold tuple 0 (mine.jsonl line 1) breaks rule (b): ")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out" / "report.json").exists()
    absent = command("run", "judge-calibration", "--gold", tmp_path / "absent")
    assert (absent.status, "is not there" in absent.err) == (1, True)


def test_a_script_in_a_claim_does_not_run_in_the_report(command, tmp_path):
    hostile = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\"> Sales rose."
    gold = rows(
        tmp_path / "mine.jsonl",
        alignment_row(hostile, "SUPPORTED"),
        *[constraint_row(f"Claim {number}.", "NOT_VIOLATED") for number in range(3)],
    )
    command("run", "judge-calibration", "--gold", gold, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_an_endpoint_that_cannot_be_reached_withholds_every_claim(command, tmp_path):
    said = command(
        "run", "judge-calibration", "--judge", "chat", "--out", tmp_path / "out", base_url="http://127.0.0.1:9"
    )
    assert said.status == 3
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert {claim["reason"] for claim in report["claims"]} == {"judge_down"}
    assert (report["FNR"], report["rates"]) == (None, None)
