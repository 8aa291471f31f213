"""The definitions, with resources that a test or the command line may replace."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

import assets.studies
from assets.executors import executor_of_the_environment
from assets.io_managers import EvidenceIOManager
from assets.jobs import JOBS
from assets.partitions import SENSORS as OFFERING
from assets.resources import (
    Clock,
    Home,
    Software,
    StudyInputs,
    evidence_location,
    home_folder,
    judge_endpoint,
    s3_endpoint,
)
from assets.schedules import all_schedules
from assets.sensors import SENSORS
from assets.standing import standing_inputs


def build_defs(*, resource_overrides: Mapping[str, Any] | None = None) -> dg.Definitions:
    """The definitions of every study.

    Raises: InputRefused, CorpusUnreachable: the environment names what cannot be.
    """
    resources: dict[str, Any] = {
        "home": Home(path=str(home_folder())),
        "clock": Clock(),
        "software": Software(),
        "inputs": StudyInputs(**standing_inputs()),  # type: ignore[arg-type]  # texts, all of them
        "endpoint": judge_endpoint(),
        "io_manager": EvidenceIOManager(home=str(home_folder()), location=evidence_location(), endpoint=s3_endpoint()),
    }
    return dg.Definitions(
        assets=dg.load_assets_from_package_module(assets.studies),
        asset_checks=dg.load_asset_checks_from_package_module(assets.studies),
        jobs=JOBS,
        sensors=[*OFFERING, *SENSORS],
        schedules=all_schedules(),
        resources=resources | dict(resource_overrides or {}),
        executor=executor_of_the_environment(),
    )
