"""All that the ratings of a track say, before any threshold is held against it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.label_signal.agreement import (
    Coefficients,
    CompositeReliability,
    Measure,
    alphas,
    coefficients,
    composite_agreement,
)
from eval_pipeline.studies.label_signal.attenuation import BinaryComparison, binary_comparisons
from eval_pipeline.studies.label_signal.batches import DriftFound, drift_found
from eval_pipeline.studies.label_signal.comparisons import Comparison, SystemScore, comparisons, system_scores
from eval_pipeline.studies.label_signal.coverage import Covered, coverage
from eval_pipeline.studies.label_signal.detection import CodeDetection, detected_codes
from eval_pipeline.studies.label_signal.investment import Investment, investments
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.probes import Probe, probes
from eval_pipeline.studies.label_signal.raters import (
    Contested,
    Profile,
    contested_dimensions,
    flagged_fraction,
    profiles,
)
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import unweighted, whole_composites
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.triage import Adjudicated, Queued, Summary, summary


@dataclass(frozen=True, slots=True)
class Grounds:
    """What claims and recommendations rest on.

    `contested` are the dimensions that count as contested in the raters' profiles.
    """

    track: str
    depth: str
    pair_by: str
    simulated: bool
    items: int
    answers: int
    rows: int
    replication: float
    levels_of_composite: float | None
    alphas: Mapping[str, Measure]
    composite: CompositeReliability
    systems: tuple[SystemScore, ...]
    comparisons: tuple[Comparison, ...]
    drift: DriftFound
    profiles: tuple[Profile, ...]
    contested: tuple[str, ...]
    triage: Summary
    coverage: Covered | None

    @property
    def alpha_mean(self) -> float | None:
        """The mean of the alphas that are defined."""
        return _mean([one.estimate for one in self.alphas.values()])

    @property
    def flagged(self) -> float:
        """The share of raters with a flag."""
        return flagged_fraction(self.profiles)

    @property
    def gold_worst(self) -> float | None:
        """The share of known scores that the worst rater meets."""
        return min((one.gold_exact for one in self.profiles if one.gold_exact is not None), default=None)

    @property
    def gold_mean(self) -> float | None:
        """The same, averaged over raters."""
        return _mean([one.gold_exact for one in self.profiles])


@dataclass(frozen=True, slots=True)
class Details:
    """What stands beside the grounds, for those who want to mend something."""

    coefficients: tuple[Coefficients, ...]
    positions: tuple[Contested, ...]
    codes: tuple[CodeDetection, ...]
    investments: tuple[Investment, ...]
    probes: tuple[Probe, ...]
    binary: tuple[BinaryComparison, ...]


def grounds_of(
    track: Track,
    ratings: Ratings,
    queued: Collection[Queued],
    adjudicated: Collection[Adjudicated],
    contested: Collection[str],
    plan: LabelSignalPlan,
) -> Grounds:
    """Every statistic that a claim or a recommendation rests on.

    Args:
        track: its rubric, items and answers.
        ratings: before adjudication.
        queued: the answers that lie far apart.
        adjudicated: what an adjudicator settled of them, if anybody did.
        contested: the dimensions on which raters hold positions.
        plan: levels, resamples, seed.
    Raises: InputRefused: no dimension with a weight was rated.

    """
    seed, rubric, about = plan.seed, track.rubric, track.about
    scores = whole_composites(rubric, ratings.scores, unscored=plan.scores.unscored)
    if np.isnan(scores).all():
        raise InputRefused(
            f"track {track.key!r}: nobody rated an answer on all dimensions that have a weight and were rated anywhere;"
            " rate them together, or give another a weight"
        )
    return Grounds(
        track=track.key,
        depth=about.depth,
        pair_by=about.design.pair_by,
        simulated=ratings.source == "simulated",
        items=len(ratings.items),
        answers=len(ratings.units),
        rows=len(ratings),
        replication=ratings.replication,
        levels_of_composite=rubric.levels_of_composite,
        alphas=alphas(ratings, rubric, plan.agreement, seed=seed),
        composite=composite_agreement(ratings, scores, plan.agreement, seed=seed),
        systems=system_scores(ratings, scores, about, plan.scores, seed=seed),
        comparisons=comparisons(ratings, scores, about, plan.scores, seed=seed),
        drift=drift_found(ratings, unweighted(rubric, ratings.scores), about, plan.drift, seed=seed),
        profiles=profiles(ratings, track, contested, plan.raters),
        contested=tuple(key for key in rubric.keys if key in contested),
        triage=summary(ratings, track, tuple(queued), tuple(adjudicated)),
        coverage=_coverage(track, ratings, plan),
    )


def _coverage(track: Track, ratings: Ratings, plan: LabelSignalPlan) -> Covered | None:
    """How the items that were rated cover the declared design; None where the track holds no items."""
    if not track.items:
        return None
    rated = frozenset(ratings.items)
    items = [item for item in track.items if item.item_id in rated]
    return coverage(track.about.strata, items, adequate=plan.coverage.adequate)


def details_of(
    track: Track, ratings: Ratings, grounds: Grounds, positions: tuple[Contested, ...], plan: LabelSignalPlan
) -> Details:
    """What stands beside the grounds.

    Args:
        track, ratings, plan: as in `grounds_of`.
        grounds: what that gave.
        positions: what `positions_of` gave.

    """
    scores = whole_composites(track.rubric, ratings.scores, unscored=plan.scores.unscored)
    codes = detected_codes(ratings, track, plan.detection)
    return Details(
        coefficients=coefficients(ratings, track.rubric, grounds.alphas, plan.agreement, seed=plan.seed),
        positions=positions,
        codes=codes,
        investments=investments(grounds.coverage, codes, ratings, scores, track, plan.coverage, plan.detection),
        probes=probes(ratings, scores, track, grounds.systems, grounds.comparisons, plan.probes),
        binary=binary_comparisons(ratings, track, plan.attenuation),
    )


def positions_of(track: Track, ratings: Ratings, plan: LabelSignalPlan) -> tuple[Contested, ...]:
    """On which dimensions the ratings show lasting positions, beside what the track says of its simulation."""
    declared = track.about.simulation.contested if track.about.simulation else ()
    return contested_dimensions(ratings, track.rubric, declared, plan.raters, seed=plan.seed)


def _mean(values: Collection[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
