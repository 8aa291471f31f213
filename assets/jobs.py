"""The jobs: each study from its inputs to its report."""

import dagster as dg

from eval_pipeline.studies.loops import STUDIES

_SHEET = dg.AssetSelection.assets("human_check_sheet")
_GOLD = dg.AssetSelection.assets("gold_set").without_checks()  # its check reads the plan of a calibration

extraction = dg.define_asset_job(
    "extraction",
    selection=(dg.AssetSelection.groups("extraction") - _SHEET) | _GOLD,
    description="Extraction completeness, from the corpus to the verdict and its report.",
)

EXTRACTION_INPUTS = ("sealed_plan", "judge_prompt", "corpus", "proposition_fixture", "gold_set", "human_check")

look_at_inputs = dg.define_asset_job(
    "look_at_inputs",
    selection=dg.AssetSelection.assets(*EXTRACTION_INPUTS).without_checks(),
    description="Reads the inputs of the extraction study once more; what rests on one that changed is stale then.",
)

extraction_workspaces = dg.define_asset_job(
    "extraction_workspaces",
    selection=dg.AssetSelection.groups("extraction_workspaces") | _GOLD,
    description="Extraction completeness of one workspace of the corpus, as if the others were not there.",
)

human_check_draw = dg.define_asset_job(
    "human_check_draw",  # a name of its own: a job and an asset may not share one
    selection=(_SHEET.upstream() - _GOLD).without_checks() | _GOLD | dg.AssetSelection.assets("sealed_plan"),
    description="The sheet of the human check, drawn from what a run of the extraction study judged.",
)

judge_calibration = dg.define_asset_job(
    "judge_calibration",
    selection=dg.AssetSelection.groups("judge_calibration"),
    description="Judge calibration, from the gold set to the verdict on the judge and its report.",
)

label_signal = dg.define_asset_job(
    "label_signal",
    selection=dg.AssetSelection.groups("label_signal"),
    description="Label signal of one track, from its ratings to claims, recommendation, sensitivity and the report.",
)

imported = dg.define_asset_job(
    "imported",
    selection=dg.AssetSelection.groups("imported"),
    description="Logs of another tool, from their files to a verdict on each metric and its report.",
)


def group_of(study: str) -> str:
    """The name of a closed loop as Dagster takes it: of its group, and of its job."""
    return study.replace("-", "_")


LOOPS = [
    dg.define_asset_job(
        group_of(study.name),
        selection=dg.AssetSelection.groups(group_of(study.name)),
        description=f"The closed loop {study.name}, from its sealed plan to its verdict, charts and report.",
    )
    for study in STUDIES
]

JOBS = [
    extraction,
    extraction_workspaces,
    look_at_inputs,
    human_check_draw,
    judge_calibration,
    label_signal,
    imported,
    *LOOPS,
]
