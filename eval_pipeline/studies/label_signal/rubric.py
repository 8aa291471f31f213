"""A rubric: the dimensions on which people rate, and the score that they make together."""

from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from eval_pipeline.canonical import content_hash
from eval_pipeline.plan import Count, Exact, Section
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.ratings import Scale

Unscored = Literal["undefined", "zero"]

_HASH_DIGITS = 12
_LARGEST = 10**9
_COLUMNS = frozenset(
    "item_id system_id system rater_id dimension value batch order duration_s failure_codes rubric_version source"
    " priority prompt answer ratings rubric_gap reason".split()
)  # of files of ratings and of worksheets, beside those of the dimensions
_Text = Annotated[str, Field(min_length=1)]
_Number = Annotated[int | float, Field(ge=-_LARGEST, le=_LARGEST)]


class Anchor(Section):
    """What a level means: a criterion, a text that gets it, and one that looks like it and does not."""

    value: _Number
    label: _Text
    description: _Text
    example: str = ""
    counter_example: str = ""


class Dimension(Section):
    """A question that raters answer on a scale.

    A score at or beneath `critical_threshold` (at or above it where lower is better) makes the composite 0.
    """

    key: _Text
    name: _Text
    question: _Text
    scale: Literal["nominal", "ordinal", "interval", "binary"]
    levels: tuple[_Number, ...]
    better: Literal["higher", "lower"] = "higher"
    weight: Annotated[Exact, Field(ge=0)] = Fraction(1)
    critical: bool = False
    critical_threshold: _Number | None = None
    notes: str = ""
    anchors: tuple[Anchor, ...] = ()

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if not self.levels:
            raise ValueError(f"at least one level of dimension {self.key!r}")
        if list(self.levels) != sorted(set(self.levels)):
            raise ValueError(f"levels of dimension {self.key!r} in rising order, each once")
        if self.scale == "binary" and len(self.levels) != 2:
            raise ValueError(f"two levels of dimension {self.key!r}, since it is binary")
        if self.critical and self.critical_threshold is None:
            raise ValueError(f"a critical_threshold of dimension {self.key!r}, since it is critical")
        anchored = {anchor.value for anchor in self.anchors}
        if self.anchors and anchored != set(self.levels):
            raise ValueError(f"an anchor for each level of dimension {self.key!r}, or none at all")
        if self.scale == "nominal" and (self.weight or self.critical_threshold is not None):
            raise ValueError(f"weight 0 and no threshold of dimension {self.key!r}, since its levels have no order")
        return self

    @property
    def low(self) -> float:
        """The lowest level."""
        return float(self.levels[0])

    @property
    def span(self) -> float:
        """From the lowest level to the highest; 0 for a scale of one level."""
        return float(self.levels[-1] - self.levels[0])

    @property
    def ordered(self) -> bool:
        """Whether a higher level means more of something."""
        return self.scale != "nominal"

    @property
    def agreement_scale(self) -> Scale:
        """The scale as a measure of agreement takes it; two levels have but one distance."""
        return "nominal" if self.scale == "binary" else self.scale

    def share(self, scores: Reals) -> Reals:
        """Scores as shares of the scale, 1 the best; 0 on a scale of one level."""
        if not self.span:
            return np.where(np.isnan(scores), np.nan, 0.0)
        shares = (scores - self.low) / self.span
        return np.asarray(1 - shares if self.better == "lower" else shares)

    def floored(self, scores: Reals) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which scores make the composite 0; none that is missing does."""
        if self.critical_threshold is None:
            return np.zeros(scores.shape, dtype=bool)
        if self.better == "lower":
            return np.asarray(scores >= self.critical_threshold)
        return np.asarray(scores <= self.critical_threshold)


class Rubric(Section):
    """The dimensions in their order; key, name, revision and changelog say where they come from."""

    key: _Text
    name: _Text
    revision: Count
    changelog: tuple[str, ...] = ()
    dimensions: tuple[Dimension, ...]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        keys = [dimension.key for dimension in self.dimensions]
        if not keys:
            raise ValueError("at least one dimension")
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise ValueError(f"dimensions of different keys, and {twice!r} stands twice")
        if taken := next((key for key in keys if key in _COLUMNS), None):
            raise ValueError(f"keys that are no column of a ratings file or worksheet, and {taken!r} is one")
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the dimensions."""
        return tuple(dimension.key for dimension in self.dimensions)

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that change with any dimension: question, scale, levels, anchors, weight."""
        return content_hash([one.model_dump(mode="json") for one in self.dimensions])[:_HASH_DIGITS]

    @property
    def version(self) -> str:
        """What ratings are made under; those of two versions are never pooled."""
        return f"{self.key}@r{self.revision}+{self.hash}"

    @property
    def levels_of_composite(self) -> float | None:
        """How many levels the composite spans, where all dimensions with a weight have the same ends; else None."""
        ends = {(one.low, one.span) for one in self.dimensions if one.weight}
        return next(iter(ends))[1] if len(ends) == 1 else None


def composites(rubric: Rubric, scores: Reals, *, unscored: Unscored) -> Reals:
    """The weighted mean of the dimensions as shares of their scales, 0 where a critical dimension is floored.

    Args:
        rubric: the dimensions.
        scores: shape (n, dimensions), in levels; NaN where a dimension was not scored, which then has no weight.
        unscored: what a row is worth on which no dimension with a weight was scored: NaN, or 0.
    Returns: shape (n,), in [0, 1].

    """
    shares = np.column_stack([one.share(scores[:, place]) for place, one in enumerate(rubric.dimensions)])
    weights = np.array([float(one.weight) for one in rubric.dimensions]) * ~np.isnan(shares)
    whole = weights.sum(axis=1)
    none = np.nan if unscored == "undefined" else 0.0
    means = np.full(len(scores), none)
    np.divide(np.nansum(weights * np.nan_to_num(shares), axis=1), whole, out=means, where=whole > 0)
    floored = np.column_stack([one.floored(scores[:, place]) for place, one in enumerate(rubric.dimensions)])
    return np.where(floored.any(axis=1), 0.0, means)


def whole_composites(rubric: Rubric, scores: Reals, *, unscored: Unscored) -> Reals:
    """Composites that may be compared: each over the same dimensions, those with a weight that were rated at all.

    A row on which one of them was left out has none, or else a system would be better for what was not asked of it. By
    the rule "zero" each row is taken over what was scored on it, as the first version did.

    Args: as in `composites`.
    Returns: shape (n,), NaN where there is none.
    """
    found = composites(rubric, scores, unscored=unscored)
    if unscored == "zero":
        return found
    weighed = np.array([bool(one.weight) for one in rubric.dimensions])
    rated = weighed & ~np.isnan(scores).all(axis=0)
    return np.where(np.isnan(scores[:, rated]).any(axis=1), np.nan, found)


def unweighted(rubric: Rubric, scores: Reals) -> Reals:
    """The plain mean of the ordered dimensions as shares of their scales; NaN where none was scored.

    Args: scores: as in `composites`.
    Returns: shape (n,), in [0, 1].
    """
    ordered = [(place, one) for place, one in enumerate(rubric.dimensions) if one.ordered]
    shares = np.column_stack([one.share(scores[:, place]) for place, one in ordered] or [np.full(len(scores), np.nan)])
    scored = (~np.isnan(shares)).sum(axis=1)
    means = np.full(len(scores), np.nan)
    np.divide(np.nansum(shares, axis=1), scored, out=means, where=scored > 0)
    return means
