"""Every command of the documentation is run, from an empty folder, or stands in a list that says why it is not."""

import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, PROJECT, README, Block, blocks_of
from tests.docs.terminal import Terminal

# Blocks that no test runs, and why; each must stand in the documentation.
NOT_RUN = {
    "eval-pipeline ui\n": "serves until it is ended; tests/ui opens it in a browser",
}
Prepare = Callable[[Path], None]


def filled_by_anna(folder: Path) -> None:
    """Anna finds every claim in the texts that she is shown, which in this corpus is the truth."""
    path = folder / "check" / "anna.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        head, *rows = list(csv.reader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *([*row[:-1], "SUPPORTED"] for row in rows)])


# What a person does before a command: by the page, and how the command begins.
PREPARED: dict[tuple[str, str], Prepare] = {
    ("tutorial.md", "human-check join check/anna.csv"): filled_by_anna,
}


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of Dagster whose log of events is kept in memory, which is faster."""
    folder = tmp_path_factory.mktemp("dagster")
    in_memory = "event_log_storage: {module: dagster._core.storage.event_log, class: InMemoryEventLogStorage}\n"
    (folder / "dagster.yaml").write_text((PROJECT / "dagster.yaml").read_text("utf-8") + in_memory)
    return folder


def with_commands() -> list[Path]:
    return [page for page in [README, *PAGES] if any(block.commands not in NOT_RUN for block in blocks_of(page))]


@pytest.mark.parametrize("page", with_commands(), ids=lambda page: page.name)
def test_the_commands_of_a_page_do_what_it_says(
    page: Path, history: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def prepare(arguments: tuple[str, ...], folder: Path) -> None:
        for (name, start), act in PREPARED.items():
            if name == page.name and " ".join(arguments).startswith(start):
                act(folder)

    blocks = [block for block in blocks_of(page) if block.commands not in NOT_RUN]
    folder = tmp_path_factory.mktemp("d") / page.stem
    folder.mkdir()
    terminal = Terminal(folder, {"DAGSTER_HOME": str(history)}, prepare)
    for place, (block, said) in enumerate(zip(blocks, terminal.run(blocks), strict=True)):
        assert_shown(block, said)
        ours = [call for call in terminal.calls if call.block == place]
        for call in ours:
            assert call.status in (0, block.status if call is ours[-1] else 0), call


def assert_shown(block: Block, said: str) -> None:
    """That each line that the page shows comes in what the commands said, in any order; spaces count for one."""
    plain = " ".join(said.split())
    for line in block.shown:
        assert " ".join(line.split()) in plain, f"not said: {line}\n{said}"


def test_what_is_not_run_stands_in_the_documentation_and_has_a_reason() -> None:
    everything = {block.commands for page in [README, *PAGES] for block in blocks_of(page)}
    assert set(NOT_RUN) <= everything, set(NOT_RUN) - everything
    assert all(NOT_RUN.values())
