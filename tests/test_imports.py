"""The rooms of the house: imports point down, and only the wiring knows Dagster."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = [
    {"errors", "records", "canonical", "bundled", "prng"},
    {"tables", "jsonl", "evidence", "document", "audit"},
    {"stats", "store", "differences", "corpus", "judge", "plan", "arms", "importers"},
    {"provenance", "seal", "gates", "human_check", "loop", "observations", "alerts"},
    {"ledger"},
    {"heldout", "history", "bundle"},
    {"sealing"},
    {"studies"},
    {"report", "schemas"},
    {"assets"},
    {"cli"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(path for folder in ("eval_pipeline", "assets") for path in (ROOT / folder).rglob("*.py"))


def room_of(module: str) -> str:
    """The room that a dotted module name belongs to."""
    parts = module.split(".")
    return parts[0] if parts[0] == "assets" or len(parts) == 1 else parts[1]


def imported(path: Path) -> Iterator[str]:
    """The dotted names of all modules that a file imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it points"
            for alias in node.names:
                inner = ROOT.joinpath(*str(node.module).split("."), f"{alias.name}.py")
                yield f"{node.module}.{alias.name}" if inner.exists() else str(node.module)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_or_stay_in_their_room(path: Path) -> None:
    own = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if own == "__init__":
        return
    for module in imported(path):
        if module.split(".")[0] in ("eval_pipeline", "assets") and (room := room_of(module)) != own:
            assert FLOOR[room] < FLOOR[own], f"{own} imports {room}, which does not lie below it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_wiring_imports_dagster(path: Path) -> None:
    if path.relative_to(ROOT).parts[0] != "assets":
        assert not [module for module in imported(path) if module.split(".")[0].startswith("dagster")]


def test_the_modules_import_each_other_in_no_circle() -> None:
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in MODULES}
    below = {name: {m for m in imported(path) if m in names and m != name} for name, path in names.items()}
    while free := {name for name, needs in below.items() if not needs}:
        below = {name: needs - free for name, needs in below.items() if name not in free}
    assert not below


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=str)
def test_an_init_is_one_docstring_and_exports_nothing(path: Path) -> None:
    (only,) = ast.parse(path.read_text()).body
    assert isinstance(only, ast.Expr)
