"""People who know the truth of a made-up world: a sheet is drawn for them, they fill it, and the run is seen again.

Judges that err by plan, too: what one misses and what it makes up is named by the place of a proposition in its note.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pyarrow as pa

from eval_pipeline.human_check.filled import Filled
from eval_pipeline.human_check.join import HumanCheck, disagreements, joined
from eval_pipeline.human_check.sheet import Item, Said, Sheet
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.records import Question, Verdict
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.extraction.assembly import assembled
from eval_pipeline.studies.extraction.bands import band_ledger
from eval_pipeline.studies.extraction.correction.checking import (
    Checkable,
    CheckedLabels,
    checkables,
    drawn_sheet,
    labels_of,
)
from eval_pipeline.studies.extraction.correction.findings import Correction
from eval_pipeline.studies.extraction.document import verdict_document
from eval_pipeline.studies.extraction.frame import Frame, frame_of
from eval_pipeline.studies.extraction.gold_claims import GoldClaim
from eval_pipeline.studies.extraction.judging import Judged, judge_frame
from eval_pipeline.studies.extraction.obstacles import Evidence
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.quartiles import proposition_fates
from eval_pipeline.studies.extraction.verdict import verdicts

Says = Callable[[Item], Said]


@dataclass(frozen=True)
class Seen:
    """What a run comes to with what is known of its judge."""

    evidence: Evidence
    recall: Verdict
    uniformity: Verdict
    guard: Verdict
    seal: str

    @property
    def correction(self) -> Correction:
        """Every estimate, and which decides."""
        return self.evidence.correction

    @property
    def document(self) -> dict[str, Any]:
        """The verdict as it is written down."""
        claims = (self.recall, self.uniformity, self.guard)
        ledger = band_ledger(self.evidence.snapshot)
        return verdict_document(claims, self.evidence, ledger, seal=self.seal, plan_name="extraction", versions={})


@dataclass(frozen=True)
class Run:
    """A world that a judge has judged under a plan, and the gold claims that it was asked about."""

    world: Any
    plan: ExtractionPlan
    frame: Frame
    judged: Judged
    gold: Sequence[GoldClaim]

    @cached_property
    def fates(self) -> pa.Table:
        """What became of each proposition."""
        return proposition_fates(self.frame.to_table(), self.judged.to_table(), self.plan)

    @cached_property
    def every(self) -> tuple[Checkable, ...]:
        """Everything that people may be asked about."""
        return checkables(self.frame, self.world.snapshot, self.fates, self.judged.to_table())

    def sheet(self, share: Fraction | None = None) -> Sheet:
        """The sheet that the plan draws, of the plan's share unless another is asked for."""
        return drawn_sheet(
            self.every,
            self.plan,
            share=self.plan.human_check.share if share is None else share,
            seal=seal_of(self.plan),
            judge=self.judged.fingerprint,
        )

    def labels(self, check: HumanCheck) -> CheckedLabels:
        """What a check says of this run."""
        return labels_of(check, self.every, self.plan, judge=self.judged.fingerprint)

    def seen(self, check: HumanCheck | None = None) -> Seen:
        """The verdicts, with a check or without one."""
        found = assembled(
            self.world.snapshot,
            self.world.fixture,
            self.frame,
            self.judged,
            self.plan,
            code_writes_spans=False,
            check=check,
            gold=self.gold,
        )
        return Seen(found.evidence, *verdicts(found.evidence, self.plan), seal=seal_of(self.plan))

    def checked(self, share: Fraction | None = None) -> Seen:
        """The verdicts with a check by one person who knows the truth."""
        return self.seen(check_by(self.sheet(share), truth_of(self.world)))


def ran(world: Any, plan: ExtractionPlan, judge: Judge, gold: Sequence[GoldClaim] = ()) -> Run:
    """A world judged at a desk without a journal."""
    frame = frame_of(world.snapshot, world.fixture, plan)
    desk = Desk(judge, prompt_named(plan.judging.prompt), {}, journal=None)
    judged = asyncio.run(judge_frame(frame, world.snapshot, judge, desk, plan, lambda done, of: None, gold))
    return Run(world, plan, frame, judged, gold)


def truth_of(world: Any) -> Says:
    """What a person says who knows the truth: does one statement by itself say what the claim says?"""
    return lambda item: Said(world.says_anywhere(Question("", item.premise, item.hypothesis)))


def with_spans(note: Any, *, supported: bool = True) -> Any:
    """A note whose signals record the first word of the entry as their span, which supports them all or none."""
    signals = tuple(replace(signal, start=0, end=4) for signal in note.signals)
    word = note.entry.content[:4]
    truth = {(note.entry.id, word, signal.content) for signal in signals} if supported else set()
    return replace(note, signals=signals, truth=note.truth | truth)


def check_by(sheet: Sheet, *people: Says) -> HumanCheck:
    """The check of a sheet that one person or two filled; what the first says stands where they differ."""
    filled = [
        Filled(name, {item.id: says(item) for item in sheet.items})
        for name, says in zip(("anna", "ben"), people, strict=False)
    ]
    apart = disagreements(filled, sheet.items)
    return joined(sheet, filled, Filled("carl", {item.id: people[0](item) for item in apart}))


def place_of(hypothesis: str) -> str:
    """Where a proposition stands in its note, as "2.3", and a signal, as "0003"."""
    return hypothesis.rpartition(" ")[2]


def erring(
    world: Any, *, misses: Collection[str] = (), invents: Collection[str] = (), unread: Collection[str] = ()
) -> Callable[[Question], str]:
    """A judge that knows the truth but for these places, of which it supports none, supports all, or says neither."""

    def says(question: Question) -> str:
        place = place_of(question.hypothesis)
        if place in unread:
            return "Let me think."
        if place in misses:
            return "NOT_SUPPORTED"
        return "SUPPORTED" if place in invents else str(world.says(question))

    return says


def gold_of(positives: int, negatives: int) -> tuple[GoldClaim, ...]:
    """A gold set of so many claims that their passage supports, and so many that it does not."""
    return tuple(
        GoldClaim(f"gold-{number}", f"passage {number}", f"gold claim {number}", supported=number < positives)
        for number in range(positives + negatives)
    )


def asked_gold(
    says: Callable[[Question], str], gold: Sequence[GoldClaim], *, wrong: Collection[int], unread: Collection[int] = ()
) -> Callable[[Question], str]:
    """A judge that errs on these claims of the gold set, cannot be read on those, and says elsewhere what it says."""
    supported = {claim.hypothesis: claim.supported for claim in gold}

    def said(question: Question) -> str:
        if question.hypothesis not in supported:
            return says(question)
        number = int(place_of(question.hypothesis))
        if number in unread:
            return "Let me think."
        return "SUPPORTED" if supported[question.hypothesis] != (number in wrong) else "NOT_SUPPORTED"

    return said
