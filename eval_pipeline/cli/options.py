"""What the command line is given, as a run takes it: paths made absolute, passwords out of the way, caps by name."""

from pathlib import Path
from typing import Annotated

import typer

from assets.resources import Home, home_folder
from assets.standing import safe_corpus_name
from eval_pipeline.corpus.postgres import is_dsn
from eval_pipeline.corpus.source import SAMPLE
from eval_pipeline.errors import Refused
from eval_pipeline.records import Reason

CapRequests = Annotated[int | None, typer.Option(help="The most requests that the judge may get.", min=0)]
CapTokens = Annotated[int | None, typer.Option(help="The most tokens that may be spent on it.", min=0)]
CapUsd = Annotated[float | None, typer.Option(help="The most USD that may be spent on it.", min=0)]

_BROKEN_INPUT = frozenset(
    {Reason.FIXTURE_MALFORMED, Reason.CORPUS_UNREACHABLE, Reason.CORPUS_INCOMPLETE, Reason.CORPUS_MALFORMED}
)


def require_read(reason: str, detail: str) -> None:
    """That an input which was refused for this reason was read all the same, and only holds too little.

    Raises: Refused: it could not be read, which is no finding; the sentence says where.
    """
    if reason in _BROKEN_INPUT:
        raise Refused(detail)


def require_file(option: str, path: Path | None) -> None:
    """That the path of an option, if one was given, is a file.

    Raises: Refused: it is not.
    """
    if path is not None and not path.is_file():
        raise Refused(f"{option} {str(path)!r} is not a file; give the path of one")


def caps(requests: int | None, tokens: int | None, usd: float | None) -> dict[str, float]:
    """The caps that were given, as a run's configuration holds them; one that was not is left out of it."""
    caps = {"cap_requests": requests, "cap_tokens": tokens, "cap_usd": usd}
    return {name: cap for name, cap in caps.items() if cap is not None}


def out_folder(out: str | None, study: str) -> Path:
    """Where what a command writes goes: the folder that was named, or one under the home.

    Raises: Refused: what was named is no folder.
    """
    if out is not None and (not out.strip() or (Path(out).exists() and not Path(out).is_dir())):
        raise Refused(f"--out {out!r} is not a folder; name one, it is made if it is not there")
    return resolved(Path(out)) if out else Home(path=str(home_folder())).out(study)


def set_aside(out: str | None, study: str, verdict: str) -> str:
    """The folder of the findings; a verdict that stands in it is renamed, so that none is read of a run that broke."""
    folder = out_folder(out, study)
    if (folder / verdict).exists():
        (folder / verdict).replace(previous(folder / verdict))
    return str(folder)


def previous(verdict: Path) -> Path:
    """Where a verdict goes that a new run sets aside."""
    return verdict.with_suffix(".previous.json")


def resolved(path: Path) -> Path:
    """The absolute path, links followed.

    Raises: Refused: a link leads back to itself.
    """
    try:
        return path.resolve()
    except RuntimeError:  # a loop of links, as Python before 3.13 says it
        raise Refused(f"{str(path)!r} is a link that leads back to itself; name another path") from None


def absolute(path: Path | None) -> str:
    """The absolute path as text; empty where none was given."""
    return str(resolved(path)) if path else ""


def with_absolute_file(judge: str) -> str:
    """The judge as it was named, with the absolute path of its file."""
    kind, colon, argument = judge.partition(":")
    return f"{kind}:{resolved(Path(argument))}" if colon and argument else judge


def safe_corpus(corpus: str) -> str:
    """The corpus as the run's configuration may hold it: a password goes to libpq's own variable instead."""
    return safe_corpus_name(corpus) if is_dsn(corpus) or corpus == SAMPLE else str(resolved(Path(corpus)))
