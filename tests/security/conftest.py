"""The small study on the command line, as the tests of faults have it."""

from tests.faults.conftest import new_folder, place

__all__ = ["new_folder", "place"]
