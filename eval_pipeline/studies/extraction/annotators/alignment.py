"""Two annotators' decompositions of the same entries, aligned: which propositions of them say the same.

Two propositions are the same if each entails the other. The judge says so; identical texts need no asking.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.lexical import similarity
from eval_pipeline.records import Label, NoLabel, Proposition, Question, Reason, Refusal
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.studies.extraction.annotators.matching import Match, best_matching, nearness
from eval_pipeline.studies.extraction.fixture import Fixture, without_spacing
from eval_pipeline.studies.extraction.judging import Progress
from eval_pipeline.studies.extraction.plan import ExtractionPlan


@dataclass(frozen=True, slots=True)
class AlignedEntry:
    """What both annotators wrote of an entry, each in the order of the file, and which of it is the same.

    `matches` are in the order of the first. `matches_at_most` is what they could be if every pair whose question gave
    no label were the same. `questions` were put for it, and `unread` holds why no label came, for each pair of which
    none did; such a pair stays unmatched.
    """

    entry_id: str
    first: tuple[Proposition, ...]
    second: tuple[Proposition, ...]
    matches: tuple[Match, ...]
    matches_at_most: int
    questions: int
    unread: tuple[NoLabel, ...]

    @property
    def unmatched_first(self) -> list[int]:
        """The places of those that the first alone wrote."""
        return _others(len(self.first), {match.first for match in self.matches})

    @property
    def unmatched_second(self) -> list[int]:
        """The places of those that the second alone wrote."""
        return _others(len(self.second), {match.second for match in self.matches})

    @property
    def of_both(self) -> bool:
        """Whether both annotators wrote of it."""
        return bool(self.first and self.second)


def aligned_by_text(first: Fixture, second: Fixture) -> tuple[AlignedEntry, ...]:
    """The entries of either annotator in the order of their ids, with the matches of identical texts; nothing is asked.

    Texts are identical but for white space; then, among the others, but for upper and lower case.
    """
    by_entry = _by_entry(first), _by_entry(second)
    entries = []
    for entry_id in sorted(by_entry[0].keys() | by_entry[1].keys()):
        one, other = (tuple(of[entry_id]) for of in by_entry)
        matches = _identical(one, other)
        entries.append(AlignedEntry(entry_id, one, other, matches, len(matches), questions=0, unread=()))
    return tuple(entries)


def questions_at_most(entries: Sequence[AlignedEntry]) -> int:
    """What aligning the rest can cost: either direction of each pair that is left in an entry."""
    return sum(2 * len(entry.unmatched_first) * len(entry.unmatched_second) for entry in entries)


async def aligned_by_judge(
    entries: Sequence[AlignedEntry], desk: Desk, *, workers: int, progress: Progress
) -> tuple[AlignedEntry, ...]:
    """The entries with the rest of their matches: the largest matching of all pairs that the judge calls the same.

    Of the largest ones it is that whose texts are nearest in words. Every pair is taken for the same until it was asked
    about, and only those are asked about that the best matching then holds: once it holds no other, asking the rest
    could not change it. So the order saves questions, and decides nothing.

    Args:
        workers: how many questions may be in flight.
        progress: is called with the number of entries that are done, and of all.

    Raises: JudgeDown, CapReached: the judge cannot be asked any more; nothing is aligned.

    """
    searches = [_Search(entry) for entry in entries]
    tried: dict[int, tuple[Match, ...]] = {place: search.untried() for place, search in enumerate(searches)}
    while tasks := [(place, match) for place, matches in tried.items() for match in matches]:
        worked = await work_through(tasks, lambda task: searches[task[0]].ask(task[1], desk), workers=workers)
        worked.require_end()
        tried = {place: searches[place].untried() for place, matches in tried.items() if matches}
        progress(len(entries) - sum(map(bool, tried.values())), len(entries))
    return tuple(search.end() for search in searches)


def refusal_of_unread(entries: Sequence[AlignedEntry], plan: ExtractionPlan) -> Refusal | None:
    """Why nothing may be said of an alignment of which more gave no label than the plan allows of single questions."""
    questions = sum(entry.questions for entry in entries)
    unread = Counter(str(why) for entry in entries for why in entry.unread)
    if unread.total() <= plan.errors.calls.signal * questions:
        return None
    why = ", ".join(f"{count} {name}" for name, count in sorted(unread.items()))
    return Refusal(
        Reason.UNTRUSTWORTHY,
        f"{unread.total()} of {questions} questions whether two annotators' propositions are the same gave no label"
        f" ({why}), and the plan allows {plan.errors.calls.signal}; mend the judge and run again, what was judged is"
        " kept",
    )


@dataclass(slots=True)
class _Search:
    """The search for the matching of what is left of an entry; places are those among the left."""

    entry: AlignedEntry
    near: Counts = field(init=False)
    possible: npt.NDArray[np.bool_] = field(init=False)
    same: set[Match] = field(default_factory=set)
    unread: dict[Match, NoLabel] = field(default_factory=dict)
    questions: int = 0

    def __post_init__(self) -> None:
        self.near = nearness(
            [self.entry.first[place].text for place in self.entry.unmatched_first],
            [self.entry.second[place].text for place in self.entry.unmatched_second],
        )
        self.possible = np.ones(self.near.shape, dtype=np.bool_)

    def untried(self) -> tuple[Match, ...]:
        """What the best matching holds and nobody has asked about; nothing, once the matching is found."""
        return tuple(match for match in best_matching(self.possible, self.near) if match not in self.same)

    async def ask(self, match: Match, desk: Desk) -> None:
        """Learns whether the two are the same.

        First asked is the direction that is the less likely in words; the other one only if that is supported.
        """
        one = self.entry.first[self.entry.unmatched_first[match.first]]
        other = self.entry.second[self.entry.unmatched_second[match.second]]
        ways = [(one.text, other.text), (other.text, one.text)]
        for premise, hypothesis in sorted(ways, key=lambda way: (similarity(*way), way)):
            judgment = await desk.ask(Question(one.entry_id, premise, hypothesis))
            self.questions += 1
            if judgment.label is not Label.SUPPORTED:
                self.possible[match.first, match.second] = False
                if judgment.no_label:
                    self.unread[match] = judgment.no_label
                return
        self.same.add(match)

    def end(self) -> AlignedEntry:
        """The entry with what was found."""
        found = best_matching(self.possible, self.near)
        for match in self.unread:
            self.possible[match.first, match.second] = True
        at_most = len(best_matching(self.possible, self.near))
        first, second, known = self.entry.unmatched_first, self.entry.unmatched_second, self.entry.matches
        matches = [*known, *(Match(first[match.first], second[match.second]) for match in found)]
        return replace(
            self.entry,
            matches=tuple(sorted(matches)),
            matches_at_most=len(known) + at_most,
            questions=self.questions,
            unread=tuple(self.unread[match] for match in sorted(self.unread)),
        )


def _by_entry(fixture: Fixture) -> dict[str, list[Proposition]]:
    grouped: dict[str, list[Proposition]] = defaultdict(list)
    for proposition in fixture.propositions:
        grouped[proposition.entry_id].append(proposition)
    return grouped


def _identical(first: Sequence[Proposition], second: Sequence[Proposition]) -> tuple[Match, ...]:
    """The matches of identical texts, in their order where one annotator wrote a text twice."""
    matches: list[Match] = []
    spaced = [[without_spacing(one.text) for one in side] for side in (first, second)]
    for one, other in (spaced, [[text.casefold() for text in side] for side in spaced]):
        left = _numbered(one, {match.first for match in matches})
        right = _numbered(other, {match.second for match in matches})
        matches += [Match(left[text], right[text]) for text in left.keys() & right.keys()]
    return tuple(sorted(matches))


def _numbered(texts: Sequence[str], without: set[int]) -> dict[tuple[str, int], int]:
    """The place of each text, by the text and by how often it stood there before."""
    seen: Counter[str] = Counter()
    places = {}
    for place in _others(len(texts), without):
        places[texts[place], seen[texts[place]]] = place
        seen[texts[place]] += 1
    return places


def _others(length: int, places: set[int]) -> list[int]:
    return [place for place in range(length) if place not in places]
