"""A run that is killed at any moment, from the real command line, repays what was in flight and ends as another."""

import json
import random
import threading
from collections import Counter
from fractions import Fraction

import pytest

from eval_pipeline.records import Question
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.plan import Strategy

KILLS = 10
IN_FLIGHT = 16
LATENCY_S = 0.02
ENTRIES = 36
FINDINGS = ("judgments.jsonl", "entry_quartiles.parquet", "verdict.json")


@pytest.fixture(scope="session")
def world(note, spanned, world_of):
    """Notes of five signals and ten propositions: six follow from one, two from several together, two from none."""
    notes, together = [], []
    for entry in range(ENTRIES):
        claims = [f"e{entry:02d} claim {place}" for place in range(10)]
        signals = {f"e{entry:02d} signal {place}": [claims[place]] for place in range(5)}
        signals[f"e{entry:02d} signal 0"].append(claims[5])
        together += [(f"e{entry:02d}", claim) for claim in claims[6:8]]
        notes.append(note(f"e{entry:02d}", signals, [(1 + place % 4, claim) for place, claim in enumerate(claims)]))
    return world_of([*notes, spanned("s", spans=50, supported=48)], together)


@pytest.fixture(scope="session")
def plan(lenient, amended):
    measured = {"audited_negatives": Fraction(1, 4), "canaries": Fraction(1, 20), "repeats": Fraction(1, 10)}
    return amended(lenient, judging=measured | {"strategy": Strategy.BEST_FIRST})


def recorded(journals):
    """The questions of the judgments that the last run wrote down in whole lines."""
    latest = max(journals.glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns).read_bytes()
    lines = map(json.loads, latest[: latest.rfind(b"\n") + 1].splitlines())
    return Counter(
        Question("", tuple(premise) if isinstance(premise, list) else premise, line["hypothesis"])
        for line in lines
        if (premise := line.get("premise")) and line["entry_id"] != "probe"
    )


@pytest.fixture
def counting(world, endpoint):
    """The endpoint, which knows the truth, takes its time, and says when it has had so many requests in all."""
    united = {claim for _, claim in world.together}

    class Counting:
        until, reached = 0, threading.Event()

    def says(request):
        if len(endpoint.requests) >= Counting.until:
            Counting.reached.set()
        question = request.question
        if isinstance(question.premise, tuple) and question.hypothesis in united:
            return "SUPPORTED"
        return world.says_anywhere(question)

    endpoint.says, endpoint.takes_s = says, LATENCY_S
    return Counting


def test_ten_kills_cost_the_calls_in_flight_and_change_no_byte_of_the_findings(
    world, plan, plan_file, written, endpoint, counting, forked, process, command, dagster_folder, tmp_path
):
    given = ["run", "extraction", "--corpus", written(world, tmp_path / "corpus"), "--judge", "chat"]
    given += ["--plan", plan_file(plan, tmp_path / "plan.toml")]
    whole = command(*given, "--out", tmp_path / "whole", in_flight=str(IN_FLIGHT))
    assert whole.status == 2, whole.err  # a third is not recovered
    asked, calls = Counter(endpoint.asked), len(endpoint.asked)
    assert 950 <= calls <= frame_of(world.snapshot, world.fixture, plan).calls_at_most

    endpoint.forget()
    draw, home, out = random.Random(20), tmp_path / "killed-home", tmp_path / "out"
    moments = sorted(draw.sample(range(5, calls), KILLS))
    for moment in moments:
        counting.until = moment
        counting.reached.clear()
        before = len(endpoint.asked)
        running = forked(*given, "--out", out, home=home, history=dagster_folder, in_flight=str(IN_FLIGHT))
        while not counting.reached.wait(0.05):
            assert running.status is None, running.said
        threading.Event().wait(draw.random() * 2 * LATENCY_S)
        running.kill()
        assert running.status == -9
        lost = Counter(endpoint.asked[before:]) - recorded(home / "journals")
        assert lost.total() <= IN_FLIGHT
        assert not (out / "verdict.json").exists()

    ended = process(*given, "--out", out, home=home, history=dagster_folder, in_flight=str(IN_FLIGHT))
    said = ended.communicate()
    assert ended.returncode == whole.status, said
    repaid = Counter(endpoint.asked) - asked
    assert repaid.total() <= KILLS * IN_FLIGHT
    assert len(endpoint.requests) <= calls + KILLS * IN_FLIGHT + KILLS + 1  # a probe each time that it is begun
    assert not asked - Counter(endpoint.asked)
    for name in FINDINGS:
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
