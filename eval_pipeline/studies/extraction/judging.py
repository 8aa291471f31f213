"""The judging: every proposition against the signals of its entry, and every drawn signal against its span."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from eval_pipeline.canonical import text_hash
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import JudgeDown
from eval_pipeline.evidence import read_refusal, refusal_text
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.journal import JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.lexical import similarity
from eval_pipeline.judge.offline import REPLAY
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Judge, Standing, fingerprint, standing_of
from eval_pipeline.records import Judgment, Kind, Label, Question, Reason, Refusal, Signal
from eval_pipeline.studies.extraction.frame import Frame, GuardUnit, Unit
from eval_pipeline.studies.extraction.plan import ExtractionPlan

_TEXT: pa.DataType = pa.string()
_WHOLE: pa.DataType = pa.int64()
_SCHEMA = pa.schema(
    [
        ("unit", _WHOLE),
        ("kind", _TEXT),
        ("entry_id", _TEXT),
        ("quartile", _WHOLE),
        ("signal_id", _TEXT),
        ("premise", pa.list_(_TEXT)),
        ("hypothesis", _TEXT),
        ("premise_sha256", _TEXT),
        ("hypothesis_sha256", _TEXT),
        ("raw", _TEXT),
        ("label", _TEXT),
        ("no_label", _TEXT),
        ("attempts", _WHOLE),
        ("tokens", _WHOLE),
        ("key", _TEXT),
    ]
)

logger = logging.getLogger("eval_pipeline")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Row:
    """A judgment with its place in the frame; `unit` and `quartile` are None for a span.

    `judgment` is None for a proposition of an entry without signals: there was nothing to ask.
    """

    unit: int | None
    kind: Kind
    entry_id: str
    quartile: int | None
    signal_id: str | None
    hypothesis: str
    judgment: Judgment | None


@dataclass(frozen=True, slots=True)
class Judged:
    """All judgments in the order of the frame, who gave them, and why there are no more of them if there should be."""

    rows: tuple[dict[str, Any], ...]
    judge: Mapping[str, Any]
    kind: str
    fingerprint: str
    refusal: Refusal | None

    @property
    def standing(self) -> Standing:
        """Whether the labels bind."""
        return standing_of(self.judge)

    def by_kind(self) -> list[dict[str, Any]]:
        """How many judgments of each kind gave which label, or why none; ordered by both."""
        counts = Counter((row["kind"], row["label"] or row["no_label"] or "not_asked") for row in self.rows)
        return [{"kind": kind, "label": label, "judgments": n} for (kind, label), n in sorted(counts.items())]

    def to_lines(self) -> bytes:
        """The judgments as JSON Lines that can be replayed: each names the judge and holds all that its key covers."""
        lines = [_line(row, self) for row in self.rows]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode("utf-8")

    def to_table(self) -> pa.Table:
        """The judgments as a table, whose metadata names the judge."""
        who = json.dumps(
            {"judge": dict(self.judge), "kind": self.kind, "fingerprint": self.fingerprint}, sort_keys=True
        )
        about = {"judge": who, "refusal": refusal_text(self.refusal)}
        return pa.Table.from_pylist(list(self.rows), schema=_SCHEMA.with_metadata(about))

    @classmethod
    def from_table(cls, table: pa.Table) -> "Judged":
        """What `to_table` wrote."""
        who = json.loads(table.schema.metadata[b"judge"])
        return cls(rows=tuple(table.to_pylist()), refusal=read_refusal(table.schema.metadata[b"refusal"]), **who)


def _line(row: dict[str, Any], judged: Judged) -> dict[str, Any]:
    premise = row["premise"] if row["kind"] == Kind.SCREEN else row["premise"][0]
    return row | {"premise": premise, "judge": dict(judged.judge)}


async def judge_frame(
    frame: Frame, snapshot: Snapshot, judge: Judge, desk: Desk, plan: ExtractionPlan, progress: Progress
) -> Judged:
    """Every judgment that the frame asks for, in its order.

    A judge that goes down ends the judging; what was judged until then is kept, and the refusal says why it ended.

    Args:
        progress: is called with the number of propositions and spans that are done, and of all.

    """
    tasks: list[Unit | GuardUnit] = [*frame.judged_units, *frame.spans]
    done = 0

    async def work(task: Unit | GuardUnit) -> list[Row]:
        nonlocal done
        if isinstance(task, Unit):
            rows = await judge_proposition(task, snapshot.signals_by_entry.get(task.entry_id, ()), desk, plan)
        else:
            rows = [await _judge_span(task, desk)]
        done += 1
        progress(done, len(tasks))
        return rows

    try:
        if any(_needs_judge(task, snapshot) for task in tasks):
            await judge.probe()
        worked = await work_through(tasks, work, workers=judge.in_flight)
        rows, ended_by = [row for result in worked.results if result for row in result], worked.ended_by
    except JudgeDown as error:
        rows, ended_by = [], error
    finally:
        await judge.close()
    if ended_by and not isinstance(ended_by, JudgeDown):
        raise ended_by
    return Judged(
        rows=tuple(_fields(row) for row in rows),
        judge=judge.identity,
        kind=judge.kind,
        fingerprint=fingerprint(judge),
        refusal=Refusal(Reason.JUDGE_DOWN, str(ended_by)) if ended_by else None,
    )


def judge_in_journal(
    frame: Frame,
    snapshot: Snapshot,
    judge: Judge,
    plan: ExtractionPlan,
    *,
    journals: Path,
    run: str,
    progress: Progress,
) -> Judged:
    """As `judge_frame`, with a journal of this run's own beside those of earlier runs with the same judge.

    Args:
        journals: the folder of all journals; each judge has a folder within it.
        run: names the journal; no other run may have that name.

    """
    prompt = prompt_named(plan.judging.prompt)
    if judge.kind == REPLAY:  # what was recorded elsewhere is no answer of the judge's own, and is kept nowhere
        desk = Desk(judge, prompt, {}, journal=None)
        return asyncio.run(judge_frame(frame, snapshot, judge, desk, plan, progress))
    folder = journals / fingerprint(judge)[:16]
    with JournalWriter(folder, run) as journal:
        earlier = [read_journal(file) for file in journal_files(folder)]
        if lost := sum(len(past.unreadable) + past.torn for past in earlier):
            logger.warning("%d lines of earlier journals cannot be read; what they said is asked again", lost)
        desk = Desk(judge, prompt, known_answers(earlier, judge.identity), journal)
        judged = asyncio.run(judge_frame(frame, snapshot, judge, desk, plan, progress))
    if desk.calls or desk.remembered:
        logger.info("asked %d questions; %d answers were known", desk.calls, desk.remembered)
    return judged


def _needs_judge(task: Unit | GuardUnit, snapshot: Snapshot) -> bool:
    return isinstance(task, GuardUnit) or task.entry_id in snapshot.signals_by_entry


async def judge_proposition(unit: Unit, signals: Sequence[Signal], desk: Desk, plan: ExtractionPlan) -> list[Row]:
    """The judgments that settle a proposition: all signals at once, then one by one until one supports it.

    The screen is an economy: what all signals together do not support, no single one does. Its support decides
    nothing, since the proposition must follow from a single signal.
    """

    def row(kind: Kind, signal: Signal | None, judgment: Judgment | None) -> Row:
        return Row(unit.id, kind, unit.entry_id, unit.quartile, signal.id if signal else None, unit.text, judgment)

    if not signals:
        return [row(Kind.NO_SIGNALS, None, None)]
    tried = _in_order(unit, signals, plan)
    screen = await desk.ask(Question(unit.entry_id, tuple(s.content for s in tried), unit.text))
    rows = [row(Kind.SCREEN, None, screen)]
    if screen.label is Label.NOT_SUPPORTED or (screen.no_label and plan.judging.unreadable_screen == "undecided"):
        return rows
    for signal in tried:
        judgment = await desk.ask(Question(unit.entry_id, signal.content, unit.text))
        rows.append(row(Kind.SIGNAL, signal, judgment))
        if judgment.label is Label.SUPPORTED:
            break
    return rows


def _in_order(unit: Unit, signals: Sequence[Signal], plan: ExtractionPlan) -> list[Signal]:
    cap = plan.judging.signals_at_most
    tried = list(signals) if cap == "all" else list(signals[:cap])
    if plan.judging.signal_order == "similarity":
        tried.sort(key=lambda signal: -similarity(signal.content, unit.text))
    return tried


async def _judge_span(span: GuardUnit, desk: Desk) -> Row:
    judgment = await desk.ask(Question(span.entry_id, span.premise, span.hypothesis))
    return Row(None, Kind.SPAN, span.entry_id, None, span.signal_id, span.hypothesis, judgment)


def _fields(row: Row) -> dict[str, Any]:
    judgment = row.judgment
    premise = judgment.question.premise if judgment else ""
    texts = list(premise) if isinstance(premise, tuple) else [premise]
    return {
        "unit": row.unit,
        "kind": row.kind.value,
        "entry_id": row.entry_id,
        "quartile": row.quartile,
        "signal_id": row.signal_id,
        "premise": texts,
        "hypothesis": row.hypothesis,
        "premise_sha256": text_hash("\n\n".join(texts)),
        "hypothesis_sha256": text_hash(row.hypothesis),
        "raw": judgment.answer.raw if judgment else None,
        "label": judgment.label.value if judgment and judgment.label else None,
        "no_label": judgment.no_label.value if judgment and judgment.no_label else None,
        "attempts": judgment.answer.attempts if judgment else None,
        "tokens": judgment.answer.tokens if judgment else None,
        "key": judgment.key if judgment else None,
    }
