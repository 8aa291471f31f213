"""The plan of judge reliability: the prior, when a posterior replaces it, and how that is put to the test."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eval_pipeline.loop import LoopPlan
from eval_pipeline.plan import Count, Level, Section, Share
from eval_pipeline.stats.beta_binomial import Beta


class Prior(Section):
    """What is believed of every ability before a judgment was seen, as so many right and so many wrong answers."""

    right: Count
    wrong: Count

    @property
    def belief(self) -> Beta:
        """The belief."""
        return Beta(Fraction(self.right), Fraction(self.wrong))


class Persistence(Section):
    """An ability of a cell is relied on from so many claims on, if its interval excludes `null`.

    An ability of a judge over all types stands in for its cells where so many claims as `dominant_at` speak for it.
    `point` is the number that a belief stands for.
    """

    claims_at_least: Count
    null: Share
    level: Level
    dominant_at: Count
    point: Literal["mode", "mean"]


class Consensus(Section):
    """A vote that is believed no more than this is no information: with five votes, a fifth is chance."""

    information_above: Share


class Falsifier(Section):
    """The comparison of the consensus under both maps, on claims that were held out."""

    claims_at_least: Count
    level: Level
    resamples: Annotated[int, Field(ge=1000)]


class ParseFailures(Section):
    """The P chart of each judge: so many judgments make a point, and the first so many points make the limits."""

    judgments_a_point: Count
    baseline_points: Annotated[int, Field(ge=2)]


class Labelling(Section):
    """From which share of dropped claims on, that share not included, the rubric is reviewed."""

    drop_rate_at_most: Share


class Pooling(Section):
    """The second estimator: the coverage of its intervals, and the nodes of its integral."""

    level: Level
    nodes: Annotated[int, Field(ge=8, le=256)]


class Dependence(Section):
    """The test whether two judges err together, over all pairs at this level, of pairs with so many claims."""

    alpha: Level
    claims_at_least: Count


class Oracles(Section):
    """How near a value must be to the expected one, and how long a program may take."""

    tolerance: Share
    timeout_s: Count


class JudgeReliabilityPlan(LoopPlan):
    """The whole plan."""

    study: Literal["judge-reliability"]
    prior: Prior
    persistence: Persistence
    consensus: Consensus
    falsifier: Falsifier
    parse_failures: ParseFailures
    labelling: Labelling
    pooling: Pooling
    dependence: Dependence
    oracles: Oracles

    @model_validator(mode="after")
    def _the_prior_is_not_excluded(self) -> Self:
        if Fraction(self.prior.right, self.prior.right + self.prior.wrong) != self.persistence.null:
            raise ValueError("a prior whose mean is persistence.null, or every cell would differ from it at once")
        return self
