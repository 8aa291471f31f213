"""The jobs: each study from its inputs to its report."""

import dagster as dg

extraction = dg.define_asset_job(
    "extraction",
    selection=dg.AssetSelection.groups("extraction"),
    description="Extraction completeness, from the corpus to the verdict and its report.",
)

JOBS = [extraction]
