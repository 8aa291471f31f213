"""CPU seconds of the label-signal study: the four bundled tracks, and the 196 runs with the sweep of thresholds.

Each part runs in processes of its own, on one thread and with nothing kept from before, from the files of the tracks to
the bytes of their documents; the import of the modules is not counted. Exits with 1 if a bar is missed. Run: python -m
benchmarks.label_signal; half a minute.
"""

import multiprocessing
import os
import statistics
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.statistics.measure import once_cpu_s
from eval_pipeline.bundled import bundled
from eval_pipeline.document import document_bytes
from eval_pipeline.plan import read_plan
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.label_signal.document import portfolio_document, sensitivity_document, track_document
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity.kept import kept_in_memory
from eval_pipeline.studies.label_signal.sensitivity.robustness import findings
from eval_pipeline.studies.label_signal.sensitivity.worlds import outcomes
from eval_pipeline.studies.label_signal.simulation.world import chance_of, world_of
from eval_pipeline.studies.label_signal.study import grounds_in, simulated_study
from eval_pipeline.studies.label_signal.track import discover, read_track

SOURCE = "public predecessor, README"
RUNS = 196
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def whole_study() -> None:
    """Every bundled track from its files to the bytes of one document of all."""
    plan = read_plan(bundled("plans/label-signal.toml"), LabelSignalPlan)
    seal, found, documents = seal_of(plan), discover(bundled("tracks")), {}
    for key, folder in found.folders.items():
        track = read_track(folder)
        studied = simulated_study(track, world_of(track, plan.simulation), plan)
        documents[key] = track_document(studied, plan, seal=seal, versions={})
    document_bytes(portfolio_document(documents, found.skipped, plan=plan.name, seal=seal))


def whole_sensitivity() -> None:
    """Every world of every bundled track, and every threshold alone and with all others."""
    plan, runs = read_plan(bundled("plans/label-signal.toml"), LabelSignalPlan), 0
    tracks = [read_track(folder) for folder in discover(bundled("tracks")).folders.values()]
    for track in tracks:
        worlds = outcomes(track, tracks, plan, kept_in_memory())
        declared = world_of(track, plan.simulation)
        grounds = grounds_in(track, declared, chance_of(track, declared, seed=plan.seed), plan)
        document_bytes(sensitivity_document(findings(grounds, worlds, plan), of={}))
        runs += len(worlds)
    assert runs == RUNS


@dataclass(frozen=True, slots=True)
class Part:
    """What is timed how often, the CPU seconds that it may take, and those that the predecessor took."""

    name: str
    work: Callable[[], None]
    repeats: int
    bar_s: float
    predecessor_s: float


PARTS = (
    Part("four tracks, from files to documents", whole_study, 3, bar_s=1.5, predecessor_s=5.4),
    Part(f"{RUNS} runs and the sweep of thresholds", whole_sensitivity, 1, bar_s=25.0, predecessor_s=268.0),
)


def in_a_process_of_its_own(work: Callable[[], None]) -> float:
    """The CPU seconds of one call in a new interpreter."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(once_cpu_s, work).result()


def main() -> int:
    """Prints a line for each part; 1 if one takes longer than it may."""
    os.environ |= ONE_THREAD
    print(f"CPU s on one core, the median where measured more than once; beside it the {SOURCE}")
    print(f"{'':<40}{'CPU s':>8}{'bar':>8}{'predecessor':>13}{'times faster':>14}")
    missed = False
    for part in PARTS:
        took = statistics.median(in_a_process_of_its_own(part.work) for _ in range(part.repeats))
        missed |= took > part.bar_s
        print(
            f"{part.name:<40}{took:>8.2f}{part.bar_s:>8.1f}{part.predecessor_s:>13.1f}"
            f"{part.predecessor_s / took:>14.1f}{'  bar missed' if took > part.bar_s else ''}",
            flush=True,
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
