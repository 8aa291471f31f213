"""Shares corrected by the ratio estimator, under a cluster bootstrap that draws verdicts and checks together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewObservations
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import Counts, Reals, counts
from eval_pipeline.stats.bootstrap import Bootstrap, Ranks, bootstrap, of_floats, require_valid
from eval_pipeline.stats.correction import rogan_gladen
from eval_pipeline.stats.judged_clusters import Errors, JudgedClusters, checks, weighed
from eval_pipeline.stats.resampling import resampled_sums, seed_of
from eval_pipeline.stats.scalars import whole_number
from eval_pipeline.stats.tails import Tails


@dataclass(frozen=True, slots=True)
class Screened:
    """What a judge turned away at first sight, of shape (k, g) like its verdicts, and what a closer look found there.

    Of `turned_away` items, none of which counts as supported, a random part was looked at closely: `audited`. `missed`
    are those of them that it then called supported.
    """

    turned_away: Counts
    audited: Counts
    missed: Counts

    def __post_init__(self) -> None:
        for name in ("turned_away", "audited", "missed"):
            object.__setattr__(self, name, counts(getattr(self, name), name))
        if self.turned_away.ndim != 2 or not self.turned_away.shape == self.audited.shape == self.missed.shape:
            raise InputRefused("screened: found other shapes, expected one shape (clusters, groups)")
        if (self.missed > self.audited).any() or (self.audited > self.turned_away).any():
            raise InputRefused("screened: found more missed than audited or more audited than turned away")


def corrected_contrast(
    table: JudgedClusters,
    weights: Sequence[Fraction | int],
    *,
    errors: Errors,
    screened: Screened | None = None,
    level: Number,
    tails: Tails,
    resamples: int,
    valid_at_least: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> Bootstrap[float]:
    """Percentile interval of sum_j w_j theta_j, theta_j the share of group j corrected for the judge's errors.

    Clusters with checks, clusters without, and clusters of a gold set are drawn each among themselves, as they were
    sampled, and all counts of a cluster together, so that the interval carries what the checks leave uncertain of the
    judge. Where one of the first two would hold fewer than two clusters, they are drawn together.

    Args:
        table: what the judge said and what was checked; see `JudgedClusters`, `with_gold`.
        weights: length g, 1 for a share, 1 and -1 for a difference; a group of weight 0 has no part in it, but for its
            checks if errors are pooled.
        errors: whether the judge's error rates are those of each group, or the same in all.
        screened: what its first sight turned away, which then counts as supported at the rate at which the audited
            part of it was; None where every item was looked at closely.
        level, tails, resamples, ranks, rng: as in `ratio_contrast`.
        valid_at_least: the fewest resamples in which each group was judged, has known positives and negatives, and a
            judge better than chance.

    Raises:
        RatioUndefined: nothing was judged in a group. TooFewObservations: no known positive, or no known negative, or
            nothing audited of what was turned away.
        JudgeTooPoor: sensitivity + specificity <= 1. TooFewClusters: fewer than two clusters.
        ThinResamples: fewer than `valid_at_least` resamples are valid.
        InputRefused: weights of another length or all 0, or out of range; more turned away than not supported.
    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107(1), 71-76; Field & Welsh (2007), JRSS B 69(3),
        369-390.

    """
    used, resamples = weighed(weights, table), whole_number(resamples, "resamples", at_least=1)
    counted = [table.supported, table.judged, *checks(table, errors), *_audit(screened, table)]
    columns = np.stack(counted, axis=1)[:, :, used]
    shares = [_corrected(group) for group in columns.sum(axis=0).T]
    sums = np.zeros((resamples, len(counted) * len(used)), dtype=np.int64)
    for stratum in _strata(table):
        flat = columns[stratum].reshape(int(stratum.sum()), -1)
        sums += resampled_sums(list(flat.T), resamples=resamples, rng=rng)
    draws = _draws(sums.reshape(resamples, len(counted), len(used)), [float(weights[j]) for j in used])
    require_valid(
        draws,
        resamples=resamples,
        valid_at_least=valid_at_least,
        what="have known positives and negatives, an audit of what was turned away, and a judge better than chance",
        remedy="check more judgments",
    )
    estimate = float(sum(Fraction(weights[j]) * share for j, share in zip(used, shares, strict=True)))
    statistic = of_floats(estimate, draws)
    return bootstrap(
        statistic, level=level, tails=tails, method="percentile", ranks=ranks, resamples=resamples, seed=seed_of(rng)
    )


def corrected_of(counts: Counts) -> Fraction:
    """The corrected share of six counts, in the order of the fields of `JudgedClusters`.

    Raises: RatioUndefined, TooFewObservations, JudgeTooPoor: as in `corrected_contrast`.
    """
    return _corrected(np.concatenate([counts, np.zeros(3, dtype=np.int64)]))


def _corrected(counts: Counts) -> Fraction:
    """The corrected share of nine counts: the six, and what was turned away, audited and missed."""
    supported, judged, true_positives, false_negatives, true_negatives, false_positives, away, audited, missed = (
        int(n) for n in counts
    )
    if not judged:
        raise RatioUndefined("nothing was judged in a group; there is nothing to estimate")
    if away and not audited:
        raise TooFewObservations("nothing of what was turned away was audited; audit a share of it")
    if not true_positives + false_negatives or not true_negatives + false_positives:
        raise TooFewObservations(
            "no judgment that is supported in truth was checked, or none that is not, so that the judge's errors cannot"
            " be measured; check more judgments"
        )
    found_later = Fraction(away * missed, audited) if away else Fraction(0)
    return rogan_gladen(
        (supported + found_later) / judged,
        sensitivity=Fraction(true_positives, true_positives + false_negatives),
        specificity=Fraction(true_negatives, true_negatives + false_positives),
    ).share


def _strata(table: JudgedClusters) -> Iterator[npt.NDArray[np.bool_]]:
    """Which clusters are drawn among themselves."""
    of_population, checked = table.judged.sum(axis=1) > 0, table.checked.sum(axis=1) > 0
    if (of_gold := ~of_population & checked).any():
        yield of_gold
    parts = of_population & checked, of_population & ~checked
    yield from parts if min(part.sum() for part in parts) >= 2 else (of_population,)


def _audit(screened: Screened | None, table: JudgedClusters) -> list[Counts]:
    """The three counts of the screen, as far as the table is of the population; zeros for a gold set."""
    if screened is None:
        return [np.zeros_like(table.judged)] * 3
    rows, groups = screened.turned_away.shape
    if groups != table.judged.shape[1] or rows > len(table.judged):
        raise InputRefused(f"screened: found shape {(rows, groups)}, expected the groups and clusters of the table")
    if (screened.turned_away > (table.judged - table.supported)[:rows]).any():
        raise InputRefused("screened: found more turned away than the judge did not support, expected at most as many")
    missing = len(table.judged) - rows
    return [np.pad(part, ((0, missing), (0, 0))) for part in (screened.turned_away, screened.audited, screened.missed)]


def _draws(sums: Counts, weights: Sequence[float]) -> Reals:
    """The contrast of each resample in which it is defined; `sums` has shape (resamples, 9, groups)."""
    supported, judged, true_positives, false_negatives, true_negatives, false_positives = sums.transpose(1, 0, 2)[:6]
    away, audited, missed = sums.transpose(1, 0, 2)[6:]
    positives, negatives = true_positives + false_negatives, true_negatives + false_positives
    # Sensitivity + specificity > 1, in whole numbers.
    better = true_positives * negatives + true_negatives * positives > positives * negatives
    valid = ((judged > 0) & better & ((away == 0) | (audited > 0))).all(axis=1)
    found_later = away * missed / np.maximum(audited, 1)
    observed, sensitivity, specificity = (
        part[valid] / whole[valid]
        for part, whole in ((supported + found_later, judged), (true_positives, positives), (true_negatives, negatives))
    )
    shares = np.clip((observed + specificity - 1) / (sensitivity + specificity - 1), 0, 1)
    return sum((weight * shares[:, j] for j, weight in enumerate(weights)), np.zeros(len(shares)))
