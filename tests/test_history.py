"""Verdicts over time: what counts as a look, what its intervals are worth, and what is called a finding."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.history import Anytime, evidence_hash, exact_intervals, history_document, look_body
from eval_pipeline.ledger import Kind, Line, append_made, read_ledger
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.spending import level_of_look

LEVEL = Fraction(19, 20)
FIRST = datetime(2026, 10, 1, tzinfo=UTC)
RATE, OTHER = "rate", "other"


def document(errors, n=200, *, bar=0.15, seal="a", outcome=None, **more):
    """A verdict on one rate, which passes below the bar."""
    estimate = errors / n
    said = outcome or ("fail" if estimate >= bar else "pass")
    claim = {
        "claim": RATE,
        "outcome": said,
        "reason": {"fail": "threshold_missed", "skip": "judge_down"}.get(said),
        "estimate": None if said == "skip" else estimate,
        "interval": None if said == "skip" else [estimate - 0.05, estimate + 0.05],
        "threshold": bar,
        "numerator": errors,
        "denominator": n,
    }
    hashes = {"plan": seal, "gold": "g"}
    return {"study": "toy", "plan": "p", "hashes": hashes, "versions": {"numpy": "2"}, "claims": [claim]} | more


class Nights:
    """A ledger in memory to which each night a verdict is added."""

    def __init__(self):
        self.lines = []

    def add(self, found, *, subject="", judge="j", anytime=True):
        at_any_level = Anytime(LEVEL, exact_intervals(found, [RATE])) if anytime else None
        number = len(self.lines) + 1
        body = look_body(self.lines, found, subject=subject, judge=judge, anytime=at_any_level, run=f"run-{number}")
        at = (FIRST + timedelta(days=len(self.lines))).isoformat()
        self.lines.append(Line(number, Kind.VERDICT, at, body, "", ""))
        return body["claims"][0]

    def history(self, subject=""):
        return history_document(self.lines, study="toy", subject=subject)

    @property
    def sentences(self):
        """The findings, the earliest first."""
        return [one["sentence"] for one in sorted(self.history()["findings"], key=lambda one: one["at"])]


@pytest.fixture
def nights():
    return Nights()


def test_each_night_is_a_look_with_the_exact_interval_at_the_level_of_that_look(nights):
    for look, errors in enumerate([20, 26, 23], 1):
        found = nights.add(document(errors))
        expected = exact_interval(errors, 200, level=level_of_look(look, level=LEVEL))
        assert (found["look"], found["level"]) == (look, float(level_of_look(look, level=LEVEL)))
        assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_same_verdict_again_is_the_look_that_it_was(nights):
    first, second = nights.add(document(20)), nights.add(document(24))
    assert (nights.add(document(24)), nights.add(document(20))) == (second, first)
    assert nights.add(document(21))["look"] == 3


def test_the_day_of_a_constant_makes_no_new_verdict_and_its_value_does():
    one = document(20, constants=[{"name": "c", "value": 1.0, "computed_on": "2026-10-01"}])
    later = document(20, constants=[{"name": "c", "value": 1.0, "computed_on": "2026-10-02"}])
    other = document(20, constants=[{"name": "c", "value": 2.0, "computed_on": "2026-10-01"}])
    assert evidence_hash(one) == evidence_hash(later) != evidence_hash(other)


def test_another_plan_or_judge_begins_anew_and_what_it_left_goes_on_where_it_was(nights):
    nights.add(document(20))
    nights.add(document(21))
    assert nights.add(document(20, seal="b"))["look"] == 1
    assert nights.add(document(20), judge={"prompt": "k"})["look"] == 1
    assert nights.add(document(22))["look"] == 3


def test_subjects_and_studies_do_not_count_for_each_other(nights):
    nights.add(document(20), subject="north")
    nights.add(document(20, study="elsewhere"))
    assert nights.add(document(21))["look"] == 1
    assert [nights.history(name)["runs"] for name in ("north", "", "south")] == [1, 1, 0]


def test_a_withheld_number_has_no_interval_and_its_look_counts_all_the_same(nights):
    """Else whoever withholds what looks bad buys back the level that it spent."""
    nights.add(document(20))
    withheld = nights.add(document(50, outcome="skip"))
    assert (withheld["look"], withheld["estimate"], withheld["low"], withheld["high"]) == (2, None, None, None)
    assert nights.add(document(21))["look"] == 3


def test_a_study_without_such_intervals_has_outcomes_alone(nights):
    found = nights.add(document(20), anytime=False)
    assert (found["outcome"], found["look"], found["level"], found["low"]) == ("pass", 1, None, None)
    nights.add(document(40), anytime=False)
    assert nights.sentences == [
        "rate turned from pass to fail: no interval is known that holds at all looks, and nobody can say whether it is"
        " chance"
    ]


def test_lines_that_are_no_looks_are_passed_over(nights):
    for kind, body in ((Kind.PLAN_SEALED, {"name": "p"}), (Kind.VERDICT, {"study": "toy", "decision": "keep"})):
        nights.lines.append(Line(0, kind, FIRST.isoformat(), body, "", ""))
    assert nights.add(document(20))["look"] == 1
    assert nights.history()["runs"] == 1


def test_a_turn_by_a_hair_may_be_chance_and_one_by_far_is_established(nights):
    for errors in (29, 31, 28, 80):
        nights.add(document(errors))
    hair, back, far, moved = nights.sentences
    assert hair.startswith("rate turned from pass to fail: it may be chance of so many looks, since 0.0")
    assert back.startswith("rate turned from fail to pass: it may be chance")
    assert far.startswith("rate turned from pass to fail: it is established that the value lies above the bar, by 0.2")
    assert moved == "rate has moved since 2026-10-01: intervals that hold at all looks have nothing in common"


def test_a_value_that_moved_is_told_once_and_when_it_moves_back_once_more(nights):
    for errors in (20, 70, 71, 72, 20):
        nights.add(document(errors, bar=0.9))
    assert nights.sentences == [
        "rate has moved since 2026-10-01: intervals that hold at all looks have nothing in common",
        "rate has moved since 2026-10-02: intervals that hold at all looks have nothing in common",
    ]


def test_nothing_is_said_to_have_moved_from_one_plan_to_another(nights):
    nights.add(document(20))
    nights.add(document(80, seal="b"))
    (only,) = nights.sentences
    assert only.startswith("rate turned from pass to fail: it is established")
    assert only.endswith("; another plan, whose looks are counted by themselves")


def test_a_turn_to_withheld_says_why(nights):
    nights.add(document(20))
    nights.add(document(20, outcome="skip"))
    assert nights.sentences == ["rate turned from pass to skip: it is withheld (judge down)"]


def test_a_point_says_what_differs_and_runs_that_came_to_the_same_are_one(nights):
    changed = document(21, hashes={"plan": "b", "gold": "h"}, versions={"numpy": "3"})
    for found, judge in ((document(20), "j"), (document(20), "j"), (changed, "k")):
        nights.add(found, judge=judge)
    first, second = nights.history()["claims"][0]["points"]
    assert (first["runs"], first["at"][:10], first["until"][:10]) == (2, "2026-10-01", "2026-10-02")
    assert second["changed"] == ["plan", "judge", "gold", "numpy"]
    assert nights.history()["runs"] == 3


def test_claims_that_come_and_go_have_points_where_they_were_made(nights):
    nights.add(document(20))
    found = document(21)
    found["claims"].append(found["claims"][0] | {"claim": OTHER})
    nights.add(found)
    nights.add(document(22))
    assert {one["claim"]: len(one["points"]) for one in nights.history()["claims"]} == {RATE: 3, OTHER: 1}


@cache
def at_its_own_level(errors):
    return exact_interval(errors, 150, level=LEVEL)


def told_in(rng, rate):
    """Whether a history of 25 nights tells that a rate of its own moved or lies beyond it, and whether the runs do."""
    nights, fixed = Nights(), []
    for errors in rng.binomial(150, rate, 25):
        nights.add(document(int(errors), 150, bar=rate))
        ends = at_its_own_level(int(errors))
        fixed.append(not ends.low <= rate <= ends.high)
    (claim,) = nights.history()["claims"]
    told = any(point["moved_since"] or point["side"] != "both" for point in claim["points"])
    return told, any(fixed)


def test_looking_every_night_manufactures_no_finding_where_nothing_changes():
    """60 histories of 25 nights at a bar that is the true rate: neither moved, nor beyond the bar, but in few."""
    rng = np.random.default_rng(5)
    told, fixed = (sum(column) for column in zip(*(told_in(rng, 0.15) for _ in range(60)), strict=True))
    assert binomtest(told, 60, 0.05, alternative="greater").pvalue > 0.01
    assert fixed > 30


def test_what_is_entered_in_a_ledger_can_be_read_again(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    for errors in (20, 21):
        found = document(errors)
        append_made(
            path,
            Kind.VERDICT,
            lambda lines, found=found: look_body(
                lines, found, subject="", judge=None, anytime=Anytime(LEVEL, exact_intervals(found, [RATE])), run="r"
            ),
            now=FIRST,
        )
    assert [line.body["claims"][0]["look"] for line in read_ledger(path)] == [1, 2]
    assert history_document(read_ledger(path), study="toy", subject="")["runs"] == 2
