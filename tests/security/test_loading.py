"""Nothing that is read can run: no module unpickles, and no value of an asset is kept in a way that would have to."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path for folder in ("eval_pipeline", "assets") for path in (ROOT / folder).rglob("*.py"))
LOADERS = frozenset({"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "torch", "yaml"})
CALLS = frozenset({"eval", "exec", "compile", "__import__", "read_pickle", "to_pickle"})


def _faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in LOADERS)
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in LOADERS:
            yield str(node.module)
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            plain = isinstance(node.func, ast.Name)
            if name in CALLS and (plain or name.endswith("_pickle")):
                yield f"{name}()"
            yield from (f"{name}({word.arg}=...)" for word in node.keywords if word.arg == "allow_pickle")
            yield from (f"{name}(shell=...)" for word in node.keywords if word.arg == "shell")


def test_no_module_loads_or_calls_what_could_run_what_it_reads() -> None:
    assert len(MODULES) > 100
    found = {str(path.relative_to(ROOT)): list(_faults(ast.parse(path.read_text("utf-8")))) for path in MODULES}
    assert {path: faults for path, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from joblib import load",
        "import yaml",
        "np.load(f, allow_pickle=True)",
        "pd.read_pickle(f)",
        "eval(t)",
    ],
)
def test_what_would_run_what_it_reads_is_found(line: str) -> None:
    assert list(_faults(ast.parse(line))) != []


def test_every_asset_is_kept_by_the_one_manager_that_writes_parquet_and_json() -> None:
    definitions = build_defs()
    resources = definitions.resources or {}
    assert [name for name in resources if "io_manager" in name] == ["io_manager"]
    assert isinstance(resources["io_manager"], EvidenceIOManager)
    keys = definitions.resolve_asset_graph().materializable_asset_keys
    assert keys
    made = {key: definitions.resolve_assets_def(key) for key in keys}
    assert {one.get_io_manager_key_for_asset_key(key) for key, one in made.items()} == {"io_manager"}
