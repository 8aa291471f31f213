"""Whether the verdict depends on who took the entries apart: on what either wrote, on what both did, on each alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.records import Number, Proposition, Reason, Refusal, Verdict
from eval_pipeline.studies.extraction.annotators.alignment import AlignedEntry
from eval_pipeline.studies.extraction.assembly import assembled
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import frame_of
from eval_pipeline.studies.extraction.judging import Judged, Progress, judge_frame
from eval_pipeline.studies.extraction.obstacles import Evidence
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.verdict import RECALL, UNIFORMITY, verdicts


class Basis(StrEnum):
    """What is taken for the content of the entries: what either annotator wrote, what both did, or one of them."""

    UNION = "union"
    INTERSECTION = "intersection"
    FIRST = "first_alone"
    SECOND = "second_alone"


@dataclass(frozen=True, slots=True)
class OnBasis:
    """The claims on one basis: how much stands in it, what was judged of it, and what the claims come to."""

    basis: Basis
    fixture_hash: str | None
    propositions: int
    entries: int
    judged: int
    undecided: int
    recall: Verdict
    uniformity: Verdict

    @property
    def upper_bound(self) -> Number | None:
        """The bound that decides on uniformity; None where it is withheld."""
        return self.uniformity.interval.high if self.uniformity.interval else None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The claims on every basis."""

    bases: tuple[OnBasis, ...]

    @property
    def recall_turns(self) -> bool:
        """Whether the outcome of recall depends on the basis."""
        return len({on.recall.outcome for on in self.bases}) > 1

    @property
    def uniformity_turns(self) -> bool:
        """Whether the outcome of uniformity depends on the basis."""
        return len({on.uniformity.outcome for on in self.bases}) > 1


def fixture_on(basis: Basis, entries: Sequence[AlignedEntry]) -> Fixture:
    """The propositions of a basis: by entry, quartile, annotator and the order of the file.

    What both annotators wrote stands once, in the words and the quartile of the first.
    """
    chosen = [
        proposition
        for entry in entries
        for proposition in sorted(_on(basis, entry), key=lambda proposition: proposition.quartile)
    ]
    if chosen:
        return Fixture(tuple(chosen), refusal=None)
    return Fixture((), Refusal(Reason.FIXTURE_MISSING, f"no proposition stands in the {basis.replace('_', ' ')}"))


def _on(basis: Basis, entry: AlignedEntry) -> Iterable[Proposition]:
    if basis is Basis.INTERSECTION:
        return (entry.first[match.first] for match in entry.matches)
    if basis is Basis.UNION:
        return (*entry.first, *(entry.second[place] for place in entry.unmatched_second))
    return entry.first if basis is Basis.FIRST else entry.second


async def sensitivity(
    entries: Sequence[AlignedEntry],
    snapshot: Snapshot,
    judge: Judge,
    desk: Desk,
    plan: ExtractionPlan,
    progress: Progress,
) -> Sensitivity | Refusal:
    """The claims on every basis, each judged as the study judges its own; what the desk knows is not asked again.

    Where the judging of any basis did not come to its end, the reason, and no claim on any of them.
    """
    bases = []
    for basis in Basis:
        fixture = fixture_on(basis, entries)
        evidence = await _evidence(fixture, snapshot, judge, desk, plan, progress)
        if evidence.judged.refusal:
            return evidence.judged.refusal
        bases.append(_claims_on(basis, evidence, plan))
    return Sensitivity(tuple(bases))


async def _evidence(
    fixture: Fixture, snapshot: Snapshot, judge: Judge, desk: Desk, plan: ExtractionPlan, progress: Progress
) -> Evidence:
    frame = frame_of(snapshot, fixture, plan)
    judged: Judged = await judge_frame(frame, snapshot, judge, desk, plan, progress)
    # No claim here is about precision, so that whether spans are recorded makes no difference.
    return assembled(snapshot, fixture, frame, judged, plan, code_writes_spans=False).evidence


def _claims_on(basis: Basis, evidence: Evidence, plan: ExtractionPlan) -> OnBasis:
    claims = {verdict.claim: verdict for verdict in verdicts(evidence, plan)}
    pooled = evidence.recall.pooled
    return OnBasis(
        basis=basis,
        fixture_hash=evidence.fixture.hash,
        propositions=len(evidence.fixture.propositions),
        entries=len(evidence.frame.entries),
        judged=pooled.judged,
        undecided=pooled.undecided,
        recall=claims[RECALL],
        uniformity=claims[UNIFORMITY],
    )
