"""Decompositions of two annotators, made up, and a judge that knows which of them say the same."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.records import Proposition, Question
from eval_pipeline.studies.extraction.annotators.alignment import AlignedEntry, aligned_by_judge, aligned_by_text
from eval_pipeline.studies.extraction.fixture import Fixture

Written = tuple[str, int, str]


def wrote(*propositions: Written) -> Fixture:
    """What an annotator wrote, as (entry, quartile, text)."""
    return Fixture(tuple(Proposition(*of) for of in propositions), refusal=None)


def claim(text: str) -> str:
    """What a text of the form "claim: in some words" says."""
    return text.partition(":")[0]


def same_claim(question: Question) -> str:
    """The label of a judge that goes by what is said and not by the words."""
    return "SUPPORTED" if claim(str(question.premise)) == claim(question.hypothesis) else "NOT_SUPPORTED"


def desk_of(judge: Judge) -> Desk:
    """A desk without a journal."""
    return Desk(judge, prompt_named("nli-v1"), {}, journal=None)


def in_silence(_done: int, _of: int) -> None:
    """No progress is told."""


def align(first: Fixture, second: Fixture, judge: Judge) -> tuple[AlignedEntry, ...]:
    """The alignment by this judge."""
    entries = aligned_by_text(first, second)
    return asyncio.run(aligned_by_judge(entries, desk_of(judge), workers=judge.in_flight, progress=in_silence))


def matched(entries: Iterable[AlignedEntry]) -> set[tuple[str, str]]:
    """The texts that were matched."""
    return {(of.first[match.first].text, of.second[match.second].text) for of in entries for match in of.matches}


def every_matching(possible: npt.NDArray[np.bool_]) -> Iterator[tuple[tuple[int, int], ...]]:
    """All matchings of possible pairs, by brute force."""
    rows, columns = possible.shape
    for size in range(min(rows, columns) + 1):
        for chosen in combinations(range(rows), size):
            for partners in permutations(range(columns), size):
                pairs = tuple(zip(chosen, partners, strict=True))
                if all(possible[pair] for pair in pairs):
                    yield pairs


def worth(pairs: Sequence[tuple[int, int]], near: npt.NDArray[np.int64]) -> tuple[int, int]:
    """How many pairs there are, and how near they are in sum."""
    return len(pairs), sum(int(near[pair]) for pair in pairs)
