"""Ratings as a table: one row for each time that a rater rated an answer, one column for each dimension."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eval_pipeline.canonical import content_hash
from eval_pipeline.stats.arrays import Counts, Reals

Source = Literal["people", "simulated"]
Unit = tuple[str, str]

_META = b"ratings"


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """All ratings of a track, in the order of their units and raters.

    `units` are the answers that were rated, as (item, system); `unit` and `rater` say whose row it is. `scores` has
    shape (rows, dimensions), in levels, NaN where a dimension was left out. `batch` numbers the batches in their order,
    `batches` names them; both are empty where nothing tells when a rating was given. `duration_s` is NaN where it is
    not known, `codes` are the failures that the rater named, None where nobody was asked. `unread` are the columns of
    the file that nothing reads.
    """

    units: tuple[Unit, ...]
    raters: tuple[str, ...]
    dimensions: tuple[str, ...]
    unit: Counts
    rater: Counts
    scores: Reals
    batches: tuple[str, ...]
    batch: Counts
    duration_s: Reals
    codes: tuple[frozenset[str], ...] | None
    source: Source
    rubric_version: str
    unread: tuple[str, ...] = ()

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.unit)

    @property
    def has_batches(self) -> bool:
        """Whether the ratings say when they were given."""
        return len(self.batches) > 0

    @property
    def items(self) -> tuple[str, ...]:
        """The items, each once, in their order."""
        return tuple(dict.fromkeys(item for item, _ in self.units))

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, each once, in the order in which they come up."""
        return tuple(dict.fromkeys(system for _, system in self.units))

    @property
    def item_of_unit(self) -> Counts:
        """The place of each unit's item among the items."""
        place = {item: number for number, item in enumerate(self.items)}
        return np.array([place[item] for item, _ in self.units], dtype=np.int64)

    @property
    def replication(self) -> float:
        """How many raters rated an answer: the harmonic mean, which a few answers that many rated cannot raise."""
        return len(self.units) / float((1 / np.bincount(self.unit, minlength=len(self.units))).sum())

    def by_rater(self, values: Reals) -> Reals:
        """A value of each row as a table of units by raters, NaN where a rater did not rate a unit."""
        table = np.full((len(self.units), len(self.raters)), np.nan)
        table[self.unit, self.rater] = values
        return table

    def unit_means(self, values: Reals) -> Reals:
        """The mean over the raters of each unit; NaN where none gave a value."""
        return means_by(values, self.unit, len(self.units))

    def where(self, rows: npt.NDArray[np.bool_]) -> Self:
        """The ratings of some rows; units and raters without any are gone."""
        kept = np.flatnonzero(rows)
        units, unit = np.unique(self.unit[kept], return_inverse=True)
        raters, rater = np.unique(self.rater[kept], return_inverse=True)
        return replace(
            self,
            units=tuple(self.units[place] for place in units),
            raters=tuple(self.raters[place] for place in raters),
            unit=unit.astype(np.int64),
            rater=rater.astype(np.int64),
            scores=self.scores[kept],
            batch=self.batch[kept] if self.has_batches else self.batch,
            duration_s=self.duration_s[kept],
            codes=None if self.codes is None else tuple(self.codes[row] for row in kept),
        )

    @property
    def hash(self) -> str:
        """The hash of all that was rated."""
        return content_hash(
            [self.rubric_version, self.source, list(self.batches), [list(row.items()) for row in self.rows()]]
        )

    def rows(self) -> list[dict[str, Any]]:
        """The ratings as plain rows, one for each time that a rater rated an answer."""
        return [
            {
                "item_id": self.units[self.unit[row]][0],
                "system_id": self.units[self.unit[row]][1],
                "rater_id": self.raters[self.rater[row]],
                **{key: _plain(self.scores[row, place]) for place, key in enumerate(self.dimensions)},
                "batch": self.batches[self.batch[row]] if self.has_batches else None,
                "duration_s": _plain(self.duration_s[row]),
                "failure_codes": None if self.codes is None else sorted(self.codes[row]),
                "source": self.source,
            }
            for row in range(len(self))
        ]

    def to_table(self) -> pa.Table:
        """The ratings as a table, with what belongs to all of them in its metadata."""
        fields: list[pa.Field[Any]] = [
            *(pa.field(name, pa.string()) for name in ("item_id", "system_id", "rater_id")),
            *(pa.field(key, pa.float64()) for key in self.dimensions),
            pa.field("batch", pa.string()),
            pa.field("duration_s", pa.float64()),
            pa.field("failure_codes", pa.list_(pa.string())),
            pa.field("source", pa.string()),
        ]
        about = {
            "dimensions": list(self.dimensions),
            "batches": list(self.batches),
            "asked_for_codes": self.codes is not None,
            "rubric_version": self.rubric_version,
            "source": self.source,
            "unread": list(self.unread),
        }
        table = pa.Table.from_pylist(self.rows(), schema=pa.schema(fields))
        return table.replace_schema_metadata({_META: json.dumps(about)})

    @classmethod
    def from_table(cls, table: pa.Table) -> Self:
        """What `to_table` wrote."""
        about = json.loads(table.schema.metadata[_META])
        rows = table.to_pylist()
        return cls(
            **gathered(rows, about["dimensions"], batches=about["batches"]),
            codes=tuple(frozenset(row["failure_codes"]) for row in rows) if about["asked_for_codes"] else None,
            source=about["source"],
            rubric_version=about["rubric_version"],
            unread=tuple(about["unread"]),
        )


def gathered(rows: Sequence[Mapping[str, Any]], dimensions: Sequence[str], *, batches: Sequence[str]) -> dict[str, Any]:
    """The columns of a table of ratings from plain rows, units and raters in the order in which they come up."""
    units: dict[Unit, int] = {}
    raters: dict[str, int] = {}
    unit = [units.setdefault((row["item_id"], row["system_id"]), len(units)) for row in rows]
    rater = [raters.setdefault(row["rater_id"], len(raters)) for row in rows]
    place = {name: number for number, name in enumerate(batches)}
    return {
        "units": tuple(units),
        "raters": tuple(raters),
        "dimensions": tuple(dimensions),
        "unit": np.array(unit, dtype=np.int64),
        "rater": np.array(rater, dtype=np.int64),
        "scores": np.array([[_number(row[key]) for key in dimensions] for row in rows], dtype=np.float64),
        "batches": tuple(batches),
        "batch": np.array([place[row["batch"]] for row in rows] if batches else [], dtype=np.int64),
        "duration_s": np.array([_number(row["duration_s"]) for row in rows], dtype=np.float64),
    }


def means_by(values: Reals, group: Counts, groups: int) -> Reals:
    """The mean of the values of each group, those that are missing left out; NaN where none is left."""
    present = ~np.isnan(values)
    sums = np.bincount(group[present], weights=values[present], minlength=groups)
    sizes = np.bincount(group[present], minlength=groups)
    means = np.full(groups, np.nan)
    np.divide(sums, sizes, out=means, where=sizes > 0)
    return means


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
