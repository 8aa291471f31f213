"""`compare-calibrations`: a few lines on the terminal, the whole as JSON, and refusals in one sentence."""

import json

import pytest

from eval_pipeline.studies.judge_calibration.gold import gold_of
from tests.studies.judge_calibration.made_up import ROOT, composed_rows, gold_file, right_answer

PLANS = ROOT / "data" / "plans"
ROWS = composed_rows({"SUPPORTED": 4, "UNSUPPORTED": 4}, {"VIOLATED": 3, "NOT_VIOLATED": 3}, partial=2)
GOLD = gold_of(ROWS, folder=ROOT)


def wrong_on(*claims):
    """A judge that calls these claims ambiguous, or says that they keep to their rule."""

    def says(_, turn):
        if turn["claim"] in claims:
            return json.dumps({"judgment": "NOT_VIOLATED" if "constraints" in turn else "AMBIGUOUS"})
        return right_answer(GOLD, turn)

    return says


@pytest.fixture
def calibrate(command, endpoint_of, tmp_path, monkeypatch):
    """The findings folder of a judge on a small gold set, measured under a home of its own."""

    def calibrate(name, says, *, rows=ROWS, plan="judge-calibration_compat.toml", **fields):
        gold = gold_file(tmp_path / f"{name}.jsonl", rows)
        given = ["--gold", gold, "--judge", "chat", "--plan", PLANS / plan, "--out", tmp_path / name]
        with monkeypatch.context() as patch:
            patch.setenv("EVAL_PIPELINE_HOME", str(tmp_path / f"home of {name}"))
            command("run", "judge-calibration", *given, **{"base_url": endpoint_of(says).url} | fields)
        return tmp_path / name

    return calibrate


@pytest.fixture
def url(endpoint_of):
    """The address of one endpoint that is somebody else each time it is asked to be."""
    endpoint = endpoint_of(wrong_on())

    def at(says):
        endpoint.says = says
        return endpoint.url

    return at


def test_two_judges_are_compared_in_a_few_lines(command, calibrate):
    first = calibrate("first", wrong_on("SUPPORTED 0", "VIOLATED 1"))
    second = calibrate("second", wrong_on("SUPPORTED 1", "SUPPORTED 2", "SUPPORTED 0"), model="n")
    said = command("compare-calibrations", first, second)
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("first: chat (alignment-v1 ")
    assert lines[3] == "two judges, or one that was changed: their fingerprints differ"
    assert lines[4:7] == [
        f"{cells}; exact McNemar p = {p_value}"
        for cells, p_value in (
            ("all 14: right in both 10, in the first alone 2, in the second alone 1, in neither 1", 1),
            ("alignment 8: right in both 5, in the first alone 2, in the second alone 0, in neither 1", 0.5),
            ("constraint 6: right in both 5, in the first alone 0, in the second alone 1, in neither 0", 1),
        )
    ]
    # FNR over 8 + 3: from 2 to 3 errors.
    assert lines[7].startswith("FNR 0.1818 in the first, 0.2727 in the second, on 11 tuples: +0.0909, 95% interval -")
    assert lines[9:] == [
        "3 of 14 tuples have another answer in the second",
        "right in the first alone: 1, 2",
        "right in the second alone: 9",
    ]


def test_one_judge_at_two_times_has_drifted(command, calibrate, url, tmp_path):
    march = calibrate("march", None, base_url=url(wrong_on("SUPPORTED 0")))
    april = calibrate("april", None, base_url=url(wrong_on("SUPPORTED 0", "SUPPORTED 1", "NOT_VIOLATED 2")))
    said = command("compare-calibrations", march / "report.json", april, "--out", tmp_path / "new" / "drift.json")
    assert said.status == 0
    assert "one judge, twice: what it still knew of the first time" in said.out
    assert said.out.splitlines()[-1] == f"comparison: {tmp_path / 'new' / 'drift.json'}"
    drift = json.loads((tmp_path / "new" / "drift.json").read_text())
    assert drift["same_judge"] is True
    assert drift["cells"]["all"]["only_first"] == 1
    assert [one["index"] for one in drift["right_in_one"]] == [1]
    assert (drift["changes"]["FNR"]["change"], drift["changes"]["FPR"]["n"]) == (round(1 / 11, 10), 11)


@pytest.fixture
def at_level(tmp_path):
    """A plan whose intervals have that level."""

    def at_level(level):
        compat = (PLANS / "judge-calibration_compat.toml").read_text()
        head, intervals = compat.split("[intervals]")
        path = tmp_path / f"{level}.toml"
        path.write_text(f"{head}[intervals]{intervals.replace('0.95', level)}")
        return path

    return at_level


def test_another_level_gives_wider_intervals_and_is_said(command, calibrate, at_level, tmp_path):
    widths = []
    for level, shown in (("0.9", "90%"), ("0.975", "97.5%")):
        one = calibrate(level, wrong_on("SUPPORTED 0"), plan=at_level(level))
        said = command("compare-calibrations", one, one, "--out", tmp_path / "c.json")
        assert f"{shown} interval" in said.out
        found = json.loads((tmp_path / "c.json").read_text())
        assert found["level"] == float(level)
        widths.append(found["changes"]["FNR"]["interval"][1])
    assert widths[0] < widths[1]


def test_the_same_two_give_the_same_bytes(command, calibrate, tmp_path):
    one, other = calibrate("one", wrong_on("SUPPORTED 0")), calibrate("other", wrong_on("VIOLATED 0"), model="n")
    for name in ("a.json", "b.json"):
        command("compare-calibrations", one, other, "--out", tmp_path / name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.fixture
def refused(command, tmp_path):
    """The one sentence that is said of two that cannot be compared; no comparison is written."""

    def refused(*arguments):
        said = command("compare-calibrations", *arguments, "--out", tmp_path / "c.json")
        assert (said.status, said.out, said.err.count("\n")) == (1, "", 1)
        assert not (tmp_path / "c.json").exists()
        return said.err

    return refused


def test_another_gold_set_is_refused(refused, calibrate):
    another = [*ROWS[:-1], ROWS[-1] | {"claim_text": "The claim of another set."}]
    one, other = calibrate("one", wrong_on()), calibrate("other", wrong_on(), rows=another)
    assert "second: found gold set " in refused(one, other)


def test_a_calibration_that_was_withheld_is_refused_whichever_it_is(refused, calibrate):
    one = calibrate("one", wrong_on())
    withheld = calibrate("withheld", wrong_on(), base_url="http://127.0.0.1:9")
    thin = calibrate("thin", wrong_on(), plan="judge-calibration.toml")
    assert "was withheld (judge_down: " in refused(one, withheld)
    assert "was withheld (judge_down: " in refused(withheld, one)
    assert "was withheld (underpowered: 14 tuples were judged and the plan asks for 100" in refused(one, thin)


def test_what_is_no_report_is_refused(refused, calibrate, tmp_path):
    one = calibrate("one", wrong_on())
    assert "is no report of a judge's calibration (invalid JSON" in refused(one, one / "report.html")
    assert "cannot be read (No such file or directory)" in refused(tmp_path / "none", one)
    assert "report.json' cannot be read" in refused(one, tmp_path)


def test_intervals_of_two_levels_are_refused_and_can_be_had_at_one_without_asking(
    command, refused, calibrate, at_level, url, tmp_path
):
    one = calibrate("one", None, base_url=url(wrong_on()))
    other = calibrate("other", None, base_url=url(wrong_on()), plan=at_level("0.9"))
    assert "second: found intervals of level 0.9, expected 0.95, that of the first; run one again" in refused(
        one, other
    )
    calibrate("other", None, base_url=url(lambda *_: 401))
    assert command("compare-calibrations", one, other).status == 0


def test_a_place_that_cannot_be_written_is_refused(command, calibrate, tmp_path):
    one = calibrate("one", wrong_on())
    said = command("compare-calibrations", one, one, "--out", one)
    assert (said.status, said.out) == (1, "")
    assert "cannot be written" in said.err
