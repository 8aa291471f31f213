"""A page read from top to bottom: its commands are run in an empty folder, and do what it says."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from eval_pipeline.schemas.catalogue import schema_named
from tests.docs.judge import judge_served
from tests.docs.pages import NOT_RUN, PROJECT, Block, blocks_of, name_of
from tests.docs.prepared import BEFORE
from tests.docs.terminal import Terminal


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


@pytest.fixture
def read_through(
    history: Path, endpoint: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path], None]:
    """Runs the commands of a page in a folder of their own, and holds them to what the page shows."""

    def read(page: Path) -> None:
        def prepare(arguments: tuple[str, ...], folder: Path) -> None:
            for (name, start), act in BEFORE.items():
                if name == name_of(page) and " ".join(arguments).startswith(start):
                    act(folder)

        blocks = [block for block in blocks_of(page) if block.commands not in NOT_RUN]
        folder = tmp_path_factory.mktemp("d") / page.stem
        folder.mkdir()
        terminal = Terminal(folder, {"DAGSTER_HOME": str(history), **endpoint}, prepare)
        for place, (block, said) in enumerate(zip(blocks, terminal.run(blocks), strict=True)):
            _assert_shown(block, said)
            ours = [call for call in terminal.calls if call.block == place]
            for call in ours:
                assert call.status in (block.statuses if call is ours[-1] else {0}), call
        _assert_keeps_to_schemas(folder)

    return read


def _assert_shown(block: Block, said: str) -> None:
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


def _assert_keeps_to_schemas(folder: Path) -> None:
    """That what the commands wrote keeps to its schema, and that the schema takes no change of it."""
    for pattern, schema, change in WRITTEN:
        for path in folder.glob(pattern):
            text = path.read_text("utf-8")
            values = [json.loads(one) for one in (text.splitlines() if path.suffix == ".jsonl" else [text])]
            for value in values[:: max(1, len(values) // 20)]:
                validator = _validator_of(schema or _verdict_schema(value["study"]))
                validator.validate(value)
                assert not validator.is_valid(value | change), path


def _verdict_schema(study: str) -> str:
    return f"verdict-{study}" if study in ("extraction", "imported") else "verdict-closed-loop"


@cache
def _validator_of(schema: str) -> Draft202012Validator:
    return Draft202012Validator(schema_named(schema))
