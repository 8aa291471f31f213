"""A small corpus whose truth is known by construction."""

import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def write_lines(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_small_corpus(folder: Path) -> Path:
    """Writes three notes of four sentences, a signal with its span and a proposition for each, to a folder."""
    entries: Rows = []
    signals: Rows = []
    propositions: Rows = []
    for note in (1, 2, 3):
        sentences = [f"Crew {note} replaced valve {10 * note + q} at the harbour station." for q in (1, 2, 3, 4)]
        content = " ".join(sentences)
        entries.append({"lookup_key": f"note-{note}", "workspace": "north", "band": "triage", "content": content})
        for quartile, sentence in enumerate(sentences, 1):
            valve, start = 10 * note + quartile, content.index(sentence)
            signals.append(
                {
                    "lookup_key": f"signal-{valve}",
                    "entry_id": f"note-{note}",
                    "content": f"Valve {valve} replaced by crew {note} at harbour station",
                    "provenance": {"span": {"start": start, "end": start + len(sentence)}},
                }
            )
            said = f"At the harbour station crew {note} replaced valve {valve}."
            propositions.append({"entry_id": f"note-{note}", "quartile": quartile, "proposition": said})
    write_lines(folder / "entries.jsonl", entries)
    write_lines(folder / "signals.jsonl", signals)
    write_lines(folder / "propositions.jsonl", propositions)
    return folder
