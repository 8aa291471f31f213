"""How runs spread over the contexts: what a round robin gives, and which contexts lack runs."""

from collections.abc import Mapping, Sequence

from eval_pipeline.studies.fire_rate.observations import Context


def round_robin(runs: int, contexts: Sequence[Context]) -> dict[Context, int]:
    """How many runs each context has after so many that went round."""
    whole, rest = divmod(runs, len(contexts))
    return {context: whole + (place < rest) for place, context in enumerate(contexts)}


def short_of(counts: Mapping[Context, int], floor: int) -> dict[Context, int]:
    """How many runs each context lacks that has fewer than the floor."""
    return {context: floor - count for context, count in counts.items() if count < floor}


def runs_for(floor: int, contexts: Sequence[Context]) -> int:
    """The fewest runs of a round robin after which every context has the floor."""
    return floor * len(contexts)
