"""Corpora for `calls.py`: what each signal says is known, so that a judge of them can be exact without a model.

A fact has three wordings: as noted, as extracted and as annotated. Which signals tell it stands in a table beside the
texts and not in them, so that an order of the signals has nothing but words to go by.
"""

import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.corpus.source import SAMPLE, pinned
from eval_pipeline.records import Entry, Proposition, Signal
from eval_pipeline.studies.extraction.fixture import Fixture, read_fixture

ENTRIES, PER_ENTRY, SIGNALS, IN_HALVES, SEED = 90, 12, 8, 0.03, 7

_PEOPLE = "Anneke Bilal Corin Dagny Efua Faisal Gwen Henrik Ilse Joaquin Kirsi Lior Maud Nuno Oksana Petra".split()
_SITES = "quarry weir orchard tannery viaduct foundry boathouse brickyard granary signal-box".split()
_THINGS = "pump crane kiln winch hoist conveyor boiler generator turntable press sluice roof".split()
_FRAMES = (
    (
        "{who} paced out the {site} and reckons the {thing} stands {n} metres from where the drawing has it",
        "{thing} at the {site}: {km:.3f} km off the drawing, by {who}'s measurement",
        "{who} found the {thing} of the {site} {n} metres away from its place on the drawing.",
    ),
    (
        "I finally pinned {who} down on money, and fixing the {thing} will not come in under {n} pounds for the {site}",
        "Repair of {thing} ({site}) estimated at {n}.00 GBP, source {who}",
        "According to {who}, repairing the {site}'s {thing} costs {n} pounds.",
    ),
    (
        "{who} is adamant that nobody touched the {thing} over at the {site} for {n} days before it gave up",
        "{site} {thing} unattended {n} days prior to failure, {who} says",
        "The {thing} at the {site} failed after {n} days without attention, as {who} insists.",
    ),
    (
        "it turns out {who} has put the {site} down for {n} hours on the {thing}, starting Monday",
        "{n} hours of {thing} time booked by {who} for the {site}",
        "{who} reserved the {thing} for {n} hours on behalf of the {site}.",
    ),
    (
        "number {n} on the {thing} list went to {who}, which the {site} people did not like at all",
        "{who} assigned inspection {n} ({thing}); objection from the {site}",
        "Against the wish of the {site}, {who} was given inspection {n} of the {thing}.",
    ),
)
_MARK = re.compile(r"REF-[0-9A-F]{8}")
_MARKS = re.compile(r"\s*\[REF-[0-9A-F]{8}(?: REF-[0-9A-F]{8})*\]")

Told = Mapping[str, frozenset[frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A corpus with its propositions.

    `told` gives for each proposition the sets of signals that say it: of one signal, or of several that say it only
    together. `recovered` is the number of propositions that one signal says, where it was planted.
    """

    name: str
    snapshot: Snapshot
    fixture: Fixture
    told: Told
    recovered: int | None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact in its three wordings."""

    noted: str
    extracted: str
    annotated: str


def planted(name: str, *, recall: float, confusable: float, duplicates: float, seed: int = SEED) -> Workload:
    """A corpus whose recall is exactly the one given, rounded to a whole number of propositions.

    Args:
        confusable: the chance of a fact, the first aside, to be an earlier one of the entry but for its number.
        duplicates: the chance of a signal, the first aside, to be another of the entry once more.

    """
    rng = random.Random(seed)
    total = ENTRIES * PER_ENTRY
    kept, halves = round(recall * total), min(round(IN_HALVES * total), total - round(recall * total))
    fates = ["kept"] * kept + ["in halves"] * halves + ["lost"] * (total - kept - halves)
    rng.shuffle(fates)
    entries, signals, propositions = [], [], []
    told: dict[str, frozenset[frozenset[str]]] = {}
    used: set[str] = set()
    for place in range(ENTRIES):
        entry_id, fate = f"note-{place:03d}", fates[place * PER_ENTRY : (place + 1) * PER_ENTRY]
        facts = _facts(rng, confusable, used)
        contents, says = _extracted(rng, facts, fate, duplicates)
        entries.append(Entry(entry_id, None, None, ". ".join(fact.noted for fact in facts[:PER_ENTRY]) + "."))
        signals += _signals(entry_id, contents)
        propositions += [
            Proposition(entry_id, 1 + 4 * n // PER_ENTRY, fact.annotated) for n, fact in enumerate(facts[:PER_ENTRY])
        ]
        told |= says
    return Workload(name, _snapshot(entries, signals, name), Fixture(tuple(propositions), None), told, kept)


def _facts(rng: random.Random, confusable: float, used: set[str]) -> list[Fact]:
    """The facts of a note: those that were annotated, then as many that nobody annotated as there are signals.

    None is among the annotated wordings that were used, to which all of them are added.
    """
    casts = [rng.sample(names, 4) for names in (_PEOPLE, _SITES, _THINGS)]
    likes: list[dict[str, Any]] = []
    facts: list[Fact] = []
    while len(facts) < PER_ENTRY + SIGNALS:
        if likes and rng.random() < confusable:
            like = rng.choice(likes)
        else:
            who, site, thing = (rng.choice(cast) for cast in casts)
            like = {"frame": rng.choice(_FRAMES), "who": who, "site": site, "thing": thing}
        number = rng.randint(11, 989)
        fact = Fact(*(wording.format(n=number, km=number / 1000, **like) for wording in like["frame"]))
        if fact.annotated not in used:
            used.add(fact.annotated)
            likes.append(like)
            facts.append(fact)
    return facts


def _extracted(
    rng: random.Random, facts: Sequence[Fact], fates: Sequence[str], duplicates: float
) -> tuple[list[str], dict[str, frozenset[frozenset[str]]]]:
    """The signals of an entry, and which of them say each of its propositions.

    The facts are dealt out over the signals, and a signal that got none says something that nobody annotated.
    """
    copies = sum(rng.random() < duplicates for _ in range(SIGNALS - 1))
    hands: list[list[str]] = [[] for _ in range(SIGNALS - copies)]
    homes: dict[str, list[int]] = {}
    kept = [(fact, fate) for fact, fate in zip(facts[:PER_ENTRY], fates, strict=True) if fate != "lost"]
    rng.shuffle(kept)
    turn = itertools.cycle(range(len(hands)))
    for fact, fate in kept:
        parts = [fact.extracted] if fate == "kept" else _halves(fact.extracted)
        homes[fact.annotated] = [next(turn) for _ in parts]
        for part, home in zip(parts, homes[fact.annotated], strict=True):
            hands[home].append(part)
    spare = iter(facts[PER_ENTRY:])
    contents = ["; ".join(hand) if hand else next(spare).extracted for hand in hands]
    says = {text: frozenset({frozenset(contents[home] for home in where)}) for text, where in homes.items()}
    contents += [rng.choice(contents) for _ in range(copies)]
    rng.shuffle(contents)
    return contents, says


def _halves(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]


def sample() -> Workload:
    """The bundled sample; in its labels each proposition is followed by the signals that were made of its fact."""
    folder = bundled("sample")
    snapshot, fixture = pinned(SAMPLE), read_fixture(folder / "propositions.jsonl")
    propositions = {(one.entry_id, one.text) for one in fixture.propositions}
    made: list[tuple[str, bool, list[str]]] = []
    for line in _lines(folder / "labels.jsonl"):
        if (line["entry_id"], line["proposition"]) in propositions:
            made.append((line["proposition"], line["supported"], []))
        else:
            made[-1][2].append(line["proposition"])
    told: dict[str, frozenset[frozenset[str]]] = defaultdict(frozenset)
    for text, supported, signals in made:
        if supported or len(signals) > 1:
            told[text] |= {frozenset(signals)}
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    return Workload("the bundled sample", snapshot, fixture, told, truth["supported"])


def exported(folder: Path) -> tuple[Workload, Workload]:
    """A corpus whose texts carry marks such as [REF-1A2B3C4D], and the same with the marks left out of the texts.

    A premise supports a proposition if it holds all of its marks; texts that differ in their marks alone become one
    when those are left out.
    """
    signals = [line for line in _lines(folder / "signals.jsonl") if not line.get("deleted_at")]
    propositions = list(_lines(folder / "propositions.jsonl"))
    shown = _marked(f"{folder.name}, marks shown", signals, propositions, marks="shown")
    return shown, _marked(f"{folder.name}, marks hidden", signals, propositions, marks="hidden")


def _marked(
    name: str,
    lines: Sequence[dict[str, Any]],
    propositions: Sequence[dict[str, Any]],
    *,
    marks: Literal["shown", "hidden"],
) -> Workload:
    def text_of(text: str) -> str:
        return text if marks == "shown" else _MARKS.sub("", text)

    carriers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in lines:
        for mark in _MARK.findall(line["content"]):
            carriers[line["entry_id"], mark].add(text_of(line["content"]))
    told: dict[str, frozenset[frozenset[str]]] = defaultdict(frozenset)
    for one in propositions:
        wanted = _MARK.findall(one["proposition"])
        if not wanted:
            raise SystemExit(f"found no mark in {one['proposition']!r}, expected one such as [REF-1A2B3C4D]")
        ways = itertools.product(*(carriers[one["entry_id"], mark] for mark in wanted))
        told[text_of(one["proposition"])] |= frozenset(map(frozenset, ways))
    entries = [Entry(entry_id, None, None, "") for entry_id in sorted({one["entry_id"] for one in propositions})]
    signals = [Signal(one["lookup_key"], one["entry_id"], text_of(one["content"]), None, None, None) for one in lines]
    asked = [Proposition(one["entry_id"], one["quartile"], text_of(one["proposition"])) for one in propositions]
    return Workload(name, _snapshot(entries, signals, name), Fixture(tuple(asked), None), told, None)


def _signals(entry_id: str, contents: Iterable[str]) -> list[Signal]:
    return [Signal(f"{entry_id}-{n:02d}", entry_id, content, None, None, None) for n, content in enumerate(contents)]


def _snapshot(entries: Sequence[Entry], signals: Sequence[Signal], source: str) -> Snapshot:
    ordered = tuple(sorted(signals, key=lambda signal: signal.id))
    return Snapshot(tuple(entries), ordered, LeftOut(0, 0, 0, 0), source, refusal=None)


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())
