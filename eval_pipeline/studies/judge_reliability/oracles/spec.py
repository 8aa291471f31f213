"""The spec oracle: does a document keep to a rule, or not, as the claim has it? Rules are data."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from eval_pipeline.studies.judge_reliability.oracles.answer import Answer, Content, content_of, told

CAVEAT = "by rules of this house, which read headings and lists and nothing between the lines"

_Count = Annotated[int, Field(ge=0)]
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.*)$")


class SectionPresent(Content):
    """A section of that heading is there."""

    kind: Literal["section_present"]
    heading: str


class SectionsInOrder(Content):
    """Sections of these headings are there, in that order."""

    kind: Literal["sections_in_order"]
    headings: list[str]


class SectionAtMostWords(Content):
    """The section is there, and has that many words or fewer."""

    kind: Literal["section_at_most_words"]
    heading: str
    words: _Count


class ItemsAtLeast(Content):
    """The section is there, and lists that many items or more."""

    kind: Literal["items_at_least"]
    heading: str
    items: _Count


class EveryItemMentions(Content):
    """The section lists something, and each of its items has one of these words in it."""

    kind: Literal["every_item_mentions"]
    heading: str
    any_of: list[str]


class TextAbsent(Content):
    """The text stands nowhere, in whatever case."""

    kind: Literal["text_absent"]
    text: str


class IdsUnique(Content):
    """No id of that prefix, such as REQ in REQ-7, begins two items."""

    kind: Literal["ids_unique"]
    prefix: str


class IdsDefined(Content):
    """Each id of that prefix that is mentioned begins an item somewhere."""

    kind: Literal["ids_defined"]
    prefix: str


Rule = Annotated[
    SectionPresent
    | SectionsInOrder
    | SectionAtMostWords
    | ItemsAtLeast
    | EveryItemMentions
    | TextAbsent
    | IdsUnique
    | IdsDefined,
    Field(discriminator="kind"),
]


class SpecContent(Content):
    """A document in Markdown, a rule, and whether the document is said to keep to it."""

    document: str
    rule: Rule
    expected_valid: bool


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    words: int
    items: tuple[str, ...]


def spec_answer(content: Any) -> Answer:
    """Whether the document keeps to the rule, or does not, as the claim has it."""
    claim = content_of(content, SpecContent)
    if isinstance(claim, Answer):
        return claim
    broken = _RULES[type(claim.rule)](claim.document, claim.rule)
    said = f"breaks the rule: {broken}" if broken else "keeps to the rule"
    return told((broken is None) is claim.expected_valid, f"the document {said} ({CAVEAT})")


def _sections(document: str) -> list[_Section]:
    """The sections of a document; each ends at the next heading of whatever level."""
    found: list[tuple[str, list[str]]] = []
    for line in document.splitlines():
        if match := _HEADING.match(line):
            found.append((match[1], []))
        elif found:
            found[-1][1].append(line)
    return [
        _Section(heading, sum(len(line.split()) for line in lines), tuple(_items(lines))) for heading, lines in found
    ]


def _items(lines: list[str]) -> list[str]:
    return [match[1] for line in lines if (match := _ITEM.match(line))]


def _named(document: str, heading: str) -> _Section | None:
    return next((one for one in _sections(document) if one.heading.casefold() == heading.casefold()), None)


def _section_present(document: str, rule: SectionPresent) -> str | None:
    return None if _named(document, rule.heading) else f"there is no section {rule.heading!r}"


def _sections_in_order(document: str, rule: SectionsInOrder) -> str | None:
    headings = [one.heading.casefold() for one in _sections(document)]
    if absent := [one for one in rule.headings if one.casefold() not in headings]:
        return f"there is no section {absent[0]!r}"
    places = [headings.index(one.casefold()) for one in rule.headings]
    return None if places == sorted(places) else "the sections stand in another order"


def _section_at_most_words(document: str, rule: SectionAtMostWords) -> str | None:
    section = _named(document, rule.heading)
    if section is None:
        return f"there is no section {rule.heading!r}"
    return None if section.words <= rule.words else f"the section has {section.words} words"


def _items_at_least(document: str, rule: ItemsAtLeast) -> str | None:
    section = _named(document, rule.heading)
    if section is None:
        return f"there is no section {rule.heading!r}"
    return None if len(section.items) >= rule.items else f"the section lists {len(section.items)} items"


def _every_item_mentions(document: str, rule: EveryItemMentions) -> str | None:
    section = _named(document, rule.heading)
    if section is None or not section.items:
        return f"the section {rule.heading!r} lists nothing"
    words = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in rule.any_of), re.IGNORECASE)
    without = next((item for item in section.items if not rule.any_of or not words.search(item)), None)
    return None if without is None else f"the item {without!r} mentions none of them"


def _text_absent(document: str, rule: TextAbsent) -> str | None:
    return f"{rule.text!r} stands in it" if rule.text.casefold() in document.casefold() else None


def _defined(document: str, prefix: str) -> list[str]:
    starts = (re.match(rf"\W*({re.escape(prefix)}-\d+)\b", item) for item in _items(document.splitlines()))
    return [start[1] for start in starts if start]


def _ids_unique(document: str, rule: IdsUnique) -> str | None:
    ids = _defined(document, rule.prefix)
    twice = next((one for one in ids if ids.count(one) > 1), None)
    return None if twice is None else f"{twice} begins {ids.count(twice)} items"


def _ids_defined(document: str, rule: IdsDefined) -> str | None:
    mentioned = re.findall(rf"\b{re.escape(rule.prefix)}-\d+\b", document)
    known = set(_defined(document, rule.prefix))
    unknown = next((one for one in mentioned if one not in known), None)
    return None if unknown is None else f"{unknown} begins no item"


_RULES: dict[type[Content], Callable[[str, Any], str | None]] = {
    SectionPresent: _section_present,
    SectionsInOrder: _sections_in_order,
    SectionAtMostWords: _section_at_most_words,
    ItemsAtLeast: _items_at_least,
    EveryItemMentions: _every_item_mentions,
    TextAbsent: _text_absent,
    IdsUnique: _ids_unique,
    IdsDefined: _ids_defined,
}
