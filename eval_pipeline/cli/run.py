"""`eval-pipeline run`: a study from its inputs to its verdict."""

from pathlib import Path
from typing import Annotated, Any

import typer

from assets.partitions import folder_of
from assets.resources import tracks_folder
from assets.run import run_study, run_tracks, run_workspace
from assets.standing import variable_of
from eval_pipeline.cli.findings import conclude, conclude_tracks, progress_shown
from eval_pipeline.cli.loops import add_loops
from eval_pipeline.cli.options import (
    CapRequests,
    CapTokens,
    CapUsd,
    absolute,
    caps,
    out_folder,
    require_file,
    require_read,
    resolved,
    safe_corpus,
    set_aside,
    with_absolute_file,
)
from eval_pipeline.corpus.source import SAMPLE
from eval_pipeline.errors import Refused
from eval_pipeline.report.label_signal import RESULTS
from eval_pipeline.studies.judge_calibration.recorded import REPORT
from eval_pipeline.studies.label_signal.document import STUDY
from eval_pipeline.studies.label_signal.track import Discovered, discover, read_track

VERDICT = "verdict.json"

run = typer.Typer(no_args_is_help=True, help="Run a study, from its inputs to its verdict.")
add_loops(run)


@run.command(
    epilog="Example: eval-pipeline run extraction --corpus exports/ --propositions annotated.jsonl --judge chat"
)
def extraction(
    corpus: Annotated[
        str, typer.Option(envvar=variable_of("corpus"), help="A folder, a Postgres DSN, or 'sample'.")
    ] = SAMPLE,
    propositions: Annotated[
        Path | None,
        typer.Option(
            envvar=variable_of("propositions"), help="The annotators' file; else propositions.jsonl beside the corpus."
        ),
    ] = None,
    judge: Annotated[
        str, typer.Option(envvar=variable_of("judge"), help="lexical, labels:FILE, replay:JOURNAL or chat.")
    ] = "lexical",
    plan: Annotated[Path | None, typer.Option(help="Another plan than the one that comes with the study.")] = None,
    out: Annotated[str | None, typer.Option(help="Where the findings go; else a folder under the home.")] = None,
    persist_code: Annotated[
        Path | None, typer.Option(help="The source file that stores signals: does it write a span?")
    ] = None,
    human_check: Annotated[
        Path | None,
        typer.Option(
            envvar=variable_of("human_check"), help="What people said of a part of it; see `eval-pipeline human-check`."
        ),
    ] = None,
    annotators: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="The propositions of two annotators, each by itself, to be held against each other."),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            envvar=variable_of("gold"), help="Gold tuples that the judge is asked about too; else the bundled set."
        ),
    ] = None,
    cap_requests: CapRequests = None,
    cap_tokens: CapTokens = None,
    cap_usd: CapUsd = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last run; refused if judge, prompt or plan differ.")
    ] = False,
    workspace: Annotated[
        str | None, typer.Option(help="One workspace of the corpus by itself, into a folder of its own within --out.")
    ] = None,
) -> None:
    """Extraction completeness: recall, positional uniformity and precision of extracted signals.

    Exits 0 if all claims pass or warn, 1 if something is broken, 2 if a claim fails, 3 if none fails and one is
    skipped.
    """
    folder = out_folder(out, "extraction")
    set_aside(str(folder_of(folder, workspace) if workspace is not None else folder), "extraction", VERDICT)
    files = {
        "--propositions": propositions,
        "--plan": plan,
        "--persist-code": persist_code,
        "--human-check": human_check,
    }
    for option, path in [*files.items(), *(("--annotators", path) for path in annotators or ())]:
        require_file(option, path)
    _require_gold(gold)
    inputs: dict[str, Any] = {
        "corpus": safe_corpus(corpus),
        "propositions": absolute(propositions),
        "judge": with_absolute_file(judge),
        "plan": absolute(plan),
        "out": str(folder),
        "persist_code": absolute(persist_code),
        "human_check": absolute(human_check),
        "gold": absolute(gold),
        "annotators": [absolute(path) for path in annotators or ()],
        "resume": resume,
        **caps(cap_requests, cap_tokens, cap_usd),
    }
    with progress_shown():
        done = run_study("extraction", inputs) if workspace is None else run_workspace(inputs, workspace)
    for refusal in (done.document["refusals"]["fixture"], done.document["refusals"]["corpus"]):
        if refusal:
            require_read(refusal["reason"], refusal["detail"])
    conclude(done.document, done.out, VERDICT)


@run.command(name="judge-calibration", epilog="Example: eval-pipeline run judge-calibration --gold mine/ --judge chat")
def judge_calibration(
    gold: Annotated[Path | None, typer.Option(help="A file or folder of gold tuples; else the bundled set.")] = None,
    judge: Annotated[str, typer.Option(help="lexical, replay:JOURNAL or chat.")] = "lexical",
    plan: Annotated[Path | None, typer.Option(help="Another plan than the one that comes with the study.")] = None,
    out: Annotated[str | None, typer.Option(help="Where the findings go; else a folder under the home.")] = None,
    cap_requests: CapRequests = None,
    cap_tokens: CapTokens = None,
    cap_usd: CapUsd = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last run; refused if judge, prompt or plan differ.")
    ] = False,
) -> None:
    """Judge calibration: how often a judge wrongly clears or wrongly flags claims whose right judgment is known.

    Exits 0 if all claims pass or warn, 1 if something is broken, 2 if a claim fails, 3 if none fails and one is
    skipped.
    """
    folder = set_aside(out, "judge-calibration", REPORT)
    _require_gold(gold)
    require_file("--plan", plan)
    inputs: dict[str, Any] = {
        "gold": absolute(gold),
        "judge": with_absolute_file(judge),
        "plan": absolute(plan),
        "out": folder,
        "resume": resume,
        **caps(cap_requests, cap_tokens, cap_usd),
    }
    with progress_shown():
        done = run_study("judge_calibration", inputs)
    conclude(done.document, done.out, REPORT)


@run.command(name="label-signal", epilog="Example: eval-pipeline run label-signal --track agentic --ratings mine.csv")
def label_signal(
    track: Annotated[str | None, typer.Option(help="One track by its key; else all of the folder.")] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="People's ratings of the track, JSON Lines or CSV; else raters are simulated.")
    ] = None,
    adjudication: Annotated[
        Path | None, typer.Option(help="The worksheet of the last run, as an adjudicator filled it.")
    ] = None,
    tracks: Annotated[Path | None, typer.Option(help="A folder of tracks; else the bundled ones.")] = None,
    plan: Annotated[Path | None, typer.Option(help="Another plan than the one that comes with the study.")] = None,
    out: Annotated[str | None, typer.Option(help="Where the findings go; else a folder under the home.")] = None,
) -> None:
    """Label signal: which claims about systems people's ratings carry, and whether they survive other assumptions.

    Exits 0 if all claims pass or warn, 1 if something is broken, and 3 if a claim is withheld.
    """
    folder = set_aside(out, STUDY, RESULTS)
    for option, path in {"--ratings": ratings, "--adjudication": adjudication, "--plan": plan}.items():
        require_file(option, path)
    found = discover(resolved(tracks) if tracks else tracks_folder())
    chosen, skipped = _chosen_tracks(found, track, ratings or adjudication)
    inputs: dict[str, Any] = {
        "tracks": absolute(tracks),
        "ratings": absolute(ratings),
        "adjudication": absolute(adjudication),
        "plan": absolute(plan),
        "out": folder,
    }
    with progress_shown():
        done = run_tracks(inputs, chosen)
    for name, reason in {**done.document["skipped_tracks"], **skipped}.items():
        typer.echo(f"passed over: {name}: {reason}", err=True)
    conclude_tracks(done.document, done.out, RESULTS)


def _chosen_tracks(found: Discovered, track: str | None, of_one: Path | None) -> tuple[list[str], dict[str, str]]:
    """The tracks to run, and why others of the folder cannot be.

    Raises: Refused: a file of one track was given and no track, the track is not there, or none can be run.
    """
    if track is not None:
        if track not in found.folders:
            reason = found.skipped.get(track, f"the folder holds {', '.join(found.folders) or 'no track'}")
            raise Refused(f"--track {track!r} cannot be run: {reason}")
        return [track], {}
    if of_one is not None and len(found.folders) != 1:
        raise Refused(f"{str(of_one)!r} is of one track; say which with --track: {', '.join(found.folders)}")
    simulable = {key: of_one is not None or read_track(folder).simulable for key, folder in found.folders.items()}
    chosen = [key for key, able in simulable.items() if able]
    if not chosen:
        reasons = "; ".join(found.skipped.values()) or "no track of the folder can be simulated; give --ratings"
        raise Refused(f"there is nothing to run: {reasons}")
    without = "it has no answers or no [simulation]; rate it, and give --track and --ratings"
    return chosen, {key: without for key, able in simulable.items() if not able}


def _require_gold(gold: Path | None) -> None:
    if gold is not None and not gold.exists():
        raise Refused(f"--gold {str(gold)!r} is not there; give a file or a folder of JSON Lines")
