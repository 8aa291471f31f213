"""Whether the items cover the design that was declared, level by level."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from eval_pipeline.studies.label_signal.track import Item


@dataclass(frozen=True, slots=True)
class Covered:
    """How many items each declared level has: adequate, thin, or none at all.

    `marginal_gap` is the share of declared levels that are not adequate; `balance` the smallest level of a factor over
    its largest, of the worst factor. `undeclared` levels occur and are not credited. `empty_cells` of the full design
    are told and never gated: no study of this size fills them.
    """

    counts: Mapping[str, Mapping[str, int]]
    adequate: int
    thin: tuple[str, ...]
    absent: tuple[str, ...]
    undeclared: tuple[str, ...]
    marginal_gap: float
    balance: float
    cells: int
    empty_cells: int


def coverage(design: Mapping[str, Sequence[str]], items: Iterable[Item], *, adequate: int) -> Covered | None:
    """The coverage of a declared design; None where none was declared.

    Args:
        design: the levels of each factor.
        items: of the track.
        adequate: how many items a level needs.

    """
    if not any(design.values()):
        return None
    strata = [item.strata for item in items]
    counts = {factor: Counter(one[factor] for one in strata if factor in one) for factor in design}
    cells = {tuple(one.get(factor) for factor in design) for one in strata}
    declared = {factor: {level: counts[factor][level] for level in levels} for factor, levels in design.items()}
    return covered(
        declared,
        adequate=adequate,
        undeclared=tuple(
            f"{factor}={level}"
            for factor, levels in design.items()
            for level in sorted(set(counts[factor]) - set(levels))
        ),
        filled=sum(all(value in design[factor] for factor, value in zip(design, cell, strict=True)) for cell in cells),
    )


def covered(
    declared: Mapping[str, Mapping[str, int]], *, adequate: int, undeclared: tuple[str, ...], filled: int
) -> Covered:
    """The coverage of counted levels.

    Args:
        declared: items by factor and declared level.
        adequate: how many items a level needs.
        undeclared: levels that occur and were not declared.
        filled: cells of the full design with an item.

    """
    levels = [(f"{factor}={level}", n) for factor, counts in declared.items() for level, n in counts.items()]
    short = [name for name, n in levels if n < adequate]
    absent = tuple(name for name, n in levels if n == 0)
    cells = prod(len(counts) for counts in declared.values())
    return Covered(
        counts={factor: dict(counts) for factor, counts in declared.items()},
        adequate=len(levels) - len(short),
        thin=tuple(name for name in short if name not in absent),
        absent=absent,
        undeclared=undeclared,
        marginal_gap=len(short) / len(levels),
        balance=min(min(counts.values()) / max(1, *counts.values()) for counts in declared.values() if counts),
        cells=cells,
        empty_cells=cells - filled,
    )
