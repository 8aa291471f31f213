"""Every command of the documentation is run, from an empty folder, or stands in a list that says why it is not."""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from eval_pipeline.schemas.catalogue import schema_named
from tests.docs.judge import judge_served
from tests.docs.pages import PAGES, PROJECT, README, Block, blocks_of
from tests.docs.prepared import BEFORE
from tests.docs.terminal import Terminal

# Blocks that no test runs, and why; each must stand in the documentation.
NOT_RUN = {
    "eval-pipeline ui\n": "serves until it is ended; tests/ui opens it in a browser",
    "make run\n": "installs into .venv first; the command that it then runs is run by tests/test_cli.py",
    "make test\n": "is these tests",
    "eval-pipeline run retry-limit | fire-rate | strategy-feedback | kpi-gates\n": "four names of one command, each of"
    " which is run on its own page",
    "eval-pipeline audit README.md docs/*.md\n": "needs the results of all bundled tracks; tests/test_documents.py"
    " audits these pages with them",
}


@pytest.fixture(scope="module")
def history() -> Iterator[Path]:
    """A history of Dagster that all pages share, in memory where there is such a folder: the disk takes longest."""
    in_memory = Path("/dev/shm")
    with TemporaryDirectory(dir=in_memory if in_memory.is_dir() else None) as folder:
        shutil.copy(PROJECT / "dagster.yaml", folder)
        yield Path(folder)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[dict[str, str]]:
    """The variables of a judge behind an endpoint."""
    with judge_served() as url:
        yield {"EVAL_PIPELINE_JUDGE_BASE_URL": url, "EVAL_PIPELINE_JUDGE_MODEL": "words"}


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


WITH_COMMANDS = [page for page in [README, *PAGES] if any(one.commands not in NOT_RUN for one in blocks_of(page))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(
    page: Path, history: Path, endpoint: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    def prepare(arguments: tuple[str, ...], folder: Path) -> None:
        for (name, start), act in BEFORE.items():
            if name == name_of(page) and " ".join(arguments).startswith(start):
                act(folder)

    blocks = [block for block in blocks_of(page) if block.commands not in NOT_RUN]
    folder = tmp_path_factory.mktemp("d") / page.stem
    folder.mkdir()
    terminal = Terminal(folder, {"DAGSTER_HOME": str(history), **endpoint}, prepare)
    for place, (block, said) in enumerate(zip(blocks, terminal.run(blocks), strict=True)):
        assert_shown(block, said)
        ours = [call for call in terminal.calls if call.block == place]
        for call in ours:
            assert call.status in (block.statuses if call is ours[-1] else {0}), call
    assert_keeps_to_schemas(folder)


def assert_shown(block: Block, said: str) -> None:
    """That each line that the page shows comes in what the commands said; spaces count for one."""
    plain = " ".join(said.split())
    for line in block.shown:
        assert " ".join(line.split()) in plain, f"not said: {line}\n{said}"


# Files that commands write, the schema of the whole or of a line, and a change that no schema may take.
WRITTEN: list[tuple[str, str, dict[str, Any]]] = [
    (".home/ledger.jsonl", "ledger-line", {"hash": "short"}),
    (".home/journals/**/*.jsonl", "journal-line", {"key": 3, "run": 3}),
    ("*/judgments.jsonl", "journal-line", {"key": 3, "run": 3}),
    (".home/locks/*.lock.json", "lock", {"partition_size": 0}),
    ("**/sheet.json", "sheet", {"draw": "all"}),
    ("**/provenance.json", "provenance", {"files": []}),
    ("**/human_check.json", "human-check", {"hash": None}),
    ("**/report.json", "report-judge-calibration", {"claims": [{}]}),
    ("**/verdict.json", "", {"claims": [{}]}),
]


def assert_keeps_to_schemas(folder: Path) -> None:
    """That what the commands wrote keeps to its schema, and that the schema takes no change of it."""
    for pattern, schema, change in WRITTEN:
        for path in folder.glob(pattern):
            text = path.read_text("utf-8")
            values = [json.loads(one) for one in (text.splitlines() if path.suffix == ".jsonl" else [text])]
            for value in values[:: max(1, len(values) // 20)]:
                validator = validator_of(schema or verdict_schema(value["study"]))
                validator.validate(value)
                assert not validator.is_valid(value | change), path


def verdict_schema(study: str) -> str:
    return f"verdict-{study}" if study in ("extraction", "imported") else "verdict-closed-loop"


@cache
def validator_of(schema: str) -> Draft202012Validator:
    return Draft202012Validator(schema_named(schema))


def test_what_is_not_run_stands_in_the_documentation_and_has_a_reason() -> None:
    everything = {block.commands for page in [README, *PAGES] for block in blocks_of(page)}
    assert set(NOT_RUN) <= everything, set(NOT_RUN) - everything
    assert all(NOT_RUN.values())
