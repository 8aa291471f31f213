"""`compare-runs`: a few lines on the terminal, the whole as JSON, and refusals in one sentence."""

import json

import pytest

from eval_pipeline.judge.protocol import Standing
from eval_pipeline.studies.extraction.plan import Strategy
from tests.studies.extraction.people import erring, with_spans


@pytest.fixture(scope="module")
def plan(lenient, amended):
    return amended(lenient, judging={"strategy": Strategy.NO_SCREEN}, bootstrap={"resamples": 100})


@pytest.fixture(scope="module")
def runs(counted, world_of, findings, scripted, plan):
    """One corpus of 20 notes by a judge that knows the truth, and by one that misses a proposition of each."""
    world = world_of(with_spans(counted(f"e{k:02d}", (4, 4, 4, 4), (4, 4, 4, 4))) for k in range(20))
    misses = scripted(erring(world, misses={"4.0"}), standing=Standing.UNCALIBRATED)
    return findings(world, plan), findings(world, plan, misses)


def test_what_changed_what_turned_and_whether_it_matters_in_a_few_lines(command, runs):
    said = command("compare-runs", *runs)
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("extraction: ")
    assert "  judge kind: labels -> scripted" in lines
    assert "pooled_recall: pass 1.0000 -> warn (uncalibrated) 0.9375, turned" in lines
    assert "positional_uniformity: pass 0.0000 -> fail (threshold_missed) 0.2500, turned" in lines
    assert (
        "recovered in both 300, gained 0, lost 20, missed in both 0; exact McNemar p = 1.91e-06, as if those"
        in said.out
    )
    assert "  lost: e00, quartile 4: e00 tells 4.0" in lines
    assert "  and 15 more lost; --out holds them all" in lines
    (recall,) = [line for line in lines if line.startswith("pooled_recall, on these 320")]
    assert "1.0000 in the first, 0.9375 in the second: -0.0625, 95% interval -0.0" in recall
    assert recall.endswith("; it is worse, beyond chance, and the claim turned")
    assert lines[-1].startswith(
        "whose change: the texts are the same and the judge is another: a change is the judge's"
    )


def test_the_whole_goes_to_a_file_the_same_bytes_each_time(command, runs, tmp_path):
    for name in ("a.json", "b.json"):
        said = command("compare-runs", *runs, "--out", tmp_path / name, "--level", "0.99")
        assert said.out.splitlines()[-1] == f"comparison: {tmp_path / name}"
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    found = json.loads((tmp_path / "a.json").read_bytes())
    assert {one["what"] for one in found["changed"]} >= {"judge kind", "judge fingerprint"}
    assert [one["claim"] for one in found["claims"] if one["turned"]] == [
        "pooled_recall", "positional_uniformity", "precision_guard",
    ]  # fmt: skip
    assert (found["paired"]["level"], len(found["paired"]["lost"])) == (0.99, 20)
    assert found["paired"]["changes"][0]["shown"] == "worse"


def written(folder, name, document):
    folder.mkdir()
    (folder / name).write_text(json.dumps(document))
    return folder


def claim(name, outcome, estimate):
    return {
        "claim": name, "outcome": outcome, "reason": None, "detail": "d", "estimate": estimate, "interval": None,
        "threshold": 0.15,
    }  # fmt: skip


def other_study(study, estimate, **more):
    outcome = "fail" if estimate >= 0.15 else "pass"
    hashes = {"plan": "a" * 64, "gold": "g"}
    return {"study": study, "plan": "p", "hashes": hashes, "claims": [claim("rate", outcome, estimate)]} | more


def test_of_other_studies_the_claims_stand_side_by_side(command, tmp_path):
    first = written(tmp_path / "first", "verdict.json", other_study("fire-rate", 0.1, generation="g1"))
    second = written(tmp_path / "second", "verdict.json", other_study("fire-rate", 0.2, generation="g2"))
    assert command("compare-runs", first, second).out.splitlines() == [
        "fire-rate: 1 different in what the two runs rest on",
        "  generation: g1 -> g2",
        "rate: pass 0.1000 -> fail 0.2000, turned",
        "turned: rate",
    ]


def test_two_calibrations_are_referred_to_the_command_that_compares_them(command, tmp_path):
    first, second = (
        written(tmp_path / name, "report.json", other_study("judge-calibration", 0.1, levels={"intervals": level}))
        for name, level in (("first", 0.95), ("second", 0.9))
    )
    lines = command("compare-runs", first, second).out.splitlines()
    assert "  levels intervals: 0.95 -> 0.9" in lines
    assert "turned: no claim" in lines
    assert lines[-1] == f"tuple by tuple: eval-pipeline compare-calibrations {first} {second}"


def test_the_claims_of_tracks_stand_side_by_side_by_track(command, tmp_path):
    def results(estimate, tracks):
        return {
            "study": "label-signal", "plan": "p", "hashes": {"plan": "a"},
            "tracks": {track: other_study("label-signal", estimate) for track in tracks},
        }  # fmt: skip

    first = written(tmp_path / "first", "results.json", results(0.1, ["one", "two"]))
    second = written(tmp_path / "second", "results.json", results(0.2, ["one"]))
    lines = command("compare-runs", first, second).out.splitlines()
    assert "one, rate: pass 0.1000 -> fail 0.2000, turned" in lines
    assert "two, rate: only in the first, pass 0.1000" in lines
    assert "  two, plan: p -> none" in lines


def test_what_cannot_be_compared_is_one_sentence(command, runs, tmp_path):
    def refused(*arguments):
        said = command("compare-runs", *arguments)
        assert (said.status, said.out, said.err.count("\n")) == (1, "", 1)
        return said.err

    other = written(tmp_path / "other", "verdict.json", other_study("fire-rate", 0.1))
    assert refused(runs[0], other) == (
        "eval-pipeline: second: found a run of 'fire-rate', expected one of 'extraction', as the first is; name two"
        " runs of one study\n"
    )
    (tmp_path / "empty").mkdir()
    assert "holds none of verdict.json, report.json, results.json; name the folder" in refused(
        tmp_path / "empty", other
    )
    assert "cannot be read (No such file or directory)" in refused(tmp_path / "nowhere", other)
    broken = written(tmp_path / "broken", "verdict.json", {"study": "fire-rate", "plan": "p"})
    assert "is no verdict document (field 'hashes': field required)" in refused(other, broken)
    (tmp_path / "broken" / "verdict.json").write_text("{")
    assert "is no verdict document (invalid JSON" in refused(other, broken)
    assert "--level" in refused(*runs, "--level", "2")
