"""Runs to be verified: a small extraction study, and a closed loop, each in a home of its own."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assets.recorded import Recorded
from assets.run import run_loop, run_study
from assets.verification import Verified, verify
from eval_pipeline.provenance import read_provenance_of
from eval_pipeline.store import store_at
from tests.history import kept_in_memory
from tests.small_corpus import write_small_corpus


@dataclass(frozen=True)
class Run:
    """A home, and the folder of the findings of the one run in it."""

    home: Path
    out: Path

    def recorded(self) -> Recorded:
        """What it left."""
        home = self.home
        store = store_at(str(home / "evidence"))
        return Recorded(read_provenance_of(self.out), store, home / "ledger.jsonl", home / "locks", self.out)

    def verify(self) -> Verified:
        """What `eval-pipeline verify` finds of it."""
        return verify(self.recorded())

    def copy(self, to: Path) -> "Run":
        """The same on another machine, as far as folders go."""
        shutil.copytree(self.home, to)
        return Run(to, to / self.out.relative_to(self.home))


def _made(home: Path, run: Callable[[Path], object]) -> Run:
    with kept_in_memory(), pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        patch.setenv("EVAL_PIPELINE_HOME", str(home))
        run(home / "findings")
    return Run(home, home / "findings")


@pytest.fixture(scope="session")
def extraction(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run over three notes."""
    corpus = write_small_corpus(tmp_path_factory.mktemp("corpus"))
    return _made(
        tmp_path_factory.mktemp("home") / "home",
        lambda out: run_study("extraction", {"corpus": str(corpus), "out": str(out)}),
    )


@pytest.fixture(scope="session")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of a closed loop that holds data out."""
    return _made(tmp_path_factory.mktemp("home") / "home", lambda out: run_loop("retry-limit", {"out": str(out)}))
