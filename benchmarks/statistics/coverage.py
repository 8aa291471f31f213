"""How often intervals at a nominal 95 % hold the truth, over made-up studies; writes docs/coverage.md.

Run from the root of the project: python -m benchmarks.statistics.coverage. It takes some ten minutes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.statistics.means import of_means
from eval_pipeline.errors import Undefined
from eval_pipeline.records import Interval
from eval_pipeline.stats.bootstrap import Method, Ranks
from eval_pipeline.stats.cluster_share import share_difference, share_interval
from eval_pipeline.stats.corrected_ratio import corrected_contrast
from eval_pipeline.stats.corrected_share import corrected_difference, corrected_share
from eval_pipeline.stats.judged_clusters import JudgedClusters
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from eval_pipeline.stats.post_stratified import post_stratified_difference, post_stratified_share
from eval_pipeline.stats.prediction_powered import Trust, prediction_powered_contrast
from eval_pipeline.stats.tails import Tails
from tests.stats.simulate import Table, checked_by_verdict, clustered, holds, judged

STUDIES, RESAMPLES, SEED = 1_000, 1_000, 2024
LEVEL = Fraction(95, 100)
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"

HEAD = f"""# Measured coverage

<!-- audit: exempt, simulated coverage, which benchmarks/statistics/coverage.py prints whole -->

How often an interval holds the truth, in percent of the studies that gave one, over {STUDIES:,} made-up studies a cell
with {RESAMPLES:,} resamples each. Nominal is 95 %; a cell near 95 is uncertain by ± 1.4 points, more where studies are
undefined. In brackets stands the mean width of two-sided intervals; "undefined" counts studies that the estimator
refused, such as those in which no wrong judgment was checked. `python -m benchmarks.statistics.coverage` makes this
page.

An entry has 1 to 8 propositions in each of two quartiles. Recall varies between entries, with an intraclass correlation
of .2, and the quartiles of an entry go together.

- The preregistered intervals are percentiles of a bootstrap over entries. With 90 entries and recall away from 0 and 1
  they come within two points of what they promise. With 20 entries, or near 0 and 1 where few entries fail and a
  resample can only repeat them, they fall short. BCa helps the interval of a recall near 0 and 1; it worsens the bound
  of a loss.
- `share_interval`, `share_difference`, `corrected_share` and `corrected_difference` come within a point and a half of
  their level or lie above it: they take from the entries how many independent propositions the data are worth. Where
  they differ from the bootstrap's, believe these.
- `post_stratified_share` and `post_stratified_difference` hold however the checks are drawn and wherever the judge
  errs, while an entry has up to 8 propositions in a quartile. With 8 to 20, and recall near 1, entries show too little
  of how alike their propositions are, and the lower bound of a recall falls short by up to 7 points; the bound of a
  loss holds.
- Recall as it was judged, uncorrected, is another quantity: its interval (`share_interval`, `share_difference`) misses
  the truth, the more so the more is judged.
- `bounded_mean` and `bounded_difference` of scores in [0, 1] come near their level where a bootstrap and Student's
  interval fall far short: where most scores are 1. All fall short of scores that are alike but for a rare 0.
- Of the prediction-powered estimator, fix the trust beforehand: a trust tuned to few labels is little more than noise
  where labels hardly vary.
"""


@dataclass(frozen=True)
class Tally:
    """Over the studies of a cell: how often the interval held the truth, its mean width, how often there was none."""

    held: int
    width: float
    undefined: int
    studies: int

    def __str__(self) -> str:
        some = self.studies - self.undefined
        if not some:
            return "undefined"
        share = f"{100 * self.held / some:.1f}"
        width = f" ({self.width:.3f})" if self.width else ""
        return share + width + (f", undefined {self.undefined}" if self.undefined else "")


def tally(intervals: Sequence[Callable[[], Interval]], truth: float) -> Tally:
    """What becomes of the intervals of one method over all studies."""
    held, widths, undefined = 0, [], 0
    for interval in intervals:
        try:
            found = interval()
        except Undefined:
            undefined += 1
            continue
        held += holds(found, truth)
        if found.low is not None and found.high is not None:
            widths.append(float(found.high - found.low))
    return Tally(held, float(np.mean(widths)) if widths else 0.0, undefined, len(intervals))


def bootstrapped(
    hits: Table, trials: Table, weights: tuple[int, ...], tails: Tails, method: Method, ranks: Ranks
) -> Callable[[], Interval]:
    """The interval of a contrast of recalls as the plans order it."""
    return lambda: (
        ratio_contrast(
            hits,
            trials,
            weights,
            level=LEVEL,
            tails=tails,
            method=method,
            resamples=RESAMPLES,
            valid_at_least=RESAMPLES // 2,
            ranks=ranks,
            rng=np.random.default_rng(SEED),
        ).interval
    )


def share_of(hits: Table, trials: Table) -> Interval:
    """The exact interval of the recall in quartile 1."""
    return share_interval(hits[:, 0], trials[:, 0], level=LEVEL, tails="two").interval


def difference_of_shares(hits: Table, trials: Table) -> Interval:
    """The upper bound of the loss from two such intervals."""
    return share_difference(hits, trials, level=LEVEL, tails="upper").interval


def of_recall() -> list[str]:
    """The table for the recall in one quartile, taken as it was judged."""
    rows = ["| entries | recall | percentile | BCa | `share_interval` |", "|---|---|---|---|---|"]
    for entries in (20, 90):
        for rate in (0.05, 0.5, 0.8, 0.95, 0.99):
            hits, trials = clustered(np.random.default_rng(SEED), STUDIES, entries, (rate,))
            studies = list(zip(hits, trials, strict=True))
            cells = [
                *(
                    tally([bootstrapped(h, t, (1,), "two", method, "symmetric") for h, t in studies], rate)
                    for method in ("percentile", "bca")
                ),
                tally([partial(share_of, h, t) for h, t in studies], rate),
            ]
            rows.append(f"| {entries} | {rate} | " + " | ".join(str(cell) for cell in cells) + " |")
    return ["", "## Recall", "Two-sided intervals of the recall in one quartile, with their mean width.", "", *rows]


def of_loss() -> list[str]:
    """The table for the loss from quartile 1 to quartile 4, taken as it was judged."""
    rows = [
        "| entries | recall in quartile 1, 4 | percentile, symmetric ranks | percentile, rank floor(.95 v) | BCa |"
        " `share_difference` |",
        "|---|---|---|---|---|---|",
    ]
    bounds: tuple[tuple[Method, Ranks], ...] = (
        ("percentile", "symmetric"),
        ("percentile", "floor"),
        ("bca", "symmetric"),
    )
    for entries in (20, 90):
        for rates in ((0.5, 0.5), (0.8, 0.8), (0.8, 0.7), (0.95, 0.95), (0.99, 0.99), (0.05, 0.02)):
            hits, trials = clustered(np.random.default_rng(SEED), STUDIES, entries, rates)
            studies, apart = list(zip(hits, trials, strict=True)), rates[0] - rates[1]
            cells = [
                tally([bootstrapped(h, t, (1, -1), "upper", method, ranks) for h, t in studies], apart)
                for method, ranks in bounds
            ]
            cells.append(tally([partial(difference_of_shares, h, t) for h, t in studies], apart))
            rows.append(f"| {entries} | {rates[0]}, {rates[1]} | " + " | ".join(str(cell) for cell in cells) + " |")
    title = "Upper bounds of recall in quartile 1 less recall in quartile 4."
    return ["", "## The bound of the loss", title, "", *rows]


def of_corrections() -> list[str]:
    """The tables for the corrected recall and its loss."""
    share = [
        "| entries, checked | recall | judge: sensitivity, specificity | uncorrected | bootstrap of the ratio |"
        " `corrected_share` | `post_stratified_share` | prediction-powered, trust tuned | trust .6 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    loss = [
        "| entries, checked | recall in quartile 1, 4 | judge | uncorrected | bootstrap of the ratio |"
        " `corrected_difference` | `post_stratified_difference` | prediction-powered, trust tuned | trust .6 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for entries, checked, rates, sensitivity, specificity in (
        (90, 18, (0.8, 0.7), 0.95, 0.90),
        (90, 18, (0.8, 0.7), 0.80, 0.80),
        (90, 18, (0.97, 0.95), 0.95, 0.90),
        (90, 45, (0.8, 0.7), 0.95, 0.90),
        (20, 10, (0.8, 0.7), 0.95, 0.90),
        (20, 10, (0.95, 0.95), 0.95, 0.90),
        (20, 10, (0.05, 0.05), 0.90, 0.95),
    ):
        studies = judged(
            np.random.default_rng(SEED),
            STUDIES,
            entries,
            rates,
            sensitivity=sensitivity,
            specificity=specificity,
            checked=checked,
        )
        setting = f"{entries}, {checked}"
        judge = f"{sensitivity}, {specificity}"
        cells = corrected_cells(studies, [1, 0], "two", rates[0])
        share.append(f"| {setting} | {rates[0]} | {judge} | " + " | ".join(cells) + " |")
        cells = corrected_cells(studies, [1, -1], "upper", rates[0] - rates[1])
        loss.append(f"| {setting} | {rates[0]}, {rates[1]} | {judge} | " + " | ".join(cells) + " |")
    return [
        "",
        "## Corrected recall",
        "Entries are checked whole; the judge's error rates are taken as the same in both quartiles.",
        "",
        *share,
        "",
        "## The bound of the corrected loss",
        "",
        *loss,
    ]


def corrected_cells(studies: list[JudgedClusters], weights: list[int], tails: Tails, truth: float) -> list[str]:
    """The coverages of each correction over the studies."""

    def ratio(study: JudgedClusters) -> Interval:
        return corrected_contrast(
            study,
            weights,
            errors="pooled",
            level=LEVEL,
            tails=tails,
            resamples=RESAMPLES,
            valid_at_least=RESAMPLES // 2,
            ranks="symmetric",
            rng=np.random.default_rng(SEED),
        ).interval

    def effective(study: JudgedClusters) -> Interval:
        if weights[1]:
            return corrected_difference(study, errors="pooled", level=LEVEL, tails=tails).interval
        return corrected_share(study, errors="pooled", group=0, level=LEVEL, tails=tails).interval

    def strata(study: JudgedClusters) -> Interval:
        return by_strata(study, weights, tails)

    def uncorrected(study: JudgedClusters) -> Interval:
        if weights[1]:
            return difference_of_shares(study.supported, study.judged)
        return share_of(study.supported, study.judged)

    def difference(trust: Trust) -> Callable[[JudgedClusters], Interval]:
        return lambda study: prediction_powered_contrast(study, weights, trust=trust, level=LEVEL, tails=tails).interval

    methods = (uncorrected, ratio, effective, strata, difference("tuned"), difference(0.6))
    return [str(tally([lambda m=method, s=study: m(s) for study in studies], truth)) for method in methods]


def by_strata(study: JudgedClusters, weights: Sequence[int], tails: Tails) -> Interval:
    """The interval with the judge's verdicts as strata."""
    if weights[1]:
        return post_stratified_difference(study, level=LEVEL, tails=tails).interval
    return post_stratified_share(study, group=0, level=LEVEL, tails=tails).interval


def of_strata() -> list[str]:
    """The table for the judge's verdicts as strata, by how checks are drawn and how large entries are."""
    rows = [
        "| entries, checked | propositions | recall in quartile 1, 4 | entries: share | its lower bound | bound of the"
        " loss | by verdict: share | its lower bound | bound of the loss |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for entries, checked in ((90, 18), (90, 45), (20, 10), (20, 20)):
        for sizes in ((1, 8), (8, 20)):
            for rates in ((0.8, 0.7), (0.97, 0.97)):
                contrasts: tuple[tuple[tuple[int, int], Tails, float], ...] = (
                    ((1, 0), "two", rates[0]),
                    ((1, 0), "lower", rates[0]),
                    ((1, -1), "upper", rates[0] - rates[1]),
                )
                cells = [
                    str(tally([partial(by_strata, study, weights, tails) for study in studies], truth))
                    for studies in drawn_both_ways(entries, checked, sizes, rates)
                    for weights, tails, truth in contrasts
                ]
                setting = f"{entries}, {checked} | {sizes[0]} to {sizes[1]} | {rates[0]}, {rates[1]}"
                rows.append(f"| {setting} | " + " | ".join(cells) + " |")
    text = (
        "The judge's sensitivity is .9 and its specificity .85. Of the entries so many are checked whole, or by lot the"
        " same share of each verdict in each quartile."
    )
    return ["", "## The verdicts as strata", text, "", *rows]


def drawn_both_ways(
    entries: int, checked: int, sizes: tuple[int, int], rates: tuple[float, float]
) -> tuple[list[JudgedClusters], list[JudgedClusters]]:
    """Studies of which whole entries were checked, and those of which a share of each verdict was."""
    rng = np.random.default_rng(SEED)
    every = judged(rng, STUDIES, entries, rates, sensitivity=0.9, specificity=0.85, checked=entries, sizes=sizes)
    seen = (np.arange(entries) < checked)[:, None]
    whole = [
        JudgedClusters(study.supported, study.judged, *(np.where(seen, column, 0) for column in study.columns[2:]))
        for study in every
    ]
    share = checked / entries
    return whole, [checked_by_verdict(rng, study, of_yes=share, of_no=share) for study in every]


def main() -> None:
    """Writes the page."""
    PAGE.parent.mkdir(exist_ok=True)
    means = of_means(tally, studies=STUDIES, resamples=RESAMPLES, seed=SEED, level=LEVEL)
    parts = [*of_recall(), *of_loss(), *of_corrections(), *of_strata(), *means]
    PAGE.write_text("\n".join([HEAD.rstrip(), *parts, "", "<!-- audit: end -->"]) + "\n")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
