"""Recall corrected for the judge's own errors, as people or a gold set show them, beside the raw and the human-only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import numpy as np
import pyarrow as pa

from eval_pipeline.errors import JudgeTooPoor, Undefined
from eval_pipeline.records import Interval, Kind, Label, Number
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.stats.cluster_share import share_difference, share_interval
from eval_pipeline.stats.corrected_ratio import Screened, corrected_contrast
from eval_pipeline.stats.judged_clusters import NOT_CHECKED, Errors, JudgedClusters, tabulated, with_gold
from eval_pipeline.stats.post_stratified import post_stratified_difference, post_stratified_share
from eval_pipeline.stats.prediction_powered import prediction_powered_contrast
from eval_pipeline.stats.tails import Tails
from eval_pipeline.studies.extraction.correction.checking import Checkable
from eval_pipeline.studies.extraction.gold_claims import GoldClaim, gold_table
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.recall import RecallFindings
from eval_pipeline.studies.extraction.uniformity import Estimate, UniformityFindings
from eval_pipeline.tables import rows_where

QUARTILES = 4
_FIRST_LESS_LAST = (1, 0, 0, -1)
_ENDS = [0, 3]


class Estimator(StrEnum):
    """What an estimate of recall rests on."""

    RAW = "raw"
    PEOPLE_ALONE = "people_alone"
    POST_STRATIFIED = "post_stratified"
    DIFFERENCE = "difference"
    RATIO_BY_CHECK = "ratio_by_check"
    RATIO_BY_GOLD = "ratio_by_gold"


@dataclass(frozen=True, slots=True)
class Cell:
    """An estimate with its interval; both are None where `withheld` says why there is none.

    `too_poor`: because the judge does no better than chance.
    """

    estimate: float | None
    interval: Interval | None
    withheld: str | None
    too_poor: bool = False

    @property
    def low(self) -> float | None:
        """The lower end, if there is one."""
        return None if self.interval is None or self.interval.low is None else float(self.interval.low)

    @property
    def high(self) -> float | None:
        """The upper end, if there is one."""
        return None if self.interval is None or self.interval.high is None else float(self.interval.high)


@dataclass(frozen=True, slots=True)
class Estimates:
    """What one estimator says: of recall in all and in each quartile, and of quartile 1 less quartile 4.

    `first_less_last` has a two-sided interval, `bound` the one-sided upper one.
    """

    estimator: Estimator
    pooled: Cell
    by_quartile: tuple[Cell, ...]
    first_less_last: Cell
    bound: Cell


class _Found(Protocol):
    @property
    def estimate(self) -> Number: ...

    @property
    def interval(self) -> Interval: ...


_Contrast = Callable[[JudgedClusters, Sequence[int], Tails], _Found]


def raw_estimates(recall: RecallFindings, uniformity: UniformityFindings) -> Estimates:
    """What the judge says, as if it never erred."""

    def cell(estimate: Number | None, interval: Interval | None) -> Cell:
        if estimate is None:
            return Cell(None, None, "nothing was judged")
        return Cell(float(estimate), interval, None)

    def contrast(found: Estimate | None) -> Cell:
        return cell(found.estimate, found.interval) if found else cell(None, None)

    return Estimates(
        Estimator.RAW,
        pooled=cell(recall.pooled.estimate, recall.pooled.interval),
        by_quartile=tuple(cell(group.estimate, group.interval) for group in recall.by_quartile),
        first_less_last=contrast(uniformity.two_sided),
        bound=contrast(uniformity.bound),
    )


def estimates_by_check(
    every: Sequence[Checkable], said: Mapping[int, bool | None], plan: ExtractionPlan
) -> tuple[Estimates, ...]:
    """What the human check says, with the judge's verdicts as strata; of whole entries, by other estimators beside.

    What was drawn by verdict says nothing without the judge, and nothing of its sensitivity. What the judge left
    undecided counts as not supported, and is corrected with the rest. People say whether any signal supports a
    proposition, so that what the screen turned away wrongly is corrected too.

    Args:
        every: what may be checked, and what the judge said of it.
        said: what people said of the drawn propositions, by their place in the frame; None where they were unsure.
        plan: how it was drawn, and the levels.

    """
    table = checked_propositions(every, said)
    if table is None:
        return ()
    if plan.human_check.draw == "judgments":
        return (_estimates(Estimator.POST_STRATIFIED, table, _post_stratified(plan)),)
    return (
        _estimates(Estimator.PEOPLE_ALONE, table, _people_alone(plan)),
        _estimates(Estimator.POST_STRATIFIED, table, _post_stratified(plan)),
        _estimates(Estimator.DIFFERENCE, table, _difference(plan)),
        _estimates(Estimator.RATIO_BY_CHECK, table, _ratio(plan, "by_group", None)),
    )


def checked_propositions(every: Sequence[Checkable], said: Mapping[int, bool | None]) -> JudgedClusters | None:
    """The judge's verdicts on propositions by entry and quartile, beside what people said; None without propositions.

    Args: as in `estimates_by_check`.
    """
    propositions = [one for one in every if one.unit is not None and one.quartile is not None]
    if not propositions:
        return None
    known = [said.get(one.unit) if one.unit is not None else None for one in propositions]
    return _by_quartile(_counted(propositions, known, [one.quartile - 1 for one in propositions if one.quartile]))


def estimates_by_gold(
    quartiles: pa.Table, judgments: pa.Table, claims: Sequence[GoldClaim], plan: ExtractionPlan
) -> Estimates:
    """The ratio estimator by the judge's errors on a gold set, and by what the audit of its screen found.

    It takes the judge to err on a proposition beside its signals as often as on a claim beside its passage, and to do
    so alike in each quartile.
    """
    hits, judged = (quartiles[name].to_numpy().astype(np.int64).reshape(-1, QUARTILES) for name in ("hits", "judged"))
    nothing = np.zeros_like(judged)
    population = JudgedClusters(hits, judged, nothing, nothing, nothing, nothing)
    table = with_gold(population, gold_table(claims, judgments, groups=QUARTILES))
    screened = _screened(
        [str(entry_id) for entry_id in quartiles["entry_id"].to_pylist()[::QUARTILES]], judgments, plan
    )
    return _estimates(Estimator.RATIO_BY_GOLD, table, _ratio(plan, "pooled", screened))


def corrected_precision(every: Sequence[Checkable], said: Mapping[str, bool | None], plan: ExtractionPlan) -> Cell:
    """The share of signals that follow from their span, by the verdicts on all spans and people's on some.

    What the judge turned down and none of which people saw counts as not supported: nothing speaks for it.

    Args:
        every: what may be checked, and what the judge said of it.
        said: what people said of the drawn spans, by their signals; None where they were unsure.
        plan: the level of the one-sided bound.

    """
    table = checked_spans(every, said)
    if table is None:
        return Cell(None, None, "no span was judged")
    found = _cell(lambda: post_stratified_share(table, group=0, level=plan.guard.level, tails="lower"))
    if found.interval is None:
        return found
    return replace(found, interval=replace(found.interval, high=1.0))  # as the exact bound of the guard is written


def checked_spans(every: Sequence[Checkable], said: Mapping[str, bool | None]) -> JudgedClusters | None:
    """The judge's verdicts on spans by entry, beside what people said; None where it judged none.

    Args: as in `corrected_precision`.
    """
    spans = [one for one in every if one.signal_id is not None and one.supported is not None]
    if not spans:
        return None
    known = [said.get(one.signal_id) if one.signal_id is not None else None for one in spans]
    checked = [one for one, label in zip(spans, known, strict=True) if label is not None]
    if checked and all(one.supported for one in checked):
        known = [label if one.supported else False for one, label in zip(spans, known, strict=True)]
    return _counted(spans, known, [0] * len(spans))


def _estimates(estimator: Estimator, table: JudgedClusters, contrast: _Contrast) -> Estimates:
    together = JudgedClusters(*(counts.sum(axis=1, keepdims=True) for counts in table.columns))
    one_of = np.eye(QUARTILES, dtype=np.int64).tolist()
    return Estimates(
        estimator,
        pooled=_cell(lambda: contrast(together, (1,), "two")),
        by_quartile=tuple(_cell(lambda only=only: contrast(table, only, "two")) for only in one_of),  # type: ignore[misc]
        first_less_last=_cell(lambda: contrast(table, _FIRST_LESS_LAST, "two")),
        bound=_cell(lambda: contrast(table, _FIRST_LESS_LAST, "upper")),
    )


def _cell(found: Callable[[], _Found]) -> Cell:
    try:
        said = found()
    except JudgeTooPoor as refusal:
        return Cell(None, None, str(refusal), too_poor=True)
    except Undefined as refusal:
        return Cell(None, None, str(refusal))
    return Cell(float(said.estimate), said.interval, None)


def _people_alone(plan: ExtractionPlan) -> _Contrast:
    def contrast(table: JudgedClusters, weights: Sequence[int], tails: Tails) -> _Found:
        return _of_shares(table.known_positives, table.checked, weights, tails, plan)

    return contrast


def _difference(plan: ExtractionPlan) -> _Contrast:
    trust = plan.calibration.trust

    def contrast(table: JudgedClusters, weights: Sequence[int], tails: Tails) -> _Found:
        if (table.checked == table.judged).all():  # people labelled all, and the judge has nothing to add
            return _of_shares(table.known_positives, table.checked, weights, tails, plan)
        return prediction_powered_contrast(
            table,
            weights,
            trust="tuned" if trust == "tuned" else float(trust),
            level=_level(tails, plan),
            tails=tails,
        )

    return contrast


def _post_stratified(plan: ExtractionPlan) -> _Contrast:
    def contrast(table: JudgedClusters, weights: Sequence[int], tails: Tails) -> _Found:
        if min(weights) < 0:
            ends = JudgedClusters(*(counts[:, _ENDS] for counts in table.columns))
            return post_stratified_difference(ends, level=_level(tails, plan), tails=tails)
        return post_stratified_share(table, group=list(weights).index(1), level=_level(tails, plan), tails=tails)

    return contrast


def _ratio(plan: ExtractionPlan, errors: Errors, screened: Screened | None) -> _Contrast:
    rule = plan.bootstrap

    def contrast(table: JudgedClusters, weights: Sequence[int], tails: Tails) -> _Found:
        parts = screened and (screened.turned_away, screened.audited, screened.missed)
        if parts and len(weights) == 1:
            parts = tuple(part.sum(axis=1, keepdims=True) for part in parts)
        return corrected_contrast(
            table,
            weights,
            errors=errors,
            screened=Screened(*parts) if parts else None,
            level=_level(tails, plan),
            tails=tails,
            resamples=rule.resamples,
            valid_at_least=rule.fewest_valid,
            ranks=rule.ranks,
            rng=np.random.default_rng(plan.seed),
        )

    return contrast


def _of_shares(
    supported: Counts, labelled: Counts, weights: Sequence[int], tails: Tails, plan: ExtractionPlan
) -> _Found:
    level = _level(tails, plan)
    if min(weights) < 0:
        return share_difference(supported[:, _ENDS], labelled[:, _ENDS], level=level, tails=tails)
    group = list(weights).index(1)
    return share_interval(supported[:, group], labelled[:, group], level=level, tails=tails)


def _level(tails: Tails, plan: ExtractionPlan) -> Fraction:
    return plan.bootstrap.level if tails == "two" else plan.bootstrap.one_sided_level


def _counted(judged: Sequence[Checkable], known: Sequence[bool | None], groups: Sequence[int]) -> JudgedClusters:
    """The judge's verdicts by entry and group, beside what people said; what it left undecided is no support."""
    return tabulated(
        [int(bool(one.supported)) for one in judged],
        [NOT_CHECKED if label is None else int(label) for label in known],
        [one.entry_id for one in judged],
        groups,
    )


def _by_quartile(table: JudgedClusters) -> JudgedClusters:
    """The table with a column for each quartile, also for those that no proposition stands in."""
    lacking = QUARTILES - table.judged.shape[1]
    return JudgedClusters(*(np.pad(counts, ((0, 0), (0, lacking))) for counts in table.columns))


def _screened(entries: Sequence[str], judgments: pa.Table, plan: ExtractionPlan) -> Screened:
    """What the screen turned away and the audit of it, by entry and quartile.

    An audit that found no support, and of one signal does not know, is left out: it was not seen to the end. So is what
    a signal without label leaves undecided all the same, since it is not among the judged.
    """
    place = {entry_id: number for number, entry_id in enumerate(entries)}
    away, audited, missed = (np.zeros((len(entries), QUARTILES), dtype=np.int64) for _ in range(3))
    rows = _of_turned_away(judgments).to_pylist()
    tried: dict[int, list[str | None]] = {}
    for row in rows:
        if row["kind"] in (Kind.AUDIT, Kind.SIGNAL):
            tried.setdefault(row["unit"], []).append(row["label"])
    in_audit = {row["unit"] for row in rows if row["kind"] == Kind.AUDIT}
    unlabelled = {row["unit"] for row in rows if row["kind"] == Kind.SIGNAL and row["label"] is None}
    undecided = unlabelled if plan.judging.unreadable_signal == "undecided" else set()
    for row in rows:
        if row["kind"] != Kind.SCREEN or row["label"] != Label.NOT_SUPPORTED or row["unit"] in undecided:
            continue
        labels, cell = tried.get(row["unit"], []), (place[row["entry_id"]], row["quartile"] - 1)
        supported = Label.SUPPORTED in labels
        away[cell] += 1
        audited[cell] += row["unit"] in in_audit and (supported or None not in labels)
        missed[cell] += row["unit"] in in_audit and supported
    return Screened(away, audited, missed)


def _of_turned_away(judgments: pa.Table) -> pa.Table:
    """What was asked of the propositions that the screen turned away."""
    asked = rows_where(judgments, "kind", [Kind.SCREEN, Kind.SIGNAL, Kind.AUDIT])
    asked = asked.select(["unit", "kind", "entry_id", "quartile", "label"])
    screens = rows_where(asked, "kind", [Kind.SCREEN])
    return rows_where(asked, "unit", rows_where(screens, "label", [Label.NOT_SUPPORTED])["unit"])
