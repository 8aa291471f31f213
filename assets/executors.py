"""Where the steps of a run are executed: in its own process, in several, or each in a pod of its own."""

import importlib
import os
from typing import Any

import dagster as dg

from eval_pipeline.errors import InputRefused

VARIABLE = "EVAL_PIPELINE_EXECUTOR"

# Beside the definitions, what each step imports when it begins, which takes longer than a small step does. A module
# that is not there is passed over.
_PRELOADED = """
    assets.preloaded dagster._core.storage.base_storage dagster._core.instance.factory dagster_postgres pyarrow.dataset
    upath.core upath.implementations.local
""".split()


def _forked(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of several processes, each forked where the definitions were imported once."""
    forkserver = {"preload_modules": _PRELOADED}
    return {"max_concurrent": config["max_concurrent"], "start_method": {"forkserver": forkserver}}


_MULTIPROCESS = dg.multiprocess_executor.configured(
    _forked,
    name="multiprocess",
    config_schema={"max_concurrent": dg.Field(int, default_value=0, description="0 is one for each processor.")},
)


def _in_pods() -> dg.ExecutorDefinition:
    try:
        executor: dg.ExecutorDefinition = importlib.import_module("dagster_k8s").k8s_job_executor
    except ModuleNotFoundError:
        raise InputRefused(
            f"{VARIABLE} is 'k8s_job', which needs dagster-k8s; install eval-pipeline[cluster]"
        ) from None
    return executor


def executor_of_the_environment() -> dg.ExecutorDefinition:
    """The executor that EVAL_PIPELINE_EXECUTOR names, by default that of the run's own process.

    Raises: InputRefused: it names none, or one that is not installed.
    """
    named = os.environ.get(VARIABLE) or "in_process"
    if named == "in_process":
        return dg.in_process_executor
    if named == "multiprocess":
        return _MULTIPROCESS
    if named == "k8s_job":
        return _in_pods()
    raise InputRefused(f"{VARIABLE} is {named!r}, expected in_process, multiprocess or k8s_job; set it again")
