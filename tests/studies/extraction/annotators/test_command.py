"""Two annotators' files from the command line to the verdict and its report."""

import json

import pytest


@pytest.fixture(scope="module")
def world(counted, world_of):
    """48 propositions in 12 notes, the last quarter of which is lost."""
    return world_of(counted(f"e{place:02d}", hits=(1, 1, 1, 0)) for place in range(12))


@pytest.fixture
def annotated(world, tmp_path):
    """The propositions as two wrote them: the first left out each fifth, the second put each seventh a quarter on."""
    rows = [{"entry_id": p.entry_id, "quartile": p.quartile, "proposition": p.text} for p in world.fixture.propositions]
    first = [row for place, row in enumerate(rows) if place % 5]
    second = [row | {"quartile": min(4, row["quartile"] + (place % 7 == 0))} for place, row in enumerate(rows)]
    paths = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for path, lines in zip(paths, (first, second), strict=True):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return paths


@pytest.fixture
def run(command, world, written, lenient, plan_file, endpoint, tmp_path):
    """The study by a judge that knows the truth."""
    endpoint.says = lambda request: world.says_anywhere(request.question)
    corpus, plan = written(world, tmp_path / "corpus"), plan_file(lenient, tmp_path / "plan.toml")

    def run(*arguments):
        given = ("--corpus", corpus, "--judge", "chat", "--plan", plan, "--out", tmp_path / "out")
        return command("run", "extraction", *given, *arguments)

    return run


@pytest.fixture
def verdict(tmp_path):
    return lambda: json.loads((tmp_path / "out" / "verdict.json").read_text("utf-8"))


def test_how_far_two_annotators_agree_stands_in_the_verdict_and_in_both_reports(run, annotated, verdict, tmp_path):
    said = run("--annotators", *annotated)
    assert "Traceback" not in said.err
    found = verdict()["findings"]["annotators"]
    # 48 written by the second, 10 of them not by the first: 2 * 38 / (38 + 48).
    assert found["agreement"]["propositions"] == {"first": 38, "second": 48, "matched": 38}
    assert found["agreement"]["inclusion"]["positive_agreement"]["estimate"] == pytest.approx(76 / 86)
    assert [basis["propositions"] for basis in found["sensitivity"]["bases"]] == [48, 38, 38, 48]
    for name in ("report.html", "report.md"):
        report = (tmp_path / "out" / name).read_text("utf-8")
        assert "Two annotators" in report
        assert f"{76 / 86:.4f}" in report


def test_a_run_without_annotators_says_nothing_of_any(run, verdict, tmp_path):
    run()
    assert verdict()["findings"]["annotators"] is None
    assert "Two annotators" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_what_two_annotators_are_asked_about_is_asked_once(run, annotated, endpoint):
    run("--annotators", *annotated)
    endpoint.forget()
    run("--annotators", *annotated)
    assert not endpoint.asked


def test_a_broken_file_of_an_annotator_is_said_and_the_verdict_on_the_study_stands(run, annotated, verdict):
    run()
    claims = verdict()["claims"]
    annotated[1].write_text('{"entry_id": "e00", "quartile": 9, "proposition": "x"}\n', "utf-8")
    said = run("--annotators", *annotated)
    assert "Traceback" not in said.err
    refusal = verdict()["findings"]["annotators"]["refusal"]
    assert refusal["reason"] == "fixture_malformed"
    assert "second annotator" in refusal["detail"]
    assert "quartile" in refusal["detail"]
    assert verdict()["claims"] == claims


def test_a_file_that_is_not_there_is_refused_before_anything_is_asked(run, annotated, endpoint):
    said = run("--annotators", annotated[0], annotated[0].parent / "gone.jsonl")
    assert (said.status, len(said.err.splitlines())) == (1, 1)
    assert "gone.jsonl" in said.err
    assert not endpoint.requests


def test_the_file_of_one_annotator_alone_is_refused(run, annotated, endpoint):
    said = run("--annotators", annotated[0])
    assert (said.status, len(said.err.splitlines())) == (1, 1)
    assert not endpoint.requests
