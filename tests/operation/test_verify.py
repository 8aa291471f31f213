"""How a number came about, shown months later: a run verifies, and whatever was touched since is named."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from eval_pipeline.errors import Refused
from eval_pipeline.evidence import read_table, table_bytes
from eval_pipeline.ledger import _FIRST, Kind, Line, _hash, read_ledger, write_beginning
from eval_pipeline.provenance import PROVENANCE
from eval_pipeline.report.page import drawn_by
from tests.operation.conftest import Run

Touch = Callable[[Run], None]


def test_a_run_verifies_from_what_it_left_and_says_what_it_took_as_recorded(extraction: Run) -> None:
    found = extraction.verify()
    assert found.taken == (
        "sealed_plan", "corpus", "proposition_fixture", "gold_set", "human_check", "persist_code",
        "annotator_agreement",
    )  # fmt: skip
    assert {"nli_judgments", "entry_quartiles", "uniformity_bound", "extraction_verdict"} <= set(found.made)
    assert set(found.files) == {
        "verdict.json", "report.html", "report.md", "judgments.jsonl", "entry_quartiles.parquet",
    }  # fmt: skip
    assert (found.lines, found.other_versions) == ((1,), {})


def test_a_closed_loop_verifies_though_its_held_out_data_were_used(loop: Run) -> None:
    found = loop.verify()
    assert found.taken == ("retry_limit_plan", "retry_limit_observations", "retry_limit_partition")
    assert "retry_limit_held_out" in found.made


def edited(path: Path, change: Callable[[bytes], bytes]) -> None:
    data = path.read_bytes()
    changed = change(data)
    assert changed != data, f"{path} holds nothing to change"
    path.write_bytes(changed)


def of_findings(name: str, was: str, is_now: str) -> Touch:
    """A text of a file of the findings, in its first place, is another."""
    return lambda run: edited(run.out / name, lambda data: data.replace(was.encode(), is_now.encode(), 1))


def byte_of(find: Callable[[Run], Path], at: float) -> Touch:
    """One bit of a file is turned, at a share of its length."""

    def touch(run: Run) -> None:
        def flipped(data: bytes) -> bytes:
            place = int(at * (len(data) - 1))
            return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]

        edited(find(run), flipped)

    return touch


def provenance_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.out / PROVENANCE).read_bytes())
    return found


def evidence(name: str) -> Callable[[Run], Path]:
    """The file of an asset's evidence."""
    return lambda run: run.home / "evidence" / name / provenance_of(run)["evidence"][name]


def in_provenance(change: Callable[[dict[str, Any]], object]) -> Touch:
    def touch(run: Run) -> None:
        found = provenance_of(run)
        change(found)
        (run.out / PROVENANCE).write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")

    return touch


def forged(name: str, change: Callable[[bytes], bytes]) -> Touch:
    """Evidence is changed, and everything that names its hash along with it."""

    def touch(run: Run) -> None:
        path = evidence(name)(run)
        data = change(path.read_bytes())
        assert data != path.read_bytes(), f"{name} holds nothing to change"
        file = f"{hashlib.sha256(data).hexdigest()}{path.suffix}"
        path.with_name(file).write_bytes(data)
        in_provenance(lambda found: found["evidence"].update({name: file}))(run)

    return touch


def cell(column: str, row: int, value: Any) -> Callable[[bytes], bytes]:
    """A table with another value in one place."""

    def change(data: bytes) -> bytes:
        table = read_table(data)
        values = table[column].to_pylist()
        values[row] = value
        at = table.column_names.index(column)
        return table_bytes(table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type)))

    return change


def text(was: str, is_now: str) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(was.encode(), is_now.encode(), 1)


def pattern(was: str, is_now: str) -> Callable[[bytes], bytes]:
    return lambda data: re.sub(was.encode(), is_now.encode(), data, count=1)


def relinked(change: Callable[[list[Line]], list[Line]]) -> Touch:
    """The ledger is written anew with other lines, its chain and its head made to hold."""

    def touch(run: Run) -> None:
        ledger = run.home / "ledger.jsonl"
        lines = change(list(read_ledger(ledger)))
        for old in run.home.glob("ledger.jsonl*"):
            old.unlink()
        write_beginning(ledger, chained(lines))

    return touch


def chained(lines: list[Line]) -> tuple[Line, ...]:
    made: list[Line] = []
    for number, line in enumerate(lines, 1):
        bare = Line(number, line.kind, line.at, line.body, made[-1].hash if made else _FIRST, "")
        made.append(Line(number, line.kind, line.at, line.body, bare.previous, _hash(bare)))
    return tuple(made)


def without(kind: Kind) -> Callable[[list[Line]], list[Line]]:
    return lambda lines: [line for line in lines if line.kind is not kind]


def with_a_claim(**otherwise: Any) -> Callable[[list[Line]], list[Line]]:
    """The verdicts of the ledger say something else of their first claim, under the hash of the same verdict."""

    def change(lines: list[Line]) -> list[Line]:
        return [
            Line(line.number, line.kind, line.at, _of_first_claim(line.body, otherwise), "", "")
            if line.kind is Kind.VERDICT
            else line
            for line in lines
        ]

    return change


def _of_first_claim(body: Mapping[str, Any], otherwise: Mapping[str, Any]) -> dict[str, Any]:
    first, *others = body["claims"]
    return {**body, "claims": [first | otherwise, *others]}


def cut_ledger(run: Run) -> None:
    ledger = run.home / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))


OF_EXTRACTION: dict[str, tuple[Touch, str]] = {
    "a number of the verdict": (
        of_findings("verdict.json", '"numerator": 12', '"numerator": 11'),
        r"verdict\.json' is not what the run gives: /claims/0/numerator: found 11, expected 12",
    ),
    "a byte of the verdict": (
        byte_of(lambda run: run.out / "verdict.json", 0.5),
        r"verdict\.json' is not what the run gives: ",
    ),
    "a byte of the report": (
        byte_of(lambda run: run.out / "report.html", 0.7),
        r"report\.html' is not what the run gives: line \d+, byte \d+: found",
    ),
    "a byte of the summary": (
        byte_of(lambda run: run.out / "report.md", 0.3),
        r"report\.md' is not what the run gives: line \d+",
    ),
    "a label of the journal": (
        of_findings("judgments.jsonl", '"label": "SUPPORTED"', '"label": "NOT_SUPPORTED"'),
        r"judgments\.jsonl' is not what the run gives: line \d+, /label: found 'NOT_SUPPORTED', expected 'SUPPORTED'",
    ),
    "an answer of the journal": (
        of_findings("judgments.jsonl", '"raw": "SUPPORTED"', '"raw": "NOT_SUPPORTED"'),
        r"judgments\.jsonl' is not what the run gives: line \d+, /raw",
    ),
    "a byte of the quartiles": (
        byte_of(lambda run: run.out / "entry_quartiles.parquet", 0.2),
        r"entry_quartiles\.parquet' is not what the run gives: ",
    ),
    "a finding that is gone": (lambda run: (run.out / "report.md").unlink(), r"report\.md' is not there"),
    "a byte of the snapshot": (byte_of(evidence("corpus"), 0.4), r"evidence of corpus: '.*' is not what was written"),
    "a byte of the fixture": (
        byte_of(evidence("proposition_fixture"), 0.4),
        r"evidence of proposition_fixture: '.*' is not what was written",
    ),
    "a byte of the plan": (
        byte_of(evidence("sealed_plan"), 0.5),
        r"evidence of sealed_plan: '.*' is not what was written",
    ),
    "evidence that is gone": (lambda run: evidence("frame")(run).unlink(), r"evidence of frame: '.*' is not there"),
    "a forged plan": (
        forged("sealed_plan", pattern(r'"recall_at_least": "[^"]+"', '"recall_at_least": "1/10"')),
        r"was sealed as \w{12} but now hashes to \w{12}",
    ),
    "a forged text of the snapshot": (
        forged("corpus", cell("content", 0, "Crew 9 replaced nothing.")),
        r"extraction_verdict, /hashes/corpus: found \w+, and what is recorded as given has",
    ),
    "a forged proposition": (
        forged("proposition_fixture", cell("text", 2, "Nothing was replaced.")),
        r"extraction_verdict, /hashes/fixture",
    ),
    "a forged label": (
        forged("nli_judgments", cell("label", 5, "NOT_SUPPORTED")),
        r"nli_judgments is not what its inputs give: row 6, column label: found 'NOT_SUPPORTED', expected 'SUPPORTED'",
    ),
    "a forged count": (
        forged("entry_quartiles", cell("hits", 1, 0)),
        r"entry_quartiles is not what its inputs give: row 2, column hits: found 0, expected 1",
    ),
    "a forged estimate": (
        forged("recall_estimate", pattern(r'"estimate": "?[^",]+"?', '"estimate": "9/10"')),
        r"recall_estimate is not what its inputs give: /",
    ),
    "a forged verdict": (
        forged("extraction_verdict", text('"outcome": "skip"', '"outcome": "pass"')),
        r"extraction_verdict is not what its inputs give: /claims/\d/outcome: found 'pass', expected 'skip'",
    ),
    "a provenance without an asset": (
        in_provenance(lambda found: found["evidence"].pop("frame")),
        r"provenance\.json, /evidence: found nothing of 'frame'",
    ),
    "a provenance of another study": (
        in_provenance(lambda found: found.update(study="recall")),
        r"provenance\.json, /study: found 'recall', expected one of extraction,",
    ),
    "a provenance with another hash": (
        in_provenance(lambda found: found["files"].update({"report.md": "0" * 64})),
        r"provenance\.json, /files/report\.md: found 0{64}, expected",
    ),
    "a provenance that leads elsewhere": (
        in_provenance(lambda found: found["evidence"].update({"../corpus": "0" * 64 + ".json"})),
        r"is no provenance: evidence/\.\./corpus",
    ),
    "a provenance that is cut": (
        lambda run: edited(run.out / PROVENANCE, lambda data: data[:-20]),
        r"provenance\.json' is no provenance",
    ),
    "a provenance with a space": (
        lambda run: edited(run.out / PROVENANCE, lambda data: data + b" "),
        r"provenance\.json' is not as it was written: ",
    ),
    "a line of the ledger": (
        lambda run: edited(run.home / "ledger.jsonl", text('"outcome":"skip"', '"outcome":"pass"')),
        r"ledger '.*', line 1: found a line that does not follow",
    ),
    "a ledger that is cut": (cut_ledger, r"ledger '.*' has 0 lines and had 1; lines were removed at its end"),
    "a ledger that was written anew without the verdict": (
        relinked(without(Kind.VERDICT)),
        r"ledger '.*' holds no line of extraction_verdict with the hash \w{12}",
    ),
    "a ledger that was written anew with another outcome": (
        relinked(with_a_claim(outcome="pass", reason=None)),
        r"line 1, says something else than extraction_verdict: /claims/0/outcome: found 'pass', expected 'skip'",
    ),
}
OF_LOOP: dict[str, tuple[Touch, str]] = {
    "a lock": (
        lambda run: edited(
            next(run.home.glob("locks/*.lock.json")), pattern(r'"partition_size": \d+', '"partition_size": 9')
        ),
        r"retry_limit cannot be made anew: \d+ ids hash to \w{12}, and 9 were sealed",
    ),
    "the list of what was seen": (
        lambda run: edited(next(run.home.glob("locks/*.units.json")), lambda data: data.replace(b'"', b'"x', 1)),
        r"is not the list of units that generation",
    ),
    "a held-out unit that was calibrated on": (
        forged("retry_limit_partition", pattern(r'"held_out":\s*\[\s*"[^"]+",', '"held_out": [')),
        r"retry_limit cannot be made anew: ",
    ),
    "an observation": (
        forged("retry_limit_observations", text('"prior_violations_count": 0', '"prior_violations_count": 1')),
        r"retry_limit_verdict, /hashes/observations",
    ),
    "a ledger without the use": (
        relinked(without(Kind.PARTITION_USED)),
        r"holds no use of what generation .* held out",
    ),
    "a ledger that sealed another plan": (
        relinked(
            lambda lines: [
                Line(
                    line.number,
                    line.kind,
                    line.at,
                    {**line.body, "seal": "0" * 64} if line.kind is Kind.PLAN_SEALED else line.body,
                    "",
                    "",
                )
                for line in lines
            ]
        ),
        r"retry_limit_plan: the plan hashes to \w{12}, and line 1 of ledger",
    ),
    "a threshold of the findings": (
        of_findings("verdict.json", '"outcome": "pass"', '"outcome": "fail"'),
        r"verdict\.json' is not what the run gives: /claims/\d+/outcome",
    ),
}


def by_another_report(run: Run) -> None:
    """As if another version of the report had drawn the summary, with other words."""
    edited(run.out / "report.md", lambda data: data + b"\nDrawn otherwise.\n")
    digest = hashlib.sha256((run.out / "report.md").read_bytes()).hexdigest()
    was = provenance_of(run)["files"]["report.md"]
    forged("extraction_report", text(was, digest))(run)
    in_provenance(lambda found: found["files"].update({"report.md": digest}))(run)
    in_provenance(lambda found: found.update(drawn_by="1" * 64))(run)


def test_a_page_that_another_version_of_the_report_drew_is_not_held_against_a_new_one(
    extraction: Run, tmp_path: Path
) -> None:
    """The numbers are made anew all the same, and the page must be as it was written."""
    run = extraction.copy(tmp_path / "home")
    by_another_report(run)
    found = run.verify()
    assert (found.pages, "extraction_verdict" in found.made) == (("report.md",), True)
    edited(run.out / "report.md", lambda data: data + b"And touched.\n")
    with pytest.raises(Refused, match=r"report\.md' is not as it was written: its hash is \w{12}, and it was \w{12}"):
        run.verify()


def test_a_page_that_this_version_drew_is_held_against_a_new_one_though_its_hashes_were_forged(
    extraction: Run, tmp_path: Path
) -> None:
    run = extraction.copy(tmp_path / "home")
    by_another_report(run)
    in_provenance(lambda found: found.update(drawn_by=drawn_by()))(run)
    with pytest.raises(Refused, match=r"report\.md' is not what the run gives: its lines"):
        run.verify()


@pytest.mark.parametrize(("touch", "named"), OF_EXTRACTION.values(), ids=OF_EXTRACTION)
def test_whatever_of_a_run_was_touched_is_named(extraction: Run, touch: Touch, named: str, tmp_path: Path) -> None:
    run = extraction.copy(tmp_path / "home")
    touch(run)
    with pytest.raises(Refused, match=named):
        run.verify()


@pytest.mark.parametrize(("touch", "named"), OF_LOOP.values(), ids=OF_LOOP)
def test_whatever_of_a_loop_was_touched_is_named(loop: Run, touch: Touch, named: str, tmp_path: Path) -> None:
    run = loop.copy(tmp_path / "home")
    touch(run)
    with pytest.raises(Refused, match=named):
        run.verify()


def test_a_difference_names_the_versions_that_are_others_here_than_when_it_was_made(
    extraction: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version may word a report otherwise, and nobody need have touched the run."""
    run = extraction.copy(tmp_path / "home")
    forged("entry_quartiles", cell("hits", 1, 0))(run)
    monkeypatch.setattr("assets.resources.version", lambda name: "99")
    with pytest.raises(Refused, match=r"column hits: .*; it was made with .*, here 99: verify it with the versions"):
        run.verify()
