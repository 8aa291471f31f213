"""Every command of the documentation is run, from an empty folder, or stands in a list that says why it is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import NOT_RUN, PAGES, README, blocks_of, name_of

WITH_COMMANDS = [page for page in PAGES if any(block.commands not in NOT_RUN for block in blocks_of(page))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(page: Path, read_through: Callable[[Path], None]) -> None:
    read_through(page)


def test_what_is_not_run_stands_in_the_documentation_and_has_a_reason() -> None:
    everything = {block.commands for page in [README, *PAGES] for block in blocks_of(page)}
    assert set(NOT_RUN) <= everything, set(NOT_RUN) - everything
    assert all(NOT_RUN.values())
