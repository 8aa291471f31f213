"""The command line itself: its commands, and how what they refuse is said."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from eval_pipeline.cli.audit import audit_documents
from eval_pipeline.cli.compare import compare_calibrations
from eval_pipeline.cli.compare_runs import compare_runs
from eval_pipeline.cli.findings import BROKEN
from eval_pipeline.cli.human_check import human_check
from eval_pipeline.cli.imports import import_logs
from eval_pipeline.cli.look import look
from eval_pipeline.cli.plan import plan
from eval_pipeline.cli.run import run
from eval_pipeline.cli.schema import schema
from eval_pipeline.cli.ui import ui
from eval_pipeline.cli.verify import bundle, verify
from eval_pipeline.corpus.postgres import without_password
from eval_pipeline.corpus.restore import restore as restore_dump
from eval_pipeline.errors import Refused

_INTERRUPTED = 130  # what Typer gives back for Ctrl+C

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(run, name="run")
app.add_typer(human_check, name="human-check")
app.command(name="import", epilog="Example: eval-pipeline import inspect run.eval --plan bars.toml")(import_logs)
app.command(name="audit", epilog="Example: eval-pipeline audit README.md docs/*.md")(audit_documents)
app.command(epilog="Example: eval-pipeline ui --port 3000")(ui)
app.command(epilog="Example: eval-pipeline plan my-plan.toml --pilot 10 --corpus exports/ --judge chat")(plan)
app.command(epilog="Example: eval-pipeline look --corpus exports/")(look)
app.command(epilog="Example: eval-pipeline schema proposition")(schema)
app.command(epilog="Example: eval-pipeline verify findings/")(verify)
app.command(epilog="Example: eval-pipeline bundle findings/ --to release-7.zip")(bundle)
app.command(epilog="Example: eval-pipeline compare-calibrations march/ april/ --out drift.json")(compare_calibrations)
app.command(epilog="Example: eval-pipeline compare-runs yesterday/ today/ --out change.json")(compare_runs)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"eval-pipeline {version('eval-pipeline')}")
        raise typer.Exit


@app.callback()
def _house(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Evaluations of LLM extraction and of LLM judges, whose verdicts can be defended."""


@app.command(epilog="Example: eval-pipeline restore backup.dump --into postgresql://me@localhost/corpus")
def restore(
    dump: Annotated[Path, typer.Argument(help="What pg_dump wrote, plain or in its custom format.")],
    into: Annotated[str, typer.Option(help="The DSN of the database.")],
    replace: Annotated[bool, typer.Option(help="Drop what is in the database first.")] = False,
    tools: Annotated[Path | None, typer.Option(help="The folder of psql and pg_restore; else the PATH.")] = None,
) -> None:
    """Restore a dump of a corpus into an empty database, in one transaction."""
    tables = restore_dump(dump, into=into, replace=replace, tools=tools)
    typer.echo(f"restored into ({without_password(into)}): {', '.join(tables) or 'no tables'}")


def main() -> None:
    """Runs a command; whatever it refuses is one sentence on stderr, and exit status 1."""
    try:
        status = app(standalone_mode=False)
    except Refused as refusal:
        _complain(str(refusal))
    except typer.TyperException as error:
        if "\n" in str(error):  # the help, which is shown where nothing was asked for
            sys.exit(f"{error}")
        _complain(f"{_in_words(error)}; see --help")
    except OSError as error:
        _complain(
            f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}; make room, or permit it"
        )
    else:
        if status == _INTERRUPTED:
            _complain("interrupted")
        sys.exit(status or 0)


def _in_words(error: typer.TyperException) -> str:
    """The error with the name of the option that it is about, which its own text leaves out."""
    option = getattr(error, "param", None)
    names = [*getattr(option, "opts", ()), *getattr(option, "secondary_opts", ())]
    return f"{' or '.join(names)}: {error}" if names else str(error)


def _complain(sentence: str) -> None:
    sys.stderr.write(f"eval-pipeline: {' '.join(sentence.split())}\n")
    sys.exit(BROKEN)
