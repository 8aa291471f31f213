"""The commands of the README are run too, on small files of their own."""

from collections.abc import Callable
from pathlib import Path

from tests.docs.pages import README


def test_the_commands_of_the_readme_do_what_they_say(read_through: Callable[[Path], None]) -> None:
    read_through(README)
