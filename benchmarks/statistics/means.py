"""Coverage of the intervals of a mean of scores in [0, 1], and of the paired difference of two: tables for a page."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.bootstrap import Method
from eval_pipeline.stats.bounded_mean import bounded_difference, bounded_mean
from eval_pipeline.stats.cluster_mean import cluster_mean

Scores = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Scores]
Tally = Callable[[Sequence[Callable[[], Interval]], float], object]

MEANS: tuple[tuple[str, Draw, float], ...] = (
    ("yes or no", lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9),
    ("graded, beta (8, 2)", lambda rng, n: rng.beta(8, 2, n), 0.8),
    ("1, but one in ten anything", lambda rng, n: np.where(rng.random(n) < 0.1, rng.random(n), 1.0), 0.95),
    ("1, but one in twenty anything", lambda rng, n: np.where(rng.random(n) < 0.05, rng.random(n), 1.0), 0.975),
    (
        ".8, .9 or 1, but one in thirty 0",
        lambda rng, n: np.where(rng.random(n) < 1 / 30, 0.0, rng.choice([0.8, 0.9, 1.0], n)),
        0.87,
    ),
    ("mean of 5 epochs, alike by .2", lambda rng, n: rng.binomial(5, rng.beta(3.2, 0.8, n)) / 5, 0.8),
    ("mean of 5 epochs, alike by .2", lambda rng, n: rng.binomial(5, rng.beta(3.8, 0.2, n)) / 5, 0.95),
)


def of_means(tally: Tally, *, studies: int, resamples: int, seed: int, level: Number) -> list[str]:
    """The tables for means and for paired differences."""
    rows = ["| items | scores | mean | percentile | BCa | Student | `bounded_mean` |", "|---|---|---|---|---|---|---|"]
    pairs = ["| items | difference | percentile | Student | `bounded_difference` |", "|---|---|---|---|---|"]
    for items in (20, 50, 100):
        for name, draw, truth in MEANS:
            rng = np.random.default_rng(seed)
            drawn = [draw(rng, items) for _ in range(studies)]
            methods = (
                *(partial(_bootstrapped, method=method, resamples=resamples, level=level) for method in _METHODS),
                partial(_student, level=level),
                partial(_bounded, level=level),
            )
            cells = [str(tally([partial(method, scores) for scores in drawn], truth)) for method in methods]
            rows.append(f"| {items} | {name} | {truth} | " + " | ".join(cells) + " |")
        for lost in (0.0, 0.1):
            rng = np.random.default_rng(seed)
            both = [_pairs(rng, items, lost) for _ in range(studies)]
            gains = [one - other for one, other in both]
            cells = [
                str(tally([partial(method, gain) for gain in gains], 0.8 * lost))
                for method in (
                    partial(_bootstrapped, resamples=resamples, level=level),
                    partial(_student, level=level),
                )
            ]
            cells.append(str(tally([partial(_differing, *pair, level=level) for pair in both], 0.8 * lost)))
            pairs.append(f"| {items} | {0.8 * lost:.2f} | " + " | ".join(cells) + " |")
    return [
        "",
        "## Means of scores in [0, 1]",
        "One value an item, such as the mean of its epochs. Two-sided intervals, with their mean width.",
        "",
        *rows,
        "",
        "## Two systems on the same items",
        "Each value is the mean of 4 epochs. The items are hard or easy for both; the second system keeps all, or nine"
        " tenths, of the first one's chance.",
        "",
        *pairs,
    ]


_METHODS: tuple[Method, ...] = ("percentile", "bca")


def _bootstrapped(scores: Scores, *, resamples: int, level: Number, method: Method = "percentile") -> Interval:
    rng = np.random.default_rng(1)
    return cluster_mean(
        scores,
        np.arange(len(scores)),
        level=level,
        tails="two",
        method=method,
        resamples=resamples,
        ranks="symmetric",
        rng=rng,
    ).interval


def _student(scores: Scores, *, level: Number) -> Interval:
    half = float(t.isf((1 - float(level)) / 2, len(scores) - 1) * scores.std(ddof=1) / np.sqrt(len(scores)))
    return Interval(float(scores.mean()) - half, float(scores.mean()) + half, float(level))


def _bounded(scores: Scores, *, level: Number) -> Interval:
    return bounded_mean(scores, level=level, tails="two").interval


def _differing(first: Scores, second: Scores, *, level: Number) -> Interval:
    return bounded_difference(first, second, level=level, tails="two").interval


def _pairs(rng: np.random.Generator, items: int, lost: float) -> tuple[Scores, Scores]:
    chance = rng.beta(6, 1.5, items)
    return rng.binomial(4, chance) / 4, rng.binomial(4, (1 - lost) * chance) / 4
