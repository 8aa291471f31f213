"""`eval-pipeline run judge-reliability | retry-limit | fire-rate | strategy-feedback | kpi-gates`: the closed loops."""

from pathlib import Path
from typing import Annotated, Any

import typer

from assets.run import run_loop
from eval_pipeline.cli.findings import conclude_loop, progress_shown
from eval_pipeline.cli.options import absolute, require_file, set_aside
from eval_pipeline.report.closed_loop import VERDICT
from eval_pipeline.studies.loops import STUDIES

_QUESTIONS = {
    "judge-reliability": "How far each judge may be trusted on each kind of claim, and whether that trust helps.",
    "retry-limit": "How often a failed attempt is worth another, and whether telling it why it failed helps.",
    "fire-rate": "Whether a fallback is ever reached: shown to be below a rate, or looked into.",
    "strategy-feedback": "Whether a loop that prefers what worked helps, against runs that it leaves alone.",
    "kpi-gates": "At which values runs should be stopped, with few false alarms over all gates.",
}


def add_loops(run: typer.Typer) -> None:
    """Adds a command for each closed loop."""
    for study in STUDIES:
        run.command(
            name=study.name,
            help=f"{_QUESTIONS[study.name]} Exits as `run extraction` does.",
            epilog=f"Example: eval-pipeline run {study.name} --observations runs.jsonl --generation 2026-Q4",
        )(_command_of(study.name))


def _command_of(name: str) -> Any:
    def command(
        observations: Annotated[
            Path | None, typer.Option(help="The log of runs, JSON Lines; else one is generated with a known truth.")
        ] = None,
        generation: Annotated[
            str | None,
            typer.Option(help="The generation of the calibration; else the plan's. Each uses its data once."),
        ] = None,
        plan: Annotated[Path | None, typer.Option(help="Another plan than the one that comes with the study.")] = None,
        out: Annotated[str | None, typer.Option(help="Where the findings go; else a folder under the home.")] = None,
    ) -> None:
        folder = set_aside(out, name, VERDICT)
        for option, path in {"--observations": observations, "--plan": plan}.items():
            require_file(option, path)
        inputs = {
            "observations": absolute(observations),
            "generation": generation or "",
            "plan": absolute(plan),
            "out": folder,
        }
        with progress_shown():
            done = run_loop(name, inputs)
        conclude_loop(done.document, done.out, VERDICT)

    return command
