"""What runs that nobody starts by hand are given: the corpus, the judge and so on that the environment names."""

import os
from pathlib import Path

from eval_pipeline.corpus.postgres import connectable, is_dsn, password_of
from eval_pipeline.corpus.source import SAMPLE

FIELDS = ("corpus", "propositions", "judge", "gold", "human_check")


def variable_of(field: str) -> str:
    """The variable of the environment that names an input."""
    return f"EVAL_PIPELINE_{field.upper()}"


def safe_corpus_name(corpus: str) -> str:
    """The corpus as a run's configuration may hold it: a password goes to libpq's own variable instead.

    Raises: CorpusUnreachable: it looks like a DSN and is none.
    """
    if not is_dsn(corpus):
        return corpus
    if password := password_of(corpus):
        os.environ["PGPASSWORD"] = password
    return connectable(corpus)


def standing_inputs() -> dict[str, str]:
    """The inputs that the environment names, by their fields; what it does not name is left out.

    Raises: CorpusUnreachable: the corpus looks like a DSN and is none.
    """
    named = {field: os.environ.get(variable_of(field), "") for field in FIELDS}
    return {field: _as_given(field, value) for field, value in named.items() if value}


def _as_given(field: str, value: str) -> str:
    """A value as a run takes it, which need not be started in this folder: with the absolute path of a file."""
    if field == "corpus":
        return value if value == SAMPLE else safe_corpus_name(value) if is_dsn(value) else str(Path(value).resolve())
    if field == "judge":
        kind, colon, file = value.partition(":")
        return f"{kind}:{Path(file).resolve()}" if colon and file else value
    return str(Path(value).resolve())
