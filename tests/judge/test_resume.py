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


def head_of(judge, plan=PLAN, run="now", purpose="run", others=()):
    beside = tuple(dict(other.identity) for other in others)
    return Head(run=run, purpose=purpose, judge=dict(judge.identity), others=beside, plan=deepcopy(dict(plan)))


@pytest.fixture
def begun(tmp_path):
    """Keeps a run of that judge and plan in a folder of the judge's own; it was last written so many seconds ago."""

    def begun(judge, plan=PLAN, *, run="then", seconds_ago=100.0, purpose="run", others=()):
        judgment = Judgment(key(judge, QUESTION), QUESTION, Answer("SUPPORTED", None, 1, 0.0, 9), Label.SUPPORTED, None)
        with JournalWriter(tmp_path / fingerprint(judge)[:16], head_of(judge, plan, run, purpose, others)) as journal:
            journal.append(judgment, judge)
        at = journal.path.stat().st_mtime - seconds_ago
        os.utime(journal.path, (at, at))
        return journal.path

    return begun


def differs(folder, now):
    """What is said of a run that is not the last one."""
    with pytest.raises(RunDiffers) as refused:
        require_same_run(folder, now)
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
        begun(at(), run="first", seconds_ago=200)
        begun(at(model="n"), run="second", seconds_ago=100)
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


class TestOfARunUnderTwoPrompts:
    """Which keeps a journal under each; here under nli-v1 and nli-compat, in that order."""

    PROMPTS = (prompt_named("nli-v1"), prompt_named("nli-compat"))

    @pytest.fixture
    def judges(self, at):
        """Both judges, with those prompts in another wording, and otherwise as changed."""

        def judges(*reworded, **changes):
            return [
                at(prompt=replace(prompt, system="Judge.") if place in reworded else prompt, **changes)
                for place, prompt in enumerate(self.PROMPTS)
            ]

        return judges

    @pytest.fixture
    def left(self, begun, judges):
        """The journals that a run left: under either prompt or both, the last one written last.

        An earlier version `names` no other judge in a head.
        """

        def left(*places, names=True, run="then", seconds_ago=100.0, plan=PLAN):
            both = judges()
            return [
                begun(
                    both[place],
                    plan,
                    run=run,
                    seconds_ago=seconds_ago - number,
                    others=[both[1 - place]] if names else (),
                )
                for number, place in enumerate(places)
            ]

        return left

    def now(self, both, plan=PLAN):
        return head_of(both[0], plan, others=both[1:])

    @pytest.mark.parametrize("names", [True, False], ids=["named", "unnamed"])
    @pytest.mark.parametrize("places", [(0, 1), (1, 0), (0,), (1,)])
    def test_as_it_was_begun_it_goes_on(self, tmp_path, judges, left, places, names):
        left(*places, names=names)
        require_same_run(tmp_path, self.now(judges()))
        require_same_run(tmp_path, self.now(judges()[::-1]))

    @pytest.mark.parametrize("reworded", [(0,), (1,), (0, 1)], ids=["the first", "the second", "both"])
    @pytest.mark.parametrize("places", [(0, 1), (1, 0), (0,), (1,)])
    def test_with_any_prompt_reworded_it_is_refused_whichever_journals_are_left(
        self, tmp_path, judges, left, places, reworded
    ):
        left(*places)
        said = differs(tmp_path, self.now(judges(*reworded)))
        assert said.count("judge.prompt.sha256 was") == said.count(" and is ") == len(reworded)
        for place, prompt in enumerate(self.PROMPTS):
            clause = f"judge.prompt.sha256 was '{prompt.hash[:8]}"
            assert (clause in said) == (f"under '{prompt.id}'" in said) == (place in reworded)

    @pytest.mark.parametrize("places", [(0, 1), (1, 0)])
    @pytest.mark.parametrize("reworded", [(0,), (1,), (0, 1)])
    def test_also_where_no_head_names_the_other_judge(self, tmp_path, judges, left, places, reworded):
        paths = dict(zip(places, left(*places, names=False), strict=True))
        said = differs(tmp_path, self.now(judges(*reworded)))
        assert said.count("judge.prompt.sha256 was") == len(reworded)
        newest = next(place for place in reversed(places) if place in reworded)
        assert said.startswith(f"the last run, of journal {str(paths[newest])!r}, was begun otherwise: ")

    @pytest.mark.parametrize("places", [(0, 1), (1, 0), (0,), (1,)])
    @pytest.mark.parametrize("reworded", [(), (0,), (1,), (0, 1)])
    def test_another_model_and_another_plan_are_said_once_and_without_a_prompt(
        self, tmp_path, judges, left, places, reworded
    ):
        left(*places)
        said = differs(tmp_path, self.now(judges(*reworded, model="n"), changed(seed=7)))
        assert said.count("judge.model was 'm' and is 'n';") == said.count("plan.seed was 4242 and is 7;") == 1
        assert said.count("judge.prompt.sha256 was") == len(reworded)

    def test_another_plan_alone_is_refused(self, tmp_path, judges, left):
        left(0, 1)
        assert ": plan.seed was 4242 and is 7; put back" in differs(tmp_path, self.now(judges(), changed(seed=7)))

    def test_a_field_that_differs_by_prompt_is_said_of_each(self, tmp_path, at, begun):
        """As max_tokens does, where each prompt has its own."""
        then = [at(prompt=prompt, max_tokens=tokens) for prompt, tokens in zip(self.PROMPTS, (8, 64), strict=True)]
        begun(then[0], others=then[1:])
        said = differs(tmp_path, self.now([at(prompt=prompt, max_tokens=9) for prompt in self.PROMPTS]))
        assert "judge.decoding.max_tokens was 8 and is 9 under 'nli-v1'" in said
        assert "judge.decoding.max_tokens was 64 and is 9 under 'nli-compat'" in said

    def test_a_prompt_with_a_new_name_is_held_against_the_one_that_is_gone(self, tmp_path, judges, left, at):
        left(1)
        renamed = at(prompt=replace(self.PROMPTS[1], id="nli-v2"))
        said = differs(tmp_path, self.now([judges()[0], renamed]))
        assert "judge.prompt.id was 'nli-compat' and is 'nli-v2' under 'nli-compat'" in said
        assert "'nli-v1'" not in said

    def test_one_that_was_gone_on_with_and_asked_under_one_prompt_alone_still_names_both(self, tmp_path, judges, left):
        """The second run knew all answers under the first prompt, and so left no journal under it."""
        left(0, 1, run="first", seconds_ago=300)
        left(1, run="second", seconds_ago=100)
        require_same_run(tmp_path, self.now(judges()))
        assert "judge.prompt.sha256 was" in differs(tmp_path, self.now(judges(0)))

    def test_journals_of_earlier_runs_are_passed_over(self, tmp_path, judges, left):
        left(0, 1, run="first", seconds_ago=300, plan=changed(seed=1))
        left(0, run="second", seconds_ago=100, names=False)
        require_same_run(tmp_path, self.now(judges(1)))  # which the second run never asked under, and names not

    def test_without_a_run_it_is_said_once(self, tmp_path, judges):
        assert differs(tmp_path, self.now(judges())).count("there is no run to go on with") == 1

    def test_a_head_with_a_judge_of_another_shape_is_refused_and_does_not_break_it(self, tmp_path, judges, left):
        (path,) = left(0, names=False)
        first, *lines = path.read_text().splitlines(keepends=True)
        damaged = json.loads(first) | {"others": [{"kind": "chat", "prompt": 3}]}
        path.write_text("".join([json.dumps(damaged) + "\n", *lines]))
        assert "judge.prompt was 3 and is " in differs(tmp_path, self.now(judges()))


def test_judges_that_need_no_prompt_are_held_against_each_other_by_their_task(tmp_path, begun):
    both = [LexicalJudge("alignment"), LexicalJudge("constraint")]
    for judge, other in (both, both[::-1]):
        begun(judge, others=[other])
    for one, other in (both, both[::-1]):
        require_same_run(tmp_path, head_of(one, others=[other]))
    assert "judge.task was 'constraint'" in differs(tmp_path, head_of(both[0]))
