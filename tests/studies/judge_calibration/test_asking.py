"""A judge whose confusion is known is measured to have it; it is asked once, and what it says is kept."""

import json
from dataclasses import dataclass, field
from fractions import Fraction

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.offline import Offline
from eval_pipeline.records import Alignment, Answer, NoLabel, Reason
from eval_pipeline.studies.judge_calibration.asking import predict_in_journal, question_of
from eval_pipeline.studies.judge_calibration.confusion import error_rates
from tests.studies.judge_calibration.made_up import LEVEL, composed

GOLD = composed({"SUPPORTED": 20, "UNSUPPORTED": 20}, {"VIOLATED": 10, "NOT_VIOLATED": 10})


@dataclass(frozen=True)
class Constructed(Offline):
    """Answers every tuple as it is told, as JSON; counts how often it was asked."""

    answers: dict[str, str]
    asked: list[str] = field(default_factory=list)
    task: str = ""
    kind = "constructed"

    @property
    def identity(self):
        return {"kind": self.kind, "task": self.task}

    async def answer(self, question):
        self.asked.append(question.entry_id)
        raw = self.answers[question.entry_id]
        if raw == "down":
            raise JudgeDown("the judge went away")
        return Answer(raw, None, attempts=1, latency_s=0.0, tokens=None)


def says(**changed: str) -> dict[str, str]:
    """The right answer to every tuple, but for those whose number is given."""
    right = {f"gold-{item.index}": json.dumps({"judgment": item.expected}) for item in GOLD.tuples}
    return right | {name.replace("_", "-"): raw for name, raw in changed.items()}


def sat(answers, plan, folder, run="one"):
    made = []

    def judges(prompt):
        made.append(Constructed(answers, task=prompt.task))
        return made[-1]

    found = predict_in_journal(
        GOLD, judges, plan, journals=folder, run=run, resume=False, progress=lambda done, total: None
    )
    return found, [name for judge in made for name in judge.asked]


def test_a_judge_of_known_confusion_is_measured_to_have_it(shipped, tmp_path):
    wrong = json.dumps({"judgment": "SUPPORTED"})
    missed = json.dumps({"judgment": "NOT_VIOLATED"})
    found, _ = sat(says(gold_20=wrong, gold_21=wrong, gold_40=missed), shipped, tmp_path)
    rates = error_rates(found.first, level=LEVEL)
    assert rates.false_clear.estimate == Fraction(2, 20)
    assert rates.false_negatives.estimate == Fraction(3, 50)
    assert rates.false_positives.estimate == Fraction(2, 50)
    assert rates.matrix["UNSUPPORTED", "SUPPORTED"] == 2
    assert len(found.judgments) == 60
    assert set(found.fingerprints) == {"alignment-v1", "constraint-v1"}


def test_what_was_said_is_not_asked_again_and_repeats_are(shipped, tmp_path):
    _, first = sat(says(), shipped, tmp_path, "one")
    _, second = sat(says(), shipped, tmp_path, "two")
    assert (len(first), len(second)) == (60, 0)
    twice = shipped.model_copy(update={"asking": shipped.asking.model_copy(update={"repeats": 2})})
    found, third = sat(says(), twice, tmp_path, "three")
    assert len(third) == 120
    assert [len(run) for run in found.repeats] == [60, 60]


def test_an_answer_that_is_no_object_of_the_form_counts_as_none(shipped, tmp_path):
    found, _ = sat(says(gold_0="SUPPORTED", gold_59='{"judgment": "MAYBE"}'), shipped, tmp_path)
    rates = error_rates(found.first, level=LEVEL)
    assert (rates.invalid.errors, rates.invalid.n) == (2, 60)
    assert found.first[0].no_label is NoLabel.UNPARSABLE
    assert (rates.false_negatives.n, rates.false_negatives.errors) == (49, 0)


def test_a_judge_that_goes_away_leaves_a_refusal_and_no_predictions(shipped, tmp_path):
    found, _ = sat(says(gold_7="down"), shipped, tmp_path)
    assert found.first == ()
    assert found.refusal.reason is Reason.JUDGE_DOWN
    again, asked = sat(says(), shipped, tmp_path, "two")
    assert len(again.first) == 60
    assert "gold-0" not in asked


def test_a_question_shows_the_anchor_or_the_rule_and_never_what_is_expected():
    aligned, ruled = question_of(GOLD.tuples[0]), question_of(GOLD.tuples[40])
    assert dict(aligned.given) == {"anchor_kind": "page", "anchor_value": "3"}
    assert dict(ruled.given) == {"constraint_id": "MNC-1", "rule": "Do not claim a cause.", "scope": "MNC"}
    assert Alignment.SUPPORTED not in aligned.premise
