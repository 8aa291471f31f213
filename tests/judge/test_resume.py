import json
import os
from copy import deepcopy
from dataclasses import replace

import pytest

from eval_pipeline.errors import RunDiffers
from eval_pipeline.judge.journal import Head, JournalWriter
from eval_pipeline.judge.offline import LexicalJudge
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import fingerprint, key
from eval_pipeline.judge.resume import require_same_run
from eval_pipeline.records import Answer, Judgment, Label, Question

PLAN = {
    "name": "p",
    "study": "extraction",
    "version": 2,
    "seed": 4242,
    "claims": {"recall_at_least": 0.8, "precision_at_least": 0.95},
    "judging": {"prompt": "nli-v1", "attempts": 6, "kinds": ["a", "b"]},
    "calibration": None,
}
QUESTION = Question("e1", "P.", "H.")
URL = "http://127.0.0.1:9/v1"


@pytest.fixture
def at(chat_at):
    """The judge at that endpoint, but for these changes."""
    return lambda **changes: chat_at(**{"base_url": URL, "revision": "r1", **changes})


def head_of(judge, plan=PLAN, run="now", purpose="run"):
    return Head(run=run, purpose=purpose, judge=dict(judge.identity), plan=deepcopy(dict(plan)))


@pytest.fixture
def begun(tmp_path):
    """Keeps a run of that judge and plan in a folder of the judge's own; it was last written so many seconds ago."""

    def begun(judge, plan=PLAN, *, run="then", seconds_ago=100.0, purpose="run"):
        judgment = Judgment(key(judge, QUESTION), QUESTION, Answer("SUPPORTED", None, 1, 0.0, 9), Label.SUPPORTED, None)
        with JournalWriter(tmp_path / fingerprint(judge)[:16], head_of(judge, plan, run, purpose)) as journal:
            journal.append(judgment, judge)
        at = journal.path.stat().st_mtime - seconds_ago
        os.utime(journal.path, (at, at))
        return journal.path

    return begun


def differs(folder, *now):
    """What is said of a run that is not the last one."""
    with pytest.raises(RunDiffers) as refused:
        require_same_run(folder, *now)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def changed(**changes):
    """The plan with another value at that place, which is written judging__attempts."""
    plan = deepcopy(PLAN)
    for place, value in changes.items():
        *path, last = place.split("__")
        at = plan
        for name in path:
            at = at[name]
        at[last] = value
    return plan


def test_a_run_that_is_the_last_one_goes_on(tmp_path, at, begun):
    begun(at())
    require_same_run(tmp_path, head_of(at()))


@pytest.mark.parametrize(
    "changes",
    [
        {"api_key": "sk-other"},
        {"in_flight": 64},
        {"attempt_timeout_s": 1.0, "total_timeout_s": 2.0},
        {"base_url": URL + "/"},
        {"extra": {"temperature": 0}},
    ],
    ids=["key", "in flight", "time limits", "slash", "what is sent anyway"],
)
def test_what_no_label_depends_on_may_have_changed(tmp_path, at, begun, changes):
    begun(at())
    require_same_run(tmp_path, head_of(at(**changes)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "n"}, "judge.model was 'm' and is 'n'"),
        ({"revision": "r2"}, "judge.revision was 'r1' and is 'r2'"),
        ({"base_url": "http://127.0.0.1:8/v1"}, f"judge.base_url was '{URL}' and is 'http://127.0.0.1:8/v1'"),
        ({"max_tokens": 9}, "judge.decoding.max_tokens was 8 and is 9"),
        ({"extra": {"seed": 7}}, "judge.decoding.seed was nothing and is 7"),
        ({"extra": {"temperature": None}}, "judge.decoding.temperature was 0 and is nothing"),
        ({"prompt": prompt_named("nli-compat")}, "judge.prompt.id was 'nli-v1' and is 'nli-compat'"),
        (
            {"prompt": replace(prompt_named("nli-v1"), system="Judge.")},
            f"judge.prompt.sha256 was '{prompt_named('nli-v1').hash[:8]}",
        ),
        (
            {"prompt": replace(prompt_named("nli-v1"), reminder=None)},
            f"judge.prompt.sha256 was '{prompt_named('nli-v1').hash[:8]}",
        ),
    ],
    ids=[
        "model",
        "revision",
        "base URL",
        "decoding",
        "decoding, more",
        "decoding, less",
        "prompt",
        "words of the prompt",
        "reminder",
    ],
)
def test_a_judge_that_changed_is_refused_with_what_did(tmp_path, at, begun, changes, said):
    path = begun(at())
    refusal = differs(tmp_path, head_of(at(**changes)))
    assert refusal.startswith(f"the last run, of journal {str(path)!r}, was begun otherwise: ")
    assert said in refusal
    assert refusal.endswith("put back what it was begun with, or begin another run, without --resume")


def test_another_kind_of_judge_is_refused(tmp_path, at, begun):
    begun(at())
    assert "judge.kind was 'chat' and is 'lexical'" in differs(tmp_path, head_of(LexicalJudge()))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (changed(seed=4243), "plan.seed was 4242 and is 4243"),
        (changed(claims__recall_at_least=0.81), "plan.claims.recall_at_least was 0.8 and is 0.81"),
        (changed(claims__recall_at_least=0.8 + 1e-15), "plan.claims.recall_at_least was 0.8 and is 0.80000"),
        (changed(judging__attempts=5), "plan.judging.attempts was 6 and is 5"),
        (changed(judging__kinds=["b", "a"]), "plan.judging.kinds was ['a', 'b'] and is ['b', 'a']"),
        (changed(judging__more=1), "plan.judging.more was nothing and is 1"),
        (changed(calibration={"uncalibrated_pass": "warn"}), "plan.calibration was nothing and is {'unc"),
        (changed(claims=None), "plan.claims was {'recall_at_least': 0.8, 'precision_at_least': 0.95} and is nothing"),
    ],
    ids=[
        "number",
        "number within",
        "last digit",
        "count",
        "order",
        "one more",
        "table for nothing",
        "nothing for table",
    ],
)
def test_a_plan_that_changed_is_refused_with_what_did(tmp_path, at, begun, plan, said):
    begun(at())
    assert said in differs(tmp_path, head_of(at(), plan))


def test_all_that_differs_is_said_at_once_as_far_as_it_can_be_read(tmp_path, at, begun):
    begun(at())
    plan = changed(seed=1, version=3, claims__recall_at_least=0.9)
    assert differs(tmp_path, head_of(at(model="n"), plan)).count(" and is ") == 4
    plan = changed(seed=1, version=3, name="q", claims__recall_at_least=0.9, claims__precision_at_least=0.9)
    refusal = differs(tmp_path, head_of(at(model="n", max_tokens=9), plan))
    assert refusal.count(" and is ") == 5
    assert "; and 2 more; put back" in refusal


def test_a_value_that_is_long_is_shown_shortened(tmp_path, at, begun):
    begun(at(), changed(question="Why? " * 1000))
    assert len(differs(tmp_path, head_of(at(), changed(question="How? " * 1000)))) < 600


def test_a_field_that_was_taken_out_of_the_plan_is_said_to_be(tmp_path, at, begun):
    begun(at(), changed(judging__canaries="1/50"))
    assert "plan.judging.canaries was '1/50' and is nothing" in differs(tmp_path, head_of(at()))


class TestWithoutARun:
    def test_there_is_nothing_to_go_on_with(self, tmp_path, at):
        refusal = differs(tmp_path, head_of(at()))
        assert refusal == f"there is no run to go on with in {str(tmp_path)!r}; begin one, without --resume"

    def test_also_if_there_is_no_folder(self, tmp_path, at):
        assert "there is no run to go on with" in differs(tmp_path / "absent", head_of(at()))

    def test_also_if_it_was_one_of_another_study(self, tmp_path, at, begun):
        begun(at(), changed(study="judge_calibration"))
        assert "there is no run to go on with" in differs(tmp_path, head_of(at()))

    @pytest.mark.parametrize("first", ["", '{"run": "then", "jud', '{"key": "k"}\n', "not JSON\n"])
    def test_also_if_the_only_journal_does_not_say_which_run_it_was(self, tmp_path, at, first):
        (tmp_path / "judge").mkdir()
        (tmp_path / "judge" / "then.jsonl").write_text(first)
        assert "there is no run to go on with" in differs(tmp_path, head_of(at()))

    def test_also_if_it_was_a_pilot(self, tmp_path, at, begun):
        begun(at(), purpose="pilot")
        assert "there is no run to go on with" in differs(tmp_path, head_of(at()))

    def test_also_if_a_journal_lies_elsewhere(self, tmp_path, at, begun):
        """Each judge has a folder within the folder of all journals, and no deeper one is looked into."""
        path = begun(at())
        deeper = tmp_path / "other" / "deeper"
        deeper.mkdir(parents=True)
        path.rename(deeper / path.name)
        assert "there is no run to go on with" in differs(tmp_path, head_of(at()))


class TestOfSeveralRuns:
    def test_the_last_one_is_gone_on_with(self, tmp_path, at, begun):
        begun(at(), changed(seed=1), run="z", seconds_ago=300)
        begun(at(), PLAN, run="a", seconds_ago=100)
        begun(at(), changed(seed=2), run="m", seconds_ago=200)
        require_same_run(tmp_path, head_of(at()))

    def test_an_earlier_one_is_not_although_it_was_the_same(self, tmp_path, at, begun):
        begun(at(), PLAN, run="z", seconds_ago=200)
        path = begun(at(), changed(seed=1), run="a", seconds_ago=100)
        refusal = differs(tmp_path, head_of(at()))
        assert repr(str(path)) in refusal
        assert "plan.seed was 1 and is 4242" in refusal

    def test_the_last_one_may_be_another_judges(self, tmp_path, at, begun):
        """Else whoever changed the model would go on with the run before, and never know."""
        begun(at(), seconds_ago=200)
        begun(at(model="n"), seconds_ago=100)
        assert "judge.model was 'n' and is 'm'" in differs(tmp_path, head_of(at()))
        require_same_run(tmp_path, head_of(at(model="n")))

    def test_those_of_other_studies_and_those_without_a_head_are_passed_over(self, tmp_path, at, begun):
        begun(at(), seconds_ago=300)
        begun(at(), changed(study="judge_calibration", seed=1), run="calibration", seconds_ago=200)
        headless = begun(at(), run="headless", seconds_ago=100)
        lines = headless.read_text().splitlines(keepends=True)
        headless.write_text("".join(lines[1:]))
        require_same_run(tmp_path, head_of(at()))

    def test_a_pilot_is_passed_over(self, tmp_path, at, begun):
        begun(at(), seconds_ago=300)
        begun(at(), changed(seed=1), run="pilot", seconds_ago=200, purpose="pilot")
        require_same_run(tmp_path, head_of(at()))


def test_the_name_of_the_run_is_no_part_of_what_must_be_the_same(tmp_path, at, begun):
    begun(at(), run="then")
    require_same_run(tmp_path, head_of(at(), run="now"))


def test_a_run_that_was_killed_can_be_gone_on_with(tmp_path, at, begun):
    """Its journal ends in half a line."""
    path = begun(at())
    path.write_bytes(path.read_bytes()[:-20])
    require_same_run(tmp_path, head_of(at()))


def test_what_a_head_says_is_compared_as_json_holds_it(tmp_path, at, begun):
    """A run is begun from values in memory and compared with values from a file."""
    path = begun(at(), changed(judging__share="1/20", judging__none=None))
    first = json.loads(path.read_text().splitlines()[0])
    require_same_run(tmp_path, Head(**first))


def test_of_a_run_with_several_journals_the_last_need_be_but_one_of_them(tmp_path, at, begun):
    begun(at(model="m"))
    heads = [head_of(at(model=model)) for model in ("other", "m")]
    require_same_run(tmp_path, *heads)
    require_same_run(tmp_path, *heads[::-1])


def test_of_several_heads_the_nearest_says_in_what_the_last_run_differs(tmp_path, at, begun):
    begun(at(model="m"))
    plan = changed(seed=7)
    heads = [head_of(at(model=model), plan) for model in ("other", "m")]
    for order in (heads, heads[::-1]):
        said = differs(tmp_path, *order)
        assert "plan.seed was 4242 and is 7" in said
        assert "judge." not in said


def test_of_several_heads_it_is_said_once_that_there_is_no_run(tmp_path, at):
    assert differs(tmp_path, head_of(at()), head_of(at(model="other"))).count("there is no run to go on with") == 1
