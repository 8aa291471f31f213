"""The files of the sample corpus: entries, signals, propositions, and the planted truth of each.

Run `python data/sample/generate.py` to write them again; the bytes depend on nothing but this folder.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from notes import QUARTILES, word_count
from plant import Corpus, Fate, Planted, build

DENSE_WORDS = 1000

Row = dict[str, Any]


def entry_rows(corpus: Corpus) -> list[Row]:
    """The lines of entries.jsonl."""
    return [
        {"lookup_key": e.note.key, "workspace": e.workspace, "band": e.band, "content": e.note.content}
        for e in corpus.entries
    ]


def signal_rows(corpus: Corpus) -> list[Row]:
    """The lines of signals.jsonl, numbered within each entry in the order of the text."""
    rows: list[Row] = []
    numbers: Counter[str] = Counter()
    deletions = 0
    for planted in corpus.planted:
        entry_id, deleted = planted.fact.entry_id, planted.fate is Fate.DELETED
        deletions += deleted
        deleted_at = f"2025-11-{2 * deletions:02d}T09:{5 * deletions:02d}:00Z" if deleted else None
        for content, (start, end) in zip(planted.contents, planted.fact.spans, strict=bool(planted.contents)):
            numbers[entry_id] += 1
            rows.append(
                {
                    "lookup_key": f"{entry_id}-s{numbers[entry_id]:02d}",
                    "entry_id": entry_id,
                    "content": content,
                    "provenance": {"span": {"start": start, "end": end}, "extractor": "sample"},
                    "deleted_at": deleted_at,
                }
            )
    return rows


def proposition_rows(corpus: Corpus) -> list[Row]:
    """The lines of propositions.jsonl."""
    return [
        {"entry_id": p.fact.entry_id, "quartile": p.fact.quartile, "proposition": p.proposition} for p in corpus.planted
    ]


def label_rows(corpus: Corpus) -> list[Row]:
    """The lines of labels.jsonl: each proposition, and each live signal as a hypothesis about its own span."""
    rows: list[Row] = []
    for planted in corpus.planted:
        rows.append(_label(planted, planted.proposition, supported=planted.supported))
        if planted.fate is not Fate.DELETED:
            entailed = planted.fate is not Fate.INVENTED
            rows.extend(_label(planted, content, supported=entailed) for content in planted.contents)
    return rows


def _label(planted: Planted, text: str, *, supported: bool) -> Row:
    return {"entry_id": planted.fact.entry_id, "proposition": text, "supported": supported}


def truth(corpus: Corpus) -> Row:
    """The planted numbers."""
    fates = Counter(planted.fate for planted in corpus.planted)
    judged = Counter(planted.fact.quartile for planted in corpus.planted)
    supported = Counter(planted.fact.quartile for planted in corpus.planted if planted.supported)
    return {
        "entries": len(corpus.entries),
        "dense_entries": sum(word_count(entry.note.content) >= DENSE_WORDS for entry in corpus.entries),
        "propositions": len(corpus.planted),
        "supported": fates[Fate.EXTRACTED],
        "by_quartile": {str(q): {"supported": supported[q], "judged": judged[q]} for q in range(1, QUARTILES + 1)},
        "live_signals": sum(row["deleted_at"] is None for row in signal_rows(corpus)),
        "deleted_signals": fates[Fate.DELETED],
        "inventions": fates[Fate.INVENTED],
        "vague_signals": fates[Fate.VAGUE],
        "composition_only": fates[Fate.IN_HALVES],
    }


def _write_lines(path: Path, rows: Iterable[Row]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes("".join(lines).encode("utf-8"))


def write(corpus: Corpus, folder: Path) -> None:
    """Write the five files of the sample into the folder."""
    _write_lines(folder / "entries.jsonl", entry_rows(corpus))
    _write_lines(folder / "signals.jsonl", signal_rows(corpus))
    _write_lines(folder / "propositions.jsonl", proposition_rows(corpus))
    _write_lines(folder / "labels.jsonl", label_rows(corpus))
    (folder / "truth.json").write_bytes((json.dumps(truth(corpus), indent=2) + "\n").encode("utf-8"))


if __name__ == "__main__":
    write(build(), Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
