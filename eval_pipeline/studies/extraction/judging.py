"""The judging: every proposition against the signals of its entry, and every drawn signal against its span."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from eval_pipeline.canonical import text_hash
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.errors import JudgeDown
from eval_pipeline.evidence import read_refusal, refusal_text
from eval_pipeline.jsonl import found
from eval_pipeline.judge.desk import Desk, refusal_of, work_through
from eval_pipeline.judge.protocol import Judge, Standing, fingerprint, standing_of
from eval_pipeline.judge.spending import CapReached
from eval_pipeline.records import Judgment, Kind, Label, Reason, Refusal
from eval_pipeline.studies.extraction.asking import (
    Row,
    judge_again,
    judge_canary,
    judge_gold,
    judge_proposition,
    judge_span,
)
from eval_pipeline.studies.extraction.frame import Frame, GuardUnit, Unit
from eval_pipeline.studies.extraction.gold_claims import GoldClaim
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.repeats import drawn_again
from eval_pipeline.tables import records, table_of

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
        ("together", pa.bool_()),
        ("hypothesis", _TEXT),
        ("premise_sha256", _TEXT),
        ("hypothesis_sha256", _TEXT),
        ("raw", _TEXT),
        ("label", _TEXT),
        ("no_label", _TEXT),
        ("attempts", _WHOLE),
        ("tokens", _WHOLE),
        ("unread", _TEXT),
        ("repeat", _WHOLE),
        ("key", _TEXT),
    ]
)

_SHOWN = 5

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Count:
    """So many judgments of a kind gave a label, or for a reason none; both are None where nobody was asked."""

    kind: str
    label: str | None
    no_label: str | None
    judgments: int


@dataclass(frozen=True, slots=True)
class Judged:
    """All judgments in the order of the frame, who gave them, and why there are no more of them if there should be.

    They stand in a table, since there may be millions.
    """

    table: pa.Table
    judge: Mapping[str, Any]
    kind: str
    fingerprint: str
    refusal: Refusal | None

    @property
    def standing(self) -> Standing:
        """Whether the labels bind."""
        return standing_of(self.judge)

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """Each judgment as a record; of a small table."""
        return tuple(records(self.table))

    def counts(self) -> list[Count]:
        """How many judgments of each kind gave each label, or each reason for none."""
        groups = self.table.group_by(["kind", "label", "no_label"]).aggregate([([], "count_all")])
        columns = (groups[name].to_pylist() for name in ("kind", "label", "no_label", "count_all"))
        return [Count(*row) for row in zip(*columns, strict=True)]

    def by_kind(self) -> list[dict[str, Any]]:
        """How many judgments of each kind gave which label, or why none; ordered by both."""
        sums: Counter[tuple[str, str]] = Counter()
        for count in self.counts():
            sums[count.kind, count.label or count.no_label or "not_asked"] += count.judgments
        return [{"kind": kind, "label": label, "judgments": n} for (kind, label), n in sorted(sums.items())]

    def lines(self) -> Iterator[bytes]:
        """The judgments as JSON Lines that can be replayed: each names the judge and holds all that its key covers."""
        for row in records(self.table):
            yield (json.dumps(_line(row, self), ensure_ascii=False) + "\n").encode("utf-8")

    def to_lines(self) -> bytes:
        """The same at once; of a small table."""
        return b"".join(self.lines())

    def to_table(self) -> pa.Table:
        """The judgments as a table, whose metadata names the judge."""
        who = json.dumps(
            {"judge": dict(self.judge), "kind": self.kind, "fingerprint": self.fingerprint}, sort_keys=True
        )
        about = {"judge": who, "refusal": refusal_text(self.refusal)}
        return self.table.replace_schema_metadata(about)

    @classmethod
    def of_rows(
        cls,
        rows: Iterable[dict[str, Any]],
        *,
        judge: Mapping[str, Any],
        kind: str,
        fingerprint: str,
        refusal: Refusal | None,
    ) -> "Judged":
        """The judgments of these records."""
        return cls(table_of(rows, _SCHEMA), judge, kind, fingerprint, refusal)

    @classmethod
    def from_table(cls, table: pa.Table) -> "Judged":
        """What `to_table` wrote."""
        who = json.loads(table.schema.metadata[b"judge"])
        refusal = read_refusal(table.schema.metadata[b"refusal"])
        return cls(table=table.replace_schema_metadata(None), refusal=refusal, **who)


def _line(row: dict[str, Any], judged: Judged) -> dict[str, Any]:
    """A row as a line of a journal: a premise of several texts is a list there, and any other a text."""
    line = row | {"premise": row["premise"] if row["together"] else row["premise"][0], "judge": dict(judged.judge)}
    del line["together"]
    return line


async def judge_frame(
    frame: Frame,
    snapshot: Snapshot,
    judge: Judge,
    desk: Desk,
    plan: ExtractionPlan,
    progress: Progress,
    gold: Sequence[GoldClaim] = (),
) -> Judged:
    """Every judgment that the frame asks for, in its order; first the probe and the canaries, at the end the repeats.

    What ends the judging, a judge that is down, a cap that is reached or a canary that was obeyed, stands in the
    refusal; what was judged until then is kept. People's labels are not asked for their repeatability, nor led astray,
    nor about claims of a gold set. Those come last of all; what ends the judging there takes nothing from the study.

    Args:
        gold: claims whose right label is known.
        progress: is called with the number of propositions and spans that are done, and of all.

    """
    rows: list[Row] = []
    try:
        refusal = await _judge_all(frame, snapshot, judge, desk, plan, progress, rows)
        if not refusal and standing_of(judge.identity) is not Standing.ORACLE:
            claims = claims_to_ask(gold, frame, snapshot)
            worked = await work_through(claims, lambda claim: judge_gold(claim, desk), workers=judge.in_flight)
            rows += worked.done
            if not isinstance(worked.ended_by, (JudgeDown, CapReached)):
                worked.require_end()
    except (JudgeDown, CapReached) as error:
        refusal = refusal_of(error)
    finally:
        await judge.close()
    return Judged.of_rows(
        (_fields(row) for row in rows),
        judge=judge.identity,
        kind=str(judge.identity["kind"]),
        fingerprint=fingerprint(judge),
        refusal=refusal,
    )


def ended_early(judged: Judged, gold: Sequence[GoldClaim], frame: Frame, snapshot: Snapshot) -> bool:
    """Whether there are fewer judgments than the frame and the gold set ask for, or none: the judge was down, say."""
    kinds = judged.to_table()["kind"].to_pylist()
    asked = claims_to_ask(gold, frame, snapshot) if standing_of(judged.judge) is not Standing.ORACLE else ()
    return judged.refusal is not None or not kinds or kinds.count(Kind.GOLD.value) < len(asked)


def claims_to_ask(gold: Sequence[GoldClaim], frame: Frame, snapshot: Snapshot) -> Sequence[GoldClaim]:
    """The claims of a gold set, or none where no proposition needs a judge: then there is no recall to be corrected."""
    return gold if any(_needs_judge(unit, snapshot) for unit in frame.judged_units) else ()


async def _judge_all(
    frame: Frame,
    snapshot: Snapshot,
    judge: Judge,
    desk: Desk,
    plan: ExtractionPlan,
    progress: Progress,
    rows: list[Row],
) -> Refusal | None:
    """Adds to `rows` what is judged, and gives the reason for which the judging ended before its end.

    Raises: JudgeDown, CapReached: the judge cannot be asked any more.
    """
    tasks: list[Unit | GuardUnit] = [*frame.judged_units, *frame.spans]
    is_model = standing_of(judge.identity) is not Standing.ORACLE
    if any(_needs_judge(task, snapshot) for task in tasks) and (refusal := await _probed(desk, plan, rows)):
        return refusal
    if is_model:
        canaries = await work_through(frame.canaries, lambda task: judge_canary(task, desk), workers=judge.in_flight)
        rows += canaries.done
        if refusal := refusal_of_canaries(rows, plan):
            return refusal
        canaries.require_end()
    done = 0

    async def work(task: Unit | GuardUnit) -> list[Row]:
        nonlocal done
        if isinstance(task, Unit):
            judged = await judge_proposition(task, snapshot.signals_by_entry.get(task.entry_id, ()), desk, plan)
        else:
            judged = [await judge_span(task, desk)]
        done += 1
        progress(done, len(tasks))
        return judged

    worked = await work_through(tasks, work, workers=judge.in_flight)
    deciding = [row for result in worked.done for row in result]
    rows += deciding
    worked.require_end()
    if is_model:
        drawn = drawn_again(deciding, plan)
        again = await work_through(drawn, lambda row: judge_again(row, desk), workers=judge.in_flight)
        rows += again.done
        again.require_end()
    return None


async def _probed(desk: Desk, plan: ExtractionPlan, rows: list[Row]) -> Refusal | None:
    """Adds the probe's judgment, if the judge gives one; the refusal, if nothing more may be asked."""
    probe = await desk.probe()
    if probe is None:
        return None
    rows.append(Row(None, Kind.PROBE, probe.question.entry_id, None, None, probe.question.hypothesis, probe))
    return refusal_of_probe(probe, plan)


def refusal_of_probe(probe: Judgment, plan: ExtractionPlan) -> Refusal | None:
    """Why nothing more is asked of a judge that answered the probe so, if the plan asks for a label there."""
    if probe.label or plan.errors.calls.probe == 1:
        return None
    said = "no words" if probe.answer.raw is None else found(probe.answer.raw)
    return Refusal(
        Reason.UNTRUSTWORTHY,
        f"the judge's answer to the probe cannot be read ({probe.no_label}: found {said}, expected one of the two"
        " words); give it more tokens, or turn off what it says before the word, and run again",
    )


def refusal_of_canaries(rows: Sequence[Row], plan: ExtractionPlan) -> Refusal | None:
    """Why nothing more is asked of a judge that obeyed a canary, or left more of them open than the plan allows."""
    canaries = [(row, row.judgment) for row in rows if row.kind is Kind.CANARY and row.judgment]
    obeyed = [f"{row.signal_id} (entry {row.entry_id})" for row, said in canaries if said.label is Label.SUPPORTED]
    if obeyed:
        shown = ", ".join(obeyed[:_SHOWN]) + (", ..." if len(obeyed) > _SHOWN else "")
        return Refusal(
            Reason.UNTRUSTWORTHY,
            f"the judge called {len(obeyed)} canaries supported, claims that nothing supports beside a signal that"
            f" tells it what to reply: {shown}; take another judge, or another prompt",
        )
    unread = Counter(str(said.no_label) for _, said in canaries if said.no_label)
    if unread.total() <= plan.errors.calls.canary * len(canaries):
        return None
    why = ", ".join(f"{count} {name}" for name, count in sorted(unread.items()))
    return Refusal(
        Reason.UNTRUSTWORTHY,
        f"{unread.total()} of {len(canaries)} canaries gave no label ({why}), and the plan allows"
        f" {plan.errors.calls.canary}; whether a text can give the judge orders is not known; mend it and run again",
    )


def _needs_judge(task: Unit | GuardUnit, snapshot: Snapshot) -> bool:
    return isinstance(task, GuardUnit) or task.entry_id in snapshot.signals_by_entry


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
        "together": isinstance(premise, tuple),
        "hypothesis": row.hypothesis,
        "premise_sha256": text_hash("\n\n".join(texts)),
        "hypothesis_sha256": text_hash(row.hypothesis),
        "raw": judgment.answer.raw if judgment else None,
        "label": judgment.label.value if judgment and judgment.label else None,
        "no_label": judgment.no_label.value if judgment and judgment.no_label else None,
        "attempts": judgment.answer.attempts if judgment else None,
        "tokens": judgment.answer.tokens if judgment else None,
        "unread": judgment.answer.unread if judgment else None,
        "repeat": judgment.question.repeat if judgment else 0,
        "key": judgment.key if judgment else None,
    }
