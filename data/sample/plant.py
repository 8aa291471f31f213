"""What the extraction made of every fact: planted, so that the recall and the precision of the sample are known."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from notes import Fact, Note, Shape, write_note
from wording import Workspace, draw_number, fill, pick, read_workspace, shuffled, slots_of

SEED = "sample-1"
ATTEMPTS = 2000
PAIRED = {"district-heating": 3, "trial-site": 3, "food-wholesale": 4}  # entries with a fact that is told in halves
ENTRIES_PER_WORKSPACE = 32
DENSE_PER_WORKSPACE = 18
CONFIDENT_PER_WORKSPACE = 20
RECALL = {1: 0.93, 2: 0.90, 3: 0.86, 4: 0.70}  # the share of the propositions of a quartile that is recovered
FEWEST_LIVE = 6
DELETED = 8
VAGUE = 10
PEOPLE = frozenset({"fitter", "official", "person", "helper", "driver"})

Change = Literal["number", "negation", "person"]
INVENTIONS: tuple[Change, ...] = ("number", "number", "number", "negation", "person")


class TooFewLosses(Exception):
    """There are more fates to hand out than lost facts that lend themselves to them."""


class Fate(StrEnum):
    """What the extraction made of a fact."""

    EXTRACTED = "extracted"
    IN_HALVES = "in halves"  # two signals, neither of which says all of it
    DROPPED = "dropped"
    DELETED = "deleted"  # extracted, and soft-deleted later
    VAGUE = "vague"  # its signal is true but says less than the proposition
    INVENTED = "invented"  # its signal says something else than its span


@dataclass(frozen=True, slots=True)
class Entry:
    """A note with its place in the corpus."""

    workspace: str
    band: str
    note: Note


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact with its fate and the contents of its signals, in the order of the fact's spans."""

    fact: Fact
    fate: Fate
    contents: tuple[str, ...]

    @property
    def proposition(self) -> str:
        """The annotated wording."""
        return fill(self.fact.frame.proposition, self.fact.values)

    @property
    def supported(self) -> bool:
        """Whether a single live signal entails the proposition."""
        return self.fate is Fate.EXTRACTED


@dataclass(frozen=True, slots=True)
class Wish:
    """A fate for one of the lost facts; `change` says how a false signal is to be false."""

    fate: Fate
    change: Change | None


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything that the files are written from."""

    entries: tuple[Entry, ...]
    planted: tuple[Planted, ...]


def _shape(rng: random.Random, density: Literal["dense", "brief"], *, paired: int) -> Shape:
    if density == "dense":
        return Shape(1010 + int(rng.random() * 340), 10 + int(rng.random() * 3), 8, paired)
    return Shape(330 + int(rng.random() * 330), 9 + int(rng.random() * 3), 5 + int(rng.random() * 3), paired)


def _entries(workspace: Workspace, *, paired_entries: int) -> list[Entry]:
    rng = random.Random(f"{SEED}/{workspace.name}")
    order = shuffled(rng, range(ENTRIES_PER_WORKSPACE))
    dense = set(order[:DENSE_PER_WORKSPACE])
    paired = set(shuffled(rng, order)[:paired_entries])
    confident = set(shuffled(rng, order)[:CONFIDENT_PER_WORKSPACE])
    entries = []
    for i in range(ENTRIES_PER_WORKSPACE):
        shape = _shape(rng, "dense" if i in dense else "brief", paired=int(i in paired))
        note = write_note(workspace, f"{workspace.prefix}-{i + 1:03d}", shape, seed=SEED, attempts=ATTEMPTS)
        entries.append(Entry(workspace.name, "confident" if i in confident else "triage", note))
    return entries


def _in_halves(fact: Fact) -> bool:
    return len(fact.spans) > 1


def _losses(rng: random.Random, facts: Sequence[Fact], silent: str) -> set[int]:
    """Positions of the lost facts: rounded once for each quartile, so that the planted recall is a known number."""
    lost = {i for i, fact in enumerate(facts) if fact.entry_id == silent or _in_halves(fact)}
    live = Counter(fact.entry_id for fact in facts for _ in fact.spans)
    for quartile, recall in RECALL.items():
        members = [i for i, fact in enumerate(facts) if fact.quartile == quartile]
        wanted = len(members) - round(recall * len(members)) - len(lost.intersection(members))
        for i in shuffled(rng, [i for i in members if i not in lost]):
            if wanted > 0 and live[facts[i].entry_id] > FEWEST_LIVE:
                lost.add(i)
                live[facts[i].entry_id] -= 1
                wanted -= 1
    return lost


def _other_value(rng: random.Random, fact: Fact, change: Change, people: Sequence[str]) -> dict[str, str]:
    """A slot of the fact's signal with a value that its span does not hold; empty if there is no such slot."""
    said = {name for name, _, _ in slots_of(fact.frame.signals[0])}
    for name, low, high in slots_of(fact.frame.noted[0]):
        if change == "number" and low and name in said:
            options = [draw_number(rng, low, high)]
        elif change == "person" and name in said & PEOPLE:
            options = list(people)
        else:
            continue
        others = [value for value in options if value not in fact.noted[0]]
        return {name: pick(rng, others)} if others else {}
    return {}


def _invention(rng: random.Random, fact: Fact, change: Change, people: Sequence[str]) -> str | None:
    """A signal that its span does not bear out, or None if the fact does not lend itself to the change."""
    if change == "negation":
        return fill(fact.frame.invented, fact.values) if fact.frame.invented else None
    other = _other_value(rng, fact, change, people)
    return fill(fact.frame.signals[0], fact.values | other) if other else None


def _true_contents(fact: Fact) -> tuple[str, ...]:
    return tuple(fill(signal, fact.values) for signal in fact.frame.signals)


def _replacement(rng: random.Random, fact: Fact, wish: Wish, people: Sequence[str]) -> tuple[str, ...]:
    """The contents of a lost fact's signals under its new fate; empty if the fact does not lend itself to it."""
    if wish.change:
        invention = _invention(rng, fact, wish.change, people)
        return (invention,) if invention else ()
    if wish.fate is Fate.VAGUE:
        return (fill(fact.frame.vague, fact.values),) if fact.frame.vague else ()
    return _true_contents(fact)


def _first_fate(fact: Fact, *, lost: bool) -> Planted:
    if _in_halves(fact):
        return Planted(fact, Fate.IN_HALVES, _true_contents(fact))
    return Planted(fact, Fate.DROPPED, ()) if lost else Planted(fact, Fate.EXTRACTED, _true_contents(fact))


def _people(facts: Sequence[Fact], entry_id: str) -> list[str]:
    """The people whom the facts of an entry speak of, in the order of the text."""
    return [v for fact in facts if fact.entry_id == entry_id for name, v in fact.values.items() if name in PEOPLE]


def _fates(rng: random.Random, facts: Sequence[Fact], lost: set[int], silent: str) -> list[Planted]:
    """Every fact with its fate; false, vague and deleted signals stand in, at most one an entry, for lost facts.

    Raises: TooFewLosses: a fate was left over.
    """
    planted = [_first_fate(fact, lost=i in lost) for i, fact in enumerate(facts)]
    wishes = [Wish(Fate.INVENTED, change) for change in INVENTIONS]
    wishes += [Wish(Fate.VAGUE, None)] * VAGUE + [Wish(Fate.DELETED, None)] * DELETED
    candidates = shuffled(rng, [i for i, p in enumerate(planted) if p.fate is Fate.DROPPED])
    touched = {silent}
    for wish in wishes:
        for i in candidates:
            fact = facts[i]
            if fact.entry_id in touched:
                continue
            if contents := _replacement(rng, fact, wish, _people(facts, fact.entry_id)):
                planted[i] = Planted(fact, wish.fate, contents)
                touched.add(fact.entry_id)
                break
        else:
            raise TooFewLosses(f"no lost fact is left for {wish}; write more frames that lend themselves to it")
    return planted


def build() -> Corpus:
    """The whole corpus, the same on every call."""
    entries = [
        entry
        for name, paired_entries in PAIRED.items()
        for entry in _entries(read_workspace(name), paired_entries=paired_entries)
    ]
    rng = random.Random(f"{SEED}/extraction")
    facts = [fact for entry in entries for fact in entry.note.facts]
    silent = pick(rng, [entry.note.key for entry in entries if not any(map(_in_halves, entry.note.facts))])
    planted = _fates(rng, facts, _losses(rng, facts, silent), silent)
    return Corpus(tuple(entries), tuple(planted))
