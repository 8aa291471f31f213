"""The jobs: each study from its inputs to its report."""

import dagster as dg

extraction = dg.define_asset_job(
    "extraction",
    selection=dg.AssetSelection.groups("extraction"),
    description="Extraction completeness, from the corpus to the verdict and its report.",
)

judge_calibration = dg.define_asset_job(
    "judge_calibration",
    selection=dg.AssetSelection.groups("judge_calibration"),
    description="Judge calibration, from the gold set to the verdict on the judge and its report.",
)

JOBS = [extraction, judge_calibration]
