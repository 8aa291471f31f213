"""Two calibrations over one gold set are compared tuple by tuple, whether they are of two judges or of one twice."""

import json
from fractions import Fraction

import pytest
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar

from eval_pipeline.document import document_bytes
from eval_pipeline.errors import EvidenceRefused, InputRefused
from eval_pipeline.records import Alignment, Compliance, Reason, Refusal
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.comparison import compared, comparison_document
from eval_pipeline.studies.judge_calibration.confusion import error_rates
from eval_pipeline.studies.judge_calibration.document import calibration_document
from eval_pipeline.studies.judge_calibration.recorded import read_calibration
from eval_pipeline.studies.judge_calibration.verdict import verdicts
from tests.studies.judge_calibration.made_up import LEVEL, composed, predicted

GOLD = composed({"SUPPORTED": 20, "UNSUPPORTED": 10}, {"VIOLATED": 6, "NOT_VIOLATED": 4}, partial=2)
VIOLATED, NOT_VIOLATED = range(30, 36), range(36, 40)  # their numbers


def wrong_on(*numbers, silent=(), gold=GOLD):
    """A judge that is wrong on the tuples of these numbers, and gives those in `silent` no label."""

    def says(item):
        if item.index in silent:
            return None
        if item.index not in numbers:
            return item.expected
        other = {Compliance.VIOLATED: Compliance.NOT_VIOLATED, Compliance.NOT_VIOLATED: Compliance.VIOLATED}
        return other.get(item.expected, Alignment.AMBIGUOUS)

    return predicted(gold, says)


@pytest.fixture
def calibration(compat, tmp_path):
    """The calibration of these predictions, by way of its report.json, with these fields changed."""

    def calibration(first, *, gold=GOLD, judge="a", refusal=None, plan=compat, **changed):
        found = Predictions(tuple(first), (), "chat", {"alignment-v1": judge, "constraint-v1": judge}, (), refusal)
        rates = error_rates(first, level=LEVEL) if first else None
        claims = verdicts(found, rates, plan)
        document = calibration_document(claims, gold, found, rates, None, (), plan, seal="s" * 64, versions={})
        path = tmp_path / "report.json"
        path.write_bytes(document_bytes(document | changed))
        return read_calibration(path)

    return calibration


@pytest.fixture
def comparison(calibration):
    def comparison(first, second):
        return compared(calibration(first), calibration(second))

    return comparison


def test_each_tuple_falls_into_one_of_four_cells_overall_and_by_kind(comparison):
    """Wrong in the first alone: 0, 1, 30. In the second alone: 2, 36, 37. In both: 3."""
    found = comparison(wrong_on(0, 1, 3, 30), wrong_on(2, 3, 36, 37))
    cells = [(c.both_right, c.only_first, c.only_second, c.both_wrong) for c in (found.everything, found.alignment)]
    assert cells == [(33, 3, 3, 1), (26, 1, 2, 1)]
    constraint = found.constraint
    assert (constraint.n, constraint.only_first, constraint.only_second, constraint.both_wrong) == (10, 2, 1, 0)
    # Of 3 tuples apart, 1 or fewer on one side: 2 (1 + 3) / 2^3, at most 1.
    assert (found.everything.p_value, found.alignment.p_value, found.constraint.p_value) == (1.0, 1.0, 1.0)
    assert [(one.index, one.right, other.right) for one, other in found.apart] == [
        (0, False, True),
        (1, False, True),
        (2, True, False),
        (30, False, True),
        (36, True, False),
        (37, True, False),
    ]


def test_six_tuples_on_one_side_and_none_on_the_other_are_told_apart(comparison):
    # 2 / 2^6 = 1/32
    assert comparison(wrong_on(), wrong_on(*range(6))).everything.p_value == pytest.approx(1 / 32, abs=1e-15)


@pytest.mark.parametrize(
    ("first", "second"), [({0, 1, 2, 3, 4, 9, 31}, {9, 10}), ({0}, {1}), (set(range(12)), {38}), ({30, 31}, {36, 2})]
)
def test_the_p_values_are_those_of_statsmodels(comparison, first, second):
    """mcnemar(table, exact=True), statsmodels 0.14."""
    found = comparison(wrong_on(*first), wrong_on(*second))
    for cells in (found.everything, found.alignment, found.constraint):
        table = [[cells.both_right, cells.only_first], [cells.only_second, cells.both_wrong]]
        expected = mcnemar(table, exact=True).pvalue if cells.only_first + cells.only_second else None
        assert cells.p_value == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_calibrations_that_err_on_the_same_tuples_are_told_apart_by_nothing(comparison):
    found = comparison(wrong_on(3, 31), wrong_on(3, 31))
    assert (found.everything.p_value, found.everything.changed, found.apart) == (None, 0, ())
    assert (found.false_negatives.change, found.false_positives.change) == (0, 0)
    assert found.false_negatives.interval.low < 0 < found.false_negatives.interval.high


def test_an_answer_that_is_wrong_in_another_way_has_changed_and_tells_nothing_apart(comparison):
    other = predicted(GOLD, lambda item: Alignment.RETRIEVAL_FAILED if item.index == 3 else item.expected)
    found = comparison(wrong_on(3), other)
    assert (found.everything.changed, found.alignment.changed, found.constraint.changed) == (1, 1, 0)
    assert (found.everything.both_wrong, found.apart) == (1, ())


def test_the_changes_are_those_of_the_rates_that_the_reports_have(comparison):
    first, second = wrong_on(0, 1, 30), wrong_on(1, 36, 37)
    found = comparison(first, second)
    for name in ("false_negatives", "false_positives"):
        change = getattr(found, name)
        before, now = (getattr(error_rates(one, level=LEVEL), name) for one in (first, second))
        assert (change.first, change.second, change.n) == (before.estimate, now.estimate, now.n)
        assert change.change == now.estimate - before.estimate
    # FNR over 30 + 6: from 3 to 1 errors; FPR over 30 + 4: from 2 to 3.
    assert found.false_negatives.change == Fraction(-2, 36)
    assert found.false_positives.change == Fraction(1, 34)


def test_the_interval_of_a_change_is_bonett_and_price_s(comparison):
    """Wrong in the first alone: 2 of 36; in the second alone: none. One is added to either, and two to all."""
    found = comparison(wrong_on(0, 1), wrong_on()).false_negatives
    up, down, n = 0 + 1, 2 + 1, 36 + 2
    centre = (up - down) / n
    half = norm.ppf(0.975) * (((up + down) / n - centre**2) / n) ** 0.5
    assert (found.interval.low, found.interval.high) == pytest.approx((centre - half, centre + half), abs=1e-12)


def test_an_answer_without_a_label_is_not_right_and_in_no_rate(comparison):
    found = comparison(wrong_on(0, silent=(5,)), wrong_on(silent=(6, 31)))
    assert (found.everything.only_first, found.everything.only_second, found.everything.changed) == (2, 2, 4)
    # Of the 36 tuples of the FNR 5, 6 and 31 lack a label, of the 34 of the FPR 5 and 6.
    assert (found.false_negatives.n, found.false_negatives.left_out, found.false_negatives.first) == (
        33,
        3,
        Fraction(1, 33),
    )
    assert (found.false_positives.n, found.false_positives.left_out) == (32, 2)


def test_a_rate_that_no_pair_measures_is_none_and_of_one_pair_there_is_no_interval(calibration):
    gold = composed({}, {"VIOLATED": 1, "NOT_VIOLATED": 3})
    one = calibration(wrong_on(gold=gold), gold=gold)
    found = compared(one, one)
    assert (found.false_negatives.n, found.false_negatives.change, found.false_negatives.interval) == (1, 0, None)
    assert (found.alignment.n, found.alignment.p_value) == (0, None)
    silent = calibration(wrong_on(gold=gold, silent=(0,)), gold=gold)
    unmeasured = compared(one, silent).false_negatives
    assert (unmeasured.n, unmeasured.left_out, unmeasured.first, unmeasured.change) == (0, 1, None, None)


def test_the_other_way_round_all_changes_have_the_other_sign(comparison):
    one, other = wrong_on(0, 1, 30, 36), wrong_on(1, 2, 3, 37)
    there, back = comparison(one, other), comparison(other, one)
    for name in ("false_negatives", "false_positives"):
        change, mirrored = getattr(there, name), getattr(back, name)
        assert change.change == -mirrored.change
        assert (change.interval.low, change.interval.high) == pytest.approx(
            (-mirrored.interval.high, -mirrored.interval.low), abs=1e-12
        )
    assert there.everything.p_value == back.everything.p_value
    assert there.everything.only_first == back.everything.only_second


def test_one_judge_is_one_by_its_fingerprints(calibration):
    one, again, other = (calibration(wrong_on(n), judge=judge) for n, judge in ((0, "a"), (1, "a"), (0, "b")))
    assert compared(one, again).same_judge
    assert not compared(one, other).same_judge


def test_the_document_holds_what_was_found_as_plain_values(calibration):
    first, second = calibration(wrong_on(0)), calibration(wrong_on(36, silent=(5,)), judge="b")
    document = json.loads(document_bytes(comparison_document(first, second, compared(first, second))))
    assert document["cells"]["all"] == {
        "n": 40,
        "both_right": 37,
        "only_first": 2,
        "only_second": 1,
        "both_wrong": 0,
        "changed": 3,
        "p_value": 1.0,
    }
    assert document["right_in_one"] == [
        {
            "index": 0,
            "kind": "alignment",
            "expected": "SUPPORTED",
            "first": "AMBIGUOUS",
            "second": "SUPPORTED",
            "right": "second",
        },
        {
            "index": 5,
            "kind": "alignment",
            "expected": "SUPPORTED",
            "first": "SUPPORTED",
            "second": None,
            "right": "first",
        },
        {
            "index": 36,
            "kind": "constraint",
            "expected": "NOT_VIOLATED",
            "first": "NOT_VIOLATED",
            "second": "VIOLATED",
            "right": "first",
        },
    ]
    assert (document["gold"], document["level"], document["same_judge"]) == (GOLD.hash, 0.95, False)
    assert document["second"]["judge"]["fingerprints"]["alignment-v1"] == "b"
    assert set(document["changes"]) == {"FNR", "FPR"}


def test_a_very_small_p_value_is_not_written_as_0(calibration):
    gold = composed({"SUPPORTED": 100}, {"NOT_VIOLATED": 3})
    first, second = (
        calibration(wrong_on(gold=gold), gold=gold),
        calibration(wrong_on(*range(100), gold=gold), gold=gold),
    )
    document = comparison_document(first, second, compared(first, second))
    assert document["cells"]["all"]["p_value"] == pytest.approx(2**-99, rel=1e-9)


def test_calibrations_over_other_gold_sets_are_refused(calibration):
    other = composed({"SUPPORTED": 21, "UNSUPPORTED": 9}, {"VIOLATED": 6, "NOT_VIOLATED": 4}, partial=2)
    with pytest.raises(InputRefused, match=f"found gold set {other.hash[:12]}, expected {GOLD.hash[:12]}"):
        compared(calibration(wrong_on()), calibration(wrong_on(gold=other), gold=other))


def test_a_report_with_other_tuples_than_its_gold_set_has_is_refused(calibration):
    with pytest.raises(InputRefused, match="found other tuples than the first has"):
        compared(calibration(wrong_on()), calibration(wrong_on()[:-1]))


@pytest.fixture
def at_level(calibration, compat):
    """A calibration under a plan with intervals of that level."""

    def at_level(level, first=()):
        intervals = compat.intervals.model_copy(update={"level": level})
        return calibration(first or wrong_on(0), plan=compat.model_copy(update={"intervals": intervals}))

    return at_level


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)])
def test_the_intervals_have_the_level_of_those_of_the_calibrations(at_level, level):
    found = compared(at_level(level), at_level(level, wrong_on()))
    assert found.level == float(level)
    # Wrong in the first alone: 1 of 36; one is added to either side, and two to all.
    up, down, n = 0 + 1, 1 + 1, 36 + 2
    half = norm.ppf((1 + float(level)) / 2) * (((up + down) / n - ((up - down) / n) ** 2) / n) ** 0.5
    interval = found.false_negatives.interval
    assert (interval.high - interval.low) / 2 == pytest.approx(half, abs=1e-12)


def test_calibrations_with_intervals_of_other_levels_are_refused(at_level):
    with pytest.raises(
        InputRefused, match=r"^second: found intervals of level 0\.9, expected 0\.95, that of the first"
    ):
        compared(at_level(Fraction(95, 100)), at_level(Fraction(9, 10)))


def test_the_level_of_the_gate_plays_no_part(calibration, compat):
    gate = compat.gate.model_copy(update={"level": Fraction(9, 10)})
    other = calibration(wrong_on(0), plan=compat.model_copy(update={"gate": gate}))
    assert compared(calibration(wrong_on(0)), other).level == 0.95


def test_a_calibration_without_predictions_is_refused_with_why_it_has_none(calibration):
    with pytest.raises(EvidenceRefused, match=r"was withheld \(judge_down: the server is gone\), so that there is"):
        calibration([], refusal=Refusal(Reason.JUDGE_DOWN, "the server is gone"))


@pytest.mark.parametrize("reason", [Reason.UNDERPOWERED, Reason.UNTRUSTWORTHY])
def test_a_calibration_whose_every_claim_was_withheld_is_refused(calibration, shipped, reason):
    lenient = shipped.model_copy(update={"minimum_tuples": 1})
    plan, silent = (shipped, ()) if reason is Reason.UNDERPOWERED else (lenient, (0,))
    with pytest.raises(EvidenceRefused, match=rf"was withheld \({reason}: "):
        calibration(wrong_on(silent=silent), plan=plan)


def test_a_calibration_of_which_one_claim_was_withheld_can_be_compared(calibration):
    gold = composed({"SUPPORTED": 5}, {"NOT_VIOLATED": 3})  # nothing measures whether the judge takes claims apart
    assert calibration(wrong_on(gold=gold), gold=gold).claims[2].outcome == "skip"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "invalid JSON"),
        ("[]", "should be an object"),
        ("{}", "field 'study': field required"),
        ('{"study": "extraction"}', "field 'study': input should be 'judge-calibration'"),
        ("\x00", "invalid JSON"),
        ("[" * 10_000, "invalid JSON"),
    ],
    ids=["empty", "list", "object", "another study", "no text", "deep"],
)
def test_a_file_that_is_no_report_is_refused(tmp_path, text, said):
    path = tmp_path / "report.json"
    path.write_text(text)
    for given in (path, tmp_path):
        with pytest.raises(EvidenceRefused, match="is no report of a judge's calibration") as refused:
            read_calibration(given)
        assert said in str(refused.value)
        assert str(refused.value).endswith("name the findings folder of one, or its report.json")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"tuples": [{"index": 0, "expected": "MAYBE", "answered": None}]}, "tuples.0.expected"),
        ({"tuples": [{"index": "0", "expected": "VIOLATED", "answered": None}]}, "tuples.0.index"),
        ({"hashes": {"gold": None, "plan": "s"}}, "hashes.gold"),
        ({"claims": []}, "claims"),
        ({"judge": {"kind": "chat"}}, "judge.fingerprints"),
        ({"levels": {"gate": 0.95}}, "levels.intervals"),
        ({"levels": None}, "levels"),
        *(({"levels": {"intervals": level}}, "levels.intervals") for level in (0, 1, 1.5, -0.5, "0.95", None)),
    ],
)
def test_a_report_with_a_field_that_is_none_of_a_calibration_s_is_refused_by_its_name(calibration, changed, field):
    with pytest.raises(EvidenceRefused, match=f"field '{field}"):
        calibration(wrong_on(), **changed)


def test_a_report_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(EvidenceRefused, match=r"none' cannot be read \(No such file or directory\)"):
        read_calibration(tmp_path / "none")
    with pytest.raises(EvidenceRefused, match=r"report\.json' cannot be read"):
        read_calibration(tmp_path)
