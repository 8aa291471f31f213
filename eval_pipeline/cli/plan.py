"""`eval-pipeline plan`: a plan shown, checked and sealed, and what each strategy of it would ask."""

from pathlib import Path
from typing import Annotated

import typer

from assets.resources import StudyInputs
from assets.run import run_pilot
from eval_pipeline.bundled import bundled
from eval_pipeline.cli.findings import progress_shown
from eval_pipeline.cli.options import CapRequests, CapTokens, CapUsd, absolute, safe_corpus, with_absolute_file
from eval_pipeline.corpus.source import SAMPLE
from eval_pipeline.errors import Refused
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.plans import PLANS, read_plan_of_any_study


def plan(
    file: Annotated[Path | None, typer.Argument(help="A plan of any study; else that of the extraction study.")] = None,
    show: Annotated[
        str | None, typer.Option(help="Print the plan that comes with a study, to be copied and changed.")
    ] = None,
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
    if show is not None:
        typer.echo(_bundled_plan(show), nl=False)
        return
    checked = read_plan_of_any_study(file or bundled("plans") / "extraction.toml")
    typer.echo(f"{checked.name} version {checked.version}: {seal_of(checked)}")
    if pilot is None:
        return
    if not isinstance(checked, ExtractionPlan):
        raise Refused(f"--pilot tries strategies of the extraction study, and the plan is of {checked.study}; leave it")
    inputs = StudyInputs(
        corpus=safe_corpus(corpus),
        propositions=absolute(propositions),
        judge=with_absolute_file(judge),
        cap_requests=cap_requests,
        cap_tokens=cap_tokens,
        cap_usd=cap_usd,
    )
    _try(inputs, checked, pilot)


def _try(inputs: StudyInputs, plan: ExtractionPlan, entries: int) -> None:
    """Prints how many questions each strategy asks about so many entries."""
    with progress_shown():
        done = run_pilot(inputs, plan, entries=entries)
    for one in done.tried:
        share = (
            "" if one.questions == done.tried[0].questions else f", {one.questions / done.tried[0].questions:.2f} times"
        )
        typer.echo(f"{one.strategy}: {one.questions} questions{share}")
    typer.echo(f"cheapest on {done.entries} of {done.all_entries} entries: {done.tried[0].strategy}")


def _bundled_plan(study: str) -> str:
    """The text of the plan that comes with a study.

    Raises: Refused: there is no such study.
    """
    if study not in PLANS:
        raise Refused(f"--show {study!r} names no study; name one of {', '.join(PLANS)}")
    return (bundled("plans") / f"{study}.toml").read_text("utf-8")
