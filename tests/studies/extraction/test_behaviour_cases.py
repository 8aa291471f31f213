"""The cases of the first version of this evaluation, each through the study's own functions.

A case of kind `seed` runs under the compatibility plan, one of kind `superset` under the shipped one.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.corpus.snapshot import unread
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.records import NoLabel, Reason
from eval_pipeline.stats.bootstrap import percentile_rank
from eval_pipeline.stats.correction import rogan_gladen
from eval_pipeline.studies.extraction.fixture import pinned_fixture
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.recall import recall_findings
from eval_pipeline.studies.extraction.spans import span_status
from eval_pipeline.studies.extraction.uniformity import uniformity_findings
from eval_pipeline.studies.extraction.verdict import verdicts

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[2] / "reference" / "extraction_cases.json").read_text())
}
WORDS_OF_THE_FIRST_VERSION = {"db_unreachable": "corpus_unreachable"}


@dataclass(frozen=True)
class Bench:
    """What a case is run with; the fields are the fixtures of the same names."""

    compat: ExtractionPlan
    shipped: ExtractionPlan
    amended: Callable[..., ExtractionPlan]
    note: Callable[..., Any]
    counted: Callable[..., Any]
    spanned: Callable[..., Any]
    world_of: Callable[..., Any]
    scripted: Callable[..., Any]
    run_study: Callable[..., Any]
    quartile_table: Callable[..., Any]
    folder: Path

    def compat_for(self, entries: int, **changes: Any) -> ExtractionPlan:
        """The compatibility plan without its cap of five entries."""
        return self.amended(self.compat, budget={"entries": entries}, **changes)

    def four_notes(self) -> Any:
        """The world of most cases: four entries, two of them long, with a proposition at either end of each."""
        return self.world_of(
            self.counted(f"e{k:03d}", (1, 0, 0, 1), (1, 0, 0, 1), words=1000 if k < 2 else 10) for k in range(4)
        )

    def fixture_of(self, rows: list[tuple[str, int]]) -> Any:
        """The fixture of a file of entry ids and quartiles."""
        path = self.folder / "propositions.jsonl"
        lines = [
            json.dumps({"entry_id": entry_id, "quartile": quartile, "proposition": f"claim {place}"})
            for place, (entry_id, quartile) in enumerate(rows)
        ]
        path.write_text("\n".join(lines) + "\n")
        return pinned_fixture(path)


@pytest.fixture
def bench(
    compat, shipped, amended, note, counted, spanned, world_of, scripted, run_study, quartile_table, tmp_path
) -> Bench:
    return Bench(
        compat, shipped, amended, note, counted, spanned, world_of, scripted, run_study, quartile_table, tmp_path
    )


CHECKS: dict[str, Callable[[Bench, dict[str, Any], dict[str, Any], float], None]] = {}


def checks(*ids):
    """Files a function as what exercises these cases: it takes the bench, the input, what is expected, how closely."""

    def file(check):
        CHECKS.update(dict.fromkeys(ids, check))
        return check

    return file


def test_every_case_is_exercised():
    assert set(CHECKS) == set(CASES)
    assert len(CASES) == 37


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_a_case_comes_out_as_it_was_recorded(bench, case_id):
    case = CASES[case_id]
    CHECKS[case_id](bench, case["input"], case["expected"], case["tolerance"])


def as_the_first_version_said(study):
    """Outcomes of recall and uniformity, and their common reason, where there is one."""
    return study.recall.outcome.value.upper(), study.uniformity.outcome.value.upper()


def assert_verdicts(study, expected):
    """The outcomes are those of the case, and so is the reason of recall."""
    assert as_the_first_version_said(study) == (expected["recall"], expected["uniformity"])
    reason = expected.get("reason")
    assert study.recall.reason == (WORDS_OF_THE_FIRST_VERSION.get(reason, reason))


@checks("cr20-001", "cr20-002", "cr20-003", "cr20-004")
def nothing_to_judge_with(bench, given, expected, tolerance):
    world = bench.four_notes()
    if given["fixture"] == "":
        (bench.folder / "empty.jsonl").write_text("")
        world = replace(world, fixture=pinned_fixture(bench.folder / "empty.jsonl"))
    else:
        assert given["fixture"]["entries"] == len(world.snapshot.entries)
    if given["entries_with_signals"] is None:
        world = replace(world, snapshot=unread(Reason.CORPUS_UNREACHABLE, "down", source="x"))
    elif given["entries_with_signals"] == 0:
        world = replace(world, snapshot=replace(world.snapshot, signals=()))
    else:
        assert len(world.snapshot.signals_by_entry) == given["entries_with_signals"]
    judge = bench.scripted(world.says, live=given["judge_live"])
    study = bench.run_study(world, bench.compat, judge)
    assert_verdicts(study, expected)
    assert judge.asked == []


@checks("cr20-005", "cr20-006", "cr20-008")
def rows_of_a_fixture(bench, given, expected, tolerance):
    world = replace(bench.four_notes(), fixture=bench.fixture_of(given["fixture_rows"]))
    assert len(world.snapshot.signals_by_entry) == given["entries_with_signals"]
    assert_verdicts(bench.run_study(world, bench.compat), expected)


@checks("cr20-009", "cr20-010")
def drift(bench, given, expected, tolerance):
    notes = [
        bench.counted(f"e{k:03d}", totals=(1, 0, 0, 0), absent=k >= given["present"])
        for k in range(given["fixture_entries"])
    ]
    study = bench.run_study(bench.world_of(notes), bench.compat)
    if "drift" in expected:
        assert (study.recall.reason is Reason.FIXTURE_DRIFT) is expected["drift"]
    else:
        assert_verdicts(study, expected)


@checks("cr20-013")
def every_call_fails(bench, given, expected, tolerance):
    judge = bench.scripted(lambda question: NoLabel.FAILED)
    study = bench.run_study(bench.four_notes(), bench.compat, judge)
    assert len(judge.asked) == expected["calls"]
    assert [row["no_label"] for row in study.judged.rows] == ["failed"] * expected["errors"]
    assert_verdicts(study, expected)


@checks("cr20-014")
def error_budget(bench, given, expected, tolerance):
    """Each proposition costs one call, a screen that says no or that fails; two entries hold them all."""

    def untrustworthy(calls, errors):
        totals = [(calls + 1) // 2, calls // 2]
        world = bench.world_of(bench.counted(f"e{k}", (0,) * 4, (total, 0, 0, 0)) for k, total in enumerate(totals))
        failing = {proposition.text for proposition in world.fixture.propositions[:errors]}
        judge = bench.scripted(lambda q: NoLabel.FAILED if q.hypothesis in failing else "NOT_SUPPORTED")
        study = bench.run_study(world, bench.compat, judge)
        assert len(judge.asked) == calls
        return study.recall.reason is Reason.UNTRUSTWORTHY

    assert [untrustworthy(*pair) for pair in given["pairs"]] == expected["untrustworthy"]


@checks("cr20-016")
def advisory_only(bench, given, expected, tolerance):
    study = bench.run_study(bench.four_notes(), bench.compat)
    assert_verdicts(study, expected)
    assert study.recall.estimate == expected["measured_recall"]
    assert study.uniformity.interval.high == expected["measured_bound"]
    assert (study.recall.advisory, study.uniformity.advisory) == (True, True)
    assert (len(study.judge.asked), len(study.judged.rows)) == (expected["calls"], expected["judgments"])


@checks("cr20-017", "cr20-018")
def half_of_91(bench, given, expected, tolerance):
    """The shipped plan asks for workspaces and bands besides, which these entries have."""
    notes = [
        bench.counted(
            f"e{k:03d}", words=1000 if k < given["dense"] else 10, workspace=f"w{k % 3}", band=f"b{k // 3 % 2}"
        )
        for k in range(given["entries"])
    ]
    plan = bench.shipped if "reason" in expected else bench.compat_for(given["entries"])
    study = bench.run_study(bench.world_of(notes), plan)
    assert study.evidence.recall.judged_entries == given["judged_entries"]
    assert study.recall.estimate == given["recall"]
    assert study.uniformity.interval.high == given["bound"]
    assert_verdicts(study, expected)
    if "reason" in expected:
        assert study.recall.detail.startswith("45 of 91 entries have 1000 words or more")
        assert study.recall.detail.count("; ") == 1


@checks("cr20-020")
def composition_only(bench, given, expected, tolerance):
    world = bench.world_of(
        [bench.note("e", dict.fromkeys(given["entry_signals"], ()), [(1, "A and B")])], [("e", "A and B")]
    )
    study = bench.run_study(world, bench.compat)
    assert [row["label"] for row in study.judged.rows] == [given["screen"], *given["per_signal"]]
    assert (study.fate_of, expected["verdict"]) == ({"A and B": "missed"}, "MISS")
    assert study.evidence.recall.composition_only == 1


@checks("cr20-021")
def screen_says_no(bench, given, expected, tolerance):
    signals = {f"signal {k}": () for k in range(given["signals"])}
    study = bench.run_study(bench.world_of([bench.note("e", signals, [(1, "x")])]), bench.compat)
    assert [row["label"] for row in study.judged.rows] == [given["screen"]]
    assert (study.fate_of, expected["verdict"]) == ({"x": "missed"}, "MISS")
    assert len(study.judge.asked) == expected["calls"]


@checks("cr20-023")
def no_signals(bench, given, expected, tolerance):
    texts = [(1, f"claim {k}") for k in range(given["propositions"])]
    study = bench.run_study(bench.world_of([bench.note("e", {}, texts)]), bench.compat)
    assert list(study.fate_of.values()) == ["missed" for verdict in expected["verdicts"] if verdict == "MISS"]
    assert (len(study.judge.asked), len(study.judged.rows)) == (expected["calls"], expected["judgments"])
    assert {row["premise_sha256"] for row in study.judged.rows} == {expected["premise_sha256"]}
    assert {row["kind"] for row in study.judged.rows} == {"recall_no_signals"}


@checks("cr20-024", "cr20-025")
def one_signal_each(bench, given, expected, tolerance):
    signals = {f"signal {k}": [f"claim {k}"] for k in range(given["signals"])}
    world = bench.world_of([bench.note("e", signals, [(1, f"claim {k}") for k in range(given["signals"])])])
    plan = bench.compat if given["cap"] else bench.shipped
    assert plan.judging.signals_at_most == (given["cap"] or "all")
    study = bench.run_study(world, plan)
    assert float(study.evidence.recall.pooled.estimate) == expected["recall"]
    if "calls" in expected:
        assert len(study.judge.asked) == expected["calls"]


@checks("cr20-027", "cr20-028")
def one_signal_unread(bench, given, expected, tolerance):
    world = bench.world_of([bench.counted("e", (9, 0, 0, 0), (given["propositions"], 0, 0, 0))])

    def says(question):
        fails = question.hypothesis == "e tells 1.4" and not isinstance(question.premise, tuple)
        return NoLabel.FAILED if fails else world.says(question)

    plan = bench.compat if "seed_recall" in expected else bench.shipped
    study = bench.run_study(world, plan, bench.scripted(says))
    recall = study.evidence.recall
    assert recall.pooled.hits == given["supported"]
    assert sum(row["no_label"] is not None for row in study.judged.rows) == given["per_signal_error_only"]
    if "seed_recall" in expected:
        assert float(recall.pooled.estimate) == pytest.approx(expected["seed_recall"], abs=tolerance)
    else:
        assert float(recall.worst_case.low) == pytest.approx(expected["recall_low"], abs=tolerance)
        assert float(recall.worst_case.high) == pytest.approx(expected["recall_high"], abs=tolerance)
        assert recall.pooled.undecided == expected["undetermined"]


@checks("cr20-029", "cr20-030")
def an_entry_of_which_nothing_was_judged(bench, given, expected, tolerance):
    """Rows are q1 hits, q1 total, q4 hits, q4 total; the row of zeros is an entry whose answers all failed."""
    silent = {f"e{k}" for k, row in enumerate(given["rows"]) if not any(row)}
    world = bench.world_of(bench.counted(f"e{k}", (1, 0, 0, 1), (1, 0, 0, 1)) for k in range(len(given["rows"])))
    judge = bench.scripted(lambda q: NoLabel.FAILED if q.entry_id in silent else world.says(q))
    seed = "valid_resamples_about" in expected
    found = bench.run_study(world, bench.compat if seed else bench.shipped, judge).evidence
    assert found.uniformity.rows == found.recall.judged_entries == expected["rows_in_table"]
    if seed:
        assert found.uniformity.valid == pytest.approx(expected["valid_resamples_about"], abs=tolerance)
    else:
        assert found.uniformity.valid == expected["valid_resamples"]


@checks("cr20-031")
def answers(bench, given, expected, tolerance):
    read = prompt_named(bench.compat.judging.prompt).read
    labels = [read(answer) for answer in given["answers"]]
    assert [label.value if label else "ERROR" for label in labels] == expected["verdicts"]


@checks("cr20-034")
def rank_of_the_bound(bench, given, expected, tolerance):
    rule = bench.compat.bootstrap
    ranks = [percentile_rank(valid, rule.one_sided_level, rule.ranks) for valid in given["valid"]]
    assert ranks == expected["one_based_index"]


@checks("cr20-036")
def fewest_valid_resamples(bench, given, expected, tolerance):
    """Quartile 1 stands in one of two entries and quartile 4 in the other: a resample is valid half of the time.

    Seeds are tried until one gives each number of valid resamples.
    """
    table = bench.quartile_table([((1, 0, 0, 0), (1, 0, 0, 0)), ((0, 0, 0, 1), (0, 0, 0, 1))])
    found = {}
    for seed in range(1000):
        findings = uniformity_findings(table, bench.compat.model_copy(update={"seed": seed}))
        found[findings.valid] = findings.bound is not None
        if found.keys() >= set(given["valid"]):
            break
    assert [found[valid] for valid in given["valid"]] == expected["bound_available"]


def repeated(bench, entries, *, lost=0, hits=(1, 0, 0, 1), totals=(1, 0, 0, 1)):
    """So many entries, half of them long; the last proposition of the first `lost` is lost."""
    return bench.world_of(
        bench.counted(f"e{k:03d}", (*hits[:3], 0) if k < lost else hits, totals, words=1000 if 2 * k < entries else 10)
        for k in range(entries)
    )


@checks("cr20-037")
def constant_rows(bench, given, expected, tolerance):
    assert given["rows"] == "90 x [2,2,1,2]"
    found = bench.run_study(
        repeated(bench, 90, hits=(2, 0, 0, 1), totals=(2, 0, 0, 2)), bench.compat_for(90)
    ).evidence.uniformity
    assert float(found.bound.interval.high) == pytest.approx(expected["bound"], abs=tolerance)
    assert found.valid == expected["valid"]


@checks("cr20-039", "cr20-041")
def last_quartile_lost_in_some(bench, given, expected, tolerance):
    rows = {"72 x [1,1,1,1], 18 x [1,1,0,1]": (90, 18), "196 x [1,1,1,1], 4 x [1,1,0,1]": (200, 4)}
    entries, lost = rows[given["rows"]]
    study = bench.run_study(repeated(bench, entries, lost=lost), bench.compat_for(entries))
    assert float(study.uniformity.interval.high) == pytest.approx(expected["bound"], abs=tolerance)
    assert study.uniformity.outcome.value.upper() == expected["uniformity_verdict"]
    if "recall" in expected:
        assert study.recall.estimate == Fraction(str(expected["recall"]))
        assert study.recall.outcome.value.upper() == expected["recall_verdict"]


@checks("cr20-043")
def absent_entries_as_misses(bench, given, expected, tolerance):
    present = [
        bench.counted(f"e{k:03d}", (1, 0, 0, 1), (1, 0, 0, 1), words=1000 if 2 * k < 100 else 10)
        for k in range(given["present"])
    ]
    gone = [bench.counted(f"gone{k}", totals=(1, 0, 0, 0), absent=True) for k in range(given["absent"])]
    study = bench.run_study(bench.world_of([*present, *gone]), bench.compat_for(100))
    assert float(study.recall.estimate) == pytest.approx(expected["recall"], abs=tolerance)
    assert float(study.uniformity.interval.high) == pytest.approx(expected["bound"], abs=tolerance)
    assert as_the_first_version_said(study) == ("PASS", "PASS")


@checks("cr20-045")
def rounding_before_comparing(bench, given, expected, tolerance):
    """The counts are put in the place of those of a study of 100 whole entries, which nothing stands in the way of."""
    rows = [((50, 50, 50, 50), (63, 62, 62, 63))] * 99 + [((50, 50, 50, 49), (63, 62, 62, 63))]
    table = bench.quartile_table(rows, words=1000)
    plans = {"seed": bench.compat_for(100), "superset": bench.amended(bench.shipped, design={"bands": 1})}
    for name, plan in plans.items():
        study = bench.run_study(repeated(bench, 100), plan)
        recall = recall_findings(study.frame, table, study.judged.to_table(), plan)
        assert (recall.pooled.hits, recall.pooled.judged) == (given["hits"], given["judged"])
        assert recall.pooled.estimate == Fraction(str(expected["exact"]))
        verdict, *_ = verdicts(replace(study.evidence, recall=recall), plan)
        assert verdict.outcome.value.upper() == expected[name]


@checks("cr20-047", "cr20-048", "cr20-049")
def guard(bench, given, expected, tolerance):
    blank, supported = given.get("blank_premises", 0), given["supported"]
    note = bench.spanned("s", spans=given.get("sample", given.get("judged")), supported=supported, blank=blank)
    study = bench.run_study(bench.world_of([note]), bench.compat)
    assert study.guard.outcome.value.upper() == expected["verdict"]
    assert study.guard.numerator == supported
    if "reason" in expected:
        assert (study.guard.reason, study.guard.denominator) == (expected["reason"], expected["judged"])
    else:
        assert study.guard.estimate == Fraction(str(expected["precision"]))


@checks("cr20-054")
def validation(bench, given, expected, tolerance):
    """Whatever was accepted then is refused here before the judge is so much as probed."""
    assert expected["result"] == "rejected before any query"
    hostile = bench.fixture_of([("bad'; x", 1)] + [("e000", 1)] * 899)
    path = bench.folder / "broken.jsonl"
    path.write_text('{"entry_id": "e000", "quartile": 1, "proposition": "x"}\n{"entry_id": \n')
    many = bench.fixture_of([("bad'; x", 1)] + [("e000", 1)] * 20_000)
    for fixture in (hostile, pinned_fixture(path), many):
        world = replace(bench.four_notes(), fixture=fixture)
        judge = bench.scripted(world.says)
        study = bench.run_study(world, bench.shipped, judge)
        assert (study.recall.outcome, study.recall.reason) == ("fail", Reason.FIXTURE_MALFORMED)
        assert (judge.asked, judge.probes, fixture.propositions) == ([], 0, ())


@checks("cr20-052")
def correction(bench, given, expected, tolerance):
    corrected = rogan_gladen(
        given["observed"], sensitivity=given["sensitivity"], specificity=given["specificity"]
    ).share
    assert float(corrected) == pytest.approx(expected["corrected"], abs=tolerance)


@checks("cr20-055")
def span_facts(bench, given, expected, tolerance):
    states = [span_status(rows, bool(writes)).value for rows, writes in given["cases"]]
    assert states == expected["guard_state"]
