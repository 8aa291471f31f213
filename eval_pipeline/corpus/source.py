"""A corpus by its name: the bundled sample, a folder, or a database."""

from dataclasses import replace
from pathlib import Path

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.folder import read_folder
from eval_pipeline.corpus.postgres import is_dsn, read_database
from eval_pipeline.corpus.snapshot import Snapshot, unread
from eval_pipeline.errors import CorpusIncomplete, CorpusUnreachable, MalformedCorpus
from eval_pipeline.records import Reason

SAMPLE = "sample"
_REASONS = {
    CorpusUnreachable: Reason.CORPUS_UNREACHABLE,
    CorpusIncomplete: Reason.CORPUS_INCOMPLETE,
    MalformedCorpus: Reason.CORPUS_MALFORMED,
}


def folder_of(source: str) -> Path | None:
    """The folder that a source names, or None for a database."""
    if source == SAMPLE:
        return bundled("sample")
    return None if is_dsn(source) else Path(source)


def pinned(source: str) -> Snapshot:
    """The snapshot of a source, or the one that says why it could not be read.

    Args:
        source: "sample", a folder, or a Postgres DSN.

    """
    folder = folder_of(source)
    try:
        return read_database(source) if folder is None else replace(read_folder(folder), source=source)
    except (CorpusUnreachable, CorpusIncomplete, MalformedCorpus) as refusal:
        return unread(_REASONS[type(refusal)], str(refusal), source="a database" if folder is None else source)
