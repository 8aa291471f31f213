"""The plan of every study, by the study's name."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from eval_pipeline.errors import PlanRefused
from eval_pipeline.jsonl import found
from eval_pipeline.plan import Plan, read_plan
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.imported.plan import ImportedPlan
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.loops import STUDIES

PLANS: Mapping[str, type[Plan]] = {
    "extraction": ExtractionPlan,
    "judge-calibration": CalibrationPlan,
    "label-signal": LabelSignalPlan,
    "imported": ImportedPlan,
    **{study.name: study.plan for study in STUDIES},
}


def read_plan_of_any_study(path: Path) -> Plan:
    """The plan of a TOML file, whose field `study` says which rules it must keep to.

    Raises: PlanRefused: as in `read_plan`, or there is no such study.
    """
    study = _study_of(path)
    if study is not None and (not isinstance(study, str) or study not in PLANS):
        known = ", ".join(PLANS)
        raise PlanRefused(f"plan {str(path)!r}, field 'study': found {found(study)}, expected one of {known}; name one")
    return read_plan(path, PLANS[study or "extraction"])


def _study_of(path: Path) -> object:
    """What stands in the field; None where there is none, or the file cannot be read, which `read_plan` says better."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8")).get("study")
    except (OSError, ValueError, RecursionError):
        return None
