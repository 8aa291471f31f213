"""A log is read whole or not at all: every contradiction is named by its line, its field, and what to do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.arms import RetryArm
from eval_pipeline.errors import FAULTS_SHOWN, MalformedObservations
from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.retry_limit.observations import contradictions, read, require_assigned
from tests.stats.laws import LAW
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, attempts, log_of, runs_in


def refused(rows):
    """What is said of rows that stand on lines 1, 2, ..."""
    return contradictions(rows, range(1, len(rows) + 1))


def test_a_log_is_read_as_it_was_written(tmp_path):
    rows = [*attempts("a", "s1", "rrp"), *attempts("b", "s1", "p", WITHOUT), *attempts("a", "s2", "rt")]
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes(rows))
    found = read(path)
    assert found.rows == tuple(rows)
    assert not found.simulated


def test_a_line_need_not_name_what_it_has_not(tmp_path):
    fields = json.loads(attempts("a", "s1", "p")[0].model_dump_json())
    del fields["claim_id"]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(fields) + "\n")
    assert read(path).rows == tuple(attempts("a", "s1", "p"))


def test_a_claim_is_a_subject_like_a_section():
    row = attempts("a", "s1", "p", section_id=None, claim_id="FR-001")[0]
    assert row.subject == "FR-001"
    assert refused([row]) == []


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("outcome", "failed", "line 1, field 'outcome': found \"failed\", expected"),
        ("arm", "control", "line 1, field 'arm': found \"control\", expected"),
        ("attempt", 0, "line 1, field 'attempt': found 0, expected"),
        ("attempt", "1", "line 1, field 'attempt': found \"1\", expected"),
        ("prior_violations_used", 1, "line 1, field 'prior_violations_used': found 1, expected"),
        ("prior_violations_count", -1, "line 1, field 'prior_violations_count': found -1, expected"),
        ("run_id", "", "line 1, field 'run_id': found \"\", expected"),
        ("judge", "x", "line 1, field 'judge': found a field that no rule reads; remove it"),
    ],
)
def test_a_line_of_another_schema_is_refused(tmp_path, field, value, message):
    fields = json.loads(attempts("a", "s1", "p")[0].model_dump_json()) | {field: value}
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(fields) + "\n")
    with pytest.raises(MalformedObservations) as refusal:
        read(path)
    assert message in str(refusal.value)


def test_the_line_is_that_of_the_file(tmp_path):
    """Blank lines count as lines."""
    first, second = attempts("a", "s1", "rp")
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes([first]) + b"\n\n" + log_bytes([second.model_copy(update={"attempt": 3})]))
    with pytest.raises(MalformedObservations) as refusal:
        read(path)
    assert str(refusal.value) == (
        f"observations {str(path)!r} has 1 fault: line 4, field 'attempt': found attempt 3 of 's1' in run 'a', expected"
        " attempt 2 first; add what is missing"
    )


def test_attempts_have_no_gap():
    rows = attempts("a", "s1", "rrp")
    assert refused([rows[0], rows[2]]) == [
        "line 2, field 'attempt': found attempt 3 of 's1' in run 'a', expected attempt 2 first; add what is missing"
    ]
    assert refused(rows[1:]) == [
        "line 1, field 'attempt': found attempt 2 of 's1' in run 'a', expected attempt 1 first; add what is missing"
    ]


def test_an_attempt_stands_once():
    rows = attempts("a", "s1", "rp")
    assert refused([*rows, rows[0]]) == [
        "line 3, field 'attempt': found attempt 1 of 's1' in run 'a' twice, expected it once; remove one"
    ]


@pytest.mark.parametrize(("path", "end"), [("pp", "passed"), ("tr", "failed for good")])
def test_nothing_comes_after_the_end(path, end):
    assert refused(attempts("a", "s1", path)) == [
        f"line 2, field 'attempt': found attempt 2 of 's1' in run 'a' after it {end} on line 1, expected nothing after"
        " that"
    ]


def test_a_run_has_one_arm():
    rows = [*attempts("a", "s1", "p"), *attempts("a", "s2", "p", WITHOUT)]
    assert refused(rows) == [
        "line 2, field 'arm': found without_prior_violations, expected with_prior_violations as on line 1; a run has"
        " one arm"
    ]


def test_a_section_has_one_type():
    rows = attempts("a", "s1", "rp")
    rows[1] = rows[1].model_copy(update={"section_type": "timeline"})
    assert refused(rows) == [
        "line 2, field 'section_type': found 'timeline', expected 'overview' as on line 1; a section has one type"
    ]


def test_a_log_has_one_schema():
    rows = [*attempts("a", "s1", "p"), *attempts("a", "s1", "p", section_id=None, claim_id="c1")]
    assert refused(rows) == [
        "line 2, field 'section_id': found nothing, expected it as on line 1; a log has one schema"
    ]
    assert refused(rows[::-1]) == [
        "line 2, field 'claim_id': found nothing, expected it as on line 1; a log has one schema"
    ]


@pytest.mark.parametrize(("names", "given"), [((None, None), "neither"), (("s1", "c1"), "both")])
def test_a_line_names_one_thing(names, given):
    row = attempts("a", "s1", "p", section_id=names[0], claim_id=names[1])[0]
    assert refused([row]) == [
        f"line 1, field 'section_id': found {given} of section_id and claim_id, expected one of them; name what was"
        " tried"
    ]


def test_nothing_is_told_before_there_is_anything_to_tell():
    row = attempts("a", "s1", "p", prior_violations_count=2)[0]
    assert refused([row]) == [
        "line 1, field 'prior_violations_count': found 2 at attempt 1, expected 0; there is no attempt before the first"
    ]
    rows = attempts("a", "s1", "rp")
    rows[1] = rows[1].model_copy(update={"prior_violations_count": 0})
    assert refused(rows) == [
        "line 2, field 'prior_violations_used': found true where prior_violations_count is 0, expected false; nothing"
        " could be told"
    ]


@LAW
@given(st.lists(st.sampled_from(["p", "t", "r", "rp", "rt", "rr", "rrp"]), min_size=1, max_size=5), st.randoms())
def test_the_order_of_lines_does_not_matter(paths, random):
    rows = [row for place, path in enumerate(paths) for row in attempts("a", f"s{place}", path)]
    assert refused(rows) == []
    random.shuffle(rows)
    assert refused(rows) == []


def test_a_run_is_in_the_arm_of_its_hash(plan):
    (run,) = runs_in(WITHOUT, 1)
    require_assigned(log_of(attempts(run, "s1", "rrp", WITHOUT)), plan)
    with pytest.raises(MalformedObservations) as refusal:
        require_assigned(log_of(attempts(run, "s1", "rrp", WITH)), plan)
    assert str(refusal.value) == (
        f"observations has 1 fault: run {run!r}, field 'arm': found with_prior_violations, expected"
        " without_prior_violations by the hash of its id; give the log of runs that this plan assigned"
    )


@pytest.mark.parametrize(("treated", "limit"), [(True, 5), (False, 3)])
def test_a_run_keeps_to_its_limit(plan, treated, limit):
    (run,) = runs_in(WITH, 1, treated=treated)
    require_assigned(log_of(attempts(run, "s1", "r" * (limit - 1) + "p")), plan)
    side = "treatment" if treated else "control"
    with pytest.raises(MalformedObservations) as refusal:
        require_assigned(log_of(attempts(run, "s1", "r" * limit + "p")), plan)
    assert (
        f"run {run!r}, field 'attempt': found {limit + 1}, expected at most {limit} in the {side} arm; give the log of"
        " runs that kept to their limit" in str(refusal.value)
    )


def test_without_a_salt_the_arm_is_that_of_the_first_version():
    """Half by the top bit of the FNV-1a hash: `run-0` has 1033722255, below 2^31, and is a control run."""
    under = amended(SHIPPED, arms={"salt": ""})
    require_assigned(log_of(attempts("run-0", "s1", "rp", RetryArm.WITHOUT_PRIOR_VIOLATIONS)), under)
    with pytest.raises(MalformedObservations, match="expected at most 3 in the control arm"):
        require_assigned(log_of(attempts("run-0", "s1", "rrrp", RetryArm.WITHOUT_PRIOR_VIOLATIONS)), under)


def test_no_more_faults_are_shown_than_anyone_reads(tmp_path):
    rows = [row for place in range(FAULTS_SHOWN + 5) for row in attempts(f"r{place}", "s1", "rp")[1:]]
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes(rows))
    with pytest.raises(MalformedObservations, match=r"; and 5 more$"):
        read(path)
