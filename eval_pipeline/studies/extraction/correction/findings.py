"""What is known of the judge's errors in this run, which estimate decides by it, and what it would take to decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import pyarrow as pa

from eval_pipeline.human_check.join import HumanCheck, RaterAgreement
from eval_pipeline.records import Refusal
from eval_pipeline.stats.labels_needed import clusters_to_label
from eval_pipeline.studies.extraction.correction.checking import Checkable, CheckedLabels, labels_of, summary
from eval_pipeline.studies.extraction.correction.estimates import (
    Cell,
    Estimates,
    Estimator,
    corrected_precision,
    estimates_by_check,
    estimates_by_gold,
    raw_estimates,
)
from eval_pipeline.studies.extraction.gold_claims import GoldClaim, GoldErrors, gold_errors
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.recall import RecallFindings
from eval_pipeline.studies.extraction.uniformity import UniformityFindings

_ON_THE_BAR = 1e-12  # what the arithmetic of floats may put between an estimate and a bar that it lies on


@dataclass(frozen=True, slots=True)
class GivenCheck:
    """The human check that a run was given, if any."""

    check: HumanCheck | None


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What the check is: who labelled how much, how far they agree, and how often the judge says what they say.

    `entries` and `propositions` count those of which a label is known; `against` counts, by kind, what people and what
    the judge called supported.
    """

    hash: str
    raters: tuple[str, ...]
    items: int
    unsure: int
    settled: int
    entries: int
    propositions: int
    spans: int
    agreement: RaterAgreement | None
    against: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Needed:
    """So many labelled propositions, or whole entries, of so many in all, until an interval stands clear of its bar.

    `unit` says which; `beyond` that even all that there are do not decide, so that the corpus must grow.
    """

    unit: str
    labelled: int
    needed: int
    beyond: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """Every estimate side by side, the first of them raw; which of them decides; and what it rests on.

    `precision` is the corrected share of the guard, None where no spans were checked for it; `decides_precision` says
    whether it decides. `gold` is None where the judge was not asked about the gold set. `refusal` says why nothing may
    rest on the check that was given. `recall_needs` and `uniformity_needs` say what it takes until the interval stands
    clear of the bar, if it does not.
    """

    estimates: tuple[Estimates, ...]
    precision: Cell | None
    decides: Estimator
    decides_precision: Estimator
    check: CheckFacts | None
    gold: GoldErrors | None
    refusal: Refusal | None
    recall_needs: Needed | None
    uniformity_needs: Needed | None

    def of(self, estimator: Estimator) -> Estimates | None:
        """What an estimator says, if it was asked."""
        return next((one for one in self.estimates if one.estimator is estimator), None)

    @property
    def corrected(self) -> Estimates | None:
        """The estimate that decides in place of the raw one, if any."""
        return None if self.decides is Estimator.RAW else self.of(self.decides)


def correction_of(
    every: Sequence[Checkable],
    quartiles: pa.Table,
    judgments: pa.Table,
    recall: RecallFindings,
    uniformity: UniformityFindings,
    check: HumanCheck | None,
    gold: Sequence[GoldClaim],
    plan: ExtractionPlan,
    *,
    judge: str,
) -> Correction:
    """Every estimate that the evidence on the judge allows.

    Args:
        every: what people may be asked about in this run.
        quartiles: the table of entries and quartiles.
        judgments: all judgments.
        recall, uniformity: what the judge says, as if it never erred.
        check: what people said of some of it, if they did.
        gold: the claims of the gold set that the judge was asked about; none where it was not.
        plan: which estimate decides.
        judge: the fingerprint of the judge.

    """
    labels = labels_of(check, every, plan, judge=judge) if check else None
    sound = labels if labels and not labels.refusal else None
    estimates = [raw_estimates(recall, uniformity)]
    errors = gold_errors(gold, judgments) if gold and recall.pooled.judged else None
    if errors and errors.unasked == len(gold):
        errors = None
    if sound:
        estimates += estimates_by_check(every, sound.propositions, plan)
    if errors:
        estimates.append(estimates_by_gold(quartiles, judgments, gold, plan))
    precision = _precision(every, sound, plan) if sound else None
    found = Correction(
        estimates=tuple(estimates),
        precision=precision,
        decides=_deciding(estimates, errors, plan),
        decides_precision=(
            Estimator.POST_STRATIFIED if precision and plan.calibration.decides == "human_check" else Estimator.RAW
        ),
        check=_facts(check, sound, every) if check and sound else None,
        gold=errors,
        refusal=labels.refusal if labels else None,
        recall_needs=None,
        uniformity_needs=None,
    )
    return replace(
        found, recall_needs=_recall_needs(found, every, plan), uniformity_needs=_bound_needs(found, every, plan)
    )


def _precision(every: Sequence[Checkable], labels: CheckedLabels, plan: ExtractionPlan) -> Cell | None:
    """The corrected precision; None where too little of the spans was checked to correct it."""
    cell = corrected_precision(every, labels.spans, plan)
    return None if cell.withheld else cell


def _deciding(estimates: Sequence[Estimates], gold: GoldErrors | None, plan: ExtractionPlan) -> Estimator:
    """The estimator that the plan lets decide, or the raw one where there is no evidence for that, or half of it.

    A gold set of which a part was not come to decides nothing: the verdict would turn on where the asking ended.
    """
    if plan.calibration.decides == "gold" and gold and gold.unasked:
        return Estimator.RAW
    wanted = {"raw": (), "human_check": (Estimator.POST_STRATIFIED,), "gold": (Estimator.RATIO_BY_GOLD,)}[
        plan.calibration.decides
    ]
    there = (one for one in estimates if one.estimator in wanted and (not one.pooled.withheld or one.pooled.too_poor))
    return next((one.estimator for one in there), Estimator.RAW)


def _known(labels: Mapping[Any, bool | None]) -> int:
    return sum(label is not None for label in labels.values())


def _facts(check: HumanCheck, labels: CheckedLabels, every: Sequence[Checkable]) -> CheckFacts:
    entries = {one.entry_id for one in every if one.unit is not None and labels.propositions.get(one.unit) is not None}
    return CheckFacts(
        hash=check.hash,
        raters=check.raters,
        items=len(check.labels),
        unsure=check.unsure,
        settled=check.settled,
        entries=len(entries),
        propositions=_known(labels.propositions),
        spans=_known(labels.spans),
        agreement=check.agreement,
        against=tuple(summary(labels, every)),
    )


def _recall_needs(found: Correction, every: Sequence[Checkable], plan: ExtractionPlan) -> Needed | None:
    corrected, alone, bar = found.corrected, found.of(Estimator.PEOPLE_ALONE), float(plan.claims.recall_at_least)
    if corrected is None:
        return None
    estimate, low, high = corrected.pooled.estimate, corrected.pooled.low, corrected.pooled.high
    if estimate is None or low is None or high is None or not low < bar <= high:
        return None

    def reach(cell: Cell) -> float | None:
        end = cell.low if estimate >= bar else cell.high
        return None if cell.estimate is None or end is None else abs(cell.estimate - end)

    return _needed(
        found, every, plan, reach(corrected.pooled), reach(alone.pooled) if alone else None, abs(estimate - bar)
    )


def _bound_needs(found: Correction, every: Sequence[Checkable], plan: ExtractionPlan) -> Needed | None:
    corrected, alone, bar = found.corrected, found.of(Estimator.PEOPLE_ALONE), float(plan.claims.bound_at_most)
    if corrected is None:
        return None
    estimate, high = corrected.bound.estimate, corrected.bound.high
    if estimate is None or high is None or not estimate < bar < high:
        return None

    def reach(cell: Cell) -> float | None:
        return None if cell.estimate is None or cell.high is None else cell.high - cell.estimate

    return _needed(found, every, plan, reach(corrected.bound), reach(alone.bound) if alone else None, bar - estimate)


def _needed(
    found: Correction,
    every: Sequence[Checkable],
    plan: ExtractionPlan,
    reach: float | None,
    of_people: float | None,
    distance: float,
) -> Needed | None:
    """In entries where whole ones were drawn; else in propositions, as if each label were worth the same."""
    if found.check is None or found.decides is not Estimator.POST_STRATIFIED or reach is None:
        return None
    if distance < _ON_THE_BAR:  # no number of labels tells on which side the truth lies
        return None
    if plan.human_check.draw == "judgments":
        labelled = found.check.propositions
        there = sum(one.unit is not None for one in every)
        needed = ceil(labelled * (reach / distance) ** 2)
        return Needed("propositions", labelled, needed, beyond=needed > there)
    there = len({one.entry_id for one in every if one.unit is not None})
    # Where the judge adds nothing, what it corrects may reach farther than labels alone, and that must come down.
    alone = max(of_people or 0.0, reach)
    sized = clusters_to_label(alone, reach, distance, labelled=found.check.entries, clusters=there)
    return Needed("entries", found.check.entries, sized.labelled, beyond=sized.clusters > there)
