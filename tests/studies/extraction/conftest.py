"""Small corpora whose truth is known, a judge that knows it, and the study run on them from end to end."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.document import document_bytes
from eval_pipeline.errors import JudgeDown
from eval_pipeline.evidence import table_bytes, write_atomically
from eval_pipeline.judge.protocol import Judge, Standing
from eval_pipeline.plan import read_plan
from eval_pipeline.records import Answer, Entry, NoLabel, Proposition, Question, Signal, Verdict
from eval_pipeline.studies.extraction.assembly import assembled
from eval_pipeline.studies.extraction.bands import band_ledger
from eval_pipeline.studies.extraction.document import verdict_document
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import Frame, frame_of
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.plan import ExtractionPlan, Strategy
from eval_pipeline.studies.extraction.sitting import judge_in_journal
from eval_pipeline.studies.extraction.verdict import Evidence, verdicts

Truth = frozenset[tuple[str, str, str]]
Said = str | NoLabel


@dataclass(frozen=True)
class Note:
    """An entry, or None if the corpus lacks it, with its signals and propositions.

    `truth` holds (entry, premise, hypothesis) where the premise alone entails the hypothesis.
    """

    entry: Entry | None
    signals: tuple[Signal, ...]
    propositions: tuple[Proposition, ...]
    truth: Truth


@dataclass(frozen=True)
class World:
    """A corpus, its fixture, and what entails what; `together` holds what only several signals entail."""

    snapshot: Snapshot
    fixture: Fixture
    truth: Truth
    together: frozenset[tuple[str, str]] = frozenset()

    def says(self, question: Question) -> Said:
        """The label that is true."""
        premises = question.premise if isinstance(question.premise, tuple) else (question.premise,)
        alone = any((question.entry_id, premise, question.hypothesis) in self.truth for premise in premises)
        united = len(premises) > 1 and (question.entry_id, question.hypothesis) in self.together
        return "SUPPORTED" if alone or united else "NOT_SUPPORTED"

    def says_anywhere(self, question: Question) -> Said:
        """The label that is true in any entry, for a judge that is not told which one a question is about."""
        premises = question.premise if isinstance(question.premise, tuple) else (question.premise,)
        supported = any((premise, question.hypothesis) in self._truth_anywhere for premise in premises)
        return "SUPPORTED" if supported else "NOT_SUPPORTED"

    @cached_property
    def _truth_anywhere(self) -> frozenset[tuple[str, str]]:
        return frozenset((premise, hypothesis) for _, premise, hypothesis in self.truth)


@dataclass
class ScriptedJudge:
    """Says what `says` gives, word for word, and keeps what it was asked; is down from the start, or after a while.

    Where several questions may be in flight, each lets the others be asked before it is answered.
    `probed` is what it says to the probe; None where it needs none.
    """

    says: Callable[[Question], Said]
    standing: Standing = Standing.ORACLE
    in_flight: int = 1
    live: bool = True
    down_after: int | None = None
    probed: Said | None = None
    asked: list[Question] = field(default_factory=list)
    probes: int = 0
    closed: bool = False
    kind: str = "scripted"

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of people's labels where it is to be an oracle; standing follows from it."""
        return {"kind": "labels" if self.standing is Standing.ORACLE else self.kind}

    async def probe(self) -> Answer | None:
        """What the script has for it; raises JudgeDown unless this judge is live."""
        self.probes += 1
        if not self.live:
            raise JudgeDown("the scripted judge is down; start it")
        return None if self.probed is None else _answer(self.probed)

    async def answer(self, question: Question) -> Answer:
        """What the script gives."""
        if self.down_after is not None and len(self.asked) >= self.down_after:
            raise JudgeDown("the scripted judge went down; start it")
        self.asked.append(question)
        if self.in_flight > 1:
            await asyncio.sleep(0)
        return _answer(self.says(question))

    async def close(self) -> None:
        """Notes that it was let go."""
        self.closed = True


def _answer(said: Said) -> Answer:
    raw, why = (None, said) if isinstance(said, NoLabel) else (said, None)
    return Answer(raw, why, attempts=1, latency_s=0.0, tokens=7)


@dataclass(frozen=True)
class Study:
    """All that one run of the study gave."""

    frame: Frame
    judged: Judged
    fates: pa.Table
    quartiles: pa.Table
    evidence: Evidence
    recall: Verdict
    uniformity: Verdict
    guard: Verdict
    judge: Judge

    @property
    def outcomes(self) -> tuple[str, str, str]:
        """Outcome of each claim, in words."""
        return self.recall.outcome.value, self.uniformity.outcome.value, self.guard.outcome.value

    @property
    def document(self) -> dict[str, Any]:
        """The verdict as it is written down."""
        return verdict_document(
            (self.recall, self.uniformity, self.guard),
            self.evidence,
            band_ledger(self.evidence.snapshot),
            seal="0" * 64,
            plan_name="extraction",
            versions={"eval-pipeline": "0"},
        )

    @property
    def fate_of(self) -> dict[str, str]:
        """What became of each proposition, by its text."""
        return {row["proposition"]: row["fate"] for row in self.fates.to_pylist()}


def _note(
    entry_id: str,
    signals: Mapping[str, Iterable[str]],
    propositions: Sequence[tuple[int, str]],
    *,
    words: int = 10,
    workspace: str | None = "north",
    band: str | None = "confident",
    absent: bool = False,
) -> Note:
    return Note(
        entry=None if absent else Entry(entry_id, workspace, band, " ".join(["word"] * words)),
        signals=tuple(
            Signal(f"{entry_id}-s{place:02d}", entry_id, text, None, None, None) for place, text in enumerate(signals)
        ),
        propositions=tuple(Proposition(entry_id, quartile, text) for quartile, text in propositions),
        truth=frozenset((entry_id, signal, text) for signal, entailed in signals.items() for text in entailed),
    )


def _counted(
    entry_id: str, hits: Sequence[int] = (1, 1, 1, 1), totals: Sequence[int] = (1, 1, 1, 1), **about: Any
) -> Note:
    texts = [
        (quartile, f"{entry_id} tells {quartile}.{place}", place < hits[quartile - 1])
        for quartile, total in enumerate(totals, 1)
        for place in range(total)
    ]
    signals = {} if about.get("absent") else {f"what {entry_id} says": [text for _, text, hit in texts if hit]}
    return _note(entry_id, signals, [(quartile, text) for quartile, text, _ in texts], **about)


def _spanned(entry_id: str, *, spans: int, supported: int, blank: int = 0) -> Note:
    """A note without propositions whose signals each record a span; the first `blank` of them a blank one."""
    told = [f"{entry_id} told {place:04d}" for place in range(spans)]
    content, width = " ".join(told), len(f"{entry_id} told 0000")
    ends = [(place * (width + 1), place * (width + 1) + width) for place in range(spans)]
    ends = [(width, width + 1) if place < blank else span for place, span in enumerate(ends)]
    signals = tuple(
        Signal(f"{entry_id}-s{place:04d}", entry_id, f"{entry_id} signal {place:04d}", start, end, None)
        for place, (start, end) in enumerate(ends)
    )
    sound = [(signal, told[place]) for place, signal in enumerate(signals) if place >= blank]
    truth = frozenset((entry_id, span, signal.content) for signal, span in sound[:supported])
    return Note(Entry(entry_id, "north", "confident", content), signals, (), truth)


def _world_of(notes: Iterable[Note], together: Iterable[tuple[str, str]] = ()) -> World:
    notes = list(notes)
    entries = sorted((note.entry for note in notes if note.entry), key=lambda entry: entry.id)
    signals = sorted((signal for note in notes for signal in note.signals), key=lambda signal: signal.id)
    propositions = tuple(proposition for note in notes for proposition in note.propositions)
    return World(
        Snapshot(tuple(entries), tuple(signals), LeftOut(0, 0, 0, 0), "built for a test", refusal=None),
        Fixture(propositions, refusal=None),
        frozenset().union(*(note.truth for note in notes)),
        frozenset(together),
    )


def _amended(plan: ExtractionPlan, **changes: Any) -> ExtractionPlan:
    sections = {
        name: getattr(plan, name).model_copy(update=change) if isinstance(change, dict) else change
        for name, change in changes.items()
    }
    return plan.model_copy(update=sections)


def _quartile_table(rows: Sequence[tuple[Sequence[int], Sequence[int]]], **about: Any) -> pa.Table:
    """The entry-quartile table of (hits, judged) by quartile, one pair an entry; nothing is undecided."""
    shared = {"workspace": "north", "band": "confident", "words": 10, "undecided": 0, "composition_only": 0} | about
    cells = [
        {"entry_id": f"e{place:04d}", "quartile": quartile + 1, "hits": hits[quartile], "judged": judged[quartile]}
        for place, (hits, judged) in enumerate(rows)
        for quartile in range(4)
    ]
    whole = pa.int64()
    schema = pa.schema(
        [("entry_id", pa.string()), ("workspace", pa.string()), ("band", pa.string()), ("words", whole)]
        + [(name, whole) for name in ("quartile", "hits", "judged", "undecided", "composition_only")]
    )
    return pa.Table.from_pylist([shared | cell for cell in cells], schema=schema)


def _evidence_and_claims(
    world: World, frame: Frame, judged: Judged, plan: ExtractionPlan, *, code_writes_spans: bool
) -> tuple[pa.Table, pa.Table, Evidence]:
    found = assembled(world.snapshot, world.fixture, frame, judged, plan, code_writes_spans=code_writes_spans)
    return found.fates, found.quartiles, found.evidence


@pytest.fixture(scope="session")
def note() -> Callable[..., Note]:
    """A note of signals, each with the propositions that it entails, and of (quartile, proposition) pairs."""
    return _note


@pytest.fixture(scope="session")
def counted() -> Callable[..., Note]:
    """A note of one signal that entails the first `hits` of `totals` propositions of each quartile."""
    return _counted


@pytest.fixture(scope="session")
def spanned() -> Callable[..., Note]:
    """A note whose signals record spans, the first `supported` sound ones of which entail them."""
    return _spanned


@pytest.fixture(scope="session")
def world_of() -> Callable[..., World]:
    """The corpus and the fixture of notes."""
    return _world_of


@pytest.fixture(scope="session")
def scripted() -> type[ScriptedJudge]:
    """The class of the scripted judge."""
    return ScriptedJudge


@pytest.fixture(scope="session")
def quartile_table() -> Callable[..., pa.Table]:
    """An entry-quartile table from its counts."""
    return _quartile_table


@pytest.fixture(scope="session")
def amended() -> Callable[..., ExtractionPlan]:
    """A plan with some of its fields changed: `amended(plan, budget={"calls": 10})`."""
    return _amended


@pytest.fixture(scope="session")
def shipped() -> ExtractionPlan:
    """The plan that the house ships."""
    return read_plan(bundled("plans") / "extraction.toml", ExtractionPlan)


@pytest.fixture(scope="session")
def compat() -> ExtractionPlan:
    """The plan of the first version."""
    return read_plan(bundled("plans") / "extraction_compat.toml", ExtractionPlan)


@pytest.fixture(scope="session")
def lenient(shipped: ExtractionPlan) -> ExtractionPlan:
    """The shipped plan with a design that any two entries meet, the screen first, and nothing beside the study."""
    return _amended(
        shipped,
        design={"entries": 2, "entries_per_workspace": 0, "bands": 0, "dense": None},
        judging={"strategy": Strategy.SCREEN_FIRST, "audited_negatives": 0, "canaries": 0, "repeats": 0},
        calibration={"gold": "not_asked"},
    )


@pytest.fixture(scope="session")
def sit(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Judged]:
    """All that a judge says of a world, at a desk whose journal stands in `journals`, a new folder if none is named."""
    numbers = count()

    def sit(
        world: World,
        plan: ExtractionPlan,
        judge: Judge,
        *,
        journals: Path | None = None,
        run: str | None = None,
        resume: bool = False,
        progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> Judged:
        return judge_in_journal(
            frame_of(world.snapshot, world.fixture, plan),
            world.snapshot,
            judge,
            plan,
            journals=journals or tmp_path_factory.mktemp("journals"),
            run=run or f"run-{next(numbers)}",
            resume=resume,
            progress=progress,
        )

    return sit


@pytest.fixture(scope="session")
def run_study(sit: Callable[..., Judged]) -> Callable[..., Study]:
    """The whole study on a world, from the frame to the verdicts; the judge knows the truth unless another is given."""

    def run(
        world: World,
        plan: ExtractionPlan,
        judge: Judge | None = None,
        *,
        journals: Path | None = None,
        code_writes_spans: bool = False,
    ) -> Study:
        asked = judge or ScriptedJudge(world.says)
        frame = frame_of(world.snapshot, world.fixture, plan)
        judged = sit(world, plan, asked, journals=journals)
        fates, quartiles, evidence = _evidence_and_claims(
            world, frame, judged, plan, code_writes_spans=code_writes_spans
        )
        recall, uniformity, guard = verdicts(evidence, plan)
        return Study(frame, judged, fates, quartiles, evidence, recall, uniformity, guard, asked)

    return run


@pytest.fixture(scope="session")
def findings(run_study: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The findings folder of a run of a world, as far as another run is held against it."""

    def findings(world: World, plan: ExtractionPlan, judge: Judge | None = None) -> Path:
        study, folder = run_study(world, plan, judge), tmp_path_factory.mktemp("findings")
        write_atomically(folder / "verdict.json", document_bytes(study.document))
        write_atomically(folder / "judgments.jsonl", study.judged.to_lines())
        write_atomically(folder / "entry_quartiles.parquet", table_bytes(study.quartiles))
        return folder

    return findings


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="session")
def written() -> Callable[[World, Path], Path]:
    """Writes the corpus and the fixture of a world to a folder, as the command line reads them."""

    def written(world: World, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        entries = [
            {"lookup_key": e.id, "workspace": e.workspace, "band": e.band, "content": e.content}
            for e in world.snapshot.entries
        ]
        signals = [
            {
                "lookup_key": s.id,
                "entry_id": s.entry_id,
                "content": s.content,
                "provenance": None if s.start is None else {"span": {"start": s.start, "end": s.end}},
            }
            for s in world.snapshot.signals
        ]
        propositions = [
            {"entry_id": p.entry_id, "quartile": p.quartile, "proposition": p.text} for p in world.fixture.propositions
        ]
        for name, rows in (("entries", entries), ("signals", signals), ("propositions", propositions)):
            _write_lines(folder / f"{name}.jsonl", rows)
        return folder

    return written


def _toml(values: Mapping[str, Any], above: tuple[str, ...] = ()) -> str:
    lines = [f"[{'.'.join(above)}]"] if above else []
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    lines += [f"{name} = {json.dumps(value)}" for name, value in values.items() if name not in tables]
    return "\n".join([*lines, "", *(_toml(value, (*above, name)) for name, value in tables.items())])


@pytest.fixture(scope="session")
def plan_file() -> Callable[[ExtractionPlan, Path], Path]:
    """Writes a plan to a file, as the command line reads it."""

    def plan_file(plan: ExtractionPlan, path: Path) -> Path:
        path.write_text(_toml(plan.model_dump(mode="json", exclude_none=True)), encoding="utf-8")
        return path

    return plan_file


@pytest.fixture(autouse=True, scope="session")
def home_in_a_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterable[None]:
    """No run of these tests writes to the home of the person who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVAL_PIPELINE_HOME", str(tmp_path_factory.mktemp("home")))
        yield
