"""A study of a million judgments, a step at a time: wall time and peak memory of each beside one read of its judgments.

Every step is a process of its own that reads and writes Parquet and JSON as the assets do. The corpus is made up: each
proposition is asked about ten times, so that `--judgments 50000` is the same study, twenty times smaller. The bar: no
step has more than 1.5 GB at any time, nor grows by more than twice what one read of the judgments grows by.
"""

import argparse
import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.evidence import json_bytes, read_json, read_table, table_bytes, write_atomically
from eval_pipeline.plan import read_plan
from eval_pipeline.records import Kind, Label
from eval_pipeline.report.extraction import ReportInput, report_files
from eval_pipeline.seal import sealed
from eval_pipeline.studies.extraction import bands, guard, quartiles, recall, uniformity
from eval_pipeline.studies.extraction.correction.checking import checkables
from eval_pipeline.studies.extraction.correction.findings import Correction, correction_of
from eval_pipeline.studies.extraction.document import verdict_document
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.judge_findings import JudgeFindings, judge_findings
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.losses import losses_by_entry
from eval_pipeline.studies.extraction.obstacles import Evidence
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.verdict import verdicts

JUDGMENTS = 1_000_000
SIGNALS = 9  # of an entry
ASKED = SIGNALS + 1  # about a proposition: the screen, and each signal
ENTRIES_OF_SPANS = 23  # which have the 200 spans that the plan asks for
CHUNK = 1_000  # entries that are made up at the same time
Row = dict[str, Any]


def plan_of_the_study() -> ExtractionPlan:
    """The plan that comes with the study."""
    return read_plan(bundled("plans") / "extraction.toml", ExtractionPlan)


def lot(*names: object) -> float:
    """A number from 0 to 1 that is always the same for the same names."""
    return int(hashlib.sha256(repr(names).encode()).hexdigest()[:8], 16) / 2**32


def signal_text(entry: int, number: int) -> str:
    """What a signal says."""
    return f"Crew {entry % 97} replaced valve {entry * SIGNALS + number} at the harbour station before the tide came in"


def corpus_rows(entries: range) -> Iterator[Row]:
    """The entries, and then their signals, as the asset's table has them."""
    for entry in entries:
        content = " ".join(signal_text(entry, number) + "." for number in range(SIGNALS))
        place = {"workspace": f"workspace-{entry % 8}", "band": ("triage", "steady", "surge")[entry % 3]}
        yield {"kind": "entry", "id": f"note-{entry:06}", **place, "content": content}


def signal_rows(entries: range) -> Iterator[Row]:
    """The signals of the entries, each with its span."""
    for entry in entries:
        start = 0
        for number in range(SIGNALS):
            text = signal_text(entry, number)
            own = {"id": f"note-{entry:06}-{number}", "entry_id": f"note-{entry:06}", "content": text}
            yield {"kind": "signal", **own, "start": start, "end": start + len(text) + 1}
            start += len(text) + 2


def frame_rows(entries: range) -> Iterator[Row]:
    """A proposition for each quartile of each entry."""
    for entry in entries:
        words = 15 * SIGNALS
        place = {"workspace": f"workspace-{entry % 8}", "band": ("triage", "steady", "surge")[entry % 3]}
        for quartile in range(1, 5):
            unit = {"id": 4 * entry + quartile - 1, "entry_id": f"note-{entry:06}", "words": words, **place}
            yield {"kind": "proposition", **unit, "quartile": quartile, "text": claim(entry, quartile), "state": "in"}


def claim(entry: int, quartile: int) -> str:
    """A proposition."""
    valve = entry * SIGNALS + 2 * quartile
    return f"Before the tide, valve {valve} of the harbour station was replaced by crew {entry % 97}."


def judgment_rows(entries: range) -> Iterator[Row]:
    """Ten judgments of each proposition: recovered by the last signal, by none, or turned away and audited."""
    for entry in entries:
        for quartile in range(1, 5):
            lost = lot("lost", entry, quartile) < 0.15 + 0.02 * quartile
            away = lost and lot("away", entry, quartile) < 0.25
            said = partial(judgment, entry, quartile)
            final = Label.NOT_SUPPORTED if lost else Label.SUPPORTED
            rest = Kind.AUDIT if away else Kind.SIGNAL
            together = [signal_text(entry, number) for number in range(SIGNALS)]
            rows = [
                said(Kind.SIGNAL, 0, [together[0]], Label.NOT_SUPPORTED),
                said(Kind.SCREEN, None, together, Label.NOT_SUPPORTED if away else Label.SUPPORTED),
                *(said(rest, number, [together[number]], Label.NOT_SUPPORTED) for number in range(1, SIGNALS - 1)),
                said(rest, SIGNALS - 1, [together[-1]], final),
            ]
            yield from rows
            if lot("repeat", entry, quartile) < 0.5:  # of ten rows one, which is a twentieth of all
                yield rows[0] | {"kind": Kind.REPEAT.value, "repeat": 1}


def judgment(entry: int, quartile: int, kind: Kind, number: int | None, premise: list[str], label: Label) -> Row:
    """One row of the table of judgments."""
    hypothesis = claim(entry, quartile)
    premise_hash = hashlib.sha256("\n\n".join(premise).encode()).hexdigest()
    hypothesis_hash = hashlib.sha256(hypothesis.encode()).hexdigest()
    return {
        "unit": 4 * entry + quartile - 1,
        "kind": kind.value,
        "entry_id": f"note-{entry:06}",
        "quartile": quartile,
        "signal_id": None if number is None else f"note-{entry:06}-{number}",
        "premise": premise,
        "together": number is None,
        "hypothesis": hypothesis,
        "premise_sha256": premise_hash,
        "hypothesis_sha256": hypothesis_hash,
        "raw": label.value,
        "label": label.value,
        "attempts": 1,
        "tokens": 90,
        "repeat": 0,
        "key": hashlib.sha256(f"{premise_hash}{hypothesis_hash}".encode()).hexdigest(),
    }


def span_rows(entries: range) -> Iterator[Row]:
    """A span of the frame for each signal."""
    for row in signal_rows(entries):
        own = {"entry_id": row["entry_id"], "signal_id": row["id"], "premise": row["content"] + "."}
        yield {"kind": "span", **own, "text": row["content"]}


def span_judgments(entries: range) -> Iterator[Row]:
    """A judgment of each span of the frame, one in fifty of them an invention."""
    for place, row in enumerate(span_rows(entries)):
        label = Label.NOT_SUPPORTED if place % 50 == 49 else Label.SUPPORTED
        asked = judgment(place // SIGNALS, 1, Kind.SPAN, place % SIGNALS, [row["premise"]], label)
        yield asked | {"unit": None, "quartile": None, "hypothesis": row["text"]}


def write(path: Path, empty: pa.Table, *parts: tuple[Callable[[range], Iterator[Row]], int]) -> None:
    """Writes a table as an asset's file has it, of each part the rows of so many entries, a chunk at a time."""
    with pq.ParquetWriter(path, empty.schema, compression="zstd") as writer:
        for rows_of, entries in parts:
            for first in range(0, entries, CHUNK):
                rows = list(rows_of(range(first, min(first + CHUNK, entries))))
                writer.write_table(pa.Table.from_pylist(rows, schema=empty.schema))


def generate(folder: Path, judgments: int) -> None:
    """Makes up the study: its corpus, its frame and its judgments."""
    entries = judgments // ASKED // 4
    nothing = LeftOut(deleted_entries=0, deleted_signals=0, orphan_signals=0, blank_signals=0)
    corpus = Snapshot((), (), nothing, "made up", None).to_table()
    write(folder / "corpus.parquet", corpus, (corpus_rows, entries), (signal_rows, entries))
    frame = Frame((), (), (), entries_cut_signals=0, spans_over_budget=0, calls_at_most=judgments).to_table()
    write(folder / "frame.parquet", frame, (frame_rows, entries), (span_rows, ENTRIES_OF_SPANS))
    judge = {"kind": "lexical", "schema": "made-up"}
    judged = Judged.of_rows((), judge=judge, kind="lexical", fingerprint="made-up", refusal=None).to_table()
    path = folder / "nli_judgments.parquet"
    write(path, judged, (judgment_rows, entries), (span_judgments, ENTRIES_OF_SPANS))


class Files:
    """The evidence of the study in a folder: read as the type that an asset reads it as, and written as it writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(self, name: str) -> pa.Table:
        """An asset's table."""
        return read_table((self.folder / f"{name}.parquet").read_bytes())

    def value(self, name: str, of_type: Any) -> Any:
        """An asset's value."""
        if hasattr(of_type, "from_table"):
            return of_type.from_table(self.table(name))
        return read_json((self.folder / f"{name}.json").read_bytes(), of_type)

    def write(self, name: str, value: Any) -> None:
        """Writes what an asset made."""
        if isinstance(value, pa.Table):
            write_atomically(self.folder / f"{name}.parquet", table_bytes(value))
        else:
            write_atomically(self.folder / f"{name}.json", json_bytes(value, type(value)))

    @property
    def corpus(self) -> Snapshot:
        """The corpus."""
        return self.value("corpus", Snapshot)

    @property
    def frame(self) -> Frame:
        """The frame."""
        return self.value("frame", Frame)

    @property
    def judged(self) -> Judged:
        """The judgments."""
        return self.value("nli_judgments", Judged)


def read_once(files: Files) -> None:
    """The judgments, read by pyarrow and kept."""
    files.table("nli_judgments").validate()


def scan_once(files: Files) -> None:
    """Every value of the judgments, looked at by DuckDB and kept nowhere."""
    duckdb.sql(f"SELECT max(COLUMNS(*)) FROM '{files.folder / 'nli_judgments.parquet'}'").fetchall()


def fates(files: Files) -> None:
    """What became of each proposition."""
    made = quartiles.proposition_fates(files.table("frame"), files.table("nli_judgments"), plan_of_the_study())
    files.write("proposition_fates", made)


def entry_quartiles(files: Files) -> None:
    """What was recovered of each entry and quartile."""
    files.write("entry_quartiles", quartiles.entry_quartiles(files.table("proposition_fates")))


def recall_estimate(files: Files) -> None:
    """Recall with its intervals."""
    tables = files.table("entry_quartiles"), files.table("nli_judgments")
    files.write("recall_estimate", recall.recall_findings(files.frame, *tables, plan_of_the_study()))


def uniformity_bound(files: Files) -> None:
    """The bound on the loss."""
    files.write("uniformity_bound", uniformity.uniformity_findings(files.table("entry_quartiles"), plan_of_the_study()))


def precision_guard(files: Files) -> None:
    """Precision."""
    inputs = files.corpus, files.frame, files.table("nli_judgments"), plan_of_the_study()
    files.write("precision_guard", guard.guard_findings(*inputs, code_writes_spans=True))


def judge_at_work(files: Files) -> None:
    """What the judgments say of the judge."""
    inputs = files.corpus, files.frame, files.table("nli_judgments"), plan_of_the_study()
    files.write("judge_findings", judge_findings(*inputs))


def corrected_recall(files: Files) -> None:
    """Recall corrected, which without a check is recall."""
    judgments = files.judged.to_table()
    correction = correction_of(
        checkables(files.frame, files.corpus, files.table("proposition_fates"), judgments),
        files.table("entry_quartiles"),
        judgments,
        files.value("recall_estimate", recall.RecallFindings),
        files.value("uniformity_bound", uniformity.UniformityFindings),
        None,
        (),
        plan_of_the_study(),
        judge="made-up",
    )
    files.write("corrected_recall", correction)


def verdict(files: Files) -> None:
    """The verdict on each claim."""
    plan = plan_of_the_study()
    evidence = Evidence(
        files.corpus,
        Fixture((), None),
        files.frame,
        files.judged,
        files.value("recall_estimate", recall.RecallFindings),
        files.value("uniformity_bound", uniformity.UniformityFindings),
        files.value("precision_guard", guard.GuardFindings),
        files.value("judge_findings", JudgeFindings),
        files.value("corrected_recall", Correction),
    )
    document = verdict_document(
        verdicts(evidence, plan),
        evidence,
        bands.band_ledger(evidence.snapshot),
        seal=sealed(plan).seal,
        plan_name=plan.name,
        versions={},
    )
    files.write("verdict", document)


def report(files: Files) -> None:
    """The report, and the judgments as JSON Lines."""
    corpus = files.corpus
    shown = ReportInput(
        document=files.value("verdict", dict[str, Any]),
        source=corpus.source,
        histogram=files.value("uniformity_bound", uniformity.UniformityFindings).histogram,
        losses=losses_by_entry(files.table("proposition_fates"), corpus),
        inventions=files.value("precision_guard", guard.GuardFindings).inventions,
    )
    for name, data in report_files(shown, files.judged, files.table("entry_quartiles")).items():
        write_atomically(files.folder / "out" / name, data)


STEPS: dict[str, Callable[[Files], None]] = {
    "read once by pyarrow": read_once,
    "scanned once by DuckDB": scan_once,
    "proposition_fates": fates,
    "entry_quartiles": entry_quartiles,
    "recall_estimate": recall_estimate,
    "uniformity_bound": uniformity_bound,
    "precision_guard": precision_guard,
    "judge_findings": judge_at_work,
    "corrected_recall": corrected_recall,
    "extraction_verdict": verdict,
    "extraction_report": report,
}


def peak_mb() -> float:
    """The most memory that this process ever had."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else math.nan


def run_step(name: str, folder: Path) -> None:
    """Does a step, and prints its wall time, its peak of memory, and what of it was there before it began."""
    before, started, used = peak_mb(), time.perf_counter(), time.process_time()
    STEPS[name](Files(folder))
    times = {"wall_s": time.perf_counter() - started, "cpu_s": time.process_time() - used}
    print(json.dumps({**times, "peak_mb": peak_mb(), "before_mb": before}))


def measured(name: str, folder: Path) -> dict[str, float]:
    """What a step costs in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--step", name, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Makes up the study, and prints what each step of it costs."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--judgments", type=int, default=JUDGMENTS)
    arguments.add_argument("--step", choices=STEPS)
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    if given.step:
        run_step(given.step, given.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), given.judgments)
        size = (Path(folder) / "nli_judgments.parquet").stat().st_size / 2**20
        print(f"{given.judgments:,} judgments of propositions, {size:.0f} MB of Parquet")
        print(f"{'step':24} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'imports MB':>11}")
        for name in STEPS:
            cost = measured(name, Path(folder))
            times = f"{cost['wall_s']:8.2f} {cost['cpu_s']:8.2f}"
            print(f"{name:24} {times} {cost['peak_mb']:8.0f} {cost['before_mb']:11.0f}", flush=True)


if __name__ == "__main__":
    main()
