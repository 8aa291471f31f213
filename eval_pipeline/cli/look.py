"""`eval-pipeline look`: what of the last run is stale, now that inputs may have changed."""

from pathlib import Path
from typing import Annotated

import typer

from assets.run import look_at_inputs
from assets.standing import variable_of
from eval_pipeline.cli.options import absolute, require_file, require_read, safe_corpus
from eval_pipeline.corpus.source import SAMPLE


def look(
    corpus: Annotated[str, typer.Option(envvar=variable_of("corpus"), help="As for the run.")] = SAMPLE,
    propositions: Annotated[
        Path | None, typer.Option(envvar=variable_of("propositions"), help="As for the run.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="As for the run.")] = None,
    gold: Annotated[Path | None, typer.Option(envvar=variable_of("gold"), help="As for the run.")] = None,
    human_check: Annotated[Path | None, typer.Option(envvar=variable_of("human_check"), help="As for the run.")] = None,
) -> None:
    """Read the inputs of the extraction study again, and say what rests on one that changed since it was made.

    Dagster shows the same. Nothing is judged, and no verdict changes.
    """
    for option, path in {"--propositions": propositions, "--plan": plan, "--human-check": human_check}.items():
        require_file(option, path)
    looked = look_at_inputs(
        {
            "corpus": safe_corpus(corpus),
            "propositions": absolute(propositions),
            "plan": absolute(plan),
            "gold": absolute(gold),
            "human_check": absolute(human_check),
        }
    )
    for refusal in looked.refusals:
        require_read(refusal.reason, refusal.detail)
    for name, causes in looked.stale.items():
        typer.echo(f"stale: {name}: {', '.join(causes)} changed")
    if not looked.made:
        typer.echo("nothing was made yet; `eval-pipeline run extraction` makes a verdict")
    elif not looked.stale:
        typer.echo("nothing is stale")
