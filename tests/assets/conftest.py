"""A small corpus whose truth is known by construction, and the extraction job in a home and a history of its own."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from assets.build import build_defs
from assets.io_managers import EvidenceIOManager
from assets.resources import Home
from tests.small_corpus import write_small_corpus

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture(scope="session")
def small_corpus() -> Callable[[Path], Path]:
    """Writes a small corpus to a folder."""
    return write_small_corpus


@dataclass(frozen=True)
class Bench:
    """A home, a history, and the job that runs in them."""

    home: Path
    instance: dg.DagsterInstance

    def run(
        self,
        inputs: Mapping[str, str],
        *,
        only: str | None = None,
        io_manager: dg.ConfigurableIOManager | None = None,
        raise_on_error: bool = True,
    ) -> dg.ExecuteInProcessResult:
        """The job `extraction`, or one asset of it."""
        resources = {
            "home": Home(path=str(self.home)),
            "io_manager": io_manager or EvidenceIOManager(home=str(self.home)),
        }
        job = build_defs(resource_overrides=resources).resolve_job_def("extraction")
        return job.execute_in_process(
            run_config={"resources": {"inputs": {"config": dict(inputs)}}, **QUIET},
            instance=self.instance,
            asset_selection=[dg.AssetKey(only)] if only else None,
            raise_on_error=raise_on_error,
        )

    def evidence(self, asset: str) -> Path:
        """The file that the latest pointer of an asset names."""
        folder = self.home / "evidence" / asset
        return folder / (folder / "latest").read_text()

    def forge(self, asset: str, data: bytes) -> None:
        """Puts evidence in the place of the latest of an asset, under the name that its content has."""
        latest = self.evidence(asset)
        name = hashlib.sha256(data).hexdigest() + latest.suffix
        latest.with_name(name).write_bytes(data)
        latest.with_name("latest").write_text(name)


@pytest.fixture(scope="module")
def new_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Bench]]:
    """Makes benches; the history of each is in memory and goes with the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVAL_PIPELINE_HOME", str(tmp_path_factory.mktemp("home")))
        instances: list[dg.DagsterInstance] = []

        def make() -> Bench:
            instances.append(dg.DagsterInstance.ephemeral())
            return Bench(tmp_path_factory.mktemp("home"), instances[-1])

        yield make
        for instance in instances:
            instance.dispose()


@pytest.fixture(scope="module")
def bench(new_bench: Callable[[], Bench]) -> Bench:
    """One bench for all tests of a module that change nothing in it."""
    return new_bench()
