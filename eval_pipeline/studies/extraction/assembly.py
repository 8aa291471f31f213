"""From judgments to all that a verdict rests on, in one go: for whoever has no need of the steps between."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.human_check.join import HumanCheck
from eval_pipeline.studies.extraction.correction.checking import checkables
from eval_pipeline.studies.extraction.correction.findings import correction_of
from eval_pipeline.studies.extraction.fixture import Fixture
from eval_pipeline.studies.extraction.frame import Frame
from eval_pipeline.studies.extraction.gold_claims import GoldClaim
from eval_pipeline.studies.extraction.guard import guard_findings
from eval_pipeline.studies.extraction.judge_findings import judge_findings
from eval_pipeline.studies.extraction.judging import Judged
from eval_pipeline.studies.extraction.obstacles import Evidence
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.quartiles import entry_quartiles, proposition_fates
from eval_pipeline.studies.extraction.recall import recall_findings
from eval_pipeline.studies.extraction.uniformity import uniformity_findings


@dataclass(frozen=True, slots=True)
class Assembled:
    """The fates of the propositions, the table of entries and quartiles, and the evidence."""

    fates: pa.Table
    quartiles: pa.Table
    evidence: Evidence


def assembled(
    snapshot: Snapshot,
    fixture: Fixture,
    frame: Frame,
    judged: Judged,
    plan: ExtractionPlan,
    *,
    code_writes_spans: bool,
    check: HumanCheck | None = None,
    gold: Sequence[GoldClaim] = (),
) -> Assembled:
    """All findings on what was judged.

    Args:
        code_writes_spans: whether the code that stores signals records where they come from.
        check: what people said of some of it, if they did.
        gold: the claims of the gold set that the judge was asked about.

    """
    judgments = judged.to_table()
    fates = proposition_fates(frame.to_table(), judgments, plan)
    quartiles = entry_quartiles(fates)
    recall, uniformity = recall_findings(frame, quartiles, judgments, plan), uniformity_findings(quartiles, plan)
    every = checkables(frame, snapshot, fates, judgments)
    correction = correction_of(
        every, quartiles, judgments, recall, uniformity, check, gold, plan, judge=judged.fingerprint
    )
    guard = guard_findings(snapshot, frame, judgments, plan, code_writes_spans=code_writes_spans)
    judge = judge_findings(snapshot, frame, judgments, plan)
    return Assembled(
        fates,
        quartiles,
        Evidence(snapshot, fixture, frame, judged, recall, uniformity, guard, judge, correction),
    )
