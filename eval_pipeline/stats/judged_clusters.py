"""What a judge said, counted by cluster and group, beside the truth where it is known: what corrections start from."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.stats.arrays import (
    ArrayLike,
    Counts,
    counts,
    flags,
    groups,
    in_a_row,
    require_equal_lengths,
    whole_numbers,
)
from eval_pipeline.stats.scalars import as_printed, choice

NOT_CHECKED = -1

Errors = Literal["pooled", "by_group"]


@dataclass(frozen=True, slots=True)
class JudgedClusters:
    """Counts of shape (k, g): k clusters, such as entries, by g groups, such as quartiles of the text.

    `judged` counts what the judge was asked of the population in question and `supported` what it called so. The other
    four count what was checked: `false_negatives` are supported in truth and not by the judge, and so on. A cluster of
    the population counts its checked items among the judged; a cluster of a gold set has checked items and no judged.
    """

    supported: Counts
    judged: Counts
    true_positives: Counts
    false_negatives: Counts
    true_negatives: Counts
    false_positives: Counts

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, counts(getattr(self, field.name), field.name))
        shapes = {getattr(self, field.name).shape for field in fields(self)}
        if len(shapes) > 1 or self.judged.ndim != 2:
            raise InputRefused(f"judged clusters: found shapes {sorted(shapes)}, expected one shape (clusters, groups)")
        said_so = self.true_positives + self.false_positives
        if (self.supported > self.judged).any():
            raise InputRefused("judged clusters: found more supported than judged, expected at most as many")
        of_population = self.judged.sum(axis=1) > 0
        beyond = (said_so > self.supported) | (self.checked - said_so > self.judged - self.supported)
        if beyond[of_population].any():
            raise InputRefused("judged clusters: found more checked items than judged ones, expected at most as many")

    @property
    def checked(self) -> Counts:
        """How many items were checked, shape (k, g)."""
        return self.known_positives + self.known_negatives

    @property
    def known_positives(self) -> Counts:
        """How many of them are supported in truth."""
        return self.true_positives + self.false_negatives

    @property
    def known_negatives(self) -> Counts:
        """How many of them are not."""
        return self.true_negatives + self.false_positives

    @property
    def columns(self) -> list[Counts]:
        """The six tables, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


def tabulated(says: ArrayLike, truth: ArrayLike, clusters: ArrayLike, group: ArrayLike) -> JudgedClusters:
    """The counts of single judgments.

    Args:
        says: shape (n,), 1 where the judge calls the item supported, else 0.
        truth: shape (n,), 1 or 0 as a person called it, or `NOT_CHECKED`.
        clusters: shape (n,), what the item belongs to, by any name.
        group: shape (n,), its group, 0..g-1.
    Raises: InputRefused: unequal lengths, or other values than these. TooFewObservations: nothing was judged.

    """
    said = in_a_row(flags(says, "says"), "says")
    known = in_a_row(whole_numbers(truth, "truth", at_least=NOT_CHECKED), "truth")
    cluster, column = groups(clusters, "clusters"), in_a_row(counts(group, "group"), "group")
    require_equal_lengths(says=said, truth=known, clusters=cluster, group=column)
    if (known > 1).any():
        raise InputRefused(f"truth: found {known.max()}, expected 0, 1 or {NOT_CHECKED}")
    if not len(said):
        raise TooFewObservations("nothing was judged")

    def count(which: npt.NDArray[np.bool_]) -> Counts:
        table = np.zeros((cluster.max() + 1, column.max() + 1), dtype=np.int64)
        np.add.at(table, (cluster[which], column[which]), 1)
        return table

    return JudgedClusters(
        supported=count(said == 1),
        judged=count(np.ones(len(said), dtype=bool)),
        true_positives=count((said == 1) & (known == 1)),
        false_negatives=count((said == 0) & (known == 1)),
        true_negatives=count((said == 0) & (known == 0)),
        false_positives=count((said == 1) & (known == 0)),
    )


def with_gold(judged: JudgedClusters, gold: JudgedClusters) -> JudgedClusters:
    """The clusters of a population and of a gold set, by whose checks its judge's errors are known, in one table.

    Raises: InputRefused: other groups than the population's, or a gold set with judgments of the population.
    """
    if gold.judged.any():
        raise InputRefused("gold: found judgments of the population, expected checked items alone")
    if gold.judged.shape[1] != judged.judged.shape[1]:
        raise InputRefused(f"gold: found {gold.judged.shape[1]} groups, expected {judged.judged.shape[1]}")
    return JudgedClusters(*(np.concatenate(pair) for pair in zip(judged.columns, gold.columns, strict=True)))


def checks(table: JudgedClusters, errors: Errors) -> list[Counts]:
    """The four counts of checked items; for "pooled" those of all groups stand in each, since the judge errs alike."""
    own = table.columns[2:]
    if choice(errors, Errors, "errors") == "by_group":
        return own
    return [np.broadcast_to(count.sum(axis=1, keepdims=True), count.shape) for count in own]


def weighed(weights: Sequence[Fraction | int], table: JudgedClusters) -> list[int]:
    """The groups whose weight in a contrast is not 0.

    Raises: InputRefused: not one weight for each group, or all are 0.
    """
    if len(weights) != table.judged.shape[1] or not any(weights):
        width = table.judged.shape[1]
        raise InputRefused(f"weights: found {list(weights)}, expected one for each of {width} groups and not all 0")
    return [group for group, weight in enumerate(weights) if as_printed(weight, "weights")]
