"""What Dagster loads."""

from functools import cache

import dagster as dg

from assets.build import build_defs

_built = cache(build_defs)


@dg.definitions
def defs() -> dg.Definitions:
    """All assets, checks, jobs and resources, configured from the environment; in a process they are built once."""
    return _built()
