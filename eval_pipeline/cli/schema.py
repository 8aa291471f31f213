"""`eval-pipeline schema`: the formats of files, as JSON Schema."""

from typing import Annotated

import typer

from eval_pipeline.schemas.catalogue import NAMES, schema_text


def schema(
    name: Annotated[str | None, typer.Argument(help="A format by its name; else the names of all are printed.")] = None,
) -> None:
    """Print the JSON Schema of a file that is read or written, or of a line of it."""
    typer.echo("\n".join(NAMES) if name is None else schema_text(name), nl=name is None)
