"""`eval-pipeline import`: the log of another tool, from its file to a verdict."""

from pathlib import Path
from typing import Annotated, Any

import typer

from assets.run import run_study
from eval_pipeline.cli.findings import conclude, progress_shown
from eval_pipeline.cli.options import absolute, require_file, resolved, set_aside
from eval_pipeline.errors import Refused
from eval_pipeline.importers.kinds import KINDS
from eval_pipeline.report.imported import VERDICT

_STUDY = "imported"


def import_logs(
    kind: Annotated[str, typer.Argument(help=f"Which tool wrote it: {', '.join(KINDS)}.", metavar="KIND")],
    files: Annotated[list[Path], typer.Argument(help="The log; several are compared item by item.", metavar="FILE...")],
    plan: Annotated[Path | None, typer.Option(help="A plan with bars; else the bundled one, which has none.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric to import, by its name in the log; again for more. Else all.")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Where the findings go; else a folder under the home.")] = None,
) -> None:
    """Import a log of another tool: its metrics with intervals, systems compared, and the bars of a plan.

    Exits 0 if all gates pass or warn, 1 if something is broken, 2 if a gate fails, 3 if none fails and one is skipped.
    """
    if kind not in KINDS:
        raise Refused(f"KIND {kind!r} is no tool whose logs can be imported; give one of {', '.join(KINDS)}")
    folder = set_aside(out, _STUDY, VERDICT)
    for file in files:
        require_file("FILE", file)
    require_file("--plan", plan)
    inputs: dict[str, Any] = {
        "imported_kind": kind,
        "imported": [str(resolved(file)) for file in files],
        "imported_metrics": metric or [],
        "plan": absolute(plan),
        "out": folder,
    }
    with progress_shown():
        done = run_study(_STUDY, inputs)
    for one in done.document["stated"]:
        if one["differs"]:
            typer.echo(f"{one['name']} of {one['system']}: {one['sentence']}")
    conclude(done.document, done.out, VERDICT)
