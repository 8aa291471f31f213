"""Writes what is generated here: the page of the command line, and a JSON Schema for each format."""

from pathlib import Path

from eval_pipeline.cli.main import app
from eval_pipeline.cli.reference import reference
from eval_pipeline.schemas.catalogue import NAMES, schema_text

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Writes every file anew, and removes the schemas of formats that are gone."""
    (HERE / "cli.md").write_text(reference(app), "utf-8")
    schemas = HERE / "schemas"
    schemas.mkdir(exist_ok=True)
    for path in schemas.glob("*.json"):
        if path.stem not in NAMES:
            path.unlink()
    for name in NAMES:
        (schemas / f"{name}.json").write_text(schema_text(name), "utf-8")


if __name__ == "__main__":
    main()
