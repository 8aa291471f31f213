"""The sample corpus keeps what its README promises, and a reader can find every planted number in its files."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from eval_pipeline.judge.lexical import entails

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
FILES = ("entries.jsonl", "signals.jsonl", "propositions.jsonl", "labels.jsonl", "truth.json")
IDENTIFIER = re.compile(r"[A-Za-z0-9_-]+")

Row = dict[str, Any]


def lines(name: str) -> list[Row]:
    return [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]


def words(text: str) -> int:
    return len(re.split(r"\s+", text))


ENTRIES = lines("entries.jsonl")
SIGNALS = lines("signals.jsonl")
LIVE = [signal for signal in SIGNALS if signal["deleted_at"] is None]
PROPOSITIONS = lines("propositions.jsonl")
LABELS = lines("labels.jsonl")
TRUTH = json.loads((SAMPLE / "truth.json").read_text(encoding="utf-8"))
CONTENT = {entry["lookup_key"]: entry["content"] for entry in ENTRIES}
SUPPORTED = {(row["entry_id"], row["proposition"]): row["supported"] for row in LABELS}


def key(row: Row) -> tuple[str, str]:
    return row["entry_id"], row["proposition"]


def span_text(signal: Row) -> str:
    span = signal["provenance"]["span"]
    return str(CONTENT[signal["entry_id"]][span["start"] : span["end"]])


@pytest.fixture(scope="module")
def generator() -> Any:
    """The generator's module that plants the facts; it stands beside the data and not in the package."""
    sys.path.insert(0, str(SAMPLE))
    try:
        return importlib.import_module("plant")
    finally:
        sys.path.remove(str(SAMPLE))


@pytest.fixture(scope="module")
def corpus(generator: Any) -> Any:
    """The corpus with what the files leave out: which noted sentences each fact has, and its fate."""
    return generator.build()


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_the_generator_writes_the_committed_bytes_whatever_the_hash_seed(tmp_path: Path, hash_seed: str) -> None:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, SAMPLE / "generate.py", tmp_path], env=environment, check=True)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert [name for name in FILES if (tmp_path / name).read_bytes() != (SAMPLE / name).read_bytes()] == []


def test_every_line_has_its_keys_in_the_promised_order() -> None:
    promised = {
        "entries.jsonl": ["lookup_key", "workspace", "band", "content"],
        "signals.jsonl": ["lookup_key", "entry_id", "content", "provenance", "deleted_at"],
        "propositions.jsonl": ["entry_id", "quartile", "proposition"],
        "labels.jsonl": ["entry_id", "proposition", "supported"],
    }
    assert {name: {tuple(row) for row in lines(name)} for name in promised} == {
        name: {tuple(keys)} for name, keys in promised.items()
    }
    assert not any(b"\r" in (SAMPLE / name).read_bytes() for name in FILES)


def test_ids_are_unique_and_keep_to_the_alphabet() -> None:
    for rows in (ENTRIES, SIGNALS):
        ids = [row["lookup_key"] for row in rows]
        assert len(set(ids)) == len(ids)
        assert all(IDENTIFIER.fullmatch(i) for i in ids)
    assert {row["entry_id"] for row in SIGNALS + PROPOSITIONS + LABELS} == set(CONTENT)


def test_three_workspaces_hold_32_entries_each_and_both_bands_dense_or_not() -> None:
    cells = Counter((e["workspace"], e["band"], words(e["content"]) >= 1000) for e in ENTRIES)
    assert set(Counter(e["workspace"] for e in ENTRIES).values()) == {32}
    assert {band for _, band, _ in cells} == {"confident", "triage"}
    assert len(cells) == 3 * 2 * 2


def test_at_least_52_entries_are_dense_and_the_others_have_300_to_700_words() -> None:
    counts = [words(content) for content in CONTENT.values()]
    assert sum(count >= 1000 for count in counts) >= 52
    assert all(300 <= count <= 700 or 1000 <= count <= 1400 for count in counts)


def test_characters_and_bytes_count_differently_in_nearly_every_entry() -> None:
    differing = sum(len(content) != len(content.encode()) for content in CONTENT.values())
    assert differing >= 0.9 * len(CONTENT)


def test_each_span_is_the_noted_sentence_of_its_fact(corpus: Any) -> None:
    noted = {
        (p.fact.entry_id, text): s for p in corpus.planted for text, s in zip(p.contents, p.fact.noted, strict=False)
    }
    assert [span_text(s) for s in SIGNALS] == [noted[s["entry_id"], s["content"]] for s in SIGNALS]


def test_each_quartile_is_where_the_middle_of_the_noted_text_stands(corpus: Any) -> None:
    """Recomputed from the content alone: the noted text is looked up, and stands there once."""
    recomputed = []
    for planted in corpus.planted:
        content, noted = CONTENT[planted.fact.entry_id], " ".join(planted.fact.noted)
        assert content.count(noted) == 1
        middle = content.index(noted) + len(noted) / 2
        recomputed.append((planted.fact.entry_id, planted.proposition, min(3, int(4 * middle // len(content))) + 1))
    assert recomputed == [(*key(row), row["quartile"]) for row in PROPOSITIONS]


def test_each_entry_has_8_to_12_propositions_and_two_or_more_in_every_quartile() -> None:
    per_entry = Counter(row["entry_id"] for row in PROPOSITIONS)
    per_quartile = Counter((row["entry_id"], row["quartile"]) for row in PROPOSITIONS)
    assert all(8 <= per_entry[entry] <= 12 for entry in CONTENT)
    assert all(per_quartile[entry, quartile] >= 2 for entry in CONTENT for quartile in (1, 2, 3, 4))


def test_one_entry_has_no_signals_and_every_other_has_6_to_12_live_ones() -> None:
    live = Counter(signal["entry_id"] for signal in LIVE)
    assert sum(entry not in live for entry in CONTENT) == 1
    assert all(6 <= count <= 12 for count in live.values())


def test_labels_answer_each_proposition_and_each_live_signal_once() -> None:
    asked = [key(row) for row in PROPOSITIONS] + [(s["entry_id"], s["content"]) for s in LIVE]
    assert len(set(asked)) == len(asked)
    assert Counter(key(row) for row in LABELS) == Counter(asked)


def test_the_planted_numbers_are_those_counted_from_the_files(corpus: Any) -> None:
    quartiles: dict[str, Counter[str]] = defaultdict(Counter)
    for row in PROPOSITIONS:
        quartiles[str(row["quartile"])].update(judged=1, supported=SUPPORTED[key(row)])
    fates = Counter(planted.fate.value for planted in corpus.planted)
    assert {
        "entries": len(ENTRIES),
        "dense_entries": sum(words(content) >= 1000 for content in CONTENT.values()),
        "propositions": len(PROPOSITIONS),
        "supported": sum(SUPPORTED[key(row)] for row in PROPOSITIONS),
        "by_quartile": {q: dict(counts) for q, counts in quartiles.items()},
        "live_signals": len(LIVE),
        "deleted_signals": len(SIGNALS) - len(LIVE),
        "inventions": sum(not SUPPORTED[s["entry_id"], s["content"]] for s in LIVE),
        "vague_signals": fates["vague"],
        "composition_only": fates["in halves"],
    } == TRUTH


def test_the_planted_recall_is_rounded_once_in_each_quartile() -> None:
    for quartile, recall in {"1": 0.93, "2": 0.90, "3": 0.86, "4": 0.70}.items():
        counts = TRUTH["by_quartile"][quartile]
        assert abs(counts["supported"] - recall * counts["judged"]) <= 0.5


def test_a_reader_who_forgets_deleted_at_recovers_propositions_that_are_lost() -> None:
    deleted = [signal for signal in SIGNALS if signal["deleted_at"] is not None]
    found = {
        key(row)
        for signal in deleted
        for row in PROPOSITIONS
        if row["entry_id"] == signal["entry_id"] and entails([signal["content"]], row["proposition"])
    }
    assert len(deleted) == 8
    assert sum(not SUPPORTED[pair] for pair in found) >= 6


def test_no_filler_and_no_frame_comes_twice_in_an_entry(corpus: Any) -> None:
    for entry in corpus.entries:
        frames = [fact.frame for fact in entry.note.facts]
        assert len(set(entry.note.fillers)) == len(entry.note.fillers)
        assert len(set(frames)) == len(frames)


def test_each_workspace_has_45_fact_frames_and_60_fillers_and_no_wording_is_written_twice(generator: Any) -> None:
    for name in {entry["workspace"] for entry in ENTRIES}:
        topics = generator.read_workspace(name).topics
        frames = [frame for topic in topics for frame in (*topic.frames, *topic.pairs)]
        fillers = [filler for topic in topics for filler in topic.fillers]
        texts = [text for frame in frames for text in (*frame.noted, *frame.signals, frame.proposition)]
        wordings = [re.sub(r":[\d.]+(?=\})", "", text) for text in texts]  # {days:2..9} and {days} are the same slot
        assert len(frames) >= 45
        assert len(fillers) >= 60
        assert len(set(wordings + fillers)) == len(wordings + fillers)


def test_nearly_every_written_frame_is_used(generator: Any, corpus: Any) -> None:
    used = {planted.fact.frame for planted in corpus.planted}
    written = [
        frame
        for name in {entry["workspace"] for entry in ENTRIES}
        for topic in generator.read_workspace(name).topics
        for frame in topic.frames
    ]
    assert len(used.intersection(written)) >= 0.95 * len(written)


def test_the_corpus_holds_at_least_1200_distinct_sentences_and_2200_distinct_words() -> None:
    text = "\n".join(CONTENT.values())
    assert len(set(re.split(r"(?<=[.?!])\s+", text))) >= 1200
    assert len(set(re.findall(r"[^\W\d_]+", text.casefold()))) >= 2200


def test_no_slot_or_choice_is_left_open() -> None:
    texts = [*CONTENT.values(), *(s["content"] for s in SIGNALS), *(p["proposition"] for p in PROPOSITIONS)]
    assert [text for text in texts if re.search(r"[{}\[\]|]|\bthe the\b| {2}", text)] == []


def test_the_offline_judge_mostly_finds_the_planted_truth_and_sometimes_errs() -> None:
    """The wordings share enough words for a lexical judge, and not so many that it cannot be wrong."""
    signals = defaultdict(list)
    for signal in LIVE:
        signals[signal["entry_id"]].append(signal["content"])
    verdicts = [any(entails([s], row["proposition"]) for s in signals[row["entry_id"]]) for row in PROPOSITIONS]
    agreed = Counter(
        (SUPPORTED[key(row)], v == SUPPORTED[key(row)]) for row, v in zip(PROPOSITIONS, verdicts, strict=True)
    )
    recovered = Counter(row["quartile"] for row, verdict in zip(PROPOSITIONS, verdicts, strict=True) if verdict)
    judged = Counter(row["quartile"] for row in PROPOSITIONS)
    assert 0.95 <= agreed[True, True] / (agreed[True, True] + agreed[True, False]) < 1
    assert 0.92 <= agreed[False, True] / (agreed[False, True] + agreed[False, False]) < 1
    assert sum(verdicts) / len(verdicts) > 0.80
    assert recovered[1] / judged[1] - recovered[4] / judged[4] > 0.15


def test_the_offline_judge_sees_that_spans_entail_their_signals_and_that_most_inventions_are_not_entailed() -> None:
    verdicts = Counter((SUPPORTED[s["entry_id"], s["content"]], entails([span_text(s)], s["content"])) for s in LIVE)
    assert verdicts[True, True] / (verdicts[True, True] + verdicts[True, False]) >= 0.975
    assert verdicts[False, False] >= 3
