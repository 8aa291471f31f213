"""How far two annotators agree: on what stands in an entry, and on the quarter of the text in which it stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import ThinResamples, TooFewClusters, Undefined
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.agreement import Agreement, agreement_interval
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.kappa import cohen_kappa
from eval_pipeline.studies.extraction.annotators.alignment import AlignedEntry
from eval_pipeline.studies.extraction.contrasts import contrast
from eval_pipeline.studies.extraction.plan import ExtractionPlan

QUARTILES = (1, 2, 3, 4)
NO_KAPPA_OF_INCLUSION = (
    "kappa needs the number of claims that both annotators left out, and nobody can count what could have been claimed"
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of agreement with its interval; `undefined` says why either is None.

    `degenerate`: all resamples agree, so the interval has no width.
    """

    estimate: Number | None
    interval: Interval | None
    degenerate: bool
    undefined: str | None


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """What both annotators wrote of the entries that both took apart, and how far it is the same.

    An entry of one annotator alone says nothing of agreement: whether the other found nothing in it, or never saw it,
    is not known. Such entries are counted and left out.

    `inclusion` is the share of all their propositions that were matched, `inclusion_at_most` what it would be if every
    pair without a label were the same. `same_quartile` of the matched propositions stand in the same quarter for both;
    `alpha` is Krippendorff's on the order of the quarters, `kappa` Cohen's on whether they are the same.
    """

    entries: int
    entries_of_first_alone: int
    entries_of_second_alone: int
    first: int
    second: int
    matched: int
    inclusion: Measure
    inclusion_at_most: Fraction | None
    same_quartile: int
    share_same_quartile: Measure
    alpha: Measure
    kappa: Measure
    questions: int
    unread: int


def annotator_agreement(entries: Sequence[AlignedEntry], plan: ExtractionPlan) -> AnnotatorAgreement:
    """The agreement on inclusion and quartile, with intervals that draw whole entries.

    Inclusion is positive specific agreement, 2 m / (a + b) for m matches of a and b propositions: the chance that what
    one annotator wrote, the other wrote too.

    Source: Hripcsak & Rothschild (2005), Agreement, the F-measure, and reliability in information retrieval, JAMIA
        12(3), 296-298; Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.

    """
    both = [entry for entry in entries if entry.of_both]
    matched = np.array([len(entry.matches) for entry in both], dtype=np.int64)
    written = np.array([len(entry.first) + len(entry.second) for entry in both], dtype=np.int64)
    rated = [_quartiles(entry) for entry in both]
    alike = np.array([sum(one == other for one, other in pairs) for pairs in rated], dtype=np.int64)
    pairs = [pair for of_entry in rated for pair in of_entry]
    clusters = np.repeat(np.arange(len(both)), matched)
    at_most = 2 * sum(entry.matches_at_most for entry in both)
    return AnnotatorAgreement(
        entries=len(both),
        entries_of_first_alone=sum(not entry.second for entry in entries),
        entries_of_second_alone=sum(not entry.first for entry in entries),
        first=sum(len(entry.first) for entry in both),
        second=sum(len(entry.second) for entry in both),
        matched=int(matched.sum()),
        inclusion=_ratio(2 * matched, written, "no entry was taken apart by both annotators", plan),
        inclusion_at_most=Fraction(at_most, int(written.sum())) if both else None,
        same_quartile=int(alike.sum()),
        share_same_quartile=_ratio(
            alike[matched > 0], matched[matched > 0], "no proposition was written by both annotators", plan
        ),
        alpha=_coefficient(lambda: krippendorff_alpha(pairs, scale="ordinal", categories=QUARTILES), clusters, plan),
        kappa=_coefficient(lambda: cohen_kappa(pairs, weights="none", categories=QUARTILES).agreement, clusters, plan),
        questions=sum(entry.questions for entry in entries),
        unread=sum(len(entry.unread) for entry in entries),
    )


def _quartiles(entry: AlignedEntry) -> list[tuple[int, int]]:
    """In which quarter each annotator puts what both wrote."""
    return [(entry.first[match.first].quartile, entry.second[match.second].quartile) for match in entry.matches]


def _ratio(
    successes: npt.NDArray[np.int64], trials: npt.NDArray[np.int64], nothing: str, plan: ExtractionPlan
) -> Measure:
    """The pooled ratio of counts by entry; none of which has no trials."""
    if not len(trials):
        return Measure(None, None, degenerate=False, undefined=nothing)
    try:
        drawn = contrast(successes[:, np.newaxis], trials[:, np.newaxis], [1], "two", plan)
    except (TooFewClusters, ThinResamples) as refusal:
        whole = Fraction(int(successes.sum()), int(trials.sum()))
        return Measure(whole, None, degenerate=False, undefined=str(refusal))
    return Measure(drawn.estimate, drawn.interval, drawn.degenerate, undefined=None)


def _coefficient(found: Callable[[], Agreement], clusters: npt.NDArray[np.int64], plan: ExtractionPlan) -> Measure:
    """A coefficient of agreement over the matched propositions, of which `clusters` names the entries."""
    if len(clusters) < 2:
        detail = f"{len(clusters)} propositions were matched, and agreement beyond chance needs at least 2"
        return Measure(None, None, degenerate=False, undefined=detail)
    rule = plan.bootstrap
    try:
        agreement = found()
    except Undefined as refusal:
        return Measure(None, None, degenerate=False, undefined=str(refusal))
    try:
        drawn = agreement_interval(
            agreement,
            clusters,
            level=rule.level,
            resamples=rule.resamples,
            valid_at_least=rule.fewest_valid,
            ranks=rule.ranks,
            rng=np.random.default_rng(plan.seed),
        )
    except Undefined as refusal:
        return Measure(agreement.estimate, None, degenerate=False, undefined=str(refusal))
    return Measure(agreement.estimate, drawn.interval, drawn.degenerate, undefined=None)
