"""The documents of a study are the same to the byte in every process, and in every Python that is at hand."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
NEEDED = "numpy, scipy, pydantic, pyarrow"
OTHERS = [f"python3.{minor}" for minor in (14, 13, 12, 11) if minor != sys.version_info.minor]

# The whole default study and sensitivity of one track, from its files to the bytes of its documents.
WHOLE = """
import sys
from pathlib import Path

from eval_pipeline.bundled import bundled
from eval_pipeline.document import document_bytes
from eval_pipeline.plan import read_plan
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.label_signal.document import portfolio_document, sensitivity_document, track_document
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.sensitivity.kept import kept_in_memory
from eval_pipeline.studies.label_signal.sensitivity.robustness import findings
from eval_pipeline.studies.label_signal.sensitivity.worlds import outcomes
from eval_pipeline.studies.label_signal.simulation.world import world_of
from eval_pipeline.studies.label_signal.study import simulated_study
from eval_pipeline.studies.label_signal.track import discover, read_track

key, out = sys.argv[1:]
plan = read_plan(bundled("plans/label-signal.toml"), LabelSignalPlan)
found = discover(bundled("tracks"))
tracks = {name: read_track(folder) for name, folder in found.folders.items()}
studied = simulated_study(tracks[key], world_of(tracks[key], plan.simulation), plan)
seal = seal_of(plan)
document = track_document(studied, plan, seal=seal, versions={})
worlds = outcomes(tracks[key], tuple(tracks.values()), plan, kept_in_memory())
document["sensitivity"] = sensitivity_document(findings(studied.grounds, worlds, plan), of=document["hashes"])
portfolio = portfolio_document({key: document}, found.skipped, plan=plan.name, seal=seal)
Path(out).write_bytes(document_bytes(document) + document_bytes(portfolio))
"""


def begun(python: str, out: Path, *, hash_seed: str, threads: str) -> "subprocess.Popen[str]":
    """The whole of it in a process of its own."""
    environment = os.environ | {
        "PYTHONHASHSEED": hash_seed,
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONPATH": str(PROJECT),
    }
    command = [python, "-c", WHOLE, "refusal", str(out)]
    return subprocess.Popen(command, env=environment, cwd=out.parent, stderr=subprocess.PIPE, text=True)


def bytes_of(process: "subprocess.Popen[str]", out: Path) -> bytes:
    """What it wrote."""
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    return out.read_bytes()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Those of two processes in which texts are hashed otherwise, and linear algebra has other threads."""
    folder = tmp_path_factory.mktemp("documents")
    runs = [
        (begun(sys.executable, out, hash_seed=hash_seed, threads=threads), out)
        for out, hash_seed, threads in ((folder / "one", "0", "1"), (folder / "two", "4242", "2"))
    ]
    return [bytes_of(*run) for run in runs]


def test_documents_are_the_same_to_the_byte_in_two_processes(documents: list[bytes]) -> None:
    one, two = documents
    assert one == two
    # All of it is there: a study, 49 worlds, and 24 thresholds.
    assert one.count(b'"study": "label-signal"') == 3
    assert one.count(b'"axis": ') == 2 * 49
    assert b'"runs": 49' in one
    assert one.count(b'"hold_factor"') >= 2


def other_python() -> str | None:
    """Another Python on the path that has what the study needs."""
    for name in OTHERS:
        path = shutil.which(name)
        if path and not subprocess.run([path, "-c", f"import {NEEDED}"], capture_output=True, check=False).returncode:
            return path
    return None


def test_documents_are_the_same_to_the_byte_in_another_python(tmp_path: Path, documents: list[bytes]) -> None:
    python = other_python()
    if python is None:
        pytest.skip(f"no other Python with {NEEDED} is on the path, of {', '.join(OTHERS)}")
    out = tmp_path / "other"
    assert bytes_of(begun(python, out, hash_seed="7", threads="1"), out) == documents[0]
