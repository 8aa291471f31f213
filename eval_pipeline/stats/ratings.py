"""Ratings of units by raters, coded: the table that every measure of agreement reads."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, is_missing, labels, reals
from eval_pipeline.stats.scalars import choice

Scale = Literal["nominal", "ordinal", "interval", "ratio"]

MISSING = -1


@dataclass(frozen=True, slots=True)
class Ratings:
    """The category of each rating, and the categories in their order.

    `codes` has shape (units, raters) and holds places in `values`, or `MISSING`. `values` are the numbers of an
    interval or ratio scale, shape (q,), and 0..q-1 otherwise.
    """

    codes: Counts
    values: Reals


@dataclass(frozen=True, slots=True)
class Patterns:
    """The distinct ways in which a unit was rated, whoever gave which rating, and which of them each unit has.

    `rows` has shape (patterns, raters): sorted codes, `MISSING` first. `of_unit` has shape (units,).
    """

    rows: Counts
    of_unit: Counts

    @property
    def rated(self) -> Counts:
        """How many ratings a unit of each pattern has."""
        return np.asarray((self.rows != MISSING).sum(axis=1))


def coded(ratings: ArrayLike, *, scale: Scale, categories: Sequence[Hashable] | None) -> Ratings:
    """The table of codes.

    Args:
        ratings: shape (units, raters); numbers, or texts on a nominal scale or with declared categories. None, NaN,
            pandas' NA and masked values are missing.
        scale: ordinal categories are in the order of `categories`, or of their numbers.
        categories: all that there are, used or not; None takes those that occur.

    Raises: InputRefused: no table, a rating that is no declared category, texts in no declared order, or a negative
        number on a ratio scale, which has a true zero.

    """
    choice(scale, Scale, "scale")
    table = labels(ratings, "ratings")
    if table.ndim != 2:
        raise InputRefused(f"ratings: found {table.ndim} dimensions, expected a table of units by raters")
    missing = is_missing(table) | np.ma.getmaskarray(ratings if isinstance(ratings, np.ma.MaskedArray) else table)
    codes = np.full(table.shape, MISSING, dtype=np.int64)
    if categories is not None:
        codes[~missing], declared = _places(table[~missing], categories)
        return Ratings(codes, _numbers(declared, scale))
    found, codes[~missing] = _distinct(table[~missing], scale)
    return Ratings(codes, found)


def patterns(ratings: Ratings) -> Patterns:
    """The distinct rows of the table, each sorted."""
    rows, base = np.sort(ratings.codes, axis=1), len(ratings.values) + 1
    raters = rows.shape[1]
    if base**raters < 1 << 62:
        key = (rows + 1) @ base ** np.arange(raters, dtype=np.int64)
        _, first, of_unit = np.unique(key, return_index=True, return_inverse=True)
        return Patterns(rows[first], of_unit)
    distinct, of_unit = np.unique(rows, axis=0, return_inverse=True)
    return Patterns(distinct, of_unit.reshape(len(rows)))


def category_counts(rows: Counts, categories: int) -> sparse.csr_array:
    """How many raters gave each category, shape (patterns, categories)."""
    pattern, rater = np.nonzero(rows != MISSING)
    ones = np.ones(len(pattern))
    return sparse.csr_array((ones, (pattern, rows[pattern, rater])), shape=(len(rows), categories))


def _places(present: npt.NDArray[Any], categories: Sequence[Hashable]) -> tuple[list[int], list[Hashable]]:
    """Where each rating stands among the declared categories, and these."""
    declared = list(categories)
    try:
        place = {category: number for number, category in enumerate(declared)}
    except TypeError:
        raise InputRefused("categories: found a list or an object among them, expected numbers or texts") from None
    if len(place) < len(declared):
        raise InputRefused("categories: found one of them twice, expected each once")
    for rating in present.tolist():
        if rating not in place:
            raise InputRefused(f"ratings: found {rating!r}, expected one of {declared}")
    return [place[rating] for rating in present.tolist()], declared


def _numbers(declared: list[Hashable], scale: Scale) -> Reals:
    if scale in ("nominal", "ordinal"):
        return np.arange(len(declared), dtype=np.float64)
    return reals(declared, "categories", low=0.0 if scale == "ratio" else -np.inf)


def _distinct(present: npt.NDArray[Any], scale: Scale) -> tuple[Reals, Counts]:
    """The categories that occur, in their order, and the place of each rating among them."""
    textual = present.dtype.kind in "US" or (present.dtype.kind == "O" and any(isinstance(v, str) for v in present))
    if textual and scale != "nominal":
        raise InputRefused(f"ratings: found texts on an {scale} scale, expected numbers or declared categories")
    if textual:
        try:
            found, places = np.unique(present, return_inverse=True)
        except TypeError:
            raise InputRefused("ratings: found texts and numbers, expected all of one kind") from None
        return np.arange(len(found), dtype=np.float64), places
    found, places = np.unique(reals(present, "ratings"), return_inverse=True)
    if scale == "ratio" and len(found) and found[0] < 0:
        raise InputRefused(
            f"ratings: found {found[0]:g} on a ratio scale, expected 0 or more, since it has a true zero"
        )
    return found, places
