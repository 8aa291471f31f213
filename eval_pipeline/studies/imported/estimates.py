"""What the scores of a log show: the mean of each metric with its interval, and how two systems differ."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from eval_pipeline.errors import NoVariation
from eval_pipeline.importers.results import Headline, Results, Row
from eval_pipeline.records import Interval
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.bounded_mean import bounded_difference, bounded_mean
from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.stats.paired_bootstrap import paired_difference, shift_test
from eval_pipeline.studies.imported.plan import ImportedPlan

EXACT = "exact binomial, an item a trial"
SHARES = "yes or no by item, as many trials as the items are worth"
MEANS = "means by item, as many trials as they are worth"

_NEAR = 1e-9  # two numbers that are one, but for rounding

ByItem = Mapping[str, Sequence[Fraction]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of a metric of a system, each item counting once, by the mean of its scores.

    `worst_low` and `worst_high` are what the mean would be if all that is undecided were 0, or were 1. The mean is None
    where no item has a score, and the interval where fewer than two have.
    """

    system: str
    metric: str
    items: int
    scored_items: int
    scores: int
    undecided: dict[str, int]
    mean: Fraction | None
    interval: Interval | None
    method: str | None
    worst_low: Fraction
    worst_high: Fraction

    @property
    def share_undecided(self) -> Fraction:
        """Of all scores that should be there."""
        missing = sum(self.undecided.values())
        return Fraction(missing, self.scores + missing)


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of the first system less that of the second, over the items that both have a score on.

    `left_out` are the items that only one of them has a score on. The numbers are None where the plan asks for more
    items, and the p-value also where all differences are the same.
    """

    metric: str
    first: str
    second: str
    items: int
    left_out: int
    mean: Fraction | None
    interval: Interval | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number that the log states, beside ours; ours is None where nothing was scored.

    `as_zero` are the kinds of undecided scores that, counted as 0, give the stated number; None where none do.
    """

    system: str
    metric: str
    name: str
    stated: float
    ours: float | None
    differs: bool
    as_zero: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a log shows, in the order of systems and metrics."""

    estimates: tuple[Estimate, ...]
    differences: tuple[Difference, ...]
    comparisons: tuple[Comparison, ...]


def findings(results: Results, plan: ImportedPlan) -> Findings:
    """Estimate each metric, compare the systems in pairs, and hold the log's own numbers against ours."""
    table, scored = _tables(results), scores_by_item(results)
    estimates = tuple(_estimate(*key, rows, scored[key], plan) for key, rows in table.items())
    comparisons = tuple(_compared(one, table.get((one.system, one.metric), [])) for one in results.headlines)
    return Findings(estimates, tuple(_differences(scored, plan)), comparisons)


def scores_by_item(results: Results) -> dict[tuple[str, str], dict[str, list[Fraction]]]:
    """For each system and metric, the scores of each item that has one."""
    return {key: _by_item(rows) for key, rows in _tables(results).items()}


def _tables(results: Results) -> dict[tuple[str, str], list[Row]]:
    table: dict[tuple[str, str], list[Row]] = {}
    for row in results.rows:
        table.setdefault((row.system, row.metric), []).append(row)
    return table


def _by_item(rows: Sequence[Row]) -> dict[str, list[Fraction]]:
    """The scores of each item that has one, as the decimals that they print as."""
    scores: dict[str, list[Fraction]] = {}
    for row in rows:
        if row.score is not None:
            scores.setdefault(row.item, []).append(Fraction(repr(row.score)))
    return scores


def _estimate(system: str, metric: str, rows: Sequence[Row], scored: ByItem, plan: ImportedPlan) -> Estimate:
    interval, method = interval_of(scored, plan.intervals.level)
    worst_low, worst_high = _worst(rows, scored)
    return Estimate(
        system=system,
        metric=metric,
        items=len({row.item for row in rows}),
        scored_items=len(scored),
        scores=sum(len(scores) for scores in scored.values()),
        undecided=dict(sorted(Counter(row.undecided.value for row in rows if row.undecided).items())),
        mean=_mean([_mean(scores) for scores in scored.values()]) if scored else None,
        interval=interval,
        method=method,
        worst_low=worst_low,
        worst_high=worst_high,
    )


def interval_of(scored: ByItem, level: Fraction) -> tuple[Interval | None, str | None]:
    """The interval that is known to hold for such scores, and what it is."""
    items = list(scored.values())
    if len(items) < 2:
        return None, None
    yes_or_no = all(score in (0, 1) for scores in items for score in scores)
    times = {len(scores) for scores in items}
    if yes_or_no and times == {1}:
        return exact_interval(int(sum(scores[0] for scores in items)), len(items), level=level), EXACT
    if yes_or_no and len(times) == 1:
        successes = [int(sum(scores)) for scores in items]
        return share_interval(successes, [len(scores) for scores in items], level=level, tails="two").interval, SHARES
    return bounded_mean([float(_mean(scores)) for scores in items], level=level, tails="two").interval, MEANS


def _worst(rows: Sequence[Row], scored: ByItem) -> tuple[Fraction, Fraction]:
    times = Counter(row.item for row in rows)
    undecided = Counter(row.item for row in rows if row.undecided)
    lows = [sum(scored.get(item, ()), Fraction(0)) / n for item, n in times.items()]
    highs = [low + Fraction(undecided[item], n) for low, (item, n) in zip(lows, times.items(), strict=True)]
    return _mean(lows), _mean(highs)


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _differences(scored: Mapping[tuple[str, str], ByItem], plan: ImportedPlan) -> Iterator[Difference]:
    """Of each two systems that share a metric."""
    metrics: dict[str, list[str]] = {}
    for system, metric in scored:
        metrics.setdefault(metric, []).append(system)
    for metric, systems in sorted(metrics.items()):
        for first, second in combinations(systems, 2):
            yield _difference(metric, first, second, scored, plan)


def _difference(
    metric: str, first: str, second: str, scored: Mapping[tuple[str, str], ByItem], plan: ImportedPlan
) -> Difference:
    one, other = scored[first, metric], scored[second, metric]
    shared = sorted(one.keys() & other.keys())
    left_out = len(one.keys() | other.keys()) - len(shared)
    if len(shared) < plan.intake.smallest_items:
        return Difference(metric, first, second, len(shared), left_out, None, None, None)
    pairs = [(_mean(one[item]), _mean(other[item])) for item in shared]
    columns = [[float(value) for value in column] for column in zip(*pairs, strict=True)]
    return Difference(
        metric,
        first,
        second,
        len(shared),
        left_out,
        _mean([a - b for a, b in pairs]),
        bounded_difference(*columns, level=plan.intervals.level, tails="two").interval,
        _p_value(pairs, plan),
    )


def _p_value(pairs: Sequence[tuple[Fraction, Fraction]], plan: ImportedPlan) -> float | None:
    """How surprising the difference is if there is none; None where every pair differs by the same."""
    gains = [float(one - other) for one, other in pairs]
    rng = np.random.default_rng(plan.seed)
    resamples, level = plan.intervals.resamples, plan.intervals.level
    if any(value not in (0, 1) for pair in pairs for value in pair):
        try:
            return shift_test(gains, 0.0, alternative="two-sided", resamples=resamples, rng=rng).p_value
        except NoVariation:
            return None
    if len(set(gains)) == 1:
        return None
    one, other = ([int(value) for value in column] for column in zip(*pairs, strict=True))
    return paired_difference(
        one,
        other,
        range(len(pairs)),
        level=level,
        alternative="two-sided",
        method="percentile",
        resamples=resamples,
        ranks="symmetric",
        rng=rng,
    ).p_value


def _compared(headline: Headline, rows: Sequence[Row]) -> Comparison:
    ours = _mean_counting(rows, ())
    kinds = sorted({row.undecided.value for row in rows if row.undecided})
    as_zero = [some for n in range(1, len(kinds) + 1) for some in combinations(kinds, n)]
    explained = (some for some in as_zero if _states(headline, _mean_counting(rows, some)))
    differs = not _states(headline, ours)
    return Comparison(
        headline.system,
        headline.metric,
        headline.name,
        headline.value,
        ours,
        differs,
        next(explained, None) if differs else None,
    )


def _mean_counting(rows: Sequence[Row], as_zero: Sequence[str]) -> float | None:
    """The mean of the items' means where these kinds of undecided scores count as 0."""
    counted = [replace(row, score=0.0) if row.undecided and row.undecided.value in as_zero else row for row in rows]
    scored = _by_item(counted)
    return float(_mean([_mean(scores) for scores in scored.values()])) if scored else None


def _states(headline: Headline, mean: float | None) -> bool:
    return mean is not None and abs(mean - headline.value) <= headline.rounded + _NEAR
