"""Runs for the tests: which of them fired is said, and nothing is left to chance."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eval_pipeline.observations import Log, log_bytes
from eval_pipeline.studies.fire_rate.events import PREFIX, MismatchKind
from eval_pipeline.studies.fire_rate.looks import Course, course_of
from eval_pipeline.studies.fire_rate.observations import CONTEXTS, Context, Run
from eval_pipeline.studies.fire_rate.plan import FireRatePlan

ROOT = Path(__file__).resolve().parents[3]


def event(kind: str) -> str:
    return f"{PREFIX}{kind}"


def run(number: int, *errors: str, context: Context | None = None) -> Run:
    """The run of a number, in its turn of the round robin unless a context is named."""
    place = context or CONTEXTS[(number - 1) % len(CONTEXTS)]
    return Run(run_id=f"run-{number}", sequence=number, context=place, errors=errors)


def log_where(runs: int, fired: Mapping[int, MismatchKind] | Collection[int] = ()) -> Log[Run]:
    """A round robin in which the runs of these numbers fired; their kind is content_mutation unless it is said."""
    kinds = fired if isinstance(fired, Mapping) else dict.fromkeys(fired, "content_mutation")
    rows = (run(n, *([event(kinds[n])] if n in kinds else [])) for n in range(1, runs + 1))
    return Log(tuple(rows), simulated=False)


def course_where(runs: int, fired: Collection[int], plan: FireRatePlan, *, contexts: Any = None) -> Course:
    """The course of a log in which the runs of these numbers fired; a round robin unless the contexts are given."""
    flags = np.zeros(runs, dtype=bool)
    flags[[number - 1 for number in fired]] = True
    return course_of(flags, np.arange(runs) % len(CONTEXTS) if contexts is None else np.asarray(contexts), plan.test)


def first_runs(count: int) -> range:
    """The numbers of the first runs, one after the other."""
    return range(1, count + 1)


def written(path: Path, *rows: Run) -> Path:
    path.write_bytes(log_bytes(rows))
    return path
