"""The command line: runs a study in process, prints its verdict, and exits with what it says."""

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assets.resources import Home, StudyInputs, home_folder
from assets.run import WORKSPACE, dagster_home, run_pilot, run_study
from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.postgres import connectable, is_dsn, password_of, without_password
from eval_pipeline.corpus.restore import restore as restore_dump
from eval_pipeline.corpus.source import SAMPLE
from eval_pipeline.errors import Refused
from eval_pipeline.plan import read_plan
from eval_pipeline.records import Outcome, Reason
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.extraction.plan import ExtractionPlan

TABLE_WIDTH = 110  # of a table that goes to a file or a pipe
VERDICT, REPORT = "verdict.json", "report.json"
BROKEN, FAILED, SKIPPED = 1, 2, 3
_INTERRUPTED = 130  # what Typer gives back for Ctrl+C
_BROKEN_INPUT = frozenset(
    {Reason.FIXTURE_MALFORMED, Reason.CORPUS_UNREACHABLE, Reason.CORPUS_INCOMPLETE, Reason.CORPUS_MALFORMED}
)
_STATUS_WORDS = {
    0: "every claim passes or warns",
    FAILED: "a claim fails",
    SKIPPED: "no claim fails and one is skipped",
}
_COLOURS = {Outcome.PASS: "green", Outcome.WARN: "yellow", Outcome.FAIL: "red", Outcome.SKIP: "bright_black"}

CapRequests = Annotated[int | None, typer.Option(help="The most requests that the judge may get.", min=0)]
CapTokens = Annotated[int | None, typer.Option(help="The most tokens that may be spent on it.", min=0)]
CapUsd = Annotated[float | None, typer.Option(help="The most USD that may be spent on it.", min=0)]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
run = typer.Typer(no_args_is_help=True, help="Run a study, from its inputs to its verdict.")
app.add_typer(run, name="run")


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


@run.command(
    epilog="Example: eval-pipeline run extraction --corpus exports/ --propositions annotated.jsonl --judge chat"
)
def extraction(
    corpus: Annotated[str, typer.Option(help="A folder, a Postgres DSN, or 'sample'.")] = SAMPLE,
    propositions: Annotated[
        Path | None, typer.Option(help="The annotators' file; else propositions.jsonl beside the corpus.")
    ] = None,
    judge: Annotated[str, typer.Option(help="lexical, labels:FILE, replay:JOURNAL or chat.")] = "lexical",
    plan: Annotated[Path | None, typer.Option(help="Another plan than the one that comes with the study.")] = None,
    out: Annotated[str | None, typer.Option(help="Where the findings go; else a folder under the home.")] = None,
    persist_code: Annotated[
        Path | None, typer.Option(help="The source file that stores signals: does it write a span?")
    ] = None,
    cap_requests: CapRequests = None,
    cap_tokens: CapTokens = None,
    cap_usd: CapUsd = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last run; refused if judge, prompt or plan differ.")
    ] = False,
) -> None:
    """Extraction completeness: recall, positional uniformity and precision of extracted signals.

    Exits 0 if all claims pass or warn, 1 if something is broken, 2 if a claim fails, 3 if none fails and one is
    skipped.
    """
    folder = _set_aside(out, "extraction", VERDICT)
    for option, path in (("--propositions", propositions), ("--plan", plan), ("--persist-code", persist_code)):
        _require_file(option, path)
    inputs: dict[str, Any] = {
        "corpus": _safe_corpus(corpus),
        "propositions": _absolute(propositions),
        "judge": _with_absolute_file(judge),
        "plan": _absolute(plan),
        "out": folder,
        "persist_code": _absolute(persist_code),
        "resume": resume,
        **_caps(cap_requests, cap_tokens, cap_usd),
    }
    with _progress_shown():
        done = run_study("extraction", inputs)
    _refuse_broken_input(done.document)
    _conclude(done.document, done.out, VERDICT)


@run.command(name="judge-calibration", epilog="Example: eval-pipeline run judge-calibration --gold mine/ --judge chat")
def judge_calibration(
    gold: Annotated[Path | None, typer.Option(help="A file or folder of gold tuples; else the bundled set.")] = None,
    judge: Annotated[str, typer.Option(help="lexical, replay:JOURNAL or chat.")] = "lexical",
    plan: Annotated[Path | None, typer.Option(help="Another plan than the one that comes with the study.")] = None,
    out: Annotated[str | None, typer.Option(help="Where the findings go; else a folder under the home.")] = None,
    cap_requests: CapRequests = None,
    cap_tokens: CapTokens = None,
    cap_usd: CapUsd = None,
) -> None:
    """Judge calibration: how often a judge wrongly clears or wrongly flags claims whose right judgment is known.

    Exits 0 if all claims pass or warn, 1 if something is broken, 2 if a claim fails, 3 if none fails and one is
    skipped.
    """
    folder = _set_aside(out, "judge-calibration", REPORT)
    if gold is not None and not gold.exists():
        raise Refused(f"--gold {str(gold)!r} is not there; give a file or a folder of JSON Lines")
    _require_file("--plan", plan)
    inputs: dict[str, Any] = {
        "gold": _absolute(gold),
        "judge": _with_absolute_file(judge),
        "plan": _absolute(plan),
        "out": folder,
        **_caps(cap_requests, cap_tokens, cap_usd),
    }
    with _progress_shown():
        done = run_study("judge_calibration", inputs)
    _conclude(done.document, done.out, REPORT)


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


@app.command(epilog="Example: eval-pipeline plan my-plan.toml --pilot 10 --corpus exports/ --judge chat")
def plan(
    file: Annotated[Path | None, typer.Argument(help="A plan; else the one that comes with the study.")] = None,
    pilot: Annotated[
        int | None, typer.Option(help="Try every strategy on so many entries, and say which is cheapest.", min=1)
    ] = None,
    corpus: Annotated[str, typer.Option(help="For the pilot, as for a run.")] = SAMPLE,
    propositions: Annotated[Path | None, typer.Option(help="For the pilot, as for a run.")] = None,
    judge: Annotated[str, typer.Option(help="For the pilot, as for a run.")] = "lexical",
    cap_requests: CapRequests = None,
    cap_tokens: CapTokens = None,
    cap_usd: CapUsd = None,
) -> None:
    """Check a plan, and print the seal that it would be run under; with --pilot, what each strategy would ask."""
    path = file or bundled("plans") / "extraction.toml"
    checked = read_plan(path, ExtractionPlan)
    typer.echo(f"{checked.name} version {checked.version}: {seal_of(checked)}")
    if pilot is None:
        return
    inputs = StudyInputs(
        corpus=_safe_corpus(corpus),
        propositions=_absolute(propositions),
        judge=_with_absolute_file(judge),
        cap_requests=cap_requests,
        cap_tokens=cap_tokens,
        cap_usd=cap_usd,
    )
    with _progress_shown():
        done = run_pilot(inputs, checked, entries=pilot)
    for one in done.tried:
        share = (
            "" if one.questions == done.tried[0].questions else f", {one.questions / done.tried[0].questions:.2f} times"
        )
        typer.echo(f"{one.strategy}: {one.questions} questions{share}")
    typer.echo(f"cheapest on {done.entries} of {done.all_entries} entries: {done.tried[0].strategy}")


@app.command(epilog="Example: eval-pipeline ui --port 3000")
def ui(
    port: Annotated[int, typer.Option(help="The port of the web server.", min=1, max=65535)] = 3000,
    host: Annotated[str, typer.Option(help="The address it listens on.")] = "127.0.0.1",
) -> None:
    """Open Dagster on this machine, with the runs of the command line in its history."""
    environment = os.environ | {"DAGSTER_HOME": str(dagster_home())}
    workspace = ["-w", str(WORKSPACE)] if WORKSPACE.exists() else ["-m", "assets.definitions"]
    command = [sys.executable, "-W", "ignore", "-m", "dagster", "dev", *workspace]
    typer.echo(f"Dagster on http://{host}:{port}; end it with Ctrl+C")
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(subprocess.run([*command, "-h", host, "-p", str(port)], env=environment, check=False).returncode)


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


def _require_file(option: str, path: Path | None) -> None:
    if path is not None and not path.is_file():
        raise Refused(f"{option} {str(path)!r} is not a file; give the path of one")


def _caps(requests: int | None, tokens: int | None, usd: float | None) -> dict[str, float]:
    """The caps that were given, as a run's configuration holds them; one that was not is left out of it."""
    caps = {"cap_requests": requests, "cap_tokens": tokens, "cap_usd": usd}
    return {name: cap for name, cap in caps.items() if cap is not None}


def _set_aside(out: str | None, study: str, verdict: str) -> str:
    """The folder of the findings; a verdict that stands in it is renamed, so that none is read of a run that broke."""
    if out is not None and (not out.strip() or (Path(out).exists() and not Path(out).is_dir())):
        raise Refused(f"--out {out!r} is not a folder; name one, it is made if it is not there")
    folder = _resolved(Path(out)) if out else Home(path=str(home_folder())).out(study)
    if (folder / verdict).exists():
        (folder / verdict).replace(_previous(folder / verdict))
    return str(folder)


def _previous(verdict: Path) -> Path:
    return verdict.with_suffix(".previous.json")


def _conclude(document: dict[str, Any], out: Path, verdict: str) -> None:
    """Prints the verdict and exits with what it says; that of the run before is no longer needed."""
    _previous(out / verdict).unlink(missing_ok=True)
    _print_verdict(document, out)
    status = _exit_status(document)
    typer.echo(f"exit status {status}: {_STATUS_WORDS[status]}")
    sys.exit(status)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # a loop of links, as Python before 3.13 says it
        raise Refused(f"{str(path)!r} is a link that leads back to itself; name another path") from None


def _absolute(path: Path | None) -> str:
    return str(_resolved(path)) if path else ""


def _with_absolute_file(judge: str) -> str:
    kind, colon, argument = judge.partition(":")
    return f"{kind}:{_resolved(Path(argument))}" if colon and argument else judge


def _safe_corpus(corpus: str) -> str:
    """The corpus as the run's configuration may hold it: a password goes to libpq's own variable instead."""
    if not is_dsn(corpus):
        return corpus if corpus == SAMPLE else str(_resolved(Path(corpus)))
    if password := password_of(corpus):
        os.environ["PGPASSWORD"] = password
    return connectable(corpus)


@contextlib.contextmanager
def _progress_shown() -> Iterator[None]:
    """What long steps say of their progress, on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("eval_pipeline")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _print_verdict(document: dict[str, Any], out: Path) -> None:
    table = Table(
        "claim",
        "outcome",
        "estimate",
        "interval",
        "bar",
        "reason",
        title=Text(f"{document['study']}, plan {document['plan']} under seal {document['hashes']['plan'][:12]}"),
    )
    for claim in document["claims"]:
        outcome = Outcome(claim["outcome"])
        table.add_row(
            claim["claim"],
            f"[{_COLOURS[outcome]}]{outcome}[/]",
            _shown(claim["estimate"]),
            " to ".join(_shown(end) for end in claim["interval"]) if claim["interval"] else "withheld",
            _shown(claim["threshold"]),
            (claim["reason"] or "") + (" (advisory)" if claim["advisory"] else ""),
        )
    console = Console() if sys.stdout.isatty() else Console(width=TABLE_WIDTH)
    console.print(table)
    for claim in document["claims"]:
        console.print(f"{claim['claim']}: {claim['detail']}", markup=False, highlight=False, soft_wrap=True)
    typer.echo(f"report: {out / 'report.html'}")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _exit_status(document: dict[str, Any]) -> int:
    outcomes = {Outcome(claim["outcome"]) for claim in document["claims"]}
    if Outcome.FAIL in outcomes:
        return FAILED
    return SKIPPED if Outcome.SKIP in outcomes else 0


def _refuse_broken_input(document: dict[str, Any]) -> None:
    """Input that could not be read is no finding: the command is broken, and the sentence says where."""
    for refusal in (document["refusals"]["fixture"], document["refusals"]["corpus"]):
        if refusal and refusal["reason"] in _BROKEN_INPUT:
            raise Refused(refusal["detail"])
