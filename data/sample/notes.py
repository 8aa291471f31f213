"""Long working notes, laid out from written wordings, with a record of where each fact of a note stands."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from wording import Frame, Topic, Workspace, draw_values, fill, pick, settle, shuffled

HEADED_SHARE = 0.7
FEWEST_PER_QUARTILE = 2
QUARTILES = 4


class NoteDoesNotFit(Exception):
    """A note of the wanted shape was not found in the attempts allowed."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A frame with its slots filled, and the spans (start, end) of its noted sentences in the entry's content."""

    entry_id: str
    frame: Frame
    values: dict[str, str]
    noted: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    quartile: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What a note should be like."""

    words: int
    facts: int
    topics: int
    paired: int


@dataclass(frozen=True, slots=True)
class Note:
    """An entry's content with the facts and the fillers that it holds, in the order in which they stand."""

    key: str
    content: str
    facts: tuple[Fact, ...]
    fillers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    frame: Frame | None
    values: dict[str, str]
    sentences: tuple[str, ...]


def word_count(text: str) -> int:
    """The number of words, where only white space parts words."""
    return len(re.split(r"\s+", text))


def quartile_of(offset: float, length: int) -> int:
    """The quartile, 1 to 4, of a text of this length in which the character offset stands."""
    return min(QUARTILES - 1, int(QUARTILES * offset // length)) + 1


def _piece(rng: random.Random, content: Frame | str, fixed: dict[str, str], pools: dict[str, list[str]]) -> _Piece:
    frame, texts = (None, (content,)) if isinstance(content, str) else (content, content.noted)
    values = draw_values(rng, texts, fixed, pools)
    return _Piece(frame, values, tuple(fill(settle(rng, text), values) for text in texts))


def _chosen_frames(rng: random.Random, topics: Sequence[Topic], shape: Shape) -> list[list[Frame]]:
    """The frames of each paragraph, spread as evenly as can be; the told-in-halves facts take places of their own."""
    holders = shuffled(rng, [i for i, topic in enumerate(topics) if topic.pairs])[: shape.paired]
    rest = shape.facts - len(holders)
    extra = set(shuffled(rng, range(len(topics)))[: rest % len(topics)])
    chosen = []
    for i, topic in enumerate(topics):
        count = rest // len(topics) + (i in extra)
        frames = shuffled(rng, topic.frames)[:count]
        chosen.append(frames + ([pick(rng, topic.pairs)] if i in holders else []))
    return chosen


def _paragraphs(rng: random.Random, workspace: Workspace, shape: Shape, fixed: dict[str, str]) -> list[list[_Piece]]:
    inner = shuffled(rng, range(1, len(workspace.topics) - 1))[: shape.topics - 2]
    topics = [workspace.topics[i] for i in (0, *inner, -1)]
    paragraphs = [
        [_piece(rng, frame, fixed, workspace.pools) for frame in frames]
        for frames in _chosen_frames(rng, topics, shape)
    ]
    unused = [shuffled(rng, topic.fillers) for topic in topics]
    words = [sum(word_count(s) for piece in p for s in piece.sentences) for p in paragraphs]
    while sum(words) < shape.words:
        shortest = min((i for i in range(len(topics)) if unused[i]), key=lambda i: words[i])
        piece = _piece(rng, unused[shortest].pop(), fixed, workspace.pools)
        paragraphs[shortest].append(piece)
        words[shortest] += word_count(piece.sentences[0])
    return [shuffled(rng, paragraph) for paragraph in paragraphs]


def _located(key: str, heading: str, paragraphs: Sequence[Sequence[_Piece]]) -> Note:
    texts = [" ".join(s for piece in paragraph for s in piece.sentences) for paragraph in paragraphs]
    content = "\n\n".join([heading, *texts] if heading else texts)
    facts: list[Fact] = []
    fillers: list[str] = []
    at = len(heading) + 2 if heading else 0
    for paragraph in paragraphs:
        for piece in paragraph:
            spans = []
            for sentence in piece.sentences:
                spans.append((at, at + len(sentence)))
                at += len(sentence) + 1
            if piece.frame is None:
                fillers.extend(piece.sentences)
            else:
                quartile = quartile_of((spans[0][0] + spans[-1][1]) / 2, len(content))
                facts.append(Fact(key, piece.frame, piece.values, piece.sentences, tuple(spans), quartile))
        at += 1
    return Note(key, content, tuple(facts), tuple(fillers))


def write_note(workspace: Workspace, key: str, shape: Shape, *, seed: str, attempts: int) -> Note:
    """A note of the wanted shape with at least two facts in every quartile.

    Raises: NoteDoesNotFit: no attempt put two facts into every quartile.
    """
    for attempt in range(attempts):
        rng = random.Random(f"{seed}/{key}/{attempt}")
        fixed = {name: pick(rng, options) for name, options in workspace.entry_slots.items()}
        heading = pick(rng, workspace.headings) if rng.random() < HEADED_SHARE else ""
        heading = fill(heading, draw_values(rng, [heading], fixed, workspace.pools)) if heading else ""
        note = _located(key, heading, _paragraphs(rng, workspace, shape, fixed))
        in_quartile = [fact.quartile for fact in note.facts]
        paired = sum(len(fact.spans) > 1 for fact in note.facts)
        if paired == shape.paired and all(in_quartile.count(q + 1) >= FEWEST_PER_QUARTILE for q in range(QUARTILES)):
            return note
    raise NoteDoesNotFit(f"{key}: no note of {shape} in {attempts} attempts; allow more attempts or more facts")
