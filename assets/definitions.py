"""What Dagster loads."""

import dagster as dg

from assets.build import build_defs


@dg.definitions
def defs() -> dg.Definitions:
    """All assets, checks, jobs and resources, configured from the environment."""
    return build_defs()
